//! `init`: the files that somebody starts from, and what an administrator of IBM MQ has to define for a gateway.

mod ibm_mq;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::config::{ANNOTATED, Config, DEFAULT_FILE, Overrides};

/// Name and content of the example script.
const SCRIPT: (&str, &str) = ("objects.mqsc", include_str!("../../examples/objects.mqsc"));

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mqe-gateway init /etc/mqe && mqe-gateway run --config /etc/mqe/mqe-gateway.toml\n  \
                  mqe-gateway init --ibm-mq > for-the-administrator.mqsc"
)]
pub(super) struct InitArgs {
    /// Where to; it is made if it is not there
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Write no files: print the MQSC and the rights that the administrator of the IBM MQ queue manager has to give
    #[arg(long)]
    ibm_mq: bool,
    /// With --ibm-mq: the configuration whose sources are meant [default: ./mqe-gateway.toml if it is there]
    #[arg(long, value_name = "FILE", requires = "ibm_mq")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &InitArgs) -> anyhow::Result<()> {
    if args.ibm_mq {
        let config = Config::load(args.config.as_deref(), &Overrides::default())?;
        return Ok(io::stdout().write_all(ibm_mq::commands(&config).as_bytes())?);
    }
    let files = [(DEFAULT_FILE, ANNOTATED), SCRIPT].map(|(name, text)| (args.directory.join(name), text));
    // All are looked at first: either both files are written or none.
    if let Some((file, _)) = files.iter().find(|(file, _)| file.symlink_metadata().is_ok()) {
        anyhow::bail!(
            "{} is there already and is left as it is: give another directory, or move it away",
            file.display()
        );
    }
    fs::create_dir_all(&args.directory)
        .with_context(|| format!("cannot make {}", args.directory.display()))?;
    for (file, text) in &files {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(file)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", file.display()))?;
        writeln!(io::stdout(), "wrote {}", file.display())?;
    }
    Ok(())
}
