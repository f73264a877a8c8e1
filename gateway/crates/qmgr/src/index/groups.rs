//! Messages that belong to a group, or are segments: found by their place there, and by what of it is complete.
//!
//! A logical message is whole when its segments from the first to the last are there; a group, when its logical
//! messages from the first to the last are whole. Whether they are is kept up to date with each message that comes or
//! goes, so that nobody has to look at a message that cannot be had the way it is wanted. What is not complete costs a
//! get nothing; what becomes complete, or stops being so, costs its own length once.
//!
//! Reports on messages of a group have its id and their places. Those on the segments of a message are put together only
//! if all are of one kind; who asks for nothing more than that all is there takes them as they are (IBM MQ documentation,
//! "Reports and segmented messages").

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included};

use mq_wire::{Feedback, GroupId, MessageFlags};

use super::Key;
use crate::special::Grouped;

/// What a message must be, beside its ids, to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The first of its group, and of its logical message.
    Start,
    /// A segment of a whole logical message.
    Message,
    /// The first segment of a logical message that can be put together.
    Head,
    /// In a whole group.
    Group,
    /// [`Ready::Start`] of a whole logical message.
    StartOfMessage,
    /// [`Ready::Start`] of a whole group.
    StartOfGroup,
    /// [`Ready::Head`] in a whole group.
    HeadInGroup,
    /// [`Ready::Start`] and [`Ready::Head`].
    StartHead,
    /// [`Ready::StartOfGroup`] and [`Ready::Head`].
    StartHeadOfGroup,
}

/// Where a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) group_id: GroupId,
    pub(crate) seq_number: i32,
    pub(crate) offset: i32,
}

/// What the index knows of a message in a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) flags: MessageFlags,
    /// Of a report.
    pub(crate) feedback: Option<Feedback>,
    /// Bytes of its data, or of the data that it is a report on.
    pub(crate) length: u32,
    /// Bytes of them that are properties, which offsets need not count.
    pub(crate) properties: u32,
}

impl Member {
    /// A segment of a logical message.
    pub(crate) fn is_segment(self) -> bool {
        self.flags.intersects(MessageFlags::SEGMENT | MessageFlags::LAST_SEGMENT)
    }

    pub(crate) fn in_group(self) -> bool {
        self.flags.intersects(MessageFlags::MSG_IN_GROUP | MessageFlags::LAST_MSG_IN_GROUP)
    }

    /// Nothing of its group follows its logical message.
    pub(crate) fn ends_group(self) -> bool {
        self.flags.contains(MessageFlags::LAST_MSG_IN_GROUP)
    }

    /// Nothing of its logical message follows it.
    pub(crate) fn ends_message(self) -> bool {
        !self.is_segment() || self.flags.contains(MessageFlags::LAST_SEGMENT)
    }

    /// Whether a segment at that offset is what follows one of this kind.
    fn is_followed_by(self, offset: i32, next: i32) -> bool {
        let distance = i64::from(next) - i64::from(offset);
        distance == i64::from(self.length) || distance == i64::from(self.length) - i64::from(self.properties)
    }
}

/// A logical message, or the reports of one kind on it: group, number, kind.
type Name = (GroupId, i32, Option<Feedback>);

/// A logical message of which something is there.
#[derive(Debug, Default)]
struct Logical {
    /// Bytes of its segments, each counted once, and those of them that are properties.
    bytes: u64,
    properties: u64,
    /// Messages that end it.
    ends: BTreeSet<(i32, Key)>,
    whole: bool,
}

/// A group of which something is there.
#[derive(Debug, Default)]
struct Group {
    /// Messages that end it.
    ends: BTreeSet<(i32, Key)>,
    /// Its logical messages that are whole.
    whole_messages: usize,
    whole: bool,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// By logical message and offset; reports a second time with those of their kind.
    members: BTreeMap<(Name, i32, Key), Member>,
    /// Each group in the order of the queue.
    ordered: BTreeSet<(GroupId, Key)>,
    spots: BTreeMap<Key, (Spot, Option<Feedback>)>,
    messages: BTreeMap<Name, Logical>,
    groups: BTreeMap<GroupId, Group>,
    /// One for each [`Ready`].
    ready: [BTreeSet<Key>; 9],
}

