// Opening: each option and each combination, each type of object, names, sharing, handles.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.jmqi.MQOD;
import com.ibm.mq.jmqi.handles.Phobj;
import java.util.ArrayList;
import java.util.List;

final class MqiOpen extends MqiArea {
    private static final int BIND_ON_GROUP = 0x0040_0000;
    private static final int NO_MULTICAST = 0x0020_0000;

    /** Opens a plain local queue with these options, and does nothing more. */
    private void option(String id, int options) {
        at(id, t -> t.mark(() -> t.open("MQI.LOCAL", options)));
    }

    private void queue(String id, String name, int options) {
        at(id, t -> t.mark(() -> t.open(name, options)));
    }

    private void object(String id, int type, String name, String queueManager, int options) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(type, name);
            descriptor.setObjectQMgrName(queueManager);
            Phobj handle = t.markValue(() -> raw.open(descriptor, options));
            if (handle != null) raw.close(handle, MQCO_NONE);
        });
    }

    /** Somebody has the queue open, then it is opened by another connection. */
    private void sharing(String id, String firstName, int first, String secondName, int second) {
        at(id, t -> {
            MQQueue held = t.open(firstName, first);
            MQQueueManager other = t.connect();
            t.mark(() -> t.open(other, secondName, second));
            held.close();
            t.open(other, secondName, second);
        });
    }

    @Override
    void define() {
        alone();
        combinations();
        objects();
        names();
        shared();
        handles();
    }

    private void alone() {
        at("OPEN-001", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INPUT_AS_Q_DEF));
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(queue));
            t.reason(MQRC_NOT_OPEN_FOR_OUTPUT, () -> t.put(queue, "no"));
            t.reason(MQRC_NOT_OPEN_FOR_INQUIRE, queue::getCurrentDepth);
            t.reason(MQRC_NOT_OPEN_FOR_SET, () -> queue.setInhibitGet(0));
            t.reason(MQRC_NOT_OPEN_FOR_BROWSE, () -> queue.get(new MQMessage(), MqiCase.gmo(MQGMO_BROWSE_FIRST)));
        });
        at("OPEN-002", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INPUT_SHARED));
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(queue));
        });
        at("OPEN-003", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE));
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(queue));
        });
        at("OPEN-004", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_BROWSE));
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> queue.get(new MQMessage(), MqiCase.gmo(MQGMO_BROWSE_FIRST)));
            t.reason(MQRC_NOT_OPEN_FOR_INPUT, () -> t.get(queue));
        });
        at("OPEN-005", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_OUTPUT));
            t.put(queue, "yes");
            t.reason(MQRC_NOT_OPEN_FOR_INPUT, () -> t.get(queue));
            t.same("depth", 1, t.depth("MQI.LOCAL"));
        });
        at("OPEN-006", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INQUIRE));
            t.same("depth", 0, queue.getCurrentDepth());
            t.reason(MQRC_NOT_OPEN_FOR_SET, () -> queue.setInhibitGet(0));
        });
        at("OPEN-007", t -> {
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_SET));
            queue.setInhibitGet(MQQA_GET_ALLOWED);
            t.reason(MQRC_NOT_OPEN_FOR_INQUIRE, queue::getCurrentDepth);
        });
        option("OPEN-008", MQOO_SAVE_ALL_CONTEXT);
        option("OPEN-009", MQOO_PASS_IDENTITY_CONTEXT);
        option("OPEN-010", MQOO_PASS_ALL_CONTEXT);
        option("OPEN-011", MQOO_SET_IDENTITY_CONTEXT);
        option("OPEN-012", MQOO_SET_ALL_CONTEXT);
        option("OPEN-013", MQOO_ALTERNATE_USER_AUTHORITY);
        option("OPEN-014", MQOO_FAIL_IF_QUIESCING);
        option("OPEN-015", MQOO_BIND_ON_OPEN);
        option("OPEN-016", MQOO_BIND_NOT_FIXED);
        option("OPEN-017", BIND_ON_GROUP);
        option("OPEN-018", MQOO_CO_OP);
        option("OPEN-019", MQOO_RESOLVE_LOCAL_Q);
        option("OPEN-020", MQOO_NO_READ_AHEAD);
        option("OPEN-021", MQOO_READ_AHEAD);
        option("OPEN-022", 0);
        option("OPEN-023", NO_MULTICAST);
        option("OPEN-024", 0x0200_0000);
        option("OPEN-025", MQOO_OUTPUT | 0x4000_0000);
        option("OPEN-026", MQOO_OUTPUT | 0x8000_0000);
    }

    private void combinations() {
        option("OPEN-030", MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE);
        option("OPEN-031", MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_SHARED);
        option("OPEN-032", MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_EXCLUSIVE);
        option("OPEN-033", MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE | MQOO_OUTPUT);
        option("OPEN-034", MQOO_OUTPUT | MQOO_BIND_ON_OPEN | MQOO_BIND_NOT_FIXED);
        option("OPEN-035", MQOO_OUTPUT | MQOO_BIND_ON_OPEN | BIND_ON_GROUP);
        option("OPEN-036", MQOO_OUTPUT | MQOO_BIND_NOT_FIXED | BIND_ON_GROUP);
        option("OPEN-037", MQOO_INPUT_SHARED | MQOO_READ_AHEAD | MQOO_NO_READ_AHEAD);
        option("OPEN-038", MQOO_SAVE_ALL_CONTEXT | MQOO_OUTPUT);
        option("OPEN-039", MQOO_SAVE_ALL_CONTEXT | MQOO_BROWSE);
        option("OPEN-040", MQOO_SAVE_ALL_CONTEXT | MQOO_INQUIRE);
        option("OPEN-041", MQOO_PASS_IDENTITY_CONTEXT | MQOO_BROWSE);
        option("OPEN-042", MQOO_PASS_ALL_CONTEXT | MQOO_INPUT_SHARED);
        option("OPEN-043", MQOO_SET_IDENTITY_CONTEXT | MQOO_INQUIRE);
        option("OPEN-044", MQOO_SET_ALL_CONTEXT | MQOO_INPUT_SHARED);
        option("OPEN-045", MQOO_CO_OP | MQOO_INPUT_SHARED);
        option("OPEN-046", NO_MULTICAST | MQOO_INPUT_SHARED);
        option("OPEN-047", MQOO_CO_OP | MQOO_BROWSE);
        option("OPEN-048", MQOO_SAVE_ALL_CONTEXT | MQOO_INPUT_SHARED);
        option("OPEN-049", MQOO_OUTPUT | MQOO_PASS_IDENTITY_CONTEXT | MQOO_PASS_ALL_CONTEXT | MQOO_SET_IDENTITY_CONTEXT
            | MQOO_SET_ALL_CONTEXT);
        option("OPEN-050", MQOO_INPUT_SHARED | MQOO_BROWSE | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET
            | MQOO_SAVE_ALL_CONTEXT | MQOO_PASS_ALL_CONTEXT | MQOO_SET_ALL_CONTEXT | MQOO_FAIL_IF_QUIESCING
            | MQOO_BIND_ON_OPEN | MQOO_NO_READ_AHEAD);
        at("OPEN-051", t -> {
            t.put(t.open("MQI.LOCAL", MQOO_OUTPUT), "ahead");
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INPUT_SHARED | MQOO_READ_AHEAD));
            t.same("data", "ahead", MqiCase.body(t.get(queue)));
        });
        at("OPEN-052", t -> {
            t.empty("MQI.LOCAL");
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_ALTERNATE_USER_AUTHORITY, null,
                null, "someone"));
            t.put(queue, "as someone else");
        });
        option("OPEN-053", MQOO_OUTPUT | MQOO_RESOLVE_LOCAL_Q | MQOO_BIND_NOT_FIXED);
        queue("OPEN-054", "MQI.NOSUCH", MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE);
    }

    private void objects() {
        object("OPEN-060", MQOT_Q_MGR, "", "", MQOO_INQUIRE);
        object("OPEN-061", MQOT_Q_MGR, "", "QM1", MQOO_INQUIRE);
        object("OPEN-062", MQOT_Q_MGR, "", "", MQOO_INQUIRE | MQOO_FAIL_IF_QUIESCING);
        object("OPEN-063", MQOT_Q_MGR, "QM1", "", MQOO_INQUIRE);
        object("OPEN-064", MQOT_Q_MGR, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-065", MQOT_Q_MGR, "", "QM2", MQOO_INQUIRE);
        object("OPEN-066", MQOT_Q_MGR, "", "", MQOO_OUTPUT);
        object("OPEN-067", MQOT_Q_MGR, "", "", MQOO_INPUT_SHARED);
        object("OPEN-068", MQOT_Q_MGR, "", "", MQOO_BROWSE | MQOO_INQUIRE);
        object("OPEN-069", MQOT_Q_MGR, "", "", MQOO_SET);
        object("OPEN-070", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", "", MQOO_INQUIRE);
        object("OPEN-071", MQOT_PROCESS, "MQI.NOSUCH", "", MQOO_INQUIRE);
        object("OPEN-072", MQOT_PROCESS, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-073", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", "", MQOO_OUTPUT);
        object("OPEN-074", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", "QM2", MQOO_INQUIRE);
        object("OPEN-075", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", "", MQOO_INQUIRE);
        object("OPEN-076", MQOT_NAMELIST, "MQI.NOSUCH", "", MQOO_INQUIRE);
        object("OPEN-077", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", "", MQOO_SET);
        object("OPEN-078", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", "QM2", MQOO_INQUIRE);
        object("OPEN-079", MQOT_NONE, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-080", MQOT_STORAGE_CLASS, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-081", MQOT_CHANNEL, "MQI.B", "", MQOO_INQUIRE);
        object("OPEN-082", MQOT_AUTH_INFO, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-083", MQOT_CF_STRUC, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-084", MQOT_LISTENER, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-085", MQOT_SERVICE, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-086", 99, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-087", -1, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-088", MQOT_LOCAL_Q, "MQI.LOCAL", "", MQOO_INQUIRE);
        object("OPEN-093", MQOT_TOPIC, "MQI.NOSUCH", "", MQOO_OUTPUT);
        at("OPEN-094", t -> t.mark(() -> t.qm().accessTopic("any/topic", null, 1, MQSO_CREATE)));
        at("OPEN-095", t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, "MQI.LOCAL");
            descriptor.setVersion(5);
            t.mark(() -> raw.open(descriptor, MQOO_OUTPUT));
        });
        at("OPEN-096", t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, "MQI.LOCAL");
            descriptor.setVersion(2);
            descriptor.setRecsPresent(-1);
            t.mark(() -> raw.open(descriptor, MQOO_OUTPUT));
        });
        at("OPEN-097", t -> t.mark(() -> t.qm().accessProcess("SYSTEM.DEFAULT.PROCESS", MQOO_INQUIRE)));
        for (int version = 1; version <= 4; version++) {
            int wanted = version;
            at("OPEN-0" + (88 + version), t -> {
                MqiRaw raw = t.raw();
                MQOD descriptor = raw.od(MQOT_Q, "MQI.LOCAL");
                descriptor.setVersion(wanted);
                raw.close(t.markValue(() -> raw.open(descriptor, MQOO_OUTPUT)), MQCO_NONE);
            });
        }
    }

    private void names() {
        queue("OPEN-100", "MQI.NOSUCH", MQOO_OUTPUT);
        queue("OPEN-101", "mqi.local", MQOO_OUTPUT);
        queue("OPEN-102", "", MQOO_OUTPUT);
        queue("OPEN-103", "MQI LOCAL", MQOO_OUTPUT);
        queue("OPEN-104", " MQI.LOCAL", MQOO_OUTPUT);
        queue("OPEN-105", "MQI.LOCAL    ", MQOO_OUTPUT);
        queue("OPEN-106", "MQI.*", MQOO_OUTPUT);
        queue("OPEN-107", "MQI.L\u00d6CAL", MQOO_OUTPUT);
        queue("OPEN-108", "MQI.OF.FORTY.EIGHT.CHARACTERS.WHICH.IS.THE.MOST", MQOO_OUTPUT);
        queue("OPEN-109", "MQI.lower/case_%1", MQOO_OUTPUT);
        queue("OPEN-110", "MQI.LOWER/CASE_%1", MQOO_OUTPUT);
        queue("OPEN-111", "MQI.LOCAL\0.2", MQOO_OUTPUT);
        queue("OPEN-112", "MQI-LOCAL", MQOO_OUTPUT);
        queue("OPEN-115", "MQI.NOSUCH." + "X".repeat(60), MQOO_OUTPUT);
        queue("OPEN-113", "QM1", MQOO_OUTPUT);
        queue("OPEN-114", "MQI.B", MQOO_OUTPUT);
    }

    private void shared() {
        sharing("OPEN-120", "MQI.LOCAL", MQOO_INPUT_SHARED, "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
        sharing("OPEN-121", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_INPUT_SHARED);
        sharing("OPEN-122", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
        sharing("OPEN-123", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_INPUT_AS_Q_DEF);
        sharing("OPEN-124", "MQI.LOCAL", MQOO_INPUT_SHARED, "MQI.LOCAL", MQOO_INPUT_SHARED);
        sharing("OPEN-125", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_BROWSE);
        sharing("OPEN-126", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET);
        sharing("OPEN-127", "MQI.NOSHARE", MQOO_INPUT_SHARED, "MQI.NOSHARE", MQOO_INPUT_SHARED);
        sharing("OPEN-128", "MQI.NOSHARE", MQOO_INPUT_AS_Q_DEF, "MQI.NOSHARE", MQOO_BROWSE);
        sharing("OPEN-129", "MQI.EXCL", MQOO_INPUT_AS_Q_DEF, "MQI.EXCL", MQOO_INPUT_AS_Q_DEF);
        sharing("OPEN-130", "MQI.EXCL", MQOO_INPUT_SHARED, "MQI.EXCL", MQOO_INPUT_SHARED);
        sharing("OPEN-131", "MQI.SHARED", MQOO_INPUT_AS_Q_DEF, "MQI.SHARED", MQOO_INPUT_AS_Q_DEF);
        sharing("OPEN-132", "MQI.QA.TO.NOSHARE", MQOO_INPUT_SHARED, "MQI.NOSHARE", MQOO_INPUT_SHARED);
        sharing("OPEN-133", "MQI.QA1", MQOO_INPUT_EXCLUSIVE, "MQI.LOCAL", MQOO_INPUT_SHARED);
        sharing("OPEN-134", "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE, "MQI.QA1", MQOO_INPUT_SHARED);
        at("OPEN-135", t -> {
            t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
            t.mark(() -> t.open("MQI.LOCAL", MQOO_INPUT_SHARED));
            t.mark(() -> t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE));
        });
        at("OPEN-136", t -> {
            t.open("MQI.NOSHARE", MQOO_BROWSE);
            t.mark(() -> t.open("MQI.NOSHARE", MQOO_INPUT_EXCLUSIVE));
        });
        at("OPEN-137", t -> {
            MqiRelay relay = new MqiRelay();
            t.open(t.through(relay), "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
            t.reason(MQRC_OBJECT_IN_USE, () -> t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE));
            relay.cut();
            t.eventually("the queue is free", () -> {
                MQQueue look = t.open("MQI.LOCAL", MQOO_INQUIRE);
                boolean free = look.getOpenInputCount() == 0;
                look.close();
                return free;
            });
            t.mark(() -> t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE));
        });
        at("OPEN-138", t -> {
            MQQueueManager other = t.connect();
            t.open(other, "MQI.LOCAL", MQOO_INPUT_EXCLUSIVE);
            other.disconnect();
            t.mark(() -> t.open("MQI.LOCAL", MQOO_INPUT_EXCLUSIVE));
        });
        at("OPEN-139", t -> {
            t.open("MQI.LOCAL", MQOO_INPUT_SHARED | MQOO_BROWSE);
            t.open("MQI.LOCAL", MQOO_INPUT_SHARED);
            t.open("MQI.QA1", MQOO_OUTPUT);
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_INQUIRE));
            t.same("open for input", 2, queue.getOpenInputCount());
            t.same("open for output", 1, queue.getOpenOutputCount());
            t.same("shareability", MQQA_SHAREABLE, queue.getShareability());
        });
    }

    private void handles() {
        at("OPEN-150", t -> {
            List<MQQueue> queues = new ArrayList<>();
            // Of the 256 the classes hold a few themselves.
            t.mark(() -> {
                for (int i = 0; i < 300; i++) queues.add(t.open("MQI.LOCAL", MQOO_OUTPUT));
            });
            t.that("256 handles, not " + queues.size(), queues.size() >= 250 && queues.size() <= 256);
            // The classes look for a policy with each open: one handle more, for a moment.
            queues.remove(0).close();
            queues.remove(0).close();
            queues.add(t.open("MQI.LOCAL", MQOO_OUTPUT));
            t.put(queues.get(queues.size() - 1), "with the last handle");
            t.open(t.connect(), "MQI.LOCAL", MQOO_OUTPUT);
        });
        at("OPEN-151", t -> {
            List<MQQueue> queues = new ArrayList<>();
            for (int i = 0; i < 240; i++) {
                String name = i % 2 == 0 ? "MQI.LOCAL" : "MQI.LOCAL.2";
                queues.add(t.markValue(() -> t.open(name, MQOO_OUTPUT | MQOO_INQUIRE)));
            }
            for (MQQueue queue : queues) t.put(queue, "by each handle");
            t.same("depth", 120, queues.get(0).getCurrentDepth());
            t.same("depth", 120, queues.get(1).getCurrentDepth());
        });
        at("OPEN-152", t -> {
            for (int i = 0; i < 600; i++) {
                MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_OUTPUT));
                queue.close();
            }
        });
        at("OPEN-153", t -> {
            // A handle belongs to its connection.
            MqiRaw mine = t.raw();
            Phobj handle = mine.open(mine.od(MQOT_Q, "MQI.LOCAL.2"), MQOO_OUTPUT);
            MqiRaw others = new MqiRaw(t.connect());
            t.empty("MQI.LOCAL.2");
            t.mark(() -> others.put(handle.getHobj(), others.md(1), others.pmo(1, MQPMO_NO_SYNCPOINT), new byte[3]));
        });
    }
}
