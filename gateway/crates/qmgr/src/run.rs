//! Commands of MQSC, done.

use mq_wire::QName;
use mqsc::{Alter, Command, Define, Delete, Name, ObjectKind, Outcome, Refusal};
use store::{Batch, Commit};

use crate::manager::QueueManager;
use crate::verb::{Effect, Now};

impl QueueManager {
    /// Does a command. What it changed is durable with the position of the batch, and not to be told before. (A batch
    /// that is empty afterwards has nothing to wait for.)
    pub fn run(&mut self, now: Now, command: &Command, batch: &mut Batch, out: &mut Vec<Effect>) -> Outcome {
        let done = match command {
            Command::Define(define) => self.run_define(now, define, batch, out),
            Command::Alter(alter) => self.run_alter(now, alter, batch, out),
            Command::Delete(delete) => self.run_delete(now, delete, batch, out),
            Command::Display(display) => {
                let channels = display.kinds.iter().any(ObjectKind::is_channel);
                return Outcome::displayed(self.display_all(display), channels, display.pattern);
            }
            Command::End => Ok(()),
        };
        self.finish(now, batch, out);
        done.map_or_else(Outcome::Failed, |()| Outcome::done(command))
    }

    fn run_define(
        &mut self,
        now: Now,
        define: &Define,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let (kind, name) = (define.kind, define.name);
        let mut attributes = match define.like {
            Some(like) => {
                let lender = self.definition(kind, like).ok_or(Refusal::NotFound { kind, name: like })?;
                lender.attributes.clone()
            }
            None => self.lent(kind),
        };
        attributes.merge(&define.attributes);
        let existing = if kind.is_channel() {
            self.channels.get(&name.channel()).map(|definition| definition.kind)
        } else {
            self.kind_of(name.queue())
        };
        match existing {
            None => {
                self.has_room_for(name)?;
                let mut commit = Commit::default();
                self.add_definition(now, kind, name, attributes, batch.position(), &mut commit);
                batch.commit(commit);
                Ok(())
            }
            Some(other) if define.replace && other == kind => {
                self.change(now, kind, name, false, &attributes, batch, out)
            }
            Some(_) => Err(Refusal::Exists { kind, name }),
        }
    }

    fn run_alter(
        &mut self,
        now: Now,
        alter: &Alter,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let Alter { kind, name, force, ref attributes } = *alter;
        if kind == ObjectKind::QueueManager {
            self.has_room_for(Name::from(QName(self.settings.name.0)))?;
            self.alter_queue_manager(now, attributes, batch);
            return Ok(());
        }
        self.definition(kind, name).ok_or(Refusal::NotFound { kind, name })?;
        self.change(now, kind, name, force, attributes, batch, out)
    }

    /// Changes an object that exists. Where its messages go changes under nobody's hands unless it is forced.
    #[expect(clippy::too_many_arguments, reason = "what DEFINE with REPLACE and ALTER have in common")]
    fn change(
        &mut self,
        now: Now,
        kind: ObjectKind,
        name: Name,
        force: bool,
        attributes: &mqsc::Attributes,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        self.has_room_for(name)?;
        if kind.is_channel() {
            self.alter_channel(now, name, attributes, batch);
            return Ok(());
        }
        let number = self.directory.number(name.queue()).ok_or(Refusal::NotFound { kind, name })?;
        if !force && self.changes_way(number, attributes) && self.is_in_use(number) {
            return Err(Refusal::InUse { name });
        }
        self.alter_queue(now, number, attributes, batch, out);
        Ok(())
    }

    fn has_room_for(&self, name: Name) -> Result<(), Refusal> {
        self.may_define().map_err(|reason| Refusal::Reason { name, reason })
    }

    fn run_delete(
        &mut self,
        now: Now,
        delete: &Delete,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let name = delete.name;
        let found = delete.kinds.iter().find_map(|kind| self.definition(kind, name));
        let not_found = || {
            let kind = delete.kinds.iter().next().unwrap_or(ObjectKind::LocalQueue);
            Refusal::NotFound { kind, name }
        };
        let definition = found.ok_or_else(not_found)?;
        if definition.kind.is_channel() {
            let mut commit = Commit::default();
            commit.remove(definition.key());
            batch.commit(commit);
            self.channels.remove(&name.channel());
            return Ok(());
        }
        let number = definition.number;
        if self.is_in_use(number) {
            return Err(Refusal::InUse { name });
        }
        if !delete.purge && self.directory.local(number).is_some_and(|local| local.depth() > 0) {
            return Err(Refusal::NotEmpty { name });
        }
        self.delete_queue(now, number, batch, out);
        Ok(())
    }
}
