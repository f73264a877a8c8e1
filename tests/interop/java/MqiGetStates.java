// More of the area get: expiry, order, and states of queue and handle.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.constants.CMQC;
import com.ibm.mq.jmqi.MQGMO;
import com.ibm.mq.jmqi.MQMD;
import com.ibm.mq.jmqi.handles.Hobj;

final class MqiGetStates extends MqiMessages {
    static final String A = MqiGet.A;
    static final int MSG = MqiGet.MSG;
    static final int COR = MqiGet.COR;
    static final byte[] C1 = MqiGet.C1;

    @Override
    void define() {
        expiry();
        order();
        states();
        versions();
    }

    /** A raw get with a version of MQGMO and of MQMD; the text that came. */
    private static String raw(MqiCase t, int gmoVersion, int mdVersion, int options, byte[] id) throws Exception {
        MqiRaw raw = t.raw();
        Hobj handle = raw.open(raw.od(CMQC.MQOT_Q, A), IN).getHobj();
        MQGMO get = raw.gmo(gmoVersion, options);
        get.setMatchOptions(CMQC.MQMO_NONE);
        MQMD descriptor = raw.md(mdVersion);
        descriptor.setCorrelId(id);
        byte[] data = new byte[100];
        return new String(data, 0, raw.get(handle, descriptor, get, data.length, data), "US-ASCII");
    }

    private void versions() {
        at("GET-160", t -> {
            put(queue(t, A), correlated("x", C1));
            t.mark(() -> raw(t, 1, 1, NOSYNC, MqiGet.C2));
            t.same("version 2 looks at MatchOptions", "x", raw(t, 2, 1, NOSYNC, MqiGet.C2));
        });
        at("GET-161", t -> {
            put(queue(t, A), correlated("x", C1));
            t.mark(() -> t.same("text", "x", raw(t, 1, 1, NOSYNC, C1)));
        });
        at("GET-162", t -> {
            put(queue(t, A), "x");
            for (int option : new int[] {CMQC.MQGMO_LOGICAL_ORDER, CMQC.MQGMO_COMPLETE_MSG,
                CMQC.MQGMO_ALL_MSGS_AVAILABLE, CMQC.MQGMO_ALL_SEGMENTS_AVAILABLE})
                t.mark(() -> raw(t, 1, 2, NOSYNC | option, new byte[24]));
        });
        at("GET-163", t -> {
            put(queue(t, A), "x");
            t.mark(() -> raw(t, 9, 2, NOSYNC, new byte[24]));
        });
        at("GET-164", t -> {
            put(queue(t, A), "x");
            t.mark(() -> raw(t, 2, 7, NOSYNC, new byte[24]));
        });
        at("GET-165", t -> {
            put(queue(t, A), "x");
            for (int version = 2; version <= 4; version++) {
                int number = version;
                t.mark(() -> t.same("text", "x", raw(t, number, 2, NOSYNC, new byte[24])));
                put(queue(t, A), "x");
            }
        });
        at("GET-166", t -> {
            queue(t, A);
            MqiRaw raw = t.raw();
            Hobj handle = raw.open(raw.od(CMQC.MQOT_Q, A), OUT).getHobj();
            t.mark(() -> raw.put(handle, raw.md(1), raw.pmo(9, 0), new byte[1]));
        });
    }

