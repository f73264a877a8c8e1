//! What an operator does with the tasks of the service: sources, outboxes, exits. The rest is the core's.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use mqe_exits::{Chain, Registry};

use super::backend::Backend;
use crate::config::{Config, Overrides};
use crate::core::{Command, Lane, OutboxCommand};
use crate::report::{ClearedOutbox, Operation, OperationReport, SourceAct};
use crate::source::{SourceControl, SourceKind, Wanted};

/// What a reload of the exits reads.
#[derive(Clone)]
pub(crate) struct ReloadExits {
    pub(crate) file: Option<PathBuf>,
    pub(crate) overrides: Overrides,
    pub(crate) registry: Arc<Registry>,
}

impl fmt::Debug for ReloadExits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadExits").field("file", &self.file).finish_non_exhaustive()
    }
}

impl ReloadExits {
    /// Starts the exits of the configuration file as it is now, and goes on with them.
    pub(crate) async fn reload(&self, chain: &Chain) -> Result<Vec<String>, String> {
        let config =
            Config::load(self.file.as_deref(), &self.overrides).map_err(|problems| problems.to_string())?;
        let new = super::start_chain(&config, &self.registry).await.map_err(|error| format!("{error:#}"))?;
        let exits = new.status().exits.into_iter().map(|exit| exit.name).collect();
        chain.reload(new).await;
        tracing::info!(?exits, "the exits were started anew");
        Ok(exits)
    }
}

/// Does it; an error says what to do instead.
pub(super) async fn operate(backend: &Backend, operation: Operation) -> Result<OperationReport, String> {
    match operation {
        Operation::Source { name, act, new_queue_manager, outbox } => {
            source(backend, name.as_deref(), act, new_queue_manager, outbox).await
        }
        Operation::ReloadExits => {
            let exits = backend.reload.reload(&backend.chain).await?;
            let done = format!("the exits were started anew: {}", exits.join(", "));
            Ok(OperationReport { done: vec![done] })
        }
        operation => {
            let stopping = |_| "the service is stopping, or its journal failed: ask again".to_owned();
            let core = backend.core.newest().await.map_err(stopping)?;
            let operate = |answer| Command::Operate { operation, answer };
            let (report, needs) = core.ask(Lane::Control, operate).await.map_err(stopping)??;
            core.durable(Some(needs)).await.map_err(|_| "the journal failed: ask again".to_owned())?;
            Ok(report)
        }
    }
}

async fn source(
    backend: &Backend,
    name: Option<&str>,
    act: SourceAct,
    new_queue_manager: bool,
    outbox: Option<ClearedOutbox>,
) -> Result<OperationReport, String> {
    let controls: Vec<_> = backend.sources.named(name).collect();
    if controls.is_empty() {
        let known: Vec<String> = backend.sources.all().map(|control| control.name()).collect();
        return Err(format!(
            "there is no source {}; there are {}",
            name.unwrap_or_default(),
            known.join(", ")
        ));
    }
    let mut done = Vec::new();
    if new_queue_manager || outbox.is_some() {
        let name = name.ok_or("say for which source")?;
        // A sync message of the outbox that was cleared stops the outbox alone.
        let concerned =
            |kind: SourceKind| kind == SourceKind::Outbox || new_queue_manager && kind == SourceKind::Remote;
        let runs = |control: &&Arc<SourceControl>| concerned(control.kind()) && !control.is_stopped();
        if let Some(running) = controls.iter().copied().find(runs) {
            let kind = running.kind().name();
            return Err(format!("source {name} ({kind}) is not stopped: it needs no such word"));
        }
        done.extend(settle(backend, name, new_queue_manager, outbox).await?);
    }
    let (wanted, what) = match act {
        SourceAct::Start | SourceAct::Resume => (Wanted::Run, "is started"),
        SourceAct::Stop => (Wanted::Stop, "is stopped"),
        SourceAct::Pause => (Wanted::Pause, "is paused"),
    };
    for control in controls {
        control.want(wanted);
        let line = format!("source {} ({}) {what}", control.name(), control.kind().name());
        tracing::info!(what = line, "an operator's act");
        done.push(line);
    }
    Ok(OperationReport { done })
}

/// An operator's word on the last batches.
async fn settle(
    backend: &Backend,
    name: &str,
    new_queue_manager: bool,
    outbox: Option<ClearedOutbox>,
) -> Result<Vec<String>, String> {
    let stopping = |_| "the service is stopping, or its journal failed: ask again".to_owned();
    let core = backend.core.newest().await.map_err(stopping)?;
    let (mut done, source) = (Vec::new(), name.to_owned());
    let mut needs = None;
    if let Some(outbox) = outbox {
        let (drained, source) = (outbox == ClearedOutbox::Drained, source.clone());
        let cleared =
            |answer| Command::Outbox { command: OutboxCommand::Cleared { source, drained, answer } };
        let (puts, position) = core.ask(Lane::Control, cleared).await.map_err(stopping)?;
        needs = Some(position);
        let what = if drained { "count as put" } else { "are put again" };
        done.push(format!("{puts} puts of the outbox for {name} {what}"));
    }
    if new_queue_manager {
        let replaced = |answer| Command::Outbox { command: OutboxCommand::Replaced { source, answer } };
        needs = Some(core.ask(Lane::Control, replaced).await.map_err(stopping)?);
        done.push(format!("source {name} begins anew with the queue manager that it finds"));
    }
    core.durable(needs).await.map_err(|_| "the journal failed: ask again".to_owned())?;
    done.iter().for_each(|line| tracing::warn!(what = line, "an operator's act"));
    Ok(done)
}
