//! The form in which a client asked, so that the answer comes in the same: MQOPEN or SPI OPEN, the versions of
//! structures, the length of LPOO and FOPA (mq-wire-observed.md 2, mq-wire-observed-base.md 4.1). Calls are read in `ask`,
//! the answers made in `answer`, what is wrong with a body gets its reason in `wrong`.

mod answer;
mod ask;
mod wrong;

use bytes::BytesMut;
use mq_wire::{
    Chars, Coding, ConnectBody, Field, InquireBody, Mqgmo, Mqmd, Mqod, OpenBody, OpenOptions, PutOptions,
    Reason, SegmentType, SpiHeader, SpiOpen, SpiQuery, StatBody,
};

use crate::link::Message;
use crate::negotiate::Agreed;
use crate::request::Request;

pub(crate) use answer::refused;
pub(crate) use ask::ask;
pub(crate) use wrong::{cut, reason_of, refused_open};

/// What a call turned out to be.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug)]
pub(crate) enum Asked {
    /// For the owner, who the client is still left out of MQCONN.
    Owner(Request, Form),
    /// It is not for the owner: this is why.
    Refused(Form, Reason),
    /// For nobody but the machine: this is the answer.
    Answered(Message),
}

/// How a call was asked.
#[derive(Debug)]
pub(crate) struct Form {
    segment_type: SegmentType,
    handle: i32,
    name: &'static str,
    body: FormBody,
    /// Of a put that is not answered.
    silent: Option<Silent>,
}

/// A put that the client does not wait for (mq-wire-observed-base.md 4.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent {
    /// Whether it belongs to the unit of work.
    pub(crate) in_unit: bool,
}

#[derive(Debug)]
enum FormBody {
    Connect(Box<ConnectBody>),
    Open(Box<OpenBody>),
    SpiOpen(SpiHeader, Box<SpiOpen>),
    SpiQuery(SpiHeader, SpiQuery),
    SpiReserve {
        header: SpiHeader,
        wanted: u32,
    },
    Put {
        md: i32,
        pmo: i32,
        data_length: u32,
    },
    Put1 {
        od: Box<Mqod>,
        md: i32,
        pmo: i32,
        data_length: u32,
    },
    Get {
        md: i32,
        gmo: i32,
        buffer_length: u32,
        /// Of an unlock, which brings no message: what goes back.
        unlocks: Option<Box<(Mqmd, Mqgmo)>>,
    },
    Inquire(InquireBody),
    Stat(Box<StatBody>),
    Close,
    Disconnect,
    /// MQSET, MQCMIT, MQBACK: nothing but completion code and reason.
    Plain,
}

impl Form {
    /// Whether it is MQCONN.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self.body, FormBody::Connect(_))
    }

    /// Whether it is MQDISC.
    pub(crate) fn is_disconnect(&self) -> bool {
        matches!(self.body, FormBody::Disconnect)
    }

    /// Whether it is MQCMIT.
    pub(crate) fn is_commit(&self) -> bool {
        self.segment_type == SegmentType::MQCMIT
    }

    /// Whether it is MQBACK.
    pub(crate) fn is_back(&self) -> bool {
        self.segment_type == SegmentType::MQBACK
    }

    /// Whether it is MQGET.
    pub(crate) fn is_get(&self) -> bool {
        matches!(self.body, FormBody::Get { .. })
    }

    /// Whether it is MQSTAT.
    pub(crate) fn is_stat(&self) -> bool {
        matches!(self.body, FormBody::Stat(_))
    }

    /// Of a put that is not answered.
    pub(crate) fn silent(&self) -> Option<Silent> {
        self.silent
    }

    /// The object that a put was for, as the client named it: of MQPUT its handle, of MQPUT1 its descriptor.
    pub(crate) fn put_object(&self) -> Result<&Mqod, i32> {
        match &self.body {
            FormBody::Put1 { od, .. } => Ok(od),
            _ => Err(self.handle),
        }
    }

    /// The handle that a successful MQCLOSE makes void.
    pub(crate) fn closes(&self) -> Option<i32> {
        matches!(self.body, FormBody::Close).then_some(self.handle)
    }

    /// The object that is opened, if messages can be put to it.
    pub(crate) fn opens_for_output(&self) -> Option<&Mqod> {
        let (od, options) = match &self.body {
            FormBody::Open(body) => (&body.od, body.options),
            FormBody::SpiOpen(_, open) => (&open.od, open.lpoo.open_options),
            _ => return None,
        };
        options.contains(OpenOptions::OUTPUT).then_some(od)
    }
}

impl Silent {
    fn of(agreed: &Agreed, options: PutOptions) -> Option<Self> {
        let silent = agreed.spi && options.contains(PutOptions::ASYNC_RESPONSE);
        silent.then_some(Self { in_unit: options.contains(PutOptions::SYNCPOINT) })
    }
}

/// Character attributes on their way to the client, in its character set.
fn chars_out(chars: Vec<u8>, coding: Coding) -> Vec<u8> {
    if !coding.ccsid.is_ebcdic() {
        return chars;
    }
    let mut out = BytesMut::with_capacity(chars.len());
    for byte in chars {
        Chars::<1>::from_bytes([byte]).write(&mut out, coding);
    }
    out.to_vec()
}
