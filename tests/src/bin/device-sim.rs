//! The `device-sim` program as the tests start it: cargo builds no programs of other packages for a test.

use std::process::ExitCode;

fn main() -> ExitCode {
    device_sim::main()
}
