// Puts and gets numbered persistent messages in units of work, while the service is killed again and again.
// Each unit of work also replaces a state message, so that after a cut the program knows whether its last unit was
// committed, as a careful application does. The ledger is exact: nothing lost, nothing doubled, order kept.
//
// Usage: KillLedger PORT CHANNEL MESSAGES UNIT SIZE

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

public final class KillLedger {
    static final String DATA = "DEV.QUEUE.1";
    static final AtomicLong reconnects = new AtomicLong();
    static final AtomicReference<Throwable> failure = new AtomicReference<>();

    interface Unit {
        /** Does the work of one unit that begins behind {@code done}; says where it ends, or {@code done} for none. */
        long run(MQQueue data, long done) throws Exception;

        /** The unit up to {@code done} is committed. */
        void committed(long done);
    }

    /** Runs units until {@code total} is reached, each with its state message in {@code stateQueue}. */
    static void loop(int port, String channel, String stateQueue, int dataOptions, long total, Unit unit)
            throws Exception {
        long done = 0;
        while (done < total) {
            MQQueueManager queueManager = null;
            try {
                queueManager = Common.reconnect(port, channel);
                MQQueue state = Common.open(queueManager, stateQueue, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT);
                MQQueue data = Common.open(queueManager, DATA, dataOptions);
                long known = get(state);
                queueManager.backout();
                if (known > done) unit.committed(known);
                else if (known < done) throw new IllegalStateException("state went back from " + done + " to " + known);
                done = known;
                while (done < total) {
                    long next = unit.run(data, done);
                    if (next == done) {
                        queueManager.backout();
                        continue;
                    }
                    get(state);
                    state.put(Common.text(Long.toString(next), true), Common.putOptions(true));
                    queueManager.commit();
                    unit.committed(next);
                    done = next;
                }
            } catch (MQException e) {
                if (failure.get() != null) return;
                reconnects.incrementAndGet();
            } finally {
                // disconnect() would commit what is open, without its state message.
                Common.backOut(queueManager);
                Common.close(queueManager);
            }
        }
    }

    /** The state: how far the work is. None is the very first unit. */
    static long get(MQQueue state) throws Exception {
        MQMessage message = new MQMessage();
        try {
            state.get(message, Common.getOptions(true, 0));
        } catch (MQException e) {
            if (e.reasonCode == CMQC.MQRC_NO_MSG_AVAILABLE) return 0;
            throw e;
        }
        return Long.parseLong(Common.read(message));
    }

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.start();
        return thread;
    }

    static void guard(String name, java.util.concurrent.Callable<Void> body) {
        try {
            body.call();
        } catch (Throwable e) {
            System.err.println(name + ": " + e);
            e.printStackTrace();
            failure.compareAndSet(null, e);
        }
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        String channel = args[1];
        long total = Long.parseLong(args[2]);
        int unitSize = Integer.parseInt(args[3]);
        int size = Integer.parseInt(args[4]);
        MQException.log = null;
        final AtomicLong put = new AtomicLong();
        final AtomicLong got = new AtomicLong();
        final AtomicLong lost = new AtomicLong();
        final AtomicLong doubled = new AtomicLong();

        Thread putter = start("putter", () -> guard("putter", () -> {
            loop(port, channel, "DEV.QUEUE.2", CMQC.MQOO_OUTPUT, total, new Unit() {
                public long run(MQQueue data, long done) throws Exception {
                    long end = Math.min(done + unitSize, total);
                    for (long number = done; number < end; number++)
                        data.put(Common.text(Common.payload(number, size), true), Common.putOptions(true));
                    return end;
                }

                public void committed(long done) {
                    put.set(done);
                }
            });
            return null;
        }));
        Thread getter = start("getter", () -> guard("getter", () -> {
            loop(port, channel, "DEV.QUEUE.3", CMQC.MQOO_INPUT_SHARED, total, new Unit() {
                public long run(MQQueue data, long done) throws Exception {
                    long next = done;
                    while (next < done + unitSize && next < total) {
                        MQMessage message = new MQMessage();
                        try {
                            data.get(message, Common.getOptions(true, next == done ? 500 : 0));
                        } catch (MQException e) {
                            if (e.reasonCode == CMQC.MQRC_NO_MSG_AVAILABLE) break;
                            throw e;
                        }
                        long number = Common.number(Common.read(message));
                        if (number > next) lost.addAndGet(number - next);
                        if (number < next) doubled.incrementAndGet();
                        if (number != next)
                            throw new IllegalStateException("expected " + next + ", got " + number);
                        next++;
                    }
                    return next;
                }

                public void committed(long done) {
                    got.set(done);
                    System.out.println("got " + done);
                    System.out.flush();
                }
            });
            return null;
        }));
        putter.join();
        getter.join();
        MQQueueManager queueManager = Common.reconnect(port, channel);
        int left = Common.open(queueManager, DATA, CMQC.MQOO_INQUIRE).getCurrentDepth();
        Common.close(queueManager);
        boolean exact = failure.get() == null && got.get() == total && put.get() == total && left == 0;
        System.out.printf(
            "{\"put\": %d, \"got\": %d, \"lost\": %d, \"doubled\": %d, \"left\": %d, \"reconnects\": %d, \"exact\": %b}%n",
            put.get(), got.get(), lost.get(), doubled.get(), left, reconnects.get(), exact);
        System.exit(exact ? 0 : 1);
    }
}
