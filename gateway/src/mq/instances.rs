//! How many sockets a channel serves: MAXINST of all clients, MAXINSTC of one address (mq-objects.md 3.7). What is over
//! is refused with the status that clients know as 2537, channel not available.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mq_wire::ChannelName;

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    #[error("the channel has as many instances as MAXINST allows")]
    Channel,
    #[error("the channel has as many instances of this client as MAXINSTC allows")]
    Client,
}

/// The sockets that are served, by channel and address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Instances {
    counts: Arc<Mutex<HashMap<ChannelName, Counts>>>,
}

#[derive(Debug, Default)]
struct Counts {
    all: u32,
    by_client: HashMap<IpAddr, u32>,
}

impl Instances {
    /// Counts one more until the guard is dropped.
    pub(super) fn enter(
        &self,
        channel: ChannelName,
        client: IpAddr,
        all_max: u32,
        client_max: u32,
    ) -> Result<Instance, Full> {
        let mut counts = self.lock();
        let counted = counts.entry(channel).or_default();
        let of_client = counted.by_client.get(&client).copied().unwrap_or_default();
        let full = if counted.all >= all_max {
            Some(Full::Channel)
        } else if of_client >= client_max {
            Some(Full::Client)
        } else {
            None
        };
        if let Some(full) = full {
            if counted.all == 0 {
                counts.remove(&channel);
            }
            return Err(full);
        }
        counted.all += 1;
        counted.by_client.insert(client, of_client + 1);
        Ok(Instance { instances: self.clone(), channel, client })
    }

    fn leave(&self, channel: &ChannelName, client: &IpAddr) {
        let mut counts = self.lock();
        let Some(counted) = counts.get_mut(channel) else { return };
        counted.all = counted.all.saturating_sub(1);
        if let Some(of_client) = counted.by_client.get_mut(client) {
            *of_client = of_client.saturating_sub(1);
            if *of_client == 0 {
                counted.by_client.remove(client);
            }
        }
        if counted.all == 0 {
            counts.remove(channel);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChannelName, Counts>> {
        // Every change is whole before anything could panic.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that counts.
#[derive(Debug)]
pub(super) struct Instance {
    instances: Instances,
    channel: ChannelName,
    client: IpAddr,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.instances.leave(&self.channel, &self.client);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn channel_and_client_have_their_limits() {
        let instances = Instances::default();
        let channel: ChannelName = "DEV.APP.SVRCONN".parse().unwrap();
        let client = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
        let enter = |last| instances.enter(channel, client(last), 3, 2);
        let first = enter(1).unwrap();
        let _second = enter(1).unwrap();
        assert_eq!(enter(1).unwrap_err(), Full::Client);
        let _third = enter(2).unwrap();
        assert_eq!(enter(2).unwrap_err(), Full::Channel);
        let other: ChannelName = "DEV.ADMIN.SVRCONN".parse().unwrap();
        let _other = instances.enter(other, client(1), 1, 1).unwrap();
        drop(first);
        let again = enter(1).unwrap();
        drop((again, _second, _third, _other));
        assert!(instances.lock().is_empty(), "nothing is left of those that went");
        assert_eq!(instances.enter(channel, client(1), 0, 9).unwrap_err(), Full::Channel);
        assert!(instances.lock().is_empty());
    }
}
