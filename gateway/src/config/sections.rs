//! The sections and keys of the configuration file. `mqe-gateway.toml` says the same to people; a test compares.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use mq_wire::{QMgrName, QName};

use super::section::section;
use super::values::{
    Addresses, ByteOrder, DevicePattern, LogFormat, LogLevel, MessageContext, Onboarding, PutsWhenStopped,
    Segments, Separator,
};

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn name(text: &str) -> QMgrName {
    QMgrName(mq_wire::Chars::cut(text))
}

section! {
    /// The embedded queue manager.
    pub struct QueueManager, "queue_manager" {
        /// Its name.
        name: QMgrName = name("QM1");
        /// Where MQ clients connect; port 0 is any free one.
        listen: SocketAddr = loopback(1414);
        /// MQSC scripts that are applied at each start, in this order, before `ready`.
        mqsc: Vec<PathBuf> = Vec::new();
        /// Whether a command that fails lets the start go on.
        mqsc_continue: bool = false;
        /// Whether the DEV objects are defined.
        dev_objects: bool = true;
        /// Byte order of what MQ clients are sent; they take it over.
        byte_order: ByteOrder = ByteOrder::Little;
        /// The highest level of the protocol that MQ clients are offered; up to 12 sockets are not shared.
        fap_level_max: u32 = 14, in 12..=14;
    }
}

section! {
    /// The gateway: what moves messages from the transmission queue to devices.
    pub struct GatewaySection, "gateway" {
        /// Its name: the queue manager that applications put to.
        name: QMgrName = name("GATE1");
        /// The transmission queue that is drained; without one it is called as the gateway.
        transmission_queue: Option<QName> = None;
        /// What stands between queue and device in the names that applications put to.
        separator: Separator = Separator::PERCENT;
        /// Messages that are moved in one unit.
        batch_messages_max: u32 = 100, in 1..=10_000;
        /// Bytes that are moved in one unit; a longer message is moved alone.
        batch_bytes_max: u64 = 4 << 20, in 4096..=1 << 30;
        /// Further names under which it is addressed.
        aliases: Vec<QMgrName> = Vec::new();
        /// Whether the transmission queue of the embedded queue manager is drained.
        local: bool = true;
        /// Where puts of devices go that name no queue manager, or one that is not known here: `local`, or a source.
        device_puts: String = String::new();
        /// What becomes of groups and segments on their way to devices.
        segments: Segments = Segments::Carry;
        /// The kind of rule for messages that are not delivered.
        undelivered: String = "fleet".to_owned();
        /// What the rule is told, in a form of its own.
        undelivered_data: String = String::new();
        /// Milliseconds that the rule may take for a message.
        undelivered_limit_ms: u32 = 1_000, in 1..=86_400_000;
        /// Instances of the exit chain; 0 is as many as the machine has cores.
        exit_instances: u32 = 0, in 0..=1_000;
    }
}

section! {
    /// The park area: messages for devices that are not known yet.
    pub struct Park, "park" {
        /// Messages that it holds.
        messages_max: u32 = 10_000, in 0..=10_000_000;
        /// Bytes that it holds.
        bytes_max: u64 = 256 << 20, in 0..=1 << 50;
        /// Hours after which a message becomes a dead letter.
        hours_max: u32 = 24, in 1..=87_600;
    }
}

section! {
    /// A queue manager whose transmission queue is drained, over its client protocol.
    pub struct SourceSection, "source" {
        /// Its name in logs, status and commands; without one it is called as the transmission queue.
        name: String = String::new();
        /// Where it is: `CHANNEL/TCP/host(port)`, one after the other until one answers.
        connect: Addresses = Addresses::default();
        /// The name that the queue manager must have; blank is any.
        queue_manager: Option<QMgrName> = None;
        /// As whom to connect; empty is nobody in particular.
        user: String = String::new();
        /// The file whose first line is the password; without one the environment's `MQ_PASSWORD` is.
        password_file: Option<PathBuf> = None;
        /// The transmission queue; without one it is called as the gateway.
        transmission_queue: Option<QName> = None;
        /// The queue for the gateway's own sync messages; empty: recovery looks messages up by their ids.
        sync_queue: Option<QName> = Some(QName(mq_wire::Chars::cut("MQE.SYNCQ")));
        /// The dead-letter queue there; without one it is the queue manager's.
        dead_letter_queue: Option<QName> = None;
        /// Messages that are moved in one unit of work.
        batch_messages_max: u32 = 50, in 1..=10_000;
        /// Bytes that are moved in one unit of work; a longer message is moved alone.
        batch_bytes_max: u64 = 4 << 20, in 4096..=1 << 30;
        /// Seconds that one MQGET waits.
        wait_seconds: u32 = 15, in 1..=300;
        /// Whether it is started with the service.
        start: bool = true;
        /// Messages that may wait for this queue manager.
        outbox_messages_max: u32 = 100_000, in 1..=100_000_000;
        /// Bytes that may wait for this queue manager.
        outbox_bytes_max: u64 = 256 << 20, in 4096..=1 << 50;
        /// What becomes of puts of devices while the source is stopped.
        puts_when_stopped: PutsWhenStopped = PutsWhenStopped::Keep;
        /// Whether a device's put is answered when it is in this queue manager, instead of when it is in the outbox.
        put_wait: bool = false;
        /// Whose user id the messages of devices bear.
        context: MessageContext = MessageContext::Default;
    }
}

