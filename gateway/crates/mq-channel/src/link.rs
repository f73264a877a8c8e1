//! Bytes to segments to calls and back, the same for both ends: cutting segments out of the stream, joining the
//! segments of a call, and splitting what is too long for one (mq-wire.md 1.5). What a body means is not known here.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApiHeader, ByteOrder, Coding, ControlFlags1, ControlFlags2, Encoding, SegmentHeader, SegmentKind,
    SegmentType, Writer, encode_segment,
};

use crate::error::PeerError;

/// The most bytes of a segment until both ends have agreed on less: what both of them announce (mq-wire.md 1.5).
pub(crate) const SEGMENT_BYTES_MAX: u32 = 32_766;

/// The least MaxTransmissionSize worth talking: the longest structures of any call fit one segment.
pub(crate) const SEGMENT_BYTES_MIN: u32 = 2_048;

/// What a call has beside its data: API header 16, MQOD 400, MQMD 364, MQPMO 176 or MQGMO 112, DataLength 4
/// (mq-wire.md 5.1), or the selectors and values of MQINQ and MQSET; rounded up generously.
pub(crate) const CALL_OVERHEAD_BYTES: usize = 8_192;

/// The most memory that the buffer of an idle connection keeps.
const IDLE_BYTES_MAX: usize = 4_096;

const COMPRESSED: ControlFlags2 =
    ControlFlags2::HDRCOMP.union(ControlFlags2::MSGCOMP).union(ControlFlags2::CSH);

/// Of a call that is too long this much is kept: enough to answer it.
const CUT_BYTES: usize = 1_024;

/// Where a segment belongs: to a connection without sharing, to a shared socket, or to one of its conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    kind: SegmentKind,
    conversation: u32,
    request: u32,
}

impl Address {
    /// A connection without sharing.
    pub(crate) const PLAIN: Self = Self { kind: SegmentKind::Tsh, conversation: 0, request: 0 };
    /// A shared socket as a whole.
    pub(crate) const SOCKET: Self = Self { kind: SegmentKind::Tshc, conversation: 0, request: 0 };

    /// A conversation of a shared socket.
    pub(crate) const fn conversation(conversation: u32, request: u32) -> Self {
        Self { kind: SegmentKind::Tshm, conversation, request }
    }

    /// Where a segment came from: its answer goes there.
    pub(crate) const fn of(header: &SegmentHeader) -> Self {
        Self { kind: header.kind, conversation: header.conversation_id, request: header.request_id }
    }
}

/// What a peer sent: a control segment (type below 0x80), or a call or reply whose segments have been joined.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// The header of its first segment.
    pub(crate) header: SegmentHeader,
    /// The whole body.
    pub(crate) body: Bytes,
    /// It was longer than allowed: this is its beginning.
    pub(crate) is_cut: bool,
    /// Whether `body` owns its memory alone. What is kept for long is copied where it does not, else a message of
    /// a few bytes holds the whole read buffer.
    pub(crate) own_memory: bool,
}

impl Arrived {
    /// A part of the body that may be kept for long.
    pub(crate) fn keep(&self, part: Bytes) -> Bytes {
        if self.own_memory { part } else { Bytes::copy_from_slice(&part) }
    }
}

/// A call of which not all segments have come.
struct Joining {
    header: SegmentHeader,
    whole: BytesMut,
    is_cut: bool,
    /// When its last segment came.
    heard: Instant,
}

/// The reading half. Its `Debug` shows lengths only: passwords pass through here.
pub(crate) struct Inbound {
    buffer: BytesMut,
    segment_bytes_max: usize,
    call_bytes_max: usize,
    /// Whether segments of a shared socket are taken.
    shared: bool,
    /// By conversation; 0 without sharing.
    joining: BTreeMap<u32, Joining>,
}

impl Inbound {
    pub(crate) fn new() -> Self {
        Self {
            buffer: BytesMut::new(),
            segment_bytes_max: SEGMENT_BYTES_MAX as usize,
            call_bytes_max: CALL_OVERHEAD_BYTES,
            shared: false,
            joining: BTreeMap::new(),
        }
    }

    /// What has been agreed counts from the next segment on.
    pub(crate) fn agree(&mut self, segment_bytes_max: u32, call_bytes_max: usize) {
        self.segment_bytes_max = segment_bytes_max as usize;
        self.call_bytes_max = call_bytes_max;
    }

    /// From now on segments of a shared socket are taken, or not.
    pub(crate) fn share(&mut self, shared: bool) {
        self.shared = shared;
    }

    /// Takes what was read. It is looked at by [`Inbound::next`] before more is taken, so that at most one segment is
    /// left over from the last time.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether a segment or call has begun and not ended.
    pub(crate) fn is_partial(&self) -> bool {
        !self.buffer.is_empty() || !self.joining.is_empty()
    }