impl Groups {
    pub(super) fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    pub(super) fn spot(&self, key: Key) -> Option<Spot> {
        self.spots.get(&key).map(|(spot, _)| *spot)
    }

    pub(super) fn member(&self, key: Key) -> Option<(Spot, Member)> {
        let (spot, feedback) = *self.spots.get(&key)?;
        Some((spot, *self.members.get(&(name(spot, feedback), spot.offset, key))?))
    }

    pub(super) fn is_ready(&self, key: Key, ready: Ready) -> bool {
        self.ready[ready as usize].contains(&key)
    }

    /// The next message in the order of the queue that is ready.
    pub(super) fn next_ready(&self, ready: Option<Ready>, after: Option<Key>) -> Option<Key> {
        match ready {
            Some(ready) => behind(&self.ready[ready as usize], after),
            None => {
                let from = after.map_or(std::ops::Bound::Unbounded, Excluded);
                self.spots.range((from, std::ops::Bound::Unbounded)).next().map(|(key, _)| *key)
            }
        }
    }

    /// The next message of the group in the order of the queue.
    pub(super) fn next_of(&self, group_id: GroupId, after: Option<Key>) -> Option<Key> {
        let from = after.map_or(Included((group_id, FIRST)), |key| Excluded((group_id, key)));
        self.ordered.range((from, Included((group_id, LAST)))).next().map(|(_, key)| *key)
    }

    /// The next message with this place in the group.
    pub(super) fn next_at(&self, spot: Spot, after: Option<Key>) -> Option<Key> {
        let (all, offset) = (name(spot, None), spot.offset);
        let from = after.map_or(Included((all, offset, FIRST)), |key| Excluded((all, offset, key)));
        self.members.range((from, Included((all, offset, LAST)))).next().map(|((_, _, key), _)| *key)
    }

    /// The segments of the logical message that begins with this one, the first one too; none if one is missing.
    pub(super) fn whole(&self, head: Key) -> Option<Vec<Key>> {
        let (spot, mut member) = self.member(head)?;
        let (name, mut offset) = (name(spot, member.feedback), spot.offset);
        let mut keys = vec![head];
        while !member.ends_message() {
            let behind = (Excluded((name, offset, LAST)), Included((name, i32::MAX, LAST)));
            let ((_, next, key), found) = self.members.range(behind).next()?;
            if !member.is_followed_by(offset, *next) {
                return None;
            }
            keys.push(*key);
            (offset, member) = (*next, *found);
        }
        Some(keys)
    }

    /// The offset of the segment that follows: of the one that is there, or where it should be.
    pub(super) fn next_offset(&self, spot: Spot, member: Member) -> i32 {
        let short = spot.offset.saturating_add_unsigned(member.length.saturating_sub(member.properties));
        let at = |offset| self.next_at(Spot { offset, ..spot }, None).is_some();
        if member.properties > 0 && at(short) {
            return short;
        }
        spot.offset.saturating_add_unsigned(member.length)
    }

    pub(super) fn insert(&mut self, key: Key, group: &Grouped, length: u32, properties: u32) {
        let spot = Spot { group_id: group.group_id, seq_number: group.seq_number, offset: group.offset };
        let Grouped { flags, feedback, .. } = *group;
        let length = group.length(length);
        let member = Member { flags, feedback, length, properties: properties.min(length) };
        self.spots.insert(key, (spot, feedback));
        self.ordered.insert((spot.group_id, key));
        self.change(key, spot, member, true);
    }

    pub(super) fn remove(&mut self, key: Key) {
        let Some((spot, member)) = self.member(key) else { return };
        self.spots.remove(&key);
        self.ordered.remove(&(spot.group_id, key));
        for ready in &mut self.ready {
            ready.remove(&key);
        }
        self.change(key, spot, member, false);
    }

    /// Adds or removes a member, with what that means for the others.
    fn change(&mut self, key: Key, spot: Spot, member: Member, comes: bool) {
        let turned = self.change_message(key, spot, member, None, comes);
        let mut refreshed = turned;
        if member.feedback.is_some() {
            refreshed |= self.change_message(key, spot, member, member.feedback, comes);
        }
        let group_turned = member.in_group() && self.change_group(key, spot, member, comes, turned);
        let name = name(spot, None);
        let keys: Vec<Key> = if group_turned {
            let all = (spot.group_id, FIRST)..=(spot.group_id, LAST);
            self.ordered.range(all).map(|(_, key)| *key).collect()
        } else if refreshed {
            let all = (name, i32::MIN, FIRST)..=(name, i32::MAX, LAST);
            self.members.range(all).map(|((_, _, key), _)| *key).collect()
        } else {
            Vec::from_iter(comes.then_some(key))
        };
        keys.into_iter().for_each(|key| self.refresh(key));
    }

