//! MQ to MQ Everyplace gateway: wiring of tasks, sockets, clock, configuration, commands and administration.
//!
//! A program with exits of its own is a short `main.rs`:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # struct Mine;
//! # #[async_trait::async_trait]
//! # impl mqe_exits::ReceiveExit for Mine {
//! #     async fn receive(
//! #         &self,
//! #         _: &mut mqe_exits::ExitContext,
//! #         _: &mut mqe_exits::ExitMessage,
//! #     ) -> Result<mqe_exits::ExitResponse, mqe_exits::ExitError> {
//! #         Ok(mqe_exits::ExitResponse::Ok)
//! #     }
//! # }
//! fn main() -> std::process::ExitCode {
//!     mqe_gateway::Gateway::builder().exit("mine", |_| Ok(Arc::new(Mine))).run_from_args()
//! }
//! ```
//!
//! `ARCHITECTURE.md` beside this crate is the map.

pub mod admin;
pub mod cli;
pub mod config;
pub mod report;
pub mod telemetry;

mod clock;
mod core;
mod demo;
mod device;
mod mq;
mod net;
mod outbox;
mod remote;
mod service;
#[cfg(test)]
mod simulation;
mod source;
mod system;

use std::process::ExitCode;
use std::sync::Arc;

use mqe_exits::{ExitConfig, ExitError, ReceiveExit, Registry, UndeliveredRule};

/// The gateway as a library: for programs that bring exits of their own.
#[derive(Debug)]
pub struct Gateway;

impl Gateway {
    /// A gateway with the shipped exits.
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder { registry: Registry::with_shipped() }
    }
}

/// Collects what a program adds to the gateway.
#[derive(Debug)]
pub struct GatewayBuilder {
    registry: Registry,
}

impl GatewayBuilder {
    /// Adds a kind of exit; `[[exit]] kind = "..."` of the configuration names it.
    #[must_use]
    pub fn exit(
        mut self,
        kind: &str,
        constructor: impl Fn(&ExitConfig) -> Result<Arc<dyn ReceiveExit>, ExitError> + Send + Sync + 'static,
    ) -> Self {
        self.registry.register(kind, constructor);
        self
    }

    /// Adds a kind of undelivered rule; `[gateway] undelivered = "..."` names it.
    #[must_use]
    pub fn rule(
        mut self,
        kind: &str,
        constructor: impl Fn(&str) -> Result<Arc<dyn UndeliveredRule>, ExitError> + Send + Sync + 'static,
    ) -> Self {
        self.registry.register_rule(kind, constructor);
        self
    }

    /// Does what the command line says, and gives the status to exit with.
    pub fn run_from_args(self) -> ExitCode {
        cli::main(self.registry)
    }
}
