// Message context: default, none, set, saved and passed.

import static com.ibm.mq.constants.CMQC.*;

import com.ibm.mq.MQMessage;
import com.ibm.mq.MQPutMessageOptions;
import com.ibm.mq.MQQueue;
import com.ibm.mq.jmqi.MQPMO;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.TimeZone;

final class MqiContext extends MqiArea {
    private static final int OUT = MQPMO_NO_SYNCPOINT;
    private static final int SAVE = MQOO_INPUT_SHARED | MQOO_SAVE_ALL_CONTEXT;
    private static final String FROM = "MQI.LOCAL.2";
    private static final String TO = "MQI.LOCAL";

    /** A message whose context says another program, another user, another time. */
    private static MQMessage forged() throws Exception {
        MQMessage message = MqiCase.message("with a context");
        message.userId = "someone";
        message.accountingToken = token(40);
        message.applicationIdData = "identity of an application";
        message.putApplicationType = MQAT_UNIX;
        message.putApplicationName = "another program";
        GregorianCalendar when = new GregorianCalendar(TimeZone.getTimeZone("GMT"));
        when.clear();
        when.set(2001, Calendar.FEBRUARY, 3, 4, 5, 6);
        message.putDateTime = when;
        message.applicationOriginData = "orig";
        return message;
    }

    private static byte[] token(int seed) {
        byte[] token = new byte[32];
        for (int i = 0; i < token.length; i++) token[i] = (byte) (seed + i);
        return token;
    }

    private static void identityIsForged(MqiCase t, MQMessage got) {
        t.text("userId", "someone", got.userId);
        t.bytes("accountingToken", token(40), got.accountingToken);
        t.text("applicationIdData", "identity of an application", got.applicationIdData);
    }

    private static void originIsForged(MqiCase t, MQMessage got) {
        t.same("putApplicationType", MQAT_UNIX, got.putApplicationType);
        t.text("putApplicationName", "another program", got.putApplicationName);
        t.text("applicationOriginData", "orig", got.applicationOriginData);
        GregorianCalendar when = got.putDateTime;
        when.setTimeZone(TimeZone.getTimeZone("GMT"));
        t.same("year", 2001, when.get(Calendar.YEAR));
        t.same("second", 6, when.get(Calendar.SECOND));
    }

    private static void identityIsDefault(MqiCase t, MQMessage got) {
        t.that("userId is there", !got.userId.trim().isEmpty() && !got.userId.trim().equals("someone"));
        t.text("applicationIdData", "", got.applicationIdData);
    }

    private static void originIsDefault(MqiCase t, MQMessage got) {
        t.same("putApplicationType", MQAT_JAVA, got.putApplicationType);
        t.that("putApplicationName is there", !got.putApplicationName.trim().isEmpty());
        t.text("applicationOriginData", "", got.applicationOriginData);
        long age = System.currentTimeMillis() - got.putDateTime.getTimeInMillis();
        t.that("put " + age + " ms ago", age > -60_000 && age < 60_000);
    }

    /** What becomes of the context of a forged message that is put with these options. */
    private interface Look {
        void look(MqiCase t, MQMessage got) throws Exception;
    }

    private void put(String id, int openOptions, int putOptions, Look look) {
        at(id, t -> {
            MQQueue queue = t.open(TO, MQOO_OUTPUT | openOptions);
            t.mark(() -> queue.put(forged(), MqiCase.pmo(OUT | putOptions)));
            if (t.row.completion() == MQCC_OK) look.look(t, t.get(TO));
            else t.same("depth", 0, t.depth(TO));
        });
    }

    private void put1(String id, int putOptions, Look look) {
        at(id, t -> {
            t.empty(TO);
            t.mark(() -> t.qm().put(TO, forged(), MqiCase.pmo(OUT | putOptions)));
            look.look(t, t.get(TO));
        });
    }

