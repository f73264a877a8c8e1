//! The `device-sim` program.

fn main() -> std::process::ExitCode {
    device_sim::main()
}
