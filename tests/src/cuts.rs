//! A relay in front of a queue manager that knows where a segment of the MQ protocol ends, and does one thing wrong when it is
//! told to: cuts before the n-th request, swallows its answer and cuts, backs out what was to be committed and says so, says
//! that what was committed was not, or holds a request or an answer until a test says what becomes of it ([`Held`]).

mod held;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub use held::Held;

use crate::wait;

/// What goes wrong; requests are counted over all connections from the moment at which it is armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends instead of the n-th request.
    CutBefore(u32),
    /// The n-th request is done, and the connection ends instead of its answer.
    CutAfter(u32),
    /// The n-th MQCMIT is backed out and answered with 2003.
    BackOut(u32),
    /// The n-th MQCMIT is done, and answered with a failure that says nothing about that: 2195.
    Deny(u32),
    /// The n-th request stays in the relay.
    HoldRequest(u32),
    /// The n-th request is done, and its answer stays in the relay.
    HoldAnswer(u32),
    /// The n-th MQCMIT stays in the relay.
    HoldCommit(u32),
}

/// Completion and reason codes of the answers (mq-objects.md 2).
const MQCC_WARNING: u32 = 1;
const MQCC_FAILED: u32 = 2;
const MQRC_BACKED_OUT: u32 = 2003;
const MQRC_UNEXPECTED_ERROR: u32 = 2195;

/// Calls, and answers to them (mq-wire.md 4.3).
const MQDISC: u8 = 0x82;
const MQCLOSE: u8 = 0x84;
const MQGET: u8 = 0x85;
const MQCMIT: u8 = 0x8A;
const MQBACK: u8 = 0x8B;
const MQCMIT_REPLY: u8 = 0x9A;
const MQCLOSE_REPLY: u8 = 0x94;
const MQBACK_REPLY: u8 = 0x9B;
const MQGET_REPLY: u8 = 0x95;
/// A segment's type stands behind id, length and byte order; in a TSHM behind two more ids (mq-wire.md 2.1).
const TYPE: [usize; 2] = [9, 17];
const HEADER: [usize; 2] = [28, 36];
/// Places in the API header behind it: length, completion code, reason, handle (mq-wire.md 4.2).
const COMPLETION: usize = 4;
const REASON: usize = 8;
const HANDLE: usize = 12;

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    /// What goes wrong after that, counted from there.
    then: Option<Fault>,
    requests: u32,
    commits: u32,
    done: bool,
    held: Option<Held>,
    /// Connections that ended with MQDISC in a unit of work with a get in it, which that commits. Ever.
    disconnected_in_unit: u32,
}

/// The relay.
#[derive(Debug)]
pub struct Cuts {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// What to do with a request.
enum Todo {
    Pass,
    Cut,
    /// Pass it on, and cut instead of the answer.
    Swallow,
    BackOut,
    Deny,
    /// Keep it until the test says what becomes of it.
    Hold,
    /// Pass it on, and keep the answer.
    HoldAnswer,
}

/// What is between a client and the queue manager.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    server: TcpStream,
    state: Arc<Mutex<State>>,
    swallow: AtomicBool,
    hold_answer: AtomicBool,
    /// The client has gone, and the server is not to learn of it.
    alone: AtomicBool,
    ended: AtomicBool,
    /// Whether a message was got since the last MQCMIT or MQBACK, and the handle of the first one that was asked for.
    in_unit: AtomicBool,
    queue: AtomicU32,
    rewrite: Rewrite,
}

/// How the answer with this type is changed: completion code, reason.
type Rewrite = Mutex<Option<(u8, u32, u32)>>;

impl Cuts {
    /// Listens on a port of its own, and passes on to `target`.
    pub fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(target) {
                    let _ = serve(client, server, &shared);
                }
            }
        });
        Ok(Self { address, state })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on this goes wrong, once; and then perhaps something else.
    pub fn arm(&self, fault: Fault, then: Option<Fault>) {
        locked(&self.state).arm(Some(fault), then);
    }

    /// What is held; waits until it is.
    #[track_caller]
    pub fn held(&self, within: Duration) -> Held {
        wait::until("something that is held", within, || self.try_held())
    }

    /// What is held, if something is by now.
    pub fn try_held(&self) -> Option<Held> {
        locked(&self.state).held.take()
    }

    /// How many connections have ended with MQDISC in a unit of work that has a get: that would commit it.
    pub fn disconnected_in_unit(&self) -> u32 {
        locked(&self.state).disconnected_in_unit
    }

    /// Whether all of it has.
    pub fn done(&self) -> bool {
        locked(&self.state).done
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn arm(&mut self, fault: Option<Fault>, then: Option<Fault>) {
        let Self { held, disconnected_in_unit, .. } = std::mem::take(self);
        *self = Self { fault, then, held, disconnected_in_unit, ..Self::default() };
    }

    fn request(&mut self, kind: u8) -> Todo {
        self.requests += 1;
        self.commits += u32::from(kind == MQCMIT);
        let (requests, commits) = (self.requests, self.commits);
        let todo = match self.fault {
            Some(Fault::CutBefore(n)) if n == requests => Todo::Cut,
            Some(Fault::CutAfter(n)) if n == requests => Todo::Swallow,
            Some(Fault::BackOut(n)) if kind == MQCMIT && n == commits => Todo::BackOut,
            Some(Fault::Deny(n)) if kind == MQCMIT && n == commits => Todo::Deny,
            Some(Fault::HoldRequest(n)) if n == requests => Todo::Hold,
            Some(Fault::HoldAnswer(n)) if n == requests => Todo::HoldAnswer,
            Some(Fault::HoldCommit(n)) if kind == MQCMIT && n == commits => Todo::Hold,
            _ => return Todo::Pass,
        };
        self.arm(self.then, None);
        self.done = self.fault.is_none();
        todo
    }
}

