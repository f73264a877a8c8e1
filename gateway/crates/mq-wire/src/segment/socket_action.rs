//! SOCKET_ACTION, start and end of conversations on a shared socket (mq-wire.md 3.9, mq-wire-observed-base.md 3.4).

use crate::{DecodeError, Reader, Writer};

constants! {
    /// What a SOCKET_ACTION does.
    pub struct SocketActionType(u32), "" {
        START = 1, "the client starts a conversation";
        END = 2, "the client ends a conversation; there is no answer";
        STARTED = 8, "the server's answer to a start";
    }
}

const TITLE: &str = "SOCKET_ACTION";

/// An action on a conversation. Here even the ids follow the order of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SocketAction {
    /// The conversation concerned.
    pub conversation_id: u32,
    /// The request.
    pub request_id: u32,
    /// What is to be done.
    pub action: SocketActionType,
    /// Thread of the sender, information only.
    pub parm_1: u32,
    /// Trace id of the sender, information only.
    pub parm_2: u32,
}

impl SocketAction {
    /// Bytes on the wire.
    pub const LENGTH: usize = 20;

    /// Reads it.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            conversation_id: reader.field(TITLE, "ConversationId")?,
            request_id: reader.field(TITLE, "RequestId")?,
            action: reader.field(TITLE, "Type")?,
            parm_1: reader.field(TITLE, "Parm1")?,
            parm_2: reader.field(TITLE, "Parm2")?,
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.conversation_id);
        writer.field(&self.request_id);
        writer.field(&self.action);
        writer.field(&self.parm_1);
        writer.field(&self.parm_2);
    }
}
