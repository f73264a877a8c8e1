//! A relay through which everything arrives later: a network with latency, for benches.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::wait;

/// Bytes passed on at once.
const CHUNK: usize = 64 * 1024;

/// Listens on a port of its own until the process ends, and passes on to `target`, half of `round_trip` later each way.
pub fn delayed(target: SocketAddr, round_trip: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A target that refuses ends the connection, as it would without the relay.
            if let Ok(server) = TcpStream::connect(target) {
                let _ = pass(&client, &server, round_trip / 2);
            }
        }
    });
    Ok(address)
}

fn pass(client: &TcpStream, server: &TcpStream, delay: Duration) -> io::Result<()> {
    for (from, to) in [(client, server), (server, client)] {
        to.set_nodelay(true)?;
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
        // What is under way does not hold up what comes behind it.
        thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            while let Ok(length @ 1..) = from.read(&mut chunk) {
                if sender.send((Instant::now() + delay, chunk[..length].to_vec())).is_err() {
                    break;
                }
            }
        });
        thread::spawn(move || {
            for (due, bytes) in receiver {
                wait::pause(due.saturating_duration_since(Instant::now()));
                if to.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
