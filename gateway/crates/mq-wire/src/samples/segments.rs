//! Samples of whole segments and of the structures with which a channel starts.

use bytes::{Bytes, BytesMut};

use super::{List, written};
use crate::{
    ApiHeader, Body, CapFlags1, CapFlags2, CapFlags3, ChannelName, Chars, Coding, CompCode, ConnAuth,
    DecodeError, DecodeErrorKind, InitialData, QMgrName, Reader, Reason, Secret, SegmentHeader, SegmentKind,
    SegmentType, SocketAction, SocketActionType, Status, StatusCode, UserIdData, encode_segment,
};

/// The longest segment that samples may have.
const SEGMENT_BYTES_MAX: usize = 32_766;

pub(super) fn add(list: &mut List<'_>) {
    list.add_with_shorter(
        "ID",
        |writer| initial_data().encode(writer),
        |bytes, coding| {
            let value = InitialData::decode(&mut Reader::new(bytes, coding), bytes.len())?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
        |length| length >= InitialData::LEAST,
    );
    list.add_with_shorter(
        "UID",
        |writer| user_id().encode(writer),
        |bytes, coding| {
            let value = UserIdData::decode(&mut Reader::new(bytes, coding), bytes.len())?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
        |length| length >= UserIdData::LEAST,
    );
    list.add(
        "CAUT",
        |writer| conn_auth(13).encode(writer),
        |bytes, coding| {
            let value = ConnAuth::decode(&mut Reader::new(bytes, coding), 13)?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
    );
    list.add(
        "CAUT since FAP 17",
        |writer| conn_auth(17).encode(writer),
        |bytes, coding| {
            let value = ConnAuth::decode(&mut Reader::new(bytes, coding), 17)?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
    );
    let statuses = [
        ("STATUS", Status::new(StatusCode::NO_CHANNEL)),
        (
            "STATUS with value",
            Status { value: Some(7), tail: Bytes::from_static(b"more"), ..Status::default() },
        ),
    ];
    for (name, status) in statuses {
        list.add_with_shorter(
            name,
            |writer| status.encode(writer),
            |bytes, coding| {
                let status = Status::decode(&mut Reader::new(bytes, coding))?;
                Ok(written(coding, |writer| Body::Status(status).encode(writer)))
            },
            |length| length == 0,
        );
    }
    list.add(
        "SOCKET_ACTION",
        |writer| socket_action().encode(writer),
        |bytes, coding| {
            let value = SocketAction::decode(&mut Reader::new(bytes, coding))?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
    );
    list.add(
        "API header",
        |writer| api_header().encode(writer),
        |bytes, coding| {
            let value = ApiHeader::decode(&mut Reader::new(bytes, coding))?;
            Ok(written(coding, |writer| value.encode(writer)))
        },
    );
    for (name, kind, segment_type, body) in [
        ("TSH HEARTBEAT", SegmentKind::Tsh, SegmentType::HEARTBEAT, Body::Opaque(Bytes::new())),
        (
            "TSHC SOCKET_ACTION",
            SegmentKind::Tshc,
            SegmentType::SOCKET_ACTION,
            Body::SocketAction(socket_action()),
        ),
        (
            "TSHM MQCMIT_REPLY",
            SegmentKind::Tshm,
            SegmentType::MQCMIT_REPLY,
            Body::Call(api_header(), crate::Call::Empty),
        ),
    ] {
        let header = header(kind, segment_type, list.coding);
        list.add(name, |writer| writer.raw(&segment(&header, &body)), decode_segment);
    }
}

fn initial_data() -> InitialData {
    InitialData {
        fap_level: 17,
        cap_flags_1: CapFlags1::MQREQUEST | CapFlags1::SPLIT_MESSAGE | CapFlags1::CONVERSION_CAPABLE,
        max_msgs_per_batch: 50,
        max_transmission_size: 32_748,
        max_msg_size: 104_857_600,
        seq_wrap_value: 999_999_999,
        channel_name: ChannelName(Chars::cut("DEV.APP.SVRCONN")),
        cap_flags_2: CapFlags2::XAREQUEST,
        ecap_flags_2: CapFlags2::SPIREQUEST,
        ccsid: 819,
        q_mgr_name: QMgrName(Chars::cut("QM1")),
        heartbeat_interval: 300,
        efl_length: 0x8A,
        ssl_key_reset: 1,
        conv_per_socket: 10,
        cap_flags_3: CapFlags3::MULTIPLEX_SYNCGET | CapFlags3::GEN_CONNTAG_CAP,
        process_id: 2,
        thread_id: 3,
        trace_id: 4,
        product_id: Chars::cut("MQJB09040100"),
        q_mgr_id: Chars::cut("QM1_2024"),
        password_algorithms: [1, 0, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF],
        random: [5; 12],
        tail: Bytes::from_static(b"newer"),
        ..InitialData::default()
    }
}

fn user_id() -> UserIdData {
    UserIdData {
        user_id: Chars::cut("APP"),
        password: Secret(Chars::cut("secret")),
        long_user_id: Chars::cut("app"),
        sid_length: 28,
        sid_type: 1,
        sid: [6; 38],
        ..UserIdData::default()
    }
}

fn conn_auth(fap_level: u8) -> ConnAuth {
    ConnAuth::new(Bytes::from_static(b"app"), Bytes::from_static(b"secret"), fap_level)
}

fn socket_action() -> SocketAction {
    let action = SocketActionType::START;
    SocketAction { conversation_id: 3, request_id: 1, action, parm_1: 30, parm_2: 13 }
}

fn api_header() -> ApiHeader {
    ApiHeader {
        reply_length: 44,
        comp_code: CompCode::WARNING,
        reason: Reason::TRUNCATED_MSG_FAILED,
        object_handle: 10,
    }
}

fn header(kind: SegmentKind, segment_type: SegmentType, coding: Coding) -> SegmentHeader {
    let ids = if kind == SegmentKind::Tshm { (3, 7) } else { (0, 0) };
    SegmentHeader {
        conversation_id: ids.0,
        request_id: ids.1,
        order: coding.order,
        ebcdic: coding.ccsid.is_ebcdic(),
        ccsid: u16::try_from(coding.ccsid.0).unwrap_or(0),
        luwid: [8; 8],
        ..SegmentHeader::new(kind, segment_type)
    }
}

fn segment(header: &SegmentHeader, body: &Body) -> Vec<u8> {
    let body = written(header.coding(), |writer| body.encode(writer));
    let mut out = BytesMut::new();
    encode_segment(header, &body, &mut out);
    out.to_vec()
}

/// A segment says its coding itself.
fn decode_segment(bytes: &[u8], _coding: Coding) -> Result<Vec<u8>, DecodeError> {
    let incomplete = |needed| DecodeError {
        structure: "TSH",
        field: "SegmentLength",
        offset: 0,
        kind: DecodeErrorKind::Truncated { needed, left: bytes.len() },
    };
    let Some((header, length)) = SegmentHeader::peek(bytes, SEGMENT_BYTES_MAX)? else {
        return Err(incomplete(SegmentKind::Tshm.header_length()));
    };
    let body = bytes.get(header.length()..length).ok_or_else(|| incomplete(length))?;
    let body = Body::decode(&header, &Bytes::copy_from_slice(body), 13)?;
    Ok(segment(&header, &body))
}
