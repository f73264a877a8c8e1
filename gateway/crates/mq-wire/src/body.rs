//! What a segment holds, by its type: the one place that knows which structure belongs to which segment.

use bytes::Bytes;

use crate::{
    ApiHeader, Call, ConnAuth, DecodeError, InitialData, Reader, SegmentHeader, SegmentType, SocketAction,
    Status, UserIdData, Writer,
};

/// The body of a segment, or of a call joined from several.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// INITIAL_DATA.
    InitialData(Box<InitialData>),
    /// USERID.
    UserId(Box<UserIdData>),
    /// CONAUTH_INFO.
    ConnAuth(ConnAuth),
    /// STATUS; `None` is the plain consent.
    Status(Option<Status>),
    /// SOCKET_ACTION.
    SocketAction(SocketAction),
    /// A call or a reply.
    Call(ApiHeader, Call),
    /// A segment that is not decoded here.
    Opaque(Bytes),
}

impl Body {
    /// Reads what follows the header. Of a call in several segments this is the joined body with the header of the
    /// first one; `fap_level` is the level agreed, or proposed while none is agreed.
    pub fn decode(header: &SegmentHeader, body: &Bytes, fap_level: u8) -> Result<Self, DecodeError> {
        let coding = header.coding();
        let reader = &mut Reader::new(body, coding);
        Ok(match header.segment_type {
            SegmentType::INITIAL_DATA => {
                Self::InitialData(Box::new(InitialData::decode(reader, body.len())?))
            }
            SegmentType::USERID => Self::UserId(Box::new(UserIdData::decode(reader, body.len())?)),
            SegmentType::CONAUTH_INFO => Self::ConnAuth(ConnAuth::decode(reader, fap_level)?),
            SegmentType::STATUS => Self::Status(Status::decode(reader)?),
            SegmentType::SOCKET_ACTION => Self::SocketAction(SocketAction::decode(reader)?),
            segment_type if segment_type.is_call() => {
                let api = ApiHeader::decode(reader)?;
                Self::Call(api, Call::decode(segment_type, &api, &body.slice(ApiHeader::LENGTH..), coding)?)
            }
            _ => Self::Opaque(body.clone()),
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::InitialData(body) => body.encode(writer),
            Self::UserId(body) => body.encode(writer),
            Self::ConnAuth(body) => body.encode(writer),
            Self::Status(None) => {}
            Self::Status(Some(body)) => body.encode(writer),
            Self::SocketAction(body) => body.encode(writer),
            Self::Call(api, call) => {
                api.encode(writer);
                call.encode(writer);
            }
            Self::Opaque(bytes) => writer.raw(bytes),
        }
    }
}
