// What a put and a get cost beyond a bare round trip of the same bytes, both measured here: prints microseconds of a
// put, of its ping-pong, of a get and of its ping-pong (medians).
//
// Usage: RoundTrip put|get PORT BODY_BYTES COUNT: that many of one of the calls, to be counted on their way
//        RoundTrip PORT PUT_ECHO QUESTION ANSWER GET_ECHO QUESTION ANSWER BODY_BYTES SLICES

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;

public final class RoundTrip {
    static final long SLICE_NANOS = 300_000_000L;

    static final class Ping {
        final DataInputStream in;
        final OutputStream out;
        final byte[] question;
        final byte[] answer;

        Ping(int port, int question, int answer) throws IOException {
            Socket socket = new Socket("127.0.0.1", port);
            socket.setTcpNoDelay(true);
            in = new DataInputStream(socket.getInputStream());
            out = socket.getOutputStream();
            this.question = new byte[question];
            this.answer = new byte[answer];
        }

        double micros() throws IOException {
            long begun = System.nanoTime();
            long rounds = 0;
            while (System.nanoTime() - begun < SLICE_NANOS) {
                out.write(question);
                in.readFully(answer);
                rounds++;
            }
            return (System.nanoTime() - begun) / 1e3 / rounds;
        }
    }

    static MQMessage message(byte[] body) throws IOException {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.write(body);
        return message;
    }

    static void calls(boolean put, int port, int bytes, int count) throws Exception {
        MQQueueManager queueManager = Common.connect(port, "DEV.APP.SVRCONN", "");
        MQQueue queue = Common.open(queueManager, "DEV.QUEUE.1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT);
        MQGetMessageOptions getOptions = new MQGetMessageOptions();
        getOptions.options = CMQC.MQGMO_NO_SYNCPOINT;
        for (int call = 0; call < count; call++) {
            if (put) queue.put(message(new byte[bytes]), Common.putOptions(false));
            else queue.get(new MQMessage(), getOptions);
        }
        Common.close(queueManager);
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 4) {
            int[] n = Arrays.stream(args).skip(1).mapToInt(Integer::parseInt).toArray();
            calls(args[0].equals("put"), n[0], n[1], n[2]);
            return;
        }
        int[] n = Arrays.stream(args).mapToInt(Integer::parseInt).toArray();
        Ping putPing = new Ping(n[1], n[2], n[3]);
        Ping getPing = new Ping(n[4], n[5], n[6]);
        byte[] body = new byte[n[7]];
        int slices = n[8];
        MQQueueManager queueManager = Common.connect(n[0], "DEV.APP.SVRCONN", "");
        MQQueue queue = Common.open(queueManager, "DEV.QUEUE.1", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT);
        MQPutMessageOptions putOptions = Common.putOptions(false);
        MQGetMessageOptions getOptions = new MQGetMessageOptions();
        getOptions.options = CMQC.MQGMO_NO_SYNCPOINT;
        double[][] figures = new double[4][slices];
        // Once more than is counted: until the compiler of Java has seen the loops.
        for (int slice = -2; slice < slices; slice++) {
            long put = 0;
            long get = 0;
            long calls = 0;
            double putMicros = putPing.micros();
            double getMicros = getPing.micros();
            while (put + get < 2 * SLICE_NANOS) {
                MQMessage message = message(body);
                long begun = System.nanoTime();
                queue.put(message, putOptions);
                long between = System.nanoTime();
                queue.get(new MQMessage(), getOptions);
                get += System.nanoTime() - between;
                put += between - begun;
                calls++;
            }
            if (slice < 0) continue;
            figures[0][slice] = put / 1e3 / calls;
            figures[1][slice] = putMicros;
            figures[2][slice] = get / 1e3 / calls;
            figures[3][slice] = getMicros;
        }
        Common.close(queueManager);
        for (double[] figure : figures) {
            Arrays.sort(figure);
            System.out.println(figure[slices / 2]);
        }
    }
}
