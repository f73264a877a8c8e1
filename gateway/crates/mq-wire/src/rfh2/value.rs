//! The value of a property: its type is in the attribute `dt` of its element, its text between the tags.

use std::fmt::Write as _;

/// A value with its type.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyValue {
    /// `xsi:nil='true'`.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `i1`.
    Int8(i8),
    /// `i2`.
    Int16(i16),
    /// `i4` or `int`.
    Int32(i32),
    /// `i8`.
    Int64(i64),
    /// `r4`.
    Float32(f32),
    /// `r8`.
    Float64(f64),
    /// `bin.hex`.
    Bytes(Vec<u8>),
    /// `string`, `char`, or nothing said.
    String(String),
}

impl PropertyValue {
    /// The value with this text, if the type is known and the text is one of its values.
    pub(super) fn parse(dt: &str, text: String) -> Option<Self> {
        let trimmed = text.trim();
        Some(match dt {
            "" | "string" | "char" => Self::String(text),
            "boolean" => Self::Boolean(match trimmed {
                "1" | "true" | "TRUE" => true,
                "0" | "false" | "FALSE" => false,
                _ => return None,
            }),
            "i1" => Self::Int8(trimmed.parse().ok()?),
            "i2" => Self::Int16(trimmed.parse().ok()?),
            "i4" | "int" => Self::Int32(trimmed.parse().ok()?),
            "i8" => Self::Int64(trimmed.parse().ok()?),
            "r4" => Self::Float32(trimmed.parse().ok()?),
            "r8" => Self::Float64(trimmed.parse().ok()?),
            "bin.hex" => Self::Bytes(bytes(trimmed)?),
            _ => return None,
        })
    }

    /// The attribute that says the type, with a blank before it.
    pub(super) fn attribute(&self) -> &'static str {
        match self {
            Self::Null => " xsi:nil='true'",
            Self::Boolean(_) => " dt='boolean'",
            Self::Int8(_) => " dt='i1'",
            Self::Int16(_) => " dt='i2'",
            Self::Int32(_) => " dt='i4'",
            Self::Int64(_) => " dt='i8'",
            Self::Float32(_) => " dt='r4'",
            Self::Float64(_) => " dt='r8'",
            Self::Bytes(_) => " dt='bin.hex'",
            Self::String(_) => "",
        }
    }

    /// The text, not yet escaped.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Boolean(value) => u8::from(*value).to_string(),
            Self::Int8(value) => value.to_string(),
            Self::Int16(value) => value.to_string(),
            Self::Int32(value) => value.to_string(),
            Self::Int64(value) => value.to_string(),
            Self::Float32(value) => value.to_string(),
            Self::Float64(value) => value.to_string(),
            Self::Bytes(value) => value.iter().fold(String::new(), |mut text, byte| {
                // A string takes all that is written to it.
                let _ = write!(text, "{byte:02X}");
                text
            }),
            Self::String(value) => value.clone(),
        }
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.bytes().map(|digit| char::from(digit).to_digit(16)).collect::<Option<Vec<_>>>()?;
    if digits.len() % 2 == 1 {
        return None;
    }
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dt: &str, text: &str, expected: Option<PropertyValue>) {
        assert_eq!(PropertyValue::parse(dt, text.to_owned()), expected, "{dt} {text}");
    }

    #[test]
    fn values_of_each_type() {
        check("", " a ", Some(PropertyValue::String(" a ".to_owned())));
        check("string", "", Some(PropertyValue::String(String::new())));
        check("boolean", "1", Some(PropertyValue::Boolean(true)));
        check("boolean", "false", Some(PropertyValue::Boolean(false)));
        check("boolean", "2", None);
        check("i1", "-128", Some(PropertyValue::Int8(-128)));
        check("i1", "128", None);
        check("i2", "32767", Some(PropertyValue::Int16(32_767)));
        check("i4", " 7 ", Some(PropertyValue::Int32(7)));
        check("int", "7", Some(PropertyValue::Int32(7)));
        check("i4", "", None);
        check("i4", "7.0", None);
        check("i8", "-9223372036854775808", Some(PropertyValue::Int64(i64::MIN)));
        check("r4", "1.5", Some(PropertyValue::Float32(1.5)));
        check("r8", "1.0E-3", Some(PropertyValue::Float64(0.001)));
        check("r8", "x", None);
        check("bin.hex", "00fF", Some(PropertyValue::Bytes(vec![0, 255])));
        check("bin.hex", "0", None);
        check("bin.hex", "0g", None);
        check("date", "x", None);
    }
}
