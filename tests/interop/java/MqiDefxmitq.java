// Name resolution with a default transmission queue: one table a value of DEFXMITQ, in the folder defxmitq.

final class MqiDefxmitq extends MqiResolve {
    @Override
    void define() {
        if (part.equals("xq2")) {
            leads("XQ2-001", "", "MQI.QR4", "R4", "QM4", "MQI.XQ2");
            leads("XQ2-002", "MQI.QMA9", "ANY", "ANY", "QM9", "MQI.XQ2");
            leads("XQ2-003", "UNKNOWN", "ANY", "ANY", "UNKNOWN", "MQI.XQ2");
            leads("XQ2-004", "", "MQI.QA.QR4", "R4", "QM4", "MQI.XQ2");
            leads("XQ2-005", "", "MQI.QR3", "R3", "MQI.QM3", "MQI.QM3");
            opens("XQ2-006", "", "MQI.QR5");
            opens("XQ2-007", "", "MQI.QR6");
            opens("XQ2-008", "MQI.QR2", "ANY");
            opens("XQ2-009", "", "MQI.NOQ");
            put1("XQ2-010", "UNKNOWN", "ANY");
            return;
        }
        String prefix = part.toUpperCase();
        opens(prefix + "-001", "", "MQI.QR4");
        opens(prefix + "-002", "MQI.QMA9", "ANY");
        opens(prefix + "-003", "UNKNOWN", "ANY");
        put1(prefix + "-004", "UNKNOWN", "ANY");
        leads(prefix + "-005", "", "MQI.QR2", "R2", "QM2", "MQI.XQ2");
    }
}
