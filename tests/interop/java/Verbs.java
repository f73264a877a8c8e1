// One check for each call and reason code that an application meets: connect, open, put, put1, get with wait, browse,
// inquire, close, commit, back out, disconnect. Each prints a line; the last line says how many passed and failed.
//
// Usage: Verbs PORT

import com.ibm.mq.MQException;
import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.Arrays;

public final class Verbs {
    static int port;
    static int passed;
    static int failed;

    interface Body {
        void run(MQQueueManager queueManager) throws Exception;
    }

    static void check(String name, Body body) {
        MQQueueManager queueManager = null;
        try {
            queueManager = Common.connect(port, "DEV.APP.SVRCONN", "QM1");
            body.run(queueManager);
            passed++;
            System.out.println("ok " + name);
        } catch (Throwable e) {
            failed++;
            System.out.println("FAILED " + name + ": " + e);
            e.printStackTrace(System.out);
        } finally {
            Common.close(queueManager);
        }
    }

    static void same(Object expected, Object found) {
        if (!expected.equals(found)) throw new AssertionError("expected " + expected + ", found " + found);
    }

    static void reason(int expected, Body body, MQQueueManager queueManager) throws Exception {
        try {
            body.run(queueManager);
        } catch (MQException e) {
            same(expected, e.reasonCode);
            return;
        }
        throw new AssertionError("expected reason " + expected + ", but the call succeeded");
    }

    static MQQueue queue(MQQueueManager queueManager, String name) throws MQException {
        return Common.open(queueManager, name,
            CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_INQUIRE);
    }

    static void drain(MQQueue queue) throws Exception {
        while (true) {
            try {
                queue.get(new MQMessage(), Common.getOptions(false, 0));
            } catch (MQException e) {
                same(CMQC.MQRC_NO_MSG_AVAILABLE, e.reasonCode);
                return;
            }
        }
    }

    static String get(MQQueue queue) throws Exception {
        MQMessage message = new MQMessage();
        queue.get(message, Common.getOptions(false, 0));
        return Common.read(message);
    }

    static void put(MQQueue queue, String text) throws Exception {
        queue.put(Common.text(text, false), Common.putOptions(false));
    }

