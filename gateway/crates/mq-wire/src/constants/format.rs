//! Format names (mq-objects.md 1.13): what the data after a descriptor or header is.

use crate::FormatName;

impl FormatName {
    /// MQFMT_NONE: nothing is said about the data.
    pub const NONE: Self = Self::BLANK;
    /// MQFMT_ADMIN: a command or its answer.
    pub const ADMIN: Self = Self::literal(b"MQADMIN ");
    /// MQFMT_CHANNEL_COMPLETED: the end of a channel.
    pub const CHANNEL_COMPLETED: Self = Self::literal(b"MQCHCOM ");
    /// MQFMT_CICS: a CICS header.
    pub const CICS: Self = Self::literal(b"MQCICS  ");
    /// MQFMT_COMMAND_1: an answer to an older command.
    pub const COMMAND_1: Self = Self::literal(b"MQCMD1  ");
    /// MQFMT_COMMAND_2: an answer to an older command.
    pub const COMMAND_2: Self = Self::literal(b"MQCMD2  ");
    /// MQFMT_DEAD_LETTER_HEADER: an MQDLH.
    pub const DEAD_LETTER_HEADER: Self = Self::literal(b"MQDEAD  ");
    /// MQFMT_DIST_HEADER: a distribution header.
    pub const DIST_HEADER: Self = Self::literal(b"MQHDIST ");
    /// MQFMT_EMBEDDED_PCF: a command with a header of its own.
    pub const EMBEDDED_PCF: Self = Self::literal(b"MQHEPCF ");
    /// MQFMT_EVENT: an event.
    pub const EVENT: Self = Self::literal(b"MQEVENT ");
    /// MQFMT_IMS: an IMS header.
    pub const IMS: Self = Self::literal(b"MQIMS   ");
    /// MQFMT_IMS_VAR_STRING: a string for IMS.
    pub const IMS_VAR_STRING: Self = Self::literal(b"MQIMSVS ");
    /// MQFMT_MD_EXTENSION: an MQMDE.
    pub const MD_EXTENSION: Self = Self::literal(b"MQHMDE  ");
    /// MQFMT_PCF: a command in a queue of its user.
    pub const PCF: Self = Self::literal(b"MQPCF   ");
    /// MQFMT_REF_MSG_HEADER: a reference message.
    pub const REF_MSG_HEADER: Self = Self::literal(b"MQHREF  ");
    /// MQFMT_RF_HEADER: an MQRFH.
    pub const RF_HEADER: Self = Self::literal(b"MQHRF   ");
    /// MQFMT_RF_HEADER_2: an MQRFH2.
    pub const RF_HEADER_2: Self = Self::literal(b"MQHRF2  ");
    /// MQFMT_STRING: text.
    pub const STRING: Self = Self::literal(b"MQSTR   ");
    /// MQFMT_TRIGGER: a trigger message.
    pub const TRIGGER: Self = Self::literal(b"MQTRIG  ");
    /// MQFMT_WORK_INFO_HEADER: a work information header.
    pub const WORK_INFO_HEADER: Self = Self::literal(b"MQHWIH  ");
    /// MQFMT_XMIT_Q_HEADER: an MQXQH.
    pub const XMIT_Q_HEADER: Self = Self::literal(b"MQXMIT  ");

    /// Every name above but [`FormatName::NONE`].
    pub const BUILT_IN: &'static [Self] = &[
        Self::ADMIN,
        Self::CHANNEL_COMPLETED,
        Self::CICS,
        Self::COMMAND_1,
        Self::COMMAND_2,
        Self::DEAD_LETTER_HEADER,
        Self::DIST_HEADER,
        Self::EMBEDDED_PCF,
        Self::EVENT,
        Self::IMS,
        Self::IMS_VAR_STRING,
        Self::MD_EXTENSION,
        Self::PCF,
        Self::REF_MSG_HEADER,
        Self::RF_HEADER,
        Self::RF_HEADER_2,
        Self::STRING,
        Self::TRIGGER,
        Self::WORK_INFO_HEADER,
        Self::XMIT_Q_HEADER,
    ];
}

#[cfg(test)]
mod tests {
    use crate::FormatName;

    #[test]
    fn names_differ_and_are_as_long_as_the_field_says() {
        let mut names: Vec<_> = FormatName::BUILT_IN.iter().map(FormatName::text).collect();
        assert!(names.iter().all(|name| name.starts_with("MQ") && name.len() <= 8));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FormatName::BUILT_IN.len());
        assert_eq!(FormatName::STRING, FormatName::cut("MQSTR"));
    }
}
