//! A service on a simulated host: all of it but signals, administration and the threads, on a disk that outlives it.

use std::sync::Arc;

use mqe_exits::{Chain, Registry};

use super::context;
use super::net::Listener;
use crate::config::{Config, Overrides};
use crate::core::Announcer;
use crate::core::faulty::{Disk, Faulty};
use crate::net;
use crate::service::{ReloadExits, Service, Sockets, core_on, undelivered_rule};

/// Milliseconds that a sync takes at most, and one in three.
const SYNC_MAX: u64 = 4;
const LONG_SYNC_MAX: u64 = 300;

/// Runs until its host crashes, or its disk fails in a start: then only the next start may decide (STORE.md 6). What else
/// ends it is a fault.
pub(crate) async fn serve(config: Arc<Config>, disk: Arc<Disk>) -> turmoil::Result {
    match run(config, Arc::clone(&disk)).await {
        Err(_) if disk.has_failed() => Ok(()),
        outcome => outcome,
    }
}

async fn run(config: Arc<Config>, disk: Arc<Disk>) -> turmoil::Result {
    let (announcer, durable) = Announcer::new();
    let (store, recovered) = Faulty::start(&disk, Arc::clone(&announcer));
    tokio::spawn(sync(Arc::clone(&disk)));
    let (core, parts) = core_on(&config, Box::new(store), recovered, announcer, durable).await?;
    let registry = Arc::new(Registry::with_shipped());
    let names = config.gateway_names().to_vec();
    let chain = Chain::builder(&registry, config.chain()).gateway_names(names).as_tasks().start().await?;
    let rule = undelivered_rule(&config, &registry)?;
    let reload = ReloadExits { file: None, overrides: Overrides::default(), registry };
    let sockets = Sockets {
        mq: net::Listener::Simulated(Listener::bind(config.queue_manager.listen.port()).await?),
        devices: net::Listener::Simulated(Listener::bind(config.devices.listen.port()).await?),
        admin: None,
    };
    let mut service = Service::new(&config, parts, Arc::new(chain), Arc::new(rule), reload, sockets)?;
    let core = tokio::spawn(core.serve());
    service.start(&config).await?;
    service.serving(true);
    core.await??;
    Err("the core ended".into())
}

/// The committer's work.
async fn sync(disk: Arc<Disk>) {
    loop {
        disk.submitted().await;
        loop {
            let longest = if context::roll(3) == 0 { LONG_SYNC_MAX } else { SYNC_MAX };
            tokio::time::sleep(context::moment(longest)).await;
            if !disk.sync() {
                break;
            }
        }
    }
}
