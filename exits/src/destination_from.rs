//! `destination-from`: takes the device, and if it likes the queue, from the message instead of from the queue's name: from a
//! message property, from a fixed place of the data, or from a member of a JSON object.
//!
//! | option | values |
//! |---|---|
//! | `device`, `queue` | `property:NAME`, `bytes:OFFSET+LENGTH`, `json:/POINTER` (RFC 6901) |
//! | `prefix`, `suffix` | what the device's name has before and after what was found |
//! | `on_missing` | `fail` (undelivered with 2087; the default), `pass` (goes on as it is addressed) |
//!
//! `device` must be given; without `queue` the queue stays. Only messages from MQ for the gateway's own names are looked at.
//! Characters are those of the data's code page; blanks around a value are left out.

use async_trait::async_trait;
use mq_wire::{
    Described, PropertyValue, QMgrName, QName, Reason, behind_properties, decode_text, properties_of,
};

use crate::{DataOptions, Direction, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationFrom {
    device: Place,
    queue: Option<Place>,
    prefix: String,
    suffix: String,
    pass: bool,
}

/// Where a name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Property(String),
    Bytes { offset: usize, length: usize },
    Json(String),
}

impl Place {
    fn parse(option: &str, text: &str) -> Result<Self, ExitError> {
        let wrong = |why: &str| ExitError::option(option, why);
        match text.split_once(':') {
            Some(("property", name)) if !name.is_empty() => Ok(Self::Property(name.to_owned())),
            Some(("json", pointer)) if pointer.starts_with('/') => Ok(Self::Json(pointer.to_owned())),
            Some(("bytes", range)) => {
                let parts = range
                    .split_once('+')
                    .and_then(|(offset, length)| Some((offset.parse().ok()?, length.parse().ok()?)));
                match parts {
                    Some((offset, length)) if (1..=48).contains(&length) => {
                        Ok(Self::Bytes { offset, length })
                    }
                    _ => Err(wrong("bytes:OFFSET+LENGTH takes two numbers, the length from 1 to 48")),
                }
            }
            _ => Err(wrong("must be property:NAME, bytes:OFFSET+LENGTH or json:/POINTER")),
        }
    }

    /// What stands there.
    fn find(&self, described: Described, payload: &[u8]) -> Option<String> {
        let found = match self {
            Self::Property(name) => match properties_of(described, payload).get(name)? {
                PropertyValue::String(text) => text.clone(),
                PropertyValue::Int8(number) => number.to_string(),
                PropertyValue::Int16(number) => number.to_string(),
                PropertyValue::Int32(number) => number.to_string(),
                PropertyValue::Int64(number) => number.to_string(),
                _ => return None,
            },
            Self::Bytes { offset, length } => {
                let (data_as, data) = data_of(described, payload)?;
                let bytes = data.get(*offset..offset.checked_add(*length)?)?;
                decode_text(bytes, data_as.ccsid)?.into_owned()
            }
            Self::Json(pointer) => {
                let (data_as, data) = data_of(described, payload)?;
                let json = decode_text(data, data_as.ccsid)?;
                let json: serde_json::Value = serde_json::from_str(&json).ok()?;
                match json.pointer(pointer)? {
                    serde_json::Value::String(text) => text.clone(),
                    serde_json::Value::Number(number) => number.to_string(),
                    _ => return None,
                }
            }
        };
        let found = found.trim();
        (!found.is_empty()).then(|| found.to_owned())
    }
}

/// The application's data behind the properties, and what it is.
fn data_of(described: Described, payload: &[u8]) -> Option<(Described, &[u8])> {
    let (data_as, at) = behind_properties(described, payload);
    Some((data_as, payload.get(at..)?))
}

impl DestinationFrom {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "destination-from";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let mut place =
            |option: &str| options.take(option).map(|text| Place::parse(option, &text)).transpose();
        let (device, queue) = (place("device")?, place("queue")?);
        let device = device.ok_or_else(|| ExitError::option("device", "is missing: say where it stands"))?;
        let affix = |options: &mut DataOptions, option: &str| options.take(option).unwrap_or_default();
        let exit = Self {
            device,
            queue,
            prefix: affix(&mut options, "prefix"),
            suffix: affix(&mut options, "suffix"),
            pass: options.take_choice("on_missing", &[("fail", false), ("pass", true)])?,
        };
        options.finish(&["device", "queue", "prefix", "suffix", "on_missing"])?;
        Ok(exit)
    }

    /// Queue and device of a message; what cannot be a name is an error.
    fn destination(
        &self,
        described: Described,
        payload: &[u8],
    ) -> Result<Option<(Option<QName>, QMgrName)>, String> {
        let Some(device) = self.device.find(described, payload) else { return Ok(None) };
        let name = format!("{}{device}{}", self.prefix, self.suffix);
        let device = QMgrName::new(&name).map_err(|error| format!("the device {name:?}: {error}"))?;
        let Some(place) = &self.queue else { return Ok(Some((None, device))) };
        let Some(queue) = place.find(described, payload) else { return Ok(None) };
        let queue = QName::new(&queue).map_err(|error| format!("the queue {queue:?}: {error}"))?;
        Ok(Some((Some(queue), device)))
    }
}