    /// When something last came of the segment or call that pauses for the longest, if one has begun and not ended.
    /// `heard` is when anything last came: of the calls of a shared socket each has its own time, since those of the
    /// others and heartbeats do not make it go on.
    pub(crate) fn partial_since(&self, heard: Instant) -> Option<Instant> {
        let segment = (!self.buffer.is_empty()).then_some(heard);
        self.joining.values().map(|joining| joining.heard).chain(segment).min()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.buffer = BytesMut::new();
        self.joining = BTreeMap::new();
    }

    /// Forgets half a call of a conversation.
    pub(crate) fn forget(&mut self, conversation: u32) {
        self.joining.remove(&conversation);
    }

    /// The next control segment or whole call, if it is there; a call that is too long is an error.
    pub(crate) fn next(&mut self, now: Instant) -> Result<Option<Arrived>, PeerError> {
        let call_bytes_max = self.call_bytes_max;
        match self.next_within(now, |_| Some(call_bytes_max))? {
            Some(Arrived { header, is_cut: true, .. }) => {
                Err(PeerError::CallLength { segment: header.segment_type, max: call_bytes_max })
            }
            other => Ok(other),
        }
    }

    /// The same, with the most bytes of a call by conversation, none for one that there is not. A call that is too
    /// long comes cut.
    pub(crate) fn next_within(
        &mut self,
        now: Instant,
        call_bytes_max: impl Fn(u32) -> Option<usize>,
    ) -> Result<Option<Arrived>, PeerError> {
        while let Some((header, length)) =
            SegmentHeader::peek(&self.buffer, self.segment_bytes_max).map_err(PeerError::Header)?
        {
            if header.kind != SegmentKind::Tsh && !self.shared {
                return Err(PeerError::HeaderKind);
            }
            if header.control_flags_2.intersects(COMPRESSED) {
                return Err(PeerError::Compressed(header.segment_type));
            }
            if self.buffer.len() < length {
                return Ok(None);
            }
            let mut body = self.buffer.split_to(length);
            let _header = body.split_to(header.length());
            if !header.segment_type.is_call() {
                return Ok(Some(Arrived { header, body: body.freeze(), is_cut: false, own_memory: false }));
            }
            let id = header.conversation_id;
            let max = call_bytes_max(id).ok_or(PeerError::Conversation(id))?;
            if let Some(arrived) = self.join(header, body, max, now)? {
                return Ok(Some(arrived));
            }
        }
        // Most connections are idle most of the time: what a burst needed is given back.
        if self.buffer.is_empty() && self.buffer.capacity() > IDLE_BYTES_MAX {
            self.buffer = BytesMut::new();
        }
        Ok(None)
    }

    fn join(
        &mut self,
        header: SegmentHeader,
        body: BytesMut,
        max: usize,
        now: Instant,
    ) -> Result<Option<Arrived>, PeerError> {
        let flags = header.control_flags_1;
        let (first, last) = (flags.contains(ControlFlags1::FIRST), flags.contains(ControlFlags1::LAST));
        let out_of_order = PeerError::Continuation(header.segment_type);
        match self.joining.entry(header.conversation_id) {
            Entry::Vacant(_) if first && last => {
                let is_cut = body.len() > max;
                Ok(Some(Arrived { header, body: body.freeze(), is_cut, own_memory: false }))
            }
            Entry::Vacant(place) if first => {
                // A copy: what is joined must not hold the read buffer.
                let whole = BytesMut::from(&body[..]);
                place.insert(Joining { header, whole, is_cut: false, heard: now });
                Ok(None)
            }
            Entry::Occupied(mut place) if !first && place.get().header.continues_with(&header) => {
                let joining = place.get_mut();
                joining.heard = now;
                if joining.is_cut || joining.whole.len() + body.len() > max {
                    // The rest goes by, and the call is answered: a client that does not know the limit has done
                    // nothing that would break the channel.
                    joining.is_cut = true;
                    joining.whole = BytesMut::from(&joining.whole[..joining.whole.len().min(CUT_BYTES)]);
                } else {
                    joining.whole.extend_from_slice(&body);
                }
                if !last {
                    return Ok(None);
                }
                let Joining { header, whole, is_cut, .. } = place.remove();
                Ok(Some(Arrived { header, body: whole.freeze(), is_cut, own_memory: true }))
            }
            Entry::Vacant(_) | Entry::Occupied(_) => Err(out_of_order),
        }
    }
}

/// Whether a segment goes on with the call that another one has begun.
trait Continues {
    fn continues_with(&self, next: &SegmentHeader) -> bool;
}

impl Continues for SegmentHeader {
    fn continues_with(&self, next: &SegmentHeader) -> bool {
        self.segment_type == next.segment_type && self.request_id == next.request_id
    }
}

