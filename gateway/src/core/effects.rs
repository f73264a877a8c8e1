//! What queue manager and area want said: each answer goes to the task of its connection, and not before what it
//! depends on is durable.

use std::collections::HashSet;

use mq_wire::PutOptions;
use mqe::area::AreaEffect;
use qmgr::{CallId, ConnId, Effect, Reply, Verb};
use store::Batch;

use super::bodies::Records;
use super::command::{MqReply, ToDevice, ToMq};
use super::turn::Core;

impl Core {
    pub(super) fn leaves_at_once(&self, effect: &Effect, batch: &Batch, moved: bool) -> bool {
        match effect {
            Effect::Answer { needs: Some(_), .. }
            | Effect::Answer { reply: Reply::ReadFirst(_), .. }
            | Effect::ReadExpired { .. } => false,
            Effect::Answer { reply: Reply::Got(_), .. } if moved => false,
            Effect::Answer { conn, call, needs: None, reply: Reply::Got(got) } => {
                if let Some(out) = self.mq.get(conn) {
                    let body = |id, place| batch.body(id).unwrap_or_else(|| self.store.body(id, place));
                    let records = Records::of((got.id, got.place), &got.parts, body);
                    let reply = MqReply::Got(got.clone(), records);
                    let _ = out.send(ToMq { call: *call, needs: None, reply });
                }
                true
            }
            Effect::Answer { conn, call, needs: None, reply } => {
                if let Some(out) = self.mq.get(conn) {
                    let _ = out.send(ToMq { call: *call, needs: None, reply: MqReply::Plain(reply.clone()) });
                }
                true
            }
            Effect::Arrived { .. } => {
                self.wiring.arrived.notify_one();
                true
            }
        }
    }

    pub(super) fn mq_effect(&mut self, effect: Effect, unawaited: &HashSet<(ConnId, CallId)>) {
        match effect {
            Effect::Answer { conn, call, reply: Reply::ReadFirst(first), .. } => {
                self.reads.get(conn, call, &first);
            }
            Effect::ReadExpired { id, .. } => self.reads.expired(id),
            Effect::Answer { conn, call, needs, reply } => {
                if !self.mq.contains_key(&conn) {
                    return;
                }
                let reply = match reply {
                    Reply::Got(got) => {
                        let body = |id, place| self.store.body(id, place);
                        let records = Records::of((got.id, got.place), &got.parts, body);
                        MqReply::Got(got, records)
                    }
                    reply => MqReply::Plain(reply),
                };
                let answer = ToMq { call, needs, reply };
                let waits = needs.is_some_and(|needs| needs > self.store.durable());
                if waits && !unawaited.contains(&(conn, call)) {
                    self.waiting.push((conn, answer));
                } else {
                    self.to_mq(conn, answer);
                }
            }
            Effect::Arrived { .. } => self.wiring.arrived.notify_one(),
        }
    }

    /// Lets the answers go of which all is on disk that they need.
    pub(super) fn let_go(&mut self) {
        let durable = self.store.durable();
        if self.waiting.is_empty() || durable == self.let_go {
            return;
        }
        self.let_go = durable;
        let waiting = std::mem::take(&mut self.waiting);
        for (conn, answer) in waiting {
            match answer.needs {
                Some(needs) if needs > durable => self.waiting.push((conn, answer)),
                _ => self.to_mq(conn, answer),
            }
        }
    }

    /// A connection that is gone tells the core so itself.
    fn to_mq(&self, conn: ConnId, answer: ToMq) {
        if let Some(out) = self.mq.get(&conn) {
            let _ = out.send(answer);
        }
    }

    pub(super) fn area_effect(&mut self, effect: AreaEffect) {
        match effect {
            AreaEffect::Frame { conn, needs, request, frame } => {
                self.to_device(conn, ToDevice::Frame { needs, request, frame });
            }
            AreaEffect::Message { conn, needs, request, head, id, place, bytes } => {
                let body = self.store.body(id, place);
                self.to_device(conn, ToDevice::Message { needs, request, head, body, bytes });
            }
            AreaEffect::Close { conn, why } => self.to_device(conn, ToDevice::Close { why }),
            AreaEffect::Owes { id, place, device, owed } => {
                let body = self.store.body(id, place);
                self.owed_later(id, device, owed, body);
            }
            AreaEffect::DeadLetter { device, uid, place, reason } => {
                let body = self.store.body(uid.id, place);
                self.dead_letter_later(device, uid, body, reason);
            }
        }
    }

    fn to_device(&self, conn: mqe::ConnId, message: ToDevice) {
        if let Some(out) = self.devices.get(&conn) {
            let _ = out.send(message);
        }
    }
}

/// Whether it is a put that its client does not wait for.
pub(super) fn is_unawaited(verb: &Verb) -> bool {
    let options = match verb {
        Verb::Put(put) | Verb::PutFile(put, _) => put.pmo.options,
        Verb::Put1(put) | Verb::Put1File(put, _) => put.pmo.options,
        _ => return false,
    };
    options.contains(PutOptions::ASYNC_RESPONSE)
}
