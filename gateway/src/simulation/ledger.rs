//! The book of applications and devices: what was sent, what arrived, and what nobody can know. It shares nothing with the
//! services, and a fault is noted when it happens.

use std::collections::{BTreeMap, BTreeSet};

/// How a unit of work ended, as far as its application knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its commit is under way, or broke off: all of it or nothing.
    Unknown,
    Committed,
    BackedOut,
}

/// A put of a device: who, and its how many-th.
pub(crate) type Up = (usize, u64);

#[derive(Debug)]
struct Unit<T> {
    messages: Vec<T>,
    outcome: Outcome,
}

/// The book.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Messages for devices, in units of work.
    puts: Vec<Unit<u32>>,
    /// Of each the device, and the unit.
    down: BTreeMap<u32, (usize, usize)>,
    arrived: BTreeSet<u32>,
    newest: BTreeMap<usize, u32>,
    /// Puts that are on a device's disk.
    up: BTreeSet<Up>,
    /// Of these, those that the gateway has answered for.
    answered: BTreeSet<Up>,
    /// What the application got, in units of work.
    gets: Vec<Unit<Up>>,
    faults: Vec<String>,
}

impl Ledger {
    /// A unit of messages for devices is to be committed. Its number.
    pub(crate) fn put(&mut self, messages: &[(u32, usize)]) -> usize {
        let unit = self.puts.len();
        self.down.extend(messages.iter().map(|(number, device)| (*number, (*device, unit))));
        let messages = messages.iter().map(|(number, _)| *number).collect();
        self.puts.push(Unit { messages, outcome: Outcome::Unknown });
        unit
    }

    pub(crate) fn put_ended(&mut self, unit: usize, outcome: Outcome) {
        self.puts[unit].outcome = outcome;
    }

    /// A message is on a device's disk.
    pub(crate) fn arrived(&mut self, number: u32, device: usize) {
        match self.down.get(&number) {
            Some((right, unit)) => {
                if *right != device {
                    self.faults.push(format!("message {number} for device {right} came to {device}"));
                }
                if self.puts[*unit].outcome == Outcome::BackedOut {
                    self.faults.push(format!("message {number} came though it was backed out"));
                }
            }
            None => self.faults.push(format!("message {number} came from nowhere")),
        }
        if !self.arrived.insert(number) {
            self.faults.push(format!("message {number} came twice"));
        }
        match self.newest.insert(device, number) {
            Some(before) if before > number => {
                self.faults.push(format!("message {number} came behind {before}"));
            }
            _ => {}
        }
    }

    /// A put is on a device's disk.
    pub(crate) fn device_put(&mut self, up: Up) {
        self.up.insert(up);
    }

    /// The gateway answers for a put, or refuses it.
    pub(crate) fn device_put_answered(&mut self, up: Up, taken: bool) {
        if !taken {
            self.faults.push(format!("put {up:?} was refused"));
        }
        if !self.up.contains(&up) {
            self.faults.push(format!("put {up:?} was answered, and never was on disk"));
        }
        self.answered.insert(up);
    }

    /// A unit of messages from devices is to be committed. Its number.
    pub(crate) fn got(&mut self, messages: Vec<Up>) -> usize {
        self.gets.push(Unit { messages, outcome: Outcome::Unknown });
        self.gets.len() - 1
    }

    pub(crate) fn get_ended(&mut self, unit: usize, outcome: Outcome) {
        self.gets[unit].outcome = outcome;
    }

    /// What happened that must never happen.
    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Counts that say how far it is, for those who wait for the end.
    pub(crate) fn progress(&self) -> (usize, usize, usize) {
        (self.arrived.len(), self.answered.len(), self.gets.len())
    }

