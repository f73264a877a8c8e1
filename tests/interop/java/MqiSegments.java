// More of the area group: segmentation by the queue manager, wrong fields, the message descriptor extension.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.Arrays;

final class MqiSegments extends MqiMessages {
    static final String A = MqiGroup.A;
    static final int LOGICAL = MqiGroup.LOGICAL;
    static final int COMPLETE = MqiGroup.COMPLETE;
    static final int ALL_MSGS = MqiGroup.ALL_MSGS;
    static final int IN_GROUP = MqiGroup.IN_GROUP;
    static final int LAST = MqiGroup.LAST;
    static final int SEG = MqiGroup.SEG;
    static final int LAST_SEG = MqiGroup.LAST_SEG;
    static final int ALLOWED = MqiGroup.ALLOWED;
    static final byte[] G1 = MqiGroup.G1;
    static final byte[] G2 = MqiGroup.G2;

    @Override
    void define() {
        segmentation();
        fields();
        extension();
    }

    private static MQMessage large(int length, int flags) throws Exception {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.messageFlags = flags;
        message.write(filled(length, 5));
        return message;
    }

    private void segmentation() {
        String small = "MQM.SMALL";
        at("GROUP-090", t -> {
            MQQueue q = queue(t, small);
            MQMessage put = large(2500, ALLOWED);
            t.mark(() -> put(q, put));
            t.that("GroupId", !zero(put.groupId));
            t.that("segments " + q.getCurrentDepth(), q.getCurrentDepth() >= 3);
            MQMessage got = get(q, COMPLETE | NOSYNC);
            t.bytes("data", filled(2500, 5), raw(got));
            t.bytes("GroupId", put.groupId, got.groupId);
        });
        at("GROUP-091", t -> {
            MQQueue q = queue(t, small);
            MQMessage put = put(q, large(2500, ALLOWED));
            byte[] whole = new byte[2500];
            int offset = 0;
            while (offset < whole.length) {
                MQGetMessageOptions options = options(LOGICAL | NOSYNC, 0);
                MQMessage got = new MQMessage();
                t.mark(() -> q.get(got, options));
                byte[] data = raw(got);
                t.bytes("GroupId", put.groupId, got.groupId);
                t.same("Offset", offset, got.offset);
                System.arraycopy(data, 0, whole, offset, data.length);
                offset += data.length;
                boolean last = offset == whole.length;
                t.that("length " + data.length, data.length <= 1000 && (last || data.length % 16 == 0));
                t.same("SegmentStatus", last ? 'L' : 'S', options.segmentStatus);
                t.same("Segmentation", 'A', options.segmentation);
                t.same("flags", SEG | ALLOWED | (last ? LAST_SEG : 0), got.messageFlags);
            }
            t.bytes("data", filled(2500, 5), whole);
        });
        at("GROUP-092", t -> {
            MQQueue q = queue(t, small);
            t.mark(() -> put(q, large(2500, 0)));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-093", t -> {
            MQQueue q = queue(t, small);
            MQMessage put = large(2500, ALLOWED);
            put.persistence = CMQC.MQPER_PERSISTENT;
            t.mark(() -> put(q, put));
            t.bytes("data", filled(2500, 5), raw(get(q, COMPLETE | NOSYNC)));
        });
        at("GROUP-094", t -> {
            MQQueue q = queue(t, small);
            unit(queue(t, A), "a unit");
            MQMessage put = large(2500, ALLOWED);
            put.persistence = CMQC.MQPER_PERSISTENT;
            t.mark(() -> put(q, put));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-095", t -> {
            MQQueue q = queue(t, small);
            t.mark(() -> put(q, large(2500, ALLOWED), CMQC.MQPMO_SYNCPOINT));
            t.qm().backout();
            none(t, q);
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-096", t -> {
            MQQueue q = queue(t, "MQM.SMALL.FEW");
            MQMessage put = large(2500, ALLOWED);
            put.persistence = CMQC.MQPER_PERSISTENT;
            t.mark(() -> put(q, put));
            t.same("nothing is left", 0, q.getCurrentDepth());
        });
        at("GROUP-097", t -> {
            MQQueue q = queue(t, small);
            t.mark(() -> put(q, large(1500, ALLOWED | IN_GROUP), CMQC.MQPMO_LOGICAL_ORDER));
            put(q, large(20, ALLOWED | LAST), CMQC.MQPMO_LOGICAL_ORDER);
            MQMessage one = get(q, COMPLETE | LOGICAL | NOSYNC | ALL_MSGS);
            MQMessage two = get(q, COMPLETE | LOGICAL | NOSYNC | ALL_MSGS);
            t.bytes("first", filled(1500, 5), raw(one));
            t.bytes("second", filled(20, 5), raw(two));
            t.same("MsgSeqNumber", 2, two.messageSequenceNumber);
        });
        at("GROUP-098", t -> {
            MQQueue q = queue(t, small);
            put(q, large(2500, ALLOWED));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(FIRST | COMPLETE)));
            t.bytes("data", filled(2500, 5), raw(got));
        });
    }

    private void fields() {
        at("GROUP-100", t -> {
            MQQueue q = queue(t, A);
            for (int bad : new int[] {0, -1, 1_000_000_000}) t.mark(() -> put(q, member("x", G1, bad, 0, IN_GROUP)));
        });
        at("GROUP-101", t -> {
            MQQueue q = queue(t, A);
            for (int bad : new int[] {-1, 1_000_000_000}) t.mark(() -> put(q, member("x", G1, 1, bad, SEG)));
        });
        at("GROUP-102", t -> {
            MQQueue q = queue(t, A);
            MQMessage report = member("0123456789", G1, 1, 0, SEG);
            report.messageType = CMQC.MQMT_REPORT;
            report.feedback = CMQC.MQFB_COA;
            report.originalLength = 5;
            t.mark(() -> put(q, report));
        });
        at("GROUP-103", t -> {
            MQQueue q = queue(t, A);
            for (int bad : new int[] {0x20, 0x800, IN_GROUP | 0x40}) t.mark(() -> put(q, member("x", G1, 1, 0, bad)));
        });
        at("GROUP-104", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, member("x", null, 1, 0, 0x00100000)));
            t.same("text", "x", text(q));
        });
    }

    private static MQMessage extended(MQQueueManager qm, int length, int encoding, int flags) throws Exception {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.format = CMQC.MQFMT_MD_EXTENSION;
        message.encoding = encoding;
        message.characterSet = qm.getCharacterSet();
        message.write("MDE ".getBytes("US-ASCII"));
        for (int number : new int[] {2, length, 273, 819}) message.writeInt4(number);
        message.write("MQSTR   ".getBytes("US-ASCII"));
        message.writeInt4(0);
        message.write(G1);
        for (int number : new int[] {4, 0, flags, -1}) message.writeInt4(number);
        message.write("body".getBytes("US-ASCII"));
        return message;
    }

    private void extension() {
        at("GROUP-110", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = extended(t.qm(), 72, 546, IN_GROUP);
            put.setVersion(1);
            t.mark(() -> put(q, put));
            honoured(t, get(q, NOSYNC));
        });
        at("GROUP-111", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = extended(t.qm(), 72, 546, IN_GROUP);
            t.mark(() -> put(q, put));
            honoured(t, get(q, NOSYNC));
        });
        at("GROUP-112", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = extended(t.qm(), 72, 546, IN_GROUP);
            put.groupId = G2.clone();
            put.messageFlags = LAST;
            t.mark(() -> put(q, put));
            MQMessage got = get(q, NOSYNC);
            t.bytes("GroupId", G2, got.groupId);
            t.text("Format", CMQC.MQFMT_MD_EXTENSION, got.format);
            t.same("length", 76, got.getMessageLength());
        });
        at("GROUP-113", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = extended(t.qm(), 72, 273, IN_GROUP);
            put.setVersion(1);
            t.mark(() -> put(q, put));
            MQMessage got = get(q, NOSYNC);
            t.that("GroupId none", zero(got.groupId));
            t.text("Format", CMQC.MQFMT_MD_EXTENSION, got.format);
            t.same("length", 76, got.getMessageLength());
        });
        at("GROUP-114", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = extended(t.qm(), 60, 546, IN_GROUP);
            put.setVersion(1);
            t.mark(() -> put(q, put));
        });
        at("GROUP-115", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = member("body", G1, 4, 0, IN_GROUP);
            put.format = CMQC.MQFMT_STRING;
            put(q, put);
            MQMessage got = new MQMessage();
            got.setVersion(1);
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.text("Format", CMQC.MQFMT_MD_EXTENSION, got.format);
            t.same("length", 76, got.getMessageLength());
            byte[] data = raw(got);
            t.text("StrucId", "MDE ", new String(data, 0, 4, "US-ASCII"));
            t.text("Format behind it", CMQC.MQFMT_STRING, new String(data, 20, 8, "US-ASCII"));
            t.bytes("GroupId", G1, Arrays.copyOfRange(data, 32, 56));
        });
        at("GROUP-116", t -> {
            MQQueue q = queue(t, A);
            put(q, "no group");
            MQMessage got = new MQMessage();
            got.setVersion(1);
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.text("Format", CMQC.MQFMT_NONE, got.format);
            t.same("text", "no group", MqiCase.body(got));
        });
        at("GROUP-117", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = MqiCase.message("x");
            put.setVersion(1);
            t.mark(() -> put(q, put, CMQC.MQPMO_LOGICAL_ORDER));
        });
    }

    private static void honoured(MqiCase t, MQMessage got) throws Exception {
        t.bytes("GroupId", G1, got.groupId);
        t.same("MsgSeqNumber", 4, got.messageSequenceNumber);
        t.same("MsgFlags", IN_GROUP, got.messageFlags);
        t.text("Format", CMQC.MQFMT_STRING, got.format);
        t.same("CodedCharSetId, Encoding", "819 273", got.characterSet + " " + got.encoding);
        t.same("text", "body", MqiCase.body(got));
    }
}
