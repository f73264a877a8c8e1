//! `access-list`: who may send to whom. Each option is a list of names with `|` between them; `*` in one stands for any
//! characters.
//!
//! | option | what is looked at |
//! |---|---|
//! | `allow_queues`, `deny_queues` | RemoteQName, as it is behind the exits before this one |
//! | `allow_devices`, `deny_devices` | RemoteQMgrName; of a put, the device that made it |
//! | `allow_users`, `deny_users` | UserIdentifier of the message's own descriptor |
//!
//! What is denied is refused; where there is an `allow` list of a kind, what is not on it is refused too. Refused messages are
//! undelivered with reason 2035 (MQRC_NOT_AUTHORIZED). The user is what the queue manager says of the sender.

use async_trait::async_trait;
use mq_wire::Reason;

use crate::{DataOptions, Direction, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessList {
    queues: Lists,
    devices: Lists,
    users: Lists,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Lists {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

impl AccessList {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "access-list";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let mut lists = |kind: &str| {
            let mut list = |verb: &str| {
                let value = options.take(&format!("{verb}_{kind}"))?;
                Some(value.split('|').map(str::to_owned).collect::<Vec<_>>())
            };
            Lists { allow: list("allow"), deny: list("deny").unwrap_or_default() }
        };
        let list = Self { queues: lists("queues"), devices: lists("devices"), users: lists("users") };
        options.finish(&[
            "allow_queues",
            "deny_queues",
            "allow_devices",
            "deny_devices",
            "allow_users",
            "deny_users",
        ])?;
        Ok(list)
    }
}

impl Lists {
    fn lets_through(&self, name: &str) -> bool {
        let on = |list: &[String]| list.iter().any(|pattern| matches(pattern, name));
        !on(&self.deny) && self.allow.as_deref().is_none_or(on)
    }
}

/// Whether a name fits a pattern in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(tail)
}

#[async_trait]
impl ReceiveExit for AccessList {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        let header = message.xqh()?;
        let (queue, user) = (header.remote_q_name.to_string(), header.msg_desc.user_identifier.text());
        let device = match cx.direction() {
            Direction::FromMq => header.remote_q_mgr_name.to_string(),
            Direction::FromDevice => cx.source().to_owned(),
        };
        let looks =
            [("queue", &self.queues, queue), ("device", &self.devices, device), ("user", &self.users, user)];
        for (kind, lists, name) in looks {
            if !lists.lets_through(name.trim_end()) {
                let why = format!("{kind} {name} is not let through");
                return Ok(ExitResponse::SuppressFunction { reason: Reason::NOT_AUTHORIZED, why });
            }
        }
        Ok(ExitResponse::Ok)
    }
}

#[cfg(test)]
mod tests {
    use mq_wire::Chars;

    use super::*;
    use crate::testing::{Harness, TestMessage};

    async fn passes(data: &str, queue: &str, device: &str, user: &str) -> bool {
        let mut harness = Harness::new(AccessList::from_data(data).unwrap());
        let message = TestMessage::to(queue, device).descriptor(|md| md.user_identifier = Chars::cut(user));
        harness.run(&mut message.build()).await.unwrap() == ExitResponse::Ok
    }

    #[tokio::test]
    async fn what_is_denied_or_not_allowed_is_refused() {
        assert!(passes("", "Q", "DEV1", "joe").await);
        assert!(!passes("deny_queues=ADMIN*|SYSTEM*", "ADMIN.Q", "DEV1", "joe").await);
        assert!(passes("deny_queues=ADMIN*|SYSTEM*", "Q.ADMIN", "DEV1", "joe").await);
        assert!(passes("allow_devices=DEV*|PUMP7", "Q", "PUMP7", "joe").await);
        assert!(!passes("allow_devices=DEV*|PUMP7", "Q", "PUMP77", "joe").await);
        assert!(!passes("allow_devices=* deny_devices=DEV1", "Q", "DEV1", "joe").await);
        assert!(!passes("allow_users=app*", "Q", "DEV1", "joe").await);
    }

    #[tokio::test]
    async fn of_a_put_the_device_is_who_made_it() {
        let mut harness = Harness::new(AccessList::from_data("deny_devices=DEV1").unwrap());
        let mut message = TestMessage::to("Q", "QM1").from_device("DEV1").build();
        assert_ne!(harness.run(&mut message).await.unwrap(), ExitResponse::Ok);
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in
            [("A*C", "ABBC", true), ("A*C", "AC", true), ("A*C", "A", false), ("*", "", true)]
        {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
