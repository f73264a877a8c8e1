//! Where the value of each key lies. The keys themselves are not kept: 96 bits of two keyed hashes stand for one, so
//! that a key costs about 30 bytes whatever its length. With a hundred million keys the chance that any two ever share
//! their bits is below one in 10^12.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

use crate::Place;

#[derive(Debug, Default)]
pub(super) struct Keys {
    places: HashMap<KeyHash, Place, BuildHasherDefault<Taken>>,
    hashers: (RandomState, RandomState),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyHash([u32; 3]);

impl Hash for KeyHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) << 32 | u64::from(self.0[1]));
    }
}

/// Takes what is a hash already.
#[derive(Debug, Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |value, byte| value.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

impl Keys {
    fn hash(&self, key: &[u8]) -> KeyHash {
        let (first, second) = (self.hashers.0.hash_one(key), self.hashers.1.hash_one(key));
        KeyHash([(first >> 32) as u32, first as u32, second as u32])
    }

    /// The place from now on; gives the one before.
    pub(super) fn insert(&mut self, key: &[u8], place: Place) -> Option<Place> {
        self.places.insert(self.hash(key), place)
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<Place> {
        self.places.remove(&self.hash(key))
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Place> {
        self.places.get(&self.hash(key)).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.places.capacity() * (size_of::<(KeyHash, Place)>() + 1)
    }
}
