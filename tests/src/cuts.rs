//! A relay in front of a queue manager that knows where a segment of the MQ protocol ends, and does one thing wrong when it is
//! told to: cuts before the n-th request, swallows its answer and cuts, backs out what was to be committed and says so, says
//! that what was committed was not, or says nothing more.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

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
    /// The n-th MQCMIT never gets there, and nothing is said.
    Keep(u32),
    /// The n-th MQCMIT is done, and nothing is said.
    Hush(u32),
}

/// Completion and reason codes of the answers (mq-objects.md 2).
const MQCC_WARNING: u32 = 1;
const MQCC_FAILED: u32 = 2;
const MQRC_BACKED_OUT: u32 = 2003;
const MQRC_UNEXPECTED_ERROR: u32 = 2195;

/// MQCMIT, MQBACK, and the answer to MQCMIT (mq-wire.md 4.3).
const MQCMIT: u8 = 0x8A;
const MQBACK: u8 = 0x8B;
const MQCMIT_REPLY: u8 = 0x9A;
const MQBACK_REPLY: u8 = 0x9B;
/// A segment's type stands behind id, length and byte order; in a TSHM behind two more ids (mq-wire.md 2.1).
const TYPE: [usize; 2] = [9, 17];
const HEADER: [usize; 2] = [28, 36];

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    /// What goes wrong after that, counted from there.
    then: Option<Fault>,
    requests: u32,
    commits: u32,
    done: bool,
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
    Keep,
    Hush,
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
                    let _ = serve(&client, &server, &shared);
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
        *locked(&self.state) = State { fault: Some(fault), then, ..State::default() };
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
    fn request(&mut self, kind: u8) -> Todo {
        self.requests += 1;
        self.commits += u32::from(kind == MQCMIT);
        let (requests, commits) = (self.requests, self.commits);
        let todo = match self.fault {
            Some(Fault::CutBefore(n)) if n == requests => Todo::Cut,
            Some(Fault::CutAfter(n)) if n == requests => Todo::Swallow,
            Some(Fault::BackOut(n)) if kind == MQCMIT && n == commits => Todo::BackOut,
            Some(Fault::Deny(n)) if kind == MQCMIT && n == commits => Todo::Deny,
            Some(Fault::Keep(n)) if kind == MQCMIT && n == commits => Todo::Keep,
            Some(Fault::Hush(n)) if kind == MQCMIT && n == commits => Todo::Hush,
            _ => return Todo::Pass,
        };
        *self = Self { fault: self.then, done: self.then.is_none(), ..Self::default() };
        todo
    }
}

fn serve(client: &TcpStream, server: &TcpStream, state: &Arc<Mutex<State>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (swallow, hush, rewrite) = <(Arc<AtomicBool>, Arc<AtomicBool>, Arc<Rewrite>)>::default();
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let (state, swallows, rewrites) = (Arc::clone(state), Arc::clone(&swallow), Arc::clone(&rewrite));
    let hushes = Arc::clone(&hush);
    thread::spawn(move || {
        while let Some(mut segment) = read(&mut from_client) {
            let at = TYPE[usize::from(segment[3] == b'M')];
            match locked(&state).request(segment[at]) {
                Todo::Pass => {}
                Todo::Cut => break,
                Todo::Keep => continue,
                Todo::Swallow => swallows.store(true, Ordering::SeqCst),
                Todo::Hush => hushes.store(true, Ordering::SeqCst),
                Todo::BackOut => {
                    segment[at] = MQBACK;
                    set(&rewrites, (MQBACK_REPLY, MQCC_WARNING, MQRC_BACKED_OUT));
                }
                Todo::Deny => set(&rewrites, (MQCMIT_REPLY, MQCC_FAILED, MQRC_UNEXPECTED_ERROR)),
            }
            if to_server.write_all(&segment).is_err() {
                break;
            }
        }
        end(&from_client, &to_server);
    });
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        while let Some(mut segment) = read(&mut from_server) {
            if swallow.load(Ordering::SeqCst) {
                break;
            }
            if hush.load(Ordering::SeqCst) {
                continue;
            }
            let wide = usize::from(segment[3] == b'M');
            let mut rewrite = rewrite.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, completion, reason)) = rewrite.take_if(|(kind, ..)| *kind == segment[TYPE[wide]])
            {
                segment[TYPE[wide]] = MQCMIT_REPLY;
                // The API header: length, completion code, reason; integers in the order that the segment announces.
                let (cc, rc) = (HEADER[wide] + 4, HEADER[wide] + 8);
                let little = segment[TYPE[wide] - 1] == 2;
                let bytes = |value: u32| if little { value.to_le_bytes() } else { value.to_be_bytes() };
                segment[cc..cc + 4].copy_from_slice(&bytes(completion));
                segment[rc..rc + 4].copy_from_slice(&bytes(reason));
            }
            drop(rewrite);
            if to_client.write_all(&segment).is_err() {
                break;
            }
        }
        end(&from_server, &to_client);
    });
    Ok(())
}

fn set(rewrite: &Rewrite, how: (u8, u32, u32)) {
    *rewrite.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
}

fn end(one: &TcpStream, other: &TcpStream) {
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
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
