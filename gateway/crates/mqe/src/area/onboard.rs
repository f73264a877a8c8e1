//! Which devices there are: enrolment by pattern, listing, removal, reset (INTERFACE.md 2, mqe.md 2.6).

use store::{Batch, Commit};

use super::device::{Device, Flags};
use super::{Area, AreaEffect, keys};
use crate::frame::{ErrorCode, Frame};
use crate::{DeviceName, RequestId};

/// Why a device could not be added, removed or reset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OnboardError {
    /// There is no such device.
    #[error("device {device} is not known")]
    Unknown {
        /// The device.
        device: DeviceName,
    },
    /// It exists already.
    #[error("device {device} exists already")]
    Exists {
        /// The device.
        device: DeviceName,
    },
    /// The disk is full.
    #[error("the disk has no room for device {device}")]
    NoRoom {
        /// The device.
        device: DeviceName,
    },
    /// It still has messages.
    #[error("device {device} still has {messages} messages: let it fetch them, or purge them first")]
    HasMessages {
        /// The device.
        device: DeviceName,
        /// Messages waiting, in doubt, or being taken in.
        messages: usize,
    },
}

/// Why a device that came is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoDevice {
    /// It is not known, and may not enrol itself.
    Unknown,
    /// It may, when the disk has room again.
    NoRoom,
}

impl Area {
    /// Adds a device that an operator lists.
    pub fn add_device(&mut self, device: DeviceName, batch: &mut Batch) -> Result<(), OnboardError> {
        match self.devices.number(&device) {
            Some(number) if self.is_parked(number) => {
                self.unpark(number, true, batch);
                return Ok(());
            }
            Some(_) => return Err(OnboardError::Exists { device }),
            None => {}
        }
        if self.is_short() {
            return Err(OnboardError::NoRoom { device });
        }
        self.create(device, true, batch);
        Ok(())
    }

    /// Removes a device that has no messages (mqe.md 2.6, 4: refuse otherwise). A connection of it ends.
    pub fn remove_device(
        &mut self,
        device: &DeviceName,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) -> Result<(), OnboardError> {
        let number = self.number(device)?;
        let Some(found) = self.devices.get(number) else {
            return Err(OnboardError::Unknown { device: *device });
        };
        let messages = found.messages() + found.clearing() + self.cold.count(number);
        if messages > 0 {
            return Err(OnboardError::HasMessages { device: *device, messages });
        }
        let mut commit = Commit::default();
        commit.remove(keys::device(device));
        commit.remove(keys::mark(number));
        commit.remove(keys::counters(number));
        commit.remove(keys::clearing(number));
        for (incarnation, mark) in &found.puts {
            commit.remove(keys::puts(number, *incarnation));
            for (_, entry) in mark.waits() {
                self.put_waits.remove(&entry);
            }
        }
        for id in found.live.iter().flat_map(|live| &live.tombs) {
            commit.remove(keys::tombstone(number, *id));
        }
        // So that the number is not given again: what an old journal says of it is of this device.
        commit.set(keys::NEXT_NUMBER, self.next_number.to_be_bytes().to_vec());
        if let Some(link) = found.link() {
            let (conn, needs) = (link.conn, Some(batch.position()));
            let frame = Frame::error(ErrorCode::UNKNOWN_DEVICE, 0, format!("device {device} was removed"));
            out.push(AreaEffect::Frame { conn, needs, request: RequestId(0), frame });
            out.push(AreaEffect::Close { conn, why: ErrorCode::UNKNOWN_DEVICE });
            self.links.remove(&conn);
        }
        if let Some(at) = found.live.as_ref().and_then(|live| live.timer) {
            self.timers.remove(&(at, number));
        }
        if !found.flags.is(Flags::LISTED) {
            self.enrolled -= 1;
        }
        self.devices.remove(number);
        self.newest = batch.position();
        batch.commit(commit);
        Ok(())
    }

    /// Lets the next HELLO of the device in, whatever its incarnation, under a new one (ONCE.md 2).
    pub fn reset_device(&mut self, device: &DeviceName, batch: &mut Batch) -> Result<(), OnboardError> {
        let number = self.number(device)?;
        if let Some(found) = self.devices.get_mut(number) {
            found.flags.set(Flags::RESET, true);
            let mut commit = Commit::default();
            found.set_record(&mut commit);
            found.commit(commit, batch, &mut self.newest);
        }
        Ok(())
    }

    pub(super) fn number(&self, device: &DeviceName) -> Result<u32, OnboardError> {
        let known = self.devices.number(device).filter(|number| !self.is_parked(*number));
        known.ok_or(OnboardError::Unknown { device: *device })
    }

    /// Whether a name that is not known would be let in.
    pub fn may_enrol(&self, device: &DeviceName) -> bool {
        let onboarding = &self.settings.onboarding;
        let name = device.trimmed();
        let may = onboarding.patterns.iter().any(|pattern| matches(pattern.as_bytes(), name));
        may && self.enrolled < onboarding.devices_max
    }

    /// The device's number; it is created if it may enrol itself.
    pub(super) fn find_or_enrol(&mut self, device: &DeviceName, batch: &mut Batch) -> Result<u32, NoDevice> {
        let parked = self.devices.number(device);
        if let Some(number) = parked.filter(|number| !self.is_parked(*number)) {
            return Ok(number);
        }
        if !self.may_enrol(device) {
            return Err(NoDevice::Unknown);
        }
        if self.is_short() {
            return Err(NoDevice::NoRoom);
        }
        if let Some(number) = parked {
            self.unpark(number, false, batch);
            return Ok(number);
        }
        Ok(self.create(*device, false, batch))
    }

    /// The record of one that is not known.
    pub(super) fn create_parked(&mut self, name: DeviceName, batch: &mut Batch) -> u32 {
        // Not counted as one that enrolled itself.
        let number = self.create_with(name, Flags::PARKED, batch);
        self.parked_numbers.insert(number);
        number
    }

    /// The record of a new device is real by itself: it may stay when the unit of its first message is dropped.
    fn create(&mut self, name: DeviceName, listed: bool, batch: &mut Batch) -> u32 {
        if !listed {
            self.enrolled += 1;
        }
        let flags = if listed { Flags::LISTED } else { Flags::default() };
        self.create_with(name, flags, batch)
    }

    fn create_with(&mut self, name: DeviceName, flags: Flags, batch: &mut Batch) -> u32 {
        let number = self.next_number;
        self.next_number += 1;
        let mut device = Device::new(name, number);
        device.flags = flags;
        let mut commit = Commit::default();
        device.set_record(&mut commit);
        device.commit(commit, batch, &mut self.newest);
        self.devices.insert(device);
        number
    }
}

/// Whether the name fits a pattern in which `*` stands for any characters.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|b| *b == b'*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts: Vec<&[u8]> = parts.collect();
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let found = (0..=rest.len()).find(|at| rest[*at..].starts_with(part));
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        let check = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        assert!(check("DEV*", "DEV00042"));
        assert!(check("DEV*", "DEV"));
        assert!(!check("DEV*", "XDEV1"));
        assert!(check("*", "ANY"));
        assert!(check("A*B*C", "AxBByC"));
        assert!(!check("A*B*C", "AxC"));
        assert!(check("EXACT", "EXACT"));
        assert!(!check("EXACT", "EXACTLY"));
        assert!(!check("AB*BA", "ABA"));
    }
}
