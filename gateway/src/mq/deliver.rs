//! From the core's answer to the machine's reply, as far as that takes time: first what it needs is on disk, then the
//! records of a message are read, under the budget of bodies.
//!
//! Between record and client stand, in this order: properties that are not delivered, conversion, the extension of
//! the descriptor for those who asked with version 1, and the length of the client's buffer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use mq_channel::Reply;
use mq_wire::{
    Ccsid, Coding, CompCode, Described, EbcdicNewline, Encoding, FormatName, Mqgmo, Mqmd, Mqmde, Reason,
    Wanted, Writer,
};
use qmgr::{Context, Got};
use store::{Id, Position};

use super::convert::{self, Kept};
use crate::core::{Bodies, CoreHandle, MqReply, Records, Share};
use crate::system;

/// What became of an answer.
#[expect(clippy::large_enum_variant, reason = "moved once or twice; a box would be one allocation a call")]
#[derive(Debug)]
pub(super) enum Delivered {
    /// It can go to the client.
    Reply {
        /// What it says.
        reply: Reply,
        /// The context of the message, and the handle that it was got with.
        context: Option<(i32, Box<Context>)>,
        /// Held until the bytes are with the socket.
        share: Option<Share>,
    },
    /// It is not the message that was asked for: the core goes on behind it.
    Mismatched(Box<qmgr::Mismatch>),
    /// The message cannot be read.
    Damaged {
        /// Which, with all that it consists of.
        ids: Vec<Id>,
        /// Whether it was taken from its queue.
        taken: bool,
        /// What is wrong with it.
        what: String,
    },
    /// The journal failed.
    NotDurable,
}

impl Delivered {
    /// A reply and nothing else.
    pub(super) fn plain(reply: Reply) -> Self {
        Self::Reply { reply, context: None, share: None }
    }
}

/// Goes from answer to reply.
pub(super) async fn deliver(
    core: Arc<CoreHandle>,
    bodies: Bodies,
    needs: Option<Position>,
    reply: MqReply,
    q_mgr_ccsid: Ccsid,
    kept: &Kept,
) -> Delivered {
    if core.durable(needs).await.is_err() {
        return Delivered::NotDurable;
    }
    match reply {
        MqReply::Plain(reply) => Delivered::plain(convert::reply(reply, kept)),
        MqReply::Got(got, records) => message(&bodies, got, records, q_mgr_ccsid, kept).await,
    }
}

async fn message(
    bodies: &Bodies,
    got: Box<Got>,
    records: Records,
    q_mgr_ccsid: Ccsid,
    kept: &Kept,
) -> Delivered {
    let Kept::Get { request, wanted } = kept else {
        // Only a get is answered with a message.
        return Delivered::plain(Reply::failed(Reason::UNEXPECTED_ERROR));
    };
    let needed = needed(&got, wanted.is_some());
    let bytes = records.bytes_up_to(needed, got.body_length as usize + got.skip as usize);
    // What is converted is there twice for a while.
    let share = bodies.share(if wanted.is_some() { 2 * bytes } else { bytes }).await;
    let record = match records.read_up_to(needed).await {
        Ok(record) => record,
        Err(error) => return damaged(&got, &error),
    };
    let Some(md) = convert::descriptor(&got, &record) else {
        return damaged(&got, &"its descriptor cannot be read");
    };
    if got.check.as_ref().is_some_and(|check| !check.fits(&md)) {
        // The hash was the same and the id is not: the core goes on behind this message.
        let record = (record.envelope, record.body);
        let request = (**request).clone();
        return Delivered::Mismatched(Box::new(qmgr::Mismatch { got: *got, record, request }));
    }
    // A message that was browsed, or stayed where it is, has passed no context on (MQOO_SAVE_ALL_CONTEXT).
    let context = got.taken.then(|| (got.handle, Box::new(Context::of(&md))));
    let wanted = wanted.map(|(encoding, ccsid)| Wanted {
        encoding,
        ccsid,
        q_mgr_ccsid,
        buffer_length: request.buffer_length as usize,
        accept_truncated: got.reason == Reason::TRUNCATED_MSG_ACCEPTED,
        newline: EbcdicNewline::default(),
    });
    let (body, buffer_length) = (record.body, request.buffer_length);
    if body.len() <= AT_ONCE_BYTES || (wanted.is_none() && got.skip == 0) {
        return Delivered::Reply { reply: reply(&got, md, body, wanted, buffer_length), context, share };
    }
    let read = got.clone();
    let made = system::blocking(move || reply(&read, md, body, wanted, buffer_length)).await;
    match made {
        Ok(reply) => Delivered::Reply { reply, context, share },
        Err(panicked) => damaged(&got, &panicked),
    }
}

/// Data up to this length is converted where it is, longer one beside: other sockets wait for the same thread.
const AT_ONCE_BYTES: usize = 1 << 20;

/// How much of the data has to be read. Conversion and the search for properties want to see all of it; and so does the
/// core of a message that was taken, if it has to be stored again since it is another than was asked for.
fn needed(got: &Got, converts: bool) -> usize {
    let may_be_other = got.taken && got.check.is_some();
    if converts || got.skip > 0 || may_be_other { usize::MAX } else { got.deliver_length as usize }
}

fn damaged(got: &Got, what: &dyn std::fmt::Display) -> Delivered {
    let ids = std::iter::once(got.id).chain(got.parts.iter().map(|part| part.id)).collect();
    Delivered::Damaged { ids, taken: got.taken, what: format!("message {}: {what}", got.id) }
}

