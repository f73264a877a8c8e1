//! Reading of big-endian bytes with bounds, and what can be wrong with them. Used by fields, frames and records.

/// Bytes that cannot be read as what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at offset {offset}: {kind}")]
pub struct DecodeError {
    /// Structure and field.
    pub what: &'static str,
    /// Offset from the start of what was being read.
    pub offset: usize,
    /// What is wrong.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// There are fewer bytes than it needs.
    #[error("needs {needed} bytes, {left} are left")]
    Truncated {
        /// Bytes needed.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// Bytes are left behind the end.
    #[error("{left} bytes too many")]
    Trailing {
        /// Bytes left.
        left: usize,
    },
    /// A number outside of its bounds.
    #[error("{found} is more than {max}")]
    TooLarge {
        /// The number.
        found: u64,
        /// The most.
        max: u64,
    },
    /// A code that does not exist.
    #[error("code {found:#04x} is not known")]
    Code {
        /// The code.
        found: u8,
    },
    /// A name that may not be one.
    #[error("not a valid name")]
    Name,
    /// Not in ascending order, or there twice.
    #[error("names are not in strictly ascending order")]
    Order,
    /// Text that is not in its character set.
    #[error("not valid text")]
    Text,
    /// A field that must be there is not, or has another type.
    #[error("missing, or of another type")]
    Missing,
    /// A checksum that does not fit.
    #[error("checksum does not fit")]
    Checksum,
}

/// A place in bytes that are being read.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    pub(crate) fn error(&self, what: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { what, offset: self.position, kind }
    }

    pub(crate) fn take(&mut self, what: &'static str, length: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.position..];
        let Some(taken) = rest.get(..length) else {
            return Err(self.error(what, DecodeErrorKind::Truncated { needed: length, left: rest.len() }));
        };
        self.position += length;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut fixed = [0; N];
        fixed.copy_from_slice(self.take(what, N)?);
        Ok(fixed)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array(what).map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_be_bytes)
    }

    /// Bytes behind a length of 32 bits, at most `max`.
    pub(crate) fn counted(&mut self, what: &'static str, max: usize) -> Result<&'a [u8], DecodeError> {
        let at = self.clone();
        let length = self.u32(what)?;
        let length = length as usize;
        if length > max {
            return Err(at.error(what, DecodeErrorKind::TooLarge { found: length as u64, max: max as u64 }));
        }
        self.take(what, length)
    }

    /// Text of ASCII bytes behind a length of 8 bits.
    pub(crate) fn short_text(&mut self, what: &'static str) -> Result<&'a str, DecodeError> {
        let length = self.u8(what)?;
        let at = self.clone();
        let bytes = self.take(what, usize::from(length))?;
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
        text.ok_or_else(|| at.error(what, DecodeErrorKind::Text))
    }

    /// That nothing is left.
    pub(crate) fn finish(&self, what: &'static str) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.error(what, DecodeErrorKind::Trailing { left })),
        }
    }
}
