//! `destination-rewrite`: lets an application write a device into the name of a queue.
//!
//! A message for `ORDERS%DEV00042` at the gateway's queue manager name goes to queue `ORDERS` of device `DEV00042`,
//! so MQ needs one definition for any number of devices (mq-objects.md 10.1). The rule is [`rewrite`], a function of
//! bytes; here are its options and the exit around it. Length limit: queue, separator and device take 48 characters
//! together.
//!
//! Options of the data string, each with its default first:
//!
//! | option | values | meaning |
//! |---|---|---|
//! | `sep` | `%` or another name character | what stands between the parts; the first one counts. `/` is that of the published exit; `.` and `_` are poor choices |
//! | `order` | `queue-qmgr`, `qmgr-queue` | which part comes first |
//! | `prefix`, `suffix` | empty | what the device's name has before and after its part, so that applications write less |
//! | `prefix_if_missing` | `no`, `yes` | leave out a prefix that is there already |
//! | `only_if_qmgr` | `gateway`, `none`, `NAME` or `NAME\|NAME` | for which queue manager names: the gateway's own, all, these |
//! | `strict` | `yes`, `no` | refuse parts that are no MQ names |
//! | `blank_fill` | `yes`, `no` | pad the names with blanks, or with zero bytes |
//! | `on_error` | `fail`, `pass` | what becomes of a malformed name: undelivered (2085 for the queue's part, 2086 for the device's), or delivered as it is |
//!
//! Messages of devices are left alone: a device names queue and queue manager separately.

mod rewrite;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use mq_wire::{QMgrName, Reason, is_name_byte};

pub use rewrite::{Destination, Outcome, Part, rewrite, split};

use crate::{DataOptions, Direction, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// How names are rewritten (mq-objects.md 10.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteOptions {
    /// What stands between the parts: a name character, in ASCII.
    pub separator: u8,
    /// Which part comes first.
    pub order: Order,
    /// What is put before the device's part.
    pub prefix: String,
    /// What is put behind the device's part.
    pub suffix: String,
    /// Whether a part that starts with the prefix is left without a second one.
    pub prefix_if_missing: bool,
    /// For which queue manager names.
    pub only_if_qmgr: OnlyIfQMgr,
    /// Whether parts that are no MQ names are refused.
    pub strict: bool,
    /// Whether names are padded with blanks; else with zero bytes, which MQ also reads as the end of a name.
    pub blank_fill: bool,
    /// What the exit does with malformed names.
    pub on_error: OnError,
}

/// Which part of the name comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// `QUEUE%DEVICE`.
    QueueThenQMgr,
    /// `DEVICE%QUEUE`. Not idempotent: a second separator stays in the queue's name.
    QMgrThenQueue,
}

/// For which queue manager names a queue name is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlyIfQMgr {
    /// The gateway's own names.
    Gateway,
    /// Whatever the name.
    Any,
    /// These names.
    Names(Vec<QMgrName>),
}

/// What the exit does with malformed names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The message is undelivered.
    Fail,
    /// The message goes on as it is.
    Pass,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        Self {
            separator: b'%',
            order: Order::QueueThenQMgr,
            prefix: String::new(),
            suffix: String::new(),
            prefix_if_missing: false,
            only_if_qmgr: OnlyIfQMgr::Gateway,
            strict: true,
            blank_fill: true,
            on_error: OnError::Fail,
        }
    }
}

impl RewriteOptions {
    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        const NO_YES: [(&str, bool); 2] = [("no", false), ("yes", true)];
        const YES_NO: [(&str, bool); 2] = [("yes", true), ("no", false)];
        let mut options = DataOptions::parse(data)?;
        let parsed = Self {
            separator: options.take("sep").map_or(Ok(b'%'), |text| separator(&text))?,
            order: options.take_choice(
                "order",
                &[("queue-qmgr", Order::QueueThenQMgr), ("qmgr-queue", Order::QMgrThenQueue)],
            )?,
            prefix: affix(&mut options, "prefix")?,
            suffix: affix(&mut options, "suffix")?,
            prefix_if_missing: options.take_choice("prefix_if_missing", &NO_YES)?,
            only_if_qmgr: only_if_qmgr(options.take("only_if_qmgr").as_deref())?,
            strict: options.take_choice("strict", &YES_NO)?,
            blank_fill: options.take_choice("blank_fill", &YES_NO)?,
            on_error: options.take_choice("on_error", &[("fail", OnError::Fail), ("pass", OnError::Pass)])?,
        };
        options.finish(&[
            "sep",
            "order",
            "prefix",
            "suffix",
            "prefix_if_missing",
            "only_if_qmgr",
            "strict",
            "blank_fill",
            "on_error",
        ])?;
        Ok(parsed)
    }
}

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DestinationRewrite {
    options: RewriteOptions,
}

impl DestinationRewrite {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "destination-rewrite";

    /// With these options.
    pub fn new(options: RewriteOptions) -> Self {
        Self { options }
    }

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        RewriteOptions::from_data(data).map(Self::new)
    }
}

#[async_trait]
impl ReceiveExit for DestinationRewrite {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        // Data of another format may look like an MQXQH by chance.
        let is_transmission = message.descriptor().format == ExitMessage::transmission_format();
        if cx.direction() != Direction::FromMq || !is_transmission {
            return Ok(ExitResponse::Ok);
        }
        // Split first, so that only what is changed is copied.
        match split(message.bytes(), &self.options, cx.gateway_names()) {
            Ok(destination) => destination.write(message.bytes_mut()),
            Err(outcome) => {
                if let Some(reason) = reason(outcome)
                    && self.options.on_error == OnError::Fail
                {
                    return Ok(ExitResponse::SuppressFunction { reason, why: outcome.to_string() });
                }
            }
        }
        Ok(ExitResponse::Ok)
    }
}

/// What MQOPEN would say to such a name; none where the message goes on as it is.
fn reason(outcome: Outcome) -> Option<Reason> {
    match outcome {
        Outcome::EmptyQueue | Outcome::BadName(Part::Queue) => Some(Reason::UNKNOWN_OBJECT_NAME),
        Outcome::EmptyQMgr | Outcome::NameTooLong | Outcome::BadName(Part::QMgr) => {
            Some(Reason::UNKNOWN_OBJECT_Q_MGR)
        }
        Outcome::Rewritten { .. }
        | Outcome::NoSeparator
        | Outcome::NotXqh
        | Outcome::NotAddressed
        | Outcome::TooShort => None,
    }
}

fn separator(text: &str) -> Result<u8, ExitError> {
    match text.as_bytes() {
        [byte] if is_name_byte(*byte) => Ok(*byte),
        _ => Err(ExitError::option("sep", "must be one character of MQ names: A-Z a-z 0-9 . / _ %")),
    }
}

fn affix(options: &mut DataOptions, option: &str) -> Result<String, ExitError> {
    let text = options.take(option).unwrap_or_default();
    if text.is_empty() {
        return Ok(text);
    }
    match QMgrName::new(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(ExitError::option(option, error.to_string())),
    }
}

fn only_if_qmgr(text: Option<&str>) -> Result<OnlyIfQMgr, ExitError> {
    match text {
        None | Some("gateway") => Ok(OnlyIfQMgr::Gateway),
        Some("none") => Ok(OnlyIfQMgr::Any),
        Some(names) => names
            .split('|')
            .map(QMgrName::new)
            .collect::<Result<_, _>>()
            .map(OnlyIfQMgr::Names)
            .map_err(|error| ExitError::option("only_if_qmgr", error.to_string())),
    }
}
