//! Reply tokens: short names for reply-to queues of devices that do not fit into 48 characters together with the device's
//! name (mqe.md 6.5). A table in the keyed state says what each stands for; it grows in the unit of the put that names a new
//! one, and never shrinks, since nobody knows how long an application keeps an address.
//!
//! | key | value |
//! |---|---|
//! | `gT` token | length of the device's name, device, queue |

use std::collections::HashMap;

use mq_wire::{Chars, QName, Reason};
use mqe::DeviceName;
use store::{Commit, Recovered};

const PREFIX: &[u8] = b"gT";

/// What a token begins with. None of the separators is in it, so that no exit takes it for `QUEUE%DEVICE`.
const MARK: &str = "REPLYTOKEN";

/// Tokens that there may be: each costs about 200 bytes of memory.
const TOKENS_MAX: usize = 100_000;

/// The token of a device's queue: always the same one, so that a repeated put needs no look at the table.
pub(crate) fn reply_token(device: &DeviceName, queue: &QName) -> QName {
    // FNV-1a, 128 bits; a collision is found where the table is written.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in device.trimmed().iter().chain(b" ").chain(queue.trimmed()) {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
    }
    let mut text = MARK.to_owned();
    for place in 0..26 {
        const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
        text.push(char::from(DIGITS[(hash >> (5 * place)) as usize & 31]));
    }
    QName(Chars::cut(&text))
}

/// What the tokens stand for.
#[derive(Debug, Default)]
pub(crate) struct Tokens(HashMap<QName, (DeviceName, QName)>);

impl Tokens {
    /// Those of the keyed state; one that cannot be read leads nowhere, and is named in the log.
    pub(crate) fn recover(recovered: &Recovered) -> Self {
        let ours = recovered.keyed.iter().filter_map(|(key, value)| {
            let token = key.strip_prefix(PREFIX)?;
            let entry = read(token, value);
            if entry.is_none() {
                tracing::error!(token = %String::from_utf8_lossy(token), "a reply token cannot be read");
            }
            entry
        });
        Self(ours.collect())
    }

    /// Whose queue it stands for.
    pub(super) fn find(&self, token: &QName) -> Option<(DeviceName, QName)> {
        self.0.get(token).copied()
    }

    /// Makes a token mean something in the unit of the put that names it. `forget` takes it back, if that is dropped.
    pub(super) fn add(
        &mut self,
        token: QName,
        device: DeviceName,
        queue: QName,
        commit: &mut Commit,
    ) -> Result<bool, Reason> {
        if let Some(known) = self.0.get(&token) {
            return if *known == (device, queue) { Ok(false) } else { Err(Reason::MISSING_REPLY_TO_Q) };
        }
        if self.0.len() >= TOKENS_MAX {
            tracing::warn!(%device, %queue, "refused: there are as many reply tokens as there may be");
            return Err(Reason::MISSING_REPLY_TO_Q);
        }
        self.0.insert(token, (device, queue));
        let name = device.trimmed();
        let value = [&[name.len() as u8], name, queue.trimmed()].concat();
        commit.set([PREFIX, token.trimmed()].concat(), value);
        Ok(true)
    }

    pub(super) fn forget(&mut self, token: &QName) {
        self.0.remove(token);
    }
}

fn read(token: &[u8], value: &[u8]) -> Option<(QName, (DeviceName, QName))> {
    let name = |bytes: &[u8]| QName::new(std::str::from_utf8(bytes).ok()?).ok();
    let (length, rest) = value.split_first()?;
    let (device, queue) = rest.split_at_checked(usize::from(*length))?;
    let device = DeviceName::new(std::str::from_utf8(device).ok()?).ok()?;
    Some((name(token)?, (device, name(queue)?)))
}

#[cfg(test)]
mod tests {
    use store::Store;
    use store::mem::MemStore;

    use super::*;

    fn names(number: u32) -> (DeviceName, QName) {
        let device = DeviceName::new(&format!("DEVICE.WITH.A.LONG.NAME.{number:05}")).unwrap();
        (device, QName::new("QUEUE.FOR.THE.ANSWERS.OF.ALL").unwrap())
    }

    #[test]
    fn a_token_is_a_name_without_separators_and_always_the_same() {
        let (device, queue) = names(1);
        let token = reply_token(&device, &queue);
        assert!(token.is_valid() && token.trimmed().len() == 36, "{token}");
        assert!(!token.trimmed().iter().any(|byte| b"%/._".contains(byte)), "{token}");
        assert_eq!(token, reply_token(&device, &queue));
        assert_ne!(token, reply_token(&names(2).0, &queue));
    }

    #[test]
    fn the_table_survives_a_restart() {
        let (mut store, recovered) = MemStore::new(None);
        let mut tokens = Tokens::recover(&recovered);
        let (device, queue) = names(1);
        let token = reply_token(&device, &queue);
        let mut commit = Commit::default();
        assert_eq!(tokens.add(token, device, queue, &mut commit), Ok(true));
        assert_eq!(tokens.add(token, device, queue, &mut commit), Ok(false));
        assert_eq!(tokens.add(token, names(2).0, queue, &mut commit), Err(Reason::MISSING_REPLY_TO_Q));
        let mut batch = store.begin();
        batch.commit(commit);
        store.submit(batch);
        let (_, recovered) = store.restart();
        let tokens = Tokens::recover(&recovered);
        assert_eq!(tokens.find(&token), Some((device, queue)));
        assert_eq!(tokens.find(&queue), None);
    }
}
