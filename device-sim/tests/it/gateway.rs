//! A gateway in memory: `mqe`'s gateway end and area, a store in memory, a listener on the loopback interface.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::QName;
use mqe::area::{Area, AreaEffect, AreaSettings, Onboarding, PutCheck};
use mqe::frame::{Frame, Limits, MessageHead, PutOutcome};
use mqe::gateway_end::{DeviceConnection, DeviceEvent};
use mqe::{ConnId, DeviceMessage, DeviceName, Now, RequestId, StoreIdentity};
use store::mem::MemStore;
use store::{Batch, Commit, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    core: Arc<Mutex<Core>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Core {
    area: Area,
    store: MemStore,
    links: HashMap<ConnId, mpsc::UnboundedSender<Said>>,
    next_conn: u64,
    /// What devices put, in order.
    taken: Vec<Bytes>,
    /// What devices refused for good.
    dead: Vec<Bytes>,
}

/// What a turn does; the last is what devices put.
type Act<'a> = Box<dyn FnOnce(&mut Area, &mut Batch, &mut Vec<AreaEffect>, &mut Vec<Bytes>) + 'a>;

#[derive(Debug)]
enum Said {
    Frame(RequestId, Frame),
    Message(RequestId, MessageHead, Bytes, Bytes),
    Close,
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        let (mut store, recovered) = MemStore::new(None);
        let mut batch = store.begin();
        let onboarding = Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 100 };
        let limits = Limits { heartbeat_ms: 1_000, ..Limits::default() };
        let settings = AreaSettings {
            onboarding,
            limits,
            ..AreaSettings::new("GATE1".parse().unwrap(), StoreIdentity([1; 16]))
        };
        let area = Area::new(settings, &recovered, now(), &mut batch).unwrap();
        store.submit(batch);
        let links = HashMap::new();
        let core = Core { area, store, links, next_conn: 1, taken: Vec::new(), dead: Vec::new() };
        let core = Arc::new(Mutex::new(core));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&core);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(Arc::clone(&shared), stream));
            }
        });
        Self { address, core, task }
    }

    /// A message for a device.
    pub(crate) fn offer(&self, device: DeviceName, payload: &str) {
        let queue = QName::new("Q").unwrap();
        let mut message = DeviceMessage::new(queue, payload.to_owned().into());
        message.descriptor.persistence = mq_wire::Persistence::PERSISTENT;
        let mut core = self.core.lock().unwrap();
        core.turn(|area, batch, out, _| {
            let unit = batch.new_unit();
            area.accept(now(), &device, &message, unit, batch).unwrap();
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now(), unit, &mut commit);
            batch.commit(commit);
            area.unit_is_real(now(), unit, batch, out);
        });
    }

    /// What devices put, in order.
    pub(crate) fn taken(&self) -> Vec<String> {
        texts(&self.core.lock().unwrap().taken)
    }

    /// What devices refused for good.
    pub(crate) fn dead(&self) -> Vec<String> {
        texts(&self.core.lock().unwrap().dead)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn texts(payloads: &[Bytes]) -> Vec<String> {
    payloads.iter().map(|payload| String::from_utf8(payload.to_vec()).unwrap()).collect()
}

fn now() -> Now {
    Now { wall_ms: 1_000_000, instant: Instant::now() }
}

impl Core {
    /// One turn: what it wrote is durable when it ends, so all that it said may leave.
    fn turn(&mut self, act: impl FnOnce(&mut Area, &mut Batch, &mut Vec<AreaEffect>, &mut Vec<Bytes>)) {
        self.boxed_turn(Box::new(act));
    }

    fn boxed_turn(&mut self, act: Act<'_>) {
        let mut out = Vec::new();
        let mut batch = self.store.begin();
        act(&mut self.area, &mut batch, &mut out, &mut self.taken);
        self.store.submit(batch);
        for effect in out {
            match effect {
                AreaEffect::Frame { conn, request, frame, .. } => self.say(conn, Said::Frame(request, frame)),
                AreaEffect::Message { conn, request, head, id, place, .. } => {
                    let record = self.store.body(id, place).read().unwrap();
                    self.say(conn, Said::Message(request, head, record.envelope, record.body));
                }
                AreaEffect::Close { conn, .. } => self.say(conn, Said::Close),
                // No message of these tests wants a report.
                AreaEffect::Owes { id, .. } => unreachable!("{id} owes something"),
                AreaEffect::DeadLetter { device, uid, place, .. } => {
                    let record = self.store.body(uid.id, place).read().unwrap();
                    let mut dead = false;
                    self.boxed_turn(Box::new(|area, batch, out, _| {
                        let mut commit = Commit::default();
                        dead = area.finish_reject(&device, uid, &mut commit, batch, out);
                        batch.commit(commit);
                    }));
                    if dead {
                        self.dead.push(record.body);
                    }
                }
            }
        }
    }

    fn say(&self, conn: ConnId, said: Said) {
        if let Some(link) = self.links.get(&conn) {
            let _ = link.send(said);
        }
    }

    fn request(&mut self, conn: ConnId, request: RequestId, frame: Frame) {
        self.turn(|area, batch, out, taken| match frame {
            Frame::Hello(hello) => area.hello(conn, request, &hello, batch, out),
            Frame::Resume { stored, refused } => area.resume(conn, request, &stored, &refused, batch, out),
            Frame::Get { messages, bytes, wait_ms } => {
                area.get(now(), conn, request, messages, bytes, wait_ms, batch, out);
            }
            Frame::Confirm(uids) => area.confirm(now(), conn, request, &uids, batch, out),
            Frame::Reject { uid, reason } => area.reject(conn, request, uid, reason, batch, out),
            Frame::Release(uid) => area.release(now(), conn, request, uid, batch, out),
            Frame::Put(put) => {
                if let PutCheck::New(_) = area.put_arrived(conn, request, put.sequence, out) {
                    let mut commit = Commit::default();
                    if area.put_in_unit(conn, put.sequence, &mut commit).is_ok() {
                        batch.commit(commit);
                        area.put_answer(conn, request, put.sequence, PutOutcome::Taken, batch, out);
                        taken.push(put.payload);
                    }
                }
            }
            _ => {}
        });
    }

    fn time(&mut self) {
        self.turn(|area, batch, out, _| area.handle_timeout(now(), batch, out));
    }
}

async fn serve(core: Arc<Mutex<Core>>, stream: TcpStream) {
    let (link, mut said) = mpsc::unbounded_channel();
    let conn = {
        let mut core = core.lock().unwrap();
        let conn = ConnId(core.next_conn);
        core.next_conn += 1;
        core.links.insert(conn, link);
        conn
    };
    let machine = DeviceConnection::new(Instant::now(), Limits::default(), Duration::from_secs(5));
    let _ = run(&core, conn, machine, stream, &mut said).await;
    let mut core = core.lock().unwrap();
    core.links.remove(&conn);
    core.area.closed(conn);
}

async fn run(
    core: &Mutex<Core>,
    conn: ConnId,
    mut machine: DeviceConnection,
    mut stream: TcpStream,
    said: &mut mpsc::UnboundedReceiver<Said>,
) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    // Long polls end by the clock.
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        while let Some(event) = machine.poll_event() {
            match event {
                DeviceEvent::Request { request, frame } => core.lock().unwrap().request(conn, request, frame),
                DeviceEvent::Ended(_) => machine.close(),
            }
        }
        while let Ok(said) = said.try_recv() {
            match said {
                Said::Frame(request, frame) => machine.send(request, &frame),
                Said::Message(request, head, envelope, payload) => {
                    machine.send_message(request, head, envelope, payload);
                }
                Said::Close => machine.close(),
            }
        }
        while let Some(bytes) = machine.poll_output() {
            stream.write_all(&bytes).await?;
        }
        if machine.is_ended() {
            return Ok(());
        }
        tokio::select! {
            read = stream.read(&mut buffer) => match read? {
                0 => return Ok(()),
                length => machine.handle_bytes(Instant::now(), &buffer[..length]),
            },
            more = said.recv() => match more {
                Some(Said::Frame(request, frame)) => machine.send(request, &frame),
                Some(Said::Message(request, head, envelope, payload)) => {
                    machine.send_message(request, head, envelope, payload);
                }
                Some(Said::Close) | None => machine.close(),
            },
            _ = ticks.tick() => core.lock().unwrap().time(),
        }
    }
}
