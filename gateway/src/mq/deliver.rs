//! From the core's answer to the machine's reply, as far as that takes time: first what it needs is on disk, then the
//! record of a message is read, under the budget of bodies.
//!
//! This is the place for what is done with a message between record and client: the data of several records put
//! together, conversion, properties.

use std::sync::Arc;

use mq_channel::Reply;
use mq_wire::Reason;
use qmgr::{Context, Got};
use store::{BodyRef, Id, Position};

use super::convert::{self, Kept};
use crate::core::{self, Bodies, CoreHandle, MqReply, Share};

/// What became of an answer.
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
        /// Which.
        id: Id,
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
    kept: &Kept,
) -> Delivered {
    if core.durable(needs).await.is_err() {
        return Delivered::NotDurable;
    }
    match reply {
        MqReply::Plain(reply) => Delivered::plain(convert::reply(reply, kept)),
        MqReply::Got(got, body) => message(&bodies, got, body, kept).await,
    }
}

async fn message(bodies: &Bodies, got: Box<Got>, body: BodyRef, kept: &Kept) -> Delivered {
    let share = bodies.share(got.body_length as usize).await;
    let record = match core::read(body).await {
        Ok(record) => record,
        Err(error) => {
            let what = format!("message {}: {error}", got.id);
            return Delivered::Damaged { id: got.id, what };
        }
    };
    let Some(md) = convert::descriptor(&got, &record) else {
        let what = format!("message {}: its descriptor cannot be read", got.id);
        return Delivered::Damaged { id: got.id, what };
    };
    if got.check.as_ref().is_some_and(|check| !check.fits(&md)) {
        // The hash was the same and the id is not: the core goes on behind this message.
        let Kept::Get { request } = kept else {
            // Only a get is answered with a message.
            return Delivered::plain(Reply::failed(Reason::UNEXPECTED_ERROR));
        };
        let record = (record.envelope, record.body);
        let request = (**request).clone();
        return Delivered::Mismatched(Box::new(qmgr::Mismatch { got: *got, record, request }));
    }
    let context = Some((got.handle, Box::new(Context::of(&md))));
    Delivered::Reply { reply: convert::got(&got, md, &record.body), context, share }
}
