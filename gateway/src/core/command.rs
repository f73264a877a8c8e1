//! What the core is asked to do, and what it sends to connections.

use bytes::Bytes;
use mq_wire::{Ccsid, ChannelName, Mqmd, QMgrName, QName, Reason, UserId};
use mqe::frame::{ErrorCode, Frame, MessageHead};
use mqe::{DeviceMessage, DeviceName, RequestId, Sequence, Uid};
use mqe_exits::ExitMessage;
use qmgr::{CallId, ConnId, Got, Holder, RouteExplanation, Verb};
use store::{BodyFile, BodyRef, Id, Position, Record, SnapshotTicket};
use tokio::sync::{mpsc, oneshot};

use super::bodies::Records;
use super::cold::ColdDone;
use super::outbox::OutboxCommand;
use super::owed::OwedRecord;
use super::read_first::ReadRecord;
use super::remote::{PreparedOutcome, RemoteBatch, RemoteState};
use crate::report::{DeviceReport, Operation, OperationReport, ParkedReport, StatusReport, StoreReport};
use crate::source::BatchLimits;

/// A command to the core.
#[derive(Debug)]
pub(crate) enum Command {
    /// An MQ client's connection asks to be served; its answers go to `out`.
    MqOpened { conn: ConnId, out: mpsc::UnboundedSender<ToMq> },
    /// A call of an MQ client.
    Mq { conn: ConnId, call: CallId, verb: Verb },
    /// A message that was given out has not the id that was asked for.
    MqMismatched { conn: ConnId, call: CallId, found: Box<qmgr::Mismatch> },
    /// The record of a message that a get has to know more of.
    RecordRead { conn: ConnId, call: CallId, read: ReadRecord },
    /// The record of a message that has expired.
    ExpiredRead { id: Id, read: ReadRecord },
    /// A message that was got cannot be read: in the unit of work it is not to die.
    MqUnreadable { conn: ConnId, ids: Vec<Id> },
    /// The MQ client's socket is gone, or it ended in order.
    MqClosed { conn: ConnId },
    /// What a channel allows.
    Channel { channel: ChannelName, answer: oneshot::Sender<Option<ChannelTerms>> },
    /// A device's connection asks to be served; what it is told goes to `out`.
    DeviceOpened { conn: mqe::ConnId, out: mpsc::UnboundedSender<ToDevice> },
    /// A request of a device, all but its puts.
    Device { conn: mqe::ConnId, request: RequestId, frame: Frame },
    /// Puts of a device that arrived: which are new, so that exits look at them, and whose they are.
    DevicePutsArrived {
        conn: mqe::ConnId,
        puts: Vec<(RequestId, Sequence)>,
        answer: oneshot::Sender<Vec<Option<DeviceName>>>,
    },
    /// New puts of a device, behind the exits.
    DevicePuts { conn: mqe::ConnId, puts: Vec<DevicePut> },
    /// The device's socket is gone.
    DeviceClosed { conn: mqe::ConnId },
    /// A message that a device refused for good, read.
    Rejected { rejected: Box<RejectedMessage> },
    /// A message for which something is owed, read.
    Owed { owed: Box<OwedRecord> },
    /// Lock what comes next on a transmission queue.
    Lock {
        queue: QName,
        holder: Holder,
        limits: BatchLimits,
        answer: oneshot::Sender<Result<Vec<LockedBody>, Reason>>,
    },
    /// Give back all that somebody has locked.
    Unlock { holder: Holder },
    /// Move locked messages to where they go, in one unit; those that are refused stay, and with each those behind it
    /// that are for the same device.
    HandOver { holder: Holder, deliveries: Vec<HandOver>, answer: oneshot::Sender<HandedOver> },
    /// What the journal knows of a remote source.
    RemoteState { source: String, answer: oneshot::Sender<RemoteState> },
    /// A remote source begins, with this number in its sync message.
    RemoteBegin { source: String, q_mgr_id: String, number: u64, answer: oneshot::Sender<Position> },
    /// Write a batch of a remote source, durable and invisible.
    RemotePrepare { batch: Box<RemoteBatch>, answer: oneshot::Sender<PreparedOutcome> },
    /// Make a batch visible, or undo it.
    RemoteDecide { source: String, number: u64, committed: bool, answer: oneshot::Sender<Position> },
    /// Of the task of an outbox.
    Outbox { command: OutboxCommand },
    /// Run a command of a script.
    Mqsc { command: Box<mqsc::Command>, answer: oneshot::Sender<MqscResult> },
    /// What came of a job on entries that are not in memory.
    Cold(ColdDone),
    /// A stored message cannot be read.
    Damaged { id: Id, what: String },
    /// The core's part of the status.
    Status { answer: oneshot::Sender<StatusReport> },
    /// The store's figures.
    Store { answer: oneshot::Sender<StoreReport> },
    /// A copy of the store as it is: its files can be had from the ticket, outside of the core.
    Snapshot { answer: oneshot::Sender<SnapshotTicket> },
    /// All devices.
    Devices { answer: oneshot::Sender<Vec<DeviceReport>> },
    /// What is parked.
    Parked { answer: oneshot::Sender<Vec<ParkedReport>> },
    /// Something that an operator wants done with devices; when the position is durable it is.
    Operate { operation: Operation, answer: oneshot::Sender<Result<(OperationReport, Position), String>> },
    /// How a name is resolved.
    Route { queue: QName, q_mgr: QMgrName, answer: oneshot::Sender<RouteExplanation> },
    /// What would become of a message for a device.
    DeviceRoute { device: DeviceName, answer: oneshot::Sender<String> },
    /// Where a queue of the gateway leads: a sentence.
    OwnQueueRoute { queue: QName, answer: oneshot::Sender<String> },
    /// One device.
    DeviceReport { device: DeviceName, answer: oneshot::Sender<Option<DeviceReport>> },
    /// The service stops: waiting gets and long polls end, nothing new begins.
    Quiesce,
    /// The grace is over: every call of an MQ client that is still open ends, and so does every further one.
    Stopping,
    /// The last command: everything is handed over and durable, the store is closed.
    Stop,
}