    /** A handle whose context is that of a forged message. */
    private static MQQueue saved(MqiCase t, int getOptions) throws Exception {
        t.open(FROM, MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT).put(forged(), MqiCase.pmo(OUT | MQPMO_SET_ALL_CONTEXT));
        MQQueue from = t.open(FROM, SAVE | MQOO_BROWSE);
        from.get(new MQMessage(), MqiCase.gmo(getOptions));
        return from;
    }

    private static MQPutMessageOptions pass(int options, MQQueue from) {
        MQPutMessageOptions put = MqiCase.pmo(OUT | options);
        put.contextReference = from;
        return put;
    }

    private void passed(String id, int openOptions, int putOptions, Look look) {
        at(id, t -> {
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            MQQueue to = t.open(TO, MQOO_OUTPUT | openOptions);
            t.mark(() -> to.put(MqiCase.message("passed on"), pass(putOptions, from)));
            if (t.row.completion() == MQCC_OK) look.look(t, t.get(TO));
            else t.same("depth", 0, t.depth(TO));
        });
    }

    private static void allDefault(MqiCase t, MQMessage got) {
        identityIsDefault(t, got);
        originIsDefault(t, got);
    }

    private static void allForged(MqiCase t, MQMessage got) {
        identityIsForged(t, got);
        originIsForged(t, got);
    }

    private static void identityForged(MqiCase t, MQMessage got) {
        identityIsForged(t, got);
        originIsDefault(t, got);
    }

    private static void none(MqiCase t, MQMessage got) {
        t.text("userId", "", got.userId);
        t.bytes("accountingToken", new byte[32], got.accountingToken);
        t.text("applicationIdData", "", got.applicationIdData);
        t.same("putApplicationType", MQAT_NO_CONTEXT, got.putApplicationType);
        t.text("putApplicationName", "", got.putApplicationName);
        t.text("applicationOriginData", "", got.applicationOriginData);
    }

    @Override
    void define() {
        put("CONTEXT-001", 0, 0, MqiContext::allDefault);
        put("CONTEXT-002", 0, MQPMO_DEFAULT_CONTEXT, MqiContext::allDefault);
        put("CONTEXT-003", 0, MQPMO_NO_CONTEXT, MqiContext::none);
        put("CONTEXT-004", MQOO_SET_IDENTITY_CONTEXT, MQPMO_SET_IDENTITY_CONTEXT, MqiContext::identityForged);
        put("CONTEXT-005", MQOO_SET_ALL_CONTEXT, MQPMO_SET_ALL_CONTEXT, MqiContext::allForged);
        put("CONTEXT-006", MQOO_SET_ALL_CONTEXT, MQPMO_SET_IDENTITY_CONTEXT, MqiContext::identityForged);
        put("CONTEXT-007", MQOO_SET_ALL_CONTEXT, 0, MqiContext::allDefault);
        put("CONTEXT-008", MQOO_SET_ALL_CONTEXT, MQPMO_NO_CONTEXT, MqiContext::none);
        put("CONTEXT-009", 0, MQPMO_SET_IDENTITY_CONTEXT, null);
        put("CONTEXT-010", 0, MQPMO_SET_ALL_CONTEXT, null);
        put("CONTEXT-011", MQOO_SET_IDENTITY_CONTEXT, MQPMO_SET_ALL_CONTEXT, null);
        put("CONTEXT-012", MQOO_PASS_ALL_CONTEXT, MQPMO_SET_IDENTITY_CONTEXT, null);
        put("CONTEXT-013", MQOO_PASS_ALL_CONTEXT, MQPMO_SET_ALL_CONTEXT, null);
        put1("CONTEXT-014", 0, MqiContext::allDefault);
        put1("CONTEXT-015", MQPMO_NO_CONTEXT, MqiContext::none);
        put1("CONTEXT-016", MQPMO_SET_IDENTITY_CONTEXT, MqiContext::identityForged);
        put1("CONTEXT-017", MQPMO_SET_ALL_CONTEXT, MqiContext::allForged);
        passed("CONTEXT-020", MQOO_PASS_IDENTITY_CONTEXT, MQPMO_PASS_IDENTITY_CONTEXT, MqiContext::identityForged);
        passed("CONTEXT-021", MQOO_PASS_ALL_CONTEXT, MQPMO_PASS_ALL_CONTEXT, MqiContext::allForged);
        passed("CONTEXT-022", MQOO_PASS_ALL_CONTEXT, MQPMO_PASS_IDENTITY_CONTEXT, MqiContext::identityForged);
        passed("CONTEXT-023", MQOO_SET_IDENTITY_CONTEXT, MQPMO_PASS_IDENTITY_CONTEXT, MqiContext::identityForged);
        passed("CONTEXT-024", MQOO_SET_ALL_CONTEXT, MQPMO_PASS_ALL_CONTEXT, MqiContext::allForged);
        passed("CONTEXT-025", 0, MQPMO_PASS_IDENTITY_CONTEXT, null);
        passed("CONTEXT-026", 0, MQPMO_PASS_ALL_CONTEXT, null);
        passed("CONTEXT-027", MQOO_PASS_IDENTITY_CONTEXT, MQPMO_PASS_ALL_CONTEXT, null);
        passed("CONTEXT-028", MQOO_SET_IDENTITY_CONTEXT, MQPMO_PASS_ALL_CONTEXT, null);
        handles();
        others();
    }

