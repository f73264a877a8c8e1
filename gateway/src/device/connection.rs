//! The task of a device's connection: socket, protocol machine, a sender to the core, and puts through the exits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mq_wire::QMgrName;
use mqe::frame::Limits;
use mqe::frame::{ErrorCode, Frame, Put, PutOutcome};
use mqe::gateway_end::{DeviceConnection, DeviceEvent, EndReason};
use mqe::{ConnId, RequestId};
use mqe_exits::Chain;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::puts::{self, Names};
use crate::clock;
use crate::core::{self, Bodies, Command, ConnectionCount, CoreHandle, Farewell, Lane, Stopped, ToDevice};
use crate::net::{Accepted, Pipe};
use crate::telemetry;

/// What the connections of the device listener share.
#[derive(Debug)]
pub(crate) struct DeviceServer {
    /// The way into the core.
    pub(crate) core: CoreHandle,
    /// What the machines are told.
    pub(crate) limits: Limits,
    /// Until when HELLO must have come.
    pub(crate) handshake_timeout: Duration,
    /// Reads bodies.
    pub(crate) bodies: Bodies,
    /// The exits, for puts.
    pub(crate) chain: Arc<Chain>,
    pub(crate) gateway: QMgrName,
    pub(crate) q_mgr: QMgrName,
    pub(crate) separator: char,
    /// Tells devices that the gateway stops.
    pub(crate) quiesce: CancellationToken,
    /// Ends all connections.
    pub(crate) stop: CancellationToken,
    /// For the counts in status.
    pub(crate) count: Arc<ConnectionCount>,
    /// A device that takes nothing for this long is cut.
    pub(crate) write_stall: Duration,
}

/// Why a connection ended other than in order.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Protocol(#[from] EndReason),
    #[error("the socket failed: {0}")]
    Socket(#[from] io::Error),
    #[error("the device closed the socket")]
    Closed,
    #[error("{0}")]
    Stopped(#[from] Stopped),
    #[error("the journal failed: what it waits for will not be answered")]
    NotDurable,
    #[error("the journal failed: all connections are dropped")]
    Recovery,
    #[error("refused: {0}")]
    Refused(ErrorCode),
}

/// Serves one device until it ends.
pub(crate) async fn serve(server: Arc<DeviceServer>, accepted: Accepted) {
    // Who comes while the store recovers waits. A core that has ended serves nobody.
    let Ok(core) = server.core.newest().await else { return };
    let core = Arc::new(core);
    let conn = ConnId(core.conn().0);
    let span = telemetry::device_connection(conn, accepted.peer);
    let counted = server.count.enter();
    async {
        tracing::debug!("connected");
        let Accepted { pipe, over_limit, permit, .. } = accepted;
        // The core never waits for a connection. What waits here is bounded by the windows of the device's requests.
        let (out, answers) = mpsc::unbounded_channel();
        let machine = DeviceConnection::new(clock::now().instant, server.limits, server.handshake_timeout);
        let names = Names { gateway: server.gateway, q_mgr: server.q_mgr, separator: server.separator };
        let mut connection = Connection {
            server: &server,
            core: &core,
            conn,
            names,
            pipe,
            machine,
            answers,
            work: None,
            waiting: Vec::new(),
            held: false,
        };
        let farewell = Farewell::new(Arc::clone(&core), Command::DeviceClosed { conn });
        let outcome = match core.send(Lane::Control, Command::DeviceOpened { conn, out }).await {
            Ok(()) => tokio::select! {
                biased;
                () = core.ended() => Err(Ended::Recovery),
                outcome = connection.run(over_limit) => outcome,
            },
            Err(stopped) => Err(stopped.into()),
        };
        let Connection { pipe, .. } = connection;
        farewell.say().await;
        match outcome {
            Ok(()) | Err(Ended::Stopped(_)) => tracing::debug!("ended"),
            Err(why) => tracing::info!(%why, "ended"),
        }
        pipe.close().await;
        drop((permit, counted));
    }
    .instrument(span)
    .await;
}

type Work<'a> = Pin<Box<dyn Future<Output = Result<(), Stopped>> + Send + 'a>>;

struct Connection<'a> {
    server: &'a DeviceServer,
    core: &'a CoreHandle,
    conn: ConnId,
    names: Names,
    pipe: Pipe,
    machine: DeviceConnection,
    answers: mpsc::UnboundedReceiver<ToDevice>,
    /// Puts that are with the exits or on their way to the core. Those behind them wait, so that order holds.
    work: Option<Work<'a>>,
    /// Bounded: with more than the credit here nothing is read.
    waiting: Vec<(RequestId, Put)>,
    /// The last put that was answered found no room: the next one goes alone, before exits look at those behind it.
    held: bool,
}

