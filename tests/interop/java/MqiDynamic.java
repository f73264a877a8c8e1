// Dynamic queues: names, what they take from the model queue, when they go.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.jmqi.MQOD;
import java.util.HashSet;
import java.util.Set;

final class MqiDynamic extends MqiArea {
    private static final String TEMP = "MQI.MODEL.TEMP";
    private static final String PERM = "MQI.MODEL.PERM";
    private static final int USE = MQOO_INPUT_AS_Q_DEF | MQOO_OUTPUT | MQOO_INQUIRE;
    private static int number;

    /** A name that no other case has. */
    private static synchronized String fresh() {
        return "MQI.DYN." + Long.toString(System.nanoTime(), 36).toUpperCase() + "." + ++number;
    }

    private static MQQueue open(MqiCase t, String model, String dynamic) throws MQException {
        return t.qm().accessQueue(model, USE, null, dynamic, null);
    }

    /** A permanent dynamic queue that is deleted after the case. */
    private static MQQueue permanent(MqiCase t, String model, String name) throws MQException {
        MQQueue queue = open(t, model, name);
        t.after(() -> {
            MQQueue last = t.connect().accessQueue(name, MQOO_OUTPUT);
            last.closeOptions = MQCO_DELETE_PURGE;
            last.close();
        });
        return queue;
    }

    private static void close(MQQueue queue, int options) throws MQException {
        queue.closeOptions = options;
        queue.close();
    }

    private static void gone(MqiCase t, String name) throws Exception {
        t.reason(MQRC_UNKNOWN_OBJECT_NAME, () -> t.connect().accessQueue(name, MQOO_OUTPUT));
    }

    /** The name that comes of a DynamicQName: it begins so, and is exactly this if nothing is generated. */
    private void named(String id, String dynamic, String begin, boolean exactly) {
        at(id, t -> {
            MQQueue queue = t.markValue(() -> open(t, TEMP, dynamic));
            if (queue == null) return;
            String name = queue.getName().trim();
            t.that("name " + name, exactly ? name.equals(begin) : name.startsWith(begin) && name.length() > begin.length());
            t.that("length of " + name, name.length() <= 48);
            t.text("inquired name", name, queue.getAttributeString(MQCA_Q_NAME, 48));
            t.put(queue, "to itself");
            t.same("data", "to itself", MqiCase.body(t.get(queue)));
        });
    }

    private void refused(String id, String dynamic) {
        at(id, t -> t.mark(() -> open(t, TEMP, dynamic)));
    }

    @Override
    void define() {
        names();
        attributes();
        temporary();
        permanent();
    }

