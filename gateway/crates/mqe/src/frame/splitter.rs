//! Cuts a stream of bytes into frames. Bounded: a frame is refused by its length before any of it is kept.

use bytes::{Buf, Bytes, BytesMut};

use super::{HEAD_BYTES, LENGTH_BYTES};

/// A length that cannot be right; nothing behind it can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than the limit.
    #[error("a frame of {length} bytes, the limit is {max}")]
    TooLong {
        /// What the length field says.
        length: usize,
        /// The most.
        max: usize,
    },
    /// Shorter than type and request id.
    #[error("a frame of {length} bytes has no type and request id")]
    TooShort {
        /// What the length field says.
        length: usize,
    },
}

/// What has come and is not a whole frame yet.
#[derive(Debug)]
pub struct Splitter {
    buffer: BytesMut,
    frame_bytes_max: usize,
}

impl Splitter {
    /// Frames of at most so many bytes behind the length.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self { buffer: BytesMut::new(), frame_bytes_max }
    }

    /// Another limit from now on.
    pub fn set_frame_bytes_max(&mut self, frame_bytes_max: usize) {
        self.frame_bytes_max = frame_bytes_max;
    }

    /// Takes what came. The owner takes the frames out before it reads more, so that this holds at most one frame
    /// and one read.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Forgets what came.
    pub fn clear(&mut self) {
        self.buffer = BytesMut::new();
    }

    /// Bytes that are kept.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole frame, without its length.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.frame_bytes_max {
            return Err(FrameError::TooLong { length, max: self.frame_bytes_max });
        }
        if length < HEAD_BYTES {
            return Err(FrameError::TooShort { length });
        }
        if self.buffer.len() < LENGTH_BYTES + length {
            return Ok(None);
        }
        self.buffer.advance(LENGTH_BYTES);
        let frame = self.buffer.split_to(length).freeze();
        if self.buffer.is_empty() {
            // An idle connection holds no buffer.
            self.buffer = BytesMut::new();
        }
        Ok(Some(frame))
    }
}
