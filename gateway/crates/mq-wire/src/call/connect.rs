//! MQCONN and MQCONNX (mq-wire.md 4.2). The body grew over the levels and is read by its length; a reply sends the
//! request's body back with the name and the connection id filled in.

use bytes::Bytes;

use super::take_slice;
use crate::{
    AccountingToken, ApplName, ApplType, Coding, ConnectOptions, DecodeError, QMgrName, Reader, Writer,
};

const TITLE: &str = "MQCONN";

/// Request and reply of MQCONN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectBody {
    /// The queue manager wanted, blank for any; in the reply its real name.
    pub q_mgr_name: QMgrName,
    /// The application.
    pub appl_name: ApplName,
    /// Its kind.
    pub appl_type: ApplType,
    /// Accounting token.
    pub accounting_token: AccountingToken,
    /// From 120 bytes on.
    pub options: Option<ConnectOptionsPart>,
}

/// What a body of 120 bytes and more has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectOptionsPart {
    /// 1 MQCONN, 3 MQCONNX, 7 from FAP 12 on.
    pub options: u32,
    /// The options of MQCONNX.
    pub connect_options: ConnectOptions,
    /// From 260 bytes on.
    pub fcno: Option<Fcno>,
}

/// FCNO, the connect options of the protocol. Only its beginning is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fcno {
    /// 1 to 4; does not tell the length.
    pub version: u32,
    /// 0 from Java.
    pub flags: u32,
    /// Request of Java: product and the queue manager's identifier. Reply: the connection id.
    pub area: [u8; 128],
    /// What versions 2 to 4 add.
    pub rest: Bytes,
}

impl ConnectBody {
    /// Reads it: 112, 120, or 260 bytes and more.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        let mut connect = Self {
            q_mgr_name: reader.field(TITLE, "QMgrName")?,
            appl_name: reader.field(TITLE, "ApplName")?,
            appl_type: reader.field(TITLE, "ApplType")?,
            accounting_token: reader.field(TITLE, "AccountingToken")?,
            options: None,
        };
        if !reader.rest().is_empty() {
            let mut part = ConnectOptionsPart {
                options: reader.field(TITLE, "Options")?,
                connect_options: reader.field(TITLE, "XOptions")?,
                fcno: None,
            };
            if !reader.rest().is_empty() {
                part.fcno = Some(Fcno::decode(reader, body)?);
            }
            connect.options = Some(part);
        }
        Ok(connect)
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.q_mgr_name);
        writer.field(&self.appl_name);
        writer.field(&self.appl_type);
        writer.field(&self.accounting_token);
        if let Some(part) = &self.options {
            writer.field(&part.options);
            writer.field(&part.connect_options);
            if let Some(fcno) = &part.fcno {
                fcno.encode(writer);
            }
        }
    }

    /// The reply to this request: the same form with the real name and the connection id.
    pub fn reply(mut self, q_mgr_name: QMgrName, connection_id: [u8; 24]) -> Self {
        self.q_mgr_name = q_mgr_name;
        if let Some(ConnectOptionsPart { fcno: Some(fcno), .. }) = &mut self.options {
            fcno.area = [0; 128];
            fcno.area[..24].copy_from_slice(&connection_id);
        }
        self
    }
}

impl Fcno {
    /// The structure identifier.
    pub const ID: [u8; 4] = *b"FCNO";

    /// What versions 2, 3 and 4 add to the length (mq-wire-observed-base.md 2.2), for bodies of 332, 460, 472 bytes.
    pub const REST_LENGTHS: [usize; 3] = [72, 200, 212];

    /// The connection id of a reply.
    pub fn connection_id(&self) -> &[u8] {
        &self.area[..24]
    }

    fn decode(reader: &mut Reader<'_>, body: &Bytes) -> Result<Self, DecodeError> {
        reader.struc_id("FCNO", Self::ID)?;
        let version = reader.field("FCNO", "Version")?;
        let flags = reader.field("FCNO", "Flags")?;
        let area = reader.field("FCNO", "ConnTag")?;
        let length = reader.rest().len();
        Ok(Self { version, flags, area, rest: take_slice(reader, body, "FCNO", "rest", length)? })
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        writer.struc_id(Self::ID);
        writer.field(&self.version);
        writer.field(&self.flags);
        writer.field(&self.area);
        writer.raw(&self.rest);
    }
}
