//! What the parts of a simulation share without handing it around: chance, links that were cut, and the trace. All of a
//! simulation runs on one thread, and each thread has at most one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mq_wire::SegmentType;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use turmoil::net::TcpStream;

#[derive(Debug)]
struct Context {
    chance: StdRng,
    /// The sockets that are open, in the order in which they were.
    sockets: Vec<(IpAddr, Weak<Socket>)>,
    /// How often each link was cut.
    cuts: BTreeMap<(IpAddr, IpAddr), u64>,
    trace: Vec<Sent>,
    aim: Option<Aim>,
}

/// A fault that waits for the so many-th send on a link, to come while those bytes are on their way.
#[derive(Debug, Clone, Copy)]
struct Aim {
    link: (IpAddr, IpAddr),
    at: Target,
    sends: u64,
}

/// Which sends count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    All,
    /// Commits of units of work, and the answers to them.
    Commits,
}

impl Target {
    fn is(self, bytes: &[u8]) -> bool {
        let commits = [SegmentType::MQCMIT, SegmentType::MQCMIT_REPLY];
        // Head of a segment (mq-wire.md 2.1): its type is the tenth byte.
        let kind = bytes.get(9).filter(|_| bytes.starts_with(b"TSH"));
        self == Self::All || kind.is_some_and(|kind| commits.iter().any(|commit| commit.0 == *kind))
    }
}

/// None when it was hung up.
pub(super) type Socket = Mutex<Option<TcpStream>>;

/// Bytes that went into a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at: Duration,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) length: usize,
    pub(crate) checksum: u32,
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// A simulation begins on this thread; it ends with this.
#[derive(Debug)]
pub(crate) struct Guard(());

impl Guard {
    pub(crate) fn begin(seed: u64) -> Self {
        let context = Context {
            chance: StdRng::seed_from_u64(seed),
            sockets: Vec::new(),
            cuts: BTreeMap::new(),
            trace: Vec::new(),
            aim: None,
        };
        CONTEXT.with(|current| current.replace(Some(context)));
        Self(())
    }

    /// What was sent.
    pub(crate) fn trace(&self) -> Vec<Sent> {
        with(|context| std::mem::take(&mut context.trace)).unwrap_or_default()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        CONTEXT.with(|current| current.replace(None));
    }
}

fn with<T>(f: impl FnOnce(&mut Context) -> T) -> Option<T> {
    CONTEXT.with(|current| current.borrow_mut().as_mut().map(f))
}

/// A number below `sides`.
pub(crate) fn roll(sides: u64) -> u64 {
    with(|context| context.chance.random_range(0..sides)).unwrap_or_default()
}

/// Up to so many milliseconds.
pub(crate) fn moment(milliseconds_max: u64) -> Duration {
    Duration::from_micros(roll(milliseconds_max * 1000 + 1))
}

/// Fills with bits that the seed decides. False outside of a simulation.
pub(crate) fn random(bytes: &mut [u8]) -> bool {
    with(|context| context.chance.fill_bytes(bytes)).is_some()
}

/// A socket of a host is open.
pub(super) fn opened(host: IpAddr, socket: &Arc<Socket>) {
    with(|context| {
        context.sockets.retain(|(_, socket)| socket.strong_count() > 0);
        context.sockets.push((host, Arc::downgrade(socket)));
    });
}

/// The sockets of a host, in the order in which they were opened.
pub(super) fn sockets(host: IpAddr) -> Vec<Arc<Socket>> {
    let of_host = |context: &mut Context| {
        let of_host = context.sockets.iter().filter(|(local, _)| *local == host);
        of_host.filter_map(|(_, socket)| socket.upgrade()).collect()
    };
    with(of_host).unwrap_or_default()
}

/// Notes that a link was cut: what was connected over it is dead, though nobody has told either end.
pub(crate) fn cut(a: IpAddr, b: IpAddr) {
    with(|context| *context.cuts.entry(link(a, b)).or_default() += 1);
}

/// How often a link was cut.
pub(super) fn cuts(a: IpAddr, b: IpAddr) -> u64 {
    with(|context| context.cuts.get(&link(a, b)).copied()).flatten().unwrap_or_default()
}

/// Aims the next fault at a link: that comes with so many sends.
pub(crate) fn aim(a: IpAddr, b: IpAddr, at: Target, sends: u64) {
    with(|context| context.aim = Some(Aim { link: link(a, b), at, sends }));
}

/// Whether what was aimed at is there. Once.
pub(crate) fn hits() -> bool {
    with(|context| context.aim.take_if(|aim| aim.sends == 0).is_some()).unwrap_or_default()
}

fn link(a: IpAddr, b: IpAddr) -> (IpAddr, IpAddr) {
    (a.min(b), a.max(b))
}

pub(super) fn sent(from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
    let at = turmoil::sim_elapsed().unwrap_or_default();
    let sent = Sent { at, from, to, length: bytes.len(), checksum: crc32fast::hash(bytes) };
    with(|context| {
        context.trace.push(sent);
        let on_link = |aim: &&mut Aim| aim.link == link(from.ip(), to.ip()) && aim.at.is(bytes);
        if let Some(aim) = context.aim.as_mut().filter(on_link) {
            aim.sends = aim.sends.saturating_sub(1);
        }
    });
}
