//! Message properties between MQ and devices (mqe.md 4.5): in MQ they are MQRFH2 in front of the data, for a device they are
//! fields of its message, with their types, and the data is the application's alone.
//!
//! What MQ has sent is given back byte for byte: the headers travel in the envelope beside the fields, and a message that goes
//! back to MQ as it is (a dead letter, a report with data) has them in front again. Properties that a device has made become
//! an MQRFH2. What cannot be read as properties is data, and stays.

use bytes::{Bytes, BytesMut};
use mq_wire::{
    Ccsid, Described, Encoding, Mqmd, Properties, PropertyValue, properties_length, properties_of, rfh2_of,
};

use crate::DeviceMessage;
use crate::fields::{Fields, Value};

/// The headers that are taken apart: longer ones stay in front of the data, so that an envelope stays small.
const HEADERS_BYTES_MAX: usize = 32 * 1024;

/// Headers of properties as they came, and how they were described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawHeaders {
    /// Encoding and character set of the first one.
    pub encoding: Encoding,
    /// The same.
    pub ccsid: Ccsid,
    /// Their bytes.
    pub bytes: Bytes,
}

impl DeviceMessage {
    /// The message of an application for a device: properties as fields, and data without their headers.
    #[must_use]
    pub fn with_properties_apart(mut self) -> Self {
        let described = Described::by(&self.descriptor);
        let length = properties_length(described, &self.payload);
        let Some(after) = described_behind(described, &self.payload, length) else { return self };
        let found = properties_of(described, &self.payload);
        let mut properties = Fields::new();
        for property in found.iter() {
            if properties.set(&property.full_name(), value_of(&property.value)).is_err() {
                // A name that no field can have: the device gets it all as it is.
                return self;
            }
        }
        self.headers = Some(RawHeaders {
            encoding: described.encoding,
            ccsid: described.ccsid,
            bytes: self.payload.slice(..length),
        });
        self.payload = self.payload.slice(length..);
        self.properties = properties;
        let md = &mut self.descriptor;
        (md.format, md.encoding, md.ccsid) = (after.format, after.encoding, after.ccsid);
        self
    }

    /// The message for MQ: descriptor and data with the headers in front of it, as they came, or made of the fields. None if
    /// it has expired.
    pub fn to_mq_with_properties(&self, wall_ms: u64) -> Option<(Mqmd, Bytes)> {
        let md = self.to_mq(wall_ms)?;
        Some(self.joined(md))
    }

    /// The same with another descriptor of the message.
    pub fn joined(&self, md: Mqmd) -> (Mqmd, Bytes) {
        if let Some(RawHeaders { encoding, ccsid, bytes }) = &self.headers {
            let mut whole = BytesMut::with_capacity(bytes.len() + self.payload.len());
            whole.extend_from_slice(bytes);
            whole.extend_from_slice(&self.payload);
            let format = mq_wire::FormatName::RF_HEADER_2;
            return (Mqmd { format, encoding: *encoding, ccsid: *ccsid, ..md }, whole.freeze());
        }
        let mut properties = Properties::default();
        for (name, value) in self.properties.iter() {
            // A name or a type that MQ does not have is the device's own affair.
            if let Some(value) = property_of(value) {
                let _ = properties.set(name, value);
            }
        }
        let (after, payload) = rfh2_of(&properties, Described::by(&md), &self.payload);
        (Mqmd { format: after.format, encoding: after.encoding, ccsid: after.ccsid, ..md }, payload)
    }
}

/// What follows the headers of properties; none if there are none, or more than are taken apart.
fn described_behind(described: Described, payload: &Bytes, length: usize) -> Option<Described> {
    if length == 0 || length > HEADERS_BYTES_MAX {
        return None;
    }
    let (after, rest) = mq_wire::without_properties(described, payload);
    // Others between them would be folders that are none of ours: then all stays as it is.
    (rest.len() == payload.len() - length).then_some(after)
}

fn value_of(value: &PropertyValue) -> Value {
    match value {
        PropertyValue::Null => Value::Array(Vec::new()),
        PropertyValue::Boolean(value) => Value::Boolean(*value),
        PropertyValue::Int8(value) => Value::Byte(*value as u8),
        PropertyValue::Int16(value) => Value::Short(*value),
        PropertyValue::Int32(value) => Value::Int(*value),
        PropertyValue::Int64(value) => Value::Long(*value),
        PropertyValue::Float32(value) => Value::Float(*value),
        PropertyValue::Float64(value) => Value::Double(*value),
        PropertyValue::Bytes(value) => Value::Bytes(Bytes::copy_from_slice(value)),
        PropertyValue::String(value) => Value::Unicode(value.clone()),
    }
}

