// What the areas about messages (get, browse, group, report, convert, property, unit) share: queues that can do
// everything, messages with one thing special, gets with one thing special, a second thread.

import com.ibm.mq.MQException;
import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

abstract class MqiMessages extends MqiArea {
    static final int IN = CMQC.MQOO_INPUT_SHARED;
    static final int OUT = CMQC.MQOO_OUTPUT;
    static final int BROWSE = CMQC.MQOO_BROWSE;
    static final int ALL = IN | OUT | BROWSE | CMQC.MQOO_INQUIRE;
    static final int NOSYNC = CMQC.MQGMO_NO_SYNCPOINT;
    static final int SYNC = CMQC.MQGMO_SYNCPOINT;
    static final int WAIT = CMQC.MQGMO_WAIT;
    static final int FIRST = CMQC.MQGMO_BROWSE_FIRST;
    static final int NEXT = CMQC.MQGMO_BROWSE_NEXT;
    /** A short wait that must end by itself. */
    static final int SHORT_MS = 200;
    /** A wait that something else must end. */
    static final int LONG_MS = 8_000;

    private static final Map<MqiCase, Set<String>> emptied = new WeakHashMap<>();

    /** Opens a queue for input, output, browse and inquiry. */
    static MQQueue queue(MqiCase t, String name) throws MQException {
        return queue(t, t.qm(), name);
    }

    static MQQueue queue(MqiCase t, MQQueueManager connection, String name) throws MQException {
        fresh(t, name);
        return t.open(connection, name, ALL);
    }

    /** What a case that hung has left is not there when a case first opens the queue. */
    private static synchronized void fresh(MqiCase t, String name) {
        if (emptied.computeIfAbsent(t, key -> new HashSet<>()).add(name)) Mqi.drain(name);
    }

    // Putting.

    static MQMessage put(MQQueue queue, MQMessage message, int options) throws Exception {
        queue.put(message, MqiCase.pmo(options));
        return message;
    }

    static MQMessage put(MQQueue queue, MQMessage message) throws Exception {
        return put(queue, message, CMQC.MQPMO_NO_SYNCPOINT);
    }

    static MQMessage put(MQQueue queue, String text) throws Exception {
        return put(queue, MqiCase.message(text));
    }

    static MQMessage unit(MQQueue queue, String text) throws Exception {
        return put(queue, MqiCase.message(text), CMQC.MQPMO_SYNCPOINT);
    }

    static MQMessage persistent(String text) throws Exception {
        MQMessage message = MqiCase.message(text);
        message.persistence = CMQC.MQPER_PERSISTENT;
        return message;
    }

    static MQMessage priority(String text, int priority) throws Exception {
        MQMessage message = MqiCase.message(text);
        message.priority = priority;
        return message;
    }

    static MQMessage correlated(String text, byte[] id) throws Exception {
        MQMessage message = MqiCase.message(text);
        message.correlationId = id.clone();
        return message;
    }

    static MQMessage expiring(String text, int tenths) throws Exception {
        MQMessage message = MqiCase.message(text);
        message.expiry = tenths;
        return message;
    }

    /** A message of a group or a segment; the group is generated when it is null. */
    static MQMessage member(String text, byte[] group, int sequence, int offset, int flags) throws Exception {
        MQMessage message = MqiCase.message(text);
        if (group != null) message.groupId = group.clone();
        message.messageSequenceNumber = sequence;
        message.offset = offset;
        message.messageFlags = flags;
        return message;
    }

    // Getting.

    static MQGetMessageOptions options(int options, int match) {
        MQGetMessageOptions get = MqiCase.gmo(options);
        get.matchOptions = match;
        return get;
    }

    static MQGetMessageOptions waiting(int options, int ms) {
        MQGetMessageOptions get = MqiCase.gmo(options | WAIT);
        get.waitInterval = ms;
        return get;
    }

    static MQMessage get(MQQueue queue, int options) throws MQException {
        MQMessage message = new MQMessage();
        queue.get(message, MqiCase.gmo(options));
        return message;
    }

    static String text(MQQueue queue, int options) throws Exception {
        return MqiCase.body(get(queue, options));
    }

    static String text(MQQueue queue) throws Exception {
        return text(queue, NOSYNC);
    }

    /** Gets with what a prepared message holds to match. */
    static MQMessage match(MQQueue queue, MQMessage wanted, int options, int match) throws MQException {
        queue.get(wanted, options(options, match));
        return wanted;
    }

    static MQMessage wanted(byte[] messageId, byte[] correlationId) {
        MQMessage wanted = new MQMessage();
        if (messageId != null) wanted.messageId = messageId.clone();
        if (correlationId != null) wanted.correlationId = correlationId.clone();
        return wanted;
    }

    /** The texts of all messages, in the order in which they are got. */
    static String all(MQQueue queue) throws Exception {
        StringBuilder texts = new StringBuilder();
        while (true) {
            try {
                String next = text(queue);
                texts.append(texts.length() == 0 ? "" : " ").append(next);
            } catch (MQException e) {
                if (e.reasonCode == CMQC.MQRC_NO_MSG_AVAILABLE) return texts.toString();
                throw e;
            }
        }
    }

    static void none(MqiCase t, MQQueue queue) throws Exception {
        t.reason(CMQC.MQRC_NO_MSG_AVAILABLE, () -> get(queue, NOSYNC));
    }

    static byte[] raw(MQMessage message) throws Exception {
        message.setDataOffset(0);
        byte[] data = new byte[message.getMessageLength()];
        message.readFully(data);
        return data;
    }

    static byte[] filled(int length, int seed) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) data[i] = (byte) (seed + i * 31 + i / 251);
        return data;
    }

    static boolean zero(byte[] bytes) {
        return Arrays.equals(bytes, new byte[bytes.length]);
    }

    // A second thread.

    /** Starts a call on a thread of its own. */
    static <T> FutureTask<T> start(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    /** What a started call returns, or throws. */
    static <T> T end(FutureTask<T> task) throws Exception {
        try {
            return task.get(LONG_MS + 2_000, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
            throw e;
        }
    }

    /** A get that waits, begun on another connection before this returns. */
    static FutureTask<MQMessage> waiter(MqiCase t, String name, int open, MQGetMessageOptions options, MQMessage wanted)
            throws Exception {
        MQQueueManager other = t.connect();
        MQQueue queue = t.open(other, name, open);
        FutureTask<MQMessage> task = start(() -> {
            queue.get(wanted, options);
            return wanted;
        });
        // The call must have reached the queue manager; nothing shows it from outside.
        Thread.sleep(150);
        return task;
    }

    static MQPutMessageOptions pmo(int options) {
        return MqiCase.pmo(options);
    }
}
