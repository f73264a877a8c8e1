//! A relay in front of a listener that writes all that passes into a capture file.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::pcap::{Capture, Flow, Sender};

/// Bytes passed on at once.
const CHUNK: usize = 64 * 1024;

/// A relay that runs as long as the test does.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    capture: Arc<Mutex<Capture>>,
    passed: Arc<Passed>,
}

/// Bytes that went through, by who sent them.
#[derive(Debug, Default)]
struct Passed {
    client: AtomicUsize,
    server: AtomicUsize,
}

impl Relay {
    /// Listens on a port of its own, and passes on to `target`.
    pub fn start(target: SocketAddr, file: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let capture = Arc::new(Mutex::new(Capture::create(file)?));
        let shared = Arc::clone(&capture);
        let passed = Arc::new(Passed::default());
        let counted = Arc::clone(&passed);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A target that refuses ends the connection, as it would without the relay.
                if let Ok(server) = TcpStream::connect(target) {
                    let _ = pass(client, server, &shared, &counted);
                }
            }
        });
        Ok(Self { address, capture, passed })
    }

    /// Where clients connect; the port that the capture shows.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Bytes that went through so far: from clients, and to them.
    pub fn bytes(&self) -> (usize, usize) {
        (self.passed.client.load(Ordering::Relaxed), self.passed.server.load(Ordering::Relaxed))
    }

    /// Everything so far is in the file, and nothing more is written while the guard is held.
    pub fn flushed<T>(&self, read: impl FnOnce() -> T) -> T {
        let _guard = self.capture.lock().expect("no relay thread panics");
        read()
    }
}

fn pass(
    client: TcpStream,
    server: TcpStream,
    capture: &Arc<Mutex<Capture>>,
    passed: &Arc<Passed>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (client.peer_addr()?, client.local_addr()?) else {
        return Err(io::Error::other("the relay is for IPv4"));
    };
    let flow = Arc::new(Mutex::new(begin(capture, from, to)?));
    for (reader, writer, sender) in
        [(client.try_clone()?, server.try_clone()?, Sender::Client), (server, client, Sender::Server)]
    {
        let (capture, flow, passed) = (Arc::clone(capture), Arc::clone(&flow), Arc::clone(passed));
        thread::spawn(move || pump(reader, writer, sender, &flow, &capture, &passed));
    }
    Ok(())
}

fn begin(capture: &Mutex<Capture>, from: SocketAddrV4, to: SocketAddrV4) -> io::Result<Flow> {
    capture.lock().expect("no relay thread panics").connected(from, to)
}

/// Passes one direction on. What was read is in the capture before it is passed on, so that the order there is true.
fn pump(
    mut from: TcpStream,
    mut to: TcpStream,
    sender: Sender,
    flow: &Mutex<Flow>,
    capture: &Mutex<Capture>,
    passed: &Passed,
) {
    let counter = match sender {
        Sender::Client => &passed.client,
        Sender::Server => &passed.server,
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        let written = {
            let mut capture = capture.lock().expect("no relay thread panics");
            let mut flow = flow.lock().expect("no relay thread panics");
            counter.fetch_add(read, Ordering::Relaxed);
            match read {
                0 => capture.ended(&mut flow, sender),
                _ => capture.sent(&mut flow, sender, &buffer[..read]),
            }
        };
        if read == 0 || written.is_err() || to.write_all(&buffer[..read]).is_err() {
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
    }
}
