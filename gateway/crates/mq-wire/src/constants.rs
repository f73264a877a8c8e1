//! Families of codes (mq-wire.md 10.1, 10.3, 10.4; mq-objects.md 2). The sentences say what a person can do about it.

constants! {
    /// A completion code.
    pub struct CompCode, "MQCC_" {
        OK = 0, "done";
        WARNING = 1, "done in part; the reason says what";
        FAILED = 2, "not done; the reason says why";
    }
}

constants! {
    /// A reason code.
    pub struct Reason, "MQRC_" {
        NONE = 0, "nothing to say";
        ALIAS_BASE_Q_TYPE_ERROR = 2001, "the target of an alias queue is itself an alias or a model queue: let the alias name a local or remote queue";
        ALREADY_CONNECTED = 2002, "the application is connected already; the existing connection is used";
        BACKED_OUT = 2003, "the unit of work could not be committed and was backed out: do it again";
        BUFFER_LENGTH_ERROR = 2005, "the length of the buffer is not valid";
        CONNECTION_BROKEN = 2009, "the connection to the queue manager is gone: connect again; open units of work were backed out";
        DATA_LENGTH_ERROR = 2010, "the length of the data is not valid, or more than the channel allows";
        EXPIRY_ERROR = 2013, "Expiry is neither positive nor -1";
        FEEDBACK_ERROR = 2014, "Feedback is not valid";
        GET_INHIBITED = 2016, "gets are inhibited for the queue: ALTER it to GET(ENABLED)";
        HANDLE_NOT_AVAILABLE = 2017, "the connection has as many open handles as MAXHANDS allows: close some";
        HCONN_ERROR = 2018, "there is no such connection";
        HOBJ_ERROR = 2019, "there is no such open object";
        INT_ATTR_COUNT_ERROR = 2021, "fewer integers were allowed than integer selectors given";
        SYNCPOINT_LIMIT_REACHED = 2024, "the unit of work holds as many messages as MAXUMSGS allows: commit more often";
        MAX_CONNS_LIMIT_REACHED = 2025, "there are as many connections as the channel or queue manager allows";
        MD_ERROR = 2026, "the message descriptor is not valid";
        MISSING_REPLY_TO_Q = 2027, "a request has no reply-to queue";
        MSG_TYPE_ERROR = 2029, "the message type is not valid";
        MSG_TOO_BIG_FOR_Q = 2030, "the message is longer than MAXMSGL of the queue";
        MSG_TOO_BIG_FOR_Q_MGR = 2031, "the message is longer than MAXMSGL of the queue manager";
        NO_MSG_AVAILABLE = 2033, "there is no message that fits";
        NO_MSG_UNDER_CURSOR = 2034, "there is no message under the browse cursor";
        NOT_AUTHORIZED = 2035, "the user may not do that";
        NOT_OPEN_FOR_BROWSE = 2036, "the queue was not opened for browsing";
        NOT_OPEN_FOR_INPUT = 2037, "the queue was not opened for getting";
        NOT_OPEN_FOR_INQUIRE = 2038, "the object was not opened for inquiring";
        NOT_OPEN_FOR_OUTPUT = 2039, "the queue was not opened for putting";
        NOT_OPEN_FOR_SET = 2040, "the queue was not opened for setting";
        OBJECT_CHANGED = 2041, "the definition was changed since it was opened: open it again";
        OBJECT_IN_USE = 2042, "the object is open elsewhere in a way that excludes this";
        OBJECT_TYPE_ERROR = 2043, "the object type is not valid";
        OD_ERROR = 2044, "the object descriptor is not valid";
        OPTION_NOT_VALID_FOR_TYPE = 2045, "an option does not fit this type of object";
        OPTIONS_ERROR = 2046, "the options are not valid, or exclude each other";
        PERSISTENCE_ERROR = 2047, "Persistence is not valid";
        PERSISTENT_NOT_ALLOWED = 2048, "the queue takes no persistent messages";
        PRIORITY_EXCEEDS_MAXIMUM = 2049, "the priority is above the highest; the message was put with it all the same";
        PRIORITY_ERROR = 2050, "the priority is not valid";
        PUT_INHIBITED = 2051, "puts are inhibited for the queue, or for a definition on the way to it";
        Q_DELETED = 2052, "the queue was deleted since it was opened";
        Q_FULL = 2053, "the queue holds as many messages as MAXDEPTH allows: get some, or raise it";
        Q_NOT_EMPTY = 2055, "the queue is not empty, or has uncommitted messages";
        Q_SPACE_NOT_AVAILABLE = 2056, "there is no disk space for the queue";
        Q_TYPE_ERROR = 2057, "the queue is of a type that does not fit";
        Q_MGR_NAME_ERROR = 2058, "there is no queue manager of that name here";
        Q_MGR_NOT_AVAILABLE = 2059, "the queue manager is not available";
        REPORT_OPTIONS_ERROR = 2061, "the report options are not valid";
        SECURITY_ERROR = 2063, "the security check failed";
        SELECTOR_COUNT_ERROR = 2065, "the number of selectors is not valid";
        SELECTOR_ERROR = 2067, "a selector is not valid for this type of object";
        SELECTOR_NOT_FOR_TYPE = 2068, "a selector does not apply to this type of queue";
        STORAGE_NOT_AVAILABLE = 2071, "there is not enough storage";
        SYNCPOINT_NOT_AVAILABLE = 2072, "syncpoint is not available";
        TRUNCATED_MSG_ACCEPTED = 2079, "the message was longer than the buffer: the rest was cut off";
        TRUNCATED_MSG_FAILED = 2080, "the message is longer than the buffer: it stays on the queue";
        UNKNOWN_ALIAS_BASE_Q = 2082, "the target of the alias queue is not defined";
        UNKNOWN_OBJECT_NAME = 2085, "there is no object of that name: check the spelling, or DEFINE it";
        UNKNOWN_OBJECT_Q_MGR = 2086, "the name of the queue manager is not valid";
        UNKNOWN_REMOTE_Q_MGR = 2087, "no way to that queue manager is defined: define a transmission queue of its name, or DEFXMITQ";
        WAIT_INTERVAL_ERROR = 2090, "the wait interval is neither -1 nor 0 or more";
        XMIT_Q_TYPE_ERROR = 2091, "the transmission queue is not a local queue";
        XMIT_Q_USAGE_ERROR = 2092, "the queue that should be the transmission queue has not USAGE(XMITQ)";
        PMO_ERROR = 2173, "the put-message options are not valid";
        NAME_NOT_VALID_FOR_TYPE = 2194, "the name does not fit this type of object";
        CONTEXT_HANDLE_ERROR = 2097, "the handle to take the context from was not opened to save it";
        CONTEXT_NOT_AVAILABLE = 2098, "there is no context to pass on: nothing was got with that handle";
        OBJECT_ALREADY_EXISTS = 2100, "an object of that name exists";
        OBJECT_DAMAGED = 2101, "the object is damaged";
        RESOURCE_PROBLEM = 2102, "there are not enough resources";
        ANOTHER_Q_MGR_CONNECTED = 2103, "another queue manager is connected";
        FORMAT_ERROR = 2110, "the format is not known";
        NOT_CONVERTED = 2119, "the data could not be converted; it is delivered as it was put";
        SERVER_LOAD_ERROR = 2130, "a part of the server could not be loaded";
        DLH_ERROR = 2141, "the dead-letter header is not valid";
        HEADER_ERROR = 2142, "a header is not valid";
        RECS_PRESENT_ERROR = 2154, "distribution lists are not supported";
        Q_MGR_QUIESCING = 2161, "the queue manager is quiescing";
        Q_MGR_STOPPING = 2162, "the queue manager is stopping";
        GMO_ERROR = 2186, "the get-message options are not valid";
        REMOTE_Q_NAME_ERROR = 2184, "a remote queue definition has no RNAME, or no queue was named";
        CONNECTION_QUIESCING = 2202, "the connection is quiescing";
        CONNECTION_STOPPING = 2203, "the connection is stopping";
        MEDIUM_FULL = 2192, "the disk of the queue manager is full: intake is paused until there is room";
        UNEXPECTED_ERROR = 2195, "something unexpected happened; see the log of the queue manager";
        UNKNOWN_XMIT_Q = 2196, "the transmission queue named in the definition does not exist";
        UNKNOWN_DEF_XMIT_Q = 2197, "the default transmission queue does not exist";
        DEF_XMIT_Q_TYPE_ERROR = 2198, "the default transmission queue is not a local queue";
        DEF_XMIT_Q_USAGE_ERROR = 2199, "the default transmission queue has not USAGE(XMITQ)";
        MSG_ID_ERROR = 2206, "the message identifier is not valid";
        CORREL_ID_ERROR = 2207, "the correlation identifier is not valid";
        MSG_TOO_BIG_FOR_CHANNEL = 2218, "the message is longer than the channel allows";
        CALL_IN_PROGRESS = 2219, "another call of the connection has not ended";
        MATCH_OPTIONS_ERROR = 2247, "the match options are not valid";
        UOW_NOT_AVAILABLE = 2255, "the unit of work is not available";
        WRONG_GMO_VERSION = 2256, "the options need a newer version of MQGMO";
        WRONG_MD_VERSION = 2257, "the options need a newer version of MQMD";
        XQH_ERROR = 2260, "the transmission queue header is not valid";
        FUNCTION_NOT_SUPPORTED = 2298, "the function is not supported";
        HOST_NOT_AVAILABLE = 2538, "nobody listens at that host and port: is the queue manager running?";
        CHANNEL_CONFIG_ERROR = 2539, "the channel's two ends do not fit together";
        CHANNEL_NOT_AVAILABLE = 2537, "the channel is not available now";
        UNKNOWN_CHANNEL_NAME = 2540, "the queue manager has no server-connection channel of that name";
        PASSWORD_PROTECTION_ERROR = 2594, "the two ends do not agree on how to protect the password";
    }
}