/// A call or reply, ready to be sent.
#[derive(Debug)]
pub(crate) struct Message {
    segment_type: SegmentType,
    /// API header and structures.
    head: Bytes,
    /// Message data, from where it lies.
    data: Bytes,
}

impl Message {
    /// `body` stands between the API header and `data`. ReplyLength becomes the length of the whole and
    /// `reply_room`, what a client expects back beyond it.
    pub(crate) fn new(
        segment_type: SegmentType,
        api: ApiHeader,
        body: &[u8],
        data: Bytes,
        reply_room: u32,
        coding: Coding,
    ) -> Self {
        let whole = ApiHeader::reply_length_of(body.len() + data.len());
        let api = ApiHeader { reply_length: whole.saturating_add(reply_room), ..api };
        let mut head = BytesMut::with_capacity(ApiHeader::LENGTH + body.len());
        api.encode(&mut Writer::new(&mut head, coding));
        head.extend_from_slice(body);
        Self { segment_type, head: head.freeze(), data }
    }
}

/// The writing half. Its `Debug` shows lengths only: passwords pass through here.
pub(crate) struct Outbound {
    coding: Coding,
    segment_bytes_max: usize,
    queue: VecDeque<Bytes>,
}

impl Outbound {
    pub(crate) fn new(coding: Coding) -> Self {
        Self { coding, segment_bytes_max: SEGMENT_BYTES_MAX as usize, queue: VecDeque::new() }
    }

    /// How the fields of what is sent are coded.
    pub(crate) fn coding(&self) -> Coding {
        self.coding
    }

    /// From now on in another coding: a client takes over that of the queue manager.
    pub(crate) fn set_coding(&mut self, coding: Coding) {
        self.coding = coding;
    }

    /// What has been agreed counts from the next call on.
    pub(crate) fn agree(&mut self, segment_bytes_max: u32) {
        self.segment_bytes_max = segment_bytes_max as usize;
    }

    /// The next bytes to send.
    pub(crate) fn poll(&mut self) -> Option<Bytes> {
        self.queue.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends a control segment.
    pub(crate) fn control(
        &mut self,
        to: Address,
        segment_type: SegmentType,
        flags: ControlFlags1,
        body: &[u8],
    ) {
        self.segment(to, segment_type, flags, &[body]);
    }

    /// Sends a call or reply in as many segments as it takes, each but the last filled to the agreed length exactly
    /// (mq-wire-observed-base.md 4.1).
    pub(crate) fn call(&mut self, to: Address, message: &Message) {
        let segment_type = message.segment_type;
        let (mut head, mut data) = (&message.head[..], &message.data[..]);
        let room = self.segment_bytes_max - to.kind.header_length();
        let mut flags = ControlFlags1::FIRST;
        loop {
            let (now, later) = head.split_at(head.len().min(room));
            let (data_now, data_later) = data.split_at(data.len().min(room - now.len()));
            (head, data) = (later, data_later);
            if head.is_empty() && data.is_empty() {
                return self.segment(to, segment_type, flags | ControlFlags1::LAST, &[now, data_now]);
            }
            self.segment(to, segment_type, flags, &[now, data_now]);
            flags = ControlFlags1::empty();
        }
    }

    fn segment(&mut self, to: Address, segment_type: SegmentType, flags: ControlFlags1, parts: &[&[u8]]) {
        let encoding = match self.coding.order {
            ByteOrder::Little => Encoding::LITTLE,
            ByteOrder::Big => Encoding::BIG,
        };
        let header = SegmentHeader {
            conversation_id: to.conversation,
            request_id: to.request,
            control_flags_1: flags,
            // A queue manager whose names are EBCDIC says so in the first three bytes (mq-wire.md 0.3).
            ebcdic: self.coding.ccsid.is_ebcdic(),
            order: self.coding.order,
            encoding,
            // A character set that two bytes cannot name is none that a TSH can announce.
            ccsid: u16::try_from(self.coding.ccsid.0).unwrap_or_default(),
            ..SegmentHeader::new(to.kind, segment_type)
        };
        let body_length: usize = parts.iter().map(|part| part.len()).sum();
        let mut out = BytesMut::with_capacity(header.length() + body_length);
        encode_segment(&header, &[], &mut out);
        for part in parts {
            out.extend_from_slice(part);
        }
        // SegmentLength, big-endian in every coding (mq-wire.md 1.1): the parts came after the header was written.
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[4..8].copy_from_slice(&length.to_be_bytes());
        self.queue.push_back(out.freeze());
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joining: Vec<_> = self.joining.iter().map(|(id, call)| (*id, call.whole.len())).collect();
        f.debug_struct("Inbound")
            .field("bytes", &self.buffer.len())
            .field("joining", &joining)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("segments", &self.queue.len()).finish_non_exhaustive()
    }
}