/// What a server-connection channel allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChannelTerms {
    pub(crate) max_msg_length: u32,
    pub(crate) heartbeat_s: u32,
    /// SHARECNV.
    pub(crate) conversations: u32,
    /// MAXINST, and MAXINSTC for one address.
    pub(crate) instances_max: u32,
    pub(crate) instances_of_client_max: u32,
    /// DISCINT; 0 is never.
    pub(crate) idle_s: u32,
    /// CCSID of the queue manager.
    pub(crate) ccsid: Ccsid,
    /// As whom its users act; none: as themselves.
    pub(crate) mca_user: Option<UserId>,
}

/// An answer to an MQ client. It leaves when `needs` is durable.
#[derive(Debug)]
pub(crate) struct ToMq {
    pub(crate) call: CallId,
    pub(crate) needs: Option<Position>,
    pub(crate) reply: MqReply,
}

/// What an MQ client is told.
#[derive(Debug)]
pub(crate) enum MqReply {
    /// All there is to say.
    Plain(qmgr::Reply),
    /// A message; its descriptor and data are to be read.
    Got(Box<Got>, Records),
}

/// Something for a device. It leaves behind what was said before, when what it needs is durable.
#[derive(Debug)]
pub(crate) enum ToDevice {
    /// A frame.
    Frame { needs: Option<Position>, request: RequestId, frame: Frame },
    /// A message; envelope and payload are to be read.
    Message { needs: Position, request: RequestId, head: MessageHead, body: BodyRef, bytes: u32 },
    /// The end of the connection.
    Close { why: ErrorCode },
}

/// A put of a device that came through the exits.
#[derive(Debug)]
pub(crate) struct DevicePut {
    pub(crate) request: RequestId,
    pub(crate) sequence: Sequence,
    pub(crate) device: DeviceName,
    /// What is put, or why it is refused.
    pub(crate) body: Result<DevicePutBody, Reason>,
}

