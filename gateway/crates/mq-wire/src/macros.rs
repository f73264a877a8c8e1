//! The two declarations from which everything else follows: [`wire_struct!`] and [`constants!`].

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

/// Declares a family of codes: value, name, sentence. A newtype with constants, so that unknown values survive.
#[macro_export]
macro_rules! constants {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $prefix:literal {
            $($constant:ident = $value:literal, $meaning:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub i32);

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
            const LENGTH: usize = 4;
            fn read(bytes: &[u8], coding: $crate::Coding) -> Self {
                Self(<i32 as $crate::Field>::read(bytes, coding))
            }
            fn write(&self, out: &mut bytes::BytesMut, coding: $crate::Coding) {
                $crate::Field::write(&self.0, out, coding);
            }
        }
    };
}