    /// Whether all is where it should be in the end.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// What is not where it should be in the end.
    fn missing(&self) -> impl Iterator<Item = String> {
        let down = self.puts.iter().filter(|unit| unit.outcome == Outcome::Committed);
        let down = down.flat_map(|unit| &unit.messages).filter(|number| !self.arrived.contains(number));
        let got = self.all_got();
        let up = self.up.iter().filter(move |up| !got.contains(*up));
        let open = self.up.difference(&self.answered);
        down.map(|number| format!("message {number} is lost"))
            .chain(up.map(|up| format!("put {up:?} is lost")))
            .chain(open.map(|up| format!("put {up:?} was not answered")))
    }

    /// What the application has got, for good as far as it knows.
    fn all_got(&self) -> BTreeSet<Up> {
        let lasting = self.gets.iter().filter(|unit| unit.outcome != Outcome::BackedOut);
        lasting.flat_map(|unit| &unit.messages).copied().collect()
    }

    /// Checks what lies on the disks between the ends: `waiting` at the queue manager, `real` and `prepared` at the
    /// gateway. Nothing is nowhere, and nothing for a device is real in two places.
    pub(crate) fn check_disks(
        &mut self,
        waiting: &BTreeSet<Message>,
        real: &BTreeSet<Message>,
        prepared: &BTreeSet<Message>,
    ) {
        let is_there = |message: &Message| {
            waiting.contains(message) || real.contains(message) || prepared.contains(message)
        };
        let mut faults = Vec::new();
        for unit in self.puts.iter().filter(|unit| unit.outcome == Outcome::Committed) {
            for number in &unit.messages {
                if !self.arrived.contains(number) && !is_there(&Message::Down(*number)) {
                    faults.push(format!("message {number} is nowhere"));
                }
            }
        }
        let got = self.all_got();
        for up in &self.answered {
            if !got.contains(up) && !is_there(&Message::Up(*up)) {
                faults.push(format!("put {up:?} is nowhere"));
            }
        }
        for message in waiting.intersection(real) {
            if let Message::Down(number) = message {
                faults.push(format!("message {number} is at the queue manager and at the gateway"));
            }
        }
        self.faults.extend(faults);
    }

    /// All that is wrong in the end.
    pub(crate) fn check(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        faults.extend(self.missing());
        for unit in &self.puts {
            let arrived = unit.messages.iter().filter(|number| self.arrived.contains(number)).count();
            if unit.outcome == Outcome::Unknown && arrived != 0 && arrived != unit.messages.len() {
                faults.push(format!("{arrived} of the unit {:?} came", unit.messages));
            }
        }
        self.check_gets(&mut faults);
        faults
    }

    /// Each put once, and each device's in their order. One that came again after a commit that broke off shows that this
    /// was not done: the last time counts.
    fn check_gets(&self, faults: &mut Vec<String>) {
        let mut last: BTreeMap<Up, usize> = BTreeMap::new();
        let mut place = 0;
        let mut final_for: BTreeSet<Up> = BTreeSet::new();
        for unit in &self.gets {
            if unit.outcome == Outcome::BackedOut {
                continue;
            }
            for up in &unit.messages {
                place += 1;
                if !self.up.contains(up) {
                    faults.push(format!("put {up:?} came from nowhere"));
                }
                if final_for.contains(up) {
                    faults.push(format!("put {up:?} came twice"));
                }
                last.insert(*up, place);
            }
            if unit.outcome == Outcome::Committed {
                final_for.extend(&unit.messages);
            }
        }
        let mut newest: BTreeMap<usize, usize> = BTreeMap::new();
        for (up, place) in last {
            match newest.insert(up.0, place) {
                Some(before) if before > place => faults.push(format!("put {up:?} came too early")),
                _ => {}
            }
        }
    }
}

/// What a message is, told by its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Message {
    Down(u32),
    Up(Up),
}

