//! Values of the configuration that are more than a number or a name.

use std::fmt;
use std::str::FromStr;

use toml::de::DeValue;

use super::nearest::suggestion;
use super::setting::{Setting, read_text};

/// Declares an enum whose variants are words of the file.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $expected:literal { $($(#[$variant_meta:meta])+ $variant:ident = $word:literal;)+ }
        $(later: $($later:literal),+;)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_meta])+ $variant,)+
        }

        impl $name {
            /// The words in the file and on the command line.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)+ })
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    $($($later)|+ => Err(format!("{text:?} is not supported by this version: it knows {}", Self::WORDS.join(", "))),)?
                    _ => Err(format!(
                        "{text:?} is not one of {}{}",
                        Self::WORDS.join(", "),
                        suggestion(text, Self::WORDS.iter().copied()),
                    )),
                }
            }
        }

        impl Setting for $name {
            fn read(value: &DeValue<'_>) -> Result<Self, String> {
                read_text($expected, value)
            }
        }
    };
}

words! {
    /// Which names become devices.
    pub enum Onboarding, "\"auto\", \"listed\", \"pattern\" or \"open\"" {
        /// `pattern` for a device listener on loopback with developer objects, else `listed`.
        Auto = "auto";
        /// The names in `listed`.
        Listed = "listed";
        /// Those, and names that match `pattern`, with their first message or first HELLO.
        Pattern = "pattern";
        /// Every name.
        Open = "open";
    }
    later: "registered";
}

words! {
    /// What becomes of groups and segments on their way to devices, which know neither.
    pub enum Segments, "\"carry\" or \"refuse\"" {
        /// Their fields travel with the message.
        Carry = "carry";
        /// They are undelivered.
        Refuse = "refuse";
    }
}

words! {
    /// What becomes of puts of devices while a source is stopped.
    pub enum PutsWhenStopped, "\"keep\" or \"refuse\"" {
        /// They wait in the outbox.
        Keep = "keep";
        /// The device is told to come later.
        Refuse = "refuse";
    }
}

words! {
    /// Whose user id the messages of devices bear in the other queue manager.
    pub enum MessageContext, "\"default\" or \"set-identity\"" {
        /// The user of the channel.
        Default = "default";
        /// The device's name; the channel's user needs the right to set it.
        SetIdentity = "set-identity";
    }
}

words! {
    /// The order of the bytes of integers.
    pub enum ByteOrder, "\"little\" or \"big\"" {
        /// The lowest byte first.
        Little = "little";
        /// The highest byte first.
        Big = "big";
    }
}

words! {
    /// How a line of the log looks.
    pub enum LogFormat, "\"text\" or \"json\"" {
        /// For people.
        Text = "text";
        /// A JSON object a line.
        Json = "json";
    }
}

/// The character between the name of a queue and that of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Separator(char);

impl Separator {
    /// The default, `%`.
    pub const PERCENT: Self = Self('%');

    /// The character, always one of `%`, `/`, `.` and `_`.
    pub fn char(self) -> char {
        self.0
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Separator {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // mq-objects.md 10.5 asks for a character of names; letters and digits would cut names apart.
        match text {
            "%" | "/" | "." | "_" => Ok(Self(text.chars().next().unwrap_or('%'))),
            _ => Err(format!("{text:?} cannot separate names: use one of % / . _")),
        }
    }
}

impl Setting for Separator {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        read_text("a character such as \"%\"", value)
    }
}

/// A name, or the start of names and a star.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePattern {
    start: String,
    open_end: bool,
}

impl DevicePattern {
    /// Whether the name fits.
    pub fn matches(&self, name: &str) -> bool {
        if self.open_end { name.starts_with(&self.start) } else { name == self.start }
    }

    /// The names that start so; the default is `DEV*`.
    pub(super) fn starting_with(start: &str) -> Self {
        Self { start: start.to_owned(), open_end: true }
    }
}

