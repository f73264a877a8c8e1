// The cases of one table: a body for each id.

import java.util.LinkedHashMap;
import java.util.Map;

abstract class MqiArea {
    /** Makes the calls of a case. */
    interface Body {
        void run(MqiCase t) throws Exception;
    }

    /** What follows a hyphen in the name of the table: which of several tables of the class it is. */
    String part = "";
    final Map<String, Body> bodies = new LinkedHashMap<>();

    /** Says all cases with {@link #at}. */
    abstract void define() throws Exception;

    void at(String id, Body body) {
        if (bodies.put(id, body) != null) throw new IllegalStateException("two cases " + id);
    }
}
