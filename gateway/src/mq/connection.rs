//! The task of an MQ client's connection: socket, channel machine, a sender to the core.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mq_channel::{ChannelRequest, ChannelTerms, Event, Request, ServerConfig, ServerConnection};
use mq_wire::{Chars, CompCode, GetOptions, PutOptions, Reason, StatusCode, UserId};
use qmgr::{CallId, ConnId, Context, Rights, Verb};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::convert::{self, Kept, Pending};
use crate::clock;
use crate::core::{
    self, Bodies, Command, ConnectionCount, CoreHandle, Farewell, Lane, MqReply, Share, Stopped, ToMq,
};
use crate::net::{Accepted, Pipe};
use crate::telemetry;

/// What the connections of the MQ listener share.
#[derive(Debug)]
pub(crate) struct MqServer {
    /// The way into the core.
    pub(crate) core: CoreHandle,
    /// What the machines are told.
    pub(crate) config: Arc<ServerConfig>,
    /// Reads bodies.
    pub(crate) bodies: Bodies,
    /// Ends connections without a call in flight.
    pub(crate) quiesce: CancellationToken,
    /// Ends all connections.
    pub(crate) stop: CancellationToken,
    /// For the counts in status.
    pub(crate) count: Arc<ConnectionCount>,
    /// A client that takes nothing for this long is cut.
    pub(crate) write_stall: Duration,
}

