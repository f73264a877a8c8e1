// MQGET with a browse cursor: first, next, under the cursor, locks, marks.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.concurrent.FutureTask;

final class MqiBrowse extends MqiMessages {
    static final String A = "MQM.A";
    static final int UNDER = CMQC.MQGMO_MSG_UNDER_CURSOR;
    static final int LOOK = CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR;
    static final int LOCK = CMQC.MQGMO_LOCK;
    static final int UNLOCK = CMQC.MQGMO_UNLOCK;
    static final int COR = CMQC.MQMO_MATCH_CORREL_ID;
    static final int HANDLE = CMQC.MQGMO_MARK_BROWSE_HANDLE;
    static final int CO_OP = CMQC.MQGMO_MARK_BROWSE_CO_OP;
    static final int UNMARKED = CMQC.MQGMO_UNMARKED_BROWSE_MSG;
    static final int OPEN_CO_OP = BROWSE | IN | OUT | CMQC.MQOO_CO_OP | CMQC.MQOO_INQUIRE;
    static final byte[] C1 = MqiCase.id(1);
    static final byte[] C2 = MqiCase.id(2);

    @Override
    void define() {
        cursor();
        under();
        others();
        order();
        lengths();
        locks();
        locksEnd();
        handleMarks();
        coOpMarks();
    }

    /** Opens the queue and puts texts. */
    private static MQQueue with(MqiCase t, String... texts) throws Exception {
        MQQueue q = queue(t, A);
        for (String text : texts) put(q, text);
        return q;
    }

    private static MQQueue other(MqiCase t) throws Exception {
        return queue(t, t.connect(), A);
    }