#[async_trait]
impl ReceiveExit for DestinationFrom {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        let header = message.xqh()?;
        let ours = cx.gateway_names().contains(&header.remote_q_mgr_name);
        if cx.direction() != Direction::FromMq || !ours {
            return Ok(ExitResponse::Ok);
        }
        let described = Described::by(&header.msg_desc);
        let undelivered =
            |why| Ok(ExitResponse::SuppressFunction { reason: Reason::UNKNOWN_REMOTE_Q_MGR, why });
        match self.destination(described, message.payload()?) {
            Ok(Some((queue, device))) => {
                let mut header = message.xqh_mut()?;
                header.remote_q_mgr_name = device;
                if let Some(queue) = queue {
                    header.remote_q_name = queue;
                }
                Ok(ExitResponse::Ok)
            }
            Ok(None) if self.pass => Ok(ExitResponse::Ok),
            Ok(None) => undelivered("the message names no device where it should".to_owned()),
            Err(why) => undelivered(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};
    use mq_wire::{Ccsid, Coding, Encoding, FormatName, Mqrfh2, Properties, Writer, encode_text, rfh2_of};

    use super::*;
    use crate::testing::{Harness, TestMessage};

    async fn destination(data: &str, message: TestMessage) -> Result<(String, String), ExitResponse> {
        let mut harness = Harness::new(DestinationFrom::from_data(data).unwrap());
        let mut message = message.build();
        match harness.run(&mut message).await.unwrap() {
            ExitResponse::Ok => {
                let header = message.xqh().unwrap();
                Ok((header.remote_q_name.to_string(), header.remote_q_mgr_name.to_string()))
            }
            other => Err(other),
        }
    }

    fn pair(queue: &str, device: &str) -> Result<(String, String), ExitResponse> {
        Ok((queue.to_owned(), device.to_owned()))
    }

    fn to(payload: impl Into<Vec<u8>>) -> TestMessage {
        TestMessage::to("ORDERS", "GATE1").payload(payload)
    }

    #[tokio::test]
    async fn from_the_body() {
        let json = r#"{"to":{"device":42,"queue":"INBOX"}}"#;
        assert_eq!(destination("device=json:/to/device prefix=DEV", to(json)).await, pair("ORDERS", "DEV42"));
        let both = "device=json:/to/device queue=json:/to/queue prefix=DEV suffix=X";
        assert_eq!(destination(both, to(json)).await, pair("INBOX", "DEV42X"));
        assert_eq!(destination("device=bytes:2+8", to("x,DEV7    ,rest")).await, pair("ORDERS", "DEV7"));
        // DEV7 in EBCDIC.
        let ebcdic = to([0xC4, 0xC5, 0xE5, 0xF7]).descriptor(|md| md.ccsid = Ccsid(500));
        assert_eq!(destination("device=bytes:0+4", ebcdic).await, pair("ORDERS", "DEV7"));
    }

    #[tokio::test]
    async fn from_a_property() {
        let mut properties = Properties::default();
        properties.set("device", PropertyValue::String("DEV9".to_owned())).unwrap();
        let of = Described { format: FormatName::STRING, encoding: Encoding::NATIVE, ccsid: Ccsid::UTF_8 };
        let (of, payload) = rfh2_of(&properties, of, &Bytes::from_static(b"data"));
        let message = to(payload.to_vec()).descriptor(|md| {
            (md.format, md.encoding, md.ccsid) = (of.format, of.encoding, of.ccsid);
        });
        assert_eq!(destination("device=property:device", message.clone()).await, pair("ORDERS", "DEV9"));
        assert_eq!(destination("device=bytes:0+4", message).await, pair("ORDERS", "data"));
    }

    /// The header of the properties has another code page than the data behind it.
    #[tokio::test]
    async fn from_data_in_ebcdic_behind_properties() {
        let data = encode_text(r#"{"device":"DEV9"}"#, Ccsid(500)).unwrap().into_owned();
        let plain = to(data.clone()).descriptor(|md| md.ccsid = Ccsid(500));
        assert_eq!(destination("device=json:/device", plain).await, pair("ORDERS", "DEV9"));
        let mut header = Mqrfh2 { ccsid: Ccsid(500), format: FormatName::STRING, ..Mqrfh2::default() };
        header.folders = vec!["<usr><colour>green</colour></usr>".to_owned()];
        let mut body = BytesMut::new();
        header.encode(&mut Writer::new(&mut body, Coding::of(Encoding::NATIVE, Ccsid::UTF_8)));
        body.extend_from_slice(&data);
        let message = to(body.to_vec()).descriptor(|md| {
            (md.format, md.encoding, md.ccsid) = (FormatName::RF_HEADER_2, Encoding::NATIVE, Ccsid::UTF_8);
        });
        assert_eq!(destination("device=json:/device", message.clone()).await, pair("ORDERS", "DEV9"));
        assert_eq!(destination("device=bytes:11+4", message).await, pair("ORDERS", "DEV9"));
    }

    #[tokio::test]
    async fn what_is_missing_or_no_name_is_undelivered_or_passes() {
        assert!(destination("device=property:device", to("x")).await.is_err());
        assert!(destination("device=json:/device", to("no json")).await.is_err());
        assert!(destination("device=bytes:0+9", to("short")).await.is_err());
        assert!(destination("device=bytes:0+5", to("A B C")).await.is_err());
        assert_eq!(destination("device=json:/d on_missing=pass", to("{}")).await, pair("ORDERS", "GATE1"));
        let elsewhere = TestMessage::to("ORDERS", "DEV1").payload("DEV7");
        assert_eq!(destination("device=bytes:0+4", elsewhere).await, pair("ORDERS", "DEV1"));
    }

    #[test]
    fn mistakes_name_the_option() {
        let wrong = |data: &str| DestinationFrom::from_data(data).unwrap_err().to_string();
        for data in
            ["", "device=x", "device=bytes:1", "device=bytes:0+49", "device=json:x", "device=json:/x queue=y"]
        {
            assert!(wrong(data).contains("option device") || wrong(data).contains("option queue"), "{data}");
        }
    }
}