constants! {
    /// Why a report or trigger was sent.
    pub struct Feedback, "MQFB_" {
        NONE = 0, "no feedback";
        EXPIRATION = 258, "the message expired";
        COA = 259, "the message arrived";
        COD = 260, "the message was delivered";
    }
}

constants! {
    /// A message type.
    pub struct MsgType, "MQMT_" {
        REQUEST = 1, "a request";
        REPLY = 2, "a reply";
        REPORT = 4, "a report";
        DATAGRAM = 8, "a message that awaits no reply";
    }
}

constants! {
    /// A persistence.
    pub struct Persistence, "MQPER_" {
        NOT_PERSISTENT = 0, "lost when the queue manager restarts";
        PERSISTENT = 1, "survives restarts";
        AS_Q_DEF = 2, "as the queue's definition says";
    }
}

constants! {
    /// A kind of application.
    pub struct ApplType, "MQAT_" {
        NO_CONTEXT = 0, "no context";
        CICS = 1, "CICS transaction";
        ZOS = 2, "z/OS application";
        UNIX = 6, "UNIX or Linux application";
        QMGR = 7, "queue manager";
        OS400 = 8, "IBM i application";
        WINDOWS_NT = 11, "Windows application";
        USER = 25, "user-defined";
        BROKER = 26, "broker";
        JAVA = 28, "Java application";
        DQM = 29, "message channel agent";
        CHANNEL_INITIATOR = 30, "channel initiator";
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
