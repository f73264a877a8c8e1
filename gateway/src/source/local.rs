//! A transmission queue of the embedded queue manager, drained by commands to the core: lock, hand over, unlock.

use std::sync::Arc;

use mq_wire::{Coding, Mqmd, QMgrName, QName, Reader};
use mqe_exits::{Direction, ExitMessage, Origin};
use qmgr::Holder;
use store::BodyFile;
use tokio::sync::Notify;

use super::RETRY_AFTER;
use super::listener::{BatchLimits, Pause, Taken, TransmissionQueue};
use crate::core::{Bodies, Command, CoreHandle, HandOver, HandedOver, Lane, LockedBody, Share, TakenKey};

/// The transmission queue of the embedded queue manager.
#[derive(Debug)]
pub(crate) struct LocalQueue {
    q_mgr: QMgrName,
    queue: QName,
    origin: Origin,
    holder: Holder,
    bodies: Bodies,
    /// Notified when something arrives on it.
    arrived: Arc<Notify>,
    core: Option<Arc<CoreHandle>>,
    /// The budget's part that the batch has.
    share: Option<Share>,
}

impl LocalQueue {
    pub(crate) fn new(
        q_mgr: QMgrName,
        queue: QName,
        holder: Holder,
        bodies: Bodies,
        arrived: Arc<Notify>,
    ) -> Self {
        let origin = Origin::new(&queue.to_string(), Direction::FromMq);
        Self { q_mgr, queue, origin, holder, bodies, arrived, core: None, share: None }
    }

    fn core(&self) -> Result<&Arc<CoreHandle>, Pause> {
        self.core.as_ref().ok_or(Pause::Recovery)
    }

    async fn lock(&self, limits: BatchLimits) -> Result<Vec<LockedBody>, Pause> {
        let (queue, holder) = (self.queue, self.holder);
        let lock = |answer| Command::Lock { queue, holder, limits, answer };
        let locked = self.core()?.ask(Lane::Intake, lock).await?;
        locked.map_err(|reason| Pause::Retry {
            why: format!("the transmission queue {queue} cannot be read: {}", super::explain(reason)),
            after: RETRY_AFTER,
        })
    }

    async fn read(&mut self, locked: Vec<LockedBody>) -> Result<Vec<Taken>, Pause> {
        let core = Arc::clone(self.core()?);
        // One share for all, until they are handed over.
        self.share = self.bodies.share(locked.iter().map(|locked| locked.length).sum()).await;
        let mut taken = Vec::with_capacity(locked.len());
        for locked in locked {
            let (id, expiry_ms) = (locked.body.id(), locked.expiry_ms);
            match message(self.origin.clone(), locked).await {
                Ok((message, file)) => {
                    taken.push(Taken { key: TakenKey(id.as_u64()), message, file, expiry_ms });
                }
                // It stays locked, so that the others go on.
                Err(why) => {
                    let what = format!("message {id} on {}: {why}", self.queue);
                    core.send(Lane::Control, Command::Damaged { id, what }).await?;
                }
            }
        }
        Ok(taken)
    }
}

impl TransmissionQueue for LocalQueue {
    async fn open(&mut self, core: &Arc<CoreHandle>) -> Result<(), Pause> {
        if !self.core.as_ref().is_some_and(|own| Arc::ptr_eq(own, core)) {
            // Another generation: the locks of the one before are gone.
            self.share = None;
            self.core = Some(Arc::clone(core));
        }
        Ok(())
    }

    async fn take(&mut self, first: bool, limits: BatchLimits) -> Result<Vec<Taken>, Pause> {
        if !first {
            // One command brings as much as a batch may have.
            return Ok(Vec::new());
        }
        loop {
            let arrived = Arc::clone(&self.arrived);
            let locked = self.lock(limits).await?;
            if locked.is_empty() {
                arrived.notified().await;
                continue;
            }
            let taken = self.read(locked).await?;
            if !taken.is_empty() {
                return Ok(taken);
            }
        }
    }

    async fn hand_over(&mut self, deliveries: Vec<HandOver>) -> Result<HandedOver, Pause> {
        let holder = self.holder;
        let hand_over = |answer| Command::HandOver { holder, deliveries, answer };
        let handed_over = self.core()?.ask(Lane::Complete, hand_over).await?;
        if handed_over.left.is_empty() {
            self.share = None;
        }
        Ok(handed_over)
    }

    fn q_mgr(&self) -> QMgrName {
        self.q_mgr
    }

    fn is_all_or_nothing(&self) -> bool {
        false
    }

    async fn give_back(&mut self) {
        self.share = None;
        if let Some(core) = &self.core {
            // All of them: of a lock that was not waited for nobody knows. If the generation has ended, so have its locks.
            let _ = core.send(Lane::Complete, Command::Unlock { holder: self.holder }).await;
        }
    }

    async fn close(&mut self) {
        self.give_back().await;
        self.core = None;
    }
}

/// A locked message as the exits see it, and the file that holds the end of it, if one does.
async fn message(origin: Origin, locked: LockedBody) -> Result<(ExitMessage, Option<BodyFile>), String> {
    let record = crate::core::read(locked.body).await.map_err(|error| error.to_string())?;
    let descriptor = Mqmd::decode(&mut Reader::new(&record.envelope, Coding::NATIVE))
        .map_err(|error| format!("its descriptor: {error}"))?;
    Ok((ExitMessage::new(origin, descriptor, record.body), record.file))
}
