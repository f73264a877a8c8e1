//! The declarations from which everything else follows: [`wire_struct!`] for structures with a version,
//! [`sized_struct!`] for those whose length tells what they hold, [`constants!`] for
//! families of codes and `flags!` for bit sets.

/// Declares an MQ structure with identifier, versions, fields and defaults, like the table in the manual.
///
/// Gives the type with a `version` field, `Default`, `ID`, `FIELDS` (name, offset, length, version), `length`,
/// `decode` and `encode`. The declared length of each version is checked against its fields when it is compiled.
#[macro_export]
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $title:literal, id $id:literal, initial version $initial:literal {
            $(version $version:literal, length $length:literal {
                $($(#[$field_meta:meta])* $field:ident: $ty:ty = $default:expr,)*
            })+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            /// Version: which of the fields below are on the wire.
            pub version: i32,
            $($($(#[$field_meta])* pub $field: $ty,)*)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { version: $initial, $($($field: $default,)*)+ }
            }
        }

        impl $name {
            /// The structure's name in the manuals.
            pub const TITLE: &'static str = $title;
            /// The structure identifier.
            pub const ID: [u8; 4] = *$id;
            /// Each version with its length in bytes.
            pub const VERSIONS: &'static [(i32, usize)] = &[$(($version, $length)),+];
            /// Each field with its place.
            pub const FIELDS: &'static [$crate::FieldInfo] = &{
                const COUNT: usize = 2 $($(+ { let _ = stringify!($field); 1 })*)+;
                let mut fields = [$crate::FieldInfo { name: "StrucId", offset: 0, length: 4, version: 0 }; COUNT];
                fields[1] = $crate::FieldInfo { name: "version", offset: 4, length: 4, version: 0 };
                let (mut _next, mut _offset) = (2, 8);
                $(
                    $(
                        let length = <$ty as $crate::Field>::LENGTH;
                        fields[_next] = $crate::FieldInfo {
                            name: stringify!($field), offset: _offset, length, version: $version,
                        };
                        _offset += length;
                        _next += 1;
                    )*
                    assert!(_offset == $length, concat!($title, ": the fields do not add up to the length"));
                )+
                fields
            };

            /// The length of a version; of the newest one for a version that is not known.
            pub fn length(version: i32) -> usize {
                let mut length = 0;
                for (known, bytes) in Self::VERSIONS {
                    if *known <= version || length == 0 {
                        length = *bytes;
                    }
                }
                length
            }

            /// Reads the structure, whatever its version.
            pub fn decode(reader: &mut $crate::Reader<'_>) -> Result<Self, $crate::DecodeError> {
                reader.struc_id($title, Self::ID)?;
                let at_version = reader.clone();
                let version: i32 = reader.field($title, "Version")?;
                if !Self::VERSIONS.iter().any(|(known, _)| *known == version) {
                    let kind = $crate::DecodeErrorKind::Version { found: version };
                    return Err(at_version.error($title, "Version", kind));
                }
                #[allow(unused_mut, reason = "a structure may have no field of its own")]
                let mut value = Self { version, ..Self::default() };
                $(if version >= $version {
                    $(value.$field = reader.field($title, stringify!($field))?;)*
                })+
                Ok(value)
            }

            /// Appends the structure with the fields of its version.
            pub fn encode(&self, writer: &mut $crate::Writer<'_>) {
                writer.struc_id(Self::ID);
                writer.field(&self.version);
                $(if self.version >= $version {
                    $(writer.field(&self.$field);)*
                })+
            }
        }
    };
}

/// Declares a structure that grew over the levels of the protocol without a version that could be trusted: what is
/// there is told by its length (mq-wire.md 3.1). Fields beyond the end read as zeros, bytes beyond the last known
/// field are kept; both come out again as they came in.
///
/// Gives the type with `length` (bytes of the known part) and `tail` (what follows it), `Default` (whole length),
/// `ID`, `LEAST`, `WHOLE`, `FIELDS`, `decode` and `encode`.
#[macro_export]
macro_rules! sized_struct {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $title:literal, id $id:literal, least $least:literal, whole $whole:literal {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            /// Bytes on the wire, identifier included, without `tail`: which of the fields below are there.
            pub length: usize,
            $($(#[$field_meta])* pub $field: $ty,)*
            /// What follows the last field known here.
            pub tail: bytes::Bytes,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { length: Self::WHOLE, $($field: $default,)* tail: bytes::Bytes::new() }
            }
        }

        impl $name {
            /// The structure's name in the manuals.
            pub const TITLE: &'static str = $title;
            /// The structure identifier.
            pub const ID: [u8; 4] = *$id;
            /// The shortest form.
            pub const LEAST: usize = $least;
            /// The form with every field known here.
            pub const WHOLE: usize = $whole;
            /// Each field with its place.
            pub const FIELDS: &'static [$crate::FieldInfo] = &{
                const COUNT: usize = 1 $(+ { let _ = stringify!($field); 1 })*;
                let mut fields = [$crate::FieldInfo { name: "StrucId", offset: 0, length: 4, version: 0 }; COUNT];
                let (mut _next, mut _offset) = (1, 4);
                $(
                    let length = <$ty as $crate::Field>::LENGTH;
                    fields[_next] = $crate::FieldInfo {
                        name: stringify!($field), offset: _offset, length, version: 0,
                    };
                    _offset += length;
                    _next += 1;
                )*
                assert!(_offset == $whole, concat!($title, ": the fields do not add up to the length"));
                fields
            };

            /// Reads the structure from the next `length` bytes, of which it must have at least [`Self::LEAST`].
            pub fn decode(reader: &mut $crate::Reader<'_>, length: usize) -> Result<Self, $crate::DecodeError> {
                let start = reader.clone();
                reader.struc_id($title, Self::ID)?;
                let left = length.min(start.rest().len());
                if left < length.max(Self::LEAST) {
                    let cut = Self::FIELDS.iter().find(|field| field.offset + field.length > left);
                    let (name, offset) = cut.map_or(("tail", Self::WHOLE), |field| (field.name, field.offset));
                    let kind = $crate::DecodeErrorKind::Truncated { needed: length.max(Self::LEAST), left };
                    let offset = start.position() + offset;
                    return Err($crate::DecodeError { structure: $title, field: name, offset, kind });
                }
                let bytes = reader.take($title, "tail", length - 4)?;
                let known = bytes.len().min(Self::WHOLE - 4);
                let mut padded = [0; $whole];
                padded[4..4 + known].copy_from_slice(&bytes[..known]);
                let mut fields = $crate::Reader::new(&padded[4..], reader.coding());
                Ok(Self {
                    length: known + 4,
                    $($field: fields.field($title, stringify!($field))?,)*
                    tail: bytes::Bytes::copy_from_slice(&bytes[known..]),
                })
            }

            /// Appends as many bytes of the structure as its `length` says, then the tail.
            pub fn encode(&self, writer: &mut $crate::Writer<'_>) {
                let mut whole = bytes::BytesMut::with_capacity(Self::WHOLE);
                let mut fields = writer.beside(&mut whole);
                fields.struc_id(Self::ID);
                $(fields.field(&self.$field);)*
                writer.raw(&whole[..self.length.clamp(Self::LEAST, Self::WHOLE)]);
                writer.raw(&self.tail);
            }
        }
    };
}

