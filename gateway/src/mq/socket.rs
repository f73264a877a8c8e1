//! The task of an MQ client's socket: bytes, the channel machine, and a way into the core for each conversation.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mq_channel::{ChannelRequest, ChannelTerms, Event, Reply, Request, ServerConfig, ServerConnection};
use mq_wire::{ChannelName, Chars, QMgrName, Reason, StatusCode, UserId};
use qmgr::{CallId, Rights, Verb};
use store::BodyFile;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::conversation::Conversation;
use super::convert::{self, Kept, Pending};
use super::deliver::{Delivered, deliver};
use super::instances::{Instance, Instances};
use super::works::Works;
use crate::clock;
use crate::core::{self, Bodies, Command, ConnectionCount, CoreHandle, Lane, Stopped, ToMq};
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
    /// For MAXINST and MAXINSTC.
    pub(crate) instances: Instances,
    /// A client that takes nothing for this long is cut.
    pub(crate) write_stall: Duration,
}

/// While the queue manager quiesces, a socket on which nothing is under way is closed after this: in between its next
/// call hears why.
const QUIESCE_IDLE: Duration = Duration::from_secs(1);

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
    let span = telemetry::mq_connection(core.conn(), accepted.peer);
    let counted = server.count.enter();
    async {
        tracing::debug!("connected");
        // The core never waits for a connection. One call of a conversation is open at a time, so as many answers wait.
        let (out, answers) = mpsc::unbounded_channel();
        let machine = ServerConnection::new(Arc::clone(&server.config), clock::now().instant);
        let Accepted { pipe, peer, over_limit, permit } = accepted;
        let mut socket = Socket {
            server: &server,
            core: &core,
            peer,
            pipe,
            machine,
            answers,
            out,
            channel: None,
            over_limit,
            conversations: HashMap::new(),
            pending: HashMap::new(),
            works: Works::new(),
            next_call: 1,
            quiet_since: clock::now().instant,
            ended: false,
        };
        let outcome = tokio::select! {
            biased;
            () = core.ended() => Err(Ended::Recovery),
            outcome = socket.run() => outcome,
        };
        let Socket { pipe, conversations, channel, .. } = socket;
        // First the core, so that units of work are backed out while the socket still drains.
        for conversation in conversations.into_values() {
            conversation.end().await;
        }
        match outcome {
            Ok(()) => tracing::debug!("ended"),
            Err(why @ Ended::Stopped(_)) => tracing::debug!(%why, "ended"),
            Err(why) => tracing::info!(%why, "ended"),
        }
        drop(channel);
        pipe.close().await;
        drop((permit, counted));
    }
    .instrument(span)
    .await;
}

struct Socket<'a> {
    server: &'a MqServer,
    /// Of the generation that the socket belongs to.
    core: &'a CoreHandle,
    peer: SocketAddr,
    pipe: Pipe,
    machine: ServerConnection,
    answers: mpsc::UnboundedReceiver<ToMq>,
    /// Given to the core with each MQCONN.
    out: mpsc::UnboundedSender<ToMq>,
    channel: Option<Channel>,
    over_limit: bool,
    conversations: HashMap<u32, Conversation>,
    /// What is open, by the number that the core has for it.
    pending: HashMap<CallId, Pending>,
    works: Works<Worked>,
    next_call: u64,
    /// Since when nothing was answered.
    quiet_since: Instant,
    /// The client said that nothing comes any more.
    ended: bool,
}

/// The channel that was accepted.
struct Channel {
    name: ChannelName,
    mca_user: Option<UserId>,
    /// Of the queue manager.
    ccsid: mq_wire::Ccsid,
    _instance: Instance,
}

/// What has been done beside.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
enum Worked {
    /// An answer is ready.
    Delivered { id: CallId, pending: Pending, delivered: Delivered },
    /// The end of a long message is in a file, so that the core can be asked to put it.
    Written { id: CallId, verb: Box<Verb>, file: Result<Option<BodyFile>, store::StoreError> },
}