    private static void put1(MqiCase t, int options, int context) throws Exception {
        t.empty(TO);
        MqiRaw raw = t.raw();
        MQPMO put = raw.pmo(2, OUT | options);
        put.setContext(context);
        raw.put1(raw.od(MQOT_Q, TO), raw.md(2), put, new byte[] {1, 2, 3});
    }

    /** The handle that the context is taken from. */
    private void handles() {
        at("CONTEXT-030", t -> {
            MQQueue from = t.open(FROM, MQOO_INPUT_SHARED | MQOO_OUTPUT);
            t.put(from, "x");
            t.get(from);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("no"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
        });
        at("CONTEXT-031", t -> {
            MQQueue from = t.open(FROM, SAVE);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("no"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            t.mark(() -> to.put(MqiCase.message("no"), pass(MQPMO_PASS_IDENTITY_CONTEXT, from)));
        });
        at("CONTEXT-032", t -> {
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("no"), MqiCase.pmo(OUT | MQPMO_PASS_ALL_CONTEXT)));
        });
        at("CONTEXT-033", t -> {
            MQQueue from = saved(t, MQGMO_BROWSE_FIRST);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("no"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
        });
        at("CONTEXT-034", t -> {
            MQQueue from = saved(t, MQGMO_SYNCPOINT);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("passed on"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            t.qm().commit();
            allForged(t, t.get(TO));
        });
        at("CONTEXT-035", t -> {
            // The context of the message that was got last.
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            t.put(t.open(FROM, MQOO_OUTPUT), "with the default context");
            t.get(from);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("passed on"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            allDefault(t, t.get(TO));
        });
        at("CONTEXT-036", t -> {
            // Twice from one get.
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            MQQueue to = t.open(TO, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> to.put(MqiCase.message("1"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            t.mark(() -> to.put(MqiCase.message("2"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            allForged(t, t.get(TO));
            allForged(t, t.get(TO));
        });
        at("CONTEXT-037", t -> {
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            t.mark(() -> put1(t, MQPMO_PASS_ALL_CONTEXT, MqiRaw.number(from)));
            allForged(t, t.get(TO));
        });
        at("CONTEXT-038", t -> {
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            t.mark(() -> put1(t, MQPMO_PASS_IDENTITY_CONTEXT, MqiRaw.number(from)));
            identityForged(t, t.get(TO));
        });
        at("CONTEXT-039", t -> {
            MQQueue from = t.open(FROM, SAVE);
            t.mark(() -> put1(t, MQPMO_PASS_ALL_CONTEXT, MqiRaw.number(from)));
        });
        at("CONTEXT-042", t -> {
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            t.mark(() -> t.qm().put(TO, MqiCase.message("no"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
        });
        at("CONTEXT-043", t -> t.mark(() -> put1(t, MQPMO_PASS_ALL_CONTEXT, 7_777_777)));
        at("CONTEXT-040", t -> {
            // The same queue, got through a handle that saves and put through another.
            MQQueue from = saved(t, MQGMO_NO_SYNCPOINT);
            MQQueue back = t.open(FROM, MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.mark(() -> back.put(MqiCase.message("put back"), pass(MQPMO_PASS_ALL_CONTEXT, from)));
            allForged(t, t.get(FROM));
        });
        at("CONTEXT-041", t -> {
            // One handle does both.
            t.open(FROM, MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT).put(forged(), MqiCase.pmo(OUT | MQPMO_SET_ALL_CONTEXT));
            MQQueue both = t.open(FROM, SAVE | MQOO_OUTPUT | MQOO_PASS_ALL_CONTEXT);
            t.get(both);
            t.mark(() -> both.put(MqiCase.message("put back"), pass(MQPMO_PASS_ALL_CONTEXT, both)));
            allForged(t, t.get(FROM));
        });
    }

    private void others() {
        at("CONTEXT-050", t -> {
            // On a transmission queue both descriptors have the context.
            t.empty("MQI.XQ2");
            MQQueue queue = t.open("MQI.QR2", MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT);
            t.mark(() -> queue.put(forged(), MqiCase.pmo(OUT | MQPMO_SET_ALL_CONTEXT)));
            MQMessage got = t.get("MQI.XQ2");
            identityIsForged(t, got);
            t.same("putApplicationType", MQAT_QMGR, got.putApplicationType);
            t.text("putApplicationName", "QM1", got.putApplicationName);
            t.text("applicationOriginData", "", got.applicationOriginData);
            String data = MqiCase.body(got);
            t.text("embedded UserIdentifier", "someone", data.substring(104 + 196, 104 + 208));
            t.text("embedded PutApplName", "another program", data.substring(104 + 276, 104 + 304));
            t.text("embedded PutDate", "20010203", data.substring(104 + 304, 104 + 312));
        });
        at("CONTEXT-051", t -> {
            MQQueue queue = t.open(TO, MQOO_OUTPUT | MQOO_SET_ALL_CONTEXT);
            MQMessage message = forged();
            message.putApplicationType = -1;
            t.mark(() -> queue.put(message, MqiCase.pmo(OUT | MQPMO_SET_ALL_CONTEXT)));
            t.same("putApplicationType", -1, t.get(TO).putApplicationType);
        });
        at("CONTEXT-052", t -> {
            MQQueue queue = t.open(TO, MQOO_OUTPUT | MQOO_ALTERNATE_USER_AUTHORITY, null, null, "other");
            t.mark(() -> queue.put(MqiCase.message("x"), MqiCase.pmo(OUT)));
            originIsDefault(t, t.get(TO));
        });
        at("CONTEXT-053", t -> {
            // What the program is told after the put is what the getter will see.
            MQQueue queue = t.open(TO, MQOO_OUTPUT);
            MQMessage message = MqiCase.message("x");
            t.mark(() -> queue.put(message, MqiCase.pmo(OUT)));
            MQMessage got = t.get(TO);
            t.text("userId", got.userId, message.userId);
            t.text("putApplicationName", got.putApplicationName, message.putApplicationName);
            t.same("putApplicationType", got.putApplicationType, message.putApplicationType);
        });
        at("CONTEXT-054", t -> {
            MQQueue queue = t.open(TO, MQOO_OUTPUT | MQOO_SET_IDENTITY_CONTEXT);
            MQMessage message = MqiCase.message("x");
            message.userId = "twelve12char";
            t.mark(() -> queue.put(message, MqiCase.pmo(OUT | MQPMO_SET_IDENTITY_CONTEXT)));
            t.text("userId", "twelve12char", t.get(TO).userId);
        });
    }
}
