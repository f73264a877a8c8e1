//! The places of fields against the tables of the specification: `FIELDS` follows from the declarations, this does not.

use mq_wire::{
    FieldInfo, Fopa, InitialData, Lpoo, Mqdlh, Mqgmo, Mqmd, Mqmde, Mqod, Mqpmo, Mqsts, Mqxqh, UserIdData,
};

fn check(fields: &[FieldInfo], expected: &[(&str, usize)]) {
    for (name, offset) in expected {
        let field = fields.iter().find(|field| field.name == *name);
        assert_eq!(field.map(|field| field.offset), Some(*offset), "{name}");
    }
    for pair in fields.windows(2) {
        assert_eq!(
            pair[0].offset + pair[0].length,
            pair[1].offset,
            "between {} and {}",
            pair[0].name,
            pair[1].name
        );
    }
}

#[test]
fn structures_of_messages() {
    // mq-wire.md 5.3, 5.6 to 5.8.
    check(
        Mqmd::FIELDS,
        &[("expiry", 16), ("ccsid", 28), ("msg_id", 48), ("correl_id", 72), ("reply_to_q", 100)],
    );
    check(
        Mqmd::FIELDS,
        &[("accounting_token", 208), ("put_appl_type", 272), ("put_date", 304), ("group_id", 324)],
    );
    check(Mqmd::FIELDS, &[("original_length", 360)]);
    check(Mqmde::FIELDS, &[("struc_length", 8), ("format", 20), ("group_id", 32), ("original_length", 68)]);
    check(Mqxqh::FIELDS, &[("remote_q_name", 8), ("remote_q_mgr_name", 56), ("msg_desc", 104)]);
    check(Mqdlh::FIELDS, &[("dest_q_name", 12), ("encoding", 108), ("format", 116), ("put_time", 164)]);
}

#[test]
fn structures_of_calls() {
    // mq-wire.md 5.2, 5.4, 5.5, 5.12, 5.13, 4.12.6.
    check(Mqod::FIELDS, &[("alternate_user_id", 156), ("recs_present", 168), ("resolved_q_name", 240)]);
    check(Mqod::FIELDS, &[("object_string", 336), ("res_object_string", 376), ("resolved_type", 396)]);
    check(
        Mqpmo::FIELDS,
        &[("context", 16), ("resolved_q_name", 32), ("recs_present", 128), ("pub_level", 172)],
    );
    check(
        Mqgmo::FIELDS,
        &[("wait_interval", 12), ("match_options", 72), ("msg_token", 80), ("msg_handle", 104)],
    );
    check(Mqsts::FIELDS, &[("put_failure_count", 24), ("resolved_q_mgr_name", 176), ("open_options", 264)]);
    check(Fopa::FIELDS, &[("struc_length", 8), ("property_control", 24), ("policy_offset", 76)]);
    check(Lpoo::FIELDS, &[("open_options", 8), ("property_control", 28), ("policy_offset", 80)]);
}

#[test]
fn structures_of_channel_start() {
    // mq-wire.md 3.1, 3.5.
    check(
        InitialData::FIELDS,
        &[("max_msgs_per_batch", 10), ("max_transmission_size", 12), ("channel_name", 24)],
    );
    check(InitialData::FIELDS, &[("cap_flags_2", 44), ("q_mgr_name", 48), ("heartbeat_interval", 96)]);
    check(InitialData::FIELDS, &[("msg_comp_list", 106), ("conv_per_socket", 128), ("cap_flags_3", 132)]);
    check(InitialData::FIELDS, &[("product_id", 148), ("password_algorithms", 208), ("random", 228)]);
    check(UserIdData::FIELDS, &[("password", 16), ("long_user_id", 28), ("sid", 94)]);
}