section! {
    /// The devices.
    pub struct Devices, "devices" {
        /// Where devices connect; port 0 is any free one.
        listen: SocketAddr = loopback(7414);
        /// Which names become devices.
        onboarding: Onboarding = Onboarding::Auto;
        /// Names of devices that are known from the start on.
        listed: Vec<QMgrName> = Vec::new();
        /// Names that become devices with their first message or first HELLO.
        pattern: DevicePattern = DevicePattern::starting_with("DEV");
        /// Devices that can become known by themselves; further ones are unknown. Listed ones do not count.
        count_max: u32 = 100_000, in 1..=10_000_000;
        /// Messages that can wait for one device.
        messages_max: u64 = 100_000, in 1..=999_999_999;
        /// Bytes that can wait for one device.
        bytes_max: u64 = 1 << 30, in 1..=1 << 50;
        /// Seconds of silence after which a device sends a PING; after three times that it is cut off.
        heartbeat_seconds: u32 = 60, in 1..=3600;
        /// Messages that one request of a device brings at most.
        window_messages_max: u32 = 100, in 1..=10_000;
        /// Bytes that one request of a device brings at most; a longer message is given out alone.
        window_bytes_max: u32 = 4 << 20, in 4096..=1 << 30;
        /// Seconds that a device's request waits for a message at most.
        long_poll_seconds_max: u32 = 30, in 0..=3600;
    }
}

section! {
    /// The store.
    pub struct StoreSection, "store" {
        /// The data directory.
        directory: PathBuf = PathBuf::from("mqe-data");
        /// Bytes of a segment of the journal.
        segment_bytes: u64 = 64 << 20, in 1 << 20..=1 << 30;
        /// Bytes of memory for the index of what waits for devices; above it the index of idle devices leaves memory.
        index_bytes_max: u64 = 1 << 30, in 0..=1 << 40;
    }
}

section! {
    /// The listener for administration.
    pub struct Admin, "admin" {
        /// Where it listens; port 0 is any free one.
        listen: SocketAddr = loopback(9414);
        /// Connections at the same time; further ones wait.
        connections_max: u32 = 32, in 1..=10_000;
        /// Seconds that a request may take.
        request_seconds_max: u32 = 30, in 1..=3600;
    }
}

section! {
    /// The log.
    pub struct Log, "log" {
        /// How a line looks.
        format: LogFormat = LogFormat::Text;
        /// What is logged when `RUST_LOG` does not say.
        level: LogLevel = LogLevel::info();
    }
}

section! {
    /// Bounds on what connections can take.
    pub struct Limits, "limits" {
        /// Connections of MQ clients at the same time.
        mq_connections_max: u32 = 5_000, in 1..=1_000_000;
        /// Connections of devices at the same time.
        device_connections_max: u32 = 20_000, in 1..=1_000_000;
        /// Seconds until a new connection has said what it is.
        handshake_seconds_max: u32 = 10, in 1..=300;
        /// Bytes of message bodies on their way to connections, of all together.
        in_flight_bytes_max: u64 = 256 << 20, in 1 << 20..=1 << 40;
        /// Seconds that a connection may take nothing of what is sent to it.
        write_stall_seconds_max: u32 = 30, in 1..=3600;
        /// Seconds that a stop waits for what is in flight.
        grace_seconds: u32 = 10, in 0..=3600;
    }
}
