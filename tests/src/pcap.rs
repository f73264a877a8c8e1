//! Writes what went over a connection as a capture file, with Ethernet, IP and TCP headers of its own. No rights and
//! no interface are needed for it, and nothing is missing in it that a busy machine would have dropped.
//!
//! The format: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// LINKTYPE_ETHERNET.
const ETHERNET: u32 = 1;
/// The most bytes that a record may hold.
const SNAPLEN: u32 = 65_535;
/// Bytes of a TCP segment at most: what an Ethernet takes.
const SEGMENT: usize = 1460;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// A capture file.
#[derive(Debug)]
pub struct Capture {
    file: BufWriter<File>,
}

/// One connection in a capture.
#[derive(Debug, Clone)]
pub struct Flow {
    client: SocketAddrV4,
    server: SocketAddrV4,
    /// The next sequence number of client and server.
    next: [u32; 2],
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The one that connected.
    Client,
    /// The other.
    Server,
}

impl Capture {
    /// A new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&0xA1B2_C3D4_u32.to_le_bytes())?;
        file.write_all(&2_u16.to_le_bytes())?;
        file.write_all(&4_u16.to_le_bytes())?;
        for word in [0, 0, SNAPLEN, ETHERNET] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { file })
    }

    /// A connection begins: three segments.
    pub fn connected(&mut self, client: SocketAddrV4, server: SocketAddrV4) -> io::Result<Flow> {
        let mut flow = Flow { client, server, next: [1000, 2000] };
        self.segment(&mut flow, Sender::Client, SYN, &[])?;
        self.segment(&mut flow, Sender::Server, SYN | ACK, &[])?;
        self.segment(&mut flow, Sender::Client, ACK, &[])?;
        Ok(flow)
    }

    /// Bytes were sent.
    pub fn sent(&mut self, flow: &mut Flow, sender: Sender, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(SEGMENT).try_for_each(|chunk| self.segment(flow, sender, PSH | ACK, chunk))
    }

    /// One side has ended.
    pub fn ended(&mut self, flow: &mut Flow, sender: Sender) -> io::Result<()> {
        self.segment(flow, sender, FIN | ACK, &[])?;
        self.file.flush()
    }

    fn segment(&mut self, flow: &mut Flow, sender: Sender, flags: u8, payload: &[u8]) -> io::Result<()> {
        let (from, to, own, other) = match sender {
            Sender::Client => (flow.client, flow.server, 0, 1),
            Sender::Server => (flow.server, flow.client, 1, 0),
        };
        let acknowledged = if flags & ACK == 0 { 0 } else { flow.next[other] };
        let tcp = tcp_header(from, to, flow.next[own], acknowledged, flags);
        let length = 20 + tcp.len() + payload.len();
        let ip = ip_header(*from.ip(), *to.ip(), u16::try_from(length).map_err(io::Error::other)?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let captured = u32::try_from(14 + length).map_err(io::Error::other)?;
        let seconds = u32::try_from(now.as_secs()).map_err(io::Error::other)?;
        for word in [seconds, now.subsec_micros(), captured, captured] {
            self.file.write_all(&word.to_le_bytes())?;
        }
        // No addresses below IP; the type is IPv4.
        self.file.write_all(&[0; 12])?;
        self.file.write_all(&[0x08, 0x00])?;
        self.file.write_all(&ip)?;
        self.file.write_all(&tcp)?;
        self.file.write_all(payload)?;
        let counted =
            u32::try_from(payload.len()).map_err(io::Error::other)? + u32::from(flags & (SYN | FIN) != 0);
        flow.next[own] = flow.next[own].wrapping_add(counted);
        Ok(())
    }
}

/// The checksum of TCP is left out (0): nothing looks at it by default.
fn tcp_header(from: SocketAddrV4, to: SocketAddrV4, sequence: u32, acknowledged: u32, flags: u8) -> [u8; 20] {
    let mut header = [0; 20];
    header[0..2].copy_from_slice(&from.port().to_be_bytes());
    header[2..4].copy_from_slice(&to.port().to_be_bytes());
    header[4..8].copy_from_slice(&sequence.to_be_bytes());
    header[8..12].copy_from_slice(&acknowledged.to_be_bytes());
    header[12] = 5 << 4;
    header[13] = flags;
    header[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
    header
}

fn ip_header(from: Ipv4Addr, to: Ipv4Addr, length: u16) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[6] = 0x40;
    header[8] = 64;
    header[9] = 6;
    header[12..16].copy_from_slice(&from.octets());
    header[16..20].copy_from_slice(&to.octets());
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xFFFF) + (folded >> 16)).unwrap_or(0);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_ip_adds_up() {
        let header = ip_header(Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(10, 1, 2, 3), 1500);
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
    }

    #[test]
    fn a_capture_has_a_header_and_a_record_for_each_segment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcap");
        let mut capture = Capture::create(&path).unwrap();
        let [client, server] = [5000, 1414].map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        let mut flow = capture.connected(client, server).unwrap();
        capture.sent(&mut flow, Sender::Client, &[7; 2000]).unwrap();
        capture.ended(&mut flow, Sender::Server).unwrap();
        // Three to connect, two with data, one to end.
        assert_eq!(std::fs::read(&path).unwrap().len(), 24 + 6 * (16 + 54) + 2000);
        assert_eq!(flow.next, [1000 + 1 + 2000, 2000 + 1 + 1]);
    }
}
