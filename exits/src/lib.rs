//! Channel exits: code that sees each message on its way and may change, refuse or stop it.
//!
//! An exit is a [`ReceiveExit`]; a [`Registry`] knows how to make one of each kind; a [`Chain`] runs the configured
//! ones on threads of their own and gives one [`Verdict`] for each message, in order of arrival. Shipped exits stand
//! in files of their own. What becomes of a message that is not delivered is for the gateway to say: an exit sees
//! message and context and cannot reach the queue manager.
//!
//! Exits that see transmission segments (MQ's send and receive exits in the narrow sense), security, retry and
//! auto-definition exits are other traits and not here yet.

mod access_list;
mod audit;
mod chain;
mod config;
mod context;
mod decompress;
mod destination_from;
mod destination_rewrite;
mod error;
mod exit;
mod header_stamp;
mod message;
mod options;
mod rate_limit;
mod registry;
mod size_limit;
pub mod testing;
mod undelivered;

pub use access_list::AccessList;
pub use audit::Audit;
pub use chain::{Chain, ChainBuilder, ChainStatus, ExitStatus, Verdict};
pub use config::{ExitConfig, OnFailure};
pub use context::{Direction, ExitContext, ExitUserArea, InitContext, Origin};
pub use decompress::Decompress;
pub use destination_from::DestinationFrom;
pub use destination_rewrite::{
    Destination, DestinationRewrite, OnError, OnlyIfQMgr, Order, Outcome, Part, RewriteOptions, rewrite,
    split,
};
pub use error::{ExitError, STOPPED_BY_MSG_EXIT};
pub use exit::{ExitResponse, ReceiveExit};
pub use header_stamp::HeaderStamp;
pub use message::{ExitMessage, PayloadMut, XqhMut};
pub use options::DataOptions;
pub use rate_limit::RateLimit;
pub use registry::Registry;
pub use size_limit::SizeLimit;
pub use undelivered::{Compat, Dlq, Fleet, Rule, UndeliveredAction, UndeliveredMessage, UndeliveredRule};

/// For the crates of custom exits: the macro for `impl ReceiveExit`, and the crates whose types stand in the trait.
pub use async_trait::async_trait;
pub use {bytes, mq_wire};