fn serve(client: TcpStream, server: TcpStream, state: &Arc<Mutex<State>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
    let connection = Arc::new(Connection {
        client,
        server,
        state: Arc::clone(state),
        swallow: AtomicBool::default(),
        hold_answer: AtomicBool::default(),
        alone: AtomicBool::default(),
        ended: AtomicBool::default(),
        in_unit: AtomicBool::default(),
        queue: AtomicU32::default(),
        rewrite: Rewrite::default(),
    });
    let answers = Arc::clone(&connection);
    thread::spawn(move || connection.pass_requests(from_client));
    thread::spawn(move || answers.pass_answers(from_server));
    Ok(())
}

impl Connection {
    fn pass_requests(self: &Arc<Self>, mut from_client: TcpStream) {
        while let Some(mut segment) = read(&mut from_client) {
            let at = kind_at(&segment);
            self.note_request(&segment);
            let todo = locked(&self.state).request(segment[at]);
            match todo {
                Todo::Pass => {}
                Todo::Cut => break,
                Todo::Swallow => self.swallow.store(true, Ordering::SeqCst),
                Todo::BackOut => {
                    segment[at] = MQBACK;
                    self.rewrite(MQBACK_REPLY, MQCC_WARNING, MQRC_BACKED_OUT);
                }
                Todo::Deny => self.rewrite(MQCMIT_REPLY, MQCC_FAILED, MQRC_UNEXPECTED_ERROR),
                Todo::HoldAnswer => self.hold_answer.store(true, Ordering::SeqCst),
                Todo::Hold if self.hold(&segment) => {}
                Todo::Hold => {
                    self.end();
                    return;
                }
            }
            if (&self.server).write_all(&segment).is_err() {
                break;
            }
        }
        // Else the last answer ends it.
        if !self.alone.load(Ordering::SeqCst) {
            self.end();
        }
    }

    fn pass_answers(self: &Arc<Self>, mut from_server: TcpStream) {
        while let Some(mut segment) = read(&mut from_server) {
            if self.swallow.load(Ordering::SeqCst) {
                break;
            }
            let at = kind_at(&segment);
            let kind = segment[at];
            if self.alone.load(Ordering::SeqCst) {
                match kind {
                    MQCLOSE_REPLY => continue,
                    _ => break,
                }
            }
            let rewrite =
                self.rewrite.lock().unwrap_or_else(PoisonError::into_inner).take_if(|(of, ..)| *of == kind);
            if let Some((_, completion, reason)) = rewrite {
                segment[at] = MQCMIT_REPLY;
                set_number(&mut segment, COMPLETION, completion);
                set_number(&mut segment, REASON, reason);
            }
            if kind == MQGET_REPLY && number(&segment, COMPLETION) != MQCC_FAILED {
                self.in_unit.store(true, Ordering::SeqCst);
            }
            if self.hold_answer.swap(false, Ordering::SeqCst) && !self.hold(&segment) {
                break;
            }
            if (&self.client).write_all(&segment).is_err() {
                break;
            }
        }
        self.end();
    }

    fn note_request(&self, segment: &[u8]) {
        let in_unit = self.in_unit.load(Ordering::SeqCst);
        match segment[kind_at(segment)] {
            MQGET if !in_unit => self.queue.store(number(segment, HANDLE), Ordering::SeqCst),
            MQCMIT | MQBACK => self.in_unit.store(false, Ordering::SeqCst),
            MQDISC => locked(&self.state).disconnected_in_unit += u32::from(in_unit),
            _ => {}
        }
    }

    /// Keeps a segment until the test lets it pass; false: the connection is to end.
    fn hold(self: &Arc<Self>, segment: &[u8]) -> bool {
        let (pass, passed) = channel();
        locked(&self.state).held = Some(Held::new(self, segment, pass));
        passed.recv().is_ok()
    }

    fn rewrite(&self, kind: u8, completion: u32, reason: u32) {
        *self.rewrite.lock().unwrap_or_else(PoisonError::into_inner) = Some((kind, completion, reason));
    }

    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// Where the type of a segment is.
fn kind_at(segment: &[u8]) -> usize {
    TYPE[usize::from(segment[3] == b'M')]
}

/// A number of the API header, in the order that the segment announces.
fn number(segment: &[u8], field: usize) -> u32 {
    let wide = usize::from(segment[3] == b'M');
    let at = HEADER[wide] + field;
    let bytes = segment.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    if segment[TYPE[wide] - 1] == 2 { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
}

fn set_number(segment: &mut [u8], field: usize, value: u32) {
    let wide = usize::from(segment[3] == b'M');
    let at = HEADER[wide] + field;
    let little = segment[TYPE[wide] - 1] == 2;
    segment[at..at + 4].copy_from_slice(&if little { value.to_le_bytes() } else { value.to_be_bytes() });
}

/// The next segment; none at the end, or when it is none.
fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
    if !(HEADER[0]..=64 << 20).contains(&length) {
        return None;
    }
    let mut segment = vec![0; length];
    segment[..8].copy_from_slice(&head);
    stream.read_exact(&mut segment[8..]).ok()?;
    Some(segment)
}
