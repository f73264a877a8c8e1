//! Recorded conversations of IBM's classes, played step by step against the service, and damaged at one step: lengths
//! and counts that lie, handles and conversations of others, segments cut, doubled, swapped or sent byte by byte. The
//! handshake is played in full, so that the damage arrives where calls are decoded and executed; `bad_input` has what
//! is not even a conversation.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use integration_tests::mq::{Mq, persistent};
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::wait;
use mq_client::ConnectOptions;
use mq_wire::{OpenOptions, PutOptions};
use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use crate::GATEWAY;

/// Level 12 without shared conversations, and level 13 with several on the socket.
const RECORDINGS: [&str; 2] = ["base-fap12-tsh.jsonl", "jms-syncget.jsonl"];
/// That of the second; an initial data above it would be refused.
const CONFIG: &str = "[queue_manager]\nfap_level_max = 13\n";
/// The good client's own queue; and messages as long as the recorded channel allows.
const SCRIPT: &str = "DEFINE QLOCAL(APP.GOOD)\n\
                      ALTER CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) MAXMSGL(104857600)\n";
/// Damaged conversations.
const CONVERSATIONS: usize = 480;
/// Of them at the same time.
const AT_ONCE: usize = 6;
/// How much more memory they may leave behind.
const MORE_KIB_MAX: u64 = 8 * 1024;
/// What must come, comes within this.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the answer to a damaged step is waited for; it may rightly never come.
const IMPATIENCE: Duration = Duration::from_millis(30);

/// What each recorded MQGET waits.
const WAIT_MS: u32 = 1;

const INITIAL_DATA: u8 = 0x01;
const STATUS: u8 = 0x05;
const NOTIFICATION: u8 = 0x0F;
const MQDISC_REPLY: u8 = 0x92;
/// Calls; their replies are 16 higher (mq-wire 2.2).
const CALLS: Range<u8> = 0x81..0x90;
/// Calls that name a handle, without SPI: MQCLOSE to MQINQ.
const WITH_HANDLE: Range<u8> = 0x84..0x8A;
/// ControlFlags1: the first and the last segment of a call (mq-wire 1.3).
const FIRST: u8 = 0x10;
const LAST: u8 = 0x20;

/// Numbers that lengths, counts, offsets and handles should never be trusted with.
const EXTREMES: [u32; 12] = [
    0,
    1,
    3,
    27,
    0x7FFF,
    0x1_0000,
    0x00FF_FFFF,
    0x0640_0001,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

/// A segment of the client, and the answer that it waits for.
#[derive(Debug, Clone)]
struct Step {
    bytes: Vec<u8>,
    answer: Option<u8>,
    /// The handle that the recorded answer gave.
    opened: Option<u32>,
}

/// How the bytes of a step go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    Whole,
    /// In pieces of this length, each in a packet of its own.
    Of(usize),
}

/// Where the part of a segment begins that is the same in all of its headers (mq-wire 1.1, 1.2).
fn common(segment: &[u8]) -> usize {
    if segment.starts_with(b"TSH ") { 8 } else { 16 }
}

fn kind(segment: &[u8]) -> Option<u8> {
    segment.get(common(segment) + 1).copied()
}

fn has(segment: &[u8], flag: u8) -> bool {
    segment.get(common(segment) + 2).is_some_and(|flags| flags & flag != 0)
}

/// The conversation of a shared socket; nothing on others.
fn conversation(segment: &[u8]) -> Vec<u8> {
    segment[8..common(segment)].iter().copied().take(4).collect()
}

/// Where the body begins.
fn body(segment: &[u8]) -> usize {
    common(segment) + 20
}

/// The ObjectHandle of the API header (mq-wire 4.1), as the bytes are: both ends here are little-endian.
fn handle(segment: &[u8]) -> Option<u32> {
    let at = body(segment) + 12;
    segment.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
}

fn set_u32(segment: &mut [u8], at: usize, value: [u8; 4]) {
    if let Some(field) = segment.get_mut(at..at + 4) {
        field.copy_from_slice(&value);
    }
}

