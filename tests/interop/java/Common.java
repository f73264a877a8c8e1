// What the interoperability programs share: connecting, and a JSON line at the end.

import com.ibm.mq.MQException;
import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.Hashtable;
import java.util.zip.CRC32;

final class Common {
    private Common() {}

    static MQQueueManager connect(int port, String channel, String queueManager) throws MQException {
        Hashtable<String, Object> properties = new Hashtable<>();
        properties.put(CMQC.HOST_NAME_PROPERTY, "127.0.0.1");
        properties.put(CMQC.PORT_PROPERTY, port);
        properties.put(CMQC.CHANNEL_PROPERTY, channel);
        properties.put(CMQC.TRANSPORT_PROPERTY, CMQC.TRANSPORT_MQSERIES_CLIENT);
        return new MQQueueManager(queueManager, properties);
    }

    /** Connects, however long the service takes to come back; gives up after a minute. */
    static MQQueueManager reconnect(int port, String channel) throws MQException, InterruptedException {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (true) {
            try {
                return connect(port, channel, "");
            } catch (MQException e) {
                if (System.nanoTime() > deadline) throw e;
                Thread.sleep(20);
            }
        }
    }

    static MQPutMessageOptions putOptions(boolean syncpoint) {
        MQPutMessageOptions options = new MQPutMessageOptions();
        options.options = syncpoint ? CMQC.MQPMO_SYNCPOINT : CMQC.MQPMO_NO_SYNCPOINT;
        return options;
    }

    static MQGetMessageOptions getOptions(boolean syncpoint, int waitMs) {
        MQGetMessageOptions options = new MQGetMessageOptions();
        options.options = (syncpoint ? CMQC.MQGMO_SYNCPOINT : CMQC.MQGMO_NO_SYNCPOINT) | CMQC.MQGMO_WAIT;
        options.waitInterval = waitMs;
        return options;
    }

    static MQMessage text(String text, boolean persistent) throws java.io.IOException {
        MQMessage message = new MQMessage();
        message.persistence = persistent ? CMQC.MQPER_PERSISTENT : CMQC.MQPER_NOT_PERSISTENT;
        message.format = CMQC.MQFMT_STRING;
        message.characterSet = 1208;
        message.writeString(text);
        return message;
    }

    static String read(MQMessage message) throws java.io.IOException {
        return message.readStringOfByteLength(message.getMessageLength());
    }

    /** A payload that carries its number and its own checksum: the ledger trusts nothing else. */
    static String payload(long number, int size) {
        StringBuilder body = new StringBuilder(size + 32);
        body.append(number).append(':');
        for (int i = body.length(); i < size; i++) body.append((char) ('a' + (number * 31 + i) % 26));
        CRC32 crc = new CRC32();
        crc.update(body.toString().getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        return body.append('#').append(Long.toHexString(crc.getValue())).toString();
    }

    /** The number of a payload; fails on one whose checksum does not fit. */
    static long number(String payload) {
        int hash = payload.lastIndexOf('#');
        if (hash < 0) throw new IllegalStateException("no checksum in " + payload);
        CRC32 crc = new CRC32();
        crc.update(payload.substring(0, hash).getBytes(java.nio.charset.StandardCharsets.US_ASCII));
        if (!Long.toHexString(crc.getValue()).equals(payload.substring(hash + 1)))
            throw new IllegalStateException("wrong checksum in " + payload);
        return Long.parseLong(payload.substring(0, payload.indexOf(':')));
    }

    static void backOut(MQQueueManager queueManager) {
        if (queueManager == null) return;
        try {
            queueManager.backout();
        } catch (MQException ignored) {
            // The socket is gone, and so is the unit of work.
        }
    }

    static void close(MQQueueManager queueManager) {
        if (queueManager == null) return;
        try {
            queueManager.disconnect();
        } catch (MQException ignored) {
            // The service was killed: the socket is gone, and so is the unit of work.
        }
    }

    static MQQueue open(MQQueueManager queueManager, String queue, int options) throws MQException {
        return queueManager.accessQueue(queue, options | CMQC.MQOO_FAIL_IF_QUIESCING);
    }
}
