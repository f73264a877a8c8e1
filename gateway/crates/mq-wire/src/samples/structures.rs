//! Samples of the structures that stand in messages and calls.

use super::{List, written};
use crate::{
    AccountingToken, ApplType, Ccsid, Chars, CorrelId, Encoding, Feedback, FormatName, GetOptions, GroupId,
    MatchOptions, MessageFlags, Mqcharv, Mqdlh, Mqgmo, Mqmd, Mqmde, Mqod, Mqpmo, Mqrfh2, Mqsts, Mqtm, Mqxqh,
    MsgId, MsgToken, MsgType, ObjectName, ObjectType, Persistence, PutOptions, QMgrName, QName, Reader,
    Reason, ReportOptions,
};

macro_rules! add {
    ($list:expr, $name:literal, $ty:ty, $value:expr) => {
        $list.add(
            $name,
            |writer| $value.encode(writer),
            |bytes, coding| {
                let value = <$ty>::decode(&mut Reader::new(bytes, coding))?;
                Ok(written(coding, |writer| value.encode(writer)))
            },
        );
    };
}

pub(super) fn add(list: &mut List<'_>) {
    add!(list, "MQMD version 1", Mqmd, md(1));
    add!(list, "MQMD version 2", Mqmd, md(2));
    add!(list, "MQMDE", Mqmde, mde());
    add!(list, "MQOD version 1", Mqod, od(1));
    add!(list, "MQOD version 2", Mqod, od(2));
    add!(list, "MQOD version 3", Mqod, od(3));
    add!(list, "MQOD version 4", Mqod, od(4));
    add!(list, "MQPMO version 1", Mqpmo, pmo(1));
    add!(list, "MQPMO version 2", Mqpmo, pmo(2));
    add!(list, "MQPMO version 3", Mqpmo, pmo(3));
    add!(list, "MQGMO version 1", Mqgmo, gmo(1));
    add!(list, "MQGMO version 2", Mqgmo, gmo(2));
    add!(list, "MQGMO version 3", Mqgmo, gmo(3));
    add!(list, "MQGMO version 4", Mqgmo, gmo(4));
    add!(list, "MQXQH", Mqxqh, xqh());
    add!(list, "MQDLH", Mqdlh, dlh());
    add!(list, "MQTM version 1", Mqtm, tm());
    add!(list, "MQRFH2 version 2", Mqrfh2, rfh2(Ccsid::UTF_8));
    add!(list, "MQRFH2 in UTF-16, version 2", Mqrfh2, rfh2(Ccsid::UTF_16));
    add!(list, "MQSTS version 1", Mqsts, sts(1));
    add!(list, "MQSTS version 2", Mqsts, sts(2));
}

pub(super) fn md(version: i32) -> Mqmd {
    Mqmd {
        version,
        report: ReportOptions::COA | ReportOptions::PASS_MSG_ID,
        msg_type: MsgType::REQUEST,
        expiry: 600,
        feedback: Feedback::COD,
        encoding: Encoding::BIG,
        ccsid: Ccsid::UTF_8,
        format: FormatName::STRING,
        priority: 7,
        persistence: Persistence::PERSISTENT,
        msg_id: MsgId([1; 24]),
        correl_id: CorrelId([2; 24]),
        backout_count: 3,
        reply_to_q: QName(Chars::cut("REPLY.TO")),
        reply_to_q_mgr: QMgrName(Chars::cut("QM2")),
        user_identifier: Chars::cut("app"),
        accounting_token: AccountingToken([4; 32]),
        // As some clients pad: with zeros.
        appl_identity_data: Chars::from_bytes([0; 32]),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("demo.Main"),
        put_date: Chars::cut("20240131"),
        put_time: Chars::cut("23595999"),
        appl_origin_data: Chars::cut("ORIG"),
        group_id: GroupId([5; 24]),
        msg_seq_number: 6,
        offset: 1_000,
        msg_flags: MessageFlags::SEGMENT,
        original_length: 5_000,
    }
}

fn mde() -> Mqmde {
    Mqmde {
        format: FormatName::STRING,
        flags: 1,
        group_id: GroupId([5; 24]),
        msg_seq_number: 6,
        offset: 1_000,
        msg_flags: MessageFlags::LAST_SEGMENT,
        original_length: 5_000,
        ..Mqmde::default()
    }
}

fn string(offset: u32) -> Mqcharv {
    Mqcharv { pointer: 1, offset, buffer_size: 10_240, length: 0, ccsid: 1208 }
}

