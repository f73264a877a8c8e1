//! Reading and writing of fields: byte order, character set, bounds, and errors that name structure, field and offset.

use std::fmt;

use bytes::{BufMut, BytesMut};

/// Byte order of the integers of a segment (mq-wire.md 1.1, ByteOrder).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// ByteOrder 1.
    Big,
    /// ByteOrder 2.
    Little,
}

/// A coded character set id (mq-wire.md 0.3). Unknown numbers survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ccsid(pub i32);

impl Ccsid {
    /// MQCCSI_Q_MGR (0): that of the queue manager.
    pub const Q_MGR: Self = Self(0);
    /// ISO 8859-1.
    pub const LATIN_1: Self = Self(819);
    /// UTF-8.
    pub const UTF_8: Self = Self(1208);

    /// Whether names in this character set are EBCDIC (mq-wire.md 0.3: the invariant characters suffice for names).
    pub const fn is_ebcdic(self) -> bool {
        matches!(self.0, 37 | 273 | 277 | 278 | 280 | 284 | 285 | 297 | 500 | 871 | 1047 | 1140..=1149)
    }
}

/// A numeric encoding (MQENC_*): how integers, decimals and floats of message data are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Encoding(pub i32);

impl Encoding {
    /// 273: big-endian integers and decimals, IEEE floats.
    pub const BIG: Self = Self(0x111);
    /// 546: little-endian integers and decimals, IEEE floats. MQENC_NATIVE of this product on every host.
    pub const LITTLE: Self = Self(0x222);
    /// What our own structures are written in.
    pub const NATIVE: Self = Self::LITTLE;

    /// The byte order of its integers (MQENC_INTEGER_MASK 0x0F: 1 normal, 2 reversed).
    pub const fn byte_order(self) -> ByteOrder {
        if self.0 & 0x0F == 2 { ByteOrder::Little } else { ByteOrder::Big }
    }
}

/// How the fields of a structure are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coding {
    /// Order of integers.
    pub order: ByteOrder,
    /// Character set of character fields.
    pub ccsid: Ccsid,
}

impl Coding {
    /// Little-endian, ISO 8859-1: what our queue manager speaks and stores.
    pub const NATIVE: Self = Self { order: ByteOrder::Little, ccsid: Ccsid::LATIN_1 };

    /// The coding that an MQMD (or a header) announces for what follows it.
    pub const fn of(encoding: Encoding, ccsid: Ccsid) -> Self {
        Self { order: encoding.byte_order(), ccsid }
    }
}

/// What a structure's field is and where it lies; see the `FIELDS` of each structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo {
    /// Name as in the declaration.
    pub name: &'static str,
    /// Offset from the start of the structure.
    pub offset: usize,
    /// Length in bytes.
    pub length: usize,
    /// The first version that has it.
    pub version: i32,
}

