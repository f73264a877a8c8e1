// Units of work: what others see, backout and its order, several connections, ends of connections, object changes.

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.concurrent.FutureTask;

final class MqiUnit extends MqiMessages {
    static final String A = "MQM.A";
    static final String B = "MQM.B";

    @Override
    void define() {
        ends();
        order();
        connections();
        depth();
        objects();
        large();
    }

    private static MQQueue with(MqiCase t, String... texts) throws Exception {
        MQQueue q = queue(t, A);
        for (String text : texts) put(q, text);
        return q;
    }

    private void ends() {
        at("UNIT-001", t -> t.mark(() -> t.qm().commit()));
        at("UNIT-002", t -> t.mark(() -> t.qm().backout()));
        at("UNIT-003", t -> {
            MQQueue q = queue(t, A);
            unit(q, "x");
            MQQueue other = queue(t, t.connect(), A);
            none(t, other);
            t.mark(() -> t.qm().commit());
            t.same("text", "x", text(other));
        });
        at("UNIT-004", t -> {
            MQQueue q = queue(t, A);
            unit(q, "x");
            put(q, persistent("y"), CMQC.MQPMO_SYNCPOINT);
            t.mark(() -> t.qm().backout());
            none(t, q);
            t.qm().commit();
            none(t, q);
        });
        at("UNIT-005", t -> {
            MQQueue q = with(t, "x");
            get(q, SYNC);
            t.mark(() -> t.qm().commit());
            t.qm().backout();
            none(t, q);
        });
        at("UNIT-006", t -> {
            t.empty(A);
            MQMessage one = MqiCase.message("one");
            t.mark(() -> t.qm().put(A, one, pmo(CMQC.MQPMO_SYNCPOINT)));
            MQQueue other = queue(t, t.connect(), A);
            none(t, other);
            t.qm().commit();
            t.same("text", "one", text(other));
        });
        at("UNIT-007", t -> {
            MQQueue q = queue(t, A);
            unit(q, "in");
            t.mark(() -> put(q, "out"));
            t.qm().backout();
            t.same("left", "out", all(q));
        });
        at("UNIT-008", t -> {
            MQQueue a = with(t, "move me");
            MQQueue b = queue(t, B);
            for (int i = 0; i < 2; i++) {
                MQMessage got = get(a, SYNC);
                put(b, got, CMQC.MQPMO_SYNCPOINT);
                if (i == 0) t.qm().backout();
            }
            MQQueue other = queue(t, t.connect(), B);
            none(t, other);
            t.mark(() -> t.qm().commit());
            none(t, a);
            t.same("text", "move me", text(other));
        });
        at("UNIT-009", t -> {
            MQQueueManager ending = t.connect();
            unit(queue(t, ending, A), "at the end");
            t.mark(ending::disconnect);
            t.same("text", "at the end", text(queue(t, A)));
        });
        at("UNIT-010", t -> {
            with(t, "taken");
            MQQueueManager ending = t.connect();
            get(queue(t, ending, A), SYNC);
            t.mark(ending::disconnect);
            none(t, queue(t, A));
        });
        at("UNIT-011", t -> {
            MQQueue q = with(t, "first");
            MqiRelay relay = new MqiRelay();
            MQQueueManager lost = t.through(relay);
            MQQueue far = queue(t, lost, A);
            get(far, SYNC);
            unit(far, "never");
            relay.cut();
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, waiting(NOSYNC, LONG_MS)));
            t.same("text", "first", MqiCase.body(got));
            t.same("BackoutCount", 1, got.backoutCount);
            none(t, q);
        });
        at("UNIT-012", t -> {
            MqiRelay relay = new MqiRelay();
            MQQueueManager lost = t.through(relay);
            MQQueue far = queue(t, lost, A);
            unit(far, "never");
            relay.cut();
            t.mark(() -> lost.commit());
            t.eventually("backed out", () -> queue(t, A).getCurrentDepth() == 0);
        });
        at("UNIT-013", t -> {
            MQQueue q = queue(t, A);
            unit(q, "x");
            q.close();
            t.mark(() -> t.qm().commit());
            t.same("text", "x", text(queue(t, A)));
        });
        at("UNIT-014", t -> {
            MQQueue q = with(t, "x");
            get(q, SYNC);
            q.close();
            t.mark(() -> t.qm().backout());
            t.same("text", "x", text(queue(t, A)));
        });
        at("UNIT-015", t -> t.mark(() -> t.qm().begin()));
        at("UNIT-016", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, MqiCase.message("x"), CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NO_SYNCPOINT));
            none(t, q);
        });
    }

    private void order() {
        at("UNIT-020", t -> {
            MQQueue q = with(t, "a", "b", "c", "d");
            get(q, SYNC);
            get(q, SYNC);
            t.mark(() -> t.qm().backout());
            t.same("order", "a b c d", all(q));
        });
        at("UNIT-021", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            for (int p : new int[] {3, 8, 5}) put(q, priority("p" + p, p));
            for (int i = 0; i < 3; i++) get(q, SYNC);
            put(q, priority("p6", 6));
            t.mark(() -> t.qm().backout());
            t.same("order", "p8 p6 p5 p3", all(q));
        });
        at("UNIT-022", t -> {
            MQQueue q = queue(t, A);
            unit(q, "first put");
            put(queue(t, t.connect(), A), "first visible");
            t.mark(() -> t.qm().commit());
            t.same("order of the puts", "first put first visible", all(q));
        });
        at("UNIT-023", t -> {
            MQQueue q = with(t, "a", "b", "c");
            MQMessage second = new MQMessage();
            get(q, FIRST);
            MQMessage browsed = get(q, NEXT);
            second.messageId = browsed.messageId;
            match(q, second, SYNC, CMQC.MQMO_MATCH_MSG_ID);
            t.mark(() -> t.qm().backout());
            t.same("in its place", "a b c", all(q));
        });
        at("UNIT-024", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, SYNC);
            get(q, SYNC);
            t.mark(() -> t.qm().backout());
            MQMessage one = get(q, NOSYNC);
            MQMessage two = get(q, NOSYNC);
            t.same("BackoutCount", "1 1", one.backoutCount + " " + two.backoutCount);
        });
        at("UNIT-025", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            MQQueue other = queue(t, t.connect(), "MQM.PRIORITY");
            put(q, priority("low", 1), CMQC.MQPMO_SYNCPOINT);
            put(q, priority("high", 9), CMQC.MQPMO_SYNCPOINT);
            put(other, priority("middle", 5));
            t.mark(() -> t.qm().commit());
            t.same("order", "high middle low", all(other));
        });
    }

    private void connections() {
        at("UNIT-030", t -> {
            MQQueueManager[] two = {t.connect(), t.connect()};
            MQQueue[] q = {queue(t, two[0], A), queue(t, two[1], A)};
            for (int i = 0; i < 6; i++) unit(q[i % 2], "m" + i);
            two[0].backout();
            t.mark(two[1]::commit);
            t.same("left", "m1 m3 m5", all(queue(t, A)));
        });
        at("UNIT-031", t -> {
            with(t, "a", "b", "c", "d");
            MQQueueManager[] two = {t.connect(), t.connect()};
            MQQueue[] q = {queue(t, two[0], A), queue(t, two[1], A)};
            StringBuilder got = new StringBuilder();
            for (int i = 0; i < 4; i++) got.append(text(q[i % 2], SYNC));
            t.same("each a different one", "abcd", got.toString());
            two[0].backout();
            t.mark(two[1]::commit);
            t.same("left", "a c", all(queue(t, A)));
        });
        at("UNIT-032", t -> {
            FutureTask<MQMessage> one = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            FutureTask<MQMessage> two = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            MQQueue q = queue(t, A);
            unit(q, "x");
            unit(q, "y");
            t.mark(() -> t.qm().commit());
            String both = MqiCase.body(end(one)) + MqiCase.body(end(two));
            t.that("each gets one: " + both, both.equals("xy") || both.equals("yx"));
        });
        at("UNIT-033", t -> {
            with(t, "x");
            MQQueueManager first = t.connect();
            get(queue(t, first, A), SYNC);
            first.backout();
            MQQueueManager second = t.connect();
            MQMessage got = new MQMessage();
            MQQueue q = queue(t, second, A);
            t.mark(() -> q.get(got, MqiCase.gmo(SYNC)));
            t.same("BackoutCount", 1, got.backoutCount);
            second.backout();
            t.same("BackoutCount", 2, get(queue(t, A), NOSYNC).backoutCount);
        });
        at("UNIT-034", t -> {
            MQQueue a = queue(t, A);
            unit(a, "mine");
            MQQueueManager second = t.connect();
            unit(queue(t, second, A), "theirs");
            second.disconnect();
            t.mark(() -> t.qm().backout());
            t.same("left", "theirs", all(a));
        });
    }

    private void depth() {
        at("UNIT-040", t -> {
            MQQueue q = with(t, "a", "b", "c");
            unit(q, "d");
            t.same("a put counts", 4, q.getCurrentDepth());
            get(q, SYNC);
            get(q, SYNC);
            t.same("a get does not", 2, q.getCurrentDepth());
            t.mark(() -> t.qm().backout());
            t.same("as before", 3, q.getCurrentDepth());
        });
        at("UNIT-041", t -> {
            MQQueue q = queue(t, "MQM.FEW");
            unit(q, "a");
            unit(q, "b");
            MQQueue other = queue(t, t.connect(), "MQM.FEW");
            t.mark(() -> put(other, "c"));
            t.qm().backout();
            put(other, "c");
            t.same("left", "c", all(other));
        });
        at("UNIT-042", t -> {
            MQQueue q = queue(t, "MQM.FEW");
            unit(q, "a");
            unit(q, "b");
            t.mark(() -> unit(q, "c"));
            t.qm().commit();
            t.same("the others stay in the unit", "a b", all(q));
        });
        at("UNIT-043", t -> {
            MQQueue q = queue(t, "MQM.FEW");
            put(q, "a");
            put(q, "b");
            get(q, SYNC);
            put(queue(t, t.connect(), "MQM.FEW"), "c");
            t.mark(() -> t.qm().backout());
            t.same("over the limit", 3, q.getCurrentDepth());
            t.same("left", "a b c", all(q));
        });
    }

    private void objects() {
        at("UNIT-050", t -> {
            MQQueue q = queue(t, "MQM.SET");
            unit(q, "before");
            MQQueue set = t.open(t.connect(), "MQM.SET", CMQC.MQOO_SET);
            set.setInhibitPut(CMQC.MQQA_PUT_INHIBITED);
            t.after(() -> set.setInhibitPut(CMQC.MQQA_PUT_ALLOWED));
            t.reason(CMQC.MQRC_PUT_INHIBITED, () -> unit(q, "after"));
            t.mark(() -> t.qm().commit());
            t.same("left", "before", all(q));
        });
        at("UNIT-051", t -> {
            MQQueue q = queue(t, "MQM.SET");
            put(q, "x");
            get(q, SYNC);
            MQQueue set = t.open(t.connect(), "MQM.SET", CMQC.MQOO_SET);
            set.setInhibitGet(CMQC.MQQA_GET_INHIBITED);
            t.after(() -> set.setInhibitGet(CMQC.MQQA_GET_ALLOWED));
            t.mark(() -> t.qm().backout());
            set.setInhibitGet(CMQC.MQQA_GET_ALLOWED);
            t.same("left", "x", all(q));
        });
        at("UNIT-052", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.PERM", IN | OUT, null, "MQM.DYN.*", null);
            String name = dynamic.getName();
            unit(dynamic, "x");
            dynamic.setCloseOptions(CMQC.MQCO_DELETE);
            t.mark(dynamic::close);
            t.qm().commit();
            MQQueue again = t.open(name, ALL);
            t.same("text", "x", text(again));
            again.setCloseOptions(CMQC.MQCO_DELETE_PURGE);
            again.close();
        });
        at("UNIT-053", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.TEMP", IN | OUT, null, "MQM.DYN.*", null);
            MQQueue a = queue(t, A);
            unit(dynamic, "gone with its queue");
            unit(a, "x");
            dynamic.close();
            t.mark(() -> t.qm().commit());
            t.same("the rest of the unit", "x", all(a));
        });
        at("UNIT-054", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.TEMP", IN | OUT, null, "MQM.DYN.*", null);
            MQQueue a = with(t, "x");
            unit(dynamic, "gone with its queue");
            get(a, SYNC);
            dynamic.close();
            t.mark(() -> t.qm().backout());
            t.same("the rest of the unit", "x", all(a));
        });
        at("UNIT-055", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.TEMP", IN | OUT, null, "MQM.DYN.*", null);
            MQQueueManager other = t.connect();
            MQQueue theirs = t.open(other, dynamic.getName(), OUT);
            unit(theirs, "x");
            dynamic.close();
            t.mark(() -> unit(theirs, "y"));
            other.backout();
        });
    }

    private void large() {
        at("UNIT-060", t -> {
            MQQueue q = queue(t, A);
            for (int i = 0; i < 1000; i++) unit(q, "m" + i);
            t.mark(() -> t.qm().commit());
            t.same("depth", 1000, q.getCurrentDepth());
            for (int i = 0; i < 1000; i++) t.same("text", "m" + i, text(q, SYNC));
            t.qm().backout();
            t.same("depth", 1000, q.getCurrentDepth());
            for (int i = 0; i < 1000; i++) t.same("text", "m" + i, text(q, SYNC));
            t.qm().commit();
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("UNIT-061", t -> {
            MQQueue q = queue(t, A);
            for (int i = 0; i < 1000; i++) unit(q, "m" + i);
            t.mark(() -> t.qm().backout());
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("UNIT-062", t -> {
            MQQueue a = queue(t, A);
            MQQueue b = queue(t, B);
            for (int i = 0; i < 50; i++) put(a, "m" + i);
            for (int round = 0; round < 50; round++) {
                put(b, get(a, SYNC), CMQC.MQPMO_SYNCPOINT);
                if (round % 5 == 4) t.mark(() -> t.qm().commit());
            }
            t.same("depths", "0 50", a.getCurrentDepth() + " " + b.getCurrentDepth());
            t.same("first", "m0", text(b));
        });
        at("UNIT-063", t -> {
            MQQueue q = queue(t, A);
            byte[] data = filled(500_000, 1);
            for (int i = 0; i < 4; i++) {
                MQMessage put = new MQMessage();
                put.persistence = CMQC.MQPER_PERSISTENT;
                put.write(data);
                put(q, put, CMQC.MQPMO_SYNCPOINT);
            }
            t.mark(() -> t.qm().commit());
            for (int i = 0; i < 4; i++) t.bytes("data", data, raw(get(q, NOSYNC)));
        });
    }
}
