//! Identifiers of the message descriptor: bytes without meaning to us.

use std::fmt;

use bytes::BytesMut;

use crate::codec::{Coding, Field};

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident: $length:literal;)+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $length]);

        impl $name {
            /// All zeros: none.
            pub const NONE: Self = Self([0; $length]);

            /// Whether it is all zeros.
            pub fn is_none(&self) -> bool {
                *self == Self::NONE
            }

            /// The id that a text of hexadecimal digits says; shorter ones are padded with zeros.
            pub fn from_hex(text: &str) -> Option<Self> {
                let digits = text.bytes().all(|digit| digit.is_ascii_hexdigit());
                if text.len() % 2 != 0 || text.len() > 2 * $length || !digits {
                    return None;
                }
                let mut bytes = [0; $length];
                for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
                    let pair = std::str::from_utf8(pair).ok()?;
                    *byte = u8::from_str_radix(pair, 16).ok()?;
                }
                Some(Self(bytes))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|b| write!(f, "{b:02X}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Field for $name {
            const LENGTH: usize = $length;
            fn read(bytes: &[u8], coding: Coding) -> Self {
                Self(Field::read(bytes, coding))
            }
            fn write(&self, out: &mut BytesMut, coding: Coding) {
                self.0.write(out, coding);
            }
        }
    )+ };
}

ids! {
    /// Message identifier (24).
    MsgId: 24;
    /// Correlation identifier (24).
    CorrelId: 24;
    /// Group identifier (24).
    GroupId: 24;
    /// Accounting token (32).
    AccountingToken: 32;
    /// Message token (16).
    MsgToken: 16;
}

impl From<MsgId> for CorrelId {
    fn from(id: MsgId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hex_that_is_none_is_refused() {
        assert_eq!(MsgToken::from_hex("0"), None);
        assert_eq!(MsgToken::from_hex("0G"), None);
        assert_eq!(MsgToken::from_hex("+1"), None);
        assert_eq!(MsgToken::from_hex("ää"), None);
        assert_eq!(MsgToken::from_hex(&"0".repeat(34)), None);
        assert_eq!(MsgToken::from_hex(""), Some(MsgToken::NONE));
    }

    proptest! {
        #[test]
        fn ids_come_back_from_their_text(bytes: [u8; 24]) {
            let id = MsgId(bytes);
            prop_assert_eq!(MsgId::from_hex(&id.to_string()), Some(id));
            prop_assert_eq!(MsgId::from_hex(&id.to_string().to_lowercase()), Some(id));
            prop_assert_eq!(CorrelId::from(id).0, bytes);
        }
    }
}
