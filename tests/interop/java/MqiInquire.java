// MQINQ: every selector of the queue manager (mq-objects 3.2), of each type of queue (3.3), of processes and namelists,
// and every misuse.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.jmqi.handles.Hobj;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

final class MqiInquire extends MqiArea {
    private static final int NOT_APPLICABLE = -1;

    private static Hobj handle(MqiCase t, MqiRaw raw, int type, String name) throws MQException {
        return raw.open(raw.od(type, name), MQOO_INQUIRE).getHobj();
    }

    /** An integer attribute; null if only its presence is known. */
    private void number(String id, int type, String object, int selector, Integer expected) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, type, object);
            int[] value = {-77};
            t.mark(() -> raw.inquire(handle, new int[] {selector}, value, new byte[0]));
            if (expected != null) t.same("value", expected, value[0]);
            t.that("a value is given", value[0] != -77);
        });
    }

    /** A character attribute: its length is proved by the one behind it. */
    private void string(String id, int type, String object, int selector, int length, String expected) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, type, object);
            int tail = switch (type) {
                case MQOT_Q_MGR -> MQCA_Q_MGR_NAME;
                case MQOT_PROCESS -> MQCA_PROCESS_NAME;
                case MQOT_NAMELIST -> MQCA_NAMELIST_NAME;
                default -> MQCA_Q_NAME;
            };
            byte[] value = new byte[length + 48];
            t.mark(() -> raw.inquire(handle, new int[] {selector, tail}, new int[0], value));
            String text = new String(value, StandardCharsets.ISO_8859_1);
            if (expected != null) t.text("value", expected, text.substring(0, length));
            t.text("the attribute behind it", type == MQOT_Q_MGR ? "QM1" : object, text.substring(length));
        });
    }

    /** A date or a time in its form. */
    private void moment(String id, int type, String object, int selector, String form) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            byte[] value = new byte[form.length() == 10 ? 12 : 8];
            Hobj handle = handle(t, raw, type, object);
            t.mark(() -> raw.inquire(handle, new int[] {selector}, new int[0], value));
            String text = new String(value, StandardCharsets.ISO_8859_1).trim();
            t.that(text + " is not " + form, text.matches(form.replace("9", "\\d").replace(".", "\\.")));
        });
    }

    /** A selector of another type of queue: a warning, and the value says so. */
    private void other(String id, String queue, int selector) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, queue);
            boolean number = selector < 2000;
            int[] value = {7};
            byte[] text = new byte[48];
            t.mark(() -> raw.inquire(handle, new int[] {selector}, number ? value : new int[0],
                number ? new byte[0] : text));
            if (number) t.same("value", NOT_APPLICABLE, value[0]);
            else t.text("value", "*".repeat(48), new String(text, StandardCharsets.ISO_8859_1));
        });
    }

    private void misuse(String id, int type, String object, int[] selectors, int integers, int length) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, type, object);
            t.mark(() -> raw.inquire(handle, selectors, new int[integers], new byte[length]));
        });
    }

    @Override
    void define() {
        queueManager();
        local();
        aliasAndRemote();
        others();
        misuses();
        missing();
        states();
    }

    private void queueManager() {
        int[] plain = {2, 25, 55, 56, 119, 120, 13, 11, 33, 14, 31, 32, 30, 34, 47, 48, 49, 50, 53, 52, 73, 75, 51, 94, 99, 248, 254,
            68, 192, 187, 206, 203, 205, 207, 183, 122, 123, 124, 129, 128, 127, 130, 131, 133, 134, 136, 135, 137, 138, 93,
            92, 76, 252, 58, 97, 98, 250};
        Integer[] values = {null, 999_999_999, 0, 0, 0, 0, null, 256, 10_000, 9, null, MQPL_UNIX, 1, null, 0, 0, 0, 0, 0, 1, 0, 0, 0,
            0, 0, 1, null, 5000, -1, null, 5, null, null, null, 1800, 0, 0, -3, 0, 0, 0, -3, 1800, 0, 0, 0, 1800, null, null,
            0, 0, null, null, 100, 999_999_999, 0, null};
        for (int i = 0; i < plain.length; i++)
            number(String.format("INQUIRE-%03d", 1 + i), MQOT_Q_MGR, "", plain[i], values[i]);
        string("INQUIRE-060", MQOT_Q_MGR, "", MQCA_Q_MGR_NAME, 48, "QM1");
        at("INQUIRE-061", t -> {
            byte[] value = new byte[48];
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q_MGR, "");
            t.mark(() -> raw.inquire(handle, new int[] {MQCA_Q_MGR_IDENTIFIER}, new int[0], value));
            String id = new String(value, StandardCharsets.ISO_8859_1).trim();
            t.that("QMID " + id, id.matches("QM1_\\d{4}-\\d\\d-\\d\\d_\\d\\d\\.\\d\\d\\.\\d\\d"));
        });
        string("INQUIRE-062", MQOT_Q_MGR, "", MQCA_Q_MGR_DESC, 64, "");
        string("INQUIRE-063", MQOT_Q_MGR, "", MQCA_DEAD_LETTER_Q_NAME, 48, "DEV.DEAD.LETTER.QUEUE");
        string("INQUIRE-064", MQOT_Q_MGR, "", MQCA_DEF_XMIT_Q_NAME, 48, "");
        string("INQUIRE-065", MQOT_Q_MGR, "", 2026, 128, "");
        string("INQUIRE-066", MQOT_Q_MGR, "", MQCA_COMMAND_INPUT_Q_NAME, 48, "SYSTEM.ADMIN.COMMAND.QUEUE");
        string("INQUIRE-067", MQOT_Q_MGR, "", 2120, 8, null);
        moment("INQUIRE-068", MQOT_Q_MGR, "", MQCA_CREATION_DATE, "9999-99-99");
        moment("INQUIRE-069", MQOT_Q_MGR, "", MQCA_CREATION_TIME, "99.99.99");
        moment("INQUIRE-070", MQOT_Q_MGR, "", MQCA_ALTERATION_DATE, "9999-99-99");
        moment("INQUIRE-071", MQOT_Q_MGR, "", MQCA_ALTERATION_TIME, "99.99.99");
        string("INQUIRE-072", MQOT_Q_MGR, "", 2125, 48, null);
        string("INQUIRE-073", MQOT_Q_MGR, "", MQCA_SSL_KEY_REPOSITORY, 256, null);
        string("INQUIRE-074", MQOT_Q_MGR, "", MQCA_SSL_CRYPTO_HARDWARE, 256, "");
        string("INQUIRE-075", MQOT_Q_MGR, "", MQCA_SSL_CRL_NAMELIST, 48, "");
        string("INQUIRE-076", MQOT_Q_MGR, "", 2121, 64, null);
        string("INQUIRE-077", MQOT_Q_MGR, "", MQCA_REPOSITORY_NAME, 48, "");
        string("INQUIRE-078", MQOT_Q_MGR, "", MQCA_REPOSITORY_NAMELIST, 48, "");
        string("INQUIRE-079", MQOT_Q_MGR, "", 2033, 128, "");
        string("INQUIRE-080", MQOT_Q_MGR, "", 2034, 32, "");
        string("INQUIRE-081", MQOT_Q_MGR, "", 2119, 128, "");
        string("INQUIRE-082", MQOT_Q_MGR, "", 2102, 48, "");
    }

    private void local() {
        int[] selectors = {20, 10, 9, 6, 5, 184, 15, 13, 23, 4, 16, 8, 12, 24, 28, 29, 26, 22, 21, 40, 41, 42, 43, 44, 54, 46, 34, 78,
            188, 190, 123, 128, 134, 45, 61, 96, 95, 98, 7, 3, 17, 18};
        int[] values = {1, 0, 0, 4, 1, 2, 4321, 54321, 1, 4, 1, 1, 0, 0, 3, 17, 3, 5, 4711, 71, 23, 0, 1, 1, 12345, 1, 1, 10,
            2, 2, 65, 1, 0, 1, 1, 2, 3, 1, 1, 0, 0, 0};
        for (int i = 0; i < selectors.length; i++)
            number(String.format("INQUIRE-%03d", 100 + i), MQOT_Q, "MQI.ATTRS", selectors[i], values[i]);
        string("INQUIRE-150", MQOT_Q, "MQI.ATTRS", MQCA_Q_NAME, 48, "MQI.ATTRS");
        string("INQUIRE-151", MQOT_Q, "MQI.ATTRS", MQCA_Q_DESC, 64, "every attribute");
        string("INQUIRE-152", MQOT_Q, "MQI.ATTRS", MQCA_TRIGGER_DATA, 64, "trigger data");
        string("INQUIRE-153", MQOT_Q, "MQI.ATTRS", MQCA_INITIATION_Q_NAME, 48, "MQI.INITQ");
        string("INQUIRE-154", MQOT_Q, "MQI.ATTRS", MQCA_PROCESS_NAME, 48, "MQI.PROCESS");
        string("INQUIRE-155", MQOT_Q, "MQI.ATTRS", MQCA_BACKOUT_REQ_Q_NAME, 48, "MQI.BACKED.OUT");
        string("INQUIRE-156", MQOT_Q, "MQI.ATTRS", MQCA_CLUSTER_NAME, 48, "");
        string("INQUIRE-157", MQOT_Q, "MQI.ATTRS", MQCA_CLUSTER_NAMELIST, 48, "");
        string("INQUIRE-158", MQOT_Q, "MQI.ATTRS", 2119, 128, "");
        moment("INQUIRE-159", MQOT_Q, "MQI.ATTRS", MQCA_CREATION_DATE, "9999-99-99");
        moment("INQUIRE-160", MQOT_Q, "MQI.ATTRS", MQCA_CREATION_TIME, "99.99.99");
        moment("INQUIRE-161", MQOT_Q, "MQI.ATTRS", MQCA_ALTERATION_DATE, "9999-99-99");
        moment("INQUIRE-162", MQOT_Q, "MQI.ATTRS", MQCA_ALTERATION_TIME, "99.99.99");
    }

    private void aliasAndRemote() {
        int[] alias = {20, 10, 9, 6, 5, 184, 188, 190, 45, 61, 193};
        int[] aliasValues = {3, 0, 0, 5, 1, 1, 0, 0, 1, 0, 1};
        for (int i = 0; i < alias.length; i++)
            number(String.format("INQUIRE-%03d", 170 + i), MQOT_Q, "MQI.QA1", alias[i], aliasValues[i]);
        string("INQUIRE-185", MQOT_Q, "MQI.QA1", MQCA_Q_NAME, 48, "MQI.QA1");
        string("INQUIRE-186", MQOT_Q, "MQI.QA1", MQCA_BASE_Q_NAME, 48, "MQI.LOCAL");
        string("INQUIRE-187", MQOT_Q, "MQI.QA1", MQCA_Q_DESC, 64, "alias");
        moment("INQUIRE-188", MQOT_Q, "MQI.QA1", MQCA_ALTERATION_DATE, "9999-99-99");
        moment("INQUIRE-189", MQOT_Q, "MQI.QA1", MQCA_ALTERATION_TIME, "99.99.99");
        int[] remote = {20, 10, 6, 5, 184, 45, 61};
        int[] remoteValues = {6, 0, 6, 1, 1, 1, 0};
        for (int i = 0; i < remote.length; i++)
            number(String.format("INQUIRE-%03d", 190 + i), MQOT_Q, "MQI.QR2", remote[i], remoteValues[i]);
        string("INQUIRE-200", MQOT_Q, "MQI.QR2", MQCA_REMOTE_Q_NAME, 48, "R2");
        string("INQUIRE-201", MQOT_Q, "MQI.QR2", MQCA_REMOTE_Q_MGR_NAME, 48, "QM2");
        string("INQUIRE-202", MQOT_Q, "MQI.QR2", MQCA_XMIT_Q_NAME, 48, "MQI.XQ2");
        string("INQUIRE-203", MQOT_Q, "MQI.QR2", MQCA_Q_DESC, 64, "remote");
        moment("INQUIRE-204", MQOT_Q, "MQI.QR2", MQCA_ALTERATION_DATE, "9999-99-99");
        other("INQUIRE-205", "MQI.QA1", MQIA_MAX_Q_DEPTH);
        other("INQUIRE-206", "MQI.QA1", MQIA_CURRENT_Q_DEPTH);
        other("INQUIRE-207", "MQI.QA1", MQIA_OPEN_INPUT_COUNT);
        other("INQUIRE-208", "MQI.QA1", MQIA_TRIGGER_CONTROL);
        other("INQUIRE-209", "MQI.QA1", MQCA_REMOTE_Q_NAME);
        other("INQUIRE-210", "MQI.QA1", MQCA_BACKOUT_REQ_Q_NAME);
        other("INQUIRE-211", "MQI.QR2", MQIA_INHIBIT_GET);
        other("INQUIRE-212", "MQI.QR2", MQIA_CURRENT_Q_DEPTH);
        other("INQUIRE-213", "MQI.QR2", MQCA_BASE_Q_NAME);
        other("INQUIRE-214", "MQI.QR2", MQIA_USAGE);
        other("INQUIRE-215", "MQI.LOCAL", MQCA_BASE_Q_NAME);
        other("INQUIRE-216", "MQI.LOCAL", MQCA_REMOTE_Q_NAME);
        other("INQUIRE-217", "MQI.LOCAL", MQCA_XMIT_Q_NAME);
        at("INQUIRE-218", t -> {
            // The values that there are come all the same, in their order.
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.QA1");
            int[] numbers = new int[3];
            t.mark(() -> raw.inquire(handle, new int[] {MQIA_DEF_PRIORITY, MQIA_MAX_Q_DEPTH, MQIA_Q_TYPE}, numbers,
                new byte[0]));
            t.same("values", "[5, -1, 3]", Arrays.toString(numbers));
        });
    }

    private void others() {
        string("INQUIRE-230", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQCA_PROCESS_NAME, 48, "SYSTEM.DEFAULT.PROCESS");
        string("INQUIRE-231", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQCA_PROCESS_DESC, 64, "");
        number("INQUIRE-232", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQIA_APPL_TYPE, 6);
        string("INQUIRE-233", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQCA_APPL_ID, 256, "");
        string("INQUIRE-234", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQCA_USER_DATA, 128, "");
        string("INQUIRE-235", MQOT_PROCESS, "SYSTEM.DEFAULT.PROCESS", MQCA_ENV_DATA, 128, "");
        string("INQUIRE-236", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", MQCA_NAMELIST_NAME, 48,
            "SYSTEM.DEFAULT.NAMELIST");
        string("INQUIRE-237", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", MQCA_NAMELIST_DESC, 64, "");
        number("INQUIRE-238", MQOT_NAMELIST, "SYSTEM.DEFAULT.NAMELIST", MQIA_NAME_COUNT, 0);
    }

    private void misuses() {
        at("INQUIRE-250", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_BROWSE);
            t.mark(queue::getCurrentDepth);
            t.mark(() -> queue.inquire(new int[] {MQIA_CURRENT_Q_DEPTH}, new int[1], new char[0]));
        });
        misuse("INQUIRE-251", MQOT_Q, "MQI.LOCAL", new int[0], 0, 0);
        at("INQUIRE-252", t -> {
            int[] selectors = new int[256];
            Arrays.fill(selectors, MQIA_MAX_Q_DEPTH);
            int[] values = new int[256];
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.LOCAL");
            t.mark(() -> raw.inquire(handle, selectors, values, new byte[0]));
            t.same("the last value", 5000, values[255]);
        });
        int[] tooMany = new int[257];
        Arrays.fill(tooMany, MQIA_MAX_Q_DEPTH);
        misuse("INQUIRE-253", MQOT_Q, "MQI.LOCAL", tooMany, 257, 0);
        counts("INQUIRE-254", -1, 1, 0);
        counts("INQUIRE-255", 1, -1, 0);
        counts("INQUIRE-256", 1, 1, -1);
        at("INQUIRE-257", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.LOCAL");
            int[] values = {-7};
            t.mark(() -> raw.inquire(handle, new int[] {MQIA_MAX_Q_DEPTH, MQIA_Q_TYPE}, values, new byte[0]));
            t.same("the value there is room for", 5000, values[0]);
        });
        at("INQUIRE-258", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.LOCAL");
            byte[] values = new byte[60];
            t.mark(() -> raw.inquire(handle, new int[] {MQCA_Q_NAME, MQCA_Q_DESC}, new int[0], values));
            String text = new String(values, StandardCharsets.ISO_8859_1);
            t.text("the attribute there is room for", "MQI.LOCAL", text.substring(0, 48));
        });
        misuse("INQUIRE-259", MQOT_Q, "MQI.LOCAL", new int[] {MQCA_Q_NAME}, 0, 0);
        misuse("INQUIRE-260", MQOT_Q, "MQI.LOCAL", new int[] {MQIA_Q_TYPE}, 0, 0);
        misuse("INQUIRE-261", MQOT_Q, "MQI.LOCAL", new int[] {1999}, 1, 0);
        misuse("INQUIRE-262", MQOT_Q, "MQI.LOCAL", new int[] {0}, 1, 0);
        misuse("INQUIRE-263", MQOT_Q, "MQI.LOCAL", new int[] {-5}, 1, 0);
        misuse("INQUIRE-264", MQOT_Q, "MQI.LOCAL", new int[] {5000}, 1, 64);
        misuse("INQUIRE-265", MQOT_Q, "MQI.LOCAL", new int[] {MQIA_TRIGGER_INTERVAL}, 1, 0);
        misuse("INQUIRE-266", MQOT_Q, "MQI.LOCAL", new int[] {MQCA_APPL_ID}, 0, 256);
        misuse("INQUIRE-267", MQOT_Q, "MQI.LOCAL", new int[] {3501}, 0, 64);
        misuse("INQUIRE-268", MQOT_Q_MGR, "", new int[] {MQIA_CURRENT_Q_DEPTH}, 1, 0);
        misuse("INQUIRE-269", MQOT_Q_MGR, "", new int[] {MQCA_Q_NAME}, 0, 48);
        misuse("INQUIRE-270", MQOT_Q, "MQI.LOCAL", new int[] {MQIA_Q_TYPE, 1999, MQCA_Q_NAME}, 2, 48);
        misuse("INQUIRE-271", MQOT_Q, "MQI.LOCAL", new int[] {MQIA_Q_TYPE}, 10, 100);
        at("INQUIRE-272", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.ATTRS");
            int[] numbers = new int[3];
            byte[] texts = new byte[96];
            t.mark(() -> raw.inquire(handle, new int[] {MQCA_PROCESS_NAME, MQIA_MAX_Q_DEPTH, MQCA_Q_NAME, MQIA_DEF_PRIORITY,
                MQIA_MAX_Q_DEPTH}, numbers, texts));
            t.same("integers", "[4321, 4, 4321]", Arrays.toString(numbers));
            String text = new String(texts, StandardCharsets.ISO_8859_1);
            t.text("first text", "MQI.PROCESS", text.substring(0, 48));
            t.text("second text", "MQI.ATTRS", text.substring(48));
        });
    }

    private void missing() {
        at("INQUIRE-274", t -> t.mark(() -> t.qm().inquire(null, new int[1], new byte[0])));
        at("INQUIRE-275", t -> t.mark(() -> t.qm().inquire(new int[] {MQIA_CODED_CHAR_SET_ID}, null, new byte[0])));
    }

    private void counts(String id, int count, int integers, int length) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            Hobj handle = handle(t, raw, MQOT_Q, "MQI.LOCAL");
            t.mark(() -> raw.inquire(handle, count, new int[] {MQIA_Q_TYPE}, integers, new int[1], length, new byte[64]));
        });
    }

    private void states() {
        at("INQUIRE-280", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED | MQOO_INQUIRE);
            queue.put(MqiCase.message("not committed"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(() -> t.same("with a put that is not committed", 1, queue.getCurrentDepth()));
            t.qm().commit();
            queue.get(new MQMessage(), MqiCase.gmo(MQGMO_SYNCPOINT));
            t.same("with a get that is not committed", 0, queue.getCurrentDepth());
            t.qm().backout();
            t.same("backed out", 1, queue.getCurrentDepth());
        });
        at("INQUIRE-281", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_EXCLUSIVE | MQOO_INQUIRE);
            t.mark(() -> t.same("open for input", 1, queue.getOpenInputCount()));
            t.same("open for output", 1, queue.getOpenOutputCount());
        });
        at("INQUIRE-282", t -> {
            MQQueue queue = t.open("MQI.PUTOFF", MQOO_INQUIRE);
            t.mark(() -> t.same("put", MQQA_PUT_INHIBITED, queue.getInhibitPut()));
            t.same("get", MQQA_GET_ALLOWED, queue.getInhibitGet());
        });
    }
}