/// The reply with the message in the form in which it is wanted.
fn reply(got: &Got, mut md: Mqmd, body: Bytes, wanted: Option<Wanted>, buffer_length: u32) -> Reply {
    let (mut of, mut data) = (Described::by(&md), body);
    if got.skip > 0 {
        (of, data) = mq_wire::without_properties(of, &data);
    }
    let mut reason = got.reason;
    if let Some(wanted) = &wanted {
        let converted = mq_wire::convert_message(of, &data, wanted);
        (of, data) = (converted.described, converted.data);
        // What does not fit matters more to the application than what it would look like.
        if reason == Reason::NONE {
            reason = converted.warning;
        }
    }
    if got.extension_length > 0 {
        data = extended(&md, of, &data);
        of = Described {
            format: FormatName::MD_EXTENSION,
            encoding: Encoding::NATIVE,
            ccsid: Coding::NATIVE.ccsid,
        };
    }
    of.describe_in(&mut md);
    let cc = if reason == Reason::NONE { got.cc } else { CompCode::WARNING };
    // Of a message in several records not all may have been read.
    let is_as_stored = wanted.is_none() && got.skip == 0;
    let data_length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let total_length = if is_as_stored { got.body_length } else { data_length };
    let data = data.slice(..data.len().min(buffer_length as usize));
    let returned_length = i32::try_from(data.len()).unwrap_or(i32::MAX);
    Reply::Get { cc, reason, md, gmo: Mqgmo { returned_length, ..got.gmo.clone() }, total_length, data }
}

/// The data behind an MQMDE, which says what a descriptor of version 1 cannot (mq-objects.md 1.3).
fn extended(md: &Mqmd, of: Described, data: &[u8]) -> Bytes {
    let extension = Mqmde { encoding: of.encoding, ccsid: of.ccsid, format: of.format, ..Mqmde::of(md) };
    let mut out = BytesMut::with_capacity(Mqmde::length(2) + data.len());
    extension.encode(&mut Writer::new(&mut out, Coding::NATIVE));
    out.extend_from_slice(data);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use mq_wire::GetOptions;
    use store::{BodyRef, Place, ReadRecord, Record, StoreError};

    use super::*;
    use crate::core::tests::read_first::{got_in_segments, got_of};

    /// A record that is damaged.
    #[derive(Debug)]
    struct Bad;

    impl ReadRecord for Bad {
        fn read(&self, _: Id, _: Place) -> Result<Record, StoreError> {
            Err(StoreError::Io { action: "read", path: "a record".to_owned(), error: "bad".to_owned() })
        }

        fn is_cached(&self, _: Place) -> bool {
            true
        }
    }

    async fn delivered(
        options: GetOptions,
        room: u32,
        wanted: Option<(Encoding, Ccsid)>,
        bad_from: usize,
    ) -> Delivered {
        let (core, request, got, mut records) = got_in_segments(options, room);
        for (record, _) in records.rest.iter_mut().skip(bad_from) {
            *record = BodyRef::new(record.id(), Place::default(), Arc::new(Bad));
        }
        let kept = Kept::Get { request: Box::new(request), wanted };
        let reply = MqReply::Got(got, records);
        deliver(Arc::new(core), Bodies::new(1 << 20), None, reply, Ccsid::UTF_8, &kept).await
    }

    #[tokio::test]
    async fn the_length_is_that_of_the_whole_message_also_when_not_all_was_read() {
        for room in [0, 2, 5, 12, 50] {
            let bad_from = if room <= 7 { 1 } else { 2 };
            match delivered(GetOptions::BROWSE_FIRST, room, None, bad_from).await {
                Delivered::Reply { reply: Reply::Get { total_length, data, .. }, .. } => {
                    let text = "onetwo!three";
                    assert_eq!(
                        (total_length, &data[..]),
                        (12, &text.as_bytes()[..text.len().min(room as usize)])
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        // What is converted is read as a whole.
        let wanted = Some((Encoding::NATIVE, Ccsid::UTF_8));
        let damaged = delivered(GetOptions::BROWSE_FIRST, 2, wanted, 1).await;
        assert!(matches!(damaged, Delivered::Damaged { taken: false, .. }), "{damaged:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named_with_all_its_segments() {
        match delivered(GetOptions::SYNCPOINT, 50, None, 1).await {
            Delivered::Damaged { ids, taken, .. } => assert_eq!((ids.len(), taken), (3, true)),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn long_text_is_converted_like_short() {
        for length in [10, AT_ONCE_BYTES + 1] {
            let text = "a".repeat(length);
            let (core, request, got, records) = got_of(&[&text], GetOptions::BROWSE_FIRST, length as u32);
            let wanted = Some((Encoding::NATIVE, Ccsid(500)));
            let kept = Kept::Get { request: Box::new(request), wanted };
            let reply = MqReply::Got(got, records);
            match deliver(Arc::new(core), Bodies::new(1 << 23), None, reply, Ccsid::UTF_8, &kept).await {
                Delivered::Reply { reply: Reply::Get { reason, md, total_length, data, .. }, .. } => {
                    assert_eq!((reason, md.ccsid, total_length), (Reason::NONE, Ccsid(500), length as u32));
                    assert!(data.len() == length && data.iter().all(|byte| *byte == 0x81));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
