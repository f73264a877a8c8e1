// The calls of the MQI as a C program would make them, on a connection of the base classes: object types, structure
// fields and counts that MQQueueManager and MQQueue do not let a program say. Still IBM's own client code and wire.

import com.ibm.mq.MQException;
import com.ibm.mq.MQManagedObject;
import com.ibm.mq.MQQueue;
import com.ibm.mq.MQQueueManager;
import com.ibm.mq.constants.CMQC;
import com.ibm.mq.jmqi.JmqiEnvironment;
import com.ibm.mq.jmqi.JmqiMQ;
import com.ibm.mq.jmqi.MQGMO;
import com.ibm.mq.jmqi.MQMD;
import com.ibm.mq.jmqi.MQOD;
import com.ibm.mq.jmqi.MQPMO;
import com.ibm.mq.jmqi.handles.Hconn;
import com.ibm.mq.jmqi.handles.Hobj;
import com.ibm.mq.jmqi.handles.Phconn;
import com.ibm.mq.jmqi.handles.Phobj;
import com.ibm.mq.jmqi.handles.Pint;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;

final class MqiRaw {
    final JmqiEnvironment env;
    private final JmqiMQ mq;
    private final Hconn connection;

    MqiRaw(MQQueueManager queueManager) throws Exception {
        Object session = field(queueManager, "osession");
        connection = ((Phconn) field(queueManager, "Hconn")).getHconn();
        Method environment = session.getClass().getDeclaredMethod("getJmqiEnv");
        environment.setAccessible(true);
        env = (JmqiEnvironment) environment.invoke(null);
        Method calls = session.getClass().getDeclaredMethod("getJmqi");
        calls.setAccessible(true);
        mq = (JmqiMQ) calls.invoke(session);
    }

    private static Object field(MQManagedObject object, String name) throws ReflectiveOperationException {
        Field field = MQManagedObject.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    /** The number of a handle, as the Context field of MQPMO wants it. */
    static int number(MQQueue queue) throws ReflectiveOperationException {
        Method handle = MQQueue.class.getDeclaredMethod("getHandle");
        handle.setAccessible(true);
        return (int) handle.invoke(queue);
    }

    private interface Verb {
        void run(Pint completion, Pint reason);
    }

    private void call(Verb verb) throws MQException {
        Pint completion = env.newPint();
        Pint reason = env.newPint();
        verb.run(completion, reason);
        if (completion.x != CMQC.MQCC_OK) throw new MQException(completion.x, reason.x, this);
    }

    MQOD od(int type, String name) {
        MQOD descriptor = env.newMQOD();
        descriptor.setObjectType(type);
        descriptor.setObjectName(name);
        return descriptor;
    }

    MQMD md(int version) {
        MQMD descriptor = env.newMQMD();
        descriptor.setVersion(version);
        descriptor.setPersistence(CMQC.MQPER_NOT_PERSISTENT);
        return descriptor;
    }

    MQPMO pmo(int version, int options) {
        MQPMO put = env.newMQPMO();
        put.setVersion(version);
        put.setOptions(options);
        return put;
    }

    Phobj open(MQOD descriptor, int options) throws MQException {
        Phobj handle = env.newPhobj();
        call((completion, reason) -> mq.MQOPEN(connection, descriptor, options, handle, completion, reason));
        return handle;
    }

    void close(Phobj handle, int options) throws MQException {
        call((completion, reason) -> mq.MQCLOSE(connection, handle, options, completion, reason));
    }

    void inquire(Hobj handle, int[] selectors, int[] integers, byte[] characters) throws MQException {
        inquire(handle, selectors.length, selectors, integers.length, integers, characters.length, characters);
    }

    void inquire(Hobj handle, int count, int[] selectors, int integerCount, int[] integers, int length,
            byte[] characters) throws MQException {
        call((completion, reason) -> mq.MQINQ(connection, handle, count, selectors, integerCount, integers, length,
            characters, completion, reason));
    }

    void set(Hobj handle, int[] selectors, int[] integers, byte[] characters) throws MQException {
        set(handle, selectors.length, selectors, integers.length, integers, characters.length, characters);
    }

    void set(Hobj handle, int count, int[] selectors, int integerCount, int[] integers, int length, byte[] characters)
            throws MQException {
        call((completion, reason) -> mq.MQSET(connection, handle, count, selectors, integerCount, integers, length,
            characters, completion, reason));
    }

    void put(Hobj handle, MQMD descriptor, MQPMO options, byte[] data) throws MQException {
        call((completion, reason) -> mq.MQPUT(connection, handle, descriptor, options, data.length,
            ByteBuffer.wrap(data), completion, reason));
    }

    /** The length of the message that is got. */
    int get(Hobj handle, MQMD descriptor, MQGMO options, int length, byte[] data) throws MQException {
        Pint dataLength = env.newPint();
        call((completion, reason) -> mq.MQGET(connection, handle, descriptor, options, length, ByteBuffer.wrap(data),
            dataLength, completion, reason));
        return dataLength.x;
    }

    MQGMO gmo(int version, int options) {
        MQGMO get = env.newMQGMO();
        get.setVersion(version);
        get.setOptions(options);
        return get;
    }

    void put1(MQOD object, MQMD descriptor, MQPMO options, byte[] data) throws MQException {
        call((completion, reason) -> mq.MQPUT1(connection, object, descriptor, options, data.length,
            ByteBuffer.wrap(data), completion, reason));
    }
}
