// What the body of a case works with: connections that are closed and queues that are emptied after it, the marked call
// that the table judges, and what it asserts besides.

import com.ibm.mq.MQException;
import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.Hashtable;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

final class MqiCase {
    /** A call of the MQI; what it returns is handed on. */
    interface Call<T> {
        T run() throws Exception;
    }

    /** A call of the MQI that returns nothing. */
    interface Do {
        void run() throws Exception;
    }

    final Mqi.Row row;
    /** How many calls were compared with the row. */
    volatile int marked;
    private MQQueueManager first;
    private volatile boolean abandoned;
    private final List<MQQueueManager> connections = new ArrayList<>();
    private final Set<String> touched = new LinkedHashSet<>();
    private final Deque<Do> undo = new ArrayDeque<>();

    MqiCase(Mqi.Row row) {
        this.row = row;
    }

    // The marked call.

    /** Makes the call that the case is about: completion code and reason must be those of the row. */
    <T> T markValue(Call<T> call) throws Exception {
        marked++;
        T value = null;
        int completion = CMQC.MQCC_OK;
        int reason = CMQC.MQRC_NONE;
        try {
            value = call.run();
        } catch (MQException e) {
            completion = e.completionCode;
            reason = e.reasonCode;
        }
        if (completion != row.completion() || reason != row.reason())
            throw new AssertionError("expected " + row.completion() + "/" + row.reason() + ", came " + completion + "/"
                + reason + " from " + row.verb() + " " + row.options() + " [" + row.state() + "]");
        return value;
    }

    void mark(Do call) throws Exception {
        markValue(() -> {
            call.run();
            return null;
        });
    }

    // What else is asserted.

    /** A call beside the marked one that must fail, or warn, with a reason. */
    void reason(int expected, Do call) throws Exception {
        int came = 0;
        try {
            call.run();
        } catch (MQException e) {
            came = e.reasonCode;
        }
        if (came != expected) throw new AssertionError("beside the marked call: expected " + expected + ", came " + came);
    }

    void same(String what, Object expected, Object found) {
        if (expected == null ? found != null : !expected.equals(found))
            throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }

    /** Names and texts: blanks at the end do not count. */
    void text(String what, String expected, String found) {
        same(what, expected.stripTrailing(), found == null ? null : found.replace('\0', ' ').stripTrailing());
    }

    void bytes(String what, byte[] expected, byte[] found) {
        if (!Arrays.equals(expected, found))
            throw new AssertionError(what + ": expected " + hex(expected) + ", found " + hex(found));
    }

    void that(String what, boolean holds) {
        if (!holds) throw new AssertionError(what);
    }

