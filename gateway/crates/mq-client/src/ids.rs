//! Message ids that the queue manager reserved for this connection: whoever puts without waiting for the answer must
//! know the id of what was put (mq-wire-observed-base.md 3.5). When to ask for more is for the caller.

use mq_channel::ReservedIds;
use mq_wire::MsgId;

/// What is left of a reservation.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    next: [u8; 24],
    counter_offset: usize,
    left: u32,
}

impl From<ReservedIds> for Ids {
    fn from(ids: ReservedIds) -> Self {
        Self { next: ids.base.0, counter_offset: ids.counter_offset, left: ids.granted }
    }
}

impl Ids {
    /// Whether so many are left.
    pub(crate) fn has(&self, wanted: u32) -> bool {
        self.left >= wanted
    }

    /// The next one: counted up from the counter byte on, the first byte fastest.
    pub(crate) fn next(&mut self) -> Option<MsgId> {
        self.left = self.left.checked_sub(1)?;
        let id = MsgId(self.next);
        for byte in self.next.iter_mut().skip(self.counter_offset) {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved(base: [u8; 24], granted: u32, counter_offset: usize) -> Ids {
        ReservedIds { base: MsgId(base), granted, counter_offset }.into()
    }

    /// The example of mq-wire-observed-base.md 3.5: 77 AA 00 and 256 more is 77 AB 00.
    #[test]
    fn ids_are_counted_with_carry_to_the_right() {
        let mut base = [7; 24];
        base[21..].copy_from_slice(&[0x77, 0xAA, 0x00]);
        let mut ids = reserved(base, 300, 22);
        let last_bytes = |id: MsgId| <[u8; 3]>::try_from(&id.0[21..]).unwrap();
        let mut all: Vec<_> = std::iter::from_fn(|| ids.next()).map(last_bytes).collect();
        assert_eq!(all.len(), 300);
        assert_eq!((all[0], all[1]), ([0x77, 0xAA, 0x00], [0x77, 0xAB, 0x00]));
        assert_eq!(all[0x56], [0x77, 0x00, 0x01]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300, "none comes twice");
    }

    #[test]
    fn a_reservation_ends() {
        let mut ids = Ids::default();
        assert!(ids.has(0) && !ids.has(1) && ids.next().is_none());
        ids = reserved([1; 24], 1, 23);
        assert!(ids.has(1) && !ids.has(2));
        assert!(ids.next().is_some() && ids.next().is_none());
    }
}
