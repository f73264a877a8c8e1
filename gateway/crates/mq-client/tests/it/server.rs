//! A queue manager of a few lines on mq-channel's server machine: queues in memory, one unit of work a connection.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_channel::{ChannelTerms, Event, OpenDefaults, Reply, Request, ServerConfig, ServerConnection};
use mq_client::ConnectOptions;
use mq_wire::{Chars, CompCode, GetOptions, Mqmd, MsgId, PutOptions, Reason, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

type Message = (Mqmd, Bytes);

#[derive(Default)]
pub(crate) struct Queues {
    messages: Mutex<HashMap<String, VecDeque<Message>>>,
    put: Notify,
}

/// What a server does when something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// As it should.
    Good,
    /// Closes the socket instead of answering a call of this name.
    HangUpAt(&'static str),
    /// Never answers a call of this name.
    SilentAt(&'static str),
    /// Sends a heartbeat in each MQGET, and answers only after the client's answer to that.
    HeartbeatFirst,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    /// One message for each connection that ended: whether in order.
    pub(crate) ended: mpsc::UnboundedReceiver<bool>,
}

impl Server {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (report, ended) = mpsc::unbounded_channel();
        let queues = Arc::new(Queues::default());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (queues, report) = (queues.clone(), report.clone());
                tokio::spawn(async move {
                    let in_order = Session::new(stream, queues, behaviour).run().await;
                    let _ = report.send(in_order);
                });
            }
        });
        Self { port, ended }
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions {
            qmgr_name: "QM1".parse().unwrap(),
            connect_timeout: Duration::from_secs(20),
            ..ConnectOptions::parse(&format!("DEV.APP.SVRCONN/TCP/127.0.0.1({})", self.port)).unwrap()
        }
    }
}

struct Session {
    stream: TcpStream,
    queues: Arc<Queues>,
    behaviour: Behaviour,
    machine: ServerConnection,
    /// Queue of each handle, which is its place.
    handles: Vec<String>,
    puts: Vec<(String, Message)>,
    gets: Vec<(String, Message)>,
}

impl Session {
    fn new(stream: TcpStream, queues: Arc<Queues>, behaviour: Behaviour) -> Self {
        let config = ServerConfig::new("QM1".parse().unwrap(), Chars::cut("QM1_2026"));
        let machine = ServerConnection::new(Arc::new(config), Instant::now());
        Self { stream, queues, behaviour, machine, handles: vec![], puts: vec![], gets: vec![] }
    }

    /// Whether the client ended in order.
    async fn run(mut self) -> bool {
        let ended = self.conversation().await;
        self.back();
        ended.unwrap_or(false)
    }

    async fn conversation(&mut self) -> std::io::Result<bool> {
        let mut buffer = vec![0; 10_000];
        loop {
            while let Some(event) = self.machine.poll_event() {
                match event {
                    Event::ChannelRequested(request) => match request.channel.to_string().as_str() {
                        "DEV.APP.SVRCONN" => self.machine.channel_accepted(ChannelTerms::default()).unwrap(),
                        "STOPPED" => self.machine.channel_refused(StatusCode::QM_UNAVAILABLE).unwrap(),
                        "FULL" => self.machine.channel_refused(StatusCode::CONNECTION_LIMIT).unwrap(),
                        _ => self.machine.channel_refused(StatusCode::NO_CHANNEL).unwrap(),
                    },
                    Event::Call { call, request, .. } => {
                        match self.behaviour {
                            Behaviour::HangUpAt(name) if name == request.name() => return Ok(false),
                            Behaviour::SilentAt(name) if name == request.name() => continue,
                            Behaviour::HeartbeatFirst if request.name() == "MQGET" => {
                                // As if the heartbeat interval were over.
                                self.machine
                                    .handle_timeout(Instant::now() + Duration::from_secs(300))
                                    .unwrap();
                                self.flush().await?;
                                let length = self.stream.read(&mut buffer).await?;
                                assert_eq!((buffer[9], buffer[10], length), (0x09, 0x30, 28));
                                self.machine.handle_bytes(Instant::now(), &buffer[..length]).unwrap();
                            }
                            _ => {}
                        }
                        let reply = self.apply(request).await;
                        self.machine.reply(Instant::now(), call, reply).unwrap();
                    }
                    Event::Ended => return Ok(true),
                    // Sockets are not shared here.
                    Event::ConversationEnded { .. } => {}
                }
            }
            self.flush().await?;
            if self.machine.is_finished() {
                return Ok(false);
            }
            match self.stream.read(&mut buffer).await? {
                0 => return Ok(self.machine.handle_end_of_stream().is_ok()),
                length => {
                    if self.machine.handle_bytes(Instant::now(), &buffer[..length]).is_err() {
                        self.flush().await?;
                        return Ok(false);
                    }
                }
            }
        }
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        while let Some(bytes) = self.machine.poll_output() {
            self.stream.write_all(&bytes).await?;
        }
        Ok(())
    }