pub(super) fn od(version: i32) -> Mqod {
    Mqod {
        version,
        object_type: ObjectType::Q,
        object_name: ObjectName(Chars::cut("DEV.QUEUE.1")),
        object_q_mgr_name: QMgrName(Chars::cut("QM1")),
        dynamic_q_name: ObjectName(Chars::cut("AMQ.*")),
        alternate_user_id: Chars::cut("other"),
        known_dest_count: 1,
        unknown_dest_count: 2,
        invalid_dest_count: 3,
        alternate_security_id: [6; 40],
        resolved_q_name: ObjectName(Chars::cut("DEV.QUEUE.2")),
        resolved_q_mgr_name: QMgrName(Chars::cut("QM2")),
        object_string: string(400),
        selection_string: string(401),
        res_object_string: string(402),
        resolved_type: ObjectType::TOPIC,
        ..Mqod::default()
    }
}

pub(super) fn pmo(version: i32) -> Mqpmo {
    Mqpmo {
        version,
        options: PutOptions::SYNCPOINT | PutOptions::NEW_MSG_ID,
        context: 4,
        known_dest_count: 1,
        unknown_dest_count: 2,
        invalid_dest_count: 3,
        resolved_q_name: QName(Chars::cut("DEV.QUEUE.2")),
        resolved_q_mgr_name: QMgrName(Chars::cut("QM2")),
        original_msg_handle: 5,
        new_msg_handle: 6,
        action: 1,
        ..Mqpmo::default()
    }
}

pub(super) fn gmo(version: i32) -> Mqgmo {
    Mqgmo {
        version,
        options: GetOptions::WAIT | GetOptions::NO_SYNCPOINT,
        wait_interval: 30_000,
        signal_1: 1,
        signal_2: 2,
        resolved_q_name: QName(Chars::cut("DEV.QUEUE.2")),
        match_options: MatchOptions::CORREL_ID,
        group_status: b'G',
        segment_status: b'S',
        segmentation: b'A',
        msg_token: MsgToken([7; 16]),
        returned_length: 8,
        reserved_2: 9,
        msg_handle: 10,
        ..Mqgmo::default()
    }
}

fn xqh() -> Mqxqh {
    Mqxqh {
        remote_q_name: QName(Chars::cut("ORDERS.IN")),
        remote_q_mgr_name: QMgrName(Chars::cut("QM2")),
        msg_desc: md(1),
        ..Mqxqh::default()
    }
}

fn dlh() -> Mqdlh {
    Mqdlh {
        reason: Reason::Q_FULL,
        dest_q_name: QName(Chars::cut("ORDERS.IN")),
        dest_q_mgr_name: QMgrName(Chars::cut("QM2")),
        encoding: Encoding::LITTLE,
        ccsid: Ccsid::LATIN_1,
        format: FormatName::STRING,
        put_appl_type: ApplType::QMGR,
        put_appl_name: Chars::cut("gateway"),
        put_date: Chars::cut("20240131"),
        put_time: Chars::cut("23595999"),
        ..Mqdlh::default()
    }
}

fn rfh2(name_value_ccsid: Ccsid) -> Mqrfh2 {
    let folders = [
        "<mcd><Msd>jms_text</Msd></mcd>",
        "<jms><Dst>queue:///ORDERS.IN</Dst></jms>",
        "<usr><n dt='i4'>5</n></usr>",
    ];
    Mqrfh2 {
        encoding: Encoding::BIG,
        ccsid: Ccsid::UTF_8,
        format: FormatName::STRING,
        flags: 0,
        name_value_ccsid,
        folders: folders.map(str::to_owned).to_vec(),
    }
}

fn tm() -> Mqtm {
    Mqtm {
        q_name: QName(Chars::cut("ORDERS.IN")),
        process_name: Chars::cut("ORDERS"),
        trigger_data: Chars::cut("data"),
        appl_type: ApplType::UNIX,
        appl_id: Chars::cut("/opt/orders/bin/orders"),
        env_data: Chars::cut("&"),
        user_data: Chars::cut("user"),
        ..Mqtm::default()
    }
}

pub(super) fn sts(version: i32) -> Mqsts {
    Mqsts {
        version,
        comp_code: crate::CompCode::FAILED,
        reason: Reason::Q_FULL,
        put_success_count: 1,
        put_warning_count: 2,
        put_failure_count: 3,
        object_name: ObjectName(Chars::cut("DEV.QUEUE.1")),
        object_q_mgr_name: QMgrName(Chars::cut("QM1")),
        resolved_object_name: ObjectName(Chars::cut("DEV.QUEUE.2")),
        resolved_q_mgr_name: QMgrName(Chars::cut("QM2")),
        object_string: string(400),
        sub_name: string(401),
        sub_options: 4,
        ..Mqsts::default()
    }
}