/// The SegmentLength says what is there.
fn fit_length(segment: &mut [u8]) {
    let length = u32::try_from(segment.len()).unwrap();
    set_u32(segment, 4, length.to_be_bytes());
}

/// A recording as steps, up to where messages begin to come unasked. Calls whose first segment was too long to be
/// recorded are left out.
fn steps(recording: &str) -> Vec<Step> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/wire").join(recording);
    let text = std::fs::read_to_string(file).unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut left_out = false;
    for line in text.lines() {
        let segment: serde_json::Value = serde_json::from_str(line).unwrap();
        let hex = segment["hex"].as_str().unwrap().as_bytes().chunks(2);
        let mut bytes: Vec<u8> =
            hex.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
        let kind = kind(&bytes).unwrap();
        if kind == NOTIFICATION {
            break;
        }
        if segment["dir"] == "c>s" {
            if let Some(gmo) = bytes.windows(4).position(|id| id == b"GMO ") {
                // WaitInterval: the message that came then does not come now (mq-wire 5.5).
                set_u32(&mut bytes, gmo + 12, WAIT_MS.to_le_bytes());
            }
            let goes_on = steps
                .last()
                .is_some_and(|step: &Step| self::kind(&step.bytes) == Some(kind) && !has(&step.bytes, LAST));
            left_out = CALLS.contains(&kind) && !has(&bytes, FIRST) && !goes_on;
            if !left_out {
                // An answer that was too long to be recorded comes all the same.
                let answer = (CALLS.contains(&kind) && has(&bytes, LAST)).then_some(kind + 0x10);
                steps.push(Step { bytes, answer, opened: None });
            }
        } else if let Some(step) = steps.last_mut().filter(|_| !left_out) {
            let asked = self::kind(&step.bytes).unwrap();
            let is_answer = kind == asked + 0x10
                || (asked == INITIAL_DATA && kind == INITIAL_DATA)
                || (kind == STATUS && !CALLS.contains(&asked));
            if is_answer {
                step.answer = Some(kind);
                step.opened = handle(&bytes).filter(|_| matches!(asked, 0x83 | 0x8C));
            }
        }
    }
    assert!(steps.len() > 30, "{recording}: {} steps", steps.len());
    steps
}

/// What came of a conversation.
#[derive(Debug, Default)]
struct Played {
    /// Segments that the service sent.
    answers: usize,
    /// MQDISC that were answered: all before them was in order.
    disconnected: usize,
}

/// One socket that plays.
struct Player {
    stream: TcpStream,
    received: Vec<u8>,
    /// By conversation and handle of the recording: the handle that the service gave.
    handles: BTreeMap<(Vec<u8>, u32), u32>,
    played: Played,
}

impl Player {
    fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::new(), handles: BTreeMap::new(), played: Played::default() }
    }

    /// Sends a step, with the handle that the service gave; false if the service has ended the conversation.
    fn send(&mut self, bytes: &[u8], pieces: Pieces) -> bool {
        let mut bytes = bytes.to_vec();
        let named = handle(&bytes).filter(|_| kind(&bytes).is_some_and(|kind| WITH_HANDLE.contains(&kind)));
        if let Some(given) = named.and_then(|named| self.handles.get(&(conversation(&bytes), named))) {
            let at = body(&bytes) + 12;
            set_u32(&mut bytes, at, given.to_le_bytes());
        }
        match pieces {
            Pieces::Whole => self.stream.write_all(&bytes).is_ok(),
            Pieces::Of(length) => bytes.chunks(length).all(|piece| self.stream.write_all(piece).is_ok()),
        }
    }

    /// Reads until the answer to a step has come, or nothing comes any more.
    fn answered(&mut self, step: &Step, patience: Duration) -> bool {
        let Some(wanted) = step.answer else { return true };
        self.stream.set_read_timeout(Some(patience)).unwrap();
        while let Some(segment) = self.segment() {
            self.played.answers += 1;
            self.played.disconnected += usize::from(kind(&segment) == Some(MQDISC_REPLY));
            if kind(&segment) == Some(wanted)
                && (has(&segment, LAST) || !CALLS.contains(&(wanted.wrapping_sub(0x10))))
            {
                if let Some((recorded, given)) = step.opened.zip(handle(&segment)) {
                    self.handles.insert((conversation(&step.bytes), recorded), given);
                }
                return true;
            }
        }
        false
    }

    fn segment(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 8192];
        loop {
            if let Some(length) = self.received.get(4..8) {
                let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
                assert!((28..=1 << 16).contains(&length), "the service sends a segment of {length} bytes");
                if self.received.len() >= length {
                    return Some(self.received.drain(..length).collect());
                }
            }
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.received.extend(&buffer[..count]),
            }
        }
    }

    /// Ends its own side, and waits until the service has ended too.
    fn end(mut self) -> Played {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut buffer = [0; 8192];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.played,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return self.played,
                Ok(_) => {}
                Err(error) => panic!("the service does not end the conversation: {error}"),
            }
        }
    }
}