    /// The same for a logical message, or what there is of one kind on it. Says whether it became whole, or stopped being
    /// so.
    fn change_message(
        &mut self,
        key: Key,
        spot: Spot,
        member: Member,
        kind: Option<Feedback>,
        comes: bool,
    ) -> bool {
        let name = name(spot, kind);
        let before = self.counted(name, spot.offset);
        if comes {
            self.members.insert((name, spot.offset, key), member);
        } else {
            self.members.remove(&(name, spot.offset, key));
        }
        if !member.is_segment() && !member.in_group() {
            // It only has the id of a group.
            return false;
        }
        let after = self.counted(name, spot.offset);
        let logical = self.messages.entry(name).or_default();
        logical.bytes = (logical.bytes + after.0).saturating_sub(before.0);
        logical.properties = (logical.properties + after.1).saturating_sub(before.1);
        if member.ends_message() {
            note(&mut logical.ends, (spot.offset, key), comes);
        }
        let end = logical.ends.first().and_then(|(offset, key)| {
            let member = self.members.get(&(name, *offset, *key))?;
            Some(u64::try_from(*offset).ok()? + u64::from(member.length))
        });
        // One that is alone: its properties count on both sides.
        let fits = end.is_some_and(|end| end == logical.bytes || end == logical.bytes - logical.properties);
        // Segments that overlap may have the right sum.
        let whole = fits && self.is_chained(name);
        let logical = self.messages.entry(name).or_default();
        let turned = std::mem::replace(&mut logical.whole, whole) != whole;
        if logical.bytes == 0 && logical.ends.is_empty() {
            let all = (name, i32::MIN, FIRST)..=(name, i32::MAX, LAST);
            if self.members.range(all).next().is_none() {
                self.messages.remove(&name);
            }
        }
        turned
    }

    /// Whether each segment begins where the one before it ends.
    fn is_chained(&self, name: Name) -> bool {
        let at = |offset| self.members.range((name, offset, FIRST)..=(name, offset, LAST)).next();
        let Some((_, mut member)) = at(0) else { return false };
        let mut offset = 0;
        while !member.ends_message() {
            let behind = (Excluded((name, offset, LAST)), Included((name, i32::MAX, LAST)));
            let Some(((_, next, _), found)) = self.members.range(behind).next() else { return false };
            if !member.is_followed_by(offset, *next) {
                return false;
            }
            (offset, member) = (*next, found);
        }
        true
    }

    /// The same for a group.
    fn change_group(
        &mut self,
        key: Key,
        spot: Spot,
        member: Member,
        comes: bool,
        message_turned: bool,
    ) -> bool {
        let group = self.groups.entry(spot.group_id).or_default();
        if member.flags.contains(MessageFlags::LAST_MSG_IN_GROUP) {
            note(&mut group.ends, (spot.seq_number, key), comes);
        }
        let is_whole = self.messages.get(&name(spot, None)).is_some_and(|logical| logical.whole);
        match (message_turned, is_whole) {
            (true, true) => group.whole_messages += 1,
            (true, false) => group.whole_messages = group.whole_messages.saturating_sub(1),
            (false, _) => {}
        }
        let messages = group.ends.first().and_then(|(seq_number, _)| usize::try_from(*seq_number).ok());
        let whole = messages.is_some_and(|messages| messages == group.whole_messages);
        let turned = std::mem::replace(&mut group.whole, whole) != whole;
        if group.ends.is_empty() && self.next_of(spot.group_id, None).is_none() {
            self.groups.remove(&spot.group_id);
        }
        turned
    }

    /// Bytes of the first of those that have this place in the group, and properties among them.
    fn counted(&self, name: Name, offset: i32) -> (u64, u64) {
        let here = (name, offset, FIRST)..=(name, offset, LAST);
        let mut here = self.members.range(here).map(|(_, member)| *member);
        let member = here.find(|member| member.is_segment() || member.in_group());
        member.map_or((0, 0), |member| (member.length.into(), member.properties.into()))
    }

