// Groups and segments: logical order, completeness, status, segmentation by the queue manager, across units of work,
// with a descriptor of version 1.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.Arrays;
import java.util.concurrent.FutureTask;

final class MqiGroup extends MqiMessages {
    static final String A = "MQM.A";
    static final int LOGICAL = CMQC.MQGMO_LOGICAL_ORDER;
    static final int COMPLETE = CMQC.MQGMO_COMPLETE_MSG;
    static final int ALL_MSGS = CMQC.MQGMO_ALL_MSGS_AVAILABLE;
    static final int ALL_SEGS = CMQC.MQGMO_ALL_SEGMENTS_AVAILABLE;
    static final int IN_GROUP = CMQC.MQMF_MSG_IN_GROUP;
    static final int LAST = CMQC.MQMF_LAST_MSG_IN_GROUP;
    static final int SEG = CMQC.MQMF_SEGMENT;
    static final int LAST_SEG = CMQC.MQMF_LAST_SEGMENT;
    static final int ALLOWED = CMQC.MQMF_SEGMENTATION_ALLOWED;
    static final byte[] G1 = MqiCase.id(11);
    static final byte[] G2 = MqiCase.id(22);

    @Override
    void define() {
        putGroups();
        putSegments();
        consistency();
        logicalGets();
        availability();
        complete();
        completeUnits();
        browse();
        units();
        MqiSegments more = new MqiSegments();
        more.define();
        bodies.putAll(more.bodies);
    }

    /** Puts in logical order. */
    private static MQMessage logical(MQQueue q, String text, int flags) throws Exception {
        return put(q, member(text, null, 1, 0, flags), CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_NO_SYNCPOINT);
    }

    private static MQMessage logicalUnit(MQQueue q, String text, int flags) throws Exception {
        return put(q, member(text, null, 1, 0, flags), CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT);
    }

    /** Groups a and b of two, interleaved, behind a message that is alone. */
    private static MQQueue interleaved(MqiCase t) throws Exception {
        MQQueue q = queue(t, A);
        put(q, "alone");
        put(q, member("b1", G2, 1, 0, IN_GROUP));
        put(q, member("a2", G1, 2, 0, LAST));
        put(q, member("a1", G1, 1, 0, IN_GROUP));
        put(q, member("b2", G2, 2, 0, LAST));
        return q;
    }

    /** A logical message of three segments: aaaa bbbb cc. */
    private static MQQueue segments(MqiCase t, boolean persistent, int count) throws Exception {
        MQQueue q = queue(t, A);
        String[] texts = {"aaaa", "bbbb", "cc"};
        for (int i = 0; i < count; i++) {
            MQMessage segment = member(texts[i], G1, 1, 4 * i, i == 2 ? LAST_SEG : SEG);
            if (persistent) segment.persistence = CMQC.MQPER_PERSISTENT;
            put(q, segment);
        }
        return q;
    }

