// Limits of the queue manager about messages, on one that was started with limits/setup.mqsc: MAXUMSGS(20), MARKINT(300),
// MAXPROPL(100). (limits/limits.tsv)

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.constants.CMQC;

final class MqiLimits extends MqiMessages {
    static final String A = "MQM.A";
    static final int UNIT_MAX = 20;

    @Override
    void define() {
        messages();
        at("LIMITS-020", t -> {
            int open = BROWSE | OUT | CMQC.MQOO_CO_OP;
            int coOp = FIRST | CMQC.MQGMO_MARK_BROWSE_CO_OP | CMQC.MQGMO_UNMARKED_BROWSE_MSG;
            MQQueue one = t.open(A, open);
            MQQueue two = t.open(t.connect(), A, open);
            put(one, "a");
            get(one, coOp);
            Thread.sleep(500);
            t.mark(() -> t.same("text", "a", text(two, coOp)));
        });
        at("LIMITS-021", t -> {
            MQQueue q = queue(t, A);
            put(q, "a");
            get(q, FIRST | CMQC.MQGMO_MARK_BROWSE_HANDLE);
            Thread.sleep(500);
            t.mark(() -> get(q, FIRST | CMQC.MQGMO_UNMARKED_BROWSE_MSG));
        });
        at("LIMITS-030", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, property("x".repeat(200))));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("LIMITS-031", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, property("x")));
            t.same("value", "x", get(q, NOSYNC).getStringProperty("p"));
        });
    }

    private static MQMessage property(String value) throws Exception {
        MQMessage message = MqiCase.message("body");
        message.setStringProperty("p", value);
        return message;
    }

    private static MQQueue full(MqiCase t) throws Exception {
        MQQueue q = queue(t, A);
        for (int i = 0; i < UNIT_MAX; i++) unit(q, "m" + i);
        return q;
    }

    private void messages() {
        at("LIMITS-001", t -> {
            MQQueue q = full(t);
            t.mark(() -> unit(q, "too many"));
            t.qm().commit();
            t.same("depth", UNIT_MAX, q.getCurrentDepth());
            unit(q, "a new unit");
        });
        at("LIMITS-002", t -> {
            MQQueue other = queue(t, "MQM.B");
            put(other, "x");
            full(t);
            t.mark(() -> get(other, SYNC));
            t.same("it stays", "x", text(other));
        });
        at("LIMITS-003", t -> {
            MQQueue q = queue(t, A);
            for (int i = 0; i <= UNIT_MAX; i++) put(q, "m" + i);
            for (int i = 0; i < UNIT_MAX; i++) get(q, SYNC);
            t.mark(() -> get(q, SYNC));
            t.qm().backout();
            t.same("depth", UNIT_MAX + 1, q.getCurrentDepth());
        });
        at("LIMITS-004", t -> {
            MQQueue q = full(t);
            t.mark(() -> put(q, "outside"));
        });
        at("LIMITS-005", t -> {
            full(t);
            MQQueue other = queue(t, t.connect(), "MQM.B");
            t.mark(() -> unit(other, "another connection"));
        });
        at("LIMITS-006", t -> {
            MQQueue q = queue(t, A);
            t.empty("MQM.REPLY");
            for (int i = 0; i < UNIT_MAX - 1; i++) unit(q, "m" + i);
            MQMessage put = MqiCase.message("with its report one too many");
            put.report = CMQC.MQRO_COA;
            put.replyToQueueName = "MQM.REPLY";
            t.mark(() -> put(q, put, CMQC.MQPMO_SYNCPOINT));
        });
        at("LIMITS-007", t -> {
            MQQueue q = queue(t, "MQM.SMALL");
            MQMessage put = MqiCase.message("");
            put.messageFlags = CMQC.MQMF_SEGMENTATION_ALLOWED;
            put.write(new byte[22_000]);
            t.mark(() -> put(q, put, CMQC.MQPMO_SYNCPOINT));
            t.qm().commit();
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("LIMITS-008", t -> {
            full(t);
            t.mark(() -> t.qm().backout());
            full(t);
        });
    }
}
