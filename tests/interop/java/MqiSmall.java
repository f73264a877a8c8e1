// A queue manager with MAXMSGL(100000) and MAXHANDS(20). (small/small.tsv)

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import java.util.ArrayList;
import java.util.List;

final class MqiSmall extends MqiArea {
    private static final int OUT = MQPMO_NO_SYNCPOINT;

    private static MQMessage message(int length) throws Exception {
        MQMessage message = MqiCase.message("");
        message.write(new byte[length]);
        return message;
    }

    private void put(String id, String queue, String lands, int length) {
        at(id, t -> {
            t.empty(lands);
            MQQueue output = t.open(queue, MQOO_OUTPUT);
            t.mark(() -> output.put(message(length), MqiCase.pmo(OUT)));
            t.mark(() -> t.qm().put(queue, message(length), MqiCase.pmo(OUT)));
            t.same("depth", t.row.completion() == MQCC_FAILED ? 0 : 2, t.depth(lands));
        });
    }

    /** Opens until there are no more handles, and gives one or more back. */
    private static void exhaust(MqiCase t, int back) throws Exception {
        List<MQQueue> queues = new ArrayList<>();
        try {
            while (queues.size() < 100) queues.add(t.open("MQI.LOCAL.2", MQOO_OUTPUT));
        } catch (MQException e) {
            t.same("reason", MQRC_HANDLE_NOT_AVAILABLE, e.reasonCode);
        }
        t.that("handles: " + queues.size(), queues.size() < 20);
        for (int i = 0; i < back; i++) queues.get(i).close();
    }

    @Override
    void define() {
        put("SMALL-001", "MQI.LOCAL", "MQI.LOCAL", 100_001);
        put("SMALL-002", "MQI.LOCAL", "MQI.LOCAL", 100_000);
        put("SMALL-003", "MQI.QR2", "MQI.XQ2", 100_001);
        at("SMALL-004", t -> {
            exhaust(t, 0);
            t.mark(() -> t.open("MQI.LOCAL", MQOO_OUTPUT));
            MQQueueManager other = t.connect();
            t.open(other, "MQI.LOCAL", MQOO_OUTPUT);
        });
        at("SMALL-005", t -> {
            exhaust(t, 0);
            t.mark(() -> t.qm().accessQueue("MQI.MODEL.PERM", MQOO_OUTPUT, null, "MQI.DYN.SMALL", null));
            t.reason(MQRC_UNKNOWN_OBJECT_NAME, () -> t.connect().accessQueue("MQI.DYN.SMALL", MQOO_OUTPUT));
        });
        at("SMALL-006", t -> {
            // The classes look for a policy before the first put to a queue: the handle for that is there.
            t.empty("MQI.LOCAL");
            exhaust(t, 1);
            t.mark(() -> t.qm().put("MQI.LOCAL", MqiCase.message("x"), MqiCase.pmo(OUT)));
        });
        at("SMALL-007", t -> {
            int[] values = new int[2];
            t.mark(() -> t.qm().inquire(new int[] {MQIA_MAX_MSG_LENGTH, MQIA_MAX_HANDLES}, values, new byte[0]));
            t.same("MAXMSGL", 100_000, values[0]);
            t.same("MAXHANDS", 20, values[1]);
        });
        put("SMALL-008", "MQI.SHORT", "MQI.SHORT", 1001);
    }
}
