//! How many files and sockets a process may have: raised for fleets, as far as the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows so many descriptors if the system does. How many are allowed now.
pub(super) fn raise_descriptors(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(now) = current.filter(|now| *now < wanted) else { return current.unwrap_or(u64::MAX) };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => now,
    }
}
