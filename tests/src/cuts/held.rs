//! A request or an answer that a relay keeps: what becomes of it, and of the connection around it, is the test's word.

use std::io::{self, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::{Connection, HANDLE, HEADER, MQCLOSE, kind_at, set_number};
use crate::wait;

/// A queue manager does what it was told within this.
const TIME: Duration = Duration::from_secs(30);

/// Something that is held. When it is dropped both ends lose their connection.
#[derive(Debug)]
pub struct Held {
    connection: Arc<Connection>,
    segment: Vec<u8>,
    pass: Sender<()>,
}

impl Held {
    pub(super) fn new(connection: &Arc<Connection>, segment: &[u8], pass: Sender<()>) -> Self {
        Self { connection: Arc::clone(connection), segment: segment.to_owned(), pass }
    }

    /// All goes on.
    pub fn pass(self) {
        // A connection that is gone meanwhile goes nowhere.
        let _ = self.pass.send(());
    }

    /// The client loses its connection, and the server does not learn of it.
    pub fn cut_client(&self) {
        self.connection.alone.store(true, Ordering::SeqCst);
        let _ = self.connection.client.shutdown(Shutdown::Both);
    }

    /// The server closes the queue that messages were got from, as one does that closes handles before it ends the work.
    pub fn close_queue(&self) -> io::Result<()> {
        self.connection.alone.store(true, Ordering::SeqCst);
        let header = HEADER[usize::from(self.segment[3] == b'M')];
        // A transport header like that of the request, the API header with the handle, and no options (mq-wire.md 4.2, 4.5).
        let mut close = self.segment[..header].to_owned();
        close.resize(header + 20, 0);
        let length = u32::try_from(close.len()).expect("it is short");
        close[kind_at(&self.segment)] = MQCLOSE;
        close[4..8].copy_from_slice(&length.to_be_bytes());
        close[header..header + 4].copy_from_slice(&length.to_be_bytes());
        set_number(&mut close, HANDLE, self.connection.queue.load(Ordering::SeqCst));
        (&self.connection.server).write_all(&close)
    }

    /// The request is done, although the client has gone; waits until it is.
    #[track_caller]
    pub fn finish_alone(self) {
        self.cut_client();
        let connection = Arc::clone(&self.connection);
        self.pass();
        wait::until("the end of an old unit of work", TIME, || {
            connection.ended.load(Ordering::SeqCst).then_some(())
        });
    }
}