impl fmt::Display for DevicePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.start, if self.open_end { "*" } else { "" })
    }
}

impl FromStr for DevicePattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (start, open_end) = match text.strip_suffix('*') {
            Some(start) => (start, true),
            None => (text, false),
        };
        if !open_end || !start.is_empty() {
            mq_wire::QMgrName::new(start).map_err(|error| format!("{error}; a star may stand at the end"))?;
        }
        Ok(Self { start: start.to_owned(), open_end })
    }
}

impl Setting for DevicePattern {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        read_text("a pattern of names such as \"DEV*\"", value)
    }
}

/// Where a queue manager is: a server-connection channel, and a host with a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The channel.
    pub channel: mq_wire::ChannelName,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/TCP/{}({})", self.channel, self.host, self.port)
    }
}

/// Addresses that are tried one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses(pub Vec<Address>);

impl FromStr for Addresses {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // Several hosts may follow one channel, as in CONNAME.
        let mut addresses = Vec::new();
        let mut channel = "";
        for part in text.split(',').map(str::trim) {
            let whole = match part.rsplit_once('/') {
                Some((start, _)) => {
                    channel = start;
                    part.to_owned()
                }
                None => format!("{channel}/{part}"),
            };
            let options = mq_client::ConnectOptions::parse(&whole).map_err(|error| error.to_string())?;
            addresses.push(Address { channel: options.channel, host: options.host, port: options.port });
        }
        Ok(Self(addresses))
    }
}

impl Setting for Addresses {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let expected = "an address such as \"CHANNEL/TCP/host(1414)\"";
        let DeValue::Array(values) = value else { return read_text(expected, value) };
        let mut addresses = Vec::new();
        for value in values {
            let Self(more) = read_text(expected, value.get_ref())?;
            addresses.extend(more);
        }
        Ok(Self(addresses))
    }
}

/// What is logged, as in `RUST_LOG`: a level, or directives such as `info,mqe_gateway::device=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLevel(String);

impl LogLevel {
    /// From `info` on.
    pub fn info() -> Self {
        Self("info".to_owned())
    }

    /// The directives.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LogLevel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let levels = ["error", "warn", "info", "debug", "trace", "off"];
        // A lone word that is no level would be taken as the name of a crate, and nothing would be logged.
        let lone_word = text.chars().all(|c| c.is_ascii_alphanumeric());
        if lone_word && !levels.contains(&text.to_ascii_lowercase().as_str()) {
            return Err(format!("{text:?} is not one of {}{}", levels.join(", "), suggestion(text, levels)));
        }
        tracing_subscriber::EnvFilter::try_new(text).map_err(|error| format!("{text:?}: {error}"))?;
        Ok(Self(text.to_owned()))
    }
}

impl Setting for LogLevel {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        read_text("a level such as \"info\"", value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_all_their_forms() {
        let texts = |text: &str| {
            let Addresses(addresses) = text.parse().unwrap();
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(texts("A/TCP/one"), ["A/TCP/one(1414)"]);
        assert_eq!(
            texts("A/TCP/one(1), two(2),B/TCP/three"),
            ["A/TCP/one(1)", "A/TCP/two(2)", "B/TCP/three(1414)"]
        );
        assert!("one(1)".parse::<Addresses>().is_err());
        assert!("A/TCP/one(1),".parse::<Addresses>().is_err());
    }

    #[test]
    fn patterns() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let pattern: DevicePattern = pattern.parse().unwrap();
            assert_eq!(pattern.matches(name), expected, "{pattern} {name}");
        };
        check("DEV*", "DEV00001", true);
        check("DEV*", "DEV", true);
        check("DEV*", "dev1", false);
        check("DEV1", "DEV1", true);
        check("DEV1", "DEV11", false);
        check("*", "ANY", true);
        assert!("D*V".parse::<DevicePattern>().is_err());
        assert!("".parse::<DevicePattern>().is_err());
    }
}
