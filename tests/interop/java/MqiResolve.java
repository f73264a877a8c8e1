// Name resolution: the vectors of mq-objects 5.7 and what else 5.3 to 5.6 say, by MQOPEN and by MQPUT1.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.jmqi.MQOD;
import com.ibm.mq.jmqi.MQPMO;
import com.ibm.mq.jmqi.handles.Phobj;
import java.nio.charset.StandardCharsets;

class MqiResolve extends MqiArea {
    /** Opens for output; a message put to it is at the local queue, or on the transmission queue with a header. */
    void leads(String id, String queueManager, String name, String resolved, String resolvedManager, String lands) {
        at(id, t -> {
            t.empty(lands);
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, name);
            descriptor.setVersion(4);
            descriptor.setObjectQMgrName(queueManager);
            Phobj handle = t.markValue(() -> raw.open(descriptor, MQOO_OUTPUT));
            t.text("ResolvedQName", resolved, descriptor.getResolvedQName());
            t.text("ResolvedQMgrName", resolvedManager, descriptor.getResolvedQMgrName());
            MQPMO options = raw.pmo(2, MQPMO_NO_SYNCPOINT);
            raw.put(handle.getHobj(), raw.md(2), options, "resolved".getBytes(StandardCharsets.US_ASCII));
            t.text("ResolvedQName of MQPUT", resolved, options.getResolvedQName());
            t.text("ResolvedQMgrName of MQPUT", resolvedManager, options.getResolvedQMgrName());
            landed(t, lands, resolved, resolvedManager);
        });
    }

    private static void landed(MqiCase t, String lands, String queue, String queueManager) throws Exception {
        MQMessage message = t.get(lands);
        if (!message.format.trim().equals("MQXMIT")) {
            t.same("data", "resolved", MqiCase.body(message));
            return;
        }
        String data = MqiCase.body(message);
        t.same("length with MQXQH", 428 + 8, data.length());
        t.same("StrucId", "XQH ", data.substring(0, 4));
        t.text("RemoteQName", queue, data.substring(8, 56));
        t.text("RemoteQMgrName", queueManager, data.substring(56, 104));
        t.same("data", "resolved", data.substring(428));
    }

    /** It cannot be opened for output. */
    void opens(String id, String queueManager, String name) {
        opens(id, queueManager, name, MQOO_OUTPUT);
    }

    void opens(String id, String queueManager, String name, int options) {
        at(id, t -> t.mark(() -> t.qm().accessQueue(name, options, queueManager, null, null)));
    }

    void put1(String id, String queueManager, String name) {
        at(id, t -> {
            t.empty("MQI.XQ2", "MQI.QM3", "MQI.LOCAL");
            t.mark(() -> t.qm().put(name, queueManager, MqiCase.message("x"), MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
        });
    }

    @Override
    void define() {
        leads("RESOLVE-001", "", "MQI.LOCAL", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        leads("RESOLVE-002", "QM1", "MQI.LOCAL", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        leads("RESOLVE-003", "", "MQI.QA1", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        leads("RESOLVE-004", "", "MQI.QA2", "R2", "QM2", "MQI.XQ2");
        opens("RESOLVE-005", "", "MQI.QA3");
        opens("RESOLVE-006", "", "MQI.QA.MODEL");
        opens("RESOLVE-007", "", "MQI.QA.NOBASE");
        leads("RESOLVE-008", "", "MQI.QR2", "R2", "QM2", "MQI.XQ2");
        leads("RESOLVE-009", "QM1", "MQI.QR2", "R2", "QM2", "MQI.XQ2");
        leads("RESOLVE-010", "", "MQI.QR3", "R3", "MQI.QM3", "MQI.QM3");
        opens("RESOLVE-011", "", "MQI.QR4");
        opens("RESOLVE-012", "", "MQI.QA.QR4");
        opens("RESOLVE-013", "", "MQI.QR5");
        opens("RESOLVE-014", "", "MQI.QR5.BLANK");
        opens("RESOLVE-015", "", "MQI.QA.QR5");
        opens("RESOLVE-016", "", "MQI.QR6");
        opens("RESOLVE-017", "", "MQI.QR7");
        opens("RESOLVE-018", "", "MQI.QR.XALIAS");
        opens("RESOLVE-019", "", "MQI.QR.NAMED.LOCAL");
        opens("RESOLVE-020", "", "MQI.QR.NAMED.ALIAS");
        opens("RESOLVE-021", "", "MQI.QMA8");
        opens("RESOLVE-022", "", "MQI.QMAL");
        opens("RESOLVE-023", "", "MQI.NOQ");
        leads("RESOLVE-024", "", "MQI.XQ2", "MQI.XQ2", "QM1", "MQI.XQ2");
        leads("RESOLVE-025", "", "MQI.QA.XQ2", "MQI.XQ2", "QM1", "MQI.XQ2");
        leads("RESOLVE-026", "MQI.QM3", "ANY", "ANY", "MQI.QM3", "MQI.QM3");
        leads("RESOLVE-027", "MQI.XQ2", "ANY", "ANY", "MQI.XQ2", "MQI.XQ2");
        opens("RESOLVE-028", "MQI.LOCAL", "ANY");
        opens("RESOLVE-029", "MQI.QA1", "ANY");
        opens("RESOLVE-030", "MQI.QR2", "ANY");
        opens("RESOLVE-031", "MQI.MODEL.TEMP", "ANY");
        leads("RESOLVE-032", "MQI.QMA8", "ANY", "ANY", "QM8", "MQI.XQ2");
        leads("RESOLVE-033", "MQI.QMAL", "MQI.LOCAL", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        opens("RESOLVE-034", "MQI.QMAL", "MQI.NOQ");
        leads("RESOLVE-035", "MQI.QMAL.X", "MQI.LOCAL", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        leads("RESOLVE-036", "MQI.QMAL", "MQI.QA1", "MQI.LOCAL", "QM1", "MQI.LOCAL");
        leads("RESOLVE-037", "MQI.QMAL", "MQI.QR2", "R2", "QM2", "MQI.XQ2");
        opens("RESOLVE-038", "MQI.QMAL", "MQI.MODEL.TEMP");
        opens("RESOLVE-039", "MQI.QMAL", "MQI.LOCAL", MQOO_INPUT_SHARED);
        opens("RESOLVE-040", "MQI.QMAL", "MQI.LOCAL", MQOO_BROWSE);
        opens("RESOLVE-041", "MQI.QMAL", "MQI.LOCAL", MQOO_INQUIRE);
        opens("RESOLVE-042", "MQI.QMAL", "MQI.LOCAL", MQOO_SET);
        opens("RESOLVE-043", "MQI.QMA9", "ANY");
        leads("RESOLVE-044", "MQI.QMA.QM3", "ANY", "ANY", "MQI.QM3", "MQI.QM3");
        opens("RESOLVE-045", "MQI.QMA.NOXQ", "ANY");
        opens("RESOLVE-046", "MQI.QMA.XLOCAL", "ANY");
        opens("RESOLVE-047", "MQI.QMA.XALIAS", "ANY");
        opens("RESOLVE-048", "UNKNOWN", "ANY");
        opens("RESOLVE-049", "BAD NAME", "ANY");
        opens("RESOLVE-050", "QM-1", "MQI.LOCAL");
        opens("RESOLVE-051", "MQI.QM3", "");
        opens("RESOLVE-052", "QM1", "");
        opens("RESOLVE-053", "qm1", "MQI.LOCAL");
        leads("RESOLVE-054", "MQI.QM3", "MQI.LOCAL", "MQI.LOCAL", "MQI.QM3", "MQI.QM3");
        leads("RESOLVE-055", "MQI.QM3", "MQI.QA3", "MQI.QA3", "MQI.QM3", "MQI.QM3");
        remoteOptions();
        localNames();
        byPut1();
        replyTo();
    }

    private void remoteOptions() {
        opens("RESOLVE-060", "", "MQI.QR2", MQOO_INPUT_AS_Q_DEF);
        opens("RESOLVE-061", "", "MQI.QR2", MQOO_BROWSE);
        opens("RESOLVE-062", "", "MQI.QR2", MQOO_SET);
        at("RESOLVE-063", t -> {
            MQQueue queue = t.markValue(() -> t.qm().accessQueue("MQI.QR2", MQOO_INQUIRE));
            t.same("queue type", MQQT_REMOTE, queue.getQueueType());
        });
        opens("RESOLVE-064", "QM1", "MQI.QR2", MQOO_INQUIRE);
        opens("RESOLVE-065", "", "MQI.QR2", MQOO_INQUIRE | MQOO_OUTPUT);
        opens("RESOLVE-066", "MQI.QM3", "ANY", MQOO_INQUIRE);
        opens("RESOLVE-067", "MQI.QM3", "ANY", MQOO_INPUT_SHARED);
        opens("RESOLVE-068", "MQI.QMA8", "ANY", MQOO_INQUIRE);
        opens("RESOLVE-069", "", "MQI.QA2", MQOO_INPUT_SHARED);
        opens("RESOLVE-070", "", "MQI.QA2", MQOO_BROWSE | MQOO_OUTPUT);
        at("RESOLVE-071", t -> {
            MQQueue queue = t.markValue(() -> t.qm().accessQueue("MQI.QA2", MQOO_INQUIRE));
            t.same("queue type", MQQT_ALIAS, queue.getQueueType());
        });
        opens("RESOLVE-072", "", "MQI.QA2", MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT | MQOO_SET_ALL_CONTEXT);
        opens("RESOLVE-073", "", "MQI.QR2", MQOO_OUTPUT | MQOO_INPUT_SHARED);
        opens("RESOLVE-074", "", "MQI.QR2", MQOO_INPUT_SHARED | MQOO_SAVE_ALL_CONTEXT);
    }

    private void localName(String id, String queueManager, String name, int options, String resolved) {
        at(id, t -> {
            MqiRaw raw = t.raw();
            MQOD descriptor = raw.od(MQOT_Q, name);
            descriptor.setVersion(4);
            descriptor.setObjectQMgrName(queueManager);
            t.mark(() -> raw.open(descriptor, options));
            t.text("ResolvedQName", resolved, descriptor.getResolvedQName());
            t.text("ResolvedQMgrName", resolved.isEmpty() ? "" : "QM1", descriptor.getResolvedQMgrName());
        });
    }

    private void localNames() {
        localName("RESOLVE-080", "", "MQI.QR2", MQOO_OUTPUT | MQOO_RESOLVE_LOCAL_Q, "MQI.XQ2");
        localName("RESOLVE-081", "", "MQI.QA1", MQOO_OUTPUT | MQOO_RESOLVE_LOCAL_Q, "MQI.LOCAL");
        localName("RESOLVE-082", "MQI.QMA8", "ANY", MQOO_OUTPUT | MQOO_RESOLVE_LOCAL_Q, "MQI.XQ2");
        localName("RESOLVE-083", "", "MQI.LOCAL", MQOO_INQUIRE, "");
        localName("RESOLVE-084", "", "MQI.QA1", MQOO_BROWSE, "MQI.LOCAL");
        localName("RESOLVE-085", "", "MQI.QA1", MQOO_INPUT_SHARED, "MQI.LOCAL");
        at("RESOLVE-086", t -> {
            t.empty("MQI.XQ2");
            MQQueue queue = t.open("MQI.QR2", MQOO_OUTPUT);
            MQPutMessageOptions options = MqiCase.pmo(MQPMO_NO_SYNCPOINT | MQPMO_RESOLVE_LOCAL_Q);
            t.mark(() -> queue.put(MqiCase.message("x"), options));
            t.text("resolvedQueueName", "MQI.XQ2", options.resolvedQueueName);
            t.text("resolvedQueueManagerName", "QM1", options.resolvedQueueManagerName);
        });
        at("RESOLVE-087", t -> {
            t.empty("MQI.XQ2");
            MQPutMessageOptions options = MqiCase.pmo(MQPMO_NO_SYNCPOINT | MQPMO_RESOLVE_LOCAL_Q);
            t.mark(() -> t.qm().put("MQI.QR2", MqiCase.message("x"), options));
            t.text("resolvedQueueName", "MQI.XQ2", options.resolvedQueueName);
        });
    }

    private void byPut1() {
        put1("RESOLVE-090", "", "MQI.QA3");
        put1("RESOLVE-091", "", "MQI.QA.NOBASE");
        put1("RESOLVE-092", "", "MQI.QR2");
        put1("RESOLVE-093", "", "MQI.QMA8");
        put1("RESOLVE-094", "UNKNOWN", "ANY");
        put1("RESOLVE-095", "", "MQI.MODEL.TEMP");
        put1("RESOLVE-096", "BAD NAME", "ANY");
        put1("RESOLVE-097", "", "MQI.QR6");
        put1("RESOLVE-098", "", "MQI.QR7");
        put1("RESOLVE-099", "", "MQI.QR.XALIAS");
        put1("RESOLVE-100", "", "MQI.NOQ");
        put1("RESOLVE-101", "MQI.QMAL", "MQI.LOCAL");
        put1("RESOLVE-102", "MQI.QM3", "ANY");
        put1("RESOLVE-103", "MQI.QM3", "");
        put1("RESOLVE-104", "", "MQI.QR5");
    }

    private void reply(String id, String queue, String queueManager, String gotQueue, String gotManager) {
        at(id, t -> {
            MQQueue local = t.open("MQI.LOCAL", MQOO_OUTPUT | MQOO_INPUT_SHARED);
            MQMessage message = MqiCase.message("request");
            message.messageType = MQMT_REQUEST;
            message.replyToQueueName = queue;
            message.replyToQueueManagerName = queueManager;
            t.mark(() -> local.put(message, MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            MQMessage got = t.get(local);
            t.text("ReplyToQ", gotQueue, got.replyToQueueName);
            t.text("ReplyToQMgr", gotManager, got.replyToQueueManagerName);
        });
    }

    private void replyTo() {
        reply("RESOLVE-110", "MQI.ANSWERS", "", "MQI.ANSWERS", "QM1");
        reply("RESOLVE-111", "MQI.NOSUCH", "", "MQI.NOSUCH", "QM1");
        reply("RESOLVE-112", "MQI.RTQ", "", "MQI.ANSWERS", "FAR.QM");
        reply("RESOLVE-113", "MQI.RTQ", "QM1", "MQI.RTQ", "QM1");
        reply("RESOLVE-114", "MQI.RTQ", "OTHER", "MQI.RTQ", "OTHER");
        reply("RESOLVE-115", "MQI.RTQ.BLANK", "", "", "FAR.QM");
        reply("RESOLVE-116", "MQI.QA1", "", "MQI.QA1", "QM1");
        reply("RESOLVE-117", "MQI.QR5.BLANK", "", "R5", "");
        at("RESOLVE-118", t -> {
            t.empty("MQI.LOCAL");
            MQMessage message = MqiCase.message("by MQPUT1");
            message.replyToQueueName = "MQI.RTQ";
            t.mark(() -> t.qm().put("MQI.LOCAL", message, MqiCase.pmo(MQPMO_NO_SYNCPOINT)));
            MQMessage got = t.get("MQI.LOCAL");
            t.text("ReplyToQ", "MQI.ANSWERS", got.replyToQueueName);
            t.text("ReplyToQMgr", "FAR.QM", got.replyToQueueManagerName);
        });
    }
}
