// Reports that the queue manager makes: confirm on arrival, on delivery, expiration; ids, data, descriptor, units of
// work, where they go.

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.constants.CMQC;
import com.ibm.mq.headers.MQDLH;
import java.util.Arrays;
import java.util.concurrent.FutureTask;

final class MqiReport extends MqiMessages {
    static final String A = "MQM.A";
    static final String REPLY = "MQM.REPLY";
    static final String DEAD = "DEV.DEAD.LETTER.QUEUE";
    static final int COA = CMQC.MQRO_COA;
    static final int COD = CMQC.MQRO_COD;
    static final int GONE = CMQC.MQRO_EXPIRATION;
    static final byte[] C1 = MqiCase.id(1);

    @Override
    void define() {
        arrival();
        exceptions();
        delivery();
        expiration();
        ids();
        passing();
        undeliverable();
        refused();
        remote();
    }

    private static MQMessage asking(String text, int report) throws Exception {
        MQMessage message = correlated(text, C1);
        message.report = report;
        message.replyToQueueName = REPLY;
        return message;
    }

    private static String long250() {
        return "0123456789".repeat(25);
    }

    /** The next report, which may take a moment. */
    private static MQMessage report(MqiCase t) throws Exception {
        MQMessage report = new MQMessage();
        t.open(REPLY, IN).get(report, waiting(NOSYNC, 300));
        t.same("MsgType", CMQC.MQMT_REPORT, report.messageType);
        return report;
    }

    private static void noReport(MqiCase t) throws Exception {
        MQQueue reply = t.open(REPLY, IN);
        t.reason(2033, () -> reply.get(new MQMessage(), waiting(NOSYNC, 100)));
    }

