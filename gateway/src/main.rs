//! The `mqe-gateway` program: the gateway with the shipped exits. A program with exits of its own looks the same and
//! adds them to the builder.

use std::process::ExitCode;

use mqe_gateway::Gateway;

fn main() -> ExitCode {
    Gateway::builder().run_from_args()
}
