//! One declaration of a section of the configuration: keys, types, ranges, defaults, sentences.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::problem::Source;

/// A table of the configuration file.
pub trait Section: Default {
    /// Its name.
    const NAME: &'static str;
    /// Its keys.
    const KEYS: &'static [&'static str];

    /// Sets one of [`Section::KEYS`]; the error is a sentence without the place.
    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Result<(), String>;

    /// Lets the relative paths that were set start from this folder.
    fn rebase(&mut self, key: &str, folder: &Path);
}

/// Reads a section; what is wrong goes to the source, and its key keeps the default.
pub(super) fn read_section<S: Section>(
    table: &DeTable<'_>,
    others: &[(&str, &[&str])],
    source: &mut Source<'_>,
) -> S {
    let mut section = S::default();
    for (key, value) in table {
        let name: &str = key.get_ref();
        if !S::KEYS.contains(&name) {
            source.problem(key.span(), unknown_key::<S>(name, others));
            continue;
        }
        match section.set(name, value.get_ref()) {
            Ok(()) => section.rebase(name, source.folder()),
            Err(message) => source.problem(value.span(), format!("[{}] {name}: {message}", S::NAME)),
        }
    }
    section
}

fn unknown_key<S: Section>(name: &str, others: &[(&str, &[&str])]) -> String {
    let start = format!("unknown key `{name}` in [{}]", S::NAME);
    if let Some(known) = nearest(name, S::KEYS.iter().copied()) {
        return format!("{start}, did you mean `{known}`?");
    }
    match others.iter().find(|(_, keys)| keys.contains(&name)) {
        Some((section, _)) => format!("{start}: it belongs to [{section}]"),
        None => format!("{start}: it has {}", S::KEYS.join(", ")),
    }
}

/// Declares a section: the struct, its defaults, its keys and how each is read and checked.
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, $title:literal {
            $($(#[$key_meta:meta])+ $key:ident: $ty:ty = $default:expr $(, in $range:expr)?;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$key_meta])+ pub $key: $ty,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl $crate::config::section::Section for $name {
            const NAME: &'static str = $title;
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),+];

            fn set(&mut self, key: &str, value: &toml::de::DeValue<'_>) -> Result<(), String> {
                match key {
                    $(stringify!($key) => {
                        let value = <$ty as $crate::config::setting::Setting>::read(value)?;
                        $(
                            let range: std::ops::RangeInclusive<$ty> = $range;
                            if !range.contains(&value) {
                                let (low, high) = (range.start(), range.end());
                                return Err(format!("{value} does not fit: must be from {low} to {high}"));
                            }
                        )?
                        self.$key = value;
                    })+
                    _ => {}
                }
                Ok(())
            }

            fn rebase(&mut self, key: &str, folder: &std::path::Path) {
                $(if key == stringify!($key) {
                    $crate::config::setting::Setting::rebase(&mut self.$key, folder);
                })+
            }
        }
    };
}

pub(super) use section;