fn property_of(value: &Value) -> Option<PropertyValue> {
    Some(match value {
        Value::Array(values) if values.is_empty() => PropertyValue::Null,
        Value::Boolean(value) => PropertyValue::Boolean(*value),
        Value::Byte(value) => PropertyValue::Int8(*value as i8),
        Value::Short(value) => PropertyValue::Int16(*value),
        Value::Int(value) => PropertyValue::Int32(*value),
        Value::Long(value) => PropertyValue::Int64(*value),
        Value::Float(value) => PropertyValue::Float32(*value),
        Value::Double(value) => PropertyValue::Float64(*value),
        Value::Bytes(value) => PropertyValue::Bytes(value.to_vec()),
        Value::Ascii(value) | Value::Unicode(value) => PropertyValue::String(value.clone()),
        Value::Array(_) | Value::Fields(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use mq_wire::{FormatName, QMgrName, QName};
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = PropertyValue> {
        prop_oneof![
            any::<bool>().prop_map(PropertyValue::Boolean),
            any::<i8>().prop_map(PropertyValue::Int8),
            any::<i16>().prop_map(PropertyValue::Int16),
            any::<i32>().prop_map(PropertyValue::Int32),
            any::<i64>().prop_map(PropertyValue::Int64),
            (-1e6f64..1e6).prop_map(PropertyValue::Float64),
            prop::collection::vec(any::<u8>(), 0..20).prop_map(PropertyValue::Bytes),
            "[ -~&&[^<>&]]{0,20}".prop_map(PropertyValue::String),
        ]
    }

    fn message(md: Mqmd, body: Bytes) -> DeviceMessage {
        DeviceMessage::from_mq(QName::new("Q").unwrap(), QMgrName::BLANK, &md, body, 1_000)
    }

    proptest! {
        /// MQ to a device and back: the same bytes, whatever the code page of the data.
        #[test]
        fn what_mq_has_sent_comes_back_byte_for_byte(
            values in prop::collection::btree_map("p_[a-z]{1,8}", values(), 0..6),
            data in prop::collection::vec(any::<u8>(), 0..200),
            ccsid in prop::sample::select(vec![37, 500, 1047, 437, 850, 819, 1252, 1208]),
        ) {
            let mut properties = Properties::default();
            for (name, value) in &values {
                properties.set(name, value.clone()).unwrap();
            }
            let of = Described { format: FormatName::STRING, encoding: Encoding::BIG, ccsid: Ccsid(ccsid) };
            let (described, body) = rfh2_of(&properties, of, &Bytes::from(data.clone()));
            let md = Mqmd {
                format: described.format, encoding: described.encoding, ccsid: described.ccsid, ..Mqmd::default()
            };
            let device = message(md.clone(), body.clone()).with_properties_apart();
            prop_assert_eq!(&device.payload[..], &data[..]);
            prop_assert_eq!((device.descriptor.format, device.descriptor.ccsid), (of.format, of.ccsid));
            prop_assert_eq!(device.properties.len(), values.len());
            // Over the wire and the disk.
            let again = DeviceMessage::from_envelope(&device.envelope(), device.payload.clone()).unwrap();
            let (back, whole) = again.to_mq_with_properties(1_000).unwrap();
            prop_assert_eq!(whole, body);
            prop_assert_eq!((back.format, back.encoding, back.ccsid), (md.format, md.encoding, md.ccsid));
        }
    }

    #[test]
    fn properties_of_a_device_become_properties_in_mq() {
        let mut device =
            message(Mqmd { format: FormatName::STRING, ..Mqmd::default() }, Bytes::from_static(b"data"));
        device.properties.set("colour", Value::Unicode("green".to_owned())).unwrap();
        device.properties.set("count", Value::Int(7)).unwrap();
        device.properties.set("nested", Value::Fields(Fields::new())).unwrap();
        let (md, body) = device.to_mq_with_properties(1_000).unwrap();
        assert_eq!(md.format, FormatName::RF_HEADER_2);
        let found = properties_of(Described::by(&md), &body);
        assert_eq!(found.get("colour"), Some(&PropertyValue::String("green".to_owned())));
        assert_eq!((found.get("count"), found.len()), (Some(&PropertyValue::Int32(7)), 2));
        assert!(body.ends_with(b"data"));
    }

    #[test]
    fn what_is_no_header_of_properties_is_data() {
        for body in [&b"RFH \x00\x00\x00\x02 and then nothing"[..], b"", b"plain"] {
            let md = Mqmd { format: FormatName::RF_HEADER_2, ..Mqmd::default() };
            let device = message(md.clone(), Bytes::from_static(body)).with_properties_apart();
            assert_eq!((&device.payload[..], device.headers.is_none()), (body, true));
            let (back, whole) = device.to_mq_with_properties(1_000).unwrap();
            assert_eq!((back.format, &whole[..]), (md.format, body));
        }
    }
}
