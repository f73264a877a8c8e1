//! The numbered messages that answer commands (mq-objects.md 4.8).

use std::fmt;

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It was done.
    Information,
    /// It was not done.
    Error,
}

macro_rules! messages {
    ($($name:ident = $number:literal $severity:ident $text:literal;)+) => {
        /// The number of a message.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct Amq(u16);

        impl Amq {
            $(#[doc = concat!("AMQ", stringify!($number), ": ", $text)] pub const $name: Self = Self($number);)+

            /// The sentence; of errors a heading, for the error itself has the particulars.
            pub const fn text(self) -> &'static str {
                match self.0 {
                    $($number => $text,)+
                    _ => "",
                }
            }

            /// How grave it is.
            pub const fn severity(self) -> Severity {
                match self.0 {
                    $($number => Severity::$severity,)+
                    _ => Severity::Error,
                }
            }
        }
    };
}

messages! {
    QUEUE_MANAGER_CHANGED = 8005 Information "IBM MQ queue manager changed.";
    QUEUE_CREATED = 8006 Information "IBM MQ queue created.";
    QUEUE_DELETED = 8007 Information "IBM MQ queue deleted.";
    QUEUE_CHANGED = 8008 Information "IBM MQ queue changed.";
    CHANNEL_CREATED = 8014 Information "IBM MQ channel created.";
    CHANNEL_DELETED = 8015 Information "IBM MQ channel deleted.";
    CHANNEL_CHANGED = 8016 Information "IBM MQ channel changed.";
    UNEXPECTED = 8101 Error "Unexpected error.";
    NOT_AUTHORIZED = 8135 Error "Not authorized.";
    QUEUE_NOT_EMPTY = 8143 Error "The queue is not empty.";
    NOT_FOUND = 8147 Error "Object not found.";
    IN_USE = 8148 Error "Object in use.";
    EXISTS = 8150 Error "Object already exists.";
    CHANNEL_EXISTS = 8226 Error "Channel already exists.";
    CHANNEL_NOT_FOUND = 8227 Error "Channel not found.";
    SYNTAX = 8405 Error "Syntax error.";
    END_OF_INPUT = 8406 Error "Unexpected end of input.";
    DISPLAY_QUEUE_MANAGER = 8408 Information "Display Queue Manager details.";
    DISPLAY_QUEUE = 8409 Information "Display Queue details.";
    DUPLICATE = 8411 Error "Keyword given twice.";
    RANGE = 8412 Error "Number out of range.";
    LENGTH = 8413 Error "Text too long.";
    DISPLAY_CHANNEL = 8414 Information "Display Channel details.";
    NAME = 8424 Error "Error in a name.";
}

impl Amq {
    /// The number alone.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The number with the letter of its severity, as products from 9.1 on print it.
    pub fn with_letter(self) -> String {
        let letter = match self.severity() {
            Severity::Information => 'I',
            Severity::Error => 'E',
        };
        format!("AMQ{:04}{letter}", self.0)
    }
}

impl fmt::Display for Amq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AMQ{:04}", self.0)
    }
}

impl fmt::Debug for Amq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
