// MQGMO_CONVERT: texts between code pages, MQ's headers between code pages and encodings, what cannot be converted.

import com.ibm.mq.MQGetMessageOptions;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.constants.CMQC;
import com.ibm.mq.constants.CMQCFC;
import com.ibm.mq.headers.pcf.PCFMessage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Map;

final class MqiConvert extends MqiMessages {
    static final String A = "MQM.A";
    static final int CONVERT = CMQC.MQGMO_CONVERT;
    static final int BIG = 273;
    static final int LITTLE = 546;
    /** In all the code pages below. */
    static final String TEXT = "Gr\u00fc\u00dfe \u00c4\u00d6 \u00e9\u00e0 123";
    static final String EURO = "a\u20acb";
    static final Map<Integer, String> PAGES = Map.of(37, "Cp037", 437, "IBM437", 500, "Cp500", 819, "ISO-8859-1",
        850, "IBM850", 1047, "Cp1047", 1208, "UTF-8", 1252, "windows-1252");

    @Override
    void define() {
        texts();
        characters();
        failures();
        deadLetters();
        rules();
        otherHeaders();
        commands();
        wrongHeaders();
    }

    /** A text in a code page; UTF-16 in the order of the encoding. */
    private static byte[] encode(String text, int page, int encoding) {
        String name = page == 1200 ? (encoding == LITTLE ? "UTF-16LE" : "UTF-16BE") : PAGES.get(page);
        return text.getBytes(Charset.forName(name));
    }

    private static MQMessage message(byte[] data, String format, int page, int encoding) throws Exception {
        MQMessage message = new MQMessage();
        message.persistence = CMQC.MQPER_NOT_PERSISTENT;
        message.format = format;
        message.characterSet = page;
        message.encoding = encoding;
        message.write(data);
        return message;
    }

    private static MQMessage wanting(int page, int encoding) {
        MQMessage wanted = new MQMessage();
        wanted.characterSet = page;
        wanted.encoding = encoding;
        return wanted;
    }