/// Plays a conversation as it was recorded, in pieces.
fn play(to: SocketAddr, steps: &[Step], pieces: Pieces) -> Played {
    let mut player = Player::connect(to);
    for (number, step) in steps.iter().enumerate() {
        let sent = player.send(&step.bytes, pieces);
        assert!(sent && player.answered(step, PATIENCE), "{pieces:?}: no answer to step {number}");
    }
    player.end()
}

/// Plays a conversation up to a step, then that step damaged, then the rest as far as the service takes it.
fn play_damaged(to: SocketAddr, steps: &[Step], rng: &mut StdRng) -> Played {
    let chosen = rng.random_range(0..steps.len());
    let (damaged, last) = damaged(steps, chosen, rng);
    let pieces =
        if rng.random_range(0..8) == 0 { Pieces::Of(rng.random_range(1..64)) } else { Pieces::Whole };
    let mut player = Player::connect(to);
    for step in &steps[..chosen] {
        // A message that others took away is no reason to stop.
        if !player.send(&step.bytes, Pieces::Whole) || !player.answered(step, PATIENCE) {
            return player.end();
        }
    }
    for bytes in &damaged {
        player.send(bytes, pieces);
    }
    player.answered(&steps[chosen], IMPATIENCE);
    if !last {
        for step in &steps[chosen + 1..] {
            if !player.send(&step.bytes, Pieces::Whole) || !player.answered(step, IMPATIENCE) {
                break;
            }
        }
    }
    player.end()
}

/// What is sent in place of a step, and whether nothing can come after it.
fn damaged(steps: &[Step], chosen: usize, rng: &mut StdRng) -> (Vec<Vec<u8>>, bool) {
    let mut bytes = steps[chosen].bytes.clone();
    let common = common(&bytes);
    let start = body(&bytes);
    let extreme = EXTREMES[rng.random_range(0..EXTREMES.len())];
    match rng.random_range(0..14) {
        // A segment that never ends.
        0 => {
            bytes.truncate(rng.random_range(0..bytes.len()));
            return (vec![bytes], true);
        }
        // A shorter or longer body than its structures need, in a segment that is right.
        1 => {
            bytes.truncate(rng.random_range(start.min(bytes.len())..=bytes.len()));
            fit_length(&mut bytes);
        }
        2 => {
            let mut more = vec![0; rng.random_range(1..1000)];
            rng.fill_bytes(&mut more);
            bytes.extend(more);
            fit_length(&mut bytes);
        }
        3 => set_u32(&mut bytes, 4, extreme.to_be_bytes()),
        // A field of the body: a length, a count, an offset, a version, options, a handle.
        4..=7 => {
            let fields = (bytes.len() - start.min(bytes.len())) / 4;
            if fields > 0 {
                let at = start + 4 * rng.random_range(0..fields);
                set_u32(&mut bytes, at, extreme.to_le_bytes());
            }
        }
        8 => {
            for _ in 0..rng.random_range(1..8) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = rng.random();
            }
        }
        // Another conversation, another request.
        9 => {
            let at =
                if common == 8 { 4 + 4 * rng.random_range(1..6) } else { 8 + 4 * rng.random_range(0..2) };
            set_u32(&mut bytes, at, rng.random_range(0_u32..8).to_be_bytes());
        }
        // Another's handle.
        10 => set_u32(&mut bytes, start + 12, rng.random_range(0_u32..24).to_le_bytes()),
        // Another type, other control flags.
        11 => {
            let at = common + rng.random_range(1..3);
            bytes[at] = rng.random();
        }
        12 => return (vec![bytes.clone(), bytes], false),
        _ => {
            let other = steps[rng.random_range(0..steps.len())].bytes.clone();
            return (vec![other, bytes], false);
        }
    }
    (vec![bytes], false)
}

