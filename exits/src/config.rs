//! How an exit is configured: one `[[exit]]` table. Which kinds there are is the registry's.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// One exit of the chain; the order of the tables is the order of the chain.
///
/// ```toml
/// [[exit]]
/// kind = "destination-rewrite"
/// data = "sep=% prefix=DEV"
/// time_limit_ms = 200
/// on_failure = "dead-letter"
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitConfig {
    /// Which exit: a shipped one or one that the program registered.
    pub kind: String,
    /// What it is called in status and messages. Default: its kind.
    #[serde(default)]
    pub name: String,
    /// The user data string that the exit is given. Default: empty.
    #[serde(default)]
    pub data: String,
    /// `time_limit_ms`: how long it may take for a message. Default: 1000.
    #[serde(rename = "time_limit_ms", default = "default_time_limit", deserialize_with = "millis")]
    pub time_limit: Duration,
    /// `start_limit_ms`: how long its start, and its end, may take. Default: 10000.
    #[serde(rename = "start_limit_ms", default = "default_start_limit", deserialize_with = "millis")]
    pub start_limit: Duration,
    /// The longest message it may return, in bytes with all headers. Default: 104857600, MQ's longest message.
    #[serde(default = "default_message_bytes_max")]
    pub message_bytes_max: usize,
    /// What becomes of a message when the exit fails. Default: `dead-letter`.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What becomes of a message when an exit panics, is late, returns an error or too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The message, as it came, is undelivered: by default it goes to the dead-letter queue.
    #[default]
    DeadLetter,
    /// The message goes on to the next exit as if this one had not been called.
    Pass,
    /// The message stays where it came from and its source is stopped.
    Stop,
}

impl ExitConfig {
    /// An exit of that kind with everything else by default.
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            name: String::new(),
            data: String::new(),
            time_limit: default_time_limit(),
            start_limit: default_start_limit(),
            message_bytes_max: default_message_bytes_max(),
            on_failure: OnFailure::default(),
        }
    }

    /// The same with a user data string.
    pub fn with_data(self, data: &str) -> Self {
        Self { data: data.to_owned(), ..self }
    }

    /// Its name, or its kind where it was given none.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() { &self.kind } else { &self.name }
    }
}

fn default_time_limit() -> Duration {
    Duration::from_secs(1)
}

fn default_start_limit() -> Duration {
    Duration::from_secs(10)
}

fn default_message_bytes_max() -> usize {
    104_857_600
}

fn millis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    match u64::deserialize(deserializer)? {
        ms @ 1..=DAY_MS => Ok(Duration::from_millis(ms)),
        ms => Err(de::Error::custom(format!("{ms} is not between 1 and {DAY_MS} milliseconds"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ExitConfig, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn defaults_are_those_of_new() {
        assert_eq!(parse("kind = 'header-stamp'"), Ok(ExitConfig::new("header-stamp")));
    }

    #[test]
    fn every_key_is_read() {
        let text = "kind = 'a'\nname = 'b'\ndata = 'c'\ntime_limit_ms = 5\nstart_limit_ms = 6\n\
                    message_bytes_max = 7\non_failure = 'stop'";
        let expected = ExitConfig {
            kind: "a".into(),
            name: "b".into(),
            data: "c".into(),
            time_limit: Duration::from_millis(5),
            start_limit: Duration::from_millis(6),
            message_bytes_max: 7,
            on_failure: OnFailure::Stop,
        };
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert!(wrong("name = 'x'").contains("missing field `kind`"));
        assert!(wrong("kind = 'a'\ntime_limit = 5").contains("unknown field `time_limit`"));
        assert!(wrong("kind = 'a'\ntime_limit_ms = 0").contains("not between 1 and"));
        assert!(wrong("kind = 'a'\non_failure = 'ignore'").contains("unknown variant `ignore`"));
    }
}