impl Socket<'_> {
    async fn run(&mut self) -> Result<(), Ended> {
        let server = self.server;
        let mut stopped = std::pin::pin!(server.stop.cancelled());
        let mut quiesced = std::pin::pin!(server.quiesce.cancelled());
        let mut quiescing = false;
        let mut alarm = clock::Alarm::new();
        loop {
            while let Some(event) = self.machine.poll_event() {
                self.event(event).await?;
            }
            self.flush().await?;
            if self.ended || self.machine.is_finished() {
                return Ok(());
            }
            let timeout = self.machine.poll_timeout();
            let leave = (quiescing && self.is_quiet()).then(|| self.quiet_since + QUIESCE_IDLE);
            tokio::select! {
                biased;
                () = &mut stopped => return self.stop().await,
                () = clock::until(leave), if leave.is_some() => return self.stop().await,
                () = &mut quiesced, if !quiescing => {
                    quiescing = true;
                    self.quiet_since = clock::now().instant;
                }
                worked = self.works.next() => self.worked(worked).await?,
                Some(answer) = self.answers.recv() => self.answer(answer).await?,
                read = self.pipe.read(), if self.machine.wants_input() => match read? {
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
                () = alarm.until(timeout) => {
                    if let Err(error) = self.machine.handle_timeout(clock::now().instant) {
                        self.flush().await?;
                        return Err(error.into());
                    }
                }
            }
        }
    }

    /// Whether nothing is under way.
    fn is_quiet(&self) -> bool {
        self.pending.is_empty() && !self.conversations.values().any(|conversation| conversation.in_unit)
    }

    async fn stop(&mut self) -> Result<(), Ended> {
        self.machine.terminate();
        self.flush().await?;
        Err(Stopped.into())
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let machine = &mut self.machine;
        Ok(self.pipe.write_from(|| machine.poll_output(), self.server.write_stall).await?)
    }

    async fn event(&mut self, event: Event) -> Result<(), Ended> {
        match event {
            Event::ChannelRequested(request) => self.channel(request).await,
            Event::Call { conversation, call, request } => self.call(conversation, call, request).await,
            Event::ConversationEnded { conversation } => {
                self.pending.retain(|_, pending| pending.conversation != conversation);
                if let Some(conversation) = self.conversations.remove(&conversation) {
                    conversation.end().await;
                }
                Ok(())
            }
            Event::Ended => {
                self.ended = true;
                Ok(())
            }
        }
    }

    async fn channel(&mut self, request: ChannelRequest) -> Result<(), Ended> {
        let name = request.channel;
        if self.over_limit {
            tracing::warn!(peer = %self.peer, "refused: there are as many connections as [limits] mq_connections_max allows");
            return Ok(self.machine.channel_refused(StatusCode::CONNECTION_LIMIT)?);
        }
        let Some(view) = self.core.channel(name).await? else {
            tracing::info!(peer = %self.peer, channel = %name, "refused: no such server-connection channel");
            return Ok(self.machine.channel_refused(StatusCode::NO_CHANNEL)?);
        };
        let (all_max, client_max) = (view.instances_max, view.instances_of_client_max);
        let instance = match self.server.instances.enter(name, self.peer.ip(), all_max, client_max) {
            Ok(instance) => instance,
            Err(full) => {
                // MQRC 2537 to the client; 2025 would be about connections of the queue manager.
                tracing::warn!(peer = %self.peer, channel = %name, "refused: {full}");
                return Ok(self.machine.channel_refused(StatusCode::CHANNEL_UNAVAILABLE)?);
            }
        };
        tracing::debug!(channel = %name, product = %request.product_id, "channel");
        self.channel =
            Some(Channel { name, mca_user: view.mca_user, ccsid: view.ccsid, _instance: instance });
        self.machine.channel_accepted(ChannelTerms {
            max_msg_length: view.max_msg_length,
            heartbeat_s: view.heartbeat_s,
            conversations: view.conversations,
            idle_s: view.idle_s,
            // Nothing checks passwords yet.
            passwords_in_clear: false,
            ccsid: Some(view.ccsid),
        })?;
        Ok(())
    }

    async fn call(
        &mut self,
        conversation: u32,
        call: mq_channel::CallId,
        request: Request,
    ) -> Result<(), Ended> {
        let id = CallId(self.next_call);
        self.next_call += 1;
        if let Request::Connect(connect) = request {
            return self.connect(conversation, call, id, *connect).await;
        }
        // The machine begins every conversation with MQCONN.
        let Some(state) = self.conversations.get_mut(&conversation) else {
            return self.reply(call, Reply::failed(Reason::HCONN_ERROR));
        };
        if let Request::Stat { .. } = request {
            // The machine has counted; what it counted is to be on disk.
            let needs = state.needs(None);
            let reply =
                core::MqReply::Plain(qmgr::Reply::Plain { cc: mq_wire::CompCode::OK, reason: Reason::NONE });
            let nothing = || Pending { call, conversation, kept: Kept::Nothing, in_unit: false };
            let pending = nothing();
            self.pending.insert(id, nothing());
            self.deliver(ToMq { call: id, needs, reply }, pending);
            return Ok(());
        }
        let passed = |handle: i32| state.passed(handle);
        let (verb, kept) = match convert::verb(request, passed) {
            Ok(converted) => converted,
            Err(reason) => return self.reply(call, Reply::failed(reason)),
        };
        let in_unit = state.calls(&verb);
        self.pending.insert(id, Pending { call, conversation, kept, in_unit });
        if convert::data(&verb).is_some_and(|data| data.len() > store::BODY_FILE_BYTES) {
            let core = Arc::clone(&state.core);
            self.works.push(async move {
                let verb = Box::new(verb);
                let file = match convert::data(&verb) {
                    Some(data) => core::write_long(&core, data).await,
                    None => Ok(None),
                };
                Worked::Written { id, verb, file }
            });
            return Ok(());
        }
        self.send(id, conversation, verb).await
    }

    /// Asks the core.
    async fn send(&mut self, id: CallId, conversation: u32, verb: Verb) -> Result<(), Ended> {
        let Some(state) = self.conversations.get(&conversation) else { return Ok(()) };
        let lane = match verb {
            Verb::Commit | Verb::Back | Verb::Disconnect | Verb::Close { .. } => Lane::Complete,
            _ => Lane::Intake,
        };
        Ok(state.core.send(lane, Command::Mq { conn: state.conn(), call: id, verb }).await?)
    }

    /// MQCONN: who it is and what it may, from channel and credentials.
    async fn connect(
        &mut self,
        conversation: u32,
        call: mq_channel::CallId,
        id: CallId,
        connect: mq_channel::Connect,
    ) -> Result<(), Ended> {
        let Some(Channel { name, mca_user, .. }) = &self.channel else {
            return self.reply(call, Reply::failed(Reason::UNKNOWN_CHANNEL_NAME));
        };
        let Some(rights) = rights(name) else {
            tracing::info!(channel = %name, peer = %self.peer, "refused: SYSTEM channels are blocked");
            return self.reply(call, Reply::failed(Reason::NOT_AUTHORIZED));
        };
        let verb = Verb::Connect(Box::new(qmgr::Connect {
            // A star before the name: any queue manager will do (mq-wire.md 4.2).
            q_mgr: match connect.qmgr_name.trimmed().first() {
                Some(b'*') => QMgrName::BLANK,
                _ => connect.qmgr_name,
            },
            // MCAUSER says as whom the channel's users act (mq-objects.md 3.7).
            user: mca_user.unwrap_or_else(|| UserId::cut(&connect.user.to_ascii_lowercase())),
            appl_name: connect.appl_name,
            appl_type: connect.appl_type,
            rights,
        }));
        let state = Conversation::new(self.core.connection());
        let conn = state.conn();
        tracing::debug!(conversation, conn = conn.0, "conversation");
        state.core.send(Lane::Control, Command::MqOpened { conn, out: self.out.clone() }).await?;
        self.conversations.insert(conversation, state);
        let kept = Kept::Connect { connection_id: self.connection_id(conn) };
        self.pending.insert(id, Pending { call, conversation, kept, in_unit: false });
        self.send(id, conversation, verb).await
    }

    /// The core has answered.
    async fn answer(&mut self, mut answer: ToMq) -> Result<(), Ended> {
        // None: the conversation has ended meanwhile.
        let Some(pending) = self.pending.remove(&answer.call) else { return Ok(()) };
        let Some(state) = self.conversations.get_mut(&pending.conversation) else { return Ok(()) };
        if !self.machine.is_awaited(pending.call)
            && let core::MqReply::Plain(reply) = answer.reply
        {
            // The client does not wait: what comes behind goes on, and is answered when this is on disk too.
            state.put_unanswered(answer.needs);
            state.put(pending.in_unit, &reply);
            return self.reply(pending.call, convert::reply(reply, &pending.kept));
        }
        answer.needs = state.needs(answer.needs);
        if let core::MqReply::Plain(reply) = &answer.reply {
            state.handled(&pending.kept, reply);
            state.put(pending.in_unit, reply);
        }
        // It stays open, and the conversation may still end before it is done.
        let open = Pending { kept: Kept::Nothing, ..pending };
        self.pending.insert(answer.call, open);
        self.deliver(answer, pending);
        Ok(())
    }

    /// Goes from answer to reply beside everything else.
    fn deliver(&mut self, answer: ToMq, pending: Pending) {
        let Some(state) = self.conversations.get(&pending.conversation) else { return };
        let (core, bodies) = (Arc::clone(&state.core), self.server.bodies.clone());
        // A call comes behind the channel.
        let ccsid = self.channel.as_ref().map_or(mq_wire::Ccsid::UTF_8, |channel| channel.ccsid);
        let ToMq { call: id, needs, reply } = answer;
        self.works.push(async move {
            let delivered = deliver(core, bodies, needs, reply, ccsid, &pending.kept).await;
            Worked::Delivered { id, pending, delivered }
        });
    }

    async fn worked(&mut self, worked: Worked) -> Result<(), Ended> {
        match worked {
            Worked::Delivered { id, pending, delivered } => self.delivered(id, pending, delivered).await,
            Worked::Written { id, verb, file } => {
                let Some(pending) = self.pending.get(&id) else { return Ok(()) };
                let (call, conversation) = (pending.call, pending.conversation);
                match file {
                    Ok(file) => self.send(id, conversation, verb.with_file(file)).await,
                    Err(error) => {
                        tracing::warn!(%error, "a long message cannot be taken now");
                        self.pending.remove(&id);
                        self.reply(call, Reply::failed(Reason::STORAGE_MEDIUM_FULL))
                    }
                }
            }
        }
    }

    async fn delivered(&mut self, id: CallId, pending: Pending, delivered: Delivered) -> Result<(), Ended> {
        if self.pending.remove(&id).is_none() {
            return Ok(());
        }
        let Some(state) = self.conversations.get_mut(&pending.conversation) else { return Ok(()) };
        match delivered {
            Delivered::Reply { reply, context, share } => {
                if let Some((handle, context)) = context {
                    state.got(pending.in_unit, handle, context);
                }
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
            Delivered::Mismatched(found) => {
                let command = Command::MqMismatched { conn: state.conn(), call: id, found };
                let core = Arc::clone(&state.core);
                self.pending.insert(id, pending);
                Ok(core.send(Lane::Complete, command).await?)
            }
            Delivered::Damaged { ids, taken, what } => {
                tracing::error!(what, "a stored message cannot be delivered");
                let (core, conn) = (Arc::clone(&state.core), state.conn());
                if let Some(id) = ids.first().copied() {
                    core.send(Lane::Control, Command::Damaged { id, what }).await?;
                }
                if taken {
                    // Before the client's next call, which may be MQCMIT: it must not kill what nobody has seen. What
                    // was got outside of a unit has died with the get, on disk too if it was persistent: the record
                    // cannot be had any more, and the line above is all that is left of it.
                    core.send(Lane::Complete, Command::MqUnreadable { conn, ids }).await?;
                }
                self.reply(pending.call, Reply::failed(Reason::OBJECT_DAMAGED))
            }
            Delivered::NotDurable => Err(Ended::NotDurable),
        }
    }

    fn reply(&mut self, call: mq_channel::CallId, reply: Reply) -> Result<(), Ended> {
        let now = clock::now().instant;
        self.quiet_since = now;
        Ok(self.machine.reply(now, call, reply)?)
    }

    /// `AMQC`, the queue manager's name, and the number of the connection (mq-wire.md 4.2, FCNO).
    fn connection_id(&self, conn: qmgr::ConnId) -> [u8; 24] {
        let mut id = [0; 24];
        id[..4].copy_from_slice(b"AMQC");
        id[4..16]
            .copy_from_slice(&Chars::<12>::cut(&self.server.config.qmgr_name.to_string()).as_bytes()[..]);
        id[16..].copy_from_slice(&conn.0.to_be_bytes());
        id
    }
}

/// What the channel's users may do by default (INTERFACE.md 2); none for channels that are blocked.
fn rights(channel: &ChannelName) -> Option<Rights> {
    if channel.trimmed().starts_with(b"SYSTEM.") {
        return None;
    }
    Some(if channel.trimmed() == b"DEV.ADMIN.SVRCONN" { Rights::Admin } else { Rights::App })
}
