//! What the model and the queue manager call the same thing: ids, tokens and dynamic queues that either of them made. A pair is
//! learnt when both first show it, at the same place; from then on only the same pair will do.

use std::collections::BTreeMap;

use mq_wire::MsgToken;

use crate::calls::Id;

#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: BTreeMap<Id, Id>,
    ids_back: BTreeMap<Id, Id>,
    tokens: BTreeMap<u64, MsgToken>,
    tokens_back: BTreeMap<MsgToken, u64>,
    queues: BTreeMap<String, String>,
    queues_back: BTreeMap<String, String>,
}

/// Whether the model made this id.
fn made(id: &Id) -> bool {
    id.starts_with(b"made.")
}

impl Names {
    /// The queue manager's id for one of the model.
    pub(crate) fn id(&self, id: &Id) -> Id {
        self.ids.get(id).copied().unwrap_or(*id)
    }

    /// The model's id for one of the queue manager, where the model has `expected`.
    pub(crate) fn id_back(&mut self, id: Id, expected: &Id) -> Id {
        if let Some(known) = self.ids_back.get(&id) {
            return *known;
        }
        if made(expected) && id.starts_with(b"AMQ ") && !self.ids.contains_key(expected) {
            self.ids.insert(*expected, id);
            self.ids_back.insert(id, *expected);
            return *expected;
        }
        id
    }

    /// Whether the queue manager has shown what the model calls so.
    pub(crate) fn knows_id(&self, id: &Id) -> bool {
        !made(id) || self.ids.contains_key(id)
    }

    pub(crate) fn token(&self, token: u64) -> MsgToken {
        self.tokens.get(&token).copied().unwrap_or(MsgToken::NONE)
    }

    pub(crate) fn token_back(&mut self, token: MsgToken, expected: u64) -> u64 {
        if let Some(known) = self.tokens_back.get(&token) {
            return *known;
        }
        if self.tokens.contains_key(&expected) {
            return 0;
        }
        self.tokens.insert(expected, token);
        self.tokens_back.insert(token, expected);
        expected
    }

    pub(crate) fn knows_token(&self, token: u64) -> bool {
        self.tokens.contains_key(&token)
    }

    pub(crate) fn forget_tokens(&mut self) {
        self.tokens.clear();
        self.tokens_back.clear();
    }

    pub(crate) fn queue<'a>(&'a self, name: &'a str) -> &'a str {
        self.queues.get(name).map_or(name, String::as_str)
    }

    /// The model's name for a queue of the queue manager, or the same.
    pub(crate) fn known_queue(&self, name: String) -> String {
        self.queues_back.get(&name).cloned().unwrap_or(name)
    }

    pub(crate) fn queue_back(&mut self, name: String, expected: &str) -> String {
        if let Some(known) = self.queues_back.get(&name) {
            return known.clone();
        }
        let dynamic = expected.starts_with("MADE.MODEL") && name.starts_with("MADE.") && name.len() > 5;
        if dynamic && !self.queues.contains_key(expected) {
            self.queues.insert(expected.to_owned(), name.clone());
            self.queues_back.insert(name, expected.to_owned());
            return expected.to_owned();
        }
        name
    }
}
