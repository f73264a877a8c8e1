// MQPUT: each field of the message descriptor, there and back, and each wrong value.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

final class MqiPutFields {
    private final MqiArea area;

    MqiPutFields(MqiArea area) {
        this.area = area;
    }

    /** Sets fields of a descriptor. */
    private interface Fill {
        void fill(MQMessage message) throws Exception;
    }

    /** Looks at a message that was got. */
    private interface Look {
        void look(MqiCase t, MQMessage put, MQMessage got) throws Exception;
    }

    /** Put with fields of its own, then got: what came back is looked at. */
    private void trip(String id, Fill fill, Look look) {
        trip(id, MqiPut.OUT, fill, look);
    }

    private void trip(String id, int options, Fill fill, Look look) {
        area.at(id, t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            MQMessage message = MqiCase.message("data");
            fill.fill(message);
            t.mark(() -> queue.put(message, MqiCase.pmo(options)));
            if (t.row.completion() == MQCC_FAILED) {
                t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(queue));
            } else {
                MQMessage got = t.get(queue);
                t.same("data", "data", MqiCase.body(got));
                look.look(t, message, got);
            }
        });
    }

    /** Refused by MQPUT and by MQPUT1. */
    private void wrong(String id, Fill... fills) {
        area.at(id, t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            for (Fill fill : fills) {
                MQMessage message = MqiCase.message("data");
                fill.fill(message);
                t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
                MQMessage second = MqiCase.message("data");
                fill.fill(second);
                t.mark(() -> t.qm().put("MQI.LOCAL", second, MqiCase.pmo(MqiPut.OUT)));
            }
            if (t.row.completion() == MQCC_FAILED) t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(queue));
        });
    }

    private static boolean zero(byte[] id) {
        for (byte one : id) if (one != 0) return false;
        return true;
    }

    void define() {
        fields();
        ids();
        values();
        groups();
    }

    private void fields() {
        trip("PUT-001", m -> { }, (t, put, got) -> {
            t.same("report", 0, got.report);
            t.same("messageType", MQMT_DATAGRAM, got.messageType);
            t.same("expiry", -1, got.expiry);
            t.same("feedback", 0, got.feedback);
            t.text("format", "", got.format);
            t.same("backoutCount", 0, got.backoutCount);
            t.text("replyToQueueName", "", got.replyToQueueName);
            t.text("replyToQueueManagerName", "QM1", got.replyToQueueManagerName);
            t.that("groupId", zero(got.groupId));
            t.same("messageSequenceNumber", 1, got.messageSequenceNumber);
            t.same("offset", 0, got.offset);
            t.same("messageFlags", 0, got.messageFlags);
            t.same("originalLength", -1, got.originalLength);
            t.that("correlationId", zero(got.correlationId));
        });
        trip("PUT-002", m -> {
            m.messageType = MQMT_REPLY;
        }, (t, put, got) -> t.same("messageType", MQMT_REPLY, got.messageType));
        trip("PUT-003", m -> {
            m.messageType = MQMT_REQUEST;
            m.replyToQueueName = "MQI.ANSWERS";
            m.replyToQueueManagerName = "SOME.OTHER.QM";
        }, (t, put, got) -> {
            t.same("messageType", MQMT_REQUEST, got.messageType);
            t.text("replyToQueueName", "MQI.ANSWERS", got.replyToQueueName);
            t.text("replyToQueueManagerName", "SOME.OTHER.QM", got.replyToQueueManagerName);
        });
        trip("PUT-004", m -> {
            m.messageType = MQMT_REPORT;
            m.feedback = MQFB_COA;
        }, (t, put, got) -> {
            t.same("messageType", MQMT_REPORT, got.messageType);
            t.same("feedback", MQFB_COA, got.feedback);
        });
        int[] types = {1, 3, 112, 65_535, 65_536, 999_999_999};
        for (int i = 0; i < types.length; i++) {
            int type = types[i];
            trip("PUT-" + String.format("%03d", 5 + i), m -> {
                m.messageType = type;
                m.replyToQueueName = "MQI.ANSWERS";
            }, (t, put, got) -> t.same("messageType", type, got.messageType));
        }
        trip("PUT-011", m -> m.expiry = 6000, (t, put, got) ->
            t.that("expiry " + got.expiry, got.expiry > 5900 && got.expiry <= 6000));
        trip("PUT-012", m -> m.expiry = 999_999_999, (t, put, got) ->
            t.that("expiry " + got.expiry, got.expiry > 999_999_000));
        for (int i = 0; i < 3; i++) {
            int feedback = new int[] {65_535, 65_536, 999_999_999}[i];
            trip("PUT-" + String.format("%03d", 13 + i), m -> {
                m.messageType = MQMT_REPORT;
                m.feedback = feedback;
            }, (t, put, got) -> t.same("feedback", feedback, got.feedback));
        }
        trip("PUT-016", m -> m.encoding = 785, (t, put, got) -> t.same("encoding", 785, got.encoding));
        trip("PUT-017", m -> m.encoding = 546, (t, put, got) -> t.same("encoding", 546, got.encoding));
        trip("PUT-018", m -> m.characterSet = 500, (t, put, got) -> t.same("characterSet", 500, got.characterSet));
        trip("PUT-019", m -> m.characterSet = 1208, (t, put, got) -> t.same("characterSet", 1208, got.characterSet));
        trip("PUT-020", m -> m.format = "MYFORMAT", (t, put, got) -> t.same("format", "MYFORMAT", got.format));
        trip("PUT-021", m -> m.format = MQFMT_STRING, (t, put, got) -> t.same("format", "MQSTR   ", got.format));
        trip("PUT-022", m -> m.priority = 0, (t, put, got) -> t.same("priority", 0, got.priority));
        trip("PUT-023", m -> m.priority = 9, (t, put, got) -> t.same("priority", 9, got.priority));
        trip("PUT-024", m -> m.persistence = MQPER_PERSISTENT, (t, put, got) ->
            t.same("persistence", MQPER_PERSISTENT, got.persistence));
        trip("PUT-025", m -> m.backoutCount = 17, (t, put, got) -> t.same("backoutCount", 0, got.backoutCount));
        trip("PUT-026", m -> {
            m.report = MQRO_PASS_MSG_ID | MQRO_PASS_CORREL_ID;
            m.replyToQueueName = "MQI.ANSWERS";
        }, (t, put, got) -> t.same("report", MQRO_PASS_MSG_ID | MQRO_PASS_CORREL_ID, got.report));
        trip("PUT-027", m -> {
            m.report = MQRO_EXCEPTION_WITH_FULL_DATA | MQRO_EXPIRATION_WITH_DATA | MQRO_PAN | MQRO_NAN | MQRO_DISCARD_MSG;
            m.replyToQueueName = "MQI.ANSWERS";
        }, (t, put, got) -> t.same("report", put.report, got.report));
        trip("PUT-028", m -> {
            m.userId = "forged";
            m.putApplicationName = "forged";
            m.putApplicationType = 6;
            m.applicationOriginData = "FORG";
            m.applicationIdData = "forged";
            m.accountingToken = new byte[] {1, 2, 3};
        }, (t, put, got) -> {
            t.that("userId " + got.userId, !got.userId.trim().equals("forged"));
            t.that("putApplicationName " + got.putApplicationName, !got.putApplicationName.trim().equals("forged"));
            t.same("putApplicationType", MQAT_JAVA, got.putApplicationType);
            t.text("applicationOriginData", "", got.applicationOriginData);
            t.text("applicationIdData", "", got.applicationIdData);
        });
    }

    private void ids() {
        byte[] given = MqiCase.id(1);
        byte[] correlation = MqiCase.id(2);
        trip("PUT-040", m -> m.messageId = given, (t, put, got) -> t.bytes("messageId", given, got.messageId));
        trip("PUT-041", m -> m.correlationId = correlation, (t, put, got) ->
            t.bytes("correlationId", correlation, got.correlationId));
        trip("PUT-042", m -> { }, (t, put, got) -> {
            t.bytes("messageId that the program was told", put.messageId, got.messageId);
            String begin = new String(got.messageId, 0, 12, java.nio.charset.StandardCharsets.US_ASCII);
            t.same("first bytes of the generated messageId", "AMQ QM1     ", begin);
        });
        trip("PUT-043", MqiPut.OUT | MQPMO_NEW_MSG_ID, m -> m.messageId = given, (t, put, got) -> {
            t.that("messageId is new", !Arrays.equals(given, got.messageId) && !zero(got.messageId));
            t.bytes("messageId that the program was told", put.messageId, got.messageId);
        });
        trip("PUT-044", MqiPut.OUT | MQPMO_NEW_CORREL_ID, m -> m.correlationId = correlation, (t, put, got) -> {
            t.that("correlationId is new", !Arrays.equals(correlation, got.correlationId) && !zero(got.correlationId));
            t.bytes("correlationId that the program was told", put.correlationId, got.correlationId);
        });
        trip("PUT-045", MqiPut.OUT | MQPMO_NEW_MSG_ID | MQPMO_NEW_CORREL_ID, m -> { }, (t, put, got) ->
            t.that("two different ids", !Arrays.equals(got.messageId, got.correlationId) && !zero(got.correlationId)));
        area.at("PUT-046", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            Set<String> ids = new HashSet<>();
            for (int i = 0; i < 200; i++) {
                MQMessage message = MqiCase.message("x");
                t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
                t.that("the id is new", ids.add(MqiCase.hex(message.messageId)));
            }
        });
        area.at("PUT-047", t -> {
            // The id of the first put is in the descriptor: the second has the same.
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            MQMessage message = MqiCase.message("x");
            queue.put(message, MqiCase.pmo(MqiPut.OUT));
            t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
            t.bytes("messageId of both", t.get(queue).messageId, t.get(queue).messageId);
        });
        area.at("PUT-048", t -> {
            t.empty("MQI.LOCAL");
            MQMessage message = MqiCase.message("x");
            message.correlationId = correlation;
            t.mark(() -> t.qm().put("MQI.LOCAL", message, MqiCase.pmo(MqiPut.OUT | MQPMO_NEW_MSG_ID)));
            MQMessage got = t.get("MQI.LOCAL");
            t.bytes("messageId", message.messageId, got.messageId);
            t.bytes("correlationId", correlation, got.correlationId);
        });
    }

    private void values() {
        wrong("PUT-060", m -> m.expiry = 0, m -> m.expiry = -2, m -> m.expiry = Integer.MIN_VALUE);
        wrong("PUT-061", m -> m.messageType = 0);
        wrong("PUT-062", m -> m.messageType = -1, m -> m.messageType = 1_000_000_000);
        wrong("PUT-063", m -> m.feedback = -1, m -> m.feedback = 1_000_000_000);
        wrong("PUT-064", m -> m.persistence = 3, m -> m.persistence = -2);
        wrong("PUT-065", m -> m.persistence = -1);
        wrong("PUT-066", m -> m.priority = -2, m -> m.priority = -3, m -> m.priority = -4);
        trip("PUT-067", m -> m.priority = 10, (t, put, got) -> t.same("priority stays as it was given", 10, got.priority));
        trip("PUT-068", m -> m.priority = 999, (t, put, got) -> t.same("priority stays as it was given", 999, got.priority));
        area.at("PUT-069", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            for (int priority : new int[] {9, 10, 8}) {
                MQMessage message = MqiCase.message("p" + priority);
                message.priority = priority;
                if (priority == 10) t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
                else queue.put(message, MqiCase.pmo(MqiPut.OUT));
            }
            String order = MqiCase.body(t.get(queue)) + MqiCase.body(t.get(queue)) + MqiCase.body(t.get(queue));
            t.same("10 stands where 9 stands", "p9p10p8", order);
        });
        wrong("PUT-070", m -> m.messageType = MQMT_REQUEST);
        wrong("PUT-071", m -> m.report = MQRO_EXCEPTION, m -> m.report = MQRO_EXPIRATION, m -> m.report = MQRO_COA,
            m -> m.report = MQRO_COD);
        wrong("PUT-072", m -> {
            m.messageType = MQMT_REQUEST;
            m.replyToQueueManagerName = "QM1";
        });
        wrong("PUT-073", reply(0x1000_0000), reply(0x0010_0000), reply(0x0008_0000), reply(0x0004_0000));
        wrong("PUT-074", reply(0x0000_8000), reply(0x0001_0000), reply(0x0002_0000));
        for (int i = 0; i < 3; i++) {
            int bit = new int[] {0x8, 0x4000_0000, 0x8000_0000}[i];
            trip("PUT-0" + (75 + i), reply(bit), (t, put, got) -> t.same("report stays as it was given", bit, got.report));
        }
        area.at("PUT-078", t -> {
            t.empty("MQI.XQ2");
            MQQueue queue = t.open("MQI.QR2", MQOO_OUTPUT);
            for (int bit : new int[] {0x0000_8000, 0x0001_0000, 0x0002_0000}) {
                MQMessage message = MqiCase.message("x");
                reply(bit).fill(message);
                t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
            }
            t.same("depth", 3, t.depth("MQI.XQ2"));
        });
        area.at("PUT-079", t -> {
            t.empty("MQI.XQ2");
            MQQueue queue = t.open("MQI.QR2", MQOO_OUTPUT);
            MQMessage message = MqiCase.message("x");
            reply(0x0010_0000).fill(message);
            t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
            t.same("depth", 0, t.depth("MQI.XQ2"));
        });
        area.at("PUT-080", t -> {
            // Not put: the options are wrong before the descriptor is looked at by the queue manager.
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            MQMessage message = MqiCase.message("x");
            message.expiry = 0;
            t.mark(() -> queue.put(message, MqiCase.pmo(MQPMO_SYNCPOINT | MQPMO_NO_SYNCPOINT)));
        });
    }

    private static Fill reply(int report) {
        return message -> {
            message.report = report;
            message.replyToQueueName = "MQI.ANSWERS";
        };
    }

    private void groups() {
        wrong("PUT-090", m -> m.messageFlags = 0x20, m -> m.messageFlags = 0x800);
        wrong("PUT-091", m -> m.messageFlags = 0x1000, m -> m.messageFlags = 0x0008_0000);
        trip("PUT-092", m -> m.messageFlags = 0x0010_0000, (t, put, got) ->
            t.same("flags stay as they were given", 0x0010_0000, got.messageFlags));
        area.at("PUT-093", t -> {
            t.empty("MQI.XQ2");
            MQQueue queue = t.open("MQI.QR2", MQOO_OUTPUT);
            MQMessage message = MqiCase.message("x");
            message.messageFlags = 0x1000;
            t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
            t.same("depth", 1, t.depth("MQI.XQ2"));
        });
        wrong("PUT-094", group(0), group(-1), group(1_000_000_000));
        wrong("PUT-095", segment(-1), segment(1_000_000_000));
        area.at("PUT-096", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            MQMessage message = MqiCase.message("");
            segment(0).fill(message);
            t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
        });
        area.at("PUT-097", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            MQMessage message = MqiCase.message("report of a segment");
            segment(0).fill(message);
            message.messageType = MQMT_REPORT;
            message.feedback = MQFB_COA;
            message.originalLength = 3;
            t.mark(() -> queue.put(message, MqiCase.pmo(MqiPut.OUT)));
        });
        trip("PUT-098", m -> {
            m.groupId = MqiCase.id(3);
            m.messageFlags = MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP;
            m.messageSequenceNumber = 5;
        }, (t, put, got) -> {
            t.bytes("groupId", MqiCase.id(3), got.groupId);
            t.same("messageSequenceNumber", 5, got.messageSequenceNumber);
            t.same("messageFlags", MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP, got.messageFlags);
        });
        trip("PUT-099", m -> {
            m.groupId = MqiCase.id(4);
            m.messageFlags = MQMF_SEGMENT;
            m.offset = 100;
        }, (t, put, got) -> {
            t.bytes("groupId", MqiCase.id(4), got.groupId);
            t.same("offset", 100, got.offset);
            t.that("flags " + got.messageFlags, (got.messageFlags & MQMF_SEGMENT) != 0);
        });
    }

    private static Fill group(int number) {
        return message -> {
            message.groupId = MqiCase.id(5);
            message.messageFlags = MQMF_MSG_IN_GROUP;
            message.messageSequenceNumber = number;
        };
    }

    private static Fill segment(int offset) {
        return message -> {
            message.groupId = MqiCase.id(6);
            message.messageFlags = MQMF_SEGMENT;
            message.offset = offset;
        };
    }
}