    private void names() {
        named("DYNAMIC-001", "AMQ.*", "AMQ.", false);
        named("DYNAMIC-002", null, "AMQ.", false);
        named("DYNAMIC-003", "MQI.DYN.*", "MQI.DYN.", false);
        named("DYNAMIC-004", "MQI.DYN.EXACT", "MQI.DYN.EXACT", true);
        named("DYNAMIC-005", "*", "", false);
        named("DYNAMIC-006", "mqi/lower_%*", "mqi/lower_%", false);
        named("DYNAMIC-007", "MQI.DYN.PREFIX.OF.33.CHARACTERS.X*", "MQI.DYN.PREFIX.OF.33.CHARACTERS.X", false);
        named("DYNAMIC-008", "MQI.DYN.NAME.OF.48.CHARACTERS.123456789.12345678",
            "MQI.DYN.NAME.OF.48.CHARACTERS.123456789.12345678", true);
        refused("DYNAMIC-009", "MQI.DYN.PREFIX.OF.34.CHARACTERS.XX*");
        refused("DYNAMIC-010", "   ");
        refused("DYNAMIC-011", "*.MQI.DYN");
        refused("DYNAMIC-012", "MQI.*.DYN");
        refused("DYNAMIC-013", "MQI DYN");
        refused("DYNAMIC-014", "MQI.DYN-1");
        refused("DYNAMIC-015", "MQI.D\u00dcN.*");
        refused("DYNAMIC-016", "MQI.**");
        refused("DYNAMIC-017", "MQI.LOCAL");
        refused("DYNAMIC-018", "MQI.QA1");
        refused("DYNAMIC-019", "MQI.QR2");
        refused("DYNAMIC-020", TEMP);
        at("DYNAMIC-021", t -> {
            String name = fresh();
            open(t, TEMP, name);
            t.mark(() -> open(t, TEMP, name));
            MQQueueManager other = t.connect();
            t.mark(() -> other.accessQueue(PERM, USE, null, name, null));
        });
        at("DYNAMIC-022", t -> {
            Set<String> names = new HashSet<>();
            for (int i = 0; i < 100; i++) {
                MQQueue queue = t.markValue(() -> open(t, TEMP, "MQI.DYN.*"));
                t.that("used before: " + queue.getName(), names.add(queue.getName()));
                queue.close();
            }
        });
        at("DYNAMIC-023", t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, TEMP);
            descriptor.setVersion(3);
            descriptor.setDynamicQName("MQI.DYN.*");
            t.mark(() -> raw.open(descriptor, USE));
            t.that("ObjectName " + descriptor.getObjectName(), descriptor.getObjectName().startsWith("MQI.DYN."));
            t.text("ObjectQMgrName", "QM1", descriptor.getObjectQMgrName());
            t.text("ResolvedQName", descriptor.getObjectName().trim(), descriptor.getResolvedQName());
            t.text("ResolvedQMgrName", "QM1", descriptor.getResolvedQMgrName());
        });
        at("DYNAMIC-024", t -> {
            MQQueue queue = t.markValue(() -> t.qm().accessQueue(TEMP, USE, "QM1", "MQI.DYN.*", null));
            t.same("definition type", MQQDT_TEMPORARY_DYNAMIC, queue.getDefinitionType());
        });
    }

    private void attributes() {
        at("DYNAMIC-030", t -> {
            MQQueue queue = t.markValue(() -> open(t, TEMP, "MQI.DYN.*"));
            t.same("queue type", MQQT_LOCAL, queue.getQueueType());
            t.same("definition type", MQQDT_TEMPORARY_DYNAMIC, queue.getDefinitionType());
            t.text("description", "temporary", queue.getDescription());
            t.same("shareability", MQQA_NOT_SHAREABLE, queue.getShareability());
        });
        at("DYNAMIC-031", t -> {
            MQQueue queue = t.markValue(() -> permanent(t, PERM, fresh()));
            t.same("queue type", MQQT_LOCAL, queue.getQueueType());
            t.same("definition type", MQQDT_PERMANENT_DYNAMIC, queue.getDefinitionType());
            t.same("depth", 77, queue.getMaximumDepth());
            t.put(queue, "with the priority of the model");
            t.same("priority", 2, t.get(queue).priority);
        });
        at("DYNAMIC-032", t -> {
            MQQueue queue = open(t, "MQI.MODEL.PUTOFF", "MQI.DYN.*");
            t.mark(() -> t.put(queue, "no"));
        });
        at("DYNAMIC-033", t -> {
            MQQueue queue = open(t, "MQI.MODEL.GETOFF", "MQI.DYN.*");
            t.mark(() -> t.get(queue));
        });
        at("DYNAMIC-034", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            t.mark(() -> t.connect().accessQueue(queue.getName(), MQOO_INPUT_SHARED));
        });
        at("DYNAMIC-035", t -> {
            MQQueue queue = open(t, "MQI.MODEL.TEMP.SHARE", "MQI.DYN.*");
            MQQueue other = t.markValue(() -> t.connect().accessQueue(queue.getName(), MQOO_INPUT_SHARED));
            t.put(queue, "shared");
            t.same("data", "shared", MqiCase.body(t.get(other)));
        });
        at("DYNAMIC-036", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            t.mark(() -> t.qm().put(queue.getName(), MqiCase.message("by MQPUT1"), MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            t.same("data", "by MQPUT1", MqiCase.body(t.get(queue)));
        });
        at("DYNAMIC-037", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            MQMessage message = MqiCase.message("persistent");
            message.persistence = MQPER_PERSISTENT;
            t.mark(() -> queue.put(message, MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            t.same("depth", 0, queue.getCurrentDepth());
        });
        at("DYNAMIC-038", t -> {
            MQQueue queue = open(t, "MQI.MODEL.TEMP.PSIST", "MQI.DYN.*");
            MQMessage message = MqiCase.message("as the queue says");
            message.persistence = MQPER_PERSISTENCE_AS_Q_DEF;
            t.mark(() -> queue.put(message, MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
        });
        at("DYNAMIC-039", t -> {
            MQQueue queue = permanent(t, PERM, fresh());
            MQMessage message = MqiCase.message("persistent");
            message.persistence = MQPER_PERSISTENT;
            t.mark(() -> queue.put(message, MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            t.same("persistence", MQPER_PERSISTENT, t.get(queue).persistence);
        });
    }

    private void temporary() {
        at("DYNAMIC-050", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            t.put(queue, "goes with the queue");
            t.mark(queue::close);
            gone(t, queue.getName());
        });
        at("DYNAMIC-051", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            t.put(queue, "goes with the queue");
            t.mark(() -> close(queue, MQCO_DELETE));
            gone(t, queue.getName());
        });
        at("DYNAMIC-052", t -> {
            MQQueue queue = open(t, TEMP, "MQI.DYN.*");
            t.put(queue, "goes with the queue");
            t.mark(() -> close(queue, MQCO_DELETE_PURGE));
            gone(t, queue.getName());
        });
        at("DYNAMIC-053", t -> {
            MQQueueManager other = t.connect();
            MQQueue queue = other.accessQueue(TEMP, USE, null, "MQI.DYN.*", null);
            t.mark(other::disconnect);
            gone(t, queue.getName());
        });
        at("DYNAMIC-054", t -> {
            MqiRelay relay = new MqiRelay();
            MQQueue queue = t.through(relay).accessQueue(TEMP, USE, null, "MQI.DYN.*", null);
            String name = queue.getName();
            t.qm().accessQueue(name, MQOO_OUTPUT).close();
            relay.cut();
            t.eventually("the queue is gone", () -> {
                try {
                    t.qm().accessQueue(name, MQOO_OUTPUT).close();
                    return false;
                } catch (MQException e) {
                    return e.reasonCode == MQRC_UNKNOWN_OBJECT_NAME;
                }
            });
            t.mark(() -> t.qm().accessQueue(name, MQOO_OUTPUT));
        });
        at("DYNAMIC-055", t -> {
            MQQueue queue = open(t, "MQI.MODEL.TEMP.SHARE", "MQI.DYN.*");
            MQQueue other = t.connect().accessQueue(queue.getName(), MQOO_OUTPUT);
            t.mark(() -> close(other, MQCO_DELETE));
            t.put(queue, "still there");
            t.same("depth", 1, queue.getCurrentDepth());
        });
        at("DYNAMIC-056", t -> {
            MQQueue queue = open(t, "MQI.MODEL.TEMP.SHARE", "MQI.DYN.*");
            int use = MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET | MQOO_BROWSE;
            MQQueue other = t.connect().accessQueue(queue.getName(), use);
            queue.close();
            t.mark(() -> t.put(other, "no"));
            t.mark(() -> t.get(other));
            t.mark(other::getCurrentDepth);
            t.mark(() -> other.setInhibitGet(MQQA_GET_ALLOWED));
            t.mark(() -> other.get(new MQMessage(), MqiCase.gmo(MQGMO_BROWSE_FIRST)));
            other.close();
            gone(t, queue.getName());
        });
        at("DYNAMIC-057", t -> {
            MQQueueManager creator = t.connect();
            MQQueue queue = creator.accessQueue("MQI.MODEL.TEMP.SHARE", USE, null, "MQI.DYN.*", null);
            MQQueue other = t.qm().accessQueue(queue.getName(), MQOO_INPUT_SHARED);
            Thread closer = new Thread(() -> {
                try {
                    Thread.sleep(150);
                    queue.close();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            closer.start();
            t.mark(() -> other.get(new MQMessage(), Common.getOptions(false, 3000)));
            closer.join();
        });
        at("DYNAMIC-058", t -> {
            MQQueue queue = t.qm().accessQueue(TEMP, MQOO_INQUIRE, null, "MQI.DYN.*", null);
            String name = queue.getName();
            t.qm().accessQueue(name, MQOO_OUTPUT).close();
            t.mark(queue::close);
            gone(t, name);
        });
        at("DYNAMIC-059", t -> {
            // Only the handle that created it takes it away.
            MQQueue queue = open(t, "MQI.MODEL.TEMP.SHARE", "MQI.DYN.*");
            MQQueue second = t.qm().accessQueue(queue.getName(), MQOO_OUTPUT);
            t.mark(second::close);
            t.put(queue, "still there");
            t.same("depth", 1, queue.getCurrentDepth());
        });
        at("DYNAMIC-060", t -> {
            MQQueue queue = open(t, "MQI.MODEL.TEMP.SHARE", "MQI.DYN.TWICE");
            MQQueue other = t.connect().accessQueue("MQI.DYN.TWICE", MQOO_OUTPUT);
            t.put(queue, "of the first");
            queue.close();
            other.close();
            MQQueue again = t.markValue(() -> open(t, TEMP, "MQI.DYN.TWICE"));
            t.same("depth", 0, again.getCurrentDepth());
        });
    }

    private void permanent() {
        at("DYNAMIC-070", t -> {
            String name = fresh();
            MQQueue queue = permanent(t, PERM, name);
            t.put(queue, "stays");
            t.mark(queue::close);
            t.same("data", "stays", MqiCase.body(t.get(name)));
        });
        at("DYNAMIC-071", t -> {
            String name = fresh();
            MQQueue queue = open(t, PERM, name);
            t.mark(() -> close(queue, MQCO_DELETE));
            gone(t, name);
        });
        at("DYNAMIC-072", t -> {
            String name = fresh();
            MQQueue queue = permanent(t, PERM, name);
            t.put(queue, "in the way");
            t.mark(() -> close(queue, MQCO_DELETE));
            t.connect().accessQueue(name, MQOO_OUTPUT).close();
        });
        at("DYNAMIC-073", t -> {
            String name = fresh();
            MQQueue queue = open(t, PERM, name);
            t.put(queue, "purged");
            t.mark(() -> close(queue, MQCO_DELETE_PURGE));
            gone(t, name);
        });
        at("DYNAMIC-074", t -> {
            String name = fresh();
            MQQueue queue = permanent(t, PERM, name);
            queue.put(MqiCase.message("not committed"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(() -> close(queue, MQCO_DELETE));
            t.qm().backout();
        });
        at("DYNAMIC-075", t -> {
            String name = fresh();
            MQQueue queue = permanent(t, PERM, name);
            queue.put(MqiCase.message("not committed"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(() -> close(queue, MQCO_DELETE_PURGE));
            t.qm().backout();
        });
        at("DYNAMIC-076", t -> {
            String name = fresh();
            MQQueue queue = permanent(t, PERM, name);
            t.put(queue, "got, not committed");
            queue.get(new MQMessage(), MqiCase.gmo(MQGMO_SYNCPOINT));
            t.mark(() -> close(queue, MQCO_DELETE));
            t.qm().backout();
        });
        at("DYNAMIC-077", t -> {
            String name = fresh();
            MQQueue queue = open(t, PERM, name);
            queue.close();
            MQQueue other = t.connect().accessQueue(name, MQOO_OUTPUT);
            t.mark(() -> close(other, MQCO_DELETE));
            gone(t, name);
        });
        at("DYNAMIC-078", t -> {
            String name = fresh();
            MQQueue queue = open(t, "MQI.MODEL.PERM.SHARE", name);
            MQQueue other = t.connect().accessQueue(name, MQOO_OUTPUT | MQOO_INQUIRE | MQOO_INPUT_SHARED);
            close(queue, MQCO_DELETE);
            t.mark(() -> t.put(other, "no"));
            t.mark(() -> t.get(other));
            t.mark(other::getCurrentDepth);
            other.close();
            gone(t, name);
        });
        at("DYNAMIC-079", t -> {
            String name = fresh();
            MQQueueManager other = t.connect();
            permanent(t, PERM, name).close();
            t.put(other.accessQueue(name, MQOO_OUTPUT), "stays");
            t.mark(other::disconnect);
            t.same("depth", 1, t.depth(name));
        });
        at("DYNAMIC-080", t -> {
            String name = fresh();
            close(open(t, PERM, name), MQCO_DELETE);
            MQQueue again = t.markValue(() -> permanent(t, PERM, name));
            t.same("depth", 0, again.getCurrentDepth());
        });
        at("DYNAMIC-081", t -> {
            String name = fresh();
            permanent(t, PERM, name);
            t.mark(() -> t.connect().accessQueue(PERM, USE, null, name, null));
        });
        at("DYNAMIC-082", t -> {
            MqiRelay relay = new MqiRelay();
            String name = fresh();
            t.after(() -> close(t.connect().accessQueue(name, MQOO_OUTPUT), MQCO_DELETE_PURGE));
            MQQueue queue = t.through(relay).accessQueue(PERM, USE, null, name, null);
            t.put(queue, "stays");
            relay.cut();
            MQQueue look = t.markValue(() -> t.qm().accessQueue(name, MQOO_INQUIRE));
            t.eventually("nobody reads it any more", () -> look.getOpenInputCount() == 0);
            t.same("depth", 1, look.getCurrentDepth());
        });
    }
}
