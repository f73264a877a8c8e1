//! `size-limit`: refuses messages that are longer than devices can take.
//!
//! Data string: `max=BYTES` of the data behind the MQXQH, 0 to 104857600. A longer message is undelivered with reason 2030
//! (MQRC_MSG_TOO_BIG_FOR_Q).

use async_trait::async_trait;
use mq_wire::Reason;

use crate::{DataOptions, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeLimit {
    max: usize,
}

impl SizeLimit {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "size-limit";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let max = options.take_number("max", 0, 104_857_600)?;
        options.finish(&["max"])?;
        let max = max.ok_or_else(|| ExitError::option("max", "is missing: the most bytes of a message"))?;
        Ok(Self { max: max as usize })
    }
}

#[async_trait]
impl ReceiveExit for SizeLimit {
    async fn receive(
        &self,
        _: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        let bytes = message.payload()?.len();
        if bytes <= self.max {
            return Ok(ExitResponse::Ok);
        }
        let why = format!("{bytes} bytes, and {} are allowed", self.max);
        Ok(ExitResponse::SuppressFunction { reason: Reason::MSG_TOO_BIG_FOR_Q, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Harness, TestMessage};

    #[tokio::test]
    async fn what_is_longer_is_refused() {
        let mut harness = Harness::new(SizeLimit::from_data("max=4").unwrap());
        for (payload, passes) in [("", true), ("four", true), ("fives", false)] {
            let mut message = TestMessage::to("Q", "DEV1").payload(payload).build();
            let response = harness.run(&mut message).await.unwrap();
            assert_eq!(response == ExitResponse::Ok, passes, "{payload}: {response:?}");
        }
    }

    #[test]
    fn mistakes_name_the_option() {
        let wrong = |data: &str| SizeLimit::from_data(data).unwrap_err().to_string();
        assert!(wrong("").contains("option max") && wrong("max=x").contains("from 0 to 104857600"));
    }
}
