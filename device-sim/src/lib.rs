//! Simulated devices for the gateway: one by hand, or a fleet with a ledger.
//!
//! - [`device`]: the device library, meant for real devices too: a durable outbox, what is not confirmed yet, and a
//!   connection that comes back by itself.
//! - [`fleet`]: many devices and the MQ application at the other end, and the proof of what arrived.
//! - [`proxy`]: cuts connections at any byte.
//! - [`main`]: the program `device-sim`. Only this prints and ends with a status.
//!
//! The protocol is [`mqe`]'s, and what happens at the gateway is the gateway's.

mod cli;
pub mod device;
pub mod fleet;
pub mod proxy;

use std::process::ExitCode;

/// The program `device-sim`, with the process's own arguments.
pub fn main() -> ExitCode {
    cli::main()
}
