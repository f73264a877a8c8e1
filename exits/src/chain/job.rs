//! A slice of a batch on its way through an instance. Its messages and verdicts lie where the pool can take them
//! away from an instance that does not return: nothing of it is on that instance's stack alone.

use std::vec;

use mq_wire::Reason;
use tokio::sync::oneshot;

use super::Verdict;
use crate::ExitMessage;

/// Messages that have no verdict yet, and the verdicts of those before them.
pub(super) struct Job {
    waiting: vec::IntoIter<ExitMessage>,
    /// A message that goes on behind an exit that was late.
    resumed: Option<Turn>,
    /// The message that an instance has.
    current: Option<Current>,
    next_number: u64,
    verdicts: Vec<Verdict>,
    reply: oneshot::Sender<Vec<Verdict>>,
}

/// A message for an instance.
pub(super) struct Turn {
    pub(super) message: ExitMessage,
    /// As it came, before any exit.
    original: ExitMessage,
    pub(super) number: u64,
    /// The first exit that it has not passed.
    pub(super) from_exit: usize,
}

struct Current {
    original: ExitMessage,
    number: u64,
    /// What the exit that has it was given, if a failure lets it pass.
    input: Option<ExitMessage>,
}

/// How a message ended.
pub(super) enum Ending {
    Pass(ExitMessage),
    Undelivered { reason: Reason, why: String },
    Close { why: String },
    Stop { why: String },
}

impl Job {
    pub(super) fn new(
        messages: Vec<ExitMessage>,
        first_number: u64,
        reply: oneshot::Sender<Vec<Verdict>>,
    ) -> Self {
        let verdicts = Vec::with_capacity(messages.len());
        let waiting = messages.into_iter();
        Self { waiting, resumed: None, current: None, next_number: first_number, verdicts, reply }
    }

    /// The next message; none when all have their verdict, or when nobody waits for it any more.
    pub(super) fn next(&mut self) -> Option<Turn> {
        if self.reply.is_closed() {
            return None;
        }
        let turn = self.resumed.take().or_else(|| {
            let message = self.waiting.next()?;
            self.next_number += 1;
            Some(Turn { original: message.clone(), message, number: self.next_number - 1, from_exit: 0 })
        })?;
        self.current = Some(Current { original: turn.original.clone(), number: turn.number, input: None });
        Some(turn)
    }

    /// Remembers what the current message's next exit is given.
    pub(super) fn keep_input(&mut self, input: Option<ExitMessage>) {
        if let Some(current) = &mut self.current {
            current.input = input;
        }
    }

    /// The current message has ended.
    pub(super) fn settle(&mut self, ending: Ending) {
        let Some(current) = self.current.take() else { return };
        match ending {
            Ending::Pass(message) => self.verdicts.push(Verdict::Pass(message)),
            Ending::Undelivered { reason, why } => {
                let message = current.original;
                self.verdicts.push(Verdict::Undelivered { message, reason, why });
            }
            Ending::Close { why } => self.end_all(1, &Verdict::CloseChannel { why }),
            Ending::Stop { why } => self.end_all(1, &Verdict::Stopped { why }),
        }
    }

    /// The current message goes on behind the exit that has it, as if that had not been called.
    pub(super) fn skip_exit(&mut self, exit: usize) {
        self.resumed = self.current.take().map(|current| Turn {
            message: current.input.unwrap_or_else(|| current.original.clone()),
            original: current.original,
            number: current.number,
            from_exit: exit + 1,
        });
    }

    /// Nothing of what has no verdict is run any more.
    pub(super) fn stop(&mut self, why: &str) {
        let begun = usize::from(self.current.take().is_some()) + usize::from(self.resumed.take().is_some());
        self.end_all(begun, &Verdict::Stopped { why: why.to_owned() });
    }

    /// Whether all messages have their verdict.
    pub(super) fn is_done(&self) -> bool {
        self.current.is_none() && self.resumed.is_none() && self.waiting.as_slice().is_empty()
    }

    /// Gives the verdicts to the caller, if that still waits.
    pub(super) fn finish(self) {
        let _ = self.reply.send(self.verdicts);
    }

    fn end_all(&mut self, begun: usize, verdict: &Verdict) {
        let count = begun + self.waiting.by_ref().count();
        self.verdicts.extend(std::iter::repeat_n(verdict, count).cloned());
    }
}