    async fn apply(&mut self, request: Request) -> Reply {
        let (cc, reason) = (CompCode::OK, Reason::NONE);
        match request {
            Request::Connect(connect) => {
                if connect.qmgr_name.to_string() != "QM1" {
                    return Reply::failed(Reason::Q_MGR_NAME_ERROR);
                }
                if connect.password.as_ref().is_some_and(|password| password.as_bytes() != b"passw0rd") {
                    return Reply::failed(Reason::NOT_AUTHORIZED);
                }
                Reply::Connect { cc, reason, qmgr_name: connect.qmgr_name, connection_id: [7; 24] }
            }
            Request::Open { od, .. } if !od.object_name.to_string().starts_with("DEV.") => {
                Reply::failed(Reason::UNKNOWN_OBJECT_NAME)
            }
            Request::Open { od, .. } => {
                self.handles.push(od.object_name.to_string());
                let handle = self.handles.len() as i32;
                Reply::Open { cc, reason, handle, od, defaults: OpenDefaults::default() }
            }
            Request::Put { handle, md, pmo, data } => {
                let md = Mqmd { msg_id: MsgId([9; 24]), ..md };
                self.put(self.handles[handle as usize - 1].clone(), pmo.options, (md.clone(), data));
                Reply::Put { cc, reason, md, pmo }
            }
            Request::Put1 { od, md, pmo, data } => {
                let md = Mqmd { msg_id: MsgId([9; 24]), ..md };
                self.put(od.object_name.to_string(), pmo.options, (md.clone(), data));
                Reply::Put1 { cc, reason, od, md, pmo }
            }
            Request::Get { handle, gmo, buffer_length, .. } => {
                let queue = self.handles[handle as usize - 1].clone();
                let waits = gmo.options.contains(GetOptions::WAIT);
                let Some((md, data)) = self.first(&queue, waits).await else {
                    return Reply::failed(Reason::NO_MSG_AVAILABLE);
                };
                let total_length = data.len() as u32;
                if total_length > buffer_length {
                    let data = data.slice(..buffer_length as usize);
                    let (cc, reason) = (CompCode::WARNING, Reason::TRUNCATED_MSG_FAILED);
                    return Reply::Get { cc, reason, md, gmo, total_length, data };
                }
                let message =
                    self.queues.messages.lock().unwrap().get_mut(&queue).unwrap().pop_front().unwrap();
                if gmo.options.contains(GetOptions::SYNCPOINT) {
                    self.gets.push((queue, message));
                }
                Reply::Get { cc, reason, md, gmo, total_length, data }
            }
            Request::Inquire { handle, .. } => {
                let queue = &self.handles[handle as usize - 1];
                let depth = self.queues.messages.lock().unwrap().get(queue).map_or(0, VecDeque::len);
                Reply::Inquire { cc, reason, ints: vec![depth as i32], chars: queue.clone().into_bytes() }
            }
            Request::Commit | Request::Disconnect => {
                self.gets.clear();
                for (queue, message) in std::mem::take(&mut self.puts) {
                    self.put(queue, PutOptions::empty(), message);
                }
                Reply::DONE
            }
            Request::Back => {
                self.back();
                Reply::DONE
            }
            _ => Reply::DONE,
        }
    }

    fn put(&mut self, queue: String, options: PutOptions, message: Message) {
        if options.contains(PutOptions::SYNCPOINT) {
            return self.puts.push((queue, message));
        }
        self.queues.messages.lock().unwrap().entry(queue).or_default().push_back(message);
        self.queues.put.notify_waiters();
    }

    async fn first(&self, queue: &str, waits: bool) -> Option<Message> {
        loop {
            let put = self.queues.put.notified();
            let first =
                self.queues.messages.lock().unwrap().get(queue).and_then(|queue| queue.front().cloned());
            if first.is_some() || !waits {
                return first;
            }
            put.await;
        }
    }

    fn back(&mut self) {
        self.puts.clear();
        let mut messages = self.queues.messages.lock().unwrap();
        for (queue, message) in std::mem::take(&mut self.gets).into_iter().rev() {
            messages.entry(queue).or_default().push_front(message);
        }
    }
}
