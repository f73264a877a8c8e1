//! The rules of ONCE.md as tests of two machines, an area, and a variable called `time`.

mod clear;
mod cold;
mod disk;
mod files;
mod frames;
mod from_device;
mod general;
mod late;
mod ledger;
mod memory;
mod moved;
mod owed;
mod pair;
mod put_wait;
mod random;
mod rest;
mod room;
mod short;
mod time;
mod to_device;
mod upkeep;
