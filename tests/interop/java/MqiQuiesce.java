// What programs see while the queue manager ends in order. Each case stops the service, so each needs one of its own:
// `pid=` says which. (quiesce/quiesce.tsv)

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;

final class MqiQuiesce extends MqiArea {
    private static final int OUT = MQPMO_NO_SYNCPOINT;

    /** Asks the service to end, and returns when it says so: a get that waits has ended. */
    private static void quiesce(MqiCase t) throws Exception {
        t.that("the service is known", Mqi.service != 0);
        MQQueue sentinel = t.open(t.connect(), "MQI.LOCAL.2", MQOO_INPUT_SHARED);
        Thread stop = new Thread(() -> {
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            ProcessHandle.of(Mqi.service).orElseThrow().destroy();
        });
        stop.start();
        t.reason(MQRC_Q_MGR_QUIESCING, () -> waitFor(sentinel, MQGMO_FAIL_IF_QUIESCING));
        stop.join();
    }

    private static void waitFor(MQQueue queue, int options) throws MQException {
        var get = Common.getOptions(false, 15_000);
        get.options |= options;
        queue.get(new MQMessage(), get);
    }

    @Override
    void define() {
        at("QUIESCE-001", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_INPUT_SHARED);
            Thread other = new Thread(() -> {
                try {
                    quiesce(t);
                } catch (Exception | AssertionError e) {
                    // The marked call is judged.
                }
            });
            other.start();
            t.mark(() -> waitFor(queue, MQGMO_FAIL_IF_QUIESCING));
            other.join();
        });
        at("QUIESCE-002", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            quiesce(t);
            t.mark(() -> queue.put(MqiCase.message("x"), MqiCase.pmo(OUT | MQPMO_FAIL_IF_QUIESCING)));
            t.mark(() -> queue.get(new MQMessage(), MqiCase.gmo(MQGMO_FAIL_IF_QUIESCING)));
        });
        at("QUIESCE-003", t -> {
            t.qm();
            quiesce(t);
            t.mark(() -> t.qm().accessQueue("MQI.LOCAL", MQOO_OUTPUT | MQOO_FAIL_IF_QUIESCING));
            t.mark(() -> t.qm().put("MQI.LOCAL", MqiCase.message("x"), MqiCase.pmo(OUT | MQPMO_FAIL_IF_QUIESCING)));
        });
        at("QUIESCE-004", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_INQUIRE);
            quiesce(t);
            t.mark(() -> t.put(queue, "x"));
            t.mark(() -> t.get(queue));
            t.mark(queue::getCurrentDepth);
        });
        at("QUIESCE-005", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            queue.put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT));
            quiesce(t);
            t.mark(() -> queue.put(MqiCase.message("y"), MqiCase.pmo(MQPMO_SYNCPOINT)));
            t.mark(() -> t.qm().commit());
            t.mark(queue::close);
            t.mark(() -> t.qm().disconnect());
        });
        at("QUIESCE-006", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            MQQueueManager own = t.qm();
            quiesce(t);
            t.mark(queue::close);
            t.mark(own::disconnect);
        });
    }
}