    public static void main(String[] args) throws Exception {
        port = Integer.parseInt(args[0]);
        MQException.log = null;

        check("connect names the queue manager", qm -> same("QM1", qm.getName().trim()));
        check("the command level is 9xx", qm -> {
            if (qm.getCommandLevel() < 900) throw new AssertionError("level " + qm.getCommandLevel());
        });
        check("the dead-letter queue is named", qm ->
            same("DEV.DEAD.LETTER.QUEUE", qm.getAttributeString(CMQC.MQCA_DEAD_LETTER_Q_NAME, 48).trim()));
        check("an unknown queue manager is 2058", qm ->
            reason(2058, q -> Common.connect(port, "DEV.APP.SVRCONN", "NOSUCHQM"), qm));
        check("an unknown channel is 2540", qm ->
            reason(2540, q -> Common.connect(port, "NO.SUCH.CHANNEL", "QM1"), qm));
        check("a SYSTEM channel is 2035", qm ->
            reason(2035, q -> Common.connect(port, "SYSTEM.DEF.SVRCONN", "QM1"), qm));
        check("an unknown queue is 2085", qm -> reason(2085, q -> queue(q, "NO.SUCH.QUEUE"), qm));
        check("a SYSTEM queue is 2035 on the application's channel", qm ->
            reason(2035, q -> queue(q, "SYSTEM.ADMIN.COMMAND.QUEUE"), qm));
        check("put and get", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            drain(queue);
            put(queue, "hello");
            same("hello", get(queue));
            reason(2033, q -> get(queue), qm);
        });
        check("the descriptor comes back", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            MQMessage message = Common.text("with a descriptor", true);
            byte[] correlation = new byte[24];
            Arrays.fill(correlation, (byte) 7);
            message.correlationId = correlation;
            message.priority = 3;
            message.replyToQueueName = "DEV.QUEUE.2";
            message.messageType = CMQC.MQMT_REQUEST;
            message.expiry = 6000;
            queue.put(message, Common.putOptions(false));
            MQMessage got = new MQMessage();
            queue.get(got, Common.getOptions(false, 0));
            same(Arrays.toString(message.messageId), Arrays.toString(got.messageId));
            same(Arrays.toString(correlation), Arrays.toString(got.correlationId));
            same(3, got.priority);
            same("DEV.QUEUE.2", got.replyToQueueName.trim());
            same("QM1", got.replyToQueueManagerName.trim());
            same(CMQC.MQMT_REQUEST, got.messageType);
            same(CMQC.MQPER_PERSISTENT, got.persistence);
            same(CMQC.MQFMT_STRING.trim(), got.format.trim());
            if (got.expiry <= 0 || got.expiry > 6000) throw new AssertionError("expiry " + got.expiry);
            same(28, got.putApplicationType);
        });
        check("priority first, then first in first out", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            for (int[] pair : new int[][] {{1, 0}, {5, 1}, {1, 2}, {9, 3}, {5, 4}}) {
                MQMessage message = Common.text("m" + pair[1], false);
                message.priority = pair[0];
                queue.put(message, Common.putOptions(false));
            }
            StringBuilder order = new StringBuilder();
            for (int i = 0; i < 5; i++) order.append(get(queue));
            same("m3m1m4m0m2", order.toString());
        });
        check("put1 and get by message and correlation id", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            MQMessage one = Common.text("one", false);
            qm.put("DEV.QUEUE.1", one, Common.putOptions(false));
            MQMessage two = Common.text("two", false);
            two.correlationId = "correlated-correlated-24".getBytes();
            qm.put("DEV.QUEUE.1", two, Common.putOptions(false));
            MQMessage got = new MQMessage();
            got.messageId = two.messageId;
            queue.get(got, Common.getOptions(false, 0));
            same("two", Common.read(got));
            queue.put(two, Common.putOptions(false));
            MQMessage correlated = new MQMessage();
            correlated.correlationId = two.correlationId;
            queue.get(correlated, Common.getOptions(false, 0));
            same(Arrays.toString(two.correlationId), Arrays.toString(correlated.correlationId));
            MQMessage none = new MQMessage();
            none.messageId = two.messageId;
            none.correlationId = "something-else-of-24-byt".getBytes();
            reason(2033, q -> queue.get(none, Common.getOptions(false, 0)), qm);
            same("one", get(queue));
        });
        check("commit makes visible, back-out does not", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            queue.put(Common.text("backed out", true), Common.putOptions(true));
            qm.backout();
            reason(2033, q -> get(queue), qm);
            queue.put(Common.text("committed", true), Common.putOptions(true));
            MQQueueManager other = Common.connect(port, "DEV.APP.SVRCONN", "");
            MQQueue seen = queue(other, "DEV.QUEUE.1");
            reason(2033, q -> get(seen), other);
            qm.commit();
            MQMessage message = new MQMessage();
            seen.get(message, Common.getOptions(true, 0));
            same("committed", Common.read(message));
            same(0, message.backoutCount);
            other.backout();
            MQMessage again = new MQMessage();
            seen.get(again, Common.getOptions(true, 0));
            same(1, again.backoutCount);
            other.commit();
            reason(2033, q -> get(queue), qm);
            Common.close(other);
        });
        check("disconnect commits", qm -> {
            MQQueueManager other = Common.connect(port, "DEV.APP.SVRCONN", "");
            queue(other, "DEV.QUEUE.1").put(Common.text("at disconnect", true), Common.putOptions(true));
            other.disconnect();
            same("at disconnect", get(queue(qm, "DEV.QUEUE.1")));
        });
        check("a waiting get is woken by a put", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            Thread putter = new Thread(() -> {
                try {
                    MQQueueManager other = Common.connect(port, "DEV.APP.SVRCONN", "");
                    put(queue(other, "DEV.QUEUE.1"), "for the waiter");
                    Common.close(other);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            });
            putter.start();
            MQMessage message = new MQMessage();
            queue.get(message, Common.getOptions(false, 10_000));
            same("for the waiter", Common.read(message));
            putter.join();
        });
        check("a waiting get ends with 2033", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            reason(2033, q -> queue.get(new MQMessage(), Common.getOptions(false, 300)), qm);
        });
        check("browse first and next leave the messages", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            put(queue, "a");
            put(queue, "b");
            MQGetMessageOptions first = new MQGetMessageOptions();
            first.options = CMQC.MQGMO_BROWSE_FIRST;
            MQGetMessageOptions next = new MQGetMessageOptions();
            next.options = CMQC.MQGMO_BROWSE_NEXT;
            MQMessage message = new MQMessage();
            queue.get(message, first);
            same("a", Common.read(message));
            MQMessage second = new MQMessage();
            queue.get(second, next);
            same("b", Common.read(second));
            reason(2033, q -> queue.get(new MQMessage(), next), qm);
            same(2, queue.getCurrentDepth());
            same("a", get(queue));
            same("b", get(queue));
        });
        check("a message longer than the first buffer and than a segment", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            byte[] data = new byte[300_000];
            for (int i = 0; i < data.length; i++) data[i] = (byte) (i * 31 + i / 251);
            MQMessage message = new MQMessage();
            message.write(data);
            queue.put(message, Common.putOptions(false));
            MQMessage got = new MQMessage();
            queue.get(got, Common.getOptions(false, 0));
            byte[] back = new byte[got.getMessageLength()];
            got.readFully(back);
            if (!Arrays.equals(data, back)) throw new AssertionError("the data differs");
        });
        check("a message that does not fit is 2080 and stays, or 2079 and is cut", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            put(queue, "0123456789");
            reason(2080, q -> queue.get(new MQMessage(), Common.getOptions(false, 0), 4), qm);
            MQGetMessageOptions cut = Common.getOptions(false, 0);
            cut.options |= CMQC.MQGMO_ACCEPT_TRUNCATED_MSG;
            MQMessage message = new MQMessage();
            reason(2079, q -> queue.get(message, cut, 4), qm);
            same(10, message.getTotalMessageLength());
            reason(2033, q -> get(queue), qm);
        });
        check("options that a handle was not opened for", qm -> {
            MQQueue output = Common.open(qm, "DEV.QUEUE.1", CMQC.MQOO_OUTPUT);
            reason(2037, q -> get(output), qm);
            MQQueue input = Common.open(qm, "DEV.QUEUE.1", CMQC.MQOO_INPUT_SHARED);
            reason(2039, q -> put(input, "no"), qm);
        });
        check("inquire gives depth, limits and open counts", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            same(0, queue.getCurrentDepth());
            same(5000, queue.getMaximumDepth());
            if (queue.getOpenInputCount() < 1) throw new AssertionError("open input count");
            same(CMQC.MQQT_LOCAL, queue.getQueueType());
        });
        check("a queue put by two threads of one connection each", qm -> {
            MQQueue queue = queue(qm, "DEV.QUEUE.1");
            Thread[] threads = new Thread[4];
            for (int t = 0; t < threads.length; t++) {
                threads[t] = new Thread(() -> {
                    try {
                        MQQueueManager own = Common.connect(port, "DEV.APP.SVRCONN", "");
                        MQQueue mine = queue(own, "DEV.QUEUE.1");
                        for (int i = 0; i < 50; i++) put(mine, "x");
                        Common.close(own);
                    } catch (Exception e) {
                        throw new RuntimeException(e);
                    }
                });
                threads[t].start();
            }
            for (Thread thread : threads) thread.join();
            same(200, queue.getCurrentDepth());
            drain(queue);
        });
        check("a message for a device is accepted at the gateway's name", qm -> {
            MQQueue device = qm.accessQueue("ORDERS%DEV99999", CMQC.MQOO_OUTPUT, "GATE1", null, null);
            put(device, "for a device");
            device.close();
        });
        check("a queue manager without a way is 2087", qm ->
            reason(2087, q -> q.accessQueue("ANY", CMQC.MQOO_OUTPUT, "NOWHERE", null, null), qm));

        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
