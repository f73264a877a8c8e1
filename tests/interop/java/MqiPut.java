// MQPUT and MQPUT1: options, lengths, limits, inhibited queues, what the queues' defaults give, answers that come later.
// The fields of the message descriptor are in MqiPutFields.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQAsyncStatus;
import com.ibm.mq.MQDistributionListItem;
import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.jmqi.MQOD;
import com.ibm.mq.jmqi.handles.Hobj;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

final class MqiPut extends MqiArea {
    static final int OUT = MQPMO_NO_SYNCPOINT;

    /** Puts with these options to a queue opened for output with all context options. */
    private void option(String id, int options) {
        at(id, t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT);
            MQPutMessageOptions put = MqiCase.pmo(options);
            boolean passes = (options & (MQPMO_PASS_ALL_CONTEXT | MQPMO_PASS_IDENTITY_CONTEXT)) != 0;
            if (passes) put.contextReference = t.open("MQI.LOCAL.2", MQOO_INPUT_SHARED | MQOO_SAVE_ALL_CONTEXT);
            t.mark(() -> queue.put(MqiCase.message("x"), put));
            t.qm().commit();
            t.same("depth", row(t) ? 1 : 0, t.depth("MQI.LOCAL"));
        });
    }

    private static boolean row(MqiCase t) {
        return t.row.completion() != MQCC_FAILED;
    }

    private void put1Option(String id, int options) {
        at(id, t -> {
            t.empty("MQI.LOCAL");
            t.mark(() -> t.qm().put("MQI.LOCAL", MqiCase.message("x"), MqiCase.pmo(options)));
            t.qm().commit();
            t.same("depth", row(t) ? 1 : 0, t.depth("MQI.LOCAL"));
        });
    }

    private static byte[] bytes(int length) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) data[i] = (byte) (i * 31 + i / 251);
        return data;
    }

    private static MQMessage message(byte[] data) throws java.io.IOException {
        MQMessage message = MqiCase.message("");
        message.write(data);
        return message;
    }

    /** The message comes back byte for byte. */
    private void length(String id, int... lengths) {
        at(id, t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            for (int length : lengths) {
                byte[] data = bytes(length);
                t.mark(() -> queue.put(message(data), MqiCase.pmo(OUT)));
                MQMessage got = t.get(queue);
                t.same("length", length, got.getMessageLength());
                byte[] back = new byte[length];
                got.readFully(back);
                t.that("the data of " + length + " bytes differs", Arrays.equals(data, back));
            }
        });
    }

    private void size(String id, String queueManager, String queue, int length, String lands) {
        at(id, t -> {
            t.empty(lands);
            MQQueue output = t.open(queue, MQOO_OUTPUT, queueManager, null, null);
            t.mark(() -> output.put(message(bytes(length)), MqiCase.pmo(OUT)));
        });
    }

    private void size1(String id, String queue, int length, String lands) {
        at(id, t -> {
            t.empty(lands);
            t.mark(() -> t.qm().put(queue, message(bytes(length)), MqiCase.pmo(OUT)));
        });
    }

    /** PUT(DISABLED) somewhere on the way: it can be opened, and not put to. */
    private void inhibited(String id, String queueManager, String queue) {
        at(id, t -> {
            MQQueue output = t.qm().accessQueue(queue, MQOO_OUTPUT, queueManager, null, null);
            t.mark(() -> t.put(output, "no"));
            t.mark(() -> t.qm().put(queue, queueManager, MqiCase.message("no"), MqiCase.pmo(OUT)));
        });
    }

    /** A queue with room for some; then it is full, for MQPUT and MQPUT1. */
    private void full(String id, String queue, int room, String lands) {
        at(id, t -> {
            t.empty(lands);
            MQQueue output = t.open(queue, MQOO_OUTPUT);
            for (int i = 0; i < room; i++) t.put(output, "there is room");
            t.mark(() -> t.put(output, "one too many"));
            t.mark(() -> t.qm().put(queue, MqiCase.message("one too many"), MqiCase.pmo(OUT)));
            t.same("depth", room, t.depth(lands));
        });
    }

    /** Priority and persistence as the queue says; of the first definition on the way. */
    private void defaults(String id, String queue, String lands, int priority, int persistence) {
        at(id, t -> {
            t.empty(lands);
            MQQueue output = t.open(queue, MQOO_OUTPUT);
            MQMessage message = new MQMessage();
            message.priority = MQPRI_PRIORITY_AS_Q_DEF;
            message.persistence = MQPER_PERSISTENCE_AS_Q_DEF;
            message.write(1);
            t.mark(() -> output.put(message, MqiCase.pmo(OUT)));
            MQMessage got = t.get(lands);
            t.same("priority", priority, got.priority);
            t.same("persistence", persistence, got.persistence);
            MQMessage second = new MQMessage();
            second.priority = MQPRI_PRIORITY_AS_Q_DEF;
            second.persistence = MQPER_PERSISTENCE_AS_Q_DEF;
            t.mark(() -> t.qm().put(queue, second, MqiCase.pmo(OUT)));
            got = t.get(lands);
            t.same("priority by MQPUT1", priority, got.priority);
            t.same("persistence by MQPUT1", persistence, got.persistence);
        });
    }

    @Override
    void define() {
        new MqiPutFields(this).define();
        options();
        sizes();
        queues();
        later();
        versions();
    }

    private void options() {
        option("PUT-200", MQPMO_NONE);
        option("PUT-201", MQPMO_SYNCPOINT);
        option("PUT-202", MQPMO_NO_SYNCPOINT);
        option("PUT-203", MQPMO_NO_SYNCPOINT | MQPMO_FAIL_IF_QUIESCING);
        option("PUT-204", MQPMO_NO_SYNCPOINT | MQPMO_SYNC_RESPONSE);
        option("PUT-205", MQPMO_NO_SYNCPOINT | MQPMO_RESOLVE_LOCAL_Q);
        option("PUT-206", MQPMO_SYNCPOINT | MQPMO_NO_SYNCPOINT);
        option("PUT-207", OUT | MQPMO_DEFAULT_CONTEXT | MQPMO_NO_CONTEXT);
        option("PUT-208", OUT | MQPMO_SET_ALL_CONTEXT | MQPMO_SET_IDENTITY_CONTEXT);
        option("PUT-209", OUT | MQPMO_PASS_ALL_CONTEXT | MQPMO_PASS_IDENTITY_CONTEXT);
        option("PUT-210", OUT | MQPMO_PASS_ALL_CONTEXT | MQPMO_SET_ALL_CONTEXT);
        option("PUT-211", OUT | MQPMO_NO_CONTEXT | MQPMO_SET_ALL_CONTEXT);
        option("PUT-212", OUT | MQPMO_DEFAULT_CONTEXT | MQPMO_PASS_IDENTITY_CONTEXT);
        option("PUT-213", OUT | MQPMO_ASYNC_RESPONSE | MQPMO_SYNC_RESPONSE);
        option("PUT-214", OUT | MQPMO_ALTERNATE_USER_AUTHORITY);
        option("PUT-215", OUT | 0x1);
        option("PUT-216", OUT | 0x40_0000);
        option("PUT-217", OUT | 0x4000_0000);
        option("PUT-218", OUT | 0x8000_0000);
        put1Option("PUT-220", MQPMO_NONE);
        put1Option("PUT-221", MQPMO_SYNCPOINT);
        put1Option("PUT-222", MQPMO_NO_SYNCPOINT);
        put1Option("PUT-223", OUT | MQPMO_FAIL_IF_QUIESCING | MQPMO_RESOLVE_LOCAL_Q);
        put1Option("PUT-224", OUT | MQPMO_ALTERNATE_USER_AUTHORITY);
        put1Option("PUT-225", OUT | MQPMO_LOGICAL_ORDER);
        put1Option("PUT-226", MQPMO_SYNCPOINT | MQPMO_NO_SYNCPOINT | MQPMO_SYNC_RESPONSE);
        put1Option("PUT-227", OUT | MQPMO_DEFAULT_CONTEXT | MQPMO_SET_ALL_CONTEXT);
        put1Option("PUT-228", OUT | 0x4000_0000);
        at("PUT-229", t -> {
            t.empty("MQI.LOCAL");
            t.mark(() -> t.qm().put("MQI.LOCAL", null, MqiCase.message("x"),
                MqiCase.pmo(OUT | MQPMO_ALTERNATE_USER_AUTHORITY), "someone"));
            t.same("depth", 1, t.depth("MQI.LOCAL"));
        });
        at("PUT-230", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_INPUT_SHARED | MQOO_INQUIRE);
            t.mark(() -> t.put(queue, "no"));
        });
        at("PUT-231", t -> {
            MQQueue queue = t.open("MQI.QA1", MQOO_OUTPUT);
            t.empty("MQI.LOCAL");
            MQPutMessageOptions options = MqiCase.pmo(OUT);
            t.mark(() -> queue.put(MqiCase.message("x"), options));
            t.text("resolvedQueueName", "MQI.LOCAL", options.resolvedQueueName);
            t.text("resolvedQueueManagerName", "QM1", options.resolvedQueueManagerName);
        });
        at("PUT-232", t -> {
            t.empty("MQI.XQ2");
            MQPutMessageOptions options = MqiCase.pmo(OUT);
            t.mark(() -> t.qm().put("MQI.QR2", MqiCase.message("x"), options));
            t.text("resolvedQueueName", "R2", options.resolvedQueueName);
            t.text("resolvedQueueManagerName", "QM2", options.resolvedQueueManagerName);
        });
    }

    private void sizes() {
        length("PUT-240", 0);
        length("PUT-241", 1, 2, 3, 4, 5, 6, 7, 8);
        length("PUT-242", 4095, 4096, 4097);
        length("PUT-243", 32_000, 32_200, 32_300, 32_400, 32_747, 32_748, 32_749);
        length("PUT-244", 65_535, 65_536, 65_537, 100_001);
        length("PUT-245", 1_048_576);
        length("PUT-246", 4_194_303);
        at("PUT-247", t -> {
            byte[] data = bytes(50_000_001);
            MQQueueManager wide = t.connect("", Map.of(CHANNEL_PROPERTY, "MQI.LONG"));
            MQQueue queue = t.open(wide, "MQI.BIG", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            t.mark(() -> queue.put(message(data), MqiCase.pmo(OUT)));
            MQMessage got = t.get(queue);
            byte[] back = new byte[got.getMessageLength()];
            got.readFully(back);
            t.that("the data differs", Arrays.equals(data, back));
        });
        at("PUT-248", t -> {
            byte[] data = bytes(104_857_600);
            MQQueueManager wide = t.connect("", Map.of(CHANNEL_PROPERTY, "MQI.LONG"));
            MQQueue queue = t.open(wide, "MQI.BIG", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            t.mark(() -> queue.put(message(data), MqiCase.pmo(OUT)));
            MQMessage got = t.get(queue);
            byte[] back = new byte[got.getMessageLength()];
            got.readFully(back);
            t.that("the data differs", Arrays.equals(data, back));
        });
        size("PUT-250", "", "MQI.SHORT", 1000, "MQI.SHORT");
        size("PUT-251", "", "MQI.SHORT", 1001, "MQI.SHORT");
        size("PUT-252", "", "MQI.QA.TO.SHORT", 1001, "MQI.SHORT");
        size1("PUT-253", "MQI.SHORT", 1001, "MQI.SHORT");
        size("PUT-254", "", "MQI.EMPTYMSG", 0, "MQI.EMPTYMSG");
        size("PUT-255", "", "MQI.EMPTYMSG", 1, "MQI.EMPTYMSG");
        size("PUT-256", "", "MQI.R.SHORT", 1000, "MQI.XQ.SHORT");
        size("PUT-257", "", "MQI.R.SHORT", 1001, "MQI.XQ.SHORT");
        size("PUT-258", "MQI.XQ.SHORT", "ANY", 1001, "MQI.XQ.SHORT");
        size("PUT-259", "", "MQI.XQ.SHORT", 5000, "MQI.XQ.SHORT");
        size("PUT-260", "", "MQI.XQ.SHORT", 5001, "MQI.XQ.SHORT");
        for (String[] pair : new String[][] {{"PUT-261", "MQI.SHORT.CHANNEL"}, {"PUT-262", "MQI.SHORT.CHANNEL.A"}})
            at(pair[0], t -> {
                t.empty("MQI.LOCAL");
                MQQueueManager narrow = t.connect("", Map.of(CHANNEL_PROPERTY, pair[1].replace(".CHANNEL", "")));
                MQQueue queue = t.open(narrow, "MQI.LOCAL", MQOO_OUTPUT);
                queue.put(message(bytes(9000)), MqiCase.pmo(OUT));
                t.mark(() -> queue.put(message(bytes(20_000)), MqiCase.pmo(OUT)));
                t.same("depth", 1, t.depth("MQI.LOCAL"));
            });
        at("PUT-263", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            t.mark(() -> queue.put(message(bytes(4_194_305)), MqiCase.pmo(OUT)));
        });
        at("PUT-264", t -> {
            MQQueueManager wide = t.connect("", Map.of(CHANNEL_PROPERTY, "MQI.LONG"));
            MQQueue queue = t.open(wide, "MQI.LOCAL", MQOO_OUTPUT);
            t.mark(() -> queue.put(message(bytes(4_194_305)), MqiCase.pmo(OUT)));
        });
    }

    private void queues() {
        inhibited("PUT-270", "", "MQI.PUTOFF");
        inhibited("PUT-271", "", "MQI.QA.PUTOFF");
        inhibited("PUT-272", "", "MQI.QA.TO.PUTOFF");
        inhibited("PUT-273", "", "MQI.R.PUTOFF");
        inhibited("PUT-274", "", "MQI.QA.TO.RPUTOFF");
        inhibited("PUT-275", "", "MQI.R.XPUTOFF");
        inhibited("PUT-276", "", "MQI.XQ.PUTOFF");
        inhibited("PUT-277", "MQI.XQ.PUTOFF", "ANY");
        inhibited("PUT-278", "MQI.QMA.PUTOFF", "ANY");
        full("PUT-280", "MQI.FULL", 2, "MQI.FULL");
        full("PUT-281", "MQI.QA.TO.FULL", 2, "MQI.FULL");
        full("PUT-282", "MQI.R.FULL", 1, "MQI.XQ.FULL");
        full("PUT-283", "MQI.NOROOM", 0, "MQI.NOROOM");
        at("PUT-284", t -> {
            MQQueue queue = t.open("MQI.FULL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            for (int i = 0; i < 2; i++) queue.put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT));
            MQQueue other = t.open(t.connect(), "MQI.FULL", MQOO_OUTPUT);
            t.mark(() -> t.put(other, "one too many"));
            t.qm().backout();
            t.put(other, "room again");
        });
        at("PUT-285", t -> {
            MQQueue queue = t.open("MQI.FULL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            for (int i = 0; i < 2; i++) t.put(queue, "x");
            queue.get(new MQMessage(), MqiCase.gmo(MQGMO_SYNCPOINT));
            MQQueue other = t.open(t.connect(), "MQI.FULL", MQOO_OUTPUT);
            t.mark(() -> t.put(other, "as the depth is lower already"));
            t.qm().commit();
        });
        at("PUT-286", t -> {
            MQQueue queue = t.open("MQI.FULL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            queue.put(MqiCase.message("1"), MqiCase.pmo(MQPMO_SYNCPOINT));
            queue.put(MqiCase.message("2"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(() -> queue.put(MqiCase.message("3"), MqiCase.pmo(MQPMO_SYNCPOINT)));
            t.qm().commit();
            t.same("the others are committed", 2, t.depth("MQI.FULL"));
        });
        defaults("PUT-290", "MQI.LOCAL", "MQI.LOCAL", 0, 0);
        defaults("PUT-291", "MQI.PRIORITY", "MQI.PRIORITY", 7, 1);
        defaults("PUT-292", "MQI.QA1", "MQI.LOCAL", 5, 1);
        defaults("PUT-293", "MQI.QA.TO.PRIORITY", "MQI.PRIORITY", 1, 0);
        defaults("PUT-294", "MQI.QR2", "MQI.XQ2", 6, 1);
        defaults("PUT-295", "MQI.QA2", "MQI.XQ2", 0, 0);
        defaults("PUT-296", "MQI.FIFO", "MQI.FIFO", 3, 0);
    }

    /** Puts whose answer is not waited for, and what MQSTAT says of them. */
    private void later() {
        at("PUT-300", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            for (int i = 0; i < 10; i++)
                t.mark(() -> queue.put(MqiCase.message("x"), MqiCase.pmo(OUT | MQPMO_ASYNC_RESPONSE)));
            MQAsyncStatus status = t.qm().getAsyncStatus();
            t.same("failed", 0, status.putFailureCount);
            t.same("depth", 10, t.depth("MQI.LOCAL"));
        });
        at("PUT-301", t -> {
            MQQueue queue = t.open("MQI.FULL", MQOO_OUTPUT);
            int refusedAtOnce = 0;
            for (int i = 0; i < 5; i++) {
                try {
                    queue.put(MqiCase.message("x"), MqiCase.pmo(OUT | MQPMO_ASYNC_RESPONSE));
                } catch (MQException e) {
                    t.same("reason", MQRC_Q_FULL, e.reasonCode);
                    refusedAtOnce++;
                }
            }
            MQAsyncStatus status = t.markValue(() -> t.qm().getAsyncStatus());
            t.same("depth", 2, t.depth("MQI.FULL"));
            if (refusedAtOnce == 0) {
                t.same("went well", 2, status.putSuccessCount);
                t.same("failed", 3, status.putFailureCount);
                t.same("completion code", MQCC_FAILED, status.completionCode);
                t.same("reason", MQRC_Q_FULL, status.reasonCode);
                t.text("object", "MQI.FULL", status.objectName);
                t.same("asked again", 0, t.qm().getAsyncStatus().putFailureCount);
            } else {
                t.same("refused at once", 3, refusedAtOnce);
            }
        });
        at("PUT-302", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            for (int i = 0; i < 10; i++)
                queue.put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT | MQPMO_ASYNC_RESPONSE));
            t.mark(() -> t.qm().commit());
            t.same("depth", 10, t.depth("MQI.LOCAL"));
        });
        at("PUT-303", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            for (int i = 0; i < 10; i++)
                queue.put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT | MQPMO_ASYNC_RESPONSE));
            t.mark(() -> t.qm().backout());
            t.same("depth", 0, t.depth("MQI.LOCAL"));
        });
        at("PUT-304", t -> {
            MQQueue queue = t.open("MQI.ASYNC", MQOO_OUTPUT);
            for (int i = 0; i < 10; i++) t.mark(() -> queue.put(MqiCase.message("x"), MqiCase.pmo(OUT)));
            t.qm().getAsyncStatus();
            t.same("depth", 10, t.depth("MQI.ASYNC"));
        });
        at("PUT-305", t -> {
            t.empty("MQI.LOCAL");
            for (int i = 0; i < 10; i++)
                t.mark(() -> t.qm().put("MQI.LOCAL", MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT)));
            t.qm().commit();
            t.same("depth", 10, t.depth("MQI.LOCAL"));
        });
        at("PUT-306", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            byte[][] ids = new byte[20][];
            for (int i = 0; i < ids.length; i++) {
                MQMessage message = MqiCase.message("x");
                t.mark(() -> queue.put(message, MqiCase.pmo(OUT | MQPMO_ASYNC_RESPONSE)));
                ids[i] = message.messageId;
            }
            for (byte[] id : ids) t.bytes("MsgId that the program was told", id, t.get(queue).messageId);
        });
        at("PUT-307", t -> {
            MQDistributionListItem one = new MQDistributionListItem();
            one.queueName = "MQI.LOCAL";
            MQDistributionListItem two = new MQDistributionListItem();
            two.queueName = "MQI.LOCAL.2";
            t.mark(() -> t.qm().accessDistributionList(new MQDistributionListItem[] {one, two}, MQOO_OUTPUT));
        });
    }

    /** Structures of each version. */
    private void versions() {
        for (int version = 1; version <= 2; version++) {
            int wanted = version;
            at("PUT-31" + version, t -> {
                t.empty("MQI.LOCAL");
                MqiRaw raw = t.raw();
                Hobj handle = raw.open(raw.od(MQOT_Q, "MQI.LOCAL"), MQOO_OUTPUT).getHobj();
                t.mark(() -> raw.put(handle, raw.md(wanted), raw.pmo(1, OUT), "v".getBytes(StandardCharsets.US_ASCII)));
                t.same("data", "v", MqiCase.body(t.get("MQI.LOCAL")));
            });
        }
        for (int version = 1; version <= 3; version++) {
            int wanted = version;
            at("PUT-32" + version, t -> {
                t.empty("MQI.LOCAL");
                MqiRaw raw = t.raw();
                Hobj handle = raw.open(raw.od(MQOT_Q, "MQI.LOCAL"), MQOO_OUTPUT).getHobj();
                t.mark(() -> raw.put(handle, raw.md(1), raw.pmo(wanted, OUT), "v".getBytes(StandardCharsets.US_ASCII)));
                t.same("data", "v", MqiCase.body(t.get("MQI.LOCAL")));
            });
        }
        for (int version = 1; version <= 4; version++) {
            int wanted = version;
            at("PUT-33" + version, t -> {
                t.empty("MQI.LOCAL");
                MqiRaw raw = t.raw();
                MQOD descriptor = raw.od(MQOT_Q, "MQI.LOCAL");
                descriptor.setVersion(wanted);
                t.mark(() -> raw.put1(descriptor, raw.md(2), raw.pmo(2, OUT), "v".getBytes(StandardCharsets.US_ASCII)));
                t.same("data", "v", MqiCase.body(t.get("MQI.LOCAL")));
            });
        }
        for (int version : new int[] {0, 3}) {
            at("PUT-34" + version, t -> {
                MqiRaw raw = t.raw();
                Hobj handle = raw.open(raw.od(MQOT_Q, "MQI.LOCAL"), MQOO_OUTPUT).getHobj();
                t.mark(() -> raw.put(handle, raw.md(version), raw.pmo(1, OUT), new byte[1]));
            });
        }
        at("PUT-344", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = raw.open(raw.od(MQOT_Q, "MQI.LOCAL"), MQOO_OUTPUT).getHobj();
            t.mark(() -> raw.put(handle, raw.md(1), raw.pmo(4, OUT), new byte[1]));
        });
        at("PUT-345", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            t.mark(() -> queue.put(MqiCase.message("x"), null));
        });
        at("PUT-346", t -> {
            MQQueue queue = t.open("MQI.LOCAL", MQOO_OUTPUT);
            t.mark(() -> queue.put(null, MqiCase.pmo(OUT)));
        });
        at("PUT-335", t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_PROCESS, "MQI.LOCAL");
            t.mark(() -> raw.put1(descriptor, raw.md(1), raw.pmo(1, OUT), new byte[1]));
        });
        at("PUT-336", t -> {
            MqiRaw raw = t.raw();
            Hobj handle = raw.open(raw.od(MQOT_Q_MGR, ""), MQOO_INQUIRE).getHobj();
            t.mark(() -> raw.put(handle, raw.md(1), raw.pmo(1, OUT), new byte[1]));
        });
    }
}
