//! A proxy in front of the gateway that cuts connections at a chosen byte, in either direction, also between the last
//! byte of a request and the first of its answer.
//!
//! Which cut a connection gets follows from the seed and the connection's number alone.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time;

/// Bytes passed on at once.
const CHUNK: usize = 16 * 1024;
/// When a connection cannot be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// When a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Never.
    Never,
    /// When so many bytes have gone to the gateway: the next one is lost.
    Up(u64),
    /// When so many bytes have come from the gateway: the next one is lost.
    Down(u64),
    /// When so many bytes have gone to the gateway and it says something after that: what it says is lost. So a
    /// request arrives and is done, and its answer does not come.
    Answer(u64),
}

impl Cut {
    /// The cut of a connection: all kinds, short connections more often than long ones.
    pub fn of_seed(seed: u64, connection: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ connection.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bytes_max = 1_u64 << random.random_range(0..18);
        let bytes = random.random_range(0..=bytes_max);
        match random.random_range(0..3) {
            0 => Self::Up(bytes),
            1 => Self::Down(bytes),
            _ => Self::Answer(bytes),
        }
    }
}

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    cuts: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a port of its own, and passes on to `gateway`, each connection with the cut that `plan` gives it.
    pub async fn start(gateway: String, plan: impl Fn(u64) -> Cut + Send + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let cuts = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(accept(listener, gateway, plan, Arc::clone(&cuts)));
        Ok(Self { address, cuts, task })
    }

    /// Where devices connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that were cut.
    pub fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, gateway: String, plan: impl Fn(u64) -> Cut, cuts: Arc<AtomicU64>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // Out of descriptors, or gone before it was taken: the device comes again.
                let Ok((device, _)) = accepted else {
                    time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (cut, gateway, cuts) = (plan(number), gateway.clone(), Arc::clone(&cuts));
                number += 1;
                connections.spawn(async move {
                    if let Ok(gateway) = TcpStream::connect(&gateway).await
                        && pass(device, gateway, cut).await.is_ok_and(|was_cut| was_cut)
                    {
                        cuts.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Passes on until one side ends or the cut comes. Whether it came. Both sockets end with it, and what was passed on
/// before is delivered.
async fn pass(mut device: TcpStream, mut gateway: TcpStream, cut: Cut) -> io::Result<bool> {
    device.set_nodelay(true)?;
    gateway.set_nodelay(true)?;
    let (mut up, mut down) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut up_bytes, mut down_bytes) = (0, 0);
    loop {
        let up_left = match cut {
            Cut::Up(at) => left(at, up_bytes),
            Cut::Never | Cut::Down(_) | Cut::Answer(_) => CHUNK,
        };
        let down_left = match cut {
            Cut::Down(at) => left(at, down_bytes),
            Cut::Answer(at) if up_bytes >= at => 0,
            Cut::Never | Cut::Up(_) | Cut::Answer(_) => CHUNK,
        };
        if matches!(cut, Cut::Up(_)) && up_left == 0 || matches!(cut, Cut::Down(_)) && down_left == 0 {
            return Ok(true);
        }
        // While one side takes nothing, nothing is read from the other: the two ends of the protocol always read.
        tokio::select! {
            read = device.read(&mut up[..up_left]) => match read? {
                0 => return Ok(false),
                length => {
                    gateway.write_all(&up[..length]).await?;
                    up_bytes += length as u64;
                }
            },
            read = gateway.read(&mut down) => match read? {
                0 => return Ok(false),
                _ if down_left == 0 => return Ok(true),
                length => {
                    let length = length.min(down_left);
                    device.write_all(&down[..length]).await?;
                    down_bytes += length as u64;
                }
            },
        }
    }
}

fn left(at: u64, passed: u64) -> usize {
    usize::try_from(at - passed).unwrap_or(CHUNK).min(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each side got of 10 bytes from the device and, when they have all come, 10 bytes from the gateway.
    async fn exchange(cut: Cut) -> (usize, usize) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().to_string(), move |_| cut).await.unwrap();
        let gateway = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut got = 0;
            let mut buffer = [0; 64];
            loop {
                match stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return got,
                    Ok(length) => got += length,
                }
                if got == 10 {
                    let _ = stream.write_all(b"0123456789").await;
                }
            }
        });
        let mut device = TcpStream::connect(proxy.address()).await.unwrap();
        let _ = device.write_all(b"abcdefghij").await;
        let mut got = 0;
        let mut buffer = [0; 64];
        while got < 10 {
            match device.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(length) => got += length,
            }
        }
        drop(device);
        (gateway.await.unwrap(), got)
    }

    #[tokio::test]
    async fn cuts_exactly_at_the_byte() {
        assert_eq!(exchange(Cut::Never).await, (10, 10));
        for at in 0..10 {
            assert_eq!(exchange(Cut::Up(at as u64)).await, (at, 0), "up {at}");
            assert_eq!(exchange(Cut::Down(at as u64)).await, (if at == 0 { 0 } else { 10 }, at), "down {at}");
        }
        // All of the request, nothing of the answer.
        assert_eq!(exchange(Cut::Answer(10)).await, (10, 0));
        // The answer that came was not after so many bytes.
        assert_eq!(exchange(Cut::Answer(11)).await, (10, 10));
    }

    #[test]
    fn the_seed_decides() {
        let plan = |seed| (0..100).map(|connection| Cut::of_seed(seed, connection)).collect::<Vec<_>>();
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
        for kind in [Cut::Up(0), Cut::Down(0), Cut::Answer(0)] {
            let is_kind = |cut: &Cut| std::mem::discriminant(cut) == std::mem::discriminant(&kind);
            assert!(plan(7).iter().any(is_kind), "{kind:?}");
        }
    }
}
