// MQSET: what may be set, each wrong value, what may not be set, and what it does to others.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.jmqi.handles.Hobj;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

final class MqiSet extends MqiArea {
    private static final String QUEUE = "MQI.SET";
    private static final int USE = MQOO_SET | MQOO_INQUIRE;
    private static final int[] RESTORED = {MQIA_INHIBIT_PUT, MQIA_INHIBIT_GET, MQIA_TRIGGER_CONTROL, MQIA_TRIGGER_TYPE,
        MQIA_TRIGGER_DEPTH, MQIA_TRIGGER_MSG_PRIORITY, MQIA_DIST_LISTS, MQCA_TRIGGER_DATA};

    private static MQQueue open(MqiCase t, String name) throws Exception {
        t.after(() -> t.connect().accessQueue(QUEUE, USE).set(RESTORED, new int[] {0, 0, 0, 1, 1, 0, 0}, blank(64)));
        return t.open(name, USE);
    }

    private static byte[] blank(int length) {
        byte[] blanks = new byte[length];
        Arrays.fill(blanks, (byte) ' ');
        return blanks;
    }

    private static int number(MQQueue queue, int selector) throws Exception {
        int[] value = new int[1];
        queue.inquire(new int[] {selector}, value, new byte[0]);
        return value[0];
    }

    /** These values can be set, and are there afterwards. */
    private void sets(String id, int selector, int... values) {
        at(id, t -> {
            MQQueue queue = open(t, QUEUE);
            for (int value : values) {
                t.mark(() -> queue.set(new int[] {selector}, new int[] {value}, new byte[0]));
                t.same("value of " + selector, value, number(queue, selector));
            }
        });
    }

    /** These values are refused, and the one before stays. */
    private void refuses(String id, int selector, int... values) {
        at(id, t -> {
            MQQueue queue = open(t, QUEUE);
            int before = number(queue, selector);
            for (int value : values) {
                t.mark(() -> queue.set(new int[] {selector}, new int[] {value}, new byte[0]));
                t.same("value of " + selector, before, number(queue, selector));
            }
        });
    }

    /** A selector that cannot be set. */
    private void fixed(String id, String name, int selector) {
        at(id, t -> {
            MQQueue queue = open(t, name);
            boolean text = selector >= 2000;
            t.mark(() -> queue.set(new int[] {selector}, text ? new int[0] : new int[] {1}, text ? blank(64) : new byte[0]));
        });
    }

    private void counts(String id, int count, int integers, int length) {
        at(id, t -> {
            open(t, QUEUE);
            MqiRaw raw = t.raw();
            Hobj handle = raw.open(raw.od(MQOT_Q, QUEUE), USE).getHobj();
            int[] selectors = {MQIA_TRIGGER_DEPTH, MQCA_TRIGGER_DATA};
            t.mark(() -> raw.set(handle, count, selectors, integers, new int[] {5}, length, blank(64)));
        });
    }

    @Override
    void define() {
        values();
        misuses();
        effects();
    }

    private void values() {
        sets("SET-001", MQIA_INHIBIT_PUT, 1, 0);
        sets("SET-002", MQIA_INHIBIT_GET, 1, 0);
        sets("SET-003", MQIA_TRIGGER_CONTROL, 1, 0);
        sets("SET-004", MQIA_TRIGGER_TYPE, 0, 1, 2, 3);
        sets("SET-005", MQIA_TRIGGER_DEPTH, 1, 2, 999_999_999);
        sets("SET-006", MQIA_TRIGGER_MSG_PRIORITY, 0, 1, 9);
        sets("SET-007", MQIA_DIST_LISTS, 1, 0);
        at("SET-008", t -> {
            MQQueue queue = open(t, QUEUE);
            String most = "0123456789".repeat(6) + "abcd";
            for (String data : new String[] {"trigger data", most, " a b ", ""}) {
                t.mark(() -> queue.setTriggerData(data));
                t.text("trigger data", data, queue.getTriggerData());
            }
        });
        refuses("SET-010", MQIA_INHIBIT_PUT, 2, -1, 1000);
        refuses("SET-011", MQIA_INHIBIT_GET, 2, -1, 1000);
        refuses("SET-012", MQIA_TRIGGER_CONTROL, 2, -1);
        refuses("SET-013", MQIA_TRIGGER_TYPE, 4, -1);
        refuses("SET-014", MQIA_TRIGGER_DEPTH, 0, -1, 1_000_000_000);
        refuses("SET-015", MQIA_TRIGGER_MSG_PRIORITY, 10, -1);
        at("SET-016", t -> {
            MQQueue queue = open(t, QUEUE);
            int[] selectors = {MQIA_TRIGGER_TYPE, MQCA_TRIGGER_DATA, MQIA_INHIBIT_PUT, MQIA_TRIGGER_DEPTH};
            byte[] data = blank(64);
            data[0] = 'X';
            t.mark(() -> queue.set(selectors, new int[] {3, 1, 42}, data));
            t.same("trigger type", 3, queue.getTriggerType());
            t.same("put", 1, queue.getInhibitPut());
            t.same("trigger depth", 42, queue.getTriggerDepth());
            t.text("trigger data", "X", queue.getTriggerData());
        });
        at("SET-017", t -> {
            MQQueue queue = open(t, QUEUE);
            t.mark(() -> queue.set(new int[] {MQIA_TRIGGER_DEPTH, MQIA_TRIGGER_DEPTH}, new int[] {5, 6}, new byte[0]));
            t.same("trigger depth", 6, queue.getTriggerDepth());
        });
        at("SET-018", t -> {
            MQQueue queue = open(t, QUEUE);
            t.mark(() -> queue.set(new int[] {MQIA_INHIBIT_PUT, MQIA_TRIGGER_TYPE}, new int[] {1, 77}, new byte[0]));
            t.same("put: nothing is set", 0, queue.getInhibitPut());
        });
        at("SET-019", t -> {
            MQQueue queue = open(t, QUEUE);
            t.mark(() -> queue.set(new int[] {MQIA_INHIBIT_PUT, MQIA_MAX_Q_DEPTH}, new int[] {1, 10}, new byte[0]));
            t.same("put: nothing is set", 0, queue.getInhibitPut());
        });
    }

