//! Calls whose bodies cannot be read, and such as are too long: which reason the client is told.

use mq_wire::{ApiHeader, Coding, DecodeError, Mqgmo, Mqmd, Mqod, Mqpmo, Mqsts, Reader, Reason, SegmentType};

use super::{Asked, Form, FormBody, Silent, refused};
use crate::link::{Arrived, Message};
use crate::negotiate::Agreed;

/// The reason for a body that cannot be read, after its structure or field; none where there is nothing to tell a
/// program: then the channel is broken.
pub(crate) fn reason_of(error: &DecodeError) -> Option<Reason> {
    Some(match (error.structure, error.field) {
        ("API", _) => return None,
        (_, "SelectorCount" | "Selectors") => Reason::SELECTOR_COUNT_ERROR,
        (_, "IntAttrCount" | "IntAttrs") => Reason::INT_ATTR_COUNT_ERROR,
        (_, "CharAttrLength" | "CharAttrs") => Reason::CHAR_ATTR_LENGTH_ERROR,
        (_, "BufferLength") => Reason::BUFFER_LENGTH_ERROR,
        ("MQPUT", _) => Reason::DATA_LENGTH_ERROR,
        (_, "RecsPresent" | "ObjectRecords" | "PutMsgRecords") => Reason::RECS_PRESENT_ERROR,
        ("MQCONN" | "FCNO", _) => Reason::CNO_ERROR,
        ("MQCLOSE", _) => Reason::OPTIONS_ERROR,
        ("MQSTAT", _) => Reason::STS_ERROR,
        (structure, _) => match structure {
            Mqod::TITLE => Reason::OD_ERROR,
            Mqmd::TITLE => Reason::MD_ERROR,
            Mqpmo::TITLE => Reason::PMO_ERROR,
            Mqgmo::TITLE => Reason::GMO_ERROR,
            Mqsts::TITLE => Reason::STS_ERROR,
            // MQOPEN without options, SPI structures that are none.
            _ => Reason::UNEXPECTED_ERROR,
        },
    })
}

/// The answer to an MQOPEN that could not be read: its own body, since a failed one must have one
/// (mq-wire-observed-base.md 4.1).
pub(crate) fn refused_open(arrived: &Arrived, reason: Reason, out: Coding) -> Message {
    let body = arrived.body.get(ApiHeader::LENGTH..).unwrap_or_default();
    super::answer::message(SegmentType::MQOPEN, reason, 0, body, out)
}

/// A call of which only the beginning was kept, since it was longer than a message may be; none for one that has no
/// message and is no MQI call then.
pub(crate) fn cut(arrived: &Arrived, agreed: &Agreed, out: Coding) -> Option<Asked> {
    let segment_type = arrived.header.segment_type;
    let reader = &mut Reader::new(&arrived.body, arrived.header.coding());
    let handle = ApiHeader::decode(reader).ok()?.object_handle;
    let name = match segment_type {
        SegmentType::MQPUT => "MQPUT",
        SegmentType::MQPUT1 => "MQPUT1",
        _ => return None,
    };
    let od = match segment_type {
        SegmentType::MQPUT1 => Some(Mqod::decode(reader)),
        _ => None,
    };
    let reason = Reason::MSG_TOO_BIG_FOR_CHANNEL;
    let (od, Ok(md), Ok(pmo)) = (od.transpose(), Mqmd::decode(reader), Mqpmo::decode(reader)) else {
        return Some(Asked::Answered(refused(segment_type, handle, reason, out)));
    };
    let (md, pmo, options) = (md.version, pmo.version, pmo.options);
    let body = match od {
        Ok(Some(od)) => FormBody::Put1 { od: Box::new(od), md, pmo, data_length: 0 },
        _ => FormBody::Put { md, pmo, data_length: 0 },
    };
    let silent = Silent::of(agreed, options);
    Some(Asked::Refused(Form { segment_type, handle, name, body, silent }, reason))
}