/// Bytes that cannot be read as what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{structure}.{field} at offset {offset}: {kind}")]
pub struct DecodeError {
    /// The structure.
    pub structure: &'static str,
    /// The field.
    pub field: &'static str,
    /// Offset from the start of what was being read.
    pub offset: usize,
    /// What is wrong.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// There are fewer bytes than the field needs.
    #[error("needs {needed} bytes, {left} are left")]
    Truncated {
        /// Bytes that the field takes.
        needed: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// Another structure identifier.
    #[error("structure identifier {found:02X?}")]
    StrucId {
        /// The four bytes.
        found: [u8; 4],
    },
    /// A version that does not exist.
    #[error("version {found} is not known")]
    Version {
        /// The version.
        found: i32,
    },
    /// A length or count outside its bounds.
    #[error("value {found} is not between {min} and {max}")]
    Range {
        /// The value.
        found: i64,
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
}

/// A type that is a field of a structure: fixed length, and readable from any that many bytes unless it says no.
pub trait Field: Sized {
    /// Its length in bytes.
    const LENGTH: usize;
    /// Whether these [`Field::LENGTH`] bytes can be read. Nearly every field takes any bytes; a structure within a
    /// structure does not. The offset of the error is that within the field.
    fn check(_bytes: &[u8], _coding: Coding) -> Result<(), DecodeError> {
        Ok(())
    }
    /// Reads it; `bytes` has [`Field::LENGTH`] bytes, which [`Field::check`] has seen.
    fn read(bytes: &[u8], coding: Coding) -> Self;
    /// Appends it.
    fn write(&self, out: &mut BytesMut, coding: Coding);
    /// Appends it with the padding that was read, see [`Writer::as_read`].
    fn write_as_read(&self, out: &mut BytesMut, coding: Coding) {
        self.write(out, coding);
    }
}

macro_rules! integer_field {
    ($($ty:ident: $length:literal, $put:ident, $put_le:ident);+ $(;)?) => { $(
        impl Field for $ty {
            const LENGTH: usize = $length;
            fn read(bytes: &[u8], coding: Coding) -> Self {
                let mut fixed = [0; $length];
                fixed.copy_from_slice(&bytes[..$length]);
                match coding.order {
                    ByteOrder::Big => Self::from_be_bytes(fixed),
                    ByteOrder::Little => Self::from_le_bytes(fixed),
                }
            }
            fn write(&self, out: &mut BytesMut, coding: Coding) {
                match coding.order {
                    ByteOrder::Big => out.$put(*self),
                    ByteOrder::Little => out.$put_le(*self),
                }
            }
        }
    )+ };
}

integer_field! {
    u16: 2, put_u16, put_u16_le;
    u32: 4, put_u32, put_u32_le;
    i32: 4, put_i32, put_i32_le;
    u64: 8, put_u64, put_u64_le;
}

impl Field for u8 {
    const LENGTH: usize = 1;
    fn read(bytes: &[u8], _coding: Coding) -> Self {
        bytes[0]
    }
    fn write(&self, out: &mut BytesMut, _coding: Coding) {
        out.put_u8(*self);
    }
}

/// Plain bytes, the same in every coding.
impl<const N: usize> Field for [u8; N] {
    const LENGTH: usize = N;
    fn read(bytes: &[u8], _coding: Coding) -> Self {
        let mut fixed = [0; N];
        fixed.copy_from_slice(&bytes[..N]);
        fixed
    }
    fn write(&self, out: &mut BytesMut, _coding: Coding) {
        out.put_slice(self);
    }
}

impl<const N: usize> Field for [u16; N] {
    const LENGTH: usize = 2 * N;
    fn read(bytes: &[u8], coding: Coding) -> Self {
        let mut fixed = [0; N];
        for (value, pair) in fixed.iter_mut().zip(bytes.chunks_exact(2)) {
            *value = u16::read(pair, coding);
        }
        fixed
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        for value in self {
            value.write(out, coding);
        }
    }
}

/// A field that must not appear in logs: it is written and compared like what it holds, and shown as nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Secret<T>(pub T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl<T: Field> Field for Secret<T> {
    const LENGTH: usize = T::LENGTH;
    fn read(bytes: &[u8], coding: Coding) -> Self {
        Self(T::read(bytes, coding))
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        self.0.write(out, coding);
    }
    fn write_as_read(&self, out: &mut BytesMut, coding: Coding) {
        self.0.write_as_read(out, coding);
    }
}

impl Field for Ccsid {
    const LENGTH: usize = 4;
    fn read(bytes: &[u8], coding: Coding) -> Self {
        Self(i32::read(bytes, coding))
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        self.0.write(out, coding);
    }
}

impl Field for Encoding {
    const LENGTH: usize = 4;
    fn read(bytes: &[u8], coding: Coding) -> Self {
        Self(i32::read(bytes, coding))
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        self.0.write(out, coding);
    }
}

/// Reads fields one after the other; each failure says where.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    coding: Coding,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8], coding: Coding) -> Self {
        Self { bytes, position: 0, coding }
    }

    /// How fields are read.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// Reads what follows in another coding.
    pub fn set_coding(&mut self, coding: Coding) {
        self.coding = coding;
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// The next `length` bytes.
    pub fn take(
        &mut self,
        structure: &'static str,
        field: &'static str,
        length: usize,
    ) -> Result<&'a [u8], DecodeError> {
        let rest = self.rest();
        let Some(taken) = rest.get(..length) else {
            let kind = DecodeErrorKind::Truncated { needed: length, left: rest.len() };
            return Err(self.error(structure, field, kind));
        };
        self.position += length;
        Ok(taken)
    }

    /// The next field.
    pub fn field<T: Field>(
        &mut self,
        structure: &'static str,
        field: &'static str,
    ) -> Result<T, DecodeError> {
        let (coding, start) = (self.coding, self.position);
        let bytes = self.take(structure, field, T::LENGTH)?;
        T::check(bytes, coding).map_err(|error| DecodeError { offset: start + error.offset, ..error })?;
        Ok(T::read(bytes, coding))
    }

    /// A structure identifier, which is in the character set of the coding.
    pub fn struc_id(&mut self, structure: &'static str, id: [u8; 4]) -> Result<(), DecodeError> {
        let start = self.clone();
        let found: crate::Chars<4> = self.field(structure, "StrucId")?;
        if found.as_bytes() == &id {
            return Ok(());
        }
        let raw: [u8; 4] = start.clone().field(structure, "StrucId")?;
        // IBM's client writes names in the EBCDIC of its queue manager, and identifiers in ASCII all the same.
        if raw == id {
            return Ok(());
        }
        *self = start;
        Err(self.error(structure, "StrucId", DecodeErrorKind::StrucId { found: raw }))
    }

    /// Whether the structure with this identifier comes next.
    pub fn at_struc_id(&self, id: [u8; 4]) -> bool {
        self.clone().struc_id("", id).is_ok()
    }

    /// An error at the place that has been reached.
    pub fn error(&self, structure: &'static str, field: &'static str, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { structure, field, offset: self.position, kind }
    }
}

/// Appends fields to a buffer.
pub struct Writer<'a> {
    out: &'a mut BytesMut,
    coding: Coding,
    as_read: bool,
}

impl<'a> Writer<'a> {
    /// A writer at the end of `out`.
    pub fn new(out: &'a mut BytesMut, coding: Coding) -> Self {
        Self { out, coding, as_read: false }
    }

    /// A writer at the end of `out` that pads character fields as they were padded when they were read: with the
    /// zeros that some clients send. [`Writer::new`] pads with blanks, as queue managers do.
    pub fn as_read(out: &'a mut BytesMut, coding: Coding) -> Self {
        Self { out, coding, as_read: true }
    }

    /// A writer of the same kind at the end of another buffer, for structures that are cut or measured.
    pub fn beside<'b>(&self, out: &'b mut BytesMut) -> Writer<'b> {
        Writer { out, coding: self.coding, as_read: self.as_read }
    }

    /// How fields are written.
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// Appends a field.
    pub fn field<T: Field>(&mut self, value: &T) {
        if self.as_read {
            value.write_as_read(self.out, self.coding);
        } else {
            value.write(self.out, self.coding);
        }
    }

    /// Appends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.put_slice(bytes);
    }

    /// Appends a structure identifier.
    pub fn struc_id(&mut self, id: [u8; 4]) {
        self.field(&crate::Chars::<4>::from_bytes(id));
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("length", &self.out.len()).field("coding", &self.coding).finish()
    }
}