impl Message {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Down(number) => format!("down-{number:08}"),
            Self::Up((device, number)) => format!("up-{device:05}-{number:06}"),
        }
    }

    /// Of bytes that end with the text; none if they are something else.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let end = |length: usize| bytes.len().checked_sub(length).map(|at| &bytes[at..]);
        let text = |length| end(length).and_then(|end| std::str::from_utf8(end).ok());
        if let Some(number) = text(13).and_then(|text| text.strip_prefix("down-")) {
            return number.parse().ok().map(Self::Down);
        }
        let (device, number) = text(15)?.strip_prefix("up-")?.split_once('-')?;
        Some(Self::Up((device.parse().ok()?, number.parse().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units of messages for one device, two puts of it; nothing has arrived.
    fn book() -> Ledger {
        let mut ledger = Ledger::default();
        for (messages, outcome) in
            [([(1, 0), (2, 0)], Outcome::Committed), ([(3, 0), (4, 0)], Outcome::Unknown)]
        {
            let unit = ledger.put(&messages);
            ledger.put_ended(unit, outcome);
        }
        for number in 1..=2 {
            ledger.device_put((0, number));
            ledger.device_put_answered((0, number), true);
        }
        ledger
    }

    fn check(arrived: &[u32], got: &[(&[Up], Outcome)], expected: &[&str]) {
        let mut ledger = book();
        arrived.iter().for_each(|number| ledger.arrived(*number, 0));
        for (messages, outcome) in got {
            let unit = ledger.got(messages.to_vec());
            ledger.get_ended(unit, *outcome);
        }
        assert_eq!(ledger.check(), expected);
    }

    #[test]
    fn the_ledger_finds_every_fault() {
        use Outcome::{BackedOut, Committed, Unknown};
        let all: &[(&[Up], Outcome)] = &[(&[(0, 1), (0, 2)], Committed)];
        check(&[1, 2], all, &[]);
        check(&[1, 2, 3, 4], all, &[]);
        check(&[1], all, &["message 2 is lost"]);
        check(&[1, 2, 3], all, &["1 of the unit [3, 4] came"]);
        check(&[1, 2, 2], all, &["message 2 came twice"]);
        check(&[2, 1], all, &["message 1 came behind 2"]);
        check(&[1, 2, 5], all, &["message 5 came from nowhere"]);
        check(&[1, 2], &[(&[(0, 1), (0, 2)], Unknown), (&[(0, 1), (0, 2)], Committed)], &[]);
        check(&[1, 2], &[(&[(0, 1), (0, 2)], BackedOut)], &["put (0, 1) is lost", "put (0, 2) is lost"]);
        check(&[1, 2], &[all[0], (&[(0, 2)], Unknown)], &["put (0, 2) came twice"]);
        check(&[1, 2], &[(&[(0, 2), (0, 1)], Committed)], &["put (0, 2) came too early"]);
    }

    #[test]
    fn what_is_on_no_disk_or_on_two_is_found() {
        let on = |messages: &[Message]| messages.iter().copied().collect::<BTreeSet<_>>();
        let both = on(&[Message::Up((0, 1)), Message::Up((0, 2))]);
        let mut ledger = book();
        ledger.check_disks(&on(&[Message::Down(1)]), &both, &on(&[Message::Down(2)]));
        assert_eq!(ledger.faults(), [""; 0]);
        ledger.check_disks(&on(&[Message::Down(1)]), &on(&[Message::Down(1)]), &both);
        assert_eq!(
            ledger.faults(),
            ["message 2 is nowhere", "message 1 is at the queue manager and at the gateway"]
        );
        let mut ledger = book();
        ledger.check_disks(
            &on(&[Message::Down(1), Message::Down(2), Message::Up((0, 1))]),
            &on(&[]),
            &on(&[]),
        );
        assert_eq!(ledger.faults(), ["put (0, 2) is nowhere"]);
    }

    #[test]
    fn a_message_is_told_by_its_end() {
        for message in [Message::Down(77), Message::Up((49, 12))] {
            assert_eq!(Message::of(format!("header{}", message.text()).as_bytes()), Some(message));
        }
        assert_eq!(Message::of(b"something else"), None);
    }
}
