//! An exit and an undelivered rule to begin with. Replace what they do, keep how they are made.

use std::time::Duration;

use mqe_exits::mq_wire::Reason;
use mqe_exits::{
    DataOptions, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit, UndeliveredAction,
    UndeliveredMessage, UndeliveredRule, async_trait,
};

/// Refuses messages without a put date: something is wrong with the application that made them.
#[derive(Debug)]
pub struct PutTimeLimit {
    refuse: bool,
}

impl PutTimeLimit {
    /// What `[[exit]] kind = "..."` calls it.
    pub const KIND: &'static str = "put-time-limit";

    /// From `data = "refuse=yes"`. A mistake here keeps the gateway from starting, with a sentence that says why.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let refuse = options.take_choice("refuse", &[("yes", true), ("no", false)])?;
        options.finish(&["refuse"])?;
        Ok(Self { refuse })
    }
}

#[async_trait]
impl ReceiveExit for PutTimeLimit {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        // Memory between calls, for each instance; no lock is needed.
        *cx.user_area().state(|| 0_u64) += 1;
        let header = message.xqh()?;
        if self.refuse && header.msg_desc.put_date.is_blank() {
            return Ok(ExitResponse::suppress("it has no put date"));
        }
        Ok(ExitResponse::Ok)
    }
}

/// Waits a while for what may pass by itself, and leaves the rest to the messages' report options.
#[derive(Debug)]
pub struct SmallHours {
    wait: Duration,
}

impl SmallHours {
    /// What `[gateway] undelivered = "..."` calls it.
    pub const KIND: &'static str = "small-hours";

    /// From `undelivered_data = "wait=30"`, in seconds.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let wait = options.take_number("wait", 1, 3600)?.unwrap_or(10);
        options.finish(&["wait"])?;
        Ok(Self { wait: Duration::from_secs(wait) })
    }
}

#[async_trait]
impl UndeliveredRule for SmallHours {
    async fn decide(&self, undelivered: &UndeliveredMessage) -> Result<UndeliveredAction, ExitError> {
        Ok(match undelivered.reason {
            Reason::UNKNOWN_REMOTE_Q_MGR => UndeliveredAction::Park,
            _ if undelivered.temporary => UndeliveredAction::Retry(self.wait),
            _ => UndeliveredAction::ReportOptions,
        })
    }
}

#[cfg(test)]
mod tests {
    use mqe_exits::mq_wire::Chars;
    use mqe_exits::testing::{Harness, TestMessage};

    use super::*;

    #[tokio::test]
    async fn a_message_without_a_put_date_is_refused() {
        let mut harness = Harness::new(PutTimeLimit::from_data("").unwrap());
        let mut bare = TestMessage::to("ORDERS%DEV00042", "GATE1").payload("data").build();
        assert_ne!(harness.run(&mut bare).await.unwrap(), ExitResponse::Ok);
        let dated = TestMessage::to("ORDERS%DEV00042", "GATE1");
        let mut dated = dated.descriptor(|md| md.put_date = Chars::cut("20300101")).build();
        assert_eq!(harness.run(&mut dated).await.unwrap(), ExitResponse::Ok);
    }

    #[test]
    fn mistakes_in_the_data_are_named() {
        assert!(PutTimeLimit::from_data("refuse=maybe").unwrap_err().to_string().contains("refuse"));
    }
}
