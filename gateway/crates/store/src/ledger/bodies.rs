//! Who uses which file of a body. Only messages with one cost anything here.

use std::collections::HashMap;

use crate::Place;
use crate::bodies::BodyFile;
use crate::planted::{Bug, is_planted};

#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// By number: the file, and how many live records name it.
    uses: HashMap<u64, (BodyFile, u32)>,
    at: HashMap<(u32, u32), u64>,
    dead: Vec<BodyFile>,
    /// Where a body was until the newest batch: whoever got the message in that turn asks for its body afterwards.
    before: HashMap<(u32, u32), BodyFile>,
}

fn key(place: Place) -> (u32, u32) {
    (place.segment, place.record)
}

impl Bodies {
    /// A record at `place` names the file.
    pub(super) fn used(&mut self, place: Place, file: &BodyFile) {
        file.guard.name();
        self.uses.entry(file.name.number).or_insert_with(|| (file.clone(), 0)).1 += 1;
        self.at.insert(key(place), file.name.number);
    }

    /// The record at `place` has died.
    pub(super) fn released(&mut self, place: Place) {
        let Some(number) = self.at.remove(&key(place)) else { return };
        if let Some((file, _)) = self.uses.get(&number) {
            self.before.insert(key(place), file.clone());
        }
        if let Some((_, uses)) = self.uses.get_mut(&number) {
            *uses -= 1;
            if *uses == 0
                && let Some((file, _)) = self.uses.remove(&number)
            {
                if is_planted(Bug::BodyUnlinkedEarly) {
                    file.remove();
                }
                self.dead.push(file);
            }
        }
    }

    pub(super) fn moved(&mut self, from: Place, to: Place) {
        if let Some(number) = self.at.remove(&key(from)) {
            if let Some((file, _)) = self.uses.get(&number) {
                self.before.insert(key(from), file.clone());
            }
            self.at.insert(key(to), number);
        }
    }

    pub(super) fn at(&self, place: Place) -> Option<BodyFile> {
        let now = self.at.get(&key(place)).and_then(|number| self.uses.get(number)).map(|(file, _)| file);
        now.or_else(|| self.before.get(&key(place))).cloned()
    }

    /// A batch is entered: what the one before has taken away nobody asks for any more.
    pub(super) fn next_batch(&mut self) {
        self.before.clear();
    }

    pub(super) fn get(&self, number: u64) -> Option<BodyFile> {
        self.uses.get(&number).map(|(file, _)| file.clone())
    }

    /// Those that nobody uses any more, once. One that was named again meanwhile is not among them.
    pub(super) fn take_dead(&mut self) -> Vec<BodyFile> {
        let dead = std::mem::take(&mut self.dead);
        dead.into_iter().filter(|file| !self.uses.contains_key(&file.name.number)).collect()
    }

    pub(super) fn figures(&self) -> (u64, u64) {
        (self.uses.len() as u64, self.uses.values().map(|(file, _)| file.name.length).sum())
    }

    pub(super) fn all(&self) -> Vec<BodyFile> {
        self.uses.values().map(|(file, _)| file.clone()).collect()
    }
}
