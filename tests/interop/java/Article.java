// Puts one message with a property to a queue at a queue manager, as an application of a fleet would.
//
// Usage: Article PORT QUEUE_MANAGER QUEUE QUEUE_MANAGER_OF_QUEUE TEXT

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;

public final class Article {
    public static void main(String[] args) throws Exception {
        MQException.log = null;
        MQQueueManager queueManager = Common.connect(Integer.parseInt(args[0]), "DEV.APP.SVRCONN", args[1]);
        MQQueue queue = queueManager.accessQueue(args[2], CMQC.MQOO_OUTPUT, args[3], null, null);
        MQMessage message = Common.text(args[4], true);
        message.setStringProperty("colour", "blue");
        queue.put(message, Common.putOptions(false));
        queue.close();
        queueManager.disconnect();
    }
}