    static String hex(byte[] bytes) {
        if (bytes == null) return "nothing";
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(bytes.length, 40); i++) text.append(String.format("%02x", bytes[i]));
        return bytes.length > 40 ? text + ".. of " + bytes.length : text.toString();
    }

    // Connections.

    /** The connection of the case, made when it is first asked for. */
    MQQueueManager qm() throws MQException {
        if (first == null) first = connect();
        return first;
    }

    /** One more connection. */
    MQQueueManager connect() throws MQException {
        return connect("", Map.of());
    }

    /** One more connection, to a name and with properties of its own. */
    MQQueueManager connect(String queueManager, Map<String, Object> more) throws MQException {
        return connect(queueManager, more, CMQC.MQCNO_NONE);
    }

    MQQueueManager connect(String queueManager, Map<String, Object> more, int options) throws MQException {
        Hashtable<String, Object> properties = new Hashtable<>();
        properties.put(CMQC.HOST_NAME_PROPERTY, "127.0.0.1");
        properties.put(CMQC.PORT_PROPERTY, Mqi.port);
        properties.put(CMQC.CHANNEL_PROPERTY, Mqi.channel);
        properties.put(CMQC.TRANSPORT_PROPERTY, CMQC.TRANSPORT_MQSERIES_CLIENT);
        if (options != 0) properties.put(CMQC.CONNECT_OPTIONS_PROPERTY, options);
        properties.putAll(more);
        MQQueueManager connection = new MQQueueManager(queueManager, properties);
        synchronized (connections) {
            connections.add(connection);
        }
        return connection;
    }

    /** A connection that can be lost: cut the relay. */
    MQQueueManager through(MqiRelay relay) throws MQException {
        return connect("", Map.of(CMQC.PORT_PROPERTY, relay.port()));
    }

    /** The calls as a C program makes them, on the connection of the case. */
    MqiRaw raw() throws Exception {
        return new MqiRaw(qm());
    }

    /** Asks again until it holds, for two seconds at most: what a lost connection leaves is cleared in its own time. */
    void eventually(String what, Call<Boolean> holds) throws Exception {
        long end = System.nanoTime() + 2_000_000_000L;
        while (!holds.run()) {
            if (System.nanoTime() > end) throw new AssertionError("not within two seconds: " + what);
            Thread.sleep(10);
        }
    }

    // Queues.

    /** Opens with just these options, on the connection of the case. */
    MQQueue open(String queue, int options) throws MQException {
        return open(qm(), queue, options);
    }

    MQQueue open(MQQueueManager connection, String queue, int options) throws MQException {
        empty(queue);
        return connection.accessQueue(queue, options);
    }

    /** Opens with a queue manager name, a dynamic queue name and an alternate user; null where there is none. */
    MQQueue open(String queue, int options, String queueManager, String dynamic, String user) throws MQException {
        empty(queue);
        return qm().accessQueue(queue, options, queueManager, dynamic, user);
    }

    /** These queues are emptied after the case; opened ones are by themselves. */
    void empty(String... queues) {
        for (String queue : queues) if (queue != null && !queue.isBlank()) touched.add(queue);
    }

    /** What must be done after the case, whatever came of it, before its connections end. */
    void after(Do action) {
        undo.push(action);
    }

    // Messages.

    /** A message with a text, not persistent, no format. */
    static MQMessage message(String text) throws java.io.IOException {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.write(text.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        return message;
    }

    static MQPutMessageOptions pmo(int options) {
        MQPutMessageOptions put = new MQPutMessageOptions();
        put.options = options;
        return put;
    }

    static MQGetMessageOptions gmo(int options) {
        MQGetMessageOptions get = new MQGetMessageOptions();
        get.options = options;
        return get;
    }

    /** Puts a text outside of a unit of work; the message as it is after the call. */
    MQMessage put(MQQueue queue, String text) throws Exception {
        MQMessage message = message(text);
        queue.put(message, pmo(CMQC.MQPMO_NO_SYNCPOINT));
        return message;
    }

    /** Gets the next message outside of a unit of work, without waiting. */
    MQMessage get(MQQueue queue) throws MQException {
        MQMessage message = new MQMessage();
        queue.get(message, gmo(CMQC.MQGMO_NO_SYNCPOINT));
        return message;
    }

    /** The next message of a queue by its name. */
    MQMessage get(String queue) throws MQException {
        MQQueue input = open(queue, CMQC.MQOO_INPUT_SHARED);
        try {
            return get(input);
        } finally {
            input.close();
        }
    }

    static String body(MQMessage message) throws java.io.IOException {
        message.setDataOffset(0);
        byte[] data = new byte[message.getMessageLength()];
        message.readFully(data);
        return new String(data, java.nio.charset.StandardCharsets.US_ASCII);
    }

    int depth(String queue) throws MQException {
        MQQueue inquiry = open(queue, CMQC.MQOO_INQUIRE);
        try {
            return inquiry.getCurrentDepth();
        } finally {
            inquiry.close();
        }
    }

    /** Bytes that can be told apart, as long as an id. */
    static byte[] id(int seed) {
        byte[] id = new byte[24];
        for (int i = 0; i < id.length; i++) id[i] = (byte) (seed + i * 7 + 1);
        return id;
    }

    // The end.

    void cleanUp() {
        if (abandoned) return;
        while (!undo.isEmpty()) {
            try {
                undo.pop().run();
            } catch (Exception ignored) {
                // The case itself has said what is wrong.
            }
        }
        for (MQQueueManager connection : connections) {
            Common.backOut(connection);
            Common.close(connection);
        }
        for (String queue : touched) Mqi.drain(queue);
    }

    /** It hangs: nothing more is asked of its connections. */
    void abandon() {
        abandoned = true;
    }
}