/// One round after the other on its own queue until told to stop; each must work.
fn good_rounds(options: &ConnectOptions, stop: &AtomicBool) -> usize {
    let mut app = Mq::connect(options).unwrap();
    let handle = app.open("APP.GOOD", "", OpenOptions::OUTPUT | OpenOptions::INPUT_SHARED).unwrap();
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = format!("round {rounds}");
        app.put(handle, persistent(), PutOptions::SYNCPOINT, text.clone()).unwrap();
        app.commit().unwrap();
        assert_eq!(app.get_one(handle, Duration::ZERO).data, text);
        rounds += 1;
    }
    rounds
}

#[test]
fn bad_calls_harm_nobody_else() {
    let seed = Seed::new("bad_calls");
    let mut service = Service::prepare(GATEWAY).with_config(CONFIG).with(&["--mqsc", "good.mqsc"]);
    std::fs::write(service.folder().join("good.mqsc"), SCRIPT).unwrap();
    service.restart();
    let options = service.connect_options("DEV.APP.SVRCONN");
    let recordings = RECORDINGS.map(steps);
    let to = service.mq();
    for (name, steps) in RECORDINGS.iter().zip(&recordings) {
        // However it is cut up, and byte by byte, it is the same conversation.
        for pieces in [Pieces::Whole, Pieces::Of(1), Pieces::Of(7), Pieces::Of(29)] {
            let played = play(to, steps, pieces);
            let wanted = steps.iter().filter(|step| step.answer == Some(MQDISC_REPLY)).count();
            assert!(wanted > 0 && played.disconnected == wanted, "{name}, {pieces:?}: {played:?}");
        }
    }

    let next = AtomicUsize::new(0);
    let answers = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let all = |until: usize| {
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(number) = claim(&next, until) {
                        // Each has its own numbers: threads do not change what a seed repeats.
                        let mut rng = seed.rng_of(number as u64);
                        let played = play_damaged(to, &recordings[number % RECORDINGS.len()], &mut rng);
                        answers.fetch_add(played.answers, Ordering::Relaxed);
                        finished.fetch_add(usize::from(played.disconnected > 0), Ordering::Relaxed);
                    }
                });
            }
        });
    };
    // What is grown once, by the first that come, is no growth.
    all(CONVERSATIONS / 6);
    let before = service.resident_kib();
    let stop = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        let good = scope.spawn(|| good_rounds(&options, &stop));
        all(CONVERSATIONS);
        stop.store(true, Ordering::Relaxed);
        good.join().unwrap()
    });
    assert!(rounds > 0, "the good client did nothing meanwhile");

    wait::until("no connection", PATIENCE, || (service.status()["mq_connections"] == 0).then_some(()));
    let mut app = Mq::connect(&options).unwrap();
    app.put_one("APP.GOOD", "", "afterwards").unwrap();
    assert_eq!(app.drain("APP.GOOD").len(), 1);
    let after = service.resident_kib();
    eprintln!(
        "bad_calls: {} answers, {} of {CONVERSATIONS} went on to MQDISC, {rounds} good rounds; \
         memory {before} KiB before, {after} KiB after",
        answers.into_inner(),
        finished.into_inner()
    );
    assert!(after <= before + MORE_KIB_MAX, "{before} KiB before, {after} KiB after");
    let log = service.log();
    assert!(!log.contains("panicked"), "{log}");
}

fn claim(next: &AtomicUsize, until: usize) -> Option<usize> {
    next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |number| (number < until).then_some(number + 1))
        .ok()
}