/// What a device puts, and where to.
#[derive(Debug)]
pub(crate) struct DevicePutBody {
    pub(crate) queue: QName,
    /// Blank: the embedded queue manager.
    pub(crate) q_mgr: QMgrName,
    /// The reply token that the message names, and the device's queue that it stands for.
    pub(crate) token: Option<(QName, QName)>,
    pub(crate) message: DeviceMessage,
}

/// A message that a device refused for good.
#[derive(Debug)]
pub(crate) struct RejectedMessage {
    pub(crate) device: DeviceName,
    pub(crate) uid: Uid,
    pub(crate) reason: Reason,
    pub(crate) record: Record,
}

/// A locked message.
#[derive(Debug)]
pub(crate) struct LockedBody {
    pub(crate) body: BodyRef,
    /// Bytes of its data.
    pub(crate) length: usize,
    /// Wall clock milliseconds at which it expires; 0 is never.
    pub(crate) expiry_ms: u64,
}

/// A message that a source has taken, and where it goes.
#[derive(Debug, Clone)]
pub(crate) struct HandOver {
    pub(crate) key: TakenKey,
    /// The message as it lay on the transmission queue, for a dead letter.
    pub(crate) original: ExitMessage,
    /// The file that holds the end of it, if one does.
    pub(crate) file: Option<BodyFile>,
    pub(crate) delivery: Delivery,
}

/// Names a message while its source has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TakenKey(pub(crate) u64);

/// Where a message goes.
#[derive(Debug, Clone)]
pub(crate) enum Delivery {
    /// To a device.
    Device { device: DeviceName, message: Box<DeviceMessage> },
    /// To the park area, until the device is known.
    Park { device: DeviceName, message: Box<DeviceMessage> },
    /// To a queue of the gateway itself, or to where a reply token leads (mqe.md 6.4 step 3, 6.5).
    Queue { message: Box<DeviceMessage> },
    /// Nowhere as it is: always refused, so that the undelivered rule decides.
    Undeliverable { reason: Reason, why: String },
    /// To the dead-letter queue, as far as its report options do not say otherwise.
    DeadLetter(Reason),
    /// Nowhere; the exception report that it asks for says why.
    Discard(Reason),
}

/// A dead letter before its header is made (mq-objects.md 1.8).
#[derive(Debug)]
pub(crate) struct DeadLetter {
    pub(crate) reason: Reason,
    /// The queue it was meant for.
    pub(crate) queue: QName,
    /// The queue manager it was meant for.
    pub(crate) q_mgr: QMgrName,
    /// The message's own descriptor.
    pub(crate) md: Mqmd,
    pub(crate) body: Bytes,
    /// The file that holds the end of it, if one does.
    pub(crate) file: Option<BodyFile>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    pub(crate) moved: u64,
    pub(crate) parked: u64,
    pub(crate) dead_lettered: u64,
    pub(crate) discarded: u64,
    /// What was refused, and still is where it was; in order.
    pub(crate) refused: Vec<Refused>,
    /// All that was not moved, in order: what was refused, and what waits behind it.
    pub(crate) left: Vec<HandOver>,
    /// When this is on disk, the rest has happened.
    pub(crate) needs: Position,
}

/// A message that was not taken where it was to go.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) key: TakenKey,
    pub(crate) reason: Reason,
    pub(crate) why: String,
    /// It may be taken later without anybody doing anything.
    pub(crate) temporary: bool,
    pub(crate) by: RefusedBy,
}

/// Who refused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedBy {
    /// The device's sub-queue, or a queue of the gateway.
    Destination,
    /// The park area.
    Park,
    /// The dead-letter queue.
    DeadLetterQueue,
}

/// What became of a command of a script, and the position at which it is durable.
#[derive(Debug)]
pub(crate) struct MqscResult {
    pub(crate) outcome: mqsc::Outcome,
    pub(crate) needs: Option<Position>,
}
