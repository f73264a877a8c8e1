//! What the calls of a run may be about.

macro_rules! features {
    ($($name:ident $on:literal, $what:literal;)+) => {
        /// What may occur; a queue manager in building is compared without what it does not have yet.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Features { $(#[doc = $what] pub(crate) $name: bool,)+ }

        impl Features {
            /// Everything that the model has.
            pub(crate) const ALL: Self = Self { $($name: true,)+ };
            /// What the queue manager has.
            pub(crate) const NOW: Self = Self { $($name: $on,)+ };

            /// `NOW` with those changed that are named: `groups` or `+groups` on, `-groups` off, `all` all on.
            pub(crate) fn changed(mut self, text: &str) -> Self {
                for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
                    let on = !word.starts_with('-');
                    match word.trim_start_matches(['+', '-']) {
                        "all" => { $(self.$name = on;)+ }
                        $(stringify!($name) => self.$name = on,)+
                        other => panic!("no feature {other}"),
                    }
                }
                self
            }
        }
    };
}

features! {
    expiry true, "messages that expire";
    coa true, "reports of arrival";
    cod true, "reports of delivery";
    expirations true, "reports of expiry";
    groups true, "groups put, in logical order and out of it";
    segments true, "segments put, the same way";
    group_matches true, "gets by group, number and offset";
    logical true, "gets and browses in logical order, MQGMO_ALL_MSGS_AVAILABLE";
    complete true, "MQGMO_COMPLETE_MSG, MQGMO_ALL_SEGMENTS_AVAILABLE";
    locks true, "MQGMO_LOCK and MQGMO_UNLOCK";
    expiry_of_locked true, "time that goes by while a message is locked";
    marks true, "marks of browsed messages";
    truncation true, "buffers that are too small";
    first_truncated true, "MQGMO_BROWSE_FIRST among them";
    tokens true, "MQMO_MATCH_MSG_TOKEN";
    dynamic true, "dynamic queues";
    foreign_delete true, "MQCO_DELETE of a temporary queue by another handle than its maker's";
    deleted_delete true, "MQCO_DELETE of a queue that is deleted already";
    aliases true, "aliases of queues";
    remotes true, "remote definitions and transmission queues";
    waits true, "gets that wait";
    contexts true, "context set, passed, saved";
    inhibits true, "MQSET of the inhibiting attributes";
    commands true, "CLEAR and DELETE of queues";
    moves true, "compaction: messages that lie elsewhere than they did";
    crashes true, "the end of the queue manager without a word";
    wrong true, "calls that are wrong";
}