    /** Puts a message whose put makes a report; what comes is of a length. */
    private void arrives(String id, String text, int report, int length) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking(text, report);
            t.mark(() -> put(q, put));
            MQMessage got = report(t);
            t.same("Feedback", CMQC.MQFB_COA, got.feedback);
            t.same("data", text.substring(0, length), MqiCase.body(got));
            t.bytes("CorrelId", put.messageId, got.correlationId);
            t.that("MsgId is new", !zero(got.messageId) && !Arrays.equals(put.messageId, got.messageId));
            t.same("the message itself", text, text(q));
            noReport(t);
        });
    }

    private void arrival() {
        arrives("REPORT-001", "short", COA, 0);
        arrives("REPORT-002", long250(), CMQC.MQRO_COA_WITH_DATA, 100);
        arrives("REPORT-003", "short", CMQC.MQRO_COA_WITH_DATA, 5);
        arrives("REPORT-004", long250(), CMQC.MQRO_COA_WITH_FULL_DATA, 250);
        at("REPORT-005", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking(long250(), CMQC.MQRO_COA_WITH_DATA);
            put.format = CMQC.MQFMT_STRING;
            put.characterSet = 850;
            put.encoding = 546;
            put.priority = 7;
            put.persistence = CMQC.MQPER_PERSISTENT;
            put.expiry = 6000;
            put.messageType = CMQC.MQMT_REQUEST;
            t.mark(() -> put(q, put));
            MQMessage original = get(q, NOSYNC);
            MQMessage got = report(t);
            t.same("Report", 0, got.report);
            t.same("MsgType", CMQC.MQMT_REPORT, got.messageType);
            t.same("Expiry", CMQC.MQEI_UNLIMITED, got.expiry);
            t.same("Feedback", CMQC.MQFB_COA, got.feedback);
            t.same("Encoding", 546, got.encoding);
            t.same("CodedCharSetId", 850, got.characterSet);
            t.text("Format", CMQC.MQFMT_STRING, got.format);
            t.same("Priority", 7, got.priority);
            t.same("Persistence", CMQC.MQPER_PERSISTENT, got.persistence);
            t.same("BackoutCount", 0, got.backoutCount);
            t.text("ReplyToQ", "", got.replyToQueueName);
            t.text("ReplyToQMgr", "QM1", got.replyToQueueManagerName);
            t.text("UserIdentifier", original.userId.trim(), got.userId);
            t.bytes("AccountingToken", original.accountingToken, got.accountingToken);
            t.text("ApplIdentityData", original.applicationIdData.trim(), got.applicationIdData);
            t.same("PutApplType", CMQC.MQAT_QMGR, got.putApplicationType);
            t.text("PutApplName", "QM1", got.putApplicationName);
            t.text("ApplOriginData", "", got.applicationOriginData);
            t.that("PutDate, PutTime", got.putDateTime != null);
            t.that("GroupId", zero(got.groupId));
            t.same("MsgSeqNumber, Offset", "1 0", got.messageSequenceNumber + " " + got.offset);
            t.same("MsgFlags", 0, got.messageFlags);
        });
        at("REPORT-006", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COA), CMQC.MQPMO_SYNCPOINT);
            noReport(t);
            t.mark(() -> t.qm().commit());
            t.same("Feedback", CMQC.MQFB_COA, report(t).feedback);
        });
        at("REPORT-007", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COA), CMQC.MQPMO_SYNCPOINT);
            t.mark(() -> t.qm().backout());
            noReport(t);
        });
        at("REPORT-008", t -> {
            t.empty(A);
            t.mark(() -> t.qm().put(A, asking("x", COA), pmo(CMQC.MQPMO_NO_SYNCPOINT)));
            t.same("Feedback", CMQC.MQFB_COA, report(t).feedback);
        });
        at("REPORT-009", t -> {
            FutureTask<MQMessage> wait = waiter(t, REPLY, IN, waiting(NOSYNC, LONG_MS), new MQMessage());
            put(queue(t, A), asking("x", COA));
            t.mark(() -> t.same("Feedback", CMQC.MQFB_COA, end(wait).feedback));
        });
        at("REPORT-010", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = member("x", MqiCase.id(5), 3, 0, CMQC.MQMF_MSG_IN_GROUP);
            put.report = COA;
            put.replyToQueueName = REPLY;
            t.mark(() -> put(q, put));
            MQMessage got = report(t);
            t.bytes("GroupId", MqiCase.id(5), got.groupId);
            t.same("MsgSeqNumber", 3, got.messageSequenceNumber);
            t.same("MsgFlags", CMQC.MQMF_MSG_IN_GROUP, got.messageFlags);
        });
        at("REPORT-011", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("", CMQC.MQRO_COA_WITH_DATA);
            put.format = CMQC.MQFMT_RF_HEADER_1;
            put.encoding = 273;
            put.writeString("RFH ");
            for (int number : new int[] {1, 48, 273, 819}) put.writeInt4(number);
            put.writeString(CMQC.MQFMT_STRING);
            put.writeInt4(0);
            put.writeString("name value      " + long250());
            t.mark(() -> put(q, put));
            MQMessage got = report(t);
            t.same("header and 100 bytes", 48 + 100, got.getMessageLength());
            t.text("Format", CMQC.MQFMT_RF_HEADER_1, got.format);
        });
        at("REPORT-016", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = member("0123456789", MqiCase.id(5), 1, 20, CMQC.MQMF_SEGMENT);
            put.report = COA;
            put.replyToQueueName = REPLY;
            t.mark(() -> put(q, put));
            MQMessage got = report(t);
            t.bytes("GroupId", MqiCase.id(5), got.groupId);
            t.same("Offset, MsgFlags", "20 " + CMQC.MQMF_SEGMENT, got.offset + " " + got.messageFlags);
            t.same("OriginalLength", 10, got.originalLength);
        });
        at("REPORT-012", t -> {
            MQQueue q = queue(t, "MQM.FEW");
            for (int i = 0; i < 2; i++) put(q, "full");
            t.mark(() -> put(q, asking("x", COA | CMQC.MQRO_EXCEPTION)));
            noReport(t);
        });
    }

    /** Exceptions are reported by those who move messages on: delivered here there is none. */
    private void exceptions() {
        int[] options = {CMQC.MQRO_EXCEPTION, CMQC.MQRO_EXCEPTION_WITH_DATA, CMQC.MQRO_EXCEPTION_WITH_FULL_DATA};
        for (int i = 0; i < options.length; i++) {
            int option = options[i];
            at("REPORT-01" + (3 + i), t -> {
                MQQueue q = queue(t, A);
                t.mark(() -> put(q, asking("x", option | CMQC.MQRO_DISCARD_MSG)));
                t.same("Report", option | CMQC.MQRO_DISCARD_MSG, get(q, NOSYNC).report);
                noReport(t);
            });
        }
    }

    /** Gets a message whose get makes a report; what comes is of a length. */
    private void delivered(String id, String text, int report, int length) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = put(q, asking(text, report));
            noReport(t);
            t.mark(() -> t.same("the message itself", text, text(q)));
            MQMessage got = report(t);
            t.same("Feedback", CMQC.MQFB_COD, got.feedback);
            t.same("data", text.substring(0, length), MqiCase.body(got));
            t.bytes("CorrelId", put.messageId, got.correlationId);
            noReport(t);
        });
    }

    private void delivery() {
        delivered("REPORT-020", "short", COD, 0);
        delivered("REPORT-021", long250(), CMQC.MQRO_COD_WITH_DATA, 100);
        delivered("REPORT-022", long250(), CMQC.MQRO_COD_WITH_FULL_DATA, 250);
        at("REPORT-023", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COD));
            t.mark(() -> get(q, FIRST));
            noReport(t);
        });
        at("REPORT-024", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COD));
            get(q, SYNC);
            noReport(t);
            t.mark(() -> t.qm().commit());
            t.same("Feedback", CMQC.MQFB_COD, report(t).feedback);
        });
        at("REPORT-025", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COD));
            get(q, SYNC);
            t.mark(() -> t.qm().backout());
            noReport(t);
            get(q, NOSYNC);
            t.same("Feedback", CMQC.MQFB_COD, report(t).feedback);
        });
        at("REPORT-026", t -> {
            MQQueue q = queue(t, A);
            put(q, asking(long250(), CMQC.MQRO_COD_WITH_FULL_DATA));
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG), 10));
            t.same("data", long250(), MqiCase.body(report(t)));
        });
        at("REPORT-027", t -> {
            MQQueue q = queue(t, A);
            put(q, asking(long250(), COD));
            t.mark(() -> q.get(new MQMessage(), MqiCase.gmo(NOSYNC), 10));
            noReport(t);
        });
        at("REPORT-028", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COD));
            get(q, FIRST);
            t.mark(() -> get(q, CMQC.MQGMO_MSG_UNDER_CURSOR | NOSYNC));
            t.same("Feedback", CMQC.MQFB_COD, report(t).feedback);
        });
        at("REPORT-029", t -> {
            MQQueue q = queue(t, A);
            put(q, asking("x", COA | COD));
            t.mark(() -> get(q, NOSYNC));
            t.same("first", CMQC.MQFB_COA, report(t).feedback);
            t.same("then", CMQC.MQFB_COD, report(t).feedback);
            noReport(t);
        });
        at("REPORT-030", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking(long250(), COD);
            put.priority = 3;
            put.persistence = CMQC.MQPER_PERSISTENT;
            put.format = "MYFORMAT";
            put(q, put);
            t.mark(() -> get(q, NOSYNC));
            MQMessage got = report(t);
            t.same("Priority, Persistence", "3 1", got.priority + " " + got.persistence);
            t.text("Format", "MYFORMAT", got.format);
            t.same("PutApplType", CMQC.MQAT_QMGR, got.putApplicationType);
            t.same("Report, Expiry", "0 -1", got.report + " " + got.expiry);
        });
        at("REPORT-031", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, asking("x", CMQC.MQRO_PAN | CMQC.MQRO_NAN)));
            get(q, NOSYNC);
            noReport(t);
        });
        at("REPORT-032", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, asking("x", CMQC.MQRO_DISCARD_MSG)));
            MQMessage got = get(q, NOSYNC);
            t.same("Report", CMQC.MQRO_DISCARD_MSG, got.report);
            t.text("ReplyToQMgr", "QM1", got.replyToQueueManagerName);
            noReport(t);
        });
    }

    private void expires(String id, String text, int report, int length) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking(text, report);
            put.expiry = 1;
            put(q, put);
            Thread.sleep(250);
            t.mark(() -> get(q, NOSYNC));
            if (length < 0) {
                noReport(t);
                return;
            }
            MQMessage got = report(t);
            t.same("Feedback", CMQC.MQFB_EXPIRATION, got.feedback);
            t.same("data", text.substring(0, length), MqiCase.body(got));
            t.bytes("CorrelId", put.messageId, got.correlationId);
            t.same("Expiry", CMQC.MQEI_UNLIMITED, got.expiry);
            noReport(t);
        });
    }

    private void expiration() {
        expires("REPORT-040", "short", GONE, 0);
        expires("REPORT-041", long250(), CMQC.MQRO_EXPIRATION_WITH_DATA, 100);
        expires("REPORT-042", long250(), CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, 250);
        expires("REPORT-043", "short", COD, -1);
        at("REPORT-044", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", GONE);
            put.expiry = 6000;
            put(q, put);
            t.mark(() -> get(q, NOSYNC));
            noReport(t);
        });
        at("REPORT-045", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", GONE);
            put.expiry = 1;
            put(q, put);
            Thread.sleep(250);
            t.mark(() -> get(q, FIRST));
            t.same("Feedback", CMQC.MQFB_EXPIRATION, report(t).feedback);
        });
    }

    private void identified(String id, int option, boolean messageId, boolean correlation) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", COA | COD | option);
            t.mark(() -> put(q, put));
            get(q, NOSYNC);
            for (int i = 0; i < 2; i++) {
                MQMessage got = report(t);
                t.same("MsgId passed", messageId, Arrays.equals(put.messageId, got.messageId));
                t.bytes("CorrelId", correlation ? C1 : put.messageId, got.correlationId);
            }
        });
    }

    private void ids() {
        identified("REPORT-050", CMQC.MQRO_NEW_MSG_ID | CMQC.MQRO_COPY_MSG_ID_TO_CORREL_ID, false, false);
        identified("REPORT-051", CMQC.MQRO_PASS_MSG_ID, true, false);
        identified("REPORT-052", CMQC.MQRO_PASS_CORREL_ID, false, true);
        identified("REPORT-053", CMQC.MQRO_PASS_MSG_ID | CMQC.MQRO_PASS_CORREL_ID, true, true);
    }

    private void passing() {
        int pass = CMQC.MQRO_PASS_DISCARD_AND_EXPIRY;
        at("REPORT-060", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", COD | pass | CMQC.MQRO_DISCARD_MSG);
            put.expiry = 6000;
            put(q, put);
            Thread.sleep(250);
            t.mark(() -> get(q, NOSYNC));
            MQMessage got = report(t);
            t.that("Expiry " + got.expiry, got.expiry <= 5998 && got.expiry > 5700);
            t.same("Report", CMQC.MQRO_DISCARD_MSG, got.report & CMQC.MQRO_DISCARD_MSG);
        });
        at("REPORT-061", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", COA | pass);
            put.expiry = 6000;
            t.mark(() -> put(q, put));
            MQMessage got = report(t);
            t.that("Expiry " + got.expiry, got.expiry <= 6000 && got.expiry > 5900);
            t.same("Report", 0, got.report & CMQC.MQRO_DISCARD_MSG);
        });
        at("REPORT-062", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", GONE | pass);
            put.expiry = 1;
            put(q, put);
            Thread.sleep(250);
            t.mark(() -> get(q, NOSYNC));
            MQMessage got = report(t);
            t.that("Expiry " + got.expiry, got.expiry <= 600 && got.expiry > 500);
        });
        at("REPORT-063", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, asking("x", COA | pass)));
            t.same("Expiry", CMQC.MQEI_UNLIMITED, report(t).expiry);
        });
    }

    /** The report that could not be delivered: its dead-letter header, and behind it what it says. */
    private static MQMessage dead(MqiCase t, MQMessage about, int reason, String name) throws Exception {
        MQMessage got = new MQMessage();
        got.correlationId = about.messageId.clone();
        t.open(DEAD, IN).get(got, waiting(NOSYNC, 300));
        t.text("Format", CMQC.MQFMT_DEAD_LETTER_HEADER, got.format);
        t.same("MsgType", CMQC.MQMT_REPORT, got.messageType);
        MQDLH header = new MQDLH(got);
        t.same("Reason", reason, header.getReason());
        t.text("DestQName", name, header.getDestQName());
        t.text("DestQMgrName", "QM1", header.getDestQMgrName());
        t.same("PutApplType", CMQC.MQAT_QMGR, header.getPutApplType());
        return got;
    }

    private void undelivered(String id, String reply, int reason) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking(long250(), CMQC.MQRO_COA_WITH_FULL_DATA);
            put.replyToQueueName = reply;
            t.mark(() -> put(q, put));
            t.same("Feedback", CMQC.MQFB_COA, dead(t, put, reason, reply).feedback);
            t.same("the message itself", long250(), text(q));
        });
    }

    private void undeliverable() {
        undelivered("REPORT-070", "MQM.NO.SUCH.QUEUE", 2085);
        undelivered("REPORT-071", "MQM.REPLY.FULL", 2053);
        undelivered("REPORT-072", "MQM.REPLY.PUTOFF", 2051);
        undelivered("REPORT-073", "MQM.REPLY.SMALL", 2030);
        at("REPORT-074", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", COD);
            put.replyToQueueName = "MQM.NO.SUCH.QUEUE";
            put(q, put);
            t.mark(() -> get(q, NOSYNC));
            t.same("Feedback", CMQC.MQFB_COD, dead(t, put, 2085, "MQM.NO.SUCH.QUEUE").feedback);
        });
        at("REPORT-075", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", GONE);
            put.replyToQueueName = "MQM.NO.SUCH.QUEUE";
            put.expiry = 1;
            put(q, put);
            Thread.sleep(250);
            t.mark(() -> get(q, NOSYNC));
            t.same("Feedback", CMQC.MQFB_EXPIRATION, dead(t, put, 2085, "MQM.NO.SUCH.QUEUE").feedback);
        });
    }

    private void refused() {
        at("REPORT-080", t -> {
            MQQueue q = queue(t, A);
            for (int option : new int[] {COA, COD, GONE, CMQC.MQRO_EXCEPTION, CMQC.MQRO_COA_WITH_FULL_DATA}) {
                MQMessage put = MqiCase.message("x");
                put.report = option;
                t.mark(() -> put(q, put));
            }
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("REPORT-081", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = MqiCase.message("x");
            put.messageType = CMQC.MQMT_REQUEST;
            t.mark(() -> put(q, put));
        });
        at("REPORT-082", t -> {
            MQQueue q = queue(t, A);
            for (int option : new int[] {CMQC.MQRO_PASS_MSG_ID, CMQC.MQRO_PASS_CORREL_ID, CMQC.MQRO_DISCARD_MSG}) {
                MQMessage put = MqiCase.message("x");
                put.report = option;
                t.mark(() -> put(q, put));
            }
        });
        at("REPORT-083", t -> {
            MQQueue q = queue(t, A);
            for (int option : new int[] {0x10000000, 0x00040000, 0x00080000, 0x00100000})
                t.mark(() -> put(q, asking("x", option)));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("REPORT-084", t -> {
            MQQueue q = queue(t, A);
            for (int option : new int[] {0x8, 0x20, 0x20000000}) t.mark(() -> put(q, asking("x", option)));
            t.same("they are put", 3, q.getCurrentDepth());
            t.same("Report", 0x8, get(q, NOSYNC).report);
        });
        at("REPORT-085", t -> {
            MQQueue q = queue(t, A);
            t.mark(() -> put(q, asking("x", 0x8000)));
        });
    }

    private void remote() {
        at("REPORT-090", t -> {
            t.empty("MQI.XQ2");
            MQQueue q = t.open("MQI.QR2", OUT);
            t.mark(() -> put(q, asking("x", 0x8000)));
        });
        at("REPORT-091", t -> {
            MQQueue transmission = queue(t, "MQI.XQ2");
            MQQueue q = t.open("MQI.QR2", OUT);
            t.mark(() -> put(q, asking("x", COA | COD | GONE)));
            noReport(t);
            MQMessage got = get(transmission, NOSYNC);
            t.same("Report of the separate MQMD", GONE, got.report);
            noReport(t);
        });
        at("REPORT-092", t -> {
            MQQueue transmission = queue(t, "MQI.QM3");
            MQQueue q = queue(t, A);
            MQMessage put = asking("x", COA);
            put.replyToQueueManagerName = "MQI.QM3";
            put.replyToQueueName = "THERE";
            t.mark(() -> put(q, put));
            MQMessage got = new MQMessage();
            transmission.get(got, waiting(NOSYNC, 300));
            t.text("Format", CMQC.MQFMT_XMIT_Q_HEADER, got.format);
            byte[] data = raw(got);
            t.text("RemoteQName", "THERE", new String(data, 8, 48, "US-ASCII"));
            t.text("RemoteQMgrName", "MQI.QM3", new String(data, 56, 48, "US-ASCII"));
        });
    }
}