    private void expiry() {
        at("GET-110", t -> {
            MQQueue q = queue(t, A);
            put(q, expiring("gone", 1));
            put(q, "stays");
            Thread.sleep(250);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("text", "stays", MqiCase.body(got));
            none(t, q);
        });
        at("GET-111", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = put(q, expiring("gone", 1));
            Thread.sleep(250);
            t.mark(() -> match(q, wanted(put.messageId, null), NOSYNC, MSG));
        });
        at("GET-112", t -> {
            MQQueue q = queue(t, A);
            put(q, expiring("gone", 1));
            Thread.sleep(250);
            t.mark(() -> get(q, FIRST));
        });
        at("GET-113", t -> {
            MQQueue q = queue(t, A);
            put(q, expiring("later", 6000));
            Thread.sleep(250);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.that("Expiry " + got.expiry, got.expiry <= 5998 && got.expiry > 5700);
        });
        at("GET-114", t -> {
            MQQueue q = queue(t, A);
            put(q, "for ever");
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("Expiry", CMQC.MQEI_UNLIMITED, got.expiry);
        });
        at("GET-115", t -> {
            MQQueue q = queue(t, A);
            put(q, expiring("in a unit", 3));
            t.mark(() -> get(q, SYNC));
            Thread.sleep(350);
            t.qm().backout();
            none(t, q);
        });
        at("GET-116", t -> {
            MQQueue q = queue(t, A);
            unit(q, "x");
            put(q, expiring("in a unit", 1), CMQC.MQPMO_SYNCPOINT);
            Thread.sleep(250);
            t.qm().commit();
            t.same("text", "x", text(q));
            t.mark(() -> get(q, NOSYNC));
        });
        at("GET-117", t -> {
            MQQueue q = queue(t, A);
            for (int value : new int[] {0, -2, -100}) t.mark(() -> put(q, expiring("no", value)));
            none(t, q);
        });
        at("GET-118", t -> {
            MQQueue q = queue(t, A);
            put(q, expiring("gone", 1));
            t.mark(() -> q.get(wanted(null, C1), waiting(NOSYNC, 250)));
            Thread.sleep(150);
            none(t, q);
        });
    }

    private void order() {
        at("GET-130", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            for (int p : new int[] {1, 5, 1, 9, 5, 0}) put(q, priority(p + "-" + q.getCurrentDepth(), p));
            t.mark(() -> t.same("order", "9-3 5-1 5-4 1-0 1-2 0-5", all(q)));
        });
        at("GET-131", t -> {
            MQQueue q = queue(t, "MQM.FIFO");
            for (int p : new int[] {1, 9, 0}) put(q, priority("p" + p, p));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("text", "p1", MqiCase.body(got));
            t.same("Priority", 1, got.priority);
            t.same("order", "p9 p0", all(q));
        });
        at("GET-132", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            put(q, priority("three", 3));
            put(q, "as the queue");
            put(q, priority("five", 5));
            t.mark(() -> t.same("order", "five as the queue three", all(q)));
        });
        at("GET-133", t -> {
            MQQueue q = queue(t, "MQM.PRIORITY");
            for (int p : new int[] {2, 7, 2}) put(q, correlated(p + "." + q.getCurrentDepth(), C1), 0);
            MQMessage high = correlated("high", C1);
            high.priority = 8;
            put(q, high);
            t.mark(() -> t.same("text", "high", MqiCase.body(match(q, wanted(null, C1), NOSYNC, COR))));
        });
    }

    private void states() {
        at("GET-140", t -> {
            MQQueue q = t.open("MQM.GETOFF", IN);
            t.mark(() -> get(q, NOSYNC));
        });
        at("GET-141", t -> {
            MQQueue q = t.open("MQM.ALIAS.GETOFF", IN);
            t.mark(() -> get(q, NOSYNC));
        });
        at("GET-142", t -> {
            MQQueue q = t.open("MQM.GETOFF", BROWSE);
            t.mark(() -> get(q, FIRST));
        });
        at("GET-143", t -> {
            MQQueue q = t.open(A, OUT);
            t.mark(() -> get(q, NOSYNC));
        });
        at("GET-144", t -> {
            MQQueue q = t.open(A, BROWSE);
            t.mark(() -> get(q, NOSYNC));
        });
        at("GET-145", t -> {
            MQQueue q = t.open(A, IN);
            t.mark(() -> get(q, FIRST));
        });
        at("GET-146", t -> {
            MQQueue q = t.open(A, IN);
            t.mark(() -> get(q, CMQC.MQGMO_MSG_UNDER_CURSOR));
        });
        at("GET-147", t -> {
            MQQueue dynamic = t.open("MQM.MODEL.TEMP", IN | OUT, null, "MQM.DYN.*", null);
            MQQueue other = t.open(t.connect(), dynamic.getName(), IN);
            dynamic.close();
            t.mark(() -> get(other, NOSYNC));
        });
        at("GET-148", t -> {
            MQQueue q = t.open("MQM.ALIAS", IN);
            put(queue(t, A), "through the alias");
            MQGetMessageOptions get = MqiCase.gmo(NOSYNC);
            t.mark(() -> q.get(new MQMessage(), get));
            t.text("ResolvedQName", A, get.resolvedQueueName);
        });
        at("GET-149", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = put(q, persistent("x"));
            MQGetMessageOptions get = MqiCase.gmo(NOSYNC);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, get));
            t.same("GroupStatus", ' ', get.groupStatus);
            t.same("SegmentStatus", ' ', get.segmentStatus);
            t.same("Segmentation", ' ', get.segmentation);
            t.same("MsgSeqNumber", 1, got.messageSequenceNumber);
            t.same("Offset", 0, got.offset);
            t.same("MsgFlags", 0, got.messageFlags);
            t.same("OriginalLength", CMQC.MQOL_UNDEFINED, got.originalLength);
            t.that("GroupId", zero(got.groupId));
            t.same("Persistence", CMQC.MQPER_PERSISTENT, got.persistence);
            t.same("PutApplType", CMQC.MQAT_JAVA, got.putApplicationType);
            t.text("ApplOriginData", "", got.applicationOriginData);
        });
        at("GET-150", t -> {
            MQQueue set = t.open("MQM.SET", CMQC.MQOO_SET | ALL);
            put(set, "x");
            get(set, FIRST);
            set.setInhibitGet(CMQC.MQQA_GET_INHIBITED);
            t.after(() -> set.setInhibitGet(CMQC.MQQA_GET_ALLOWED));
            t.mark(() -> get(set, NOSYNC));
            t.reason(CMQC.MQRC_GET_INHIBITED, () -> get(set, NEXT));
            set.setInhibitGet(CMQC.MQQA_GET_ALLOWED);
            t.same("text", "x", text(set));
        });
    }
}