    /// Where the message stands among those that are ready.
    fn refresh(&mut self, key: Key) {
        let Some((spot, member)) = self.member(key) else { return };
        let alone = !member.is_segment() && !member.in_group();
        let is_whole = |kind| self.messages.get(&name(spot, kind)).is_some_and(|logical| logical.whole);
        let message = alone || is_whole(None);
        let group = match member.in_group() {
            true => self.groups.get(&spot.group_id).is_some_and(|group| group.whole),
            false => message,
        };
        let head = alone || spot.offset == 0;
        let start = head && (!member.in_group() || spot.seq_number == 1);
        let own = head && (alone || is_whole(member.feedback));
        let in_order = [start, message, own, group, start && message, start && group, group && own];
        let is = in_order.into_iter().chain([start && own, start && group && own]);
        for (set, is) in self.ready.iter_mut().zip(is) {
            note(set, key, is);
        }
    }
}

fn name(spot: Spot, feedback: Option<Feedback>) -> Name {
    (spot.group_id, spot.seq_number, feedback)
}

fn note<T: Ord>(set: &mut BTreeSet<T>, what: T, is: bool) {
    if is {
        set.insert(what);
    } else {
        set.remove(&what);
    }
}

/// The first key of a set behind a place.
pub(super) fn behind(set: &BTreeSet<Key>, after: Option<Key>) -> Option<Key> {
    let from = after.map_or(std::ops::Bound::Unbounded, Excluded);
    set.range((from, std::ops::Bound::Unbounded)).next().copied()
}

const FIRST: Key = Key { class: 0, order: 0 };
const LAST: Key = Key { class: u8::MAX, order: u64::MAX };

#[cfg(test)]
mod tests {
    use mq_wire::{Ccsid, Encoding};

    use super::*;

    const PART: u32 = 2;
    const LAST_PART: u32 = 6;
    const MEMBER: u32 = 8;
    const LAST_MEMBER: u32 = 24;

    fn grouped(group: u8, seq_number: i32, offset: i32, flags: u32) -> Grouped {
        let flags = MessageFlags::from_bits_retain(flags);
        let (group_id, ccsid, encoding) = (GroupId([group; 24]), Ccsid(1208), Encoding::NATIVE);
        Grouped { group_id, seq_number, offset, flags, original_length: -1, ccsid, encoding, feedback: None }
    }

    fn key(order: u64) -> Key {
        Key { class: 9, order }
    }

    fn ready(groups: &Groups, ready: Ready) -> Vec<u64> {
        groups.ready[ready as usize].iter().map(|key| key.order).collect()
    }

    #[test]
    fn a_group_is_ready_when_its_last_member_is_there_and_no_longer_when_one_goes() {
        let mut groups = Groups::default();
        groups.insert(key(3), &grouped(1, 3, 0, LAST_MEMBER), 10, 0);
        groups.insert(key(1), &grouped(1, 1, 0, MEMBER), 10, 0);
        assert_eq!(ready(&groups, Ready::Group), []);
        assert_eq!(ready(&groups, Ready::Start), [1]);
        assert_eq!(ready(&groups, Ready::Message), [1, 3], "each is a whole message");
        groups.insert(key(2), &grouped(1, 2, 0, MEMBER), 0, 0);
        assert_eq!(ready(&groups, Ready::Group), [1, 2, 3]);
        assert_eq!(ready(&groups, Ready::StartOfGroup), [1]);
        groups.remove(key(2));
        assert_eq!(ready(&groups, Ready::Group), []);
        groups.remove(key(1));
        groups.remove(key(3));
        assert!(groups.is_empty() && groups.messages.is_empty() && groups.groups.is_empty());
        assert!(groups.ready.iter().all(BTreeSet::is_empty) && groups.members.is_empty());
    }

