//! What a getter sees of a message's properties (the IBM MQ reference, MQGMO "Options", PropertyControl; mq-objects.md
//! 3.3, PROPCTL).

use bytes::Bytes;

use super::properties::has_compatible;
use super::without_properties;
use crate::{Described, GetOptions, Reason};

/// What becomes of message properties: the queue's PROPCTL (MQPROP_*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PropertyControl {
    /// COMPAT: all in an MQRFH2 if one is in `mcd`, `jms`, `usr` or `mqext`, else none.
    #[default]
    Compatibility,
    /// NONE: none.
    None,
    /// ALL: all, in an MQRFH2.
    All,
    /// FORCE: all in an MQRFH2, even if the getter has a message handle.
    ForceMqrfh2,
    /// V6COMPAT: an MQRFH2 as it was put.
    V6Compatibility,
}

impl PropertyControl {
    /// The control with this number in MQIA_PROPERTY_CONTROL.
    pub const fn of(value: i32) -> Option<Self> {
        Some(match value {
            0 => Self::Compatibility,
            1 => Self::None,
            2 => Self::All,
            3 => Self::ForceMqrfh2,
            4 => Self::V6Compatibility,
            _ => return None,
        })
    }

    /// Its number in MQIA_PROPERTY_CONTROL.
    pub const fn value(self) -> i32 {
        self as i32
    }

    /// What counts for a get with these options.
    ///
    /// Refused: more than one of the options (2046), and MQGMO_PROPERTIES_IN_HANDLE without a handle (2460).
    pub fn for_get(self, options: GetOptions, has_handle: bool) -> Result<Self, Reason> {
        const OPTIONS: GetOptions = GetOptions::PROPERTIES_FORCE_MQRFH2
            .union(GetOptions::NO_PROPERTIES)
            .union(GetOptions::PROPERTIES_IN_HANDLE)
            .union(GetOptions::PROPERTIES_COMPATIBILITY);
        let option = options.intersection(OPTIONS);
        if option.bits().count_ones() > 1 {
            return Err(Reason::OPTIONS_ERROR);
        }
        Ok(match option {
            GetOptions::PROPERTIES_FORCE_MQRFH2 => Self::ForceMqrfh2,
            GetOptions::NO_PROPERTIES => Self::None,
            GetOptions::PROPERTIES_COMPATIBILITY => Self::Compatibility,
            GetOptions::PROPERTIES_IN_HANDLE if !has_handle => return Err(Reason::HMSG_ERROR),
            GetOptions::PROPERTIES_IN_HANDLE => Self::All,
            // MQGMO_PROPERTIES_AS_Q_DEF.
            _ if has_handle => Self::All,
            _ => self,
        })
    }
}

/// The message as a getter sees it, with these options, on a queue with this PROPCTL.
///
/// An MQRFH2 that cannot be read is data, and stays. With a message handle the properties stay in the data too: the
/// client's library takes them out of there, as no call of a channel could bring them otherwise. PROPCTL does not count
/// then, MQGMO_NO_PROPERTIES does.
/// Refused as [`PropertyControl::for_get`] says.
pub fn deliver(
    control: PropertyControl,
    options: GetOptions,
    has_handle: bool,
    of: Described,
    data: &Bytes,
) -> Result<(Described, Bytes), Reason> {
    let control = control.for_get(options, has_handle)?;
    let as_it_is = match control {
        PropertyControl::None => false,
        PropertyControl::Compatibility => has_compatible(of, data),
        _ => true,
    };
    Ok(if as_it_is { (of, data.clone()) } else { without_properties(of, data) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ccsid, Encoding, FormatName, Properties, PropertyValue, rfh2_of};

    const TEXT: Described =
        Described { format: FormatName::STRING, encoding: Encoding::LITTLE, ccsid: Ccsid::LATIN_1 };

    /// A message with a property of this name.
    fn message(name: &str) -> (Described, Bytes) {
        let mut properties = Properties::default();
        properties.set(name, PropertyValue::Int32(5)).unwrap();
        rfh2_of(&properties, TEXT, &Bytes::from_static(b"body"))
    }

    #[test]
    fn each_control_with_each_option() {
        use GetOptions as G;
        use PropertyControl::{All, Compatibility, ForceMqrfh2, None, V6Compatibility};
        let plain = (TEXT, Bytes::from_static(b"body"));
        // Whether a property in usr, and one in a folder of its own, is there.
        for (control, options, has_handle, usr, own) in [
            (Compatibility, G::empty(), false, true, false),
            (None, G::empty(), false, false, false),
            (All, G::empty(), false, true, true),
            (ForceMqrfh2, G::empty(), false, true, true),
            (V6Compatibility, G::empty(), false, true, true),
            (None, G::PROPERTIES_FORCE_MQRFH2, false, true, true),
            (All, G::NO_PROPERTIES, false, false, false),
            (ForceMqrfh2, G::NO_PROPERTIES, true, false, false),
            (All, G::PROPERTIES_COMPATIBILITY, false, true, false),
            (None, G::PROPERTIES_COMPATIBILITY, false, true, false),
            (None, G::PROPERTIES_IN_HANDLE, true, true, true),
            (None, G::empty(), true, true, true),
        ] {
            for (name, is_there) in [("size", usr), ("app.size", own)] {
                let (of, data) = message(name);
                let found = deliver(control, options | G::WAIT | G::CONVERT, has_handle, of, &data).unwrap();
                let expected = if is_there { (of, data) } else { plain.clone() };
                assert_eq!(found, expected, "{control:?} {options:?} {has_handle} {name}");
            }
        }
    }

    #[test]
    fn options_that_exclude_each_other() {
        let (of, data) = message("a");
        let refused =
            |options, has_handle| deliver(PropertyControl::All, options, has_handle, of, &data).unwrap_err();
        let two = GetOptions::NO_PROPERTIES | GetOptions::PROPERTIES_COMPATIBILITY;
        assert_eq!(refused(two, false), Reason::OPTIONS_ERROR);
        assert_eq!(refused(GetOptions::PROPERTIES_IN_HANDLE, false), Reason::HMSG_ERROR);
    }

    #[test]
    fn numbers_of_controls() {
        for value in 0..5 {
            assert_eq!(PropertyControl::of(value).map(PropertyControl::value), Some(value));
        }
        assert_eq!((PropertyControl::of(-1), PropertyControl::of(5)), (None, None));
        assert_eq!(PropertyControl::default().value(), 0);
    }
}
