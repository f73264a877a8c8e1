//! Families of codes (mq-wire.md 10.1, 10.3, 10.4; mq-objects.md 2). The sentences say what a person can do about it.

mod feedback;
mod format;
mod reason;

pub use feedback::Feedback;
pub use reason::Reason;

constants! {
    /// A completion code.
    pub struct CompCode, "MQCC_" {
        OK = 0, "done";
        WARNING = 1, "done in part; the reason says what";
        FAILED = 2, "not done; the reason says why";
    }
}

constants! {
    /// A message type.
    pub struct MsgType, "MQMT_" {
        REQUEST = 1, "a request";
        REPLY = 2, "a reply";
        REPORT = 4, "a report";
        DATAGRAM = 8, "a message that awaits no reply";
        MQE_FIELDS_FROM_MQE = 112, "fields that come from MQ Everyplace";
        MQE_FIELDS = 113, "fields for MQ Everyplace";
    }
}

constants! {
    /// A persistence.
    pub struct Persistence, "MQPER_" {
        NOT_PERSISTENT = 0, "lost when the queue manager restarts";
        PERSISTENT = 1, "survives restarts";
        AS_Q_DEF = 2, "as the queue's definition says";
        AS_PARENT = -1, "as the topic above says";
    }
}

constants! {
    /// A kind of application.
    pub struct ApplType, "MQAT_" {
        UNKNOWN = -1, "not known";
        NO_CONTEXT = 0, "no context";
        CICS = 1, "CICS transaction";
        ZOS = 2, "z/OS application";
        IMS = 3, "IMS application";
        OS2 = 4, "OS/2 application";
        DOS = 5, "DOS application";
        UNIX = 6, "UNIX or Linux application";
        QMGR = 7, "queue manager";
        OS400 = 8, "IBM i application";
        WINDOWS = 9, "16-bit Windows application";
        CICS_VSE = 10, "CICS transaction on VSE";
        WINDOWS_NT = 11, "Windows application";
        VMS = 12, "OpenVMS application";
        NSK = 13, "NonStop application";
        VOS = 14, "VOS application";
        OPEN_TP1 = 15, "OpenTP1 application";
        VM = 18, "VM application";
        IMS_BRIDGE = 19, "IMS bridge";
        XCF = 20, "XCF";
        CICS_BRIDGE = 21, "CICS bridge";
        NOTES_AGENT = 22, "Notes agent";
        TPF = 23, "TPF application";
        USER = 25, "user-defined";
        BROKER = 26, "broker";
        JAVA = 28, "Java application";
        DQM = 29, "message channel agent";
        CHANNEL_INITIATOR = 30, "channel initiator";
        WLM = 31, "workload manager";
        BATCH = 32, "batch job";
        RRS_BATCH = 33, "batch job under resource recovery";
        SIB = 34, "service integration bus";
        AMQP = 37, "AMQP application";
    }
}

constants! {
    /// A type of object.
    pub struct ObjectType, "MQOT_" {
        Q = 1, "queue";
        NAMELIST = 2, "namelist";
        PROCESS = 3, "process";
        Q_MGR = 5, "queue manager";
        TOPIC = 8, "topic";
    }
}