impl Connection<'_> {
    async fn run(&mut self, over_limit: bool) -> Result<(), Ended> {
        let mut quiesced = false;
        // More than the credit is refused by the area, once it sees them: until then nothing more is read.
        let puts_max = self.server.limits.put_credit as usize;
        loop {
            self.events(over_limit).await?;
            self.flush().await?;
            if self.machine.is_ended() {
                return Ok(());
            }
            if self.work.is_none() && !self.waiting.is_empty() {
                let together = if self.held { 1 } else { self.waiting.len() };
                let puts = self.waiting.drain(..together).collect();
                let (core, conn, names, server) = (self.core, self.conn, self.names, self.server);
                self.work = Some(Box::pin(puts::deliver(core, conn, &server.chain, names, puts)));
            }
            let timeout = self.machine.poll_timeout();
            tokio::select! {
                biased;
                () = self.server.stop.cancelled() => return Err(Stopped.into()),
                () = self.server.quiesce.cancelled(), if !quiesced => {
                    // The device hears it behind all that it was promised so far, and comes back by itself.
                    quiesced = true;
                    let frame = Frame::error(ErrorCode::STOPPING, 1_000, "the gateway is stopping");
                    self.machine.send(RequestId(0), &frame);
                    self.machine.close();
                }
                outcome = worked(&mut self.work) => {
                    self.work = None;
                    outcome?;
                }
                Some(answer) = self.answers.recv() => self.answer(answer).await?,
                read = self.pipe.read(), if self.machine.wants_input() && self.waiting.len() <= puts_max => match read? {
                    Some(bytes) => self.machine.handle_bytes(clock::now().instant, &bytes),
                    None => return Err(Ended::Closed),
                },
                () = clock::until(timeout) => self.machine.handle_timeout(clock::now().instant),
            }
        }
    }

    async fn events(&mut self, over_limit: bool) -> Result<(), Ended> {
        while let Some(event) = self.machine.poll_event() {
            let (request, frame) = match event {
                DeviceEvent::Request { request, frame } => (request, frame),
                DeviceEvent::Ended(reason) => {
                    // The machine has a last word for the device.
                    self.flush().await?;
                    return Err(reason.into());
                }
            };
            let lane = match &frame {
                Frame::Hello(_) if over_limit => {
                    tracing::warn!(
                        "refused: there are as many connections as [limits] device_connections_max allows"
                    );
                    let text = "the gateway has as many connections as it may";
                    self.machine.send(request, &Frame::error(ErrorCode::LATER, 10_000, text));
                    self.flush().await?;
                    return Err(Ended::Refused(ErrorCode::LATER));
                }
                Frame::Put(_) => {
                    if let Frame::Put(put) = frame {
                        self.waiting.push((request, put));
                    }
                    continue;
                }
                Frame::Hello(_) | Frame::Resume { .. } => Lane::Control,
                Frame::Confirm(_) | Frame::Reject { .. } | Frame::Release(_) => Lane::Complete,
                _ => Lane::Intake,
            };
            self.core.send(lane, Command::Device { conn: self.conn, request, frame }).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let machine = &mut self.machine;
        Ok(self.pipe.write_from(|| machine.poll_output(), self.server.write_stall).await?)
    }

    /// One thing after the other, each when it is durable: the order in which the core made them.
    async fn answer(&mut self, answer: ToDevice) -> Result<(), Ended> {
        let mut next = Some(answer);
        let mut shares = Vec::new();
        let mut bytes_gathered = 0;
        while let Some(answer) = next {
            match answer {
                ToDevice::Frame { needs, request, frame } => {
                    self.core.durable(needs).await.map_err(|_| Ended::NotDurable)?;
                    if let Frame::PutAnswer(_, outcome) = &frame {
                        self.held = matches!(outcome, PutOutcome::Busy(_));
                    }
                    self.machine.send(request, &frame);
                }
                ToDevice::Message { needs, request, head, body, bytes } => {
                    self.core.durable(Some(needs)).await.map_err(|_| Ended::NotDurable)?;
                    let share = match self.server.bodies.try_share(bytes as usize) {
                        Some(share) => Some(share),
                        None => {
                            // Who waits for a share holds none.
                            self.flush().await?;
                            shares.clear();
                            self.server.bodies.share(bytes as usize).await
                        }
                    };
                    let record = match core::read(body).await {
                        Ok(record) => record,
                        Err(error) => {
                            // It stays in doubt, and whatever is behind it waits: an operator must look. What was
                            // read before it goes out; the device is told not to come again at once.
                            let what = format!("message {} for a device: {error}", head.uid);
                            self.core.send(Lane::Control, Command::Damaged { id: head.uid.id, what }).await?;
                            let text = "a message cannot be read; the gateway's operator must look";
                            self.machine
                                .send(request, &Frame::error(ErrorCode::LATER, DAMAGED_RETRY_MS, text));
                            self.flush().await?;
                            return Err(Ended::Refused(ErrorCode::LATER));
                        }
                    };
                    self.machine.send_message(request, head, record.envelope, record.body);
                    bytes_gathered += bytes as usize;
                    shares.extend(share);
                }
                ToDevice::Close { why } => {
                    self.flush().await?;
                    return Err(Ended::Refused(why));
                }
            }
            // A window goes out in few writes.
            next = if bytes_gathered < GATHER_BYTES_MAX { self.answers.try_recv().ok() } else { None };
        }
        // The shares of the budget are held until the bytes are with the socket.
        self.flush().await?;
        drop(shares);
        Ok(())
    }
}

/// When a device whose next message cannot be read may come again.
const DAMAGED_RETRY_MS: u32 = 60_000;

/// Bytes of messages that are written together.
const GATHER_BYTES_MAX: usize = 256 * 1024;

/// The end of the work, if there is any.
async fn worked(work: &mut Option<Work<'_>>) -> Result<(), Stopped> {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
