// Closing, and what a closed handle is good for.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.jmqi.MQOD;
import com.ibm.mq.jmqi.handles.Phobj;

final class MqiClose extends MqiArea {
    /** Closes with these options a handle that was opened for output. */
    private void close(String id, String name, int options) {
        at(id, t -> {
            MQQueue queue = t.open(name, MQOO_OUTPUT);
            queue.closeOptions = options;
            t.mark(queue::close);
            t.open(name, MQOO_OUTPUT).close();
        });
    }

    /** The same with a type of object that is no queue. */
    private void object(String id, int type, String name, int options) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Phobj handle = raw.open(raw.od(type, name), MQOO_INQUIRE);
            t.mark(() -> raw.close(handle, options));
        });
    }

    @Override
    void define() {
        close("CLOSE-001", "MQI.LOCAL", MQCO_NONE);
        close("CLOSE-002", "MQI.QA1", MQCO_NONE);
        close("CLOSE-003", "MQI.QR2", MQCO_NONE);
        object("CLOSE-004", MQOT_Q_MGR, "", MQCO_NONE);
        close("CLOSE-005", "MQI.LOCAL", MQCO_DELETE);
        close("CLOSE-006", "MQI.LOCAL", MQCO_DELETE_PURGE);
        close("CLOSE-007", "MQI.QA1", MQCO_DELETE);
        close("CLOSE-008", "MQI.QA1", MQCO_DELETE_PURGE);
        close("CLOSE-009", "MQI.QR2", MQCO_DELETE);
        close("CLOSE-010", "MQI.QR2", MQCO_DELETE_PURGE);
        object("CLOSE-011", MQOT_Q_MGR, "", MQCO_DELETE);
        object("CLOSE-012", MQOT_Q_MGR, "", MQCO_DELETE_PURGE);
        close("CLOSE-013", "MQI.LOCAL", MQCO_DELETE | MQCO_DELETE_PURGE);
        close("CLOSE-014", "MQI.LOCAL", 0x1000);
        close("CLOSE-015", "MQI.LOCAL", 0x8000_0000);
        at("CLOSE-016", t -> {
            MqiRaw raw = t.raw();
            Phobj handle = raw.open(raw.od(MQOT_Q, "MQI.LOCAL"), MQOO_OUTPUT);
            raw.close(handle, MQCO_NONE);
            t.mark(() -> raw.close(handle, MQCO_NONE));
        });
        at("CLOSE-017", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            queue.close();
            t.mark(() -> t.put(queue, "too late"));
        });
        at("CLOSE-018", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_INPUT_SHARED);
            queue.close();
            t.mark(() -> t.get(queue));
        });
        at("CLOSE-019", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_INQUIRE | MQOO_SET);
            queue.close();
            t.mark(queue::getCurrentDepth);
            t.mark(() -> queue.setInhibitGet(MQQA_GET_ALLOWED));
        });
        at("CLOSE-020", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            queue.put(MqiCase.message("in a unit of work"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(queue::close);
            t.qm().commit();
            t.same("data", "in a unit of work", MqiCase.body(t.get("MQI.LOCAL")));
        });
        at("CLOSE-021", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            t.put(queue, "got in a unit of work");
            queue.get(new MQMessage(), MqiCase.gmo(MQGMO_SYNCPOINT));
            t.mark(queue::close);
            t.qm().backout();
            MQMessage back = t.get("MQI.LOCAL");
            t.same("data", "got in a unit of work", MqiCase.body(back));
            t.same("backout count", 1, back.backoutCount);
        });
        at("CLOSE-022", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
            MQQueueManager other = t.connect();
            t.reason(MQRC_OBJECT_IN_USE, () -> t.open(other, "MQI.LOCAL", MQOO_INPUT_SHARED));
            t.mark(queue::close);
            t.open(other, "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
        });
        at("CLOSE-023", t -> {
            MQQueue one = t.open("MQI.LOCAL", MQOO_OUTPUT);
            MQQueue two = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INQUIRE);
            t.mark(one::close);
            t.put(two, "through the other handle");
            t.same("open for output", 1, two.getOpenOutputCount());
        });
        at("CLOSE-024", t -> {
            // A handle that was closed is not given to the next object while a program may still use it.
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, "MQI.LOCAL");
            Phobj first = raw.open(descriptor, MQOO_OUTPUT);
            Phobj copy = raw.env.newPhobj();
            copy.setHobj(first.getHobj());
            raw.close(first, MQCO_NONE);
            t.mark(() -> raw.put(copy.getHobj(), raw.md(1), raw.pmo(1, MQPMO_NO_SYNCPOINT), new byte[1]));
            t.mark(() -> raw.close(copy, MQCO_NONE));
        });
        at("CLOSE-026", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            queue.close();
            t.mark(queue::close);
        });
        at("CLOSE-025", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            t.qm().disconnect();
            t.mark(queue::close);
        });
    }
}