constants! {
    /// A selector of MQINQ and MQSET (MQIA_*: integers, MQCA_*: characters).
    pub struct Selector, "MQ" {
        IA_APPL_TYPE = 1, "application type";
        IA_CODED_CHAR_SET_ID = 2, "character set of the queue manager";
        IA_CURRENT_Q_DEPTH = 3, "messages on the queue";
        IA_DEF_INPUT_OPEN_OPTION = 4, "default share option";
        IA_DEF_PERSISTENCE = 5, "default persistence";
        IA_DEF_PRIORITY = 6, "default priority";
        IA_DEFINITION_TYPE = 7, "how the queue was made";
        IA_HARDEN_GET_BACKOUT = 8, "whether backout counts survive";
        IA_INHIBIT_GET = 9, "whether gets are inhibited";
        IA_INHIBIT_PUT = 10, "whether puts are inhibited";
        IA_MAX_HANDLES = 11, "handles a connection may have";
        IA_USAGE = 12, "normal or transmission queue";
        IA_MAX_MSG_LENGTH = 13, "longest message";
        IA_MAX_PRIORITY = 14, "highest priority";
        IA_MAX_Q_DEPTH = 15, "most messages on the queue";
        IA_MSG_DELIVERY_SEQUENCE = 16, "by priority or first in first out";
        IA_OPEN_INPUT_COUNT = 17, "handles open for getting";
        IA_OPEN_OUTPUT_COUNT = 18, "handles open for putting";
        IA_Q_TYPE = 20, "type of the queue";
        IA_BACKOUT_THRESHOLD = 22, "backouts after which an application should move the message";
        IA_SHAREABILITY = 23, "whether several may get";
        IA_TRIGGER_CONTROL = 24, "whether triggers are made";
        IA_TRIGGER_INTERVAL = 25, "milliseconds after which FIRST triggers again";
        IA_TRIGGER_MSG_PRIORITY = 26, "lowest priority that triggers";
        IA_TRIGGER_TYPE = 28, "when triggers are made";
        IA_TRIGGER_DEPTH = 29, "depth that triggers";
        IA_SYNCPOINT = 30, "whether syncpoint is available";
        IA_COMMAND_LEVEL = 31, "level of the commands";
        IA_PLATFORM = 32, "platform";
        IA_MAX_UNCOMMITTED_MSGS = 33, "most messages in a unit of work";
        IA_DIST_LISTS = 34, "whether distribution lists are supported";
        IA_DEF_BIND = 61, "default binding";
        IA_DEF_PUT_RESPONSE_TYPE = 184, "default put response";
        IA_DEF_READ_AHEAD = 188, "default read-ahead";
        IA_PROPERTY_CONTROL = 190, "how properties are given";
        IA_BASE_TYPE = 193, "type of an alias's target";
        IA_ADVANCED_CAPABILITY = 273, "whether advanced capability is licensed";
        CA_BASE_OBJECT_NAME = 2002, "target of an alias";
        CA_COMMAND_INPUT_Q_NAME = 2003, "command queue";
        CA_CREATION_DATE = 2004, "date of creation";
        CA_CREATION_TIME = 2005, "time of creation";
        CA_DEAD_LETTER_Q_NAME = 2006, "dead-letter queue";
        CA_INITIATION_Q_NAME = 2008, "initiation queue";
        CA_PROCESS_NAME = 2012, "process";
        CA_Q_DESC = 2013, "description of the queue";
        CA_Q_MGR_DESC = 2014, "description of the queue manager";
        CA_Q_MGR_NAME = 2015, "name of the queue manager";
        CA_Q_NAME = 2016, "name of the queue";
        CA_REMOTE_Q_MGR_NAME = 2017, "remote queue manager";
        CA_REMOTE_Q_NAME = 2018, "remote queue";
        CA_BACKOUT_REQ_Q_NAME = 2019, "queue for messages backed out too often";
        CA_TRIGGER_DATA = 2023, "trigger data";
        CA_XMIT_Q_NAME = 2024, "transmission queue";
        CA_DEF_XMIT_Q_NAME = 2025, "default transmission queue";
        CA_ALTERATION_DATE = 2027, "date of the last change";
        CA_ALTERATION_TIME = 2028, "time of the last change";
        CA_CLUSTER_NAME = 2029, "cluster";
        CA_Q_MGR_IDENTIFIER = 2032, "identifier of the queue manager";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    /// Every number stands once, with a name and a sentence of its own length.
    fn check<T: Copy + Ord + Debug>(
        all: &[T],
        name: fn(T) -> Option<&'static str>,
        meaning: fn(T) -> Option<&'static str>,
    ) {
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a number stands twice");
        let names: BTreeSet<_> = all.iter().map(|code| name(*code).unwrap()).collect();
        assert_eq!(names.len(), all.len(), "a name stands twice");
        assert!(all.iter().all(|code| !meaning(*code).unwrap().is_empty()));
    }

    #[test]
    fn numbers_are_unique() {
        check(CompCode::ALL, CompCode::name, CompCode::meaning);
        check(Reason::ALL, Reason::name, Reason::meaning);
        check(Feedback::ALL, Feedback::name, Feedback::meaning);
        check(MsgType::ALL, MsgType::name, MsgType::meaning);
        check(Persistence::ALL, Persistence::name, Persistence::meaning);
        check(ApplType::ALL, ApplType::name, ApplType::meaning);
        check(ObjectType::ALL, ObjectType::name, ObjectType::meaning);
        check(Selector::ALL, Selector::name, Selector::meaning);
        check(crate::StatusCode::ALL, crate::StatusCode::name, crate::StatusCode::meaning);
        check(crate::SegmentType::ALL, crate::SegmentType::name, crate::SegmentType::meaning);
    }

    #[test]
    fn reasons_and_feedbacks_share_one_field_and_no_number() {
        let reasons: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.0).collect();
        assert!(Feedback::ALL.iter().filter(|code| code.0 != 0).all(|code| !reasons.contains(&code.0)));
    }

    #[test]
    fn an_unknown_number_survives_and_shows_as_itself() {
        assert_eq!(Reason(2999).to_string(), "2999");
        assert_eq!(Reason::Q_FULL.to_string(), "2053 (MQRC_Q_FULL)");
        assert_eq!(Reason::MEDIUM_FULL.name(), Some("MQRC_STORAGE_MEDIUM_FULL"));
    }
}
