//! The lanes into the core: control, complete, intake. A flood of puts does not hold up confirms, and the order
//! within a connection holds all the same.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use tokio::sync::mpsc;

/// Which lane a command takes by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// Stop, administration, ends of connections.
    Control,
    /// Confirm, commit, back-out: what makes room.
    Complete,
    /// Put, get, open: what takes room.
    Intake,
}

/// How many there are.
const LANES: usize = 3;

/// Commands that may wait in each lane before their senders wait.
const LANE_COMMANDS_MAX: [usize; LANES] = [256, 4096, 4096];

/// Commands taken from each lane in one round: the fixed ratio.
const LANE_COMMANDS_ROUND: [usize; LANES] = [32, 128, 64];

/// The service is stopping: the core takes no more commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the service is stopping")]
pub(crate) struct Stopped;

/// A command on its way, with the note that its connection has one waiting in that lane.
struct Waiting<C> {
    command: C,
    note: Note,
}

/// Counts a command of a connection as waiting until the core has applied it.
struct Note {
    waiting: Arc<[AtomicU32; LANES]>,
    lane: usize,
}

impl Drop for Note {
    fn drop(&mut self) {
        self.waiting[self.lane].fetch_sub(1, Ordering::AcqRel);
    }
}

/// One connection's way into the core.
pub(crate) struct LaneSender<C> {
    senders: [mpsc::Sender<Waiting<C>>; LANES],
    waiting: Arc<[AtomicU32; LANES]>,
}

impl<C> LaneSender<C> {
    /// A sender for another connection: the order is kept per connection only.
    pub(crate) fn for_connection(&self) -> Self {
        Self { senders: self.senders.clone(), waiting: Arc::default() }
    }

    /// Sends a command: by its lane, or by the one that holds commands of this connection. A faster one would
    /// overtake them; and a slower one may be taken first too, when the faster is long.
    pub(crate) async fn send(&self, lane: Lane, command: C) -> Result<(), Stopped> {
        let in_use = (0..LANES).find(|index| self.waiting[*index].load(Ordering::Acquire) > 0);
        let lane = in_use.unwrap_or(lane as usize);
        self.waiting[lane].fetch_add(1, Ordering::AcqRel);
        let note = Note { waiting: Arc::clone(&self.waiting), lane };
        self.senders[lane].send(Waiting { command, note }).await.map_err(|_| Stopped)
    }
}

impl<C> std::fmt::Debug for LaneSender<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneSender").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

/// The core's end of the lanes.
pub(crate) struct Lanes<C> {
    receivers: [mpsc::Receiver<Waiting<C>>; LANES],
    /// The command that ended the wait, until the next round takes it.
    first: Option<Waiting<C>>,
}

/// A pair of ends.
pub(crate) fn lanes<C>() -> (LaneSender<C>, Lanes<C>) {
    let (control, control_rx) = mpsc::channel(LANE_COMMANDS_MAX[0]);
    let (complete, complete_rx) = mpsc::channel(LANE_COMMANDS_MAX[1]);
    let (intake, intake_rx) = mpsc::channel(LANE_COMMANDS_MAX[2]);
    let sender = LaneSender { senders: [control, complete, intake], waiting: Arc::default() };
    (sender, Lanes { receivers: [control_rx, complete_rx, intake_rx], first: None })
}

impl<C> Lanes<C> {
    /// Waits until a command is there. False when all senders are gone. Cancel safe.
    pub(crate) async fn ready(&mut self) -> bool {
        if self.first.is_some() {
            return true;
        }
        let receivers = &mut self.receivers;
        let first = poll_fn(|cx| {
            let mut open = false;
            for receiver in receivers.iter_mut() {
                match receiver.poll_recv(cx) {
                    Poll::Ready(Some(waiting)) => return Poll::Ready(Some(waiting)),
                    Poll::Ready(None) => {}
                    Poll::Pending => open = true,
                }
            }
            if open { Poll::Pending } else { Poll::Ready(None) }
        });
        self.first = first.await;
        self.first.is_some()
    }

    /// One round: what waits, in the fixed ratio, each applied by `apply` before its connection counts as free.
    /// Says how many there were.
    pub(crate) fn round(&mut self, mut apply: impl FnMut(C)) -> usize {
        let mut taken = 0;
        let mut one = |Waiting { command, note }: Waiting<C>| {
            apply(command);
            drop(note);
            taken += 1;
        };
        if let Some(first) = self.first.take() {
            one(first);
        }
        for (receiver, most) in self.receivers.iter_mut().zip(LANE_COMMANDS_ROUND) {
            for _ in 0..most {
                let Ok(waiting) = receiver.try_recv() else { break };
                one(waiting);
            }
        }
        taken
    }
}

impl<C> std::fmt::Debug for Lanes<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lanes").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_faster_lane_overtakes_another_connection_but_not_its_own() {
        let (sender, mut lanes) = lanes();
        let (one, two) = (sender.for_connection(), sender.for_connection());
        one.send(Lane::Intake, "one put").await.unwrap();
        one.send(Lane::Complete, "one commit").await.unwrap();
        two.send(Lane::Complete, "two confirm").await.unwrap();
        let mut seen = Vec::new();
        assert!(lanes.ready().await);
        lanes.round(|command| seen.push(command));
        assert_eq!(seen, ["two confirm", "one put", "one commit"]);
        one.send(Lane::Complete, "one commit again").await.unwrap();
        two.send(Lane::Intake, "two put").await.unwrap();
        seen.clear();
        lanes.round(|command| seen.push(command));
        assert_eq!(seen, ["one commit again", "two put"]);
    }

    #[tokio::test]
    async fn a_slower_lane_does_not_overtake_a_long_faster_one() {
        let (sender, mut lanes) = lanes();
        let (others, mine) = (sender.for_connection(), sender.for_connection());
        for _ in 0..200 {
            others.send(Lane::Complete, "confirm of another").await.unwrap();
        }
        mine.send(Lane::Complete, "my unlock").await.unwrap();
        mine.send(Lane::Intake, "my lock").await.unwrap();
        let mut seen = Vec::new();
        while lanes.round(|command| seen.push(command)) > 0 {}
        let mine: Vec<_> = seen.into_iter().filter(|command| command.starts_with("my")).collect();
        assert_eq!(mine, ["my unlock", "my lock"]);
    }

    #[tokio::test]
    async fn a_round_takes_the_lanes_in_a_fixed_ratio() {
        let (sender, mut lanes) = lanes();
        let puts = sender.for_connection();
        for _ in 0..500 {
            puts.send(Lane::Intake, Lane::Intake).await.unwrap();
        }
        let confirms = sender.for_connection();
        for _ in 0..500 {
            confirms.send(Lane::Complete, Lane::Complete).await.unwrap();
        }
        let mut seen = Vec::new();
        lanes.round(|command| seen.push(command));
        let count = |lane| seen.iter().filter(|seen| **seen == lane).count();
        assert_eq!((count(Lane::Complete), count(Lane::Intake)), (128, 64));
    }
}
