// Connecting, disconnecting, losing a connection.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQAsyncStatus;
import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class MqiConnect extends MqiArea {
    private static Map<String, Object> channel(String name) {
        return Map.of(CHANNEL_PROPERTY, name);
    }

    private void name(String id, String queueManager) {
        at(id, t -> {
            MQQueueManager connection = t.markValue(() -> t.connect(queueManager, Map.of()));
            if (connection != null) t.text("name", "QM1", connection.getAttributeString(MQCA_Q_MGR_NAME, 48));
        });
    }

    private void options(String id, int options) {
        at(id, t -> {
            MQQueueManager connection = t.markValue(() -> t.connect("", Map.of(), options));
            if (connection != null) t.depth("MQI.LOCAL");
        });
    }

    /** A conversation in another code page carries names and texts all the same. */
    private void codePage(String id, int ccsid) {
        at(id, t -> {
            MQQueueManager connection = t.markValue(() -> t.connect("QM1", Map.of("CCSID", ccsid)));
            MQQueue queue = t.open(connection, "MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            MQMessage message = MqiCase.message("as bytes");
            message.replyToQueueName = "MQI.ANSWERS";
            message.format = MQFMT_STRING;
            queue.put(message, MqiCase.pmo(MQPMO_NO_SYNCPOINT));
            MQMessage got = t.get(queue);
            t.text("reply-to queue", "MQI.ANSWERS", got.replyToQueueName);
            t.text("reply-to queue manager", "QM1", got.replyToQueueManagerName);
            t.text("format", "MQSTR", got.format);
            t.same("data", "as bytes", MqiCase.body(got));
        });
    }

    /** A place on a channel with few: an instance ends after its program was told that it is disconnected. */
    private static MQQueueManager place(MqiCase t, String name) throws Exception {
        MQQueueManager[] place = {null};
        t.eventually("a place is free", () -> {
            try {
                place[0] = t.connect("", channel(name));
                return true;
            } catch (MQException e) {
                if (e.reasonCode != MQRC_CHANNEL_NOT_AVAILABLE) throw e;
                return false;
            }
        });
        return place[0];
    }

    /** User and password, in the way of today and in the way of before. */
    private void credentials(String id, boolean csp) {
        at(id, t -> {
            MQQueueManager one = t.connect();
            MQQueueManager connection = t.markValue(() -> t.connect("QM1", Map.of(USER_ID_PROPERTY, "someone",
                PASSWORD_PROPERTY, "a password", USE_MQCSP_AUTHENTICATION_PROPERTY, csp)));
            t.put(t.open(connection, "MQI.LOCAL", MQOO_OUTPUT), "of a user");
            t.open(one, "MQI.LOCAL", MQOO_OUTPUT).close();
        });
    }

    @Override
    void define() {
        name("CONNECT-001", "");
        name("CONNECT-002", "QM1");
        name("CONNECT-003", "NOSUCHQM");
        name("CONNECT-004", "qm1");
        name("CONNECT-005", "BAD NAME");
        name("CONNECT-006", "Q".repeat(48));
        at("CONNECT-007", t -> t.mark(() -> t.connect("", channel("MQI.NOSUCH"))));
        at("CONNECT-008", t -> t.mark(() -> t.connect("", channel("mqi.b"))));
        at("CONNECT-009", t -> t.mark(() -> t.connect("", channel("SYSTEM.DEF.SVRCONN"))));
        at("CONNECT-010", t -> {
            int port;
            try (ServerSocket socket = new ServerSocket(0)) {
                port = socket.getLocalPort();
            }
            t.mark(() -> t.connect("", Map.of(PORT_PROPERTY, port)));
        });
        at("CONNECT-011", t -> {
            MQQueueManager connection = t.connect();
            t.mark(connection::disconnect);
            t.same("still connected", false, connection.isConnected());
        });
        at("CONNECT-012", t -> {
            MQQueueManager connection = t.connect();
            connection.disconnect();
            t.mark(() -> connection.accessQueue("MQI.LOCAL", MQOO_OUTPUT));
        });
        at("CONNECT-013", t -> {
            MQQueueManager connection = t.connect();
            connection.disconnect();
            t.mark(connection::commit);
            t.mark(connection::backout);
        });
        at("CONNECT-014", t -> {
            MQQueueManager connection = t.connect();
            MQQueue queue = t.open(connection, "MQI.LOCAL", MQOO_OUTPUT);
            connection.disconnect();
            t.mark(() -> t.put(queue, "too late"));
        });
        at("CONNECT-015", t -> {
            for (int i = 0; i < 20; i++) {
                MQQueueManager connection = t.markValue(() -> t.connect("QM1", Map.of()));
                MQQueue queue = t.open(connection, "MQI.LOCAL", MQOO_OUTPUT);
                t.put(queue, "again");
                connection.disconnect();
            }
            t.same("depth", 20, t.depth("MQI.LOCAL"));
        });
        at("CONNECT-016", t -> {
            List<MQQueue> queues = new ArrayList<>();
            for (int i = 0; i < 50; i++)
                queues.add(t.open(t.markValue(t::connect), "MQI.LOCAL", MQOO_OUTPUT | MQOO_INQUIRE));
            for (MQQueue queue : queues) t.put(queue, "one of fifty");
            t.same("depth", 50, queues.get(49).getCurrentDepth());
            t.same("open for output", 50, queues.get(0).getOpenOutputCount());
        });
        at("CONNECT-017", t -> {
            MQQueueManager connection = t.connect();
            t.open(connection, "MQI.LOCAL", MQOO_OUTPUT).put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(connection::disconnect);
            t.same("committed by disconnecting", 1, t.depth("MQI.LOCAL"));
            t.get("MQI.LOCAL");
        });
        at("CONNECT-018", t -> {
            MqiRelay relay = new MqiRelay();
            MQQueueManager connection = t.through(relay);
            MQQueue queue = t.open(connection, "MQI.LOCAL", MQOO_OUTPUT);
            queue.put(MqiCase.message("x"), MqiCase.pmo(MQPMO_SYNCPOINT));
            relay.cut();
            t.mark(() -> t.put(queue, "y"));
            MQQueue other = t.open("MQI.LOCAL", MQOO_INPUT_SHARED | MQOO_INQUIRE);
            t.eventually("backed out", () -> other.getCurrentDepth() == 0);
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(other));
        });
        at("CONNECT-019", t -> {
            MqiRelay relay = new MqiRelay();
            t.put(t.open("MQI.LOCAL", MQOO_OUTPUT), "got and lost");
            MQQueueManager connection = t.through(relay);
            MQQueue queue = t.open(connection, "MQI.LOCAL", MQOO_INPUT_SHARED);
            queue.get(new MQMessage(), MqiCase.gmo(MQGMO_SYNCPOINT));
            relay.cut();
            t.mark(connection::commit);
            MQQueue other = t.open("MQI.LOCAL", MQOO_INPUT_SHARED);
            MQMessage back = new MQMessage();
            other.get(back, Common.getOptions(false, 2000));
            t.same("data", "got and lost", MqiCase.body(back));
            t.same("backout count", 1, back.backoutCount);
        });
        at("CONNECT-020", t -> {
            MqiRelay relay = new MqiRelay();
            MQQueueManager connection = t.through(relay);
            relay.cut();
            t.mark(() -> connection.accessQueue("MQI.LOCAL", MQOO_OUTPUT));
        });
        at("CONNECT-021", t -> {
            place(t, "MQI.TWO");
            place(t, "MQI.TWO");
            t.mark(() -> t.connect("", channel("MQI.TWO")));
        });
        at("CONNECT-022", t -> {
            MQQueueManager one = place(t, "MQI.TWO");
            place(t, "MQI.TWO");
            t.reason(MQRC_CHANNEL_NOT_AVAILABLE, () -> t.connect("", channel("MQI.TWO")));
            one.disconnect();
            t.mark(() -> place(t, "MQI.TWO"));
        });
        at("CONNECT-023", t -> {
            place(t, "MQI.TWO.CLIENT");
            place(t, "MQI.TWO.CLIENT");
            t.mark(() -> t.connect("", channel("MQI.TWO.CLIENT")));
        });
        at("CONNECT-024", t -> t.mark(() -> t.connect("", channel("MQI.NONE"))));
        options("CONNECT-025", MQCNO_NONE);
        options("CONNECT-026", MQCNO_HANDLE_SHARE_NONE);
        options("CONNECT-027", MQCNO_HANDLE_SHARE_BLOCK);
        options("CONNECT-028", MQCNO_HANDLE_SHARE_NO_BLOCK);
        options("CONNECT-029", MQCNO_FASTPATH_BINDING);
        at("CONNECT-030", t -> t.mark(() -> t.qm().begin()));
        at("CONNECT-031", t -> t.mark(() -> t.qm().commit()));
        at("CONNECT-032", t -> t.mark(() -> t.qm().backout()));
        at("CONNECT-033", t -> t.mark(() -> {
            MQAsyncStatus status = t.qm().getAsyncStatus();
            t.same("puts that went well", 0, status.putSuccessCount);
            t.same("puts with a warning", 0, status.putWarningCount);
            t.same("puts that failed", 0, status.putFailureCount);
            t.same("reason", 0, status.reasonCode);
        }));
        at("CONNECT-034", t -> {
            MQQueueManager connection = t.markValue(() -> t.connect("", Map.of(USER_ID_PROPERTY, "someone")));
            t.open(connection, "MQI.LOCAL", MQOO_OUTPUT).close();
        });
        credentials("CONNECT-048", true);
        credentials("CONNECT-049", false);
        codePage("CONNECT-035", 819);
        codePage("CONNECT-036", 850);
        codePage("CONNECT-037", 1208);
        codePage("CONNECT-038", 500);
        at("CONNECT-039", t -> {
            MQQueueManager one = t.connect();
            MQQueueManager two = t.connect();
            MQQueue first = t.open(one, "MQI.LOCAL", MQOO_OUTPUT);
            first.put(MqiCase.message("of one"), MqiCase.pmo(MQPMO_SYNCPOINT));
            t.mark(two::commit);
            t.mark(two::backout);
            MQQueue input = t.open(two, "MQI.LOCAL", MQOO_INPUT_SHARED);
            t.reason(MQRC_NO_MSG_AVAILABLE, () -> t.get(input));
            one.commit();
            t.same("data", "of one", MqiCase.body(t.get(input)));
        });
        name("CONNECT-041", "*QM1");
        name("CONNECT-042", "*NOSUCHQM");
        name("CONNECT-043", "*");
        options("CONNECT-044", MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK);
        at("CONNECT-045", t -> t.mark(() -> t.connect("", channel("MQI.NAME.OF.21.CHARS."))));
        at("CONNECT-046", t -> {
            MQQueueManager connection = t.connect();
            connection.disconnect();
            t.mark(connection::disconnect);
        });
        name("CONNECT-047", "Q".repeat(60));
        at("CONNECT-040", t -> {
            MQQueueManager other = t.connect();
            MQQueue waiting = t.open(other, "MQI.LOCAL", MQOO_INPUT_SHARED);
            Thread thread = new Thread(() -> {
                try {
                    waiting.get(new MQMessage(), Common.getOptions(false, 5000));
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.start();
            MQQueue queue = t.markValue(() -> t.open("MQI.LOCAL", MQOO_OUTPUT));
            t.put(queue, "while another conversation waits");
            thread.join();
            t.same("depth", 0, t.depth("MQI.LOCAL"));
        });
    }
}