    /** Gets with conversion, as the row says, and checks what the descriptor says then. */
    private static byte[] converted(MqiCase t, MQQueue q, int page, int encoding) throws Exception {
        MQMessage got = wanting(page, encoding);
        t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | NOSYNC | CMQC.MQGMO_PROPERTIES_COMPATIBILITY)));
        t.same("CodedCharSetId, Encoding", page + " " + encoding, got.characterSet + " " + got.encoding);
        return raw(got);
    }

    private void pages(String id, int from, int fromEncoding, int to, int toEncoding) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode(TEXT, from, fromEncoding), CMQC.MQFMT_STRING, from, fromEncoding));
            t.bytes("text", encode(TEXT, to, toEncoding), converted(t, q, to, toEncoding));
        });
    }

    private void texts() {
        int[][] pairs = {{819, 850}, {850, 819}, {819, 1208}, {1208, 819}, {819, 37}, {37, 819}, {819, 500}, {500, 819},
            {819, 1047}, {1047, 819}, {819, 437}, {437, 819}, {1252, 1208}, {1208, 1252}, {437, 850}, {1252, 850},
            {37, 1208}, {500, 37}, {1047, 1208}, {850, 1252}, {1208, 500}, {1252, 819}};
        for (int i = 0; i < pairs.length; i++)
            pages(String.format("CONVERT-%03d", i + 1), pairs[i][0], BIG, pairs[i][1], LITTLE);
        pages("CONVERT-030", 1208, BIG, 1200, BIG);
        pages("CONVERT-031", 1208, BIG, 1200, LITTLE);
        pages("CONVERT-032", 1200, BIG, 1208, BIG);
        pages("CONVERT-033", 1200, LITTLE, 1208, BIG);
        pages("CONVERT-034", 1200, BIG, 1200, LITTLE);
        pages("CONVERT-035", 1200, LITTLE, 37, BIG);
        pages("CONVERT-036", 819, BIG, 1200, LITTLE);
        pages("CONVERT-037", 819, BIG, 819, LITTLE);
    }

    private void characters() {
        at("CONVERT-040", t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode(EURO, 1252, BIG), CMQC.MQFMT_STRING, 1252, BIG));
            t.bytes("text", encode(EURO, 1208, BIG), converted(t, q, 1208, BIG));
        });
        at("CONVERT-041", t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode("\ud83d\ude00", 1208, BIG), CMQC.MQFMT_STRING, 1208, BIG));
            t.bytes("text", encode("\ud83d\ude00", 1200, BIG), converted(t, q, 1200, BIG));
        });
        at("CONVERT-042", t -> substituted(t, 1208, 819));
        at("CONVERT-043", t -> substituted(t, 1252, 437));
        at("CONVERT-044", t -> substituted(t, 1208, 37));
        at("CONVERT-045", t -> {
            MQQueue q = queue(t, A);
            byte[] data = new byte[100_000];
            Arrays.fill(data, (byte) 'A');
            put(q, message(data, CMQC.MQFMT_STRING, 819, BIG));
            byte[] expected = new byte[100_000];
            Arrays.fill(expected, (byte) 0xC1);
            t.bytes("text", expected, converted(t, q, 37, BIG));
        });
        at("CONVERT-046", t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode(TEXT, 819, BIG), CMQC.MQFMT_STRING, 819, BIG));
            MQMessage browsed = wanting(850, BIG);
            t.mark(() -> q.get(browsed, MqiCase.gmo(FIRST | CONVERT)));
            t.bytes("converted", encode(TEXT, 850, BIG), raw(browsed));
            MQMessage got = wanting(850, BIG);
            q.get(got, MqiCase.gmo(NOSYNC));
            t.bytes("as it was put", encode(TEXT, 819, BIG), raw(got));
            t.same("CodedCharSetId", 819, got.characterSet);
        });
        at("CONVERT-047", t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode(TEXT, 819, BIG), CMQC.MQFMT_STRING, 819, BIG));
            MQMessage got = wanting(850, LITTLE);
            t.mark(() -> q.get(got, MqiCase.gmo(NOSYNC)));
            t.same("CodedCharSetId, Encoding", "819 273", got.characterSet + " " + got.encoding);
            t.bytes("text", encode(TEXT, 819, BIG), raw(got));
        });
        at("CONVERT-048", t -> {
            MQQueue q = queue(t, A);
            for (int i = 0; i < 2; i++) {
                MQMessage part = member("", MqiCase.id(3), 1, i * TEXT.length(), i == 0 ? 2 : 4);
                part.format = CMQC.MQFMT_STRING;
                part.encoding = BIG;
                part.write(encode(TEXT, 819, BIG));
                put(q, part);
            }
            MQMessage got = wanting(1208, BIG);
            t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | NOSYNC | CMQC.MQGMO_COMPLETE_MSG)));
            t.bytes("text", encode(TEXT + TEXT, 1208, BIG), raw(got));
        });
        at("CONVERT-049", t -> {
            MQQueue q = queue(t, A);
            put(q, message(encode(TEXT, 819, BIG), CMQC.MQFMT_STRING, 819, BIG));
            MQMessage got = wanting(850, BIG);
            t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | SYNC)));
            t.qm().backout();
            MQMessage again = get(q, NOSYNC);
            t.bytes("as it was put", encode(TEXT, 819, BIG), raw(again));
        });
    }

    /** A character that the target does not have: something stands for it, the others are right. */
    private static void substituted(MqiCase t, int from, int to) throws Exception {
        MQQueue q = queue(t, A);
        put(q, message(encode(EURO, from, BIG), CMQC.MQFMT_STRING, from, BIG));
        byte[] got = converted(t, q, to, BIG);
        t.same("length", 3, got.length);
        t.bytes("before and behind", encode("ab", to, BIG), new byte[] {got[0], got[2]});
    }

    /** What cannot be converted comes as it is, with a warning. */
    private void asIs(String id, byte[] data, String format, int from, int fromEncoding, int to, int toEncoding) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            MQMessage put = message(data, format, from, fromEncoding);
            // With version 2 the put itself looks at headers.
            put.setVersion(1);
            put(q, put);
            MQMessage got = wanting(to, toEncoding);
            t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | NOSYNC)));
            t.same("CodedCharSetId, Encoding", from + " " + fromEncoding, got.characterSet + " " + got.encoding);
            t.bytes("data", data, raw(got));
            t.same("depth", 0, q.getCurrentDepth());
        });
    }

    private void failures() {
        byte[] text = encode(TEXT, 819, BIG);
        asIs("CONVERT-060", text, "MYFORMAT", 819, BIG, 819, BIG);
        asIs("CONVERT-061", text, CMQC.MQFMT_NONE, 819, BIG, 850, BIG);
        asIs("CONVERT-062", text, "MYFORMAT", 819, BIG, 850, BIG);
        asIs("CONVERT-063", text, CMQC.MQFMT_STRING, 12345, BIG, 850, BIG);
        asIs("CONVERT-064", text, CMQC.MQFMT_STRING, 819, BIG, 12345, BIG);
        asIs("CONVERT-065", new byte[0], "MYFORMAT", 819, BIG, 850, LITTLE);
        at("CONVERT-066", t -> {
            MQQueue q = queue(t, A);
            byte[] data = encode("\u00fc\u00fc\u00fc\u00fc", 819, BIG);
            put(q, message(data, CMQC.MQFMT_STRING, 819, BIG));
            MQMessage got = wanting(1208, BIG);
            t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | NOSYNC), 4));
            t.same("CodedCharSetId", 819, got.characterSet);
            t.bytes("data", data, raw(got));
            t.same("depth", 0, q.getCurrentDepth());
        });
        at("CONVERT-067", t -> {
            MQQueue q = queue(t, A);
            put(q, message(text, CMQC.MQFMT_STRING, 819, BIG));
            t.mark(() -> q.get(wanting(850, BIG), MqiCase.gmo(CONVERT | NOSYNC), 4));
            t.same("depth", 1, q.getCurrentDepth());
        });
        at("CONVERT-068", t -> {
            MQQueue q = queue(t, A);
            put(q, message(text, CMQC.MQFMT_STRING, 819, BIG));
            MQMessage got = wanting(850, BIG);
            MQGetMessageOptions options = MqiCase.gmo(CONVERT | NOSYNC | CMQC.MQGMO_ACCEPT_TRUNCATED_MSG);
            t.mark(() -> q.get(got, options, 4));
            t.bytes("data", Arrays.copyOf(encode(TEXT, 850, BIG), 4), Arrays.copyOf(raw(got), 4));
            t.same("CodedCharSetId", 850, got.characterSet);
        });
        asIs("CONVERT-069", text, "mqstr", 819, BIG, 850, BIG);
        asIs("CONVERT-070", new byte[] {'a', (byte) 0xff, (byte) 0xfe, 'b'}, CMQC.MQFMT_STRING, 1208, BIG, 819, BIG);
    }

    // Headers, written by hand: big- or little-endian numbers, texts in a code page.

    static final class Writer {
        final ByteBuffer buffer = ByteBuffer.allocate(4096);
        final int page;

        Writer(int page, int encoding) {
            this.page = page;
            buffer.order(encoding == LITTLE ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
        }

        Writer numbers(int... numbers) {
            for (int number : numbers) buffer.putInt(number);
            return this;
        }

        Writer text(String text, int length) {
            buffer.put(encode(String.format("%-" + length + "s", text), page, BIG));
            return this;
        }

        Writer bytes(byte[] bytes) {
            buffer.put(bytes);
            return this;
        }

        byte[] done() {
            return Arrays.copyOf(buffer.array(), buffer.position());
        }
    }

    /** A dead-letter header in a code page and encoding, that describes what follows. */
    private static byte[] dlh(int page, int encoding, int bodyPage, int bodyEncoding, String format) {
        return new Writer(page, encoding).text("DLH ", 4).numbers(1, 2053).text("TO.QUEUE", 48).text("TO.QM", 48)
            .numbers(bodyEncoding, bodyPage).text(format, 8).numbers(28).text("program", 28).text("20260101", 8)
            .text("12000000", 8).done();
    }

    private static byte[] rfh2(int encoding, int bodyPage, int bodyEncoding, String format) {
        byte[] folder = "<usr><colour>red</colour></usr> ".getBytes();
        return new Writer(819, encoding).text("RFH ", 4).numbers(2, 36 + 4 + folder.length, bodyEncoding, bodyPage)
            .text(format, 8).numbers(0, 1208, folder.length).bytes(folder).done();
    }

    private static byte[] join(byte[]... parts) {
        Writer all = new Writer(819, BIG);
        for (byte[] part : parts) all.bytes(part);
        return all.done();
    }

    /** A header, converted, is what the same header would be had it been written so. */
    private void header(String id, String format, byte[] put, int from, int fromEncoding, byte[] expected, int to,
            int toEncoding) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            put(q, message(put, format, from, fromEncoding));
            t.bytes("data", expected, converted(t, q, to, toEncoding));
        });
    }

    private void deadLetters() {
        String string = CMQC.MQFMT_STRING;
        String dead = CMQC.MQFMT_DEAD_LETTER_HEADER;
        header("CONVERT-080", dead, join(dlh(819, BIG, 819, BIG, string), encode(TEXT, 819, BIG)), 819, BIG,
            join(dlh(850, LITTLE, 850, LITTLE, string), encode(TEXT, 850, BIG)), 850, LITTLE);
        header("CONVERT-081", dead, join(dlh(819, LITTLE, 819, LITTLE, string), encode(TEXT, 819, BIG)), 819, LITTLE,
            join(dlh(500, BIG, 500, BIG, string), encode(TEXT, 500, BIG)), 500, BIG);
        header("CONVERT-082", dead, join(dlh(819, BIG, 1208, BIG, string), encode(EURO, 1208, BIG)), 819, BIG,
            join(dlh(1252, BIG, 1252, BIG, string), encode(EURO, 1252, BIG)), 1252, BIG);
        at("CONVERT-083", t -> {
            MQQueue q = queue(t, A);
            byte[] body = encode(TEXT, 819, BIG);
            put(q, message(join(dlh(819, BIG, 819, BIG, "MYFORMAT"), body), dead, 819, BIG));
            byte[] expected = join(dlh(819, LITTLE, 819, BIG, "MYFORMAT"), body);
            t.bytes("header converted, data not", expected, converted(t, q, 819, LITTLE));
        });
        header("CONVERT-084", dead, join(dlh(819, BIG, 819, BIG, CMQC.MQFMT_RF_HEADER_2),
                rfh2(BIG, 819, BIG, string), encode(TEXT, 819, BIG)), 819, BIG,
            join(dlh(850, LITTLE, 850, LITTLE, CMQC.MQFMT_RF_HEADER_2), rfh2(LITTLE, 850, LITTLE, string),
                encode(TEXT, 850, BIG)), 850, LITTLE);
    }

    private void rules() {
        String string = CMQC.MQFMT_STRING;
        header("CONVERT-090", CMQC.MQFMT_RF_HEADER_2, join(rfh2(BIG, 819, BIG, string), encode(TEXT, 819, BIG)), 819, BIG,
            join(rfh2(LITTLE, 850, LITTLE, string), encode(TEXT, 850, BIG)), 850, LITTLE);
        header("CONVERT-091", CMQC.MQFMT_RF_HEADER_2, join(rfh2(LITTLE, 819, LITTLE, string), encode(TEXT, 819, BIG)),
            819, LITTLE, join(rfh2(BIG, 1208, BIG, string), encode(TEXT, 1208, BIG)), 1208, BIG);
        header("CONVERT-092", CMQC.MQFMT_RF_HEADER_1, join(rfh1(819, BIG, 819, BIG), encode(TEXT, 819, BIG)), 819, BIG,
            join(rfh1(37, LITTLE, 37, LITTLE), encode(TEXT, 37, BIG)), 37, LITTLE);
    }

    private static byte[] rfh1(int page, int encoding, int bodyPage, int bodyEncoding) {
        return new Writer(page, encoding).text("RFH ", 4).numbers(1, 48, bodyEncoding, bodyPage)
            .text(CMQC.MQFMT_STRING, 8).numbers(0).text("name value", 16).done();
    }

    private static byte[] trigger(int page, int encoding) {
        return new Writer(page, encoding).text("TM  ", 4).numbers(1).text("THE.QUEUE", 48).text("THE.PROCESS", 48)
            .text("data", 64).numbers(6).text("/bin/program", 256).text("environment", 128).text("user", 128).done();
    }

    private static byte[] extension(int page, int encoding, int bodyPage, int bodyEncoding) {
        return new Writer(page, encoding).text("MDE ", 4).numbers(2, 72, bodyEncoding, bodyPage)
            .text(CMQC.MQFMT_STRING, 8).numbers(0).bytes(MqiCase.id(9)).numbers(5, 0, 8, -1).done();
    }

    private static byte[] xqh(int page, int encoding) {
        Writer all = new Writer(page, encoding).text("XQH ", 4).numbers(1).text("THERE", 48).text("QM9", 48);
        all.text("MD  ", 4).numbers(1, 0, 8, -1, 0, BIG, 819).text("", 8).numbers(5, 1).bytes(MqiCase.id(1))
            .bytes(MqiCase.id(2)).numbers(0).text("R", 48).text("RM", 48).text("user", 12).bytes(new byte[32]).text("", 32)
            .numbers(28).text("program", 28).text("20260101", 8).text("12000000", 8).text("", 4);
        return all.done();
    }

    private void otherHeaders() {
        header("CONVERT-100", CMQC.MQFMT_TRIGGER, trigger(819, BIG), 819, BIG, trigger(850, LITTLE), 850, LITTLE);
        header("CONVERT-101", CMQC.MQFMT_TRIGGER, trigger(819, LITTLE), 819, LITTLE, trigger(500, BIG), 500, BIG);
        at("CONVERT-102", t -> {
            MQQueue q = queue(t, A);
            MQMessage put = message(join(extension(819, BIG, 819, BIG), encode(TEXT, 819, BIG)),
                CMQC.MQFMT_MD_EXTENSION, 819, BIG);
            // With fields of its own in the descriptor the extension is data.
            put.groupId = MqiCase.id(4);
            put.messageFlags = CMQC.MQMF_MSG_IN_GROUP;
            put(q, put);
            t.bytes("data", join(extension(850, LITTLE, 850, LITTLE), encode(TEXT, 850, BIG)),
                converted(t, q, 850, LITTLE));
        });
        header("CONVERT-103", CMQC.MQFMT_XMIT_Q_HEADER, xqh(819, BIG), 819, BIG, xqh(850, LITTLE), 850, LITTLE);
    }

    private static byte[] pcf(int page, int encoding) {
        Writer all = new Writer(page, encoding);
        all.numbers(CMQCFC.MQCFT_COMMAND, 36, 1, CMQCFC.MQCMD_INQUIRE_Q, 1, 1, 0, 0, 5);
        all.numbers(CMQCFC.MQCFT_STRING, 28, CMQC.MQCA_Q_NAME, page, 6).text("A.QUE\u00dc", 6).bytes(new byte[2]);
        all.numbers(CMQCFC.MQCFT_INTEGER, 16, CMQC.MQIA_Q_TYPE, 1001);
        all.numbers(CMQCFC.MQCFT_INTEGER_LIST, 24, CMQCFC.MQIACF_Q_ATTRS, 2, 3, 15);
        all.numbers(CMQCFC.MQCFT_STRING_LIST, 32, CMQC.MQCA_NAMES, page, 2, 4).text("ONE", 4).text("TWO", 4);
        all.numbers(CMQCFC.MQCFT_BYTE_STRING, 24, CMQCFC.MQBACF_CORREL_ID, 5).bytes(new byte[] {1, 2, 3, 4, 5, 0, 0, 0});
        return all.done();
    }

    private void command(String id, String format) {
        at(id, t -> {
            MQQueue q = queue(t, A);
            put(q, message(pcf(819, BIG), format, 819, BIG));
            byte[] data = converted(t, q, 850, LITTLE);
            t.bytes("data", pcf(850, LITTLE), data);
            MQMessage copy = message(data, format, 850, LITTLE);
            copy.setDataOffset(0);
            PCFMessage read = new PCFMessage(copy);
            t.text("name", "A.QUE\u00dc", read.getStringParameterValue(CMQC.MQCA_Q_NAME));
        });
    }

    private void commands() {
        command("CONVERT-110", CMQC.MQFMT_ADMIN);
        command("CONVERT-111", CMQC.MQFMT_EVENT);
        command("CONVERT-112", CMQC.MQFMT_PCF);
    }

    private void wrongHeaders() {
        asIs("CONVERT-120", encode("DLH too short", 819, BIG), CMQC.MQFMT_DEAD_LETTER_HEADER, 819, BIG, 819, LITTLE);
        asIs("CONVERT-121", trigger(819, BIG), CMQC.MQFMT_TRIGGER, 819, 0, 819, LITTLE);
        asIs("CONVERT-122", trigger(819, BIG), CMQC.MQFMT_TRIGGER, 819, BIG, 819, 0);
        at("CONVERT-123", t -> {
            MQQueue q = queue(t, A);
            byte[] header = dlh(819, BIG, 819, BIG, CMQC.MQFMT_STRING);
            put(q, message(join(header, encode(TEXT, 819, BIG)), CMQC.MQFMT_DEAD_LETTER_HEADER, 819, BIG));
            MQMessage got = wanting(1200, BIG);
            t.mark(() -> q.get(got, MqiCase.gmo(CONVERT | NOSYNC)));
            // The header is in the queue manager's code page then, the text in the one that was wanted.
            t.same("CodedCharSetId", t.qm().getCharacterSet(), got.characterSet);
            byte[] data = raw(got);
            t.bytes("text", encode(TEXT, 1200, BIG), Arrays.copyOfRange(data, header.length, data.length));
        });
        asIs("CONVERT-124", new byte[172], CMQC.MQFMT_DEAD_LETTER_HEADER, 1200, BIG, 819, BIG);
        asIs("CONVERT-125", Arrays.copyOf(pcf(819, BIG), 50), CMQC.MQFMT_ADMIN, 819, BIG, 819, LITTLE);
    }
}
