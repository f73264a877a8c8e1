// MQGET: matching, truncation, waiting and its ends, units of work, options that exclude each other, expiry, order.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.concurrent.FutureTask;

final class MqiGet extends MqiMessages {
    static final String A = "MQM.A";
    static final int MSG = CMQC.MQMO_MATCH_MSG_ID;
    static final int COR = CMQC.MQMO_MATCH_CORREL_ID;
    static final int GRP = CMQC.MQMO_MATCH_GROUP_ID;
    static final int SEQ = CMQC.MQMO_MATCH_MSG_SEQ_NUMBER;
    static final int OFF = CMQC.MQMO_MATCH_OFFSET;
    static final int TOKEN = CMQC.MQMO_MATCH_MSG_TOKEN;
    static final byte[] C1 = MqiCase.id(1);
    static final byte[] C2 = MqiCase.id(2);
    static final byte[] C9 = MqiCase.id(99);

    @Override
    void define() {
        ids();
        groups();
        tokens();
        truncation();
        waits();
        units();
        options();
        MqiGetStates more = new MqiGetStates();
        more.define();
        bodies.putAll(more.bodies);
    }

    /** Two messages with a correlation id, then one with another. */
    private static MQMessage[] three(MQQueue q) throws Exception {
        return new MQMessage[] {put(q, correlated("one", C1)), put(q, correlated("two", C1)), put(q, correlated("three", C2))};
    }

