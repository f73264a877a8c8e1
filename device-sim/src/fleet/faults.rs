//! Which faults a fleet makes: `cut=0.1,crash=0.01`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Faults, as fractions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Faults {
    /// Of the device connections: those that are cut at some byte.
    pub cut: f64,
    /// Of the messages that a device gets: those after which it crashes.
    pub crash: f64,
}

/// A specification that says no faults.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// No fault of that name.
    #[error("there is no fault {name:?}: cut=FRACTION and crash=FRACTION are known")]
    Name {
        /// The name.
        name: String,
    },
    /// No fraction.
    #[error("{name}={value} is not a fraction from 0 to 1")]
    Fraction {
        /// The name.
        name: String,
        /// What stands behind it.
        value: String,
    },
}

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Self, FaultsError> {
        let mut faults = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let place = match name {
                "cut" => &mut faults.cut,
                "crash" => &mut faults.crash,
                _ => return Err(FaultsError::Name { name: name.to_owned() }),
            };
            let fraction = value.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
            let wrong = || FaultsError::Fraction { name: name.to_owned(), value: value.to_owned() };
            *place = fraction.ok_or_else(wrong)?;
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cut={},crash={}", self.cut, self.crash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads() {
        let check = |text: &str, cut, crash| assert_eq!(text.parse(), Ok(Faults { cut, crash }), "{text}");
        check("", 0.0, 0.0);
        check("cut=0.1", 0.1, 0.0);
        check("cut=0.1, crash=1", 0.1, 1.0);
        let check = |text: &str, part: &str| {
            let message = text.parse::<Faults>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        };
        check("burn=1", "burn");
        check("cut", "fraction");
        check("cut=2", "cut=2");
        check("cut=-0.1", "fraction");
        check("cut=NaN", "fraction");
    }
}