    private void misuses() {
        fixed("SET-030", QUEUE, MQIA_MAX_Q_DEPTH);
        fixed("SET-031", QUEUE, MQIA_CURRENT_Q_DEPTH);
        fixed("SET-032", QUEUE, MQIA_DEF_PRIORITY);
        fixed("SET-033", QUEUE, MQIA_DEF_PERSISTENCE);
        fixed("SET-034", QUEUE, MQIA_SHAREABILITY);
        fixed("SET-035", QUEUE, MQIA_MAX_MSG_LENGTH);
        fixed("SET-036", QUEUE, MQCA_Q_DESC);
        fixed("SET-037", QUEUE, MQCA_INITIATION_Q_NAME);
        fixed("SET-038", QUEUE, MQCA_PROCESS_NAME);
        fixed("SET-039", QUEUE, 1999);
        fixed("SET-040", QUEUE, 0);
        fixed("SET-041", QUEUE, MQIA_TRIGGER_INTERVAL);
        fixed("SET-042", "MQI.QA.SET", MQIA_TRIGGER_CONTROL);
        fixed("SET-043", "MQI.QA.SET", MQCA_TRIGGER_DATA);
        fixed("SET-044", "MQI.QA.SET", MQIA_DIST_LISTS);
        at("SET-045", t -> {
            MQQueue queue = t.open(QUEUE, MQOO_INQUIRE | MQOO_OUTPUT | MQOO_INPUT_SHARED);
            t.mark(() -> queue.setInhibitPut(0));
            t.mark(() -> queue.set(new int[] {MQIA_INHIBIT_PUT}, new int[] {0}, new byte[0]));
        });
        at("SET-046", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = raw.open(raw.od(MQOT_Q_MGR, ""), MQOO_INQUIRE).getHobj();
            t.mark(() -> raw.set(handle, new int[] {MQIA_INHIBIT_PUT}, new int[] {0}, new byte[0]));
        });
        at("SET-047", t -> {
            MQQueue queue = open(t, QUEUE);
            t.mark(() -> queue.set(new int[0], new int[0], new byte[0]));
        });
        at("SET-048", t -> {
            MQQueue queue = open(t, QUEUE);
            int[] selectors = new int[257];
            Arrays.fill(selectors, MQIA_TRIGGER_DEPTH);
            int[] values = new int[257];
            Arrays.fill(values, 1);
            t.mark(() -> queue.set(selectors, values, new byte[0]));
        });
        at("SET-049", t -> {
            MQQueue queue = open(t, QUEUE);
            int[] selectors = new int[256];
            Arrays.fill(selectors, MQIA_TRIGGER_DEPTH);
            int[] values = new int[256];
            Arrays.fill(values, 7);
            t.mark(() -> queue.set(selectors, values, new byte[0]));
            t.same("trigger depth", 7, queue.getTriggerDepth());
        });
        counts("SET-050", 2, -1, 64);
        counts("SET-051", 2, 0, 64);
        counts("SET-052", 2, 1, -1);
        counts("SET-053", 2, 1, 10);
        counts("SET-054", 1, 1, 0);
    }

    private void effects() {
        at("SET-060", t -> {
            MQQueue queue = open(t, QUEUE);
            MQQueue output = t.open(t.connect(), QUEUE, MQOO_OUTPUT);
            t.put(output, "before");
            queue.setInhibitPut(MQQA_PUT_INHIBITED);
            t.mark(() -> t.put(output, "no"));
            t.reason(MQRC_PUT_INHIBITED, () -> t.qm().put(QUEUE, MqiCase.message("no"), MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            queue.setInhibitPut(MQQA_PUT_ALLOWED);
            t.put(output, "after");
            t.same("depth", 2, queue.getCurrentDepth());
        });
        at("SET-061", t -> {
            MQQueue queue = open(t, QUEUE);
            MQQueue input = t.open(t.connect(), QUEUE, MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_BROWSE);
            t.put(input, "waits");
            queue.setInhibitGet(MQQA_GET_INHIBITED);
            t.mark(() -> t.get(input));
            t.mark(() -> input.get(new MQMessage(), MqiCase.gmo(MQGMO_BROWSE_FIRST)));
            queue.setInhibitGet(MQQA_GET_ALLOWED);
            t.same("data", "waits", MqiCase.body(t.get(input)));
        });
        at("SET-062", t -> {
            MQQueue queue = open(t, QUEUE);
            MQQueue input = t.open(t.connect(), QUEUE, MQOO_INPUT_SHARED);
            Thread setter = new Thread(() -> {
                try {
                    Thread.sleep(150);
                    queue.setInhibitGet(MQQA_GET_INHIBITED);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            setter.start();
            t.mark(() -> input.get(new MQMessage(), Common.getOptions(false, 3000)));
            setter.join();
        });
        at("SET-063", t -> {
            MQQueue alias = t.open("MQI.QA.SET", USE);
            t.after(() -> alias.setInhibitPut(0));
            t.mark(() -> alias.setInhibitPut(MQQA_PUT_INHIBITED));
            t.same("put of the alias", 1, alias.getInhibitPut());
            MQQueue target = t.open(QUEUE, MQOO_INQUIRE | MQOO_OUTPUT);
            t.same("put of the target", 0, target.getInhibitPut());
            t.put(target, "straight");
            MQQueue through = t.open(t.connect(), "MQI.QA.SET", MQOO_OUTPUT);
            t.reason(MQRC_PUT_INHIBITED, () -> t.put(through, "no"));
        });
        at("SET-064", t -> {
            MQQueue alias = t.open("MQI.QA.SET", USE);
            t.after(() -> alias.setInhibitGet(0));
            t.mark(() -> alias.setInhibitGet(MQQA_GET_INHIBITED));
            MQQueue through = t.open(t.connect(), "MQI.QA.SET", MQOO_INPUT_SHARED);
            t.reason(MQRC_GET_INHIBITED, () -> t.get(through));
            MQQueue target = t.open(QUEUE, MQOO_INPUT_SHARED);
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(target));
        });
        at("SET-065", t -> {
            // Not part of a unit of work, and what is in one can be committed all the same.
            MQQueue queue = open(t, QUEUE);
            MQQueue output = t.open(QUEUE, MQOO_OUTPUT);
            output.put(MqiCase.message("in a unit of work"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(() -> queue.setInhibitPut(MQQA_PUT_INHIBITED));
            t.qm().commit();
            t.same("depth", 1, queue.getCurrentDepth());
            t.same("put", 1, queue.getInhibitPut());
        });
        at("SET-066", t -> {
            MQQueue queue = open(t, QUEUE);
            t.mark(() -> queue.setInhibitPut(MQQA_PUT_INHIBITED));
            t.qm().backout();
            t.same("put", 1, t.open(t.connect(), QUEUE, MQOO_INQUIRE).getInhibitPut());
        });
        at("SET-067", t -> {
            MQQueue queue = t.qm().accessQueue("MQI.MODEL.TEMP", USE | MQOO_OUTPUT, null, "MQI.DYN.*", null);
            t.mark(() -> queue.setInhibitPut(MQQA_PUT_INHIBITED));
            t.reason(MQRC_PUT_INHIBITED, () -> t.put(queue, "no"));
            MQQueue second = t.qm().accessQueue("MQI.MODEL.TEMP", USE, null, "MQI.DYN.*", null);
            t.same("put of the next of the model", 0, second.getInhibitPut());
        });
        at("SET-068", t -> {
            MQQueue queue = open(t, QUEUE);
            byte[] data = "as bytes".getBytes(StandardCharsets.US_ASCII);
            t.mark(() -> queue.set(new int[] {MQCA_TRIGGER_DATA}, new int[0], Arrays.copyOf(data, 64)));
            t.text("trigger data", "as bytes", queue.getTriggerData());
        });
    }
}
