//! What an exit is: the trait and its answers. How it is called, guarded and timed is the chain's.

use async_trait::async_trait;
use mq_wire::Reason;

use crate::{ExitContext, ExitError, ExitMessage, InitContext, STOPPED_BY_MSG_EXIT};

/// An exit that works on whole messages: on those that arrive from MQ for devices, and on those of devices for MQ
/// (see [`ExitContext::direction`]).
///
/// ```
/// use mqe_exits::{ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit, async_trait};
///
/// /// Refuses what is longer than a device can take.
/// struct AtMost(usize);
///
/// #[async_trait]
/// impl ReceiveExit for AtMost {
///     async fn receive(
///         &self,
///         _cx: &mut ExitContext,
///         message: &mut ExitMessage,
///     ) -> Result<ExitResponse, ExitError> {
///         if message.payload()?.len() > self.0 {
///             return Ok(ExitResponse::suppress(format!("more than {} bytes", self.0)));
///         }
///         Ok(ExitResponse::Ok)
///     }
/// }
/// ```
///
/// # What an exit can rely on
///
/// The chain makes one object for each of its instances (as many as the machine has cores, one if the exit is
/// [`serial`](Self::serial)). An object is called for one message at a time, on a thread that runs a single-threaded
/// tokio runtime of its own: an exit may await timers and sockets, and tasks that it spawns in `init` go on between
/// calls. What it must remember between calls it keeps in [`ExitContext::user_area`], without locks.
///
/// A panic, an error, a message that grew too long and a call that takes too long are failures of the exit; its
/// configuration says what then becomes of the message, which the chain has kept as it came.
///
/// # What an exit must bear
///
/// - **It may run twice for one message**: after a crash, after a cut connection, and when an earlier message of the
///   same batch stopped the channel. An effect outside of the message must be harmless when repeated.
/// - It may be cancelled at any `.await` when its time is over. If it does not get to an `.await` (it computes or
///   blocks), its thread is given up and another instance with a fresh object takes its place.
/// - Instances work in parallel: a later message may be seen before an earlier one, though they leave in order. An
///   exit that needs to see them in order is [`serial`](Self::serial).
///
/// # What cannot be contained
///
/// An exit shares the process. Memory that it allocates is not limited, a stack overflow or an abort ends the
/// process, and a thread that has been given up still uses its core until it returns.
#[async_trait]
pub trait ReceiveExit: Send + Sync + 'static {
    /// Called once before the first message (MQXR_INIT). An error keeps the chain from starting.
    async fn init(&self, cx: &InitContext) -> Result<(), ExitError> {
        let _ = cx;
        Ok(())
    }

    /// Called for each message (MQXR_MSG).
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError>;

    /// Called once at the end (MQXR_TERM), also after an `init` that failed.
    async fn term(&self) {}

    /// Whether there may be one instance only, which then sees all messages in order. All exits of the chain then
    /// run one message at a time.
    fn serial(&self) -> bool {
        false
    }
}

/// What an exit decides about a message (mq-objects.md 9.4).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitResponse {
    /// MQXCC_OK: the message goes on as it now is.
    Ok,
    /// MQXCC_SUPPRESS_FUNCTION: the message is not delivered; the gateway's undelivered rule decides where it goes.
    SuppressFunction {
        /// What the dead-letter header will say: a reason or a feedback code.
        reason: Reason,
        /// The same for people.
        why: String,
    },
    /// MQXCC_CLOSE_CHANNEL: the message stays where it came from and its source is stopped.
    CloseChannel,
    /// MQXCC_SUPPRESS_EXIT: the message goes on as it now is; this exit is not called again until the chain is
    /// started anew, except for [`ReceiveExit::term`].
    SuppressExit,
}

impl ExitResponse {
    /// [`Self::SuppressFunction`] with the feedback that MQ presets, MQFB_STOPPED_BY_MSG_EXIT.
    pub fn suppress(why: impl Into<String>) -> Self {
        Self::SuppressFunction { reason: STOPPED_BY_MSG_EXIT, why: why.into() }
    }
}
