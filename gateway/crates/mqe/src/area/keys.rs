//! The keyed state of the area in the store: keys that begin with `d`, and their values. Big-endian.
//!
//! | key | value |
//! |---|---|
//! | `dD` name | version, number, incarnations given and in force, session of the last RESUME, flags |
//! | `dM` number | mark: when, then priority and order key of each; 255 and the id of those below it that were not handed out |
//! | `dC` number | counters; there from the first one on that is not 0. The first is not used: what was taken in follows from the others |
//! | `dP` number incarnation | put mark: highest sequence, gaps below it, refusals, and puts that wait for an entry of the outbox |
//! | `dT` number id | tombstone: when |
//! | `dX` number | purge: up to which id, then the ids that stay |
//! | `dO` id | owed for a message that has ended: what (1), reason (4), the device's name |
//! | `dK` number id | parked message: when |
//! | `dE` | counters of devices that were only parked for, and are forgotten |
//! | `dI` | identities of the store, each with its first start |
//! | `dN` | the number of the next device |

use bytes::{Buf, BufMut};
use store::Id;

use super::device::{Device, Flags, Mark};
use crate::wire::{Cursor, DecodeError};
use crate::{DeviceName, Incarnation, SessionId, StoreIdentity};

pub(super) const AREA: u8 = b'd';
pub(super) const DEVICE: &[u8] = b"dD";
pub(super) const MARK: &[u8] = b"dM";
pub(super) const COUNTERS: &[u8] = b"dC";
pub(super) const PUTS: &[u8] = b"dP";
pub(super) const TOMBSTONE: &[u8] = b"dT";
pub(super) const CLEARING: &[u8] = b"dX";
pub(super) const OWED: &[u8] = b"dO";
pub(super) const PARKED: &[u8] = b"dK";
pub(super) const PARKED_ENDS: &[u8] = b"dE";
pub(super) const IDENTITIES: &[u8] = b"dI";
pub(super) const NEXT_NUMBER: &[u8] = b"dN";

const RECORD_VERSION: u8 = 1;

pub(super) fn device(name: &DeviceName) -> Vec<u8> {
    [DEVICE, name.trimmed()].concat()
}

pub(super) fn mark(number: u32) -> Vec<u8> {
    [MARK, &number.to_be_bytes()].concat()
}

pub(super) fn counters(number: u32) -> Vec<u8> {
    [COUNTERS, &number.to_be_bytes()].concat()
}

pub(super) fn clearing(number: u32) -> Vec<u8> {
    [CLEARING, &number.to_be_bytes()].concat()
}

pub(super) fn puts(number: u32, incarnation: Incarnation) -> Vec<u8> {
    [PUTS, &number.to_be_bytes(), &incarnation.0.to_be_bytes()].concat()
}

pub(super) fn tombstone(number: u32, id: Id) -> Vec<u8> {
    [TOMBSTONE, &number.to_be_bytes(), &id.as_u64().to_be_bytes()].concat()
}

pub(super) fn owed(id: Id) -> Vec<u8> {
    [OWED, &id.as_u64().to_be_bytes()].concat()
}

pub(super) fn parked(number: u32, id: Id) -> Vec<u8> {
    [PARKED, &number.to_be_bytes(), &id.as_u64().to_be_bytes()].concat()
}

/// Number and what follows it, of a key behind its two letters.
pub(super) fn numbered(key: &[u8]) -> Option<(u32, u64)> {
    let mut rest = key.get(2..)?;
    let number = rest.try_get_u32().ok()?;
    let more = match rest.len() {
        0 => 0,
        4 => u64::from(rest.get_u32()),
        8 => rest.get_u64(),
        _ => return None,
    };
    Some((number, more))
}

pub(super) fn device_value(device: &Device) -> Vec<u8> {
    let mut out = Vec::with_capacity(22);
    out.put_u8(RECORD_VERSION);
    out.put_u32(device.number);
    out.put_u32(device.given.0);
    out.put_u32(device.in_force.0);
    out.put_u64(device.last_session.0);
    out.put_u8(device.flags.to_byte());
    out
}

pub(super) fn device_from(name: DeviceName, value: &[u8]) -> Result<Device, DecodeError> {
    const WHAT: &str = "device record";
    let mut cursor = Cursor::new(value);
    let version = cursor.u8(WHAT)?;
    if version != RECORD_VERSION {
        return Err(cursor.error(WHAT, crate::DecodeErrorKind::Code { found: version }));
    }
    let mut device = Device::new(name, cursor.u32(WHAT)?);
    device.given = Incarnation(cursor.u32(WHAT)?);
    device.in_force = Incarnation(cursor.u32(WHAT)?);
    device.last_session = SessionId(cursor.u64(WHAT)?);
    device.flags = Flags::from_byte(cursor.u8(WHAT)?);
    cursor.finish(WHAT)?;
    Ok(device)
}

/// In a mark, in the place of a priority: this message was not handed out.
const EXCEPT: u8 = 0xFF;

pub(super) fn mark_value(mark: &Mark) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + 9 * (mark.orders.len() + mark.except.len()));
    out.put_u64(mark.when_ms);
    for (priority, order) in &mark.orders {
        out.put_u8(*priority);
        out.put_u64(*order);
    }
    for id in &mark.except {
        out.put_u8(EXCEPT);
        out.put_u64(id.as_u64());
    }
    out
}

pub(super) fn mark_from(value: &[u8]) -> Result<Mark, DecodeError> {
    const WHAT: &str = "in-doubt mark";
    let mut cursor = Cursor::new(value);
    let mut mark = Mark { when_ms: cursor.u64(WHAT)?, ..Mark::default() };
    while cursor.left() > 0 {
        match (cursor.u8(WHAT)?, cursor.u64(WHAT)?) {
            (EXCEPT, id) => drop(mark.except.insert(Id::from_u64(id))),
            order => mark.orders.push(order),
        }
    }
    Ok(mark)
}

pub(super) fn identities_value(identities: &[(u32, StoreIdentity)]) -> Vec<u8> {
    identities.iter().flat_map(|(start, identity)| [&start.to_be_bytes()[..], &identity.0].concat()).collect()
}

pub(super) fn identities_from(value: &[u8]) -> Result<Vec<(u32, StoreIdentity)>, DecodeError> {
    const WHAT: &str = "store identities";
    let mut cursor = Cursor::new(value);
    let mut identities = Vec::new();
    while cursor.left() > 0 {
        identities.push((cursor.u32(WHAT)?, StoreIdentity(cursor.array(WHAT)?)));
    }
    Ok(identities)
}
