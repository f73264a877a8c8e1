//! All devices that are known, by number and in the order of their names. There may be a million, most of them idle: a
//! device stands in a chunk without a block of its own, and its name only there.

use std::collections::BTreeMap;

use super::device::Device;
use crate::DeviceName;

/// Devices in a chunk.
const CHUNK: u32 = 32;
/// Most numbers in one piece of the order of names.
const PIECE_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Devices {
    /// By the number's upper part; numbers are given one after the other, so chunks are nearly full.
    chunks: BTreeMap<u32, Box<[Option<Device>]>>,
    names: Vec<Piece>,
    count: usize,
}

/// A piece of the order of names.
#[derive(Debug)]
struct Piece {
    /// No name in it is before this one.
    from: DeviceName,
    /// In the order of their names; never empty.
    numbers: Vec<u32>,
}

impl Devices {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, number: u32) -> Option<&Device> {
        self.chunks.get(&(number / CHUNK))?.get((number % CHUNK) as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Device> {
        self.chunks.get_mut(&(number / CHUNK))?.get_mut((number % CHUNK) as usize)?.as_mut()
    }

    /// The number of a device.
    pub(super) fn number(&self, name: &DeviceName) -> Option<u32> {
        let (piece, at) = self.find(name).ok()?;
        Some(self.names[piece].numbers[at])
    }

    /// Adds a device whose name and number are new.
    pub(super) fn insert(&mut self, device: Device) {
        let (name, number) = (device.name, device.number);
        match self.find(&name) {
            Ok((piece, at)) => self.names[piece].numbers[at] = number,
            Err((piece, at)) => self.insert_name(name, number, piece, at),
        }
        let chunk = self.chunks.entry(number / CHUNK).or_insert_with(|| (0..CHUNK).map(|_| None).collect());
        if chunk[(number % CHUNK) as usize].replace(device).is_none() {
            self.count += 1;
        }
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<Device> {
        let name = self.get(number)?.name;
        if let Ok((piece, at)) = self.find(&name) {
            self.names[piece].numbers.remove(at);
            if self.names[piece].numbers.is_empty() {
                self.names.remove(piece);
            }
        }
        let chunk = self.chunks.get_mut(&(number / CHUNK))?;
        let device = chunk[(number % CHUNK) as usize].take()?;
        self.count -= 1;
        if chunk.iter().all(Option::is_none) {
            self.chunks.remove(&(number / CHUNK));
        }
        Some(device)
    }

    /// Those whose names are behind this one, in the order of the names.
    pub(super) fn after(&self, name: Option<&DeviceName>) -> impl Iterator<Item = &Device> + use<'_> {
        let (piece, at) = match name.map(|name| self.find(name)) {
            None => (0, 0),
            Some(Ok((piece, at))) => (piece, at + 1),
            Some(Err(place)) => place,
        };
        let first =
            self.names.get(piece).map_or(&[][..], |piece| piece.numbers.get(at..).unwrap_or_default());
        let rest = self.names.iter().skip(piece + 1).flat_map(|piece| piece.numbers.iter());
        first.iter().chain(rest).filter_map(|number| self.get(*number))
    }

    /// Those with this number and higher ones, in the order of their numbers.
    pub(super) fn starting_at(&self, number: u32) -> impl Iterator<Item = &Device> {
        let chunks = self.chunks.range(number / CHUNK..).flat_map(|(_, chunk)| chunk.iter().flatten());
        chunks.filter(move |device| device.number >= number)
    }

    /// All of them, in the order of their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Device> {
        self.chunks.values_mut().flat_map(|chunk| chunk.iter_mut().flatten())
    }

    /// Piece and place of a name, or those at which it would stand.
    fn find(&self, name: &DeviceName) -> Result<(usize, usize), (usize, usize)> {
        let piece = self.names.partition_point(|piece| piece.from <= *name).saturating_sub(1);
        let numbers = self.names.get(piece).map_or(&[][..], |piece| &piece.numbers);
        let found = numbers.binary_search_by(|number| {
            // Every number in the order has its device.
            self.get(*number).map_or(std::cmp::Ordering::Less, |device| device.name.cmp(name))
        });
        found.map(|at| (piece, at)).map_err(|at| (piece, at))
    }

