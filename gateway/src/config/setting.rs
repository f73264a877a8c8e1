//! What the value of a key can be, and how it is read: each type says itself what it expects.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mq_wire::{QMgrName, QName};
use toml::Spanned;
use toml::de::DeValue;

/// A type of which a key can be.
pub trait Setting: Sized {
    /// Reads it; the error is a sentence without the place.
    fn read(value: &DeValue<'_>) -> Result<Self, String>;

    /// Lets a relative path start from the folder of the file that it was read from.
    fn rebase(&mut self, _folder: &Path) {}
}

/// A sentence that says what was expected and what stands there.
fn mismatch(expected: &str, value: &DeValue<'_>) -> String {
    let found = match value {
        DeValue::String(text) => format!("the string {text:?}"),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    format!("expected {expected}, found {found}")
}

/// Reads a string and what it stands for.
pub(super) fn read_text<T: FromStr>(expected: &str, value: &DeValue<'_>) -> Result<T, String>
where
    T::Err: ToString,
{
    let DeValue::String(text) = value else { return Err(mismatch(expected, value)) };
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl Setting for bool {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Boolean(value) = value else { return Err(mismatch("true or false", value)) };
        Ok(*value)
    }
}

macro_rules! numbers {
    ($($ty:ty),+) => { $(
        impl Setting for $ty {
            fn read(value: &DeValue<'_>) -> Result<Self, String> {
                let DeValue::Integer(number) = value else { return Err(mismatch("a whole number", value)) };
                Self::from_str_radix(number.as_str(), number.radix())
                    .map_err(|_| format!("{number} does not fit: must be from {} to {}", Self::MIN, Self::MAX))
            }
        }
    )+ };
}

numbers!(u32, u64);

impl Setting for SocketAddr {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let expected = "an address with port such as \"127.0.0.1:1414\" or \"[::1]:1414\"";
        let DeValue::String(text) = value else { return Err(mismatch(expected, value)) };
        text.parse().map_err(|_| mismatch(expected, value))
    }
}

impl Setting for PathBuf {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) if !text.is_empty() => Ok(Self::from(text.as_ref())),
            _ => Err(mismatch("a path", value)),
        }
    }

    fn rebase(&mut self, folder: &Path) {
        *self = folder.join(&*self);
    }
}

impl Setting for QMgrName {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        read_text("the name of a queue manager", value)
    }
}

impl Setting for String {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::String(text) = value else { return Err(mismatch("a string", value)) };
        Ok(text.to_string())
    }
}

/// An empty string stands for none.
impl Setting for Option<PathBuf> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) if text.is_empty() => Ok(None),
            _ => PathBuf::read(value).map(Some),
        }
    }

    fn rebase(&mut self, folder: &Path) {
        if let Some(path) = self {
            path.rebase(folder);
        }
    }
}

/// An empty string stands for any.
impl Setting for Option<QMgrName> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) if text.is_empty() => Ok(None),
            _ => QMgrName::read(value).map(Some),
        }
    }
}

/// An empty string stands for none.
impl Setting for Option<QName> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value {
            DeValue::String(text) if text.is_empty() => Ok(None),
            _ => read_text("the name of a queue", value).map(Some),
        }
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Array(values) = value else { return Err(mismatch("a list", value)) };
        values.iter().map(|value: &Spanned<DeValue<'_>>| T::read(value.get_ref())).collect()
    }

    fn rebase(&mut self, folder: &Path) {
        self.iter_mut().for_each(|value| value.rebase(folder));
    }
}
