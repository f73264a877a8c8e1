//! A worked example of a custom exit: messages for `orders` go to `ORDERS`.
//!
//! Names in MQ are case sensitive, and applications that quote them in lower case are an old nuisance. The exit folds
//! the queue's name in the transmission header to upper case; with the data string `devices=yes` the name of the
//! queue manager too, which is the device's. It comes before or behind `destination-rewrite`:
//!
//! ```toml
//! [[exit]]
//! kind = "uppercase-queue"
//! data = "devices=yes"
//!
//! [[exit]]
//! kind = "destination-rewrite"
//! ```

use mqe_exits::mq_wire::Chars;
use mqe_exits::{DataOptions, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit, async_trait};

/// The exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UppercaseQueue {
    devices: bool,
}

impl UppercaseQueue {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "uppercase-queue";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let devices = options.take_choice("devices", &[("no", false), ("yes", true)])?;
        options.finish(&["devices"])?;
        Ok(Self { devices })
    }
}

#[async_trait]
impl ReceiveExit for UppercaseQueue {
    async fn receive(
        &self,
        _cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        // A message without a transmission header is not ours to judge. The view writes back when it is dropped.
        if let Ok(mut header) = message.xqh_mut() {
            header.remote_q_name.0 = uppercase(header.remote_q_name.0);
            if self.devices {
                header.remote_q_mgr_name.0 = uppercase(header.remote_q_mgr_name.0);
            }
        }
        Ok(ExitResponse::Ok)
    }
}

fn uppercase(name: Chars<48>) -> Chars<48> {
    Chars::from_bytes(name.as_bytes().map(|b| b.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mqe_exits::mq_wire::{Mqxqh, QMgrName, QName};
    use mqe_exits::{Chain, Direction, ExitConfig, InitContext, Origin, Registry, Verdict};

    use super::*;

    fn message(q: &str, q_mgr: &str) -> ExitMessage {
        let header = Mqxqh {
            remote_q_name: QName::new(q).unwrap(),
            remote_q_mgr_name: QMgrName::new(q_mgr).unwrap(),
            ..Mqxqh::default()
        };
        ExitMessage::wrap(Origin::new("GATE1.XMITQ", Direction::FromMq), &header, b"payload")
    }

    fn names(message: &ExitMessage) -> (String, String) {
        let header = message.xqh().unwrap();
        (header.remote_q_name.to_string(), header.remote_q_mgr_name.to_string())
    }

    fn pair(q: &str, q_mgr: &str) -> (String, String) {
        (q.to_owned(), q_mgr.to_owned())
    }

    /// The exit alone.
    async fn received(data: &str, q: &str, q_mgr: &str) -> (String, String) {
        let exit = UppercaseQueue::from_data(data).unwrap();
        let mut message = message(q, q_mgr);
        let mut cx = ExitContext::new(InitContext::new(data, &[]), message.origin().clone());
        assert_eq!(exit.receive(&mut cx, &mut message).await.unwrap(), ExitResponse::Ok);
        assert_eq!(message.payload().unwrap(), b"payload");
        names(&message)
    }

    #[tokio::test]
    async fn folds_names() {
        assert_eq!(received("", "orders", "dev1").await, pair("ORDERS", "dev1"));
        assert_eq!(received("devices=yes", "Orders", "dev1").await, pair("ORDERS", "DEV1"));
        assert_eq!(received("", "ORDERS", "DEV1").await, pair("ORDERS", "DEV1"));
    }

    #[test]
    fn mistakes_name_the_option() {
        let error = UppercaseQueue::from_data("device=yes").unwrap_err().to_string();
        assert_eq!(error, "option device of the exit's data: is not known; known are devices");
    }

    /// The exit as the gateway runs it, in front of a shipped one.
    #[tokio::test]
    async fn works_in_a_chain() {
        let mut registry = Registry::with_shipped();
        registry
            .register(UppercaseQueue::KIND, |config| Ok(Arc::new(UppercaseQueue::from_data(&config.data)?)));
        let configs = vec![ExitConfig::new(UppercaseQueue::KIND), ExitConfig::new("destination-rewrite")];
        let names_of_gateway = [QMgrName::new("GATE1").unwrap()];
        let chain = Chain::start(&registry, configs, names_of_gateway, None).await.unwrap();
        let verdicts = chain.run(vec![message("orders%dev1", "GATE1")]).await;
        let [Verdict::Pass(message)] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!(names(message), pair("ORDERS", "DEV1"));
        chain.term().await;
    }
}
