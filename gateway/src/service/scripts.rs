//! MQSC scripts at the start: all are read and checked first, then applied in the order given (INTERFACE.md 3).

use std::path::{Path, PathBuf};

use anyhow::Context;
use mqsc::{Command as MqscCommand, Outcome, Refusal, Script};

use crate::core::{Command, CoreHandle, Lane};

/// Applies the scripts. An error anywhere: nothing is applied. An object that exists already is a warning; another
/// failure ends the start unless `go_on`.
pub(crate) async fn apply(core: &CoreHandle, files: &[PathBuf], go_on: bool) -> anyhow::Result<()> {
    let mut scripts = Vec::with_capacity(files.len());
    let mut mistakes = Vec::new();
    for file in files {
        let script = read(file)?;
        mistakes.extend(script.errors().map(ToString::to_string));
        scripts.push(script);
    }
    if !mistakes.is_empty() {
        anyhow::bail!("no script was applied:\n{}", mistakes.join("\n"));
    }
    for script in scripts {
        run(core, script, go_on).await?;
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Script> {
    let text = std::fs::read(file).with_context(|| format!("cannot read the script {}", file.display()))?;
    Ok(mqsc::read_script(&file.display().to_string(), &text))
}

async fn run(core: &CoreHandle, script: Script, go_on: bool) -> anyhow::Result<()> {
    let (mut done, mut warned, mut needs) = (0, 0, None);
    for located in script.commands {
        // Checked above: every command of the script could be read.
        let Ok(command) = located.command else { continue };
        if command == MqscCommand::End {
            break;
        }
        let place = format!("{}:{}", script.name, located.place.line);
        let result = core
            .ask(Lane::Control, |answer| Command::Mqsc { command: Box::new(command), answer })
            .await
            .context("the core ended")?;
        // One wait for all: a script of twenty thousand definitions is not twenty thousand syncs.
        needs = needs.max(result.needs);
        match result.outcome {
            Outcome::Failed(refusal @ Refusal::Exists { .. }) => {
                warned += 1;
                tracing::warn!(place, "{}: {refusal}", refusal.amq());
            }
            Outcome::Failed(refusal) if go_on => {
                warned += 1;
                tracing::warn!(place, "{}: {refusal}", refusal.amq());
            }
            Outcome::Failed(refusal) => {
                anyhow::bail!("{place}: {}: {refusal}; the commands before it were applied", refusal.amq());
            }
            outcome => {
                done += 1;
                for line in mqsc::print_outcome(&outcome).lines() {
                    tracing::debug!(place, "{line}");
                }
            }
        }
    }
    if core.durable(needs).await.is_err() {
        anyhow::bail!("{}: the journal failed", script.name);
    }
    tracing::info!(script = %script.name, done, warned, "script applied");
    Ok(())
}
