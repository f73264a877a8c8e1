// Message properties: round trip of each type, PROPCTL and the options of MQGET, headers that a program makes itself,
// and headers that a put refuses.

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.constants.CMQC;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.TreeSet;

final class MqiProperty extends MqiMessages {
    static final String A = "MQM.PROP.COMPAT";
    static final int FORCE = CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2;
    static final int NONE = CMQC.MQGMO_NO_PROPERTIES;
    static final int HANDLE = CMQC.MQGMO_PROPERTIES_IN_HANDLE;
    static final int COMPATIBLE = CMQC.MQGMO_PROPERTIES_COMPATIBILITY;

    interface Set {
        void on(MQMessage message) throws MQException;
    }

    interface Get {
        Object from(MQMessage message) throws MQException;
    }

    @Override
    void define() {
        types();
        options();
        control();
        ownHeaders();
        classes();
        wrongHeaders();
    }

    private static MQMessage body(String text) throws Exception {
        MQMessage message = MqiCase.message(text);
        message.format = CMQC.MQFMT_STRING;
        return message;
    }

    private static MQMessage coloured() throws Exception {
        MQMessage message = body("body");
        message.setStringProperty("colour", "red");
        message.setIntProperty("number", 5);
        return message;
    }

    private static String names(MQMessage message) throws MQException {
        TreeSet<String> names = new TreeSet<>();
        Enumeration<String> all = message.getPropertyNames("%");
        while (all.hasMoreElements()) names.add(all.nextElement());
        return names.toString();
    }

