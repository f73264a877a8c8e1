// Puts persistent messages to devices' addresses in units of work, and reads the devices' answers.
//
// Usage: Fleet put PORT DEVICES MESSAGES UNIT SIZE      messages go to ORDERS%DEVnnnnn at GATE1, round robin
//        Fleet answers PORT QUEUE EXPECTED WAIT_MS      prints each answer's payload, a line each

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;

public final class Fleet {
    public static void main(String[] args) throws Exception {
        MQException.log = null;
        MQQueueManager queueManager = Common.connect(Integer.parseInt(args[1]), "DEV.APP.SVRCONN", "QM1");
        if (args[0].equals("put")) put(queueManager, args);
        else answers(queueManager, args);
        queueManager.disconnect();
    }

    static void put(MQQueueManager queueManager, String[] args) throws Exception {
        int devices = Integer.parseInt(args[2]);
        int messages = Integer.parseInt(args[3]);
        int unit = Integer.parseInt(args[4]);
        int size = Integer.parseInt(args[5]);
        MQQueue[] queues = new MQQueue[devices];
        for (int d = 0; d < devices; d++)
            queues[d] = queueManager.accessQueue(
                String.format("ORDERS%%DEV%05d", d), CMQC.MQOO_OUTPUT, "GATE1", null, null);
        for (int n = 0; n < messages; n++) {
            MQMessage message = Common.text(Common.payload(n, size), true);
            message.replyToQueueName = "DEV.QUEUE.1";
            message.messageType = CMQC.MQMT_REQUEST;
            queues[n % devices].put(message, Common.putOptions(true));
            if ((n + 1) % unit == 0 || n + 1 == messages) queueManager.commit();
        }
        for (MQQueue queue : queues) queue.close();
        System.out.println("put " + messages);
    }

    static void answers(MQQueueManager queueManager, String[] args) throws Exception {
        MQQueue queue = Common.open(queueManager, args[2], CMQC.MQOO_INPUT_SHARED);
        int expected = Integer.parseInt(args[3]);
        for (int n = 0; n < expected; n++) {
            MQMessage message = new MQMessage();
            queue.get(message, Common.getOptions(true, Integer.parseInt(args[4])));
            System.out.println(Common.read(message));
            if ((n + 1) % 50 == 0 || n + 1 == expected) queueManager.commit();
        }
        queue.close();
    }
}
