//! What an operator wants of a source, and what it is doing: the seam between its task and the administration.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mq_wire::QName;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::report::SourceReport;

/// What a source is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Move messages.
    Run,
    /// Move nothing. A connection on which nothing waits is kept.
    Pause,
    /// Have no connection.
    Stop,
}

/// What kind of task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// The listener on a transmission queue of the embedded queue manager.
    Local,
    /// The listener on a transmission queue of another queue manager.
    Remote,
    /// The outbox to another queue manager.
    Outbox,
}

impl SourceKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Outbox => "outbox",
        }
    }
}

/// What a source does (mqe.md 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It connects, or decides about its last batch.
    Starting,
    Running,
    /// Something is wrong that may pass: it tries again by itself.
    Retrying,
    Stopping,
    /// Somebody must start it again.
    Stopped,
    /// An operator holds it up.
    Paused,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Retrying => "RETRYING",
            Self::Stopping => "STOPPING",
            Self::Stopped => "STOPPED",
            Self::Paused => "PAUSED",
        }
    }
}

/// Control and report of a source; shared by its task and the administration.
#[derive(Debug)]
pub(crate) struct SourceControl {
    kind: SourceKind,
    wanted: watch::Sender<Wanted>,
    report: Mutex<SourceReport>,
}

impl SourceControl {
    pub(crate) fn new(name: &str, queue: &QName, kind: SourceKind, wanted: Wanted) -> Arc<Self> {
        let report = SourceReport {
            name: name.to_owned(),
            kind: kind.name().to_owned(),
            queue: queue.to_string(),
            state: State::Starting.name().to_owned(),
            since_ms: clock::now().wall_ms,
            ..SourceReport::default()
        };
        Arc::new(Self { kind, wanted: watch::channel(wanted).0, report: Mutex::new(report) })
    }

    pub(crate) fn kind(&self) -> SourceKind {
        self.kind
    }

    pub(crate) fn name(&self) -> String {
        self.edit(|report| report.name.clone())
    }

    /// Whether it has stopped, by itself or not.
    pub(crate) fn is_stopped(&self) -> bool {
        self.edit(|report| report.state == State::Stopped.name())
    }

    /// Tells when something else is wanted, or the same once more: a source that stopped by itself starts by that.
    pub(crate) fn watch(&self) -> watch::Receiver<Wanted> {
        self.wanted.subscribe()
    }

    /// An operator's word.
    pub(crate) fn want(&self, wanted: Wanted) {
        self.wanted.send_replace(wanted);
    }

    pub(crate) fn report(&self) -> SourceReport {
        self.edit(|report| report.clone())
    }

    /// What it is doing, why, and when it tries again. Logged when it is something else.
    pub(crate) fn set(&self, state: State, reason: Option<String>, next_try: Option<Instant>) {
        let now = clock::now();
        self.edit(|report| {
            if report.state != state.name() || report.reason != reason {
                let (source, kind, queue) = (&report.name, &report.kind, &report.queue);
                match &reason {
                    Some(reason) => tracing::warn!(source, kind, queue, state = state.name(), reason),
                    None => tracing::info!(source, kind, queue, state = state.name()),
                }
                report.since_ms = now.wall_ms;
            }
            state.name().clone_into(&mut report.state);
            report.reason = reason;
            report.next_try_ms = next_try.map(|at| {
                let left = at.saturating_duration_since(now.instant).as_millis();
                now.wall_ms.saturating_add(u64::try_from(left).unwrap_or(u64::MAX))
            });
        });
    }

    /// It does so because somebody wanted it.
    pub(crate) fn set_by_operator(&self, state: State) {
        self.set(state, Some("by an operator".to_owned()), None);
    }

    /// Changes what the report says besides.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce(&mut SourceReport) -> T) -> T {
        edit(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Waits until a source goes on: its time has come, or something is wanted. False: the service stops.
pub(crate) async fn rest(
    until: Option<Instant>,
    wanted: &mut watch::Receiver<Wanted>,
    stop: &CancellationToken,
) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        // The control lives as long as its source.
        _ = wanted.changed() => true,
        () = clock::until(until) => true,
    }
}

/// The controls of all sources, and of their outboxes.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Arc<SourceControl>>);

impl Sources {
    pub(crate) fn add(&mut self, control: Arc<SourceControl>) {
        self.0.push(control);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<SourceControl>> {
        self.0.iter()
    }

    /// The listener with this name and its outbox; all without a name.
    pub(crate) fn named<'a>(&'a self, name: Option<&'a str>) -> impl Iterator<Item = &'a Arc<SourceControl>> {
        self.0.iter().filter(move |control| name.is_none_or(|name| control.name() == name))
    }

    pub(crate) fn reports(&self) -> Vec<SourceReport> {
        self.0.iter().map(|control| control.report()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_report_says_what_was_set() {
        let control =
            SourceControl::new("local", &QName::new("GATE1").unwrap(), SourceKind::Local, Wanted::Run);
        let at = clock::now().instant + Duration::from_secs(5);
        control.set(State::Retrying, Some("no room".to_owned()), Some(at));
        let report = control.report();
        assert_eq!((report.state.as_str(), report.reason.as_deref()), ("RETRYING", Some("no room")));
        assert!(report.next_try_ms > Some(report.since_ms));
        control.set(State::Running, None, None);
        let report = control.report();
        assert_eq!((report.state.as_str(), report.next_try_ms), ("RUNNING", None));
    }

    #[test]
    fn a_source_and_its_outbox_have_one_name() {
        let mut sources = Sources::default();
        let queue = QName::new("GATE1").unwrap();
        for (name, kind) in
            [("local", SourceKind::Local), ("hq", SourceKind::Remote), ("hq", SourceKind::Outbox)]
        {
            sources.add(SourceControl::new(name, &queue, kind, Wanted::Run));
        }
        sources.named(Some("hq")).for_each(|control| control.want(Wanted::Stop));
        let wanted: Vec<Wanted> = sources.all().map(|control| *control.watch().borrow()).collect();
        assert_eq!(wanted, [Wanted::Run, Wanted::Stop, Wanted::Stop]);
        assert_eq!(sources.named(None).count(), 3);
    }
}