    private void trip(String id, Object expected, Set set, Get get) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = body("body");
            set.on(put);
            t.mark(() -> put(q, put));
            MQMessage got = get(q, NOSYNC);
            Object value = get.from(got);
            if (expected instanceof byte[]) t.bytes("value", (byte[]) expected, (byte[]) value);
            else t.same("value", expected, value);
            t.same("data", "body", MqiCase.body(got));
            t.text("Format", CMQC.MQFMT_STRING, got.format);
        });
    }

    private void types() {
        byte[] some = {0, 1, (byte) 0xfe, 127};
        trip("PROPERTY-001", "r\u00f6d & <\"blue'>", m -> m.setStringProperty("p", "r\u00f6d & <\"blue'>"),
            m -> m.getStringProperty("p"));
        trip("PROPERTY-002", true, m -> m.setBooleanProperty("p", true), m -> m.getBooleanProperty("p"));
        trip("PROPERTY-003", (byte) -7, m -> m.setByteProperty("p", (byte) -7), m -> m.getByteProperty("p"));
        trip("PROPERTY-004", (short) 1234, m -> m.setShortProperty("p", (short) 1234), m -> m.getShortProperty("p"));
        trip("PROPERTY-005", Integer.MIN_VALUE, m -> m.setIntProperty("p", Integer.MIN_VALUE), m -> m.getIntProperty("p"));
        trip("PROPERTY-006", Long.MAX_VALUE, m -> m.setLongProperty("p", Long.MAX_VALUE), m -> m.getLongProperty("p"));
        trip("PROPERTY-007", 1.5f, m -> m.setFloatProperty("p", 1.5f), m -> m.getFloatProperty("p"));
        trip("PROPERTY-008", -2.25e100, m -> m.setDoubleProperty("p", -2.25e100), m -> m.getDoubleProperty("p"));
        trip("PROPERTY-009", some, m -> m.setBytesProperty("p", some), m -> m.getBytesProperty("p"));
        trip("PROPERTY-010", null, m -> m.setObjectProperty("p", null), m -> m.getObjectProperty("p"));
        trip("PROPERTY-011", "", m -> m.setStringProperty("p", ""), m -> m.getStringProperty("p"));
        trip("PROPERTY-012", "deep", m -> m.setStringProperty("folder.group.name", "deep"),
            m -> m.getStringProperty("folder.group.name"));
        at("PROPERTY-013", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = body("body");
            for (int i = 0; i < 200; i++) put.setStringProperty("name" + i, "value " + i);
            t.mark(() -> put(q, put));
            MQMessage got = get(q, NOSYNC);
            for (int i = 0; i < 200; i++) t.same("value", "value " + i, got.getStringProperty("name" + i));
        });
        at("PROPERTY-014", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("names", "[colour, number]", names(got));
            t.same("length", 4, got.getMessageLength());
        });
        at("PROPERTY-015", t -> {
            MQQueue q = queue(t, A);
            put(q, body("body"));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | FORCE)));
            t.text("no header", CMQC.MQFMT_STRING, got.format);
            t.same("data", "body", MqiCase.body(got));
        });
        at("PROPERTY-016", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = coloured();
            put.clearMessage();
            t.mark(() -> put(q, put));
            MQMessage got = get(q, NOSYNC);
            t.same("value", "red", got.getStringProperty("colour"));
            t.same("length", 0, got.getMessageLength());
        });
        at("PROPERTY-017", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured(), CMQC.MQPMO_SYNCPOINT);
            t.qm().commit();
            get(q, SYNC);
            t.mark(() -> t.qm().backout());
            MQMessage got = get(q, NOSYNC);
            t.same("value", "red", got.getStringProperty("colour"));
            t.same("BackoutCount", 1, got.backoutCount);
        });
    }

    /** The folders of an MQRFH2 at the start of the data; they must be there. */
    private static String header(MqiCase t, MQMessage got) throws Exception {
        t.text("Format", CMQC.MQFMT_RF_HEADER_2, got.format);
        String text = new String(raw(got), StandardCharsets.ISO_8859_1);
        t.same("StrucId", "RFH ", text.substring(0, 4));
        return text;
    }

    private void raw(String id, int options) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | options)));
            String text = header(t, got);
            t.that("folder usr: " + text, text.contains("<usr>") && text.contains("red"));
            t.that("body behind it", text.endsWith("body"));
        });
    }

    private static void stripped(MqiCase t, MQMessage got) throws Exception {
        t.text("Format", CMQC.MQFMT_STRING, got.format);
        t.same("data", "body", MqiCase.body(got));
        t.reason(CMQC.MQRC_PROPERTY_NOT_AVAILABLE, () -> got.getStringProperty("colour"));
    }

    private void options() {
        raw("PROPERTY-030", FORCE);
        raw("PROPERTY-031", COMPATIBLE);
        at("PROPERTY-032", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | NONE)));
            stripped(t, got);
        });
        at("PROPERTY-033", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | HANDLE)));
            t.same("value", "red", got.getStringProperty("colour"));
            t.same("data", "body", MqiCase.body(got));
        });
        at("PROPERTY-034", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            t.mark(() -> get(q, FIRST | NONE));
            MQMessage browsed = get(q, CMQC.MQGMO_BROWSE_MSG_UNDER_CURSOR | FORCE);
            header(t, browsed);
            t.same("still there", "red", get(q, NOSYNC).getStringProperty("colour"));
        });
        at("PROPERTY-035", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | NONE), 4));
            t.same("data", "body", MqiCase.body(got));
        });
        at("PROPERTY-036", t -> {
            MQQueue q = queue(t, A);
            put(q, coloured());
            MQMessage got = new MQMessage();
            got.characterSet = 37;
            got.encoding = 273;
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | CMQC.MQGMO_CONVERT)));
            t.same("value", "red", got.getStringProperty("colour"));
            t.bytes("data", "body".getBytes("Cp037"), raw(got));
            t.same("CodedCharSetId", 37, got.characterSet);
        });
        at("PROPERTY-037", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = own("<other content='properties'><colour>red</colour></other>");
            put(q, put);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | COMPATIBLE)));
            t.text("Format", CMQC.MQFMT_STRING, got.format);
            t.same("data", "body", MqiCase.body(got));
        });
    }

    private void byName(String id, String put, String get) {
        at(id, t -> {
            put(queue(t, put), coloured());
            MQQueue q = t.open(get, IN);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("value", "red", got.getStringProperty("colour"));
            t.same("data", "body", MqiCase.body(got));
        });
    }

    private void control() {
        // The classes work with a handle: what is a property comes by name, but for PROPCTL(FORCE).
        byName("PROPERTY-040", "MQM.PROP.NONE", "MQM.PROP.NONE");
        byName("PROPERTY-041", "MQM.PROP.ALL", "MQM.PROP.ALL");
        byName("PROPERTY-043", "MQM.PROP.V6", "MQM.PROP.V6");
        byName("PROPERTY-044", "MQM.PROP.ALL", "MQM.PROP.ALIAS.NONE");
        at("PROPERTY-042", t -> {
            MQQueue q = queue(t, "MQM.PROP.FORCE");
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.that("folder usr", header(t, got).contains("<usr>"));
        });
        at("PROPERTY-045", t -> {
            MQQueue q = queue(t, "MQM.PROP.NONE");
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | FORCE)));
            t.that("folder usr", header(t, got).contains("<usr>"));
        });
        at("PROPERTY-046", t -> {
            MQQueue q = queue(t, "MQM.PROP.FORCE");
            put(q, coloured());
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | NONE)));
            stripped(t, got);
        });
        at("PROPERTY-047", t -> {
            MQQueue q = queue(t, "MQM.PROP.ALL");
            int[] value = new int[1];
            t.mark(() -> q.inquire(new int[] {CMQC.MQIA_PROPERTY_CONTROL}, value, new byte[0]));
            t.same("PROPCTL", CMQC.MQPROP_ALL, value[0]);
        });
    }

    /** A message whose program made the MQRFH2 itself, with these folders, before a text. */
    private static MQMessage own(String... folders) throws Exception {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.format = CMQC.MQFMT_RF_HEADER_2;
        message.characterSet = 819;
        message.write(rfh2(CMQC.MQFMT_STRING, folders));
        message.write("body".getBytes(StandardCharsets.US_ASCII));
        return message;
    }

    private static byte[] rfh2(String next, String... folders) {
        ByteBuffer all = ByteBuffer.allocate(4096);
        all.put("RFH ".getBytes()).putInt(2).putInt(0).putInt(273).putInt(819).put(next.getBytes()).putInt(0).putInt(1208);
        for (String folder : folders) {
            byte[] text = folder.getBytes(StandardCharsets.UTF_8);
            int length = (text.length + 3) / 4 * 4;
            byte[] padded = Arrays.copyOf(text, length);
            Arrays.fill(padded, text.length, length, (byte) ' ');
            all.putInt(length).put(padded);
        }
        all.putInt(8, all.position());
        return Arrays.copyOf(all.array(), all.position());
    }

    private void ownHeaders() {
        at("PROPERTY-050", t -> {
            MQQueue q = queue(t, A);
            put(q, own("<usr><colour>red</colour><number dt='i4'>5</number></usr>"));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("values", "red 5", got.getStringProperty("colour") + " " + got.getIntProperty("number"));
            t.text("Format", CMQC.MQFMT_STRING, got.format);
            t.same("CodedCharSetId", 819, got.characterSet);
            t.same("data", "body", MqiCase.body(got));
        });
        at("PROPERTY-051", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = new MQMessage();
            put.format = CMQC.MQFMT_RF_HEADER_2;
            put.write(rfh2(CMQC.MQFMT_RF_HEADER_2, "<usr><one>1</one></usr>"));
            put.write(rfh2(CMQC.MQFMT_STRING, "<usr><two>2</two></usr>"));
            put.write("body".getBytes(StandardCharsets.US_ASCII));
            put(q, put);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("values", "12", got.getStringProperty("one") + got.getStringProperty("two"));
            t.same("data", "body", MqiCase.body(got));
        });
        at("PROPERTY-052", t -> {
            MQQueue q = queue(t, A);
            put(q, own("<mcd><Msd>jms_text</Msd></mcd>", "<jms><Dst>queue:///MQM.A</Dst><Tms>1</Tms></jms>",
                "<usr><colour>red</colour></usr>"));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | FORCE)));
            String text = header(t, got);
            for (String part : new String[] {"<mcd>", "jms_text", "<jms>", "queue:///MQM.A", "<usr>", "red"})
                t.that(part, text.contains(part));
            t.that("body", text.endsWith("body"));
        });
        at("PROPERTY-053", t -> {
            MQQueue q = queue(t, A);
            put(q, own("<usr><colour>red</colour></usr>", "<mine><x>1</x></mine>"));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("value", "red", got.getStringProperty("colour"));
            String text = header(t, got);
            t.that("what is no property stays in the header", text.contains("<mine>") && !text.contains("<usr>"));
        });
        at("PROPERTY-054", t -> {
            MQQueue q = queue(t, A);
            put(q, own("<mine><x>1</x></mine>"));
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC | NONE)));
            t.that("a folder that holds no properties stays", header(t, got).contains("<mine>"));
        });
        at("PROPERTY-055", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = new MQMessage();
            put.format = CMQC.MQFMT_RF_HEADER_1;
            byte[] data = ("RFH \0\0\0\1\0\0\0\60\0\0\1\21\0\0\3\63MQSTR   \0\0\0\0" + "name value      body").getBytes("ISO-8859-1");
            put.write(data);
            put(q, put);
            MQMessage got = new MQMessage();
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.bytes("data", data, raw(got));
        });
    }

    private void named(String id, String name) {
        at(id, t -> t.mark(() -> body("x").setStringProperty(name, "value")));
    }

    private void classes() {
        named("PROPERTY-060", "");
        named("PROPERTY-061", "a b");
        named("PROPERTY-062", "JMSMine");
        named("PROPERTY-063", "Root.MQMD.Mine");
        named("PROPERTY-064", "NULL");
        at("PROPERTY-065", t -> t.mark(() -> coloured().getStringProperty("size")));
        at("PROPERTY-066", t -> t.mark(() -> coloured().getIntProperty("colour")));
        at("PROPERTY-067", t -> t.mark(() -> coloured().deleteProperty("size")));
        at("PROPERTY-068", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = coloured();
            t.mark(() -> put.deleteProperty("colour"));
            put(q, put);
            t.same("names", "[number]", names(get(q, NOSYNC)));
        });
    }

    private void wrong(String id, String format, byte[] data) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = new MQMessage();
            put.format = format;
            put.encoding = 273;
            put.characterSet = 819;
            put.write(data);
            t.mark(() -> put(q, put));
            t.same("depth", 0, q.getCurrentDepth());
        });
    }

    private void wrongHeaders() {
        byte[] good = rfh2(CMQC.MQFMT_STRING, "<usr><colour>red</colour></usr>");
        byte[] beyond = good.clone();
        ByteBuffer.wrap(beyond).putInt(8, good.length + 400);
        wrong("PROPERTY-080", CMQC.MQFMT_RF_HEADER_2, beyond);
        byte[] version = good.clone();
        version[7] = 9;
        wrong("PROPERTY-081", CMQC.MQFMT_RF_HEADER_2, version);
        wrong("PROPERTY-082", CMQC.MQFMT_RF_HEADER_2, rfh2(CMQC.MQFMT_STRING, "<usr><colour>red</size></usr>"));
        wrong("PROPERTY-083", CMQC.MQFMT_RF_HEADER_2, Arrays.copyOf(good, 20));
        wrong("PROPERTY-084", CMQC.MQFMT_DEAD_LETTER_HEADER, new byte[172]);
        wrong("PROPERTY-085", CMQC.MQFMT_DEAD_LETTER_HEADER, Arrays.copyOf("DLH \0\0\0\1".getBytes(), 100));
        wrong("PROPERTY-086", CMQC.MQFMT_XMIT_Q_HEADER, new byte[428]);
        wrong("PROPERTY-087", CMQC.MQFMT_TRIGGER, new byte[684]);
        wrong("PROPERTY-088", CMQC.MQFMT_IMS, new byte[84]);
        wrong("PROPERTY-089", CMQC.MQFMT_PCF, new byte[36]);
    }
}