/// Why a connection ended other than in order.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0}")]
    Protocol(#[from] mq_channel::ConnectionError),
    #[error("the socket failed: {0}")]
    Socket(#[from] io::Error),
    #[error("{0}")]
    Stopped(#[from] Stopped),
    #[error("the journal failed: what it waits for will not be answered")]
    NotDurable,
    #[error("the journal failed: all connections are dropped")]
    Recovery,
}

/// Serves one client until it ends.
pub(crate) async fn serve(server: Arc<MqServer>, accepted: Accepted) {
    // Who comes while the store recovers waits. A core that has ended serves nobody.
    let Ok(core) = server.core.newest().await else { return };
    let core = Arc::new(core);
    let conn = core.conn();
    let span = telemetry::mq_connection(conn, accepted.peer);
    let counted = server.count.enter();
    async {
        tracing::debug!("connected");
        // The core never waits for a connection. One call of a conversation is open at a time, so one answer waits.
        let (out, answers) = mpsc::unbounded_channel();
        let machine = ServerConnection::new(Arc::clone(&server.config), clock::now().instant);
        let Accepted { pipe, peer, over_limit, permit } = accepted;
        let mut connection = Connection {
            server: &server,
            core: &core,
            conn,
            peer,
            pipe,
            machine,
            answers,
            out: Some(out),
            channel: None,
            over_limit,
            pending: HashMap::new(),
            contexts: HashMap::new(),
            next_call: 1,
            in_unit: false,
            ended: false,
        };
        let farewell = Farewell::new(Arc::clone(&core), Command::MqClosed { conn });
        let outcome = tokio::select! {
            biased;
            () = core.ended() => Err(Ended::Recovery),
            outcome = connection.run() => outcome,
        };
        let Connection { pipe, .. } = connection;
        // First the core, so that the unit of work is backed out while the socket still drains.
        farewell.say().await;
        match outcome {
            Ok(()) => tracing::debug!("ended"),
            Err(why @ Ended::Stopped(_)) => tracing::debug!(%why, "ended"),
            Err(why) => tracing::info!(%why, "ended"),
        }
        pipe.close().await;
        drop((permit, counted));
    }
    .instrument(span)
    .await;
}

struct Connection<'a> {
    server: &'a MqServer,
    core: &'a CoreHandle,
    conn: ConnId,
    peer: SocketAddr,
    pipe: Pipe,
    machine: ServerConnection,
    answers: mpsc::UnboundedReceiver<ToMq>,
    /// Given to the core with MQCONN.
    out: Option<mpsc::UnboundedSender<ToMq>>,
    /// Which channel was accepted, and MCAUSER of it.
    channel: Option<(mq_wire::ChannelName, Option<UserId>)>,
    over_limit: bool,
    pending: HashMap<CallId, Pending>,
    /// Contexts of messages got with handles that were opened to save them. None: nothing was got yet.
    contexts: HashMap<i32, Option<Box<Context>>>,
    next_call: u64,
    /// A unit of work may be open: a stop in order leaves it the grace period.
    in_unit: bool,
    /// The client said that nothing comes any more.
    ended: bool,
}

impl Connection<'_> {
    async fn run(&mut self) -> Result<(), Ended> {
        loop {
            while let Some(event) = self.machine.poll_event() {
                self.event(event).await?;
            }
            self.flush().await?;
            if self.ended || self.machine.is_finished() {
                return Ok(());
            }
            let timeout = self.machine.poll_timeout();
            tokio::select! {
                biased;
                () = self.server.stop.cancelled() => return Err(Stopped.into()),
                () = self.server.quiesce.cancelled(), if self.pending.is_empty() && !self.in_unit => {
                    self.machine.terminate();
                    self.flush().await?;
                    return Err(Stopped.into());
                }
                Some(answer) = self.answers.recv() => self.answer(answer).await?,
                read = self.pipe.read() => match read? {
                    Some(bytes) => {
                        let outcome = self.machine.handle_bytes(clock::now().instant, &bytes);
                        if let Err(error) = outcome {
                            // The machine may have a last word for the peer.
                            self.flush().await?;
                            return Err(error.into());
                        }
                    }
                    None => {
                        self.machine.handle_end_of_stream()?;
                        return Ok(());
                    }
                },
                () = clock::until(timeout) => {
                    if let Err(error) = self.machine.handle_timeout(clock::now().instant) {
                        self.flush().await?;
                        return Err(error.into());
                    }
                }
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let machine = &mut self.machine;
        Ok(self.pipe.write_from(|| machine.poll_output(), self.server.write_stall).await?)
    }

    async fn event(&mut self, event: Event) -> Result<(), Ended> {
        match event {
            Event::ChannelRequested(request) => self.channel(request).await,
            Event::Call { conversation, call, request } => self.call(conversation, call, request).await,
            Event::Ended => {
                self.ended = true;
                Ok(())
            }
        }
    }

    async fn channel(&mut self, request: ChannelRequest) -> Result<(), Ended> {
        if self.over_limit {
            tracing::warn!(peer = %self.peer, "refused: there are as many connections as [limits] mq_connections_max allows");
            self.machine.channel_refused(StatusCode::CONNECTION_LIMIT)?;
            return Ok(());
        }
        match self.core.channel(request.channel).await? {
            Some(view) => {
                tracing::debug!(channel = %request.channel, product = %request.product_id, "channel");
                self.channel = Some((request.channel, view.mca_user));
                self.machine.channel_accepted(ChannelTerms {
                    max_msg_length: view.max_msg_length,
                    heartbeat_s: view.heartbeat_s,
                })?;
            }
            None => {
                tracing::info!(peer = %self.peer, channel = %request.channel, "refused: no such server-connection channel");
                self.machine.channel_refused(StatusCode::NO_CHANNEL)?;
            }
        }
        Ok(())
    }

    async fn call(
        &mut self,
        conversation: u32,
        call: mq_channel::CallId,
        request: Request,
    ) -> Result<(), Ended> {
        if let Request::Stat { .. } = request {
            // Every put is answered, since SPIREQUEST is refused: there is nothing that MQSTAT could tell.
            let (cc, reason, puts) = (CompCode::OK, Reason::NONE, mq_channel::AsyncPuts::default());
            return self.reply(call, mq_channel::Reply::Stat { cc, reason, puts });
        }
        let (verb, kept) = match request {
            Request::Connect(connect) => match self.connect(*connect).await? {
                Ok(verb) => (verb, Kept::Connect),
                Err(reason) => {
                    self.reply(call, mq_channel::Reply::failed(reason))?;
                    return Ok(());
                }
            },
            request => {
                let contexts = &self.contexts;
                let passed = |handle: i32| contexts.get(&handle).cloned().flatten();
                match convert::verb(request, passed) {
                    Some(converted) => converted,
                    None => {
                        self.reply(call, mq_channel::Reply::failed(Reason::FUNCTION_NOT_SUPPORTED))?;
                        return Ok(());
                    }
                }
            }
        };
        match &verb {
            Verb::Put(put) if put.pmo.options.contains(PutOptions::SYNCPOINT) => self.in_unit = true,
            Verb::Put1(put) if put.pmo.options.contains(PutOptions::SYNCPOINT) => self.in_unit = true,
            Verb::Get(get) if get.gmo.options.intersects(IN_UNIT) => self.in_unit = true,
            Verb::Commit | Verb::Back | Verb::Disconnect => self.in_unit = false,
            _ => {}
        }
        let verb = match convert::data(&verb) {
            Some(data) => match core::write_long(self.core, data).await {
                Ok(file) => verb.with_file(file),
                Err(error) => {
                    tracing::warn!(%error, "a long message cannot be taken now");
                    return self.reply(call, mq_channel::Reply::failed(Reason::STORAGE_MEDIUM_FULL));
                }
            },
            None => verb,
        };
        let id = CallId(self.next_call);
        self.next_call += 1;
        self.pending.insert(id, Pending { call, conversation, kept });
        let lane = match verb {
            Verb::Commit | Verb::Back | Verb::Disconnect | Verb::Close { .. } => Lane::Complete,
            _ => Lane::Intake,
        };
        self.core.send(lane, Command::Mq { conn: self.conn, call: id, verb }).await?;
        Ok(())
    }

    /// MQCONN: who it is and what it may, from channel and credentials.
    async fn connect(&mut self, connect: mq_channel::Connect) -> Result<Result<Verb, Reason>, Ended> {
        let Some((channel, mca_user)) = self.channel else { return Ok(Err(Reason::UNKNOWN_CHANNEL_NAME)) };
        let Some(rights) = rights(&channel) else {
            tracing::info!(%channel, peer = %self.peer, "refused: SYSTEM channels are blocked");
            return Ok(Err(Reason::NOT_AUTHORIZED));
        };
        let Some(out) = self.out.take() else { return Ok(Err(Reason::ALREADY_CONNECTED)) };
        self.core.send(Lane::Control, Command::MqOpened { conn: self.conn, out }).await?;
        Ok(Ok(Verb::Connect(Box::new(qmgr::Connect {
            q_mgr: connect.qmgr_name,
            // MCAUSER says as whom the channel's users act (mq-objects.md 3.7).
            user: mca_user.unwrap_or_else(|| UserId::cut(&connect.user.to_ascii_lowercase())),
            appl_name: connect.appl_name,
            appl_type: connect.appl_type,
            rights,
        }))))
    }

    async fn answer(&mut self, answer: ToMq) -> Result<(), Ended> {
        self.core.durable(answer.needs).await.map_err(|_| Ended::NotDurable)?;
        let Some(pending) = self.pending.remove(&answer.call) else { return Ok(()) };
        let mut share: Option<Share> = None;
        let reply = match answer.reply {
            MqReply::Got(got, body) => {
                share = self.server.bodies.share(got.body_length as usize).await;
                let record = match core::read(body).await {
                    Ok(record) => record,
                    Err(error) => {
                        let what = format!("message {}: {error}", got.id);
                        self.core.send(Lane::Control, Command::Damaged { id: got.id, what }).await?;
                        self.reply(pending.call, mq_channel::Reply::failed(Reason::OBJECT_DAMAGED))?;
                        return Ok(());
                    }
                };
                let Some(md) = convert::descriptor(&got, &record) else {
                    tracing::error!(id = %got.id, "the descriptor of a stored message cannot be read");
                    self.reply(pending.call, mq_channel::Reply::failed(Reason::OBJECT_DAMAGED))?;
                    return Ok(());
                };
                if got.check.as_ref().is_some_and(|check| !check.fits(&md)) {
                    // The hash was the same and the id is not: the core goes on behind this message.
                    let Kept::Get { request } = &pending.kept else {
                        // Only a get is answered with a message.
                        return self.reply(pending.call, mq_channel::Reply::failed(Reason::UNEXPECTED_ERROR));
                    };
                    let record = (record.envelope, record.body);
                    let found = Box::new(qmgr::Mismatch { got: *got, record, request: (**request).clone() });
                    let call = answer.call;
                    self.pending.insert(call, pending);
                    let command = Command::MqMismatched { conn: self.conn, call, found };
                    return Ok(self.core.send(Lane::Complete, command).await?);
                }
                if let Some(context) = self.contexts.get_mut(&got.handle) {
                    *context = Some(Box::new(Context::of(&md)));
                }
                convert::got(&got, md, &record.body)
            }
            MqReply::Plain(reply) => {
                match (&pending.kept, &reply) {
                    (Kept::Open { save_context: true }, qmgr::Reply::Opened(opened)) => {
                        self.contexts.insert(opened.handle, None);
                    }
                    (Kept::Close { handle }, qmgr::Reply::Plain { reason: Reason::NONE, .. }) => {
                        self.contexts.remove(handle);
                    }
                    _ => {}
                }
                convert::reply(reply, &pending.kept, self.connection_id())
            }
        };
        if tracing::enabled!(tracing::Level::TRACE) {
            let (cc, reason) = reply.outcome();
            tracing::trace!(conversation = pending.conversation, %cc, %reason, "answer");
        }
        self.reply(pending.call, reply)?;
        // The share of the budget is held until the bytes are with the socket.
        self.flush().await?;
        drop(share);
        Ok(())
    }

    fn reply(&mut self, call: mq_channel::CallId, reply: mq_channel::Reply) -> Result<(), Ended> {
        Ok(self.machine.reply(clock::now().instant, call, reply)?)
    }

    /// `AMQC`, the queue manager's name, and the number of the connection (mq-wire.md 4.2, FCNO).
    fn connection_id(&self) -> [u8; 24] {
        let mut id = [0; 24];
        id[..4].copy_from_slice(b"AMQC");
        id[4..16]
            .copy_from_slice(&Chars::<12>::cut(&self.server.config.qmgr_name.to_string()).as_bytes()[..]);
        id[16..].copy_from_slice(&self.conn.0.to_be_bytes());
        id
    }
}

/// Gets that belong to the unit of work, or may.
const IN_UNIT: GetOptions = GetOptions::SYNCPOINT.union(GetOptions::SYNCPOINT_IF_PERSISTENT);

/// What the channel's users may do by default (INTERFACE.md 2); none for channels that are blocked.
fn rights(channel: &mq_wire::ChannelName) -> Option<Rights> {
    if channel.trimmed().starts_with(b"SYSTEM.") {
        return None;
    }
    Some(if channel.trimmed() == b"DEV.ADMIN.SVRCONN" { Rights::Admin } else { Rights::App })
}