/// Declares a family of codes: value, name, sentence. A newtype with constants, so that unknown values survive.
/// The number is an `i32` unless the declaration says another type: `pub struct SegmentType(u8), ...`.
#[macro_export]
macro_rules! constants {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $prefix:literal { $($constant:ident = $value:literal, $meaning:literal;)+ }
    ) => {
        $crate::constants! {
            $(#[$meta])*
            pub struct $name(i32), $prefix { $($constant = $value, $meaning;)+ }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident($repr:ty), $prefix:literal {
            $($constant:ident = $value:literal, $meaning:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $repr);

        impl $name {
            $(#[doc = concat!("`", $prefix, stringify!($constant), "` (", stringify!($value), "): ", $meaning)]
            pub const $constant: Self = Self($value);)+

            /// Every known code.
            pub const ALL: &'static [Self] = &[$(Self::$constant),+];

            /// The name in the manuals, of a known code.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(concat!($prefix, stringify!($constant))),)+
                    _ => None,
                }
            }

            /// What a known code means.
            pub const fn meaning(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($meaning),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{} ({name})", self.0),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl $crate::Field for $name {
            const LENGTH: usize = <$repr as $crate::Field>::LENGTH;
            fn read(bytes: &[u8], coding: $crate::Coding) -> Self {
                Self(<$repr as $crate::Field>::read(bytes, coding))
            }
            fn write(&self, out: &mut bytes::BytesMut, coding: $crate::Coding) {
                $crate::Field::write(&self.0, out, coding);
            }
        }
    };
}

/// Declares bit sets of one or more bytes; unknown bits survive.
macro_rules! flags {
    ($($(#[doc = $name_doc:literal])* $name:ident($repr:ty) {
        $($(#[doc = $doc:literal])* $flag:ident = $value:literal;)+
    })+) => { $(
        bitflags::bitflags! {
            $(#[doc = $name_doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
            pub struct $name: $repr {
                $($(#[doc = $doc])* const $flag = $value;)+
                const _ = !0;
            }
        }

        impl $name {
            /// The bits that have no name here.
            pub fn unknown(self) -> $repr {
                self.bits() & !(0 $(| $value)+)
            }
        }

        impl $crate::Field for $name {
            const LENGTH: usize = <$repr as $crate::Field>::LENGTH;
            fn read(bytes: &[u8], coding: $crate::Coding) -> Self {
                Self::from_bits_retain(<$repr as $crate::Field>::read(bytes, coding))
            }
            fn write(&self, out: &mut bytes::BytesMut, coding: $crate::Coding) {
                $crate::Field::write(&self.bits(), out, coding);
            }
        }
    )+ };
}