    private void putGroups() {
        at("GROUP-001", t -> {
            MQQueue q = queue(t, A);
            MQMessage[] put = new MQMessage[1];
            t.mark(() -> put[0] = logical(q, "1", IN_GROUP));
            t.that("GroupId generated", !zero(put[0].groupId));
            t.same("MsgSeqNumber", 1, put[0].messageSequenceNumber);
            logical(q, "2", LAST);
        });
        at("GROUP-002", t -> {
            MQQueue q = queue(t, A);
            MQMessage first = logical(q, "1", IN_GROUP);
            MQMessage[] put = new MQMessage[2];
            t.mark(() -> put[0] = logical(q, "2", IN_GROUP));
            t.mark(() -> put[1] = logical(q, "3", LAST));
            t.bytes("GroupId", first.groupId, put[0].groupId);
            t.bytes("GroupId", first.groupId, put[1].groupId);
            t.same("MsgSeqNumber", "2 3", put[0].messageSequenceNumber + " " + put[1].messageSequenceNumber);
        });
        at("GROUP-003", t -> {
            MQQueue q = queue(t, A);
            MQMessage first = logical(q, "1", LAST);
            MQMessage[] put = new MQMessage[1];
            t.mark(() -> put[0] = logical(q, "2", LAST));
            t.that("another group", !Arrays.equals(first.groupId, put[0].groupId));
            t.same("MsgSeqNumber", 1, put[0].messageSequenceNumber);
        });
        at("GROUP-004", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP);
            logical(q, "2", LAST);
            MQGetMessageOptions options = MqiCase.gmo(NOSYNC);
            MQMessage one = new MQMessage();
            t.mark(() -> q.get(one, options));
            t.same("GroupStatus", CMQC.MQGS_MSG_IN_GROUP, options.groupStatus);
            t.same("SegmentStatus", ' ', options.segmentStatus);
            t.same("flags", IN_GROUP, one.messageFlags);
            MQMessage two = new MQMessage();
            q.get(two, options(NOSYNC, 0));
            q.close();
            t.same("flags", IN_GROUP | LAST, two.messageFlags);
            t.same("MsgSeqNumber", 2, two.messageSequenceNumber);
        });
        at("GROUP-005", t -> {
            MQQueue q = queue(t, A);
            put(q, member("only", G1, 7, 0, LAST));
            MQGetMessageOptions options = MqiCase.gmo(NOSYNC);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, options));
            t.same("GroupStatus", CMQC.MQGS_LAST_MSG_IN_GROUP, options.groupStatus);
            t.same("MsgSeqNumber", 7, got.messageSequenceNumber);
            t.bytes("GroupId", G1, got.groupId);
        });
        at("GROUP-006", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = put(q, member("1", null, 1, 0, IN_GROUP));
            t.that("GroupId generated", !zero(put.groupId));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.bytes("GroupId", put.groupId, got.groupId);
        });
        at("GROUP-007", t -> {
            MQQueue q = queue(t, A);
            put(q, member("no group", G1, 5, 9, 0));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.that("GroupId none", zero(got.groupId));
            t.same("MsgSeqNumber, Offset", "1 0", got.messageSequenceNumber + " " + got.offset);
        });
        at("GROUP-008", t -> {
            t.empty(A);
            t.mark(() -> t.qm().put(A, member("1", null, 1, 0, LAST), pmo(CMQC.MQPMO_LOGICAL_ORDER)));
        });
        at("GROUP-009", t -> {
            MQQueue q = queue(t, A);
            MQMessage first = member("1", G1, 1, 0, IN_GROUP);
            t.mark(() -> t.qm().put(A, first, pmo(CMQC.MQPMO_NO_SYNCPOINT)));
            t.bytes("GroupId", G1, get(q, NOSYNC).groupId);
        });
    }

    private void putSegments() {
        at("GROUP-010", t -> {
            MQQueue q = queue(t, A);
            StringBuilder offsets = new StringBuilder();
            for (int flags : new int[] {SEG, SEG, LAST_SEG})
                t.mark(() -> offsets.append(logical(q, "12345", flags).offset).append(' '));
            t.same("offsets", "0 5 10 ", offsets.toString());
            t.same("whole", "123451234512345", text(q, COMPLETE | NOSYNC));
        });
        at("GROUP-011", t -> {
            segments(t, false, 3);
            MQQueue q = queue(t, A);
            StringBuilder status = new StringBuilder();
            for (int i = 0; i < 3; i++) {
                MQGetMessageOptions options = options(NOSYNC, 0);
                MQMessage got = new MQMessage();
                t.mark(() -> q.get(got, options));
                status.append(options.segmentStatus).append(options.groupStatus).append(options.segmentation);
                status.append(got.offset).append('/').append(got.messageFlags).append(' ');
                t.same("OriginalLength", got.getMessageLength(), got.originalLength);
            }
            t.same("status", "S  0/2 S  4/2 L  8/6 ", status.toString());
        });
        at("GROUP-012", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, member("", G1, 1, 0, SEG)));
        });
        at("GROUP-013", t -> {
            MQQueue q = queue(t, A);
            put(q, member("first", G1, 1, 0, SEG));
            t.mark(() -> put(q, member("", G1, 1, 5, LAST_SEG)));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GROUP-014", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, member("all", null, 1, 0, ALLOWED)));
            MQGetMessageOptions options = MqiCase.gmo(NOSYNC);
            MQMessage got = new MQMessage();
            q.get(got, options);
            t.same("Segmentation", CMQC.MQSEG_ALLOWED, options.segmentation);
            t.same("SegmentStatus", ' ', options.segmentStatus);
        });
    }

    private void consistency() {
        at("GROUP-020", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP);
            t.mark(() -> logical(q, "no group", 0));
            logical(q, "2", LAST);
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GROUP-021", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP);
            t.mark(() -> put(q, "no group"));
            t.same("it is put", 2, q.getCurrentDepth());
        });
        at("GROUP-022", t -> {
            MQQueue q = t.open(A, OUT);
            logical(q, "1", IN_GROUP);
            t.mark(q::close);
        });
        at("GROUP-023", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            get(q, LOGICAL | NOSYNC);
            t.same("text", "b1", text(q, LOGICAL | NOSYNC));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("the first there is", "a2", MqiCase.body(got));
        });
        at("GROUP-024", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", SEG);
            t.mark(() -> logical(q, "no segment", 0));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GROUP-025", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP | SEG);
            t.mark(() -> logical(q, "2", LAST | LAST_SEG));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GROUP-026", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP | SEG);
            t.mark(() -> put(q, "no group"));
        });
        at("GROUP-027", t -> {
            MQQueue q = t.open(A, OUT);
            logical(q, "1", SEG);
            t.mark(q::close);
        });
        at("GROUP-028", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP);
            MQMessage other = member("2", null, 1, 0, LAST);
            other.persistence = CMQC.MQPER_PERSISTENT;
            t.mark(() -> put(q, other, CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_NO_SYNCPOINT));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GROUP-029", t -> {
            MQQueue q = queue(t, A);
            logicalUnit(q, "1", IN_GROUP);
            t.mark(() -> logical(q, "2", LAST));
        });
        at("GROUP-030", t -> {
            MQQueue q = queue(t, A);
            logical(q, "1", IN_GROUP);
            t.mark(() -> logicalUnit(q, "2", LAST));
        });
        at("GROUP-031", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            get(q, LOGICAL | NOSYNC);
            get(q, LOGICAL | SYNC);
            t.mark(() -> get(q, LOGICAL | NOSYNC));
            t.same("text", "b2", text(q, LOGICAL | SYNC));
        });
        at("GROUP-032", t -> {
            segments(t, false, 3);
            MQQueue q = queue(t, A);
            get(q, LOGICAL | NOSYNC);
            t.mark(() -> get(q, NOSYNC));
        });
    }

    private void logicalGets() {
        at("GROUP-040", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            StringBuilder order = new StringBuilder();
            StringBuilder status = new StringBuilder();
            for (int i = 0; i < 5; i++) {
                MQGetMessageOptions options = options(LOGICAL | NOSYNC, 0);
                MQMessage got = new MQMessage();
                t.mark(() -> q.get(got, options));
                order.append(MqiCase.body(got)).append(' ');
                status.append(options.groupStatus);
            }
            t.same("order", "alone b1 b2 a1 a2 ", order.toString());
            t.same("GroupStatus", " GLGL", status.toString());
        });
        at("GROUP-041", t -> {
            MQQueue q = queue(t, A);
            put(q, member("2", G1, 2, 0, IN_GROUP));
            put(q, member("1", G1, 1, 0, IN_GROUP));
            get(q, LOGICAL | NOSYNC);
            get(q, LOGICAL | NOSYNC);
            t.mark(() -> get(q, LOGICAL | NOSYNC));
            put(q, "other");
            put(q, member("3", G1, 3, 0, LAST));
            t.same("text", "3", text(q, LOGICAL | NOSYNC));
            t.same("text", "other", text(q, LOGICAL | NOSYNC));
        });
        at("GROUP-042", t -> {
            MQQueue q = queue(t, A);
            put(q, member("1", G1, 1, 0, IN_GROUP));
            MQQueue reader = queue(t, t.connect(), A);
            get(reader, LOGICAL | NOSYNC);
            FutureTask<MQMessage> wait = start(() -> {
                MQMessage got = new MQMessage();
                MQGetMessageOptions options = waiting(LOGICAL | NOSYNC, LONG_MS);
                options.matchOptions = 0;
                reader.get(got, options);
                return got;
            });
            put(q, "other");
            put(q, member("2", G1, 2, 0, LAST));
            t.mark(() -> t.same("text", "2", MqiCase.body(end(wait))));
        });
        at("GROUP-043", t -> {
            MQQueue q = queue(t, A);
            put(q, member("2", G1, 2, 0, IN_GROUP));
            put(q, member("3", G1, 3, 0, LAST));
            t.mark(() -> get(q, LOGICAL | NOSYNC));
        });
        at("GROUP-044", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            MQMessage wanted = new MQMessage();
            wanted.groupId = G1.clone();
            t.mark(() -> match(q, wanted, LOGICAL | NOSYNC, CMQC.MQMO_MATCH_GROUP_ID));
            t.same("text", "a1", MqiCase.body(wanted));
            t.same("its group goes on", "a2", MqiCase.body(match(q, new MQMessage(), LOGICAL | NOSYNC, 0)));
        });
        at("GROUP-045", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            MQMessage wanted = new MQMessage();
            wanted.groupId = G1.clone();
            match(q, wanted, LOGICAL | NOSYNC, CMQC.MQMO_MATCH_GROUP_ID);
            MQMessage wrong = new MQMessage();
            wrong.groupId = G2.clone();
            t.mark(() -> match(q, wrong, LOGICAL | NOSYNC, CMQC.MQMO_MATCH_GROUP_ID));
        });
        at("GROUP-046", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            MQMessage wanted = new MQMessage();
            wanted.messageSequenceNumber = 2;
            t.mark(() -> match(q, wanted, LOGICAL | NOSYNC, CMQC.MQMO_MATCH_MSG_SEQ_NUMBER));
        });
        at("GROUP-047", t -> {
            segments(t, false, 3);
            MQQueue q = queue(t, A);
            StringBuilder texts = new StringBuilder();
            for (int i = 0; i < 3; i++) t.mark(() -> texts.append(text(q, LOGICAL | NOSYNC)).append(' '));
            t.same("texts", "aaaa bbbb cc ", texts.toString());
        });
    }

    private void availability() {
        at("GROUP-050", t -> {
            MQQueue q = queue(t, A);
            put(q, member("1", G1, 1, 0, IN_GROUP));
            put(q, member("2", G1, 2, 0, IN_GROUP));
            t.mark(() -> get(q, ALL_MSGS | LOGICAL | NOSYNC));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GROUP-051", t -> {
            MQQueue q = queue(t, A);
            put(q, member("3", G1, 3, 0, LAST));
            put(q, member("1", G1, 1, 0, IN_GROUP));
            t.reason(2033, () -> get(q, ALL_MSGS | LOGICAL | NOSYNC));
            put(q, member("2", G1, 2, 0, IN_GROUP));
            StringBuilder texts = new StringBuilder();
            for (int i = 0; i < 3; i++) t.mark(() -> texts.append(text(q, ALL_MSGS | LOGICAL | NOSYNC)));
            t.same("texts", "123", texts.toString());
        });
        at("GROUP-052", t -> {
            MQQueue q = queue(t, A);
            put(q, member("1", G1, 1, 0, IN_GROUP));
            put(q, member("2", G1, 2, 0, LAST), CMQC.MQPMO_SYNCPOINT);
            MQQueue reader = queue(t, t.connect(), A);
            t.mark(() -> get(reader, ALL_MSGS | LOGICAL | NOSYNC));
            t.qm().commit();
            t.same("text", "1", text(reader, ALL_MSGS | LOGICAL | NOSYNC));
            t.same("text", "2", text(reader, ALL_MSGS | LOGICAL | NOSYNC));
        });
        at("GROUP-053", t -> {
            MQQueue q = queue(t, A);
            put(q, member("1", G1, 1, 0, IN_GROUP));
            put(q, "no group");
            t.mark(() -> t.same("text", "no group", text(q, ALL_MSGS | LOGICAL | NOSYNC)));
        });
        at("GROUP-054", t -> {
            MQQueue q = queue(t, A);
            put(q, member("a1", G1, 1, 0, IN_GROUP));
            put(q, member("b1", G2, 1, 0, IN_GROUP));
            put(q, member("b2", G2, 2, 0, LAST));
            t.mark(() -> t.same("text", "b1", text(q, ALL_MSGS | LOGICAL | NOSYNC)));
            t.same("text", "b2", text(q, ALL_MSGS | LOGICAL | NOSYNC));
        });
        at("GROUP-055", t -> {
            MQQueue q = queue(t, A);
            put(q, member("1", G1, 1, 0, IN_GROUP));
            FutureTask<MQMessage> wait =
                waiter(t, A, IN, waiting(ALL_MSGS | LOGICAL | NOSYNC, LONG_MS), new MQMessage());
            put(q, member("2", G1, 2, 0, IN_GROUP));
            put(q, member("3", G1, 3, 0, LAST));
            t.mark(() -> t.same("text", "1", MqiCase.body(end(wait))));
        });
        at("GROUP-056", t -> {
            MQQueue q = segments(t, false, 2);
            t.mark(() -> get(q, ALL_SEGS | NOSYNC));
        });
        at("GROUP-057", t -> {
            MQQueue q = segments(t, false, 3);
            t.mark(() -> t.same("text", "aaaa", text(q, ALL_SEGS | NOSYNC | LOGICAL)));
            t.same("text", "bbbb", text(q, ALL_SEGS | NOSYNC | LOGICAL));
        });
        at("GROUP-058", t -> {
            MQQueue q = queue(t, A);
            put(q, member("x", G1, 1, 0, IN_GROUP | SEG));
            put(q, member("2", G1, 2, 0, LAST));
            t.mark(() -> get(q, ALL_MSGS | LOGICAL | NOSYNC));
        });
    }

    private void complete() {
        at("GROUP-060", t -> {
            MQQueue q = segments(t, false, 3);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(COMPLETE | NOSYNC)));
            t.same("text", "aaaabbbbcc", MqiCase.body(got));
            t.same("Offset", 0, got.offset);
            t.same("the only segment", SEG | LAST_SEG, got.messageFlags & (SEG | LAST_SEG));
            t.bytes("GroupId", G1, got.groupId);
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-061", t -> {
            MQQueue q = segments(t, false, 2);
            t.mark(() -> get(q, COMPLETE | NOSYNC));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GROUP-062", t -> {
            MQQueue q = queue(t, A);
            put(q, member("cc", G1, 1, 8, LAST_SEG));
            put(q, member("bbbb", G1, 1, 4, SEG));
            put(q, member("aaaa", G1, 1, 0, SEG));
            t.mark(() -> t.same("text", "aaaabbbbcc", text(q, COMPLETE | NOSYNC)));
        });
        at("GROUP-063", t -> {
            MQQueue q = segments(t, false, 2);
            put(q, "whole");
            t.mark(() -> t.same("text", "whole", text(q, COMPLETE | NOSYNC)));
        });
        at("GROUP-064", t -> {
            MQQueue q = segments(t, false, 3);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(COMPLETE | NOSYNC), 6));
            t.same("total", 10, got.getTotalMessageLength());
            t.same("depth", 3, q.getCurrentDepth());
        });
        at("GROUP-065", t -> {
            MQQueue q = segments(t, false, 3);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(COMPLETE | NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 6));
            t.same("text", "aaaabb", MqiCase.body(got));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-066", t -> {
            MQQueue q = queue(t, A);
            put(q, member("aaaa", G1, 1, 0, SEG));
            MQMessage other = member("bb", G1, 1, 4, LAST_SEG);
            other.characterSet = 850;
            put(q, other);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(COMPLETE | NOSYNC)));
            t.same("text", "aaaa", MqiCase.body(got));
            t.same("the rest", "bb", text(q, NOSYNC));
        });
        at("GROUP-067", t -> {
            MQQueue q = queue(t, A);
            put(q, member("aaaa", G1, 1, 0, SEG));
            MQMessage other = member("bb", G1, 1, 4, LAST_SEG);
            other.encoding = 546;
            put(q, other);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(COMPLETE | NOSYNC)));
            t.same("text", "aaaa", MqiCase.body(got));
        });
        at("GROUP-068", t -> {
            MQQueue q = queue(t, A);
            logical(q, "11", IN_GROUP | SEG);
            logical(q, "1", IN_GROUP | LAST_SEG);
            logical(q, "22", LAST | SEG);
            logical(q, "2", LAST | LAST_SEG);
            StringBuilder texts = new StringBuilder();
            for (int i = 0; i < 2; i++) {
                MQGetMessageOptions options = options(COMPLETE | LOGICAL | NOSYNC, 0);
                MQMessage got = new MQMessage();
                t.mark(() -> q.get(got, options));
                texts.append(MqiCase.body(got)).append(options.groupStatus).append(got.messageSequenceNumber);
            }
            t.same("texts", "111G1222L2", texts.toString());
        });
        at("GROUP-069", t -> {
            MQQueue q = queue(t, A);
            put(q, member("a1", G1, 1, 0, IN_GROUP | SEG));
            put(q, member("a2", G1, 2, 0, IN_GROUP | SEG));
            put(q, member("!2", G1, 2, 2, IN_GROUP | LAST_SEG));
            t.mark(() -> t.same("text", "a2!2", text(q, COMPLETE | NOSYNC)));
        });
    }

    private void completeUnits() {
        at("GROUP-070", t -> {
            MQQueue q = segments(t, true, 3);
            t.mark(() -> t.same("text", "aaaabbbbcc", text(q, COMPLETE | NOSYNC)));
            t.qm().backout();
            none(t, q);
        });
        at("GROUP-071", t -> {
            MQQueue q = segments(t, true, 3);
            t.empty("MQM.B");
            t.qm().put("MQM.B", MqiCase.message("a unit"), pmo(CMQC.MQPMO_SYNCPOINT));
            t.mark(() -> get(q, COMPLETE | NOSYNC));
            t.same("depth", 3, q.getCurrentDepth());
        });
        at("GROUP-072", t -> {
            MQQueue q = segments(t, false, 3);
            t.empty("MQM.B");
            t.qm().put("MQM.B", MqiCase.message("a unit"), pmo(CMQC.MQPMO_SYNCPOINT));
            t.mark(() -> t.same("text", "aaaabbbbcc", text(q, COMPLETE | NOSYNC)));
        });
        at("GROUP-073", t -> {
            MQQueue q = segments(t, true, 3);
            t.mark(() -> get(q, COMPLETE | SYNC));
            t.qm().backout();
            t.same("depth", 3, q.getCurrentDepth());
            MQMessage again = get(q, COMPLETE | SYNC);
            t.same("text", "aaaabbbbcc", MqiCase.body(again));
            t.same("BackoutCount", 1, again.backoutCount);
            t.qm().commit();
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GROUP-074", t -> {
            MQQueue q = queue(t, A);
            put(q, persistent("whole"));
            t.empty("MQM.B");
            t.qm().put("MQM.B", MqiCase.message("a unit"), pmo(CMQC.MQPMO_SYNCPOINT));
            t.mark(() -> t.same("text", "whole", text(q, COMPLETE | NOSYNC)));
        });
        at("GROUP-075", t -> {
            MQQueue q = segments(t, false, 3);
            t.mark(() -> get(q, COMPLETE | CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT));
        });
    }

    private void browse() {
        at("GROUP-080", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            StringBuilder texts = new StringBuilder(text(q, FIRST | LOGICAL));
            for (int i = 0; i < 4; i++) t.mark(() -> texts.append(' ').append(text(q, NEXT | LOGICAL)));
            t.same("texts", "alone b1 b2 a1 a2", texts.toString());
            t.reason(2033, () -> get(q, NEXT | LOGICAL));
        });
        at("GROUP-081", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            get(q, FIRST | LOGICAL);
            t.mark(() -> get(q, NEXT));
        });
        at("GROUP-082", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            get(q, FIRST);
            t.mark(() -> get(q, NEXT | LOGICAL));
        });
        at("GROUP-083", t -> {
            MQQueue q = segments(t, false, 3);
            put(q, "after");
            t.mark(() -> t.same("text", "aaaabbbbcc", text(q, FIRST | COMPLETE)));
            t.same("text", "after", text(q, NEXT | COMPLETE));
            t.same("depth", 4, q.getCurrentDepth());
        });
        at("GROUP-084", t -> {
            MQQueue q = segments(t, false, 3);
            get(q, FIRST);
            get(q, NEXT);
            t.mark(() -> get(q, CMQC.MQGMO_MSG_UNDER_CURSOR | COMPLETE | NOSYNC));
            t.reason(CMQC.MQRC_INVALID_MSG_UNDER_CURSOR, () -> get(q, CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR | COMPLETE));
        });
        at("GROUP-085", t -> {
            MQQueue q = segments(t, false, 3);
            get(q, FIRST);
            t.mark(() -> t.same("text", "aaaabbbbcc", text(q, CMQC.MQGMO_MSG_UNDER_CURSOR | COMPLETE | NOSYNC)));
            t.same("depth", 0, q.getCurrentDepth());
        });
    }

    private void units() {
        at("GROUP-120", t -> {
            MQQueue q = queue(t, A);
            for (String text : new String[] {"1", "2"}) logicalUnit(q, text, IN_GROUP);
            logicalUnit(q, "3", LAST);
            MQQueue reader = queue(t, t.connect(), A);
            t.reason(2033, () -> get(reader, ALL_MSGS | LOGICAL | NOSYNC));
            t.mark(() -> t.qm().commit());
            StringBuilder texts = new StringBuilder();
            for (int i = 0; i < 3; i++) texts.append(text(reader, ALL_MSGS | LOGICAL | NOSYNC));
            t.same("texts", "123", texts.toString());
        });
        at("GROUP-121", t -> {
            MQQueue q = queue(t, A);
            logicalUnit(q, "1", IN_GROUP);
            t.qm().commit();
            t.mark(() -> logicalUnit(q, "2", LAST));
            t.qm().commit();
            t.same("texts", "12", text(q, LOGICAL | NOSYNC) + text(q, LOGICAL | NOSYNC));
        });
        at("GROUP-122", t -> {
            MQQueue q = queue(t, A);
            MQMessage first = logicalUnit(q, "1", IN_GROUP);
            t.qm().commit();
            logicalUnit(q, "lost", IN_GROUP);
            t.qm().backout();
            MQMessage[] put = new MQMessage[1];
            t.mark(() -> put[0] = logicalUnit(q, "2", LAST));
            t.same("MsgSeqNumber", 2, put[0].messageSequenceNumber);
            t.bytes("GroupId", first.groupId, put[0].groupId);
            t.qm().commit();
        });
        at("GROUP-123", t -> {
            interleaved(t);
            MQQueue q = queue(t, A);
            get(q, LOGICAL | SYNC);
            t.same("text", "b1", text(q, LOGICAL | SYNC));
            t.qm().commit();
            t.same("text", "b2", text(q, LOGICAL | SYNC));
            t.qm().backout();
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, options(LOGICAL | SYNC, 0)));
            t.same("text", "b2", MqiCase.body(got));
            t.same("BackoutCount", 1, got.backoutCount);
            t.qm().commit();
        });
        at("GROUP-124", t -> {
            MQQueueManager lost = t.connect();
            MQMessage first = logical(queue(t, lost, A), "1", IN_GROUP);
            lost.disconnect();
            MQQueue q = queue(t, A);
            MQMessage second = member("2", first.groupId, 2, 0, LAST);
            t.mark(() -> put(q, second));
            t.same("texts", "12", text(q, ALL_MSGS | LOGICAL | NOSYNC) + text(q, LOGICAL | NOSYNC));
        });
        at("GROUP-125", t -> {
            MQQueue q = queue(t, A);
            for (int i = 1; i <= 200; i++) logicalUnit(q, "m" + i, i == 200 ? LAST : IN_GROUP);
            t.qm().commit();
            for (int i = 1; i <= 200; i++) {
                int number = i;
                t.mark(() -> t.same("text", "m" + number, text(q, ALL_MSGS | LOGICAL | SYNC)));
            }
            t.qm().commit();
            t.same("depth", 0, q.getCurrentDepth());
        });
    }
}