    /** A match of the case; what is got must be a text. */
    private void matching(String id, String expected, int match, boolean messageId, byte[] correlation) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage[] put = three(q);
            MQMessage wanted = wanted(messageId ? put[1].messageId : null, correlation);
            t.mark(() -> match(q, wanted, NOSYNC, match));
            if (expected == null) t.same("depth", 3, q.getCurrentDepth());
            else t.same("text", expected, MqiCase.body(wanted));
        });
    }

    private void ids() {
        matching("GET-001", "two", MSG, true, null);
        at("GET-002", t -> {
            MQQueue q = queue(t, A);
            three(q);
            t.mark(() -> match(q, wanted(C9, null), NOSYNC, MSG));
            t.same("depth", 3, q.getCurrentDepth());
        });
        matching("GET-003", "one", COR, false, C1);
        matching("GET-004", "three", COR, false, C2);
        matching("GET-005", null, COR, false, C9);
        matching("GET-006", "two", MSG | COR, true, C1);
        matching("GET-007", null, MSG | COR, true, C2);
        matching("GET-008", "one", CMQC.MQMO_NONE, true, C2);
        matching("GET-009", "one", MSG, false, C2);
        matching("GET-010", "one", COR, true, null);
        at("GET-011", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQMessage again = new MQMessage();
            q.get(again, MqiCase.gmo(NOSYNC));
            again.clearMessage();
            t.mark(() -> q.get(again, MqiCase.gmo(NOSYNC)));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GET-012", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQMessage again = new MQMessage();
            match(q, again, NOSYNC, CMQC.MQMO_NONE);
            again.clearMessage();
            t.mark(() -> match(q, again, NOSYNC, CMQC.MQMO_NONE));
            t.same("text", "two", MqiCase.body(again));
        });
        at("GET-013", t -> {
            MQQueue q = queue(t, A);
            MQMessage[] put = three(q);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.bytes("MsgId", put[0].messageId, got.messageId);
            t.bytes("CorrelId", C1, got.correlationId);
            t.that("MsgId of the queue manager", new String(got.messageId, 0, 7, "ISO-8859-1").equals("AMQ QM1"));
        });
        at("GET-014", t -> {
            MQQueue q = queue(t, A);
            for (int i = 0; i < 3; i++) put(q, correlated("same" + i, C1));
            StringBuilder order = new StringBuilder();
            for (int i = 0; i < 3; i++)
                t.mark(() -> order.append(MqiCase.body(match(q, wanted(null, C1), NOSYNC, COR))));
            t.same("order", "same0same1same2", order.toString());
        });
    }

    /** Two groups of two, and a message that has none. */
    private static byte[][] twoGroups(MQQueue q) throws Exception {
        byte[][] ids = {MqiCase.id(11), MqiCase.id(22)};
        int in = CMQC.MQMF_MSG_IN_GROUP;
        put(q, "alone");
        put(q, member("a1", ids[0], 1, 0, in));
        put(q, member("b1", ids[1], 1, 0, in));
        put(q, member("a2", ids[0], 2, 0, CMQC.MQMF_LAST_MSG_IN_GROUP));
        put(q, member("b2", ids[1], 2, 0, CMQC.MQMF_LAST_MSG_IN_GROUP));
        return ids;
    }

    private void inGroup(String id, String expected, int match, int group, int sequence) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            byte[][] ids = twoGroups(q);
            MQMessage wanted = new MQMessage();
            wanted.groupId = group < 2 ? ids[group] : group == 2 ? C9 : new byte[24];
            wanted.messageSequenceNumber = sequence;
            t.mark(() -> match(q, wanted, NOSYNC, match));
            if (expected == null) t.same("depth", 5, q.getCurrentDepth());
            else t.same("text", expected, MqiCase.body(wanted));
        });
    }

    private void groups() {
        inGroup("GET-020", "b1", GRP, 1, 1);
        inGroup("GET-021", null, GRP, 2, 1);
        inGroup("GET-022", "alone", GRP, 3, 1);
        inGroup("GET-023", "b2", GRP | SEQ, 1, 2);
        inGroup("GET-024", "a2", SEQ, 1, 2);
        inGroup("GET-025", null, GRP | SEQ, 1, 3);
        at("GET-026", t -> {
            MQQueue q = queue(t, A);
            byte[] group = MqiCase.id(33);
            put(q, member("first", group, 1, 0, CMQC.MQMF_SEGMENT));
            put(q, member("second", group, 1, 5, CMQC.MQMF_LAST_SEGMENT));
            MQMessage wanted = new MQMessage();
            wanted.groupId = group;
            wanted.offset = 5;
            t.mark(() -> match(q, wanted, NOSYNC, GRP | OFF));
            t.same("text", "second", MqiCase.body(wanted));
            t.same("offset", 5, wanted.offset);
        });
        at("GET-027", t -> {
            MQQueue q = queue(t, A);
            put(q, member("first", MqiCase.id(33), 1, 0, CMQC.MQMF_SEGMENT));
            MQMessage wanted = new MQMessage();
            wanted.offset = 7;
            t.mark(() -> match(q, wanted, NOSYNC, OFF));
        });
        at("GET-028", t -> {
            MQQueue q = queue(t, A);
            twoGroups(q);
            MQMessage wanted = new MQMessage();
            wanted.setVersion(1);
            t.mark(() -> match(q, wanted, NOSYNC, GRP));
        });
        at("GET-029", t -> {
            MQQueue q = queue(t, A);
            put(q, "one");
            t.mark(() -> match(q, new MQMessage(), NOSYNC, 0x40));
            t.same("depth", 1, q.getCurrentDepth());
        });
    }

    private void tokens() {
        at("GET-030", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQGetMessageOptions browse = MqiCase.gmo(FIRST);
            q.get(new MQMessage(), browse);
            MQGetMessageOptions next = MqiCase.gmo(NEXT);
            q.get(new MQMessage(), next);
            t.that("tokens differ", !MqiCase.hex(browse.msgToken).equals(MqiCase.hex(next.msgToken)));
            t.that("a token", !zero(next.msgToken));
            MQGetMessageOptions take = options(NOSYNC, TOKEN);
            take.msgToken = next.msgToken.clone();
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, take));
            t.same("text", "two", MqiCase.body(got));
        });
        at("GET-031", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQGetMessageOptions browse = MqiCase.gmo(FIRST);
            q.get(new MQMessage(), browse);
            get(q, NOSYNC);
            MQGetMessageOptions take = options(NOSYNC, TOKEN);
            take.msgToken = browse.msgToken.clone();
            t.mark(() -> q.get(new MQMessage(), take));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GET-032", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQGetMessageOptions take = MqiCase.gmo(FIRST);
            q.get(new MQMessage(), take);
            take.options = WAIT | NOSYNC;
            take.waitInterval = SHORT_MS;
            take.matchOptions = TOKEN;
            t.mark(() -> q.get(new MQMessage(), take));
        });
        at("GET-033", t -> {
            MQQueue q = queue(t, A);
            three(q);
            MQGetMessageOptions take = MqiCase.gmo(FIRST);
            q.get(new MQMessage(), take);
            take.options = NOSYNC;
            take.matchOptions = TOKEN | COR;
            t.mark(() -> q.get(wanted(null, C2), take));
            t.same("depth", 3, q.getCurrentDepth());
        });
    }

    private void truncation() {
        at("GET-040", t -> {
            MQQueue q = queue(t, A);
            put(q, "0123456789");
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC), 4));
            t.same("total", 10, got.getTotalMessageLength());
            t.same("depth", 1, q.getCurrentDepth());
            MQMessage whole = get(q, NOSYNC);
            t.same("text", "0123456789", MqiCase.body(whole));
            t.same("BackoutCount", 0, whole.backoutCount);
        });
        at("GET-041", t -> {
            MQQueue q = queue(t, A);
            put(q, "0123456789");
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 4));
            t.same("total", 10, got.getTotalMessageLength());
            t.same("text", "0123", MqiCase.body(got));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GET-042", t -> {
            MQQueue q = queue(t, A);
            put(q, "0123456789");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(SYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 4));
            none(t, q);
            t.qm().backout();
            MQMessage whole = get(q, NOSYNC);
            t.same("text", "0123456789", MqiCase.body(whole));
            t.same("BackoutCount", 1, whole.backoutCount);
        });
        at("GET-043", t -> {
            MQQueue q = queue(t, A);
            put(q, "0123456789");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(SYNC), 9));
            t.qm().backout();
            t.same("BackoutCount", 0, get(q, NOSYNC).backoutCount);
        });
        at("GET-044", t -> {
            MQQueue q = queue(t, A);
            put(q, "0123456789");
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC), 10));
            t.same("text", "0123456789", MqiCase.body(got));
        });
        at("GET-045", t -> {
            MQQueue q = queue(t, A);
            put(q, "");
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC), 0));
            t.same("total", 0, got.getTotalMessageLength());
        });
        at("GET-046", t -> {
            MQQueue q = queue(t, A);
            put(q, "not wanted");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 0));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GET-047", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NOSYNC), -1));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GET-048", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = correlated("0123456789", C1);
            put.messageType = CMQC.MQMT_REPLY;
            put(q, put);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC), 4));
            t.bytes("MsgId", put.messageId, got.messageId);
            t.bytes("CorrelId", C1, got.correlationId);
            t.same("MsgType", CMQC.MQMT_REPLY, got.messageType);
        });
        at("GET-049", t -> {
            MQQueue q = queue(t, A);
            byte[] data = filled(200_000, 3);
            MQMessage put = new MQMessage();
            put.write(data);
            put(q, put);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.bytes("data", data, raw(got));
        });
    }

    private void waits() {
        at("GET-060", t -> {
            MQQueue q = queue(t, A);
            long start = System.nanoTime();
            t.mark(() -> q.get(new MQMessage(), waiting(NOSYNC, SHORT_MS)));
            t.that("it waited", System.nanoTime() - start >= (SHORT_MS - 20) * 1_000_000L);
        });
        at("GET-061", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> q.get(new MQMessage(), waiting(NOSYNC, 0)));
        });
        at("GET-062", t -> {
            MQQueue q = queue(t, A);
            put(q, "there");
            t.mark(() -> q.get(new MQMessage(), waiting(NOSYNC, -2)));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GET-063", t -> {
            MQQueue q = queue(t, A);
            put(q, "there");
            MQGetMessageOptions get = MqiCase.gmo(NOSYNC);
            get.waitInterval = -2;
            t.mark(() -> q.get(new MQMessage(), get));
        });
        at("GET-064", t -> {
            MQQueue q = queue(t, A);
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            put(q, "for the waiter");
            t.mark(() -> t.same("text", "for the waiter", MqiCase.body(end(wait))));
        });
        at("GET-065", t -> {
            MQQueue q = queue(t, A);
            MQMessage wanted = new MQMessage();
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, CMQC.MQWI_UNLIMITED), wanted);
            put(q, "whenever it comes");
            t.mark(() -> t.same("text", "whenever it comes", MqiCase.body(end(wait))));
        });
        at("GET-066", t -> {
            MQQueue q = queue(t, A);
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            unit(q, "not yet");
            Thread.sleep(100);
            t.that("uncommitted is not given", !wait.isDone());
            t.qm().commit();
            t.mark(() -> t.same("text", "not yet", MqiCase.body(end(wait))));
        });
        at("GET-067", t -> {
            MQQueue q = queue(t, A);
            unit(q, "never");
            MQQueue other = queue(t, t.connect(), A);
            t.mark(() -> other.get(new MQMessage(), waiting(NOSYNC, SHORT_MS)));
        });
        at("GET-068", t -> {
            MQQueue q = queue(t, A);
            put(q, "comes back");
            get(q, SYNC);
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            t.qm().backout();
            t.mark(() -> t.same("BackoutCount", 1, end(wait).backoutCount));
        });
        at("GET-069", t -> {
            MQQueue q = queue(t, A);
            put(q, correlated("other", C1));
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), wanted(null, C2));
            put(q, correlated("other too", C1));
            put(q, correlated("mine", C2));
            t.mark(() -> t.same("text", "mine", MqiCase.body(end(wait))));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("GET-070", t -> {
            MQQueue q = queue(t, A);
            put(q, correlated("other", C1));
            t.mark(() -> q.get(wanted(null, C2), waiting(NOSYNC, SHORT_MS)));
        });
        at("GET-071", t -> {
            MQQueue set = t.open("MQM.SET", CMQC.MQOO_SET);
            t.after(() -> set.setInhibitGet(CMQC.MQQA_GET_ALLOWED));
            FutureTask<MQMessage> wait = waiter(t, "MQM.SET", IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            set.setInhibitGet(CMQC.MQQA_GET_INHIBITED);
            t.mark(() -> end(wait));
        });
        at("GET-072", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.TEMP", IN | OUT, null, "MQM.DYN.*", null);
            FutureTask<MQMessage> wait = waiter(t, dynamic.getName(), IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            dynamic.close();
            t.mark(() -> end(wait));
        });
        at("GET-073", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.PERM", IN | OUT, null, "MQM.DYN.*", null);
            FutureTask<MQMessage> wait = waiter(t, dynamic.getName(), IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            dynamic.setCloseOptions(CMQC.MQCO_DELETE_PURGE);
            dynamic.close();
            t.mark(() -> end(wait));
        });
        at("GET-074", t -> {
            MQQueue q = queue(t, A);
            FutureTask<MQMessage> wait = waiter(t, A, BROWSE, waiting(FIRST, LONG_MS), new MQMessage());
            put(q, "seen");
            t.mark(() -> t.same("text", "seen", MqiCase.body(end(wait))));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("GET-075", t -> {
            MQQueue q = queue(t, A);
            FutureTask<MQMessage> one = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            FutureTask<MQMessage> two = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            put(q, "x");
            put(q, "y");
            t.mark(() -> t.that("each gets one", !MqiCase.body(end(one)).equals(MqiCase.body(end(two)))));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("GET-076", t -> {
            MQQueue q = queue(t, A);
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, 400),
                wanted(null, C2));
            MQQueueManager third = t.connect();
            put(queue(t, third, A), correlated("not it", C1));
            t.mark(() -> end(wait));
            t.same("depth", 1, q.getCurrentDepth());
        });
    }

    private void units() {
        at("GET-080", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> get(q, SYNC));
            t.qm().backout();
            t.same("BackoutCount", 1, get(q, SYNC).backoutCount);
            t.qm().backout();
            t.same("BackoutCount", 2, get(q, SYNC).backoutCount);
            t.qm().commit();
            none(t, q);
        });
        at("GET-081", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> get(q, NOSYNC));
            t.qm().backout();
            none(t, q);
        });
        at("GET-082", t -> {
            MQQueue q = queue(t, A);
            put(q, persistent("x"));
            t.mark(() -> get(q, CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT));
            t.qm().backout();
            t.same("BackoutCount", 1, get(q, NOSYNC).backoutCount);
        });
        at("GET-083", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> get(q, CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT));
            t.qm().backout();
            none(t, q);
        });
        at("GET-084", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> get(q, 0));
            t.qm().backout();
            none(t, q);
        });
        at("GET-085", t -> {
            MQQueue q = t.open("MQM.BACKOUT", ALL);
            put(q, persistent("poison"));
            for (int i = 0; i < 4; i++) {
                get(q, SYNC);
                t.qm().backout();
            }
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(SYNC)));
            t.same("BackoutCount", 4, got.backoutCount);
            int[] numbers = new int[2];
            byte[] name = new byte[48];
            q.inquire(new int[] {CMQC.MQIA_BACKOUT_THRESHOLD, CMQC.MQIA_HARDEN_GET_BACKOUT, CMQC.MQCA_BACKOUT_REQ_Q_NAME},
                numbers, name);
            t.same("BOTHRESH", 2, numbers[0]);
            t.same("HARDENBO", 1, numbers[1]);
            String to = new String(name, "ISO-8859-1").trim();
            t.same("BOQNAME", "MQM.BACKED.OUT", to);
            // What an application does then.
            t.empty(to);
            t.qm().put(to, got, MqiCase.pmo(CMQC.MQPMO_SYNCPOINT));
            t.qm().commit();
            none(t, q);
            t.same("moved", "poison", MqiCase.body(t.get(to)));
        });
        at("GET-086", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            get(q, SYNC);
            MQQueue other = queue(t, t.connect(), A);
            t.mark(() -> get(other, NOSYNC));
            t.qm().backout();
        });
    }

    private void excluded(String id, int... sets) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            for (int set : sets) t.mark(() -> get(q, set));
            t.same("depth", 1, q.getCurrentDepth());
            t.same("BackoutCount", 0, get(q, NOSYNC).backoutCount);
        });
    }

    private void options() {
        int under = CMQC.MQGMO_MSG_UNDER_CURSOR;
        int look = CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR;
        int lock = CMQC.MQGMO_LOCK;
        int unlock = CMQC.MQGMO_UNLOCK;
        excluded("GET-090", SYNC | NOSYNC);
        excluded("GET-091", SYNC | CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT, NOSYNC | CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT);
        excluded("GET-092", FIRST | SYNC, NEXT | SYNC, look | SYNC);
        excluded("GET-093", FIRST | CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT, NEXT | CMQC.MQGMO_SYNCPOINT_IF_PERSISTENT);
        excluded("GET-094", FIRST | NEXT);
        excluded("GET-095", FIRST | look, NEXT | look);
        excluded("GET-096", FIRST | under, NEXT | under, look | under);
        excluded("GET-097", lock, lock | NOSYNC);
        excluded("GET-098", unlock | FIRST, unlock | NEXT, unlock | lock, unlock | WAIT, unlock | SYNC);
        excluded("GET-099", FIRST | lock | SYNC);
        excluded("GET-100", CMQC.MQGMO_SET_SIGNAL, CMQC.MQGMO_SET_SIGNAL | WAIT);
        excluded("GET-101", CMQC.MQGMO_MARK_SKIP_BACKOUT | SYNC);
        excluded("GET-102", 0x40000000);
        excluded("GET-103", CMQC.MQGMO_MARK_BROWSE_HANDLE, CMQC.MQGMO_MARK_BROWSE_HANDLE | NOSYNC);
        at("GET-104", t -> {
            MQQueue q = queue(t, A);
            put(q, "x");
            t.mark(() -> get(q, NOSYNC | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_CONVERT));
        });
    }
}