    fn insert_name(&mut self, name: DeviceName, number: u32, mut piece: usize, mut at: usize) {
        let last = piece + 1 >= self.names.len();
        let full = self.names.get(piece).is_none_or(|found| found.numbers.len() >= PIECE_MAX);
        if full && last && self.names.get(piece).is_none_or(|found| at == found.numbers.len()) {
            // Names that come in their order fill the pieces.
            self.names.push(Piece { from: name, numbers: vec![number] });
            return;
        }
        if full {
            let middle = PIECE_MAX / 2;
            let behind = self.names[piece].numbers.split_off(middle);
            self.names[piece].numbers.shrink_to_fit();
            let from = behind.first().and_then(|number| self.get(*number)).map_or(name, |device| device.name);
            self.names.insert(piece + 1, Piece { from, numbers: behind });
            if at > middle {
                (piece, at) = (piece + 1, at - middle);
            }
        }
        let Piece { from, numbers } = &mut self.names[piece];
        *from = (*from).min(name);
        if numbers.len() == numbers.capacity() {
            numbers.reserve_exact(1 + numbers.len() / 8);
        }
        numbers.insert(at, number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn name(number: u32) -> DeviceName {
        DeviceName::new(&format!("DEV{number:06}")).unwrap()
    }

    fn check(devices: &Devices, expected: &BTreeMap<DeviceName, u32>) {
        assert_eq!(devices.len(), expected.len());
        assert!(
            devices
                .after(None)
                .map(|device| (device.name, device.number))
                .eq(expected.iter().map(|(a, b)| (*a, *b)))
        );
    }

    #[test]
    fn names_and_numbers_are_found() {
        let (mut devices, mut expected) = (Devices::default(), BTreeMap::new());
        // Names in one order, in the other, and mixed; then every third one goes.
        let mixed = (0..3_000).map(|number| number * 7_919 % 3_000);
        for (number, name) in (5_000..6_000).chain((3_000..5_000).rev()).chain(mixed).map(name).enumerate() {
            devices.insert(Device::new(name, number as u32));
            expected.insert(name, number as u32);
        }
        check(&devices, &expected);
        assert!(devices.names.iter().all(|piece| piece.numbers.len() <= PIECE_MAX));
        for number in (0..6_000).filter(|number| number % 3 == 0) {
            let found = devices.number(&name(number)).unwrap();
            assert_eq!(devices.get(found).map(|device| device.name), Some(name(number)));
            assert_eq!(devices.remove(found).map(|device| device.number), expected.remove(&name(number)));
            assert_eq!(devices.number(&name(number)), None);
        }
        check(&devices, &expected);
        for after in [0, 1, 2, 2_999, 3_000, 5_999, 9_999] {
            let behind = expected.range((std::ops::Bound::Excluded(name(after)), std::ops::Bound::Unbounded));
            assert!(
                devices.after(Some(&name(after))).map(|device| device.name).eq(behind.map(|(name, _)| *name))
            );
        }
        for number in expected.values() {
            devices.remove(*number);
        }
        assert!(devices.chunks.is_empty() && devices.names.is_empty());
    }

    /// DESIGN.md 9: what an idle device costs here, with what malloc takes.
    #[test]
    fn an_idle_device_is_small() {
        let mut devices = Devices::default();
        let count = 10_000;
        (0..count).for_each(|number| devices.insert(Device::new(name(number), number)));
        let block = |bytes: usize| (bytes + 8).next_multiple_of(16);
        let chunk = block(CHUNK as usize * size_of::<Option<Device>>());
        // A node of the map has eleven places for key and pointer, and may be half full.
        let chunks = devices.chunks.len() * (chunk + 2 * (4 + 16 + 2));
        let names: usize = devices.names.iter().map(|piece| block(piece.numbers.capacity() * 4)).sum();
        let bytes = chunks + names + devices.names.capacity() * size_of::<Piece>();
        assert!(bytes <= 145 * count as usize, "{}", bytes as f64 / f64::from(count));
    }
}
