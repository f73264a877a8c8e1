// The case list of the MQI (tests/cases/mqi/*.tsv) played with IBM's own classes: each row of a table is made by the
// case of the same id in the class of its area (put.tsv by MqiPut), and completion code and reason of its marked call
// are compared with the row. Prints a line a case and at the end how many passed and failed.
//
// Usage: Mqi PORT CHANNEL CASES_DIR [pid=SERVICE] [AREA|ID ...]

import com.ibm.mq.MQException;
import com.ibm.mq.MQMessage;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

public final class Mqi {
    /** The header of a table of cases; other files of the folder are not ours. */
    static final String HEADER = "id\tverb\toptions\tstate\tcc\treason\tsection";
    /** No case takes as long: it is given up, and the next one runs. */
    static final long WATCHDOG_MS = 20_000;

    static int port;
    static String channel;
    /** The process of the service, for the cases that stop it; 0 if it is not known. */
    static long service;
    static int passed;
    static int failed;
    /** A connection beside those of the cases, for cleaning up. */
    private static MQQueueManager keeper;

    /** What must come of the marked call of a case. */
    record Row(String id, String verb, String options, String state, int completion, int reason, String section) {}

    private Mqi() {}

    public static void main(String[] args) throws Exception {
        port = Integer.parseInt(args[0]);
        channel = args[1];
        MQException.log = null;
        List<String> only = new ArrayList<>(Arrays.asList(args).subList(3, args.length));
        if (!only.isEmpty() && only.get(0).startsWith("pid=")) service = Long.parseLong(only.remove(0).substring(4));
        Set<String> seen = new LinkedHashSet<>();
        for (Path table : tables(Path.of(args[2]))) {
            String area = table.getFileName().toString().replace(".tsv", "");
            List<Row> rows = rows(table, seen);
            if (rows != null) runArea(area, rows, only);
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.out.flush();
        // A case that hangs keeps its thread.
        Runtime.getRuntime().halt(failed == 0 ? 0 : 1);
    }

    private static List<Path> tables(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".tsv")).sorted().toList();
        }
    }

    /** The rows of a table; null if the file is no table of cases. */
    private static List<Row> rows(Path table, Set<String> seen) throws IOException {
        List<String> lines = Files.readAllLines(table);
        if (lines.isEmpty() || !lines.get(0).equals(HEADER)) return null;
        List<Row> rows = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            if (line.isBlank()) continue;
            String[] cells = line.split("\t", -1);
            if (cells.length != 7) throw new IllegalArgumentException(table + ": not seven cells: " + line);
            if (!seen.add(cells[0])) throw new IllegalArgumentException(table + ": twice: " + cells[0]);
            rows.add(new Row(cells[0], cells[1], cells[2], cells[3], Integer.parseInt(cells[4]),
                Integer.parseInt(cells[5]), cells[6]));
        }
        return rows;
    }

    private static void runArea(String area, List<Row> rows, List<String> only) throws Exception {
        boolean whole = only.isEmpty() || only.contains(area);
        if (!whole && rows.stream().noneMatch(row -> only.contains(row.id()))) return;
        Map<String, MqiArea.Body> bodies = new LinkedHashMap<>();
        String[] parts = area.split("-", 2);
        String name = "Mqi" + Character.toUpperCase(area.charAt(0)) + parts[0].substring(1);
        try {
            MqiArea cases = (MqiArea) Class.forName(name).getDeclaredConstructor().newInstance();
            if (parts.length == 2) cases.part = parts[1];
            cases.define();
            bodies.putAll(cases.bodies);
        } catch (ClassNotFoundException e) {
            System.out.println("# no class " + name);
        }
        for (Row row : rows) {
            MqiArea.Body body = bodies.remove(row.id());
            if (!whole && !only.contains(row.id())) continue;
            if (body == null) report(row.id(), "the row has no case");
            else runCase(row, body);
        }
        for (String id : bodies.keySet()) if (whole) report(id, "the case has no row");
    }

    private static void runCase(Row row, MqiArea.Body body) throws InterruptedException {
        MqiCase one = new MqiCase(row);
        String[] failure = {null};
        Thread thread = new Thread(() -> {
            try {
                body.run(one);
                if (one.marked == 0) failure[0] = "the marked call was never made";
            } catch (Throwable e) {
                failure[0] = (e instanceof AssertionError ? e.getMessage() : e.toString()) + place(e);
            }
            one.cleanUp();
        }, row.id());
        thread.setDaemon(true);
        thread.start();
        thread.join(WATCHDOG_MS);
        if (thread.isAlive()) {
            StackTraceElement[] stack = thread.getStackTrace();
            Throwable where = new Throwable();
            where.setStackTrace(stack);
            report(row.id(), "hangs after " + one.marked + " marked calls" + place(where));
            one.abandon();
            thread.interrupt();
        } else {
            report(row.id(), failure[0]);
        }
    }

    /** The line of ours at which it happened. */
    private static String place(Throwable e) {
        for (StackTraceElement element : e.getStackTrace()) {
            String name = element.getClassName();
            boolean ours = name.startsWith("Mqi") && !name.equals("Mqi") && !name.equals("MqiCase");
            if (ours) return " (" + element.getFileName() + ":" + element.getLineNumber() + ")";
        }
        return "";
    }

    private static void report(String id, String failure) {
        if (failure == null) {
            passed++;
            System.out.println("ok " + id);
        } else {
            failed++;
            System.out.println("FAILED " + id + ": " + failure.replace('\n', ' '));
        }
        System.out.flush();
    }

    /** Takes all messages from a queue, if it can be opened. */
    static synchronized void drain(String name) {
        for (int attempt = 0; attempt < 2; attempt++) {
            try {
                if (keeper == null) keeper = Common.connect(port, channel, "");
                MQQueue queue = keeper.accessQueue(name, CMQC.MQOO_INPUT_SHARED);
                try {
                    while (true) {
                        var options = Common.getOptions(false, 0);
                        options.options |= CMQC.MQGMO_ACCEPT_TRUNCATED_MSG;
                        options.options &= ~CMQC.MQGMO_WAIT;
                        try {
                            queue.get(new MQMessage(), options, 16);
                        } catch (MQException e) {
                            if (e.reasonCode != CMQC.MQRC_TRUNCATED_MSG_ACCEPTED) throw e;
                        }
                    }
                } finally {
                    queue.close();
                }
            } catch (MQException e) {
                if (e.reasonCode != CMQC.MQRC_CONNECTION_BROKEN) return;
                keeper = null;
            }
        }
    }
}