    private void cursor() {
        at("BROWSE-001", t -> {
            MQQueue q = with(t);
            t.mark(() -> get(q, FIRST));
        });
        at("BROWSE-002", t -> {
            MQQueue q = with(t, "a", "b");
            t.mark(() -> t.same("text", "a", text(q, FIRST)));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("BROWSE-003", t -> {
            MQQueue q = with(t, "a", "b");
            t.mark(() -> t.same("text", "a", text(q, NEXT)));
            t.same("text", "b", text(q, NEXT));
        });
        at("BROWSE-004", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(q, NEXT);
            t.mark(() -> get(q, NEXT));
        });
        at("BROWSE-005", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST);
            t.reason(2033, () -> get(q, NEXT));
            put(q, "b");
            t.mark(() -> t.same("text", "b", text(q, NEXT)));
        });
        at("BROWSE-006", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(q, NEXT);
            t.mark(() -> t.same("text", "a", text(q, FIRST)));
            t.same("text", "b", text(q, NEXT));
        });
        at("BROWSE-007", t -> {
            MQQueue q = with(t, "a", "b", "c");
            MQQueue second = queue(t, A);
            t.same("text", "a", text(q, FIRST));
            t.same("text", "b", text(q, NEXT));
            t.mark(() -> t.same("text", "a", text(second, NEXT)));
            t.same("text", "c", text(q, NEXT));
        });
        at("BROWSE-008", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST);
            q.close();
            MQQueue again = queue(t, A);
            t.mark(() -> get(again, UNDER));
        });
        at("BROWSE-009", t -> {
            MQQueue q = with(t);
            put(q, correlated("a", C1));
            put(q, correlated("b", C2));
            put(q, correlated("c", C1));
            put(q, correlated("d", C2));
            MQMessage first = match(q, wanted(null, C2), FIRST, COR);
            t.same("text", "b", MqiCase.body(first));
            t.mark(() -> t.same("text", "d", MqiCase.body(match(q, wanted(null, C2), NEXT, COR))));
        });
        at("BROWSE-010", t -> {
            MQQueue q = with(t);
            put(q, correlated("a", C1));
            put(q, correlated("b", C1));
            t.same("text", "a", text(q, FIRST));
            t.mark(() -> match(q, wanted(null, C2), NEXT, COR));
            t.same("text", "b", text(q, NEXT));
        });
        at("BROWSE-011", t -> {
            MQQueue q = with(t, "a");
            MQMessage b = put(q, "b");
            put(q, "c");
            t.mark(() -> t.same("text", "b",
                MqiCase.body(match(q, wanted(b.messageId, null), FIRST, CMQC.MQMO_MATCH_MSG_ID))));
            t.same("text", "c", text(q, NEXT));
        });
        at("BROWSE-012", t -> {
            MQQueue q = with(t, "a");
            t.open(t.connect(), A, CMQC.MQOO_BROWSE);
            MQQueue browse = t.open(t.connect(), A, BROWSE);
            t.mark(() -> t.same("text", "a", text(browse, FIRST | WAIT)));
            t.same("BackoutCount", 0, get(q, NOSYNC).backoutCount);
        });
        at("BROWSE-013", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST);
            t.mark(() -> q.get(new MQMessage(), waiting(NEXT, SHORT_MS)));
        });
        at("BROWSE-014", t -> {
            MQQueue q = with(t, "a");
            MQQueue reader = other(t);
            get(reader, FIRST);
            FutureTask<MQMessage> wait = start(() -> {
                MQMessage got = new MQMessage();
                reader.get(got, waiting(NEXT, LONG_MS));
                return got;
            });
            put(q, "b");
            t.mark(() -> t.same("text", "b", MqiCase.body(end(wait))));
        });
        at("BROWSE-015", t -> {
            MQQueue q = with(t);
            put(q, expiring("a", 6000));
            Thread.sleep(200);
            t.mark(() -> get(q, FIRST));
            MQMessage got = get(q, LOOK);
            t.that("Expiry " + got.expiry, got.expiry <= 5998 && got.expiry > 5700);
        });
    }

    private void under() {
        at("BROWSE-020", t -> {
            MQQueue q = with(t, "a", "b");
            t.same("text", "a", text(q, FIRST));
            for (int i = 0; i < 2; i++) t.mark(() -> t.same("text", "a", text(q, LOOK)));
            t.same("text", "b", text(q, NEXT));
        });
        at("BROWSE-021", t -> {
            MQQueue q = with(t, "a");
            t.mark(() -> get(q, LOOK));
        });
        at("BROWSE-022", t -> {
            MQQueue q = with(t, "a");
            t.mark(() -> get(q, UNDER));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("BROWSE-023", t -> {
            MQQueue q = with(t, "a", "b", "c");
            get(q, FIRST);
            get(q, NEXT);
            t.mark(() -> t.same("text", "b", text(q, UNDER)));
            t.same("next", "c", text(q, NEXT));
            t.same("left", "a c", all(q));
        });
        at("BROWSE-024", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(q, UNDER);
            t.mark(() -> get(q, UNDER));
            t.same("left", "b", all(q));
        });
        at("BROWSE-025", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(q, UNDER);
            t.mark(() -> get(q, LOOK));
        });
        at("BROWSE-026", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            t.mark(() -> get(q, UNDER | SYNC));
            t.reason(2034, () -> get(q, LOOK));
            t.qm().backout();
            MQMessage got = get(q, NOSYNC);
            t.same("first again", "a", MqiCase.body(got));
            t.same("BackoutCount", 1, got.backoutCount);
        });
        at("BROWSE-027", t -> {
            MQQueue q = with(t);
            put(q, correlated("a", C1));
            get(q, FIRST);
            t.mark(() -> t.same("text", "a", MqiCase.body(match(q, wanted(C2, C2), UNDER | NOSYNC, COR | 1))));
        });
        at("BROWSE-028", t -> {
            MQQueue q = with(t);
            put(q, correlated("a", C1));
            get(q, FIRST);
            t.mark(() -> t.same("text", "a", MqiCase.body(match(q, wanted(C2, C2), LOOK, COR | 1))));
        });
        at("BROWSE-029", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            t.same("plain get", "a", text(q));
            t.mark(() -> get(q, UNDER));
            t.same("next", "b", text(q, NEXT));
        });
        at("BROWSE-030", t -> {
            MQQueue q = with(t, "a", "b", "c");
            StringBuilder seen = new StringBuilder();
            t.mark(() -> {
                seen.append(text(q, FIRST)).append(text(q, UNDER | NOSYNC));
                seen.append(text(q, NEXT)).append(text(q, UNDER | NOSYNC));
                seen.append(text(q, NEXT)).append(text(q, UNDER | NOSYNC));
            });
            t.same("texts", "aabbcc", seen.toString());
            t.reason(2033, () -> get(q, NEXT));
        });
        at("BROWSE-031", t -> {
            with(t, "a").close();
            MQQueue browse = t.open(A, BROWSE);
            get(browse, FIRST);
            t.mark(() -> get(browse, UNDER));
        });
    }

    private void others() {
        at("BROWSE-040", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(other(t), NOSYNC);
            t.mark(() -> get(q, UNDER));
        });
        at("BROWSE-041", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(other(t), NOSYNC);
            t.mark(() -> get(q, LOOK));
        });
        at("BROWSE-042", t -> {
            MQQueue q = with(t, "a", "b", "c");
            get(q, FIRST);
            get(other(t), NOSYNC);
            t.mark(() -> t.same("text", "b", text(q, NEXT)));
        });
        at("BROWSE-043", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(other(t), SYNC);
            t.mark(() -> get(q, UNDER));
        });
        at("BROWSE-044", t -> {
            MQQueue q = with(t, "a", "b");
            get(other(t), SYNC);
            t.mark(() -> t.same("text", "b", text(q, FIRST)));
        });
        at("BROWSE-045", t -> {
            MQQueue q = with(t);
            unit(other(t), "not yet");
            t.mark(() -> get(q, FIRST));
        });
        at("BROWSE-046", t -> {
            MQQueue q = with(t, "a", "b", "c", "d");
            get(q, FIRST);
            MQQueue taker = other(t);
            for (int i = 0; i < 3; i++) get(taker, NOSYNC);
            t.mark(() -> t.same("text", "d", text(q, NEXT)));
        });
        at("BROWSE-047", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST);
            get(other(t), NOSYNC);
            t.mark(() -> get(q, NEXT));
            put(q, "b");
            t.same("text", "b", text(q, NEXT));
        });
        at("BROWSE-048", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST);
            get(q, NEXT);
            MQQueueManager connection = t.connect();
            MQQueue taker = queue(t, connection, A);
            get(taker, SYNC);
            connection.backout();
            t.mark(() -> t.same("text", "a", text(q, FIRST)));
        });
    }

    private void order() {
        at("BROWSE-050", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            for (int p : new int[] {1, 9, 5}) put(q, priority("p" + p, p));
            StringBuilder order = new StringBuilder();
            for (int i = 0; i < 3; i++) t.mark(() -> order.append(text(q, NEXT)));
            t.same("order", "p9p5p1", order.toString());
        });
        at("BROWSE-051", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            put(q, priority("p5", 5));
            get(q, FIRST);
            put(q, priority("p9", 9));
            t.mark(() -> get(q, NEXT));
            t.same("text", "p9", text(q, FIRST));
        });
        at("BROWSE-052", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            put(q, priority("p5", 5));
            get(q, FIRST);
            put(q, priority("p5 too", 5));
            put(q, priority("p2", 2));
            t.mark(() -> t.same("text", "p5 too", text(q, NEXT)));
            t.same("text", "p2", text(q, NEXT));
        });
        at("BROWSE-053", t -> {
            MQQueue q = queue(t, "MQM.FIFO");
            put(q, priority("p5", 5));
            get(q, FIRST);
            put(q, priority("p9", 9));
            t.mark(() -> t.same("text", "p9", text(q, NEXT)));
        });
    }

    private void lengths() {
        at("BROWSE-060", t -> {
            MQQueue q = with(t, "0123456789", "b");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(FIRST), 4));
            t.same("the same again", "0123456789", text(q, NEXT));
        });
        at("BROWSE-061", t -> {
            MQQueue q = with(t, "0123456789", "b");
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(FIRST | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 4));
            t.same("the next", "b", text(q, NEXT));
            t.same("whole", "0123456789", text(q));
        });
        at("BROWSE-062", t -> {
            MQQueue q = with(t, "a", "0123456789");
            get(q, FIRST);
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NEXT), 4));
            t.same("cursor", "a", text(q, LOOK));
            t.same("next", "0123456789", text(q, NEXT));
        });
    }

    private void locks() {
        at("BROWSE-070", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> t.same("text", "b", text(taker)));
        });
        at("BROWSE-071", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> get(taker, NOSYNC));
        });
        at("BROWSE-072", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue reader = other(t);
            t.mark(() -> get(reader, FIRST));
        });
        at("BROWSE-073", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> get(q, UNLOCK));
            t.same("text", "a", text(taker));
        });
        at("BROWSE-074", t -> {
            MQQueue q = with(t, "a");
            t.mark(() -> get(q, UNLOCK));
        });
        at("BROWSE-075", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            get(q, UNLOCK);
            t.mark(() -> get(q, UNLOCK));
        });
        at("BROWSE-076", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            t.mark(() -> t.same("text", "a", text(q, UNDER)));
            t.reason(CMQC.MQRC_NO_MSG_LOCKED, () -> get(q, UNLOCK));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("BROWSE-077", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST | LOCK);
            MQQueue reader = other(t);
            t.mark(() -> t.same("text", "b", text(reader, FIRST | LOCK)));
            t.reason(2033, () -> get(reader, NEXT | LOCK));
        });
        at("BROWSE-078", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST);
            t.mark(() -> get(q, LOOK | LOCK));
            MQQueue taker = other(t);
            none(t, taker);
            t.same("own cursor", "a", text(q, LOOK | LOCK));
        });
        at("BROWSE-079", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            FutureTask<MQMessage> wait = waiter(t, A, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            t.that("it waits", !wait.isDone());
            get(q, UNLOCK);
            t.mark(() -> t.same("text", "a", MqiCase.body(end(wait))));
        });
    }

    private void locksEnd() {
        at("BROWSE-080", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST | LOCK);
            get(q, NEXT | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> t.same("text", "a", text(taker)));
            none(t, taker);
        });
        at("BROWSE-081", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST | LOCK);
            get(q, NEXT);
            MQQueue taker = other(t);
            t.mark(() -> get(q, UNLOCK));
            t.same("both free", "a b", all(taker));
        });
        at("BROWSE-082", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            q.close();
            t.mark(() -> t.same("text", "a", text(taker)));
        });
        at("BROWSE-083", t -> {
            with(t, "a");
            MQQueueManager connection = t.connect();
            get(queue(t, connection, A), FIRST | LOCK);
            MQQueue taker = other(t);
            connection.disconnect();
            t.mark(() -> t.same("text", "a", text(taker)));
        });
        at("BROWSE-084", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.reason(2033, () -> get(q, NEXT | LOCK));
            t.mark(() -> t.same("text", "a", text(taker)));
        });
        at("BROWSE-085", t -> {
            MQQueue q = with(t, "a", "0123456789");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NEXT | LOCK), 4));
            t.same("the first is still locked", "0123456789", text(taker));
            none(t, taker);
        });
        at("BROWSE-086", t -> {
            MQQueue q = with(t, "a");
            get(q, FIRST | LOCK);
            MQQueue taker = other(t);
            t.mark(() -> get(q, UNDER | SYNC));
            t.qm().backout();
            t.same("free after the backout", "a", text(taker));
        });
    }

    private void handleMarks() {
        int both = FIRST | HANDLE | UNMARKED;
        at("BROWSE-090", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, FIRST | HANDLE);
            t.mark(() -> t.same("text", "b", text(q, FIRST | UNMARKED)));
            t.same("all are there", "a", text(q, FIRST));
        });
        at("BROWSE-091", t -> {
            MQQueue q = with(t, "a", "b");
            t.same("text", "a", text(q, both));
            t.same("text", "b", text(q, both));
            t.mark(() -> get(q, both));
            t.same("depth", 2, q.getCurrentDepth());
        });
        at("BROWSE-092", t -> {
            MQQueue q = with(t, "a");
            get(q, both);
            MQQueue second = queue(t, A);
            t.mark(() -> t.same("text", "a", text(second, both)));
        });
        at("BROWSE-093", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, both);
            t.mark(() -> get(q, LOOK | CMQC.MQGMO_UNMARK_BROWSE_HANDLE));
            t.same("unmarked", "a", text(q, FIRST | UNMARKED));
        });
        at("BROWSE-094", t -> {
            MQQueue q = with(t, "a");
            get(q, both);
            q.close();
            MQQueue again = queue(t, A);
            t.mark(() -> t.same("text", "a", text(again, both)));
        });
        at("BROWSE-095", t -> {
            MQQueue q = with(t, "a");
            for (int bad : new int[] {LOCK, CMQC.MQGMO_LOGICAL_ORDER, CMQC.MQGMO_COMPLETE_MSG,
                CMQC.MQGMO_ALL_MSGS_AVAILABLE, CMQC.MQGMO_ALL_SEGMENTS_AVAILABLE})
                t.mark(() -> get(q, FIRST | HANDLE | bad));
        });
        at("BROWSE-096", t -> {
            MQQueue q = with(t, "a");
            t.mark(() -> get(q, FIRST | HANDLE | CMQC.MQGMO_UNMARK_BROWSE_HANDLE));
        });
        at("BROWSE-097", t -> {
            MQQueue q = with(t, "a", "b");
            get(q, both);
            t.mark(() -> t.same("text", "a", text(q)));
            t.same("text", "b", text(q, both));
        });
        at("BROWSE-098", t -> {
            MQQueue q = with(t, "a", "b", "c");
            get(q, NEXT | HANDLE | UNMARKED);
            MQQueue second = queue(t, A);
            get(second, NEXT);
            t.mark(() -> t.same("text", "b", text(q, NEXT | HANDLE | UNMARKED)));
            t.same("text", "c", text(q, NEXT | HANDLE | UNMARKED));
        });
    }

    private void coOpMarks() {
        int coOp = FIRST | CO_OP | UNMARKED;
        at("BROWSE-100", t -> {
            with(t, "a", "b").close();
            MQQueue one = t.open(A, OPEN_CO_OP);
            MQQueue two = t.open(t.connect(), A, OPEN_CO_OP);
            t.same("text", "a", text(one, coOp));
            t.mark(() -> t.same("text", "b", text(two, coOp)));
            t.reason(2033, () -> get(one, coOp));
        });
        at("BROWSE-101", t -> {
            MQQueue q = with(t, "a");
            get(t.open(t.connect(), A, OPEN_CO_OP), coOp);
            t.mark(() -> t.same("text", "a", text(q, FIRST | UNMARKED)));
        });
        at("BROWSE-102", t -> {
            MQQueue q = with(t, "a");
            t.mark(() -> get(q, coOp));
        });
        at("BROWSE-103", t -> {
            with(t, "a").close();
            MQQueue one = t.open(A, OPEN_CO_OP);
            MQQueue two = t.open(t.connect(), A, OPEN_CO_OP);
            MQGetMessageOptions marked = MqiCase.gmo(coOp);
            one.get(new MQMessage(), marked);
            MQGetMessageOptions unmark = options(FIRST | CMQC.MQGMO_UNMARK_BROWSE_CO_OP, CMQC.MQMO_MATCH_MSG_TOKEN);
            unmark.msgToken = marked.msgToken.clone();
            t.mark(() -> two.get(new MQMessage(), unmark));
            t.same("unmarked", "a", text(two, coOp));
        });
        at("BROWSE-104", t -> {
            with(t, "a").close();
            MQQueue one = t.open(A, OPEN_CO_OP);
            t.mark(() -> get(one, FIRST | CO_OP | CMQC.MQGMO_UNMARK_BROWSE_CO_OP));
        });
        at("BROWSE-105", t -> {
            MQQueue q = with(t, "a");
            MQQueue one = t.open(A, OPEN_CO_OP);
            t.same("text", "a", text(one, coOp));
            t.mark(() -> t.same("text", "a", text(q)));
        });
        at("BROWSE-106", t -> {
            with(t, "a", "b").close();
            MQQueue one = t.open(A, OPEN_CO_OP);
            MQQueue two = t.open(t.connect(), A, OPEN_CO_OP);
            t.same("text", "a", text(one, FIRST | HANDLE | UNMARKED));
            t.mark(() -> t.same("text", "a", text(two, coOp)));
            t.same("both marks count", "b", text(one, FIRST | UNMARKED));
        });
        at("BROWSE-108", t -> {
            MQQueue q = with(t, "a");
            MQQueue one = t.open(A, OPEN_CO_OP);
            get(one, coOp);
            MQQueue two = t.open(t.connect(), A, OPEN_CO_OP);
            one.close();
            t.mark(() -> t.same("text", "a", text(two, coOp)));
            t.same("depth", 1, q.getCurrentDepth());
        });
    }
}
