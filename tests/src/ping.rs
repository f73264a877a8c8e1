//! What a machine can do at best: bare TCP connections to an echo, for benches to compare with in the same run.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a question and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// What is asked.
    pub question: usize,
    /// What is answered.
    pub answer: usize,
}

/// Who answers every question on every connection, with a thread for each, until the process ends.
pub fn echo(sizes: Sizes) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let (mut question, answer) = (vec![0; sizes.question], vec![0; sizes.answer]);
                stream.set_nodelay(true).ok();
                while stream.read_exact(&mut question).is_ok() && stream.write_all(&answer).is_ok() {}
            });
        }
    });
    address
}

/// A bare connection to an echo.
#[derive(Debug)]
pub struct Ping {
    stream: TcpStream,
    question: Vec<u8>,
    answer: Vec<u8>,
}

impl Ping {
    /// Connects to an [`echo`] of these sizes.
    pub fn connect(address: SocketAddr, sizes: Sizes) -> Self {
        let stream = TcpStream::connect(address).expect("the echo listens");
        stream.set_nodelay(true).expect("it is a socket");
        Self { stream, question: vec![0; sizes.question], answer: vec![0; sizes.answer] }
    }

    /// One question and its answer.
    pub fn round(&mut self) {
        self.stream.write_all(&self.question).expect("the echo reads");
        self.stream.read_exact(&mut self.answer).expect("the echo answers");
    }

    /// As many as there is time for; says how many.
    pub fn rounds(&mut self, span: Duration) -> usize {
        let begun = Instant::now();
        let mut rounds = 0;
        while begun.elapsed() < span {
            self.round();
            rounds += 1;
        }
        rounds
    }
}