    #[test]
    fn a_message_is_whole_when_its_segments_follow_each_other() {
        let mut groups = Groups::default();
        groups.insert(key(1), &grouped(1, 1, 0, PART), 10, 0);
        groups.insert(key(5), &grouped(1, 1, 20, LAST_PART), 5, 0);
        assert_eq!((ready(&groups, Ready::Message), groups.whole(key(1))), (vec![], None));
        groups.insert(key(7), &grouped(1, 1, 10, PART), 10, 0);
        groups.insert(key(9), &grouped(1, 1, 10, PART), 10, 0);
        assert_eq!(ready(&groups, Ready::Message), [1, 5, 7, 9], "one is there twice");
        assert_eq!(ready(&groups, Ready::Head), [1]);
        assert_eq!(groups.whole(key(1)), Some(vec![key(1), key(7), key(5)]));
        groups.remove(key(7));
        assert_eq!(groups.whole(key(1)), Some(vec![key(1), key(9), key(5)]));
        groups.remove(key(9));
        assert_eq!(ready(&groups, Ready::Head), []);
    }

    /// Reports carry no data, or some, and stand for what they are on; those of one kind belong together.
    #[test]
    fn reports_on_segments_are_put_together_by_kind() {
        let mut groups = Groups::default();
        let report = |feedback: Feedback, offset: i32, flags: u32, original_length: i32| Grouped {
            feedback: Some(feedback),
            original_length,
            ..grouped(1, 1, offset, flags)
        };
        groups.insert(key(1), &report(Feedback::COA, 0, PART, 10), 0, 0);
        groups.insert(key(2), &report(Feedback::COD, 0, PART, 10), 5, 0);
        groups.insert(key(3), &report(Feedback::COD, 10, LAST_PART, 7), 0, 0);
        assert_eq!(ready(&groups, Ready::Message), [1, 2, 3], "all that is to come is there");
        assert_eq!(ready(&groups, Ready::Head), [2]);
        assert_eq!(ready(&groups, Ready::StartHead), [2]);
        assert_eq!(groups.whole(key(2)), Some(vec![key(2), key(3)]));
        assert_eq!(groups.whole(key(1)), None);
        let (spot, member) = groups.member(key(1)).unwrap();
        assert_eq!(groups.next_offset(spot, member), 10);
        groups.insert(key(4), &report(Feedback::COA, 10, LAST_PART, 7), 0, 0);
        assert_eq!(groups.whole(key(1)), Some(vec![key(1), key(4)]));
        assert_eq!(groups.next_at(Spot { offset: 10, ..spot }, None), Some(key(3)), "of any kind");
        (1..=4).for_each(|order| groups.remove(key(order)));
        assert!(groups.is_empty() && groups.messages.is_empty() && groups.members.is_empty());
    }

    #[test]
    fn segments_of_members_of_a_group() {
        let mut groups = Groups::default();
        groups.insert(key(1), &grouped(1, 1, 0, MEMBER | PART), 10, 4);
        groups.insert(key(2), &grouped(1, 1, 6, MEMBER | LAST_PART), 10, 0);
        groups.insert(key(3), &grouped(1, 2, 0, LAST_MEMBER), 10, 0);
        assert_eq!(ready(&groups, Ready::Group), [1, 2, 3]);
        assert_eq!(ready(&groups, Ready::HeadInGroup), [1, 3]);
        let (spot, member) = groups.member(key(1)).unwrap();
        assert_eq!(groups.next_offset(spot, member), 6, "properties are not counted");
        groups.remove(key(2));
        assert_eq!(groups.next_offset(spot, member), 10);
        assert_eq!(ready(&groups, Ready::Message), [3]);
    }

    #[test]
    fn one_with_nothing_but_an_id_is_always_ready() {
        let mut groups = Groups::default();
        groups.insert(key(1), &grouped(1, 1, 0, 1), 10, 0);
        assert!(groups.ready.iter().all(|ready| ready.len() == 1));
        groups.remove(key(1));
        assert!(groups.is_empty() && groups.members.is_empty());
    }

    /// A thousand members: what one more costs does not grow.
    #[test]
    fn segments_in_any_order() {
        let mut groups = Groups::default();
        let numbers = (0..1_000_u64).map(|number| number * 367 % 1_000);
        for (count, number) in numbers.enumerate() {
            let flags = if number == 999 { LAST_PART } else { PART };
            groups.insert(key(number), &grouped(1, 1, number as i32 * 10, flags), 10, 0);
            assert_eq!(ready(&groups, Ready::Message).len(), if count == 999 { 1_000 } else { 0 });
        }
        assert_eq!(groups.whole(key(0)).unwrap().len(), 1_000);
    }
}
