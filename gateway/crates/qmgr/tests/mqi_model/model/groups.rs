//! Groups and segments: what IBM documents under "Logical and physical ordering", MQPMO_LOGICAL_ORDER, MQGMO_LOGICAL_ORDER,
//! MQGMO_COMPLETE_MSG, MQGMO_ALL_MSGS_AVAILABLE, and the reasons 2185, 2241, 2242, 2245, 2253.

use super::{Message, Model, State};
use crate::calls::value::*;
use crate::calls::{Hobj, Id, Md, NO_ID};

/// Where a handle stands in a group or a logical message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) group_id: Id,
    pub(crate) seq: i32,
    /// Offset of the next segment; only while a logical message is incomplete.
    pub(crate) next_offset: i32,
    pub(crate) in_group: bool,
    pub(crate) group_ended: bool,
    pub(crate) last_in_group: bool,
    pub(crate) in_message: bool,
    pub(crate) persistence: i32,
    pub(crate) synced: bool,
    /// The last call said LOGICAL_ORDER.
    pub(crate) logical: bool,
}

impl Progress {
    /// After a message with this descriptor and length of data.
    pub(crate) fn after(md: &Md, length: usize, synced: bool, logical: bool) -> Self {
        let in_group = md.flags & (MF_IN_GROUP | MF_LAST_IN_GROUP) != 0;
        let segment = md.flags & (MF_SEGMENT | MF_LAST_SEGMENT) != 0;
        let last_in_group = md.flags & MF_LAST_IN_GROUP != 0;
        let in_message = segment && md.flags & MF_LAST_SEGMENT == 0;
        Self {
            group_id: md.group_id,
            seq: md.seq,
            next_offset: md.offset + length_of(md, length),
            in_group,
            group_ended: in_group && last_in_group && !in_message,
            last_in_group,
            in_message,
            persistence: md.persistence,
            synced,
            logical,
        }
    }

    pub(crate) fn open_group(&self) -> bool {
        self.in_group && !self.group_ended
    }

    pub(crate) fn unfinished(&self) -> bool {
        self.in_message || self.open_group()
    }

    /// The reason for an incomplete group or message after a call in logical order, or 0.
    pub(crate) fn incomplete(&self) -> i32 {
        match self {
            _ if !self.logical => 0,
            _ if self.in_message => 2242,
            _ if self.open_group() => 2241,
            _ => 0,
        }
    }
}

/// The length that a segment stands for: a report has it of its original (MQMD OriginalLength).
fn length_of(md: &Md, length: usize) -> i32 {
    if md.msg_type == 4 && md.original_length >= 0 { md.original_length } else { length as i32 }
}

impl Model {
    /// Checks and fills group id, sequence number and offset of a message to be put. Gives the warning, and the state of the
    /// handle after the put (`None` if there is no handle).
    pub(crate) fn put_progress(
        &mut self,
        hobj: Option<Hobj>,
        md: &mut Md,
        options: i32,
        length: usize,
        synced: bool,
    ) -> Result<(i32, Option<Option<Progress>>), i32> {
        if md.flags & MF_LAST_IN_GROUP != 0 {
            md.flags |= MF_IN_GROUP;
        }
        if md.flags & MF_LAST_SEGMENT != 0 {
            md.flags |= MF_SEGMENT;
        }
        let in_group = md.flags & MF_IN_GROUP != 0;
        let segment = md.flags & MF_SEGMENT != 0;
        if segment && md.flags & MF_LAST_SEGMENT == 0 && length == 0 {
            return Err(2253);
        }
        let before = hobj.and_then(|hobj| self.handles.get(&hobj)).and_then(|handle| handle.putting.clone());
        let logical = options & PMO_LOGICAL_ORDER != 0;
        let mut warning = 0;
        let unfinished = before.as_ref().filter(|progress| progress.unfinished());
        if logical {
            if let Some(progress) = unfinished {
                let same_group = progress.in_group == in_group;
                let same_last = progress.last_in_group == (md.flags & MF_LAST_IN_GROUP != 0);
                if progress.in_message && (!segment || !same_group || !same_last) {
                    return Err(2242);
                }
                if !in_group && !progress.in_message {
                    return Err(2241);
                }
                if progress.persistence != md.persistence {
                    return Err(2185);
                }
                if progress.synced != synced {
                    return Err(2245);
                }
                md.group_id = progress.group_id;
                (md.seq, md.offset) = if progress.in_message {
                    (progress.seq, progress.next_offset)
                } else {
                    (progress.seq + 1, 0)
                };
            } else {
                md.group_id = if in_group || segment { self.new_id() } else { NO_ID };
                (md.seq, md.offset) = (1, 0);
            }
        } else {
            if let Some(progress) = unfinished {
                warning = progress.incomplete();
            }
            if !in_group && !segment {
                md.group_id = NO_ID;
            } else if md.group_id == NO_ID {
                md.group_id = self.new_id();
            }
            if !in_group {
                md.seq = 1;
            }
            if !segment {
                md.offset = 0;
            }
        }
        md.original_length = if segment { length as i32 } else { -1 };
        Ok((warning, hobj.map(|_| Some(Progress::after(md, length, synced, logical)))))
    }

    fn usable(message: &Message, hobj: Hobj) -> bool {
        message.state == State::Available && message.locked_by.is_none_or(|by| by == hobj)
    }

    /// The segments of a logical message in order, if all of them can be had. Reports are `put_together` only with those of
    /// their kind ("Reports and segmented messages").
    pub(crate) fn segments(
        &self,
        object: usize,
        hobj: Hobj,
        first: &Message,
        put_together: bool,
    ) -> Option<Vec<u64>> {
        let kind = put_together && first.md.msg_type == 4;
        if first.md.flags & MF_SEGMENT == 0 {
            return Some(vec![first.serial]);
        }
        let mut found = Vec::new();
        let mut offset = 0;
        loop {
            let mut all = self.objects[object].messages.iter().filter(|m| Self::usable(m, hobj));
            let next = all.find(|m| {
                m.md.flags & MF_SEGMENT != 0
                    && m.md.group_id == first.md.group_id
                    && m.md.seq == first.md.seq
                    && m.md.offset == offset
                    && (!kind || m.md.msg_type == 4 && m.md.feedback == first.md.feedback)
            })?;
            found.push(next.serial);
            if next.md.flags & MF_LAST_SEGMENT != 0 {
                return Some(found);
            }
            let length = length_of(&next.md, next.data.len());
            if length <= 0 {
                return None;
            }
            offset += length;
        }
    }

    /// Whether all messages of this one's group can be had, with all their segments.
    pub(crate) fn group_complete(&self, object: usize, hobj: Hobj, message: &Message) -> bool {
        if message.md.flags & MF_IN_GROUP == 0 {
            return self.segments(object, hobj, message, false).is_some();
        }
        let mut seq = 1;
        loop {
            let mut all = self.objects[object].messages.iter().filter(|m| Self::usable(m, hobj));
            let member = all.find(|m| {
                m.md.flags & MF_IN_GROUP != 0
                    && m.md.group_id == message.md.group_id
                    && m.md.seq == seq
                    && m.md.offset == 0
            });
            let Some(member) = member else { return false };
            if self.segments(object, hobj, member, false).is_none() {
                return false;
            }
            if member.md.flags & MF_LAST_IN_GROUP != 0 {
                return true;
            }
            seq += 1;
        }
    }
}
