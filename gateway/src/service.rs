//! The service from start to stop: opens the store, recovers, applies scripts, listens, says `ready`, and ends in order.

mod backend;
mod identity;
mod operate;
mod route;
mod scripts;
#[cfg(test)]
mod tests;

use backend::Backend;
pub(crate) use identity::Identity;
pub(crate) use operate::ReloadExits;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use mq_wire::QMgrName;
use mqe::DeviceName;
use mqe::outbox::{Outbox, TargetSettings};
use mqe_exits::{Chain, Registry, Rule};
use qmgr::Holder;
use store::{Batch, Journal, OpenOptions, Recovered, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{self, AdminBackend, AdminBounds};
use crate::clock::{self, Moment};
use crate::config::{Config, Segments, SourceSection};
use crate::core::{
    Announcer, Bodies, Command, ConnectionCount, Core, CoreHandle, Durable, Lane, Machinery, Machines,
    OutboxBell, Wiring,
};
use crate::device::{self, DeviceServer};
use crate::mq::{self, MqServer};
use crate::net;
use crate::outbox::OutboxTask;
use crate::remote::RemoteSettings;
use crate::report::Listeners;
use crate::source::{
    BatchLimits, Exits, Listener, LocalQueue, RemoteQueue, SourceControl, SourceKind, Sources, Undelivered,
    Wanted,
};

/// Runs the service until a signal ends it, or the journal fails and cannot be recovered.
pub(crate) async fn run(config: Config, reload: ReloadExits) -> anyhow::Result<()> {
    // First of all, so that a stop that comes during the start is one in order too.
    let mut signals = Signals::listen()?;
    let directory = config.store.directory.clone();
    let config = Arc::new(config);
    let (core, parts) = start_core(&config).await?;
    let registry = &reload.registry;
    let chain = start_chain(&config, registry).await?;
    let rule = undelivered_rule(&config, registry)?;
    let sockets = Sockets::listen(&config)?;
    let mut service = Service::new(&config, parts, Arc::new(chain), Arc::new(rule), reload.clone(), sockets)?;
    let mut core_task = tokio::spawn(core.serve());
    let started = tokio::select! {
        outcome = service.start(&config) => outcome,
        failed = &mut core_task => return Err(core_ended(failed)),
        () = signals.end() => {
            service.end(Duration::ZERO).await;
            return close(core_task).await;
        }
    };
    if let Err(error) = started {
        service.end(Duration::ZERO).await;
        close(core_task).await?;
        return Err(error);
    }
    service.say_ready(&directory)?;
    let ends = loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Asked::End => break Ok(()),
                Asked::Reload => {
                    // Beside the service: a start of exits may take seconds.
                    let (reload, chain) = (reload.clone(), Arc::clone(&service.chain));
                    tokio::spawn(async move {
                        if let Err(error) = reload.reload(&chain).await {
                            tracing::error!(error, "SIGHUP: the exits stay as they are");
                        }
                        tracing::warn!("SIGHUP reloads the exits; the rest of the configuration needs a restart");
                    });
                }
            },
            failed = &mut core_task => break Err(core_ended(failed)),
        }
    };
    ends?;
    tracing::info!("stopping");
    let grace = Duration::from_secs(config.limits.grace_seconds.into());
    tokio::select! {
        () = service.end(grace) => {}
        () = signals.end() => {
            tracing::warn!("stopping at once");
            std::process::exit(0);
        }
    }
    close(core_task).await?;
    tracing::info!("stopped");
    Ok(())
}

/// The exits of the configuration.
async fn start_chain(config: &Config, registry: &Registry) -> anyhow::Result<Chain> {
    let instances = NonZeroUsize::new(config.gateway.exit_instances as usize);
    let names: Vec<QMgrName> = config.gateway_names().to_vec();
    Chain::start(registry, config.chain(), names, instances).await.context("the exits cannot be started")
}

/// What decides about messages that cannot be delivered.
pub(crate) fn undelivered_rule(config: &Config, registry: &Registry) -> anyhow::Result<Rule> {
    let gateway = &config.gateway;
    let limit = Duration::from_millis(gateway.undelivered_limit_ms.into());
    registry
        .rule(&gateway.undelivered, &gateway.undelivered_data, limit)
        .context("the undelivered rule cannot be used")
}

/// The holder of the local listener's locks.
const LOCAL_HOLDER: Holder = Holder(1);

/// How long the answers to calls that a stop ends may take to their clients.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What the tasks around the core need of it.
pub(crate) struct Parts {
    core: CoreHandle,
    identity: Identity,
    bodies: Bodies,
    arrived: Arc<Notify>,
    outboxes: BTreeMap<String, Arc<OutboxBell>>,
    serving: Arc<AtomicBool>,
}

/// The core with what the data directory holds, and the parts that others need.
async fn start_core(config: &Arc<Config>) -> anyhow::Result<(Core, Parts)> {
    let (announcer, durable) = Announcer::new();
    let options = OpenOptions {
        segment_bytes: config.store.segment_bytes,
        ..OpenOptions::new(config.store.directory.clone(), Arc::<Announcer>::clone(&announcer))
    };
    let (journal, recovered): (Journal, Recovered) =
        tokio::task::spawn_blocking(move || Journal::open(options))
            .await
            .context("the store did not open")??;
    core_on(config, Box::new(journal), recovered, announcer, durable).await
}

pub(crate) async fn core_on(
    config: &Arc<Config>,
    store: Box<dyn Store>,
    recovered: Recovered,
    announcer: Arc<Announcer>,
    durable: Durable,
) -> anyhow::Result<(Core, Parts)> {
    let bodies = Bodies::new(config.limits.in_flight_bytes_max);
    let (arrived, serving) = <(Arc<Notify>, Arc<AtomicBool>)>::default();
    let bell = |source: &SourceSection| OutboxBell { put_wait: source.put_wait, ..OutboxBell::default() };
    let bells = config.sources.iter().map(|source| (config.source_name(source), Arc::new(bell(source))));
    let outboxes: BTreeMap<String, Arc<OutboxBell>> = bells.collect();
    let wiring = Wiring {
        announcer,
        arrived: Arc::clone(&arrived),
        bodies: bodies.clone(),
        names: config.gateway_names(),
        outboxes: outboxes.clone(),
        device_puts: config.device_puts(),
        serving: Arc::clone(&serving),
        machinery: Arc::new(FromConfig(Arc::clone(config))),
    };
    let (core, identity) = Core::start(store, recovered, durable, wiring).await?;
    let handle = core.handle();
    Ok((core, Parts { core: handle, identity, bodies, arrived, outboxes, serving }))
}

/// Queue manager and area as the configuration wants them.
#[derive(Debug)]
struct FromConfig(Arc<Config>);

impl Machinery for FromConfig {
    fn machines(&self, recovered: &Recovered, now: Moment, batch: &mut Batch) -> anyhow::Result<Machines> {
        let config = &self.0;
        let identity = Identity::recover(recovered, config.queue_manager.name, now, batch)?;
        let queue_manager = qmgr::QueueManager::new(
            qmgr::Settings {
                dev_objects: config.queue_manager.dev_objects,
                hash_key: identity.hash_key,
                ..qmgr::Settings::new(config.queue_manager.name, identity.qmgr_id, config.gateway.name)
            },
            recovered,
            qmgr::Now { wall_ms: now.wall_ms, instant: now.instant },
            batch,
        )?;
        let area = device::area(config, &identity, recovered, now, batch)?;
        let target = |source: &SourceSection| TargetSettings {
            name: config.source_name(source),
            messages_max: source.outbox_messages_max,
            bytes_max: source.outbox_bytes_max,
        };
        let targets: Vec<TargetSettings> = config.sources.iter().map(target).collect();
        let outbox = Outbox::new(&targets, recovered, batch)?;
        Ok(Machines { queue_manager, area, outbox, identity })
    }
}

/// Where the service can be reached.
pub(crate) struct Sockets {
    pub(crate) mq: net::Listener,
    pub(crate) devices: net::Listener,
    /// A simulation has none.
    pub(crate) admin: Option<TcpListener>,
}

impl Sockets {
    fn listen(config: &Config) -> anyhow::Result<Self> {
        Ok(Self {
            mq: net::Listener::Tcp(net::listen("mq", config.queue_manager.listen)?),
            devices: net::Listener::Tcp(net::listen("devices", config.devices.listen)?),
            admin: Some(net::listen("admin", config.admin.listen)?),
        })
    }

    fn addresses(&self) -> anyhow::Result<Listeners> {
        let text = |address: io::Result<SocketAddr>| -> anyhow::Result<String> {
            Ok(address.context("a listener has no address")?.to_string())
        };
        let admin = self.admin.as_ref().map(TcpListener::local_addr);
        Ok(Listeners {
            mq: text(self.mq.local_addr())?,
            devices: text(self.devices.local_addr())?,
            admin: admin.map_or_else(|| Ok(String::new()), text)?,
        })
    }
}

/// The tasks around the core.
pub(crate) struct Service {
    core: CoreHandle,
    mq: Arc<MqServer>,
    devices: Arc<DeviceServer>,
    sockets: Option<Sockets>,
    listeners: Listeners,
    backend: Arc<Backend>,
    local: Option<Listener<LocalQueue>>,
    remotes: Vec<Listener<RemoteQueue>>,
    outbox_tasks: Vec<OutboxTask>,
    chain: Arc<Chain>,
    /// Stops accepting and the listener on the transmission queue.
    intake: CancellationToken,
    /// Ends connections, those with a call in flight too.
    connections: CancellationToken,
    /// Ends the administration, last.
    last: CancellationToken,
    tracker: TaskTracker,
    limits: crate::config::Limits,
    names: (String, String),
}

impl Service {
    pub(crate) fn new(
        config: &Config,
        parts: Parts,
        chain: Arc<Chain>,
        rule: Arc<Rule>,
        reload: ReloadExits,
        sockets: Sockets,
    ) -> anyhow::Result<Self> {
        let Parts { core, identity, bodies, arrived, outboxes, serving } = parts;
        let listeners = sockets.addresses()?;
        let (intake, connections) = (CancellationToken::new(), CancellationToken::new());
        let write_stall = Duration::from_secs(config.limits.write_stall_seconds_max.into());
        let handshake = Duration::from_secs(config.limits.handshake_seconds_max.into());
        let mq = Arc::new(MqServer {
            core: core.connection(),
            config: Arc::new(mq::server_config(&config.queue_manager, identity.qmgr_id, handshake)?),
            bodies: bodies.clone(),
            quiesce: intake.clone(),
            stop: connections.clone(),
            count: Arc::new(ConnectionCount::default()),
            instances: mq::Instances::default(),
            write_stall,
        });
        let devices = Arc::new(DeviceServer {
            core: core.connection(),
            limits: device::limits(config),
            handshake_timeout: handshake,
            separator: config.gateway.separator.char(),
            bodies: bodies.clone(),
            chain: Arc::clone(&chain),
            gateway: config.gateway.name,
            q_mgr: config.queue_manager.name,
            quiesce: intake.clone(),
            stop: connections.clone(),
            count: Arc::new(ConnectionCount::default()),
            write_stall,
        });
        let mut sources = Sources::default();
        let exits = || Exits {
            chain: Arc::clone(&chain),
            names: config.gateway_names(),
            refuses_segments: config.gateway.segments == Segments::Refuse,
        };
        let mut local = None;
        let gateway = DeviceName::try_from(config.gateway.name)?;
        if config.gateway.local {
            let queue = config.transmission_queue();
            let control = SourceControl::new("local", &queue, SourceKind::Local, Wanted::Run);
            sources.add(Arc::clone(&control));
            let q_mgr = config.queue_manager.name;
            local = Some(Listener {
                core: core.connection(),
                queue: LocalQueue::new(q_mgr, queue, LOCAL_HOLDER, bodies, arrived),
                control,
                exits: exits(),
                undelivered: Undelivered::new(Arc::clone(&rule), gateway),
                limits: BatchLimits {
                    messages_max: config.gateway.batch_messages_max as usize,
                    bytes_max: usize::try_from(config.gateway.batch_bytes_max).unwrap_or(usize::MAX),
                },
                stop: intake.clone(),
            });
        }
        let (mut remotes, mut outbox_tasks) = (Vec::new(), Vec::new());
        for section in &config.sources {
            let settings = Arc::new(RemoteSettings::of(config, section)?);
            let wanted = if section.start { Wanted::Run } else { Wanted::Stop };
            if let (Some(bell), Some(queue)) = (outboxes.get(&settings.name), settings.sync_queue) {
                let control = SourceControl::new(&settings.name, &queue, SourceKind::Outbox, wanted);
                sources.add(Arc::clone(&control));
                outbox_tasks.push(OutboxTask::new(
                    core.connection(),
                    Arc::clone(&settings),
                    identity.store,
                    control,
                    Arc::clone(bell),
                    (section.batch_messages_max as usize, section.batch_bytes_max),
                    intake.clone(),
                ));
            }
            let control = SourceControl::new(&settings.name, &settings.queue, SourceKind::Remote, wanted);
            sources.add(Arc::clone(&control));
            remotes.push(Listener {
                core: core.connection(),
                queue: RemoteQueue::new(settings, identity.store, Arc::clone(&control)),
                control,
                exits: exits(),
                undelivered: Undelivered::new(Arc::clone(&rule), gateway),
                limits: BatchLimits {
                    messages_max: section.batch_messages_max as usize,
                    bytes_max: usize::try_from(section.batch_bytes_max).unwrap_or(usize::MAX),
                },
                stop: intake.clone(),
            });
        }
        let backend = Arc::new(Backend {
            core: core.connection(),
            serving,
            listeners: listeners.clone(),
            mq: Arc::clone(&mq.count),
            devices: Arc::clone(&devices.count),
            sources: Arc::new(sources),
            chain: Arc::clone(&chain),
            directory: config.store.directory.clone(),
            backup: Arc::default(),
            gateway: config.gateway.name.to_string(),
            names: config.gateway_names(),
            q_mgr: config.queue_manager.name,
            queue: config.transmission_queue(),
            reload: reload.clone(),
            started: clock::now().instant,
        });
        Ok(Self {
            core,
            mq,
            devices,
            sockets: Some(sockets),
            listeners,
            backend,
            local,
            remotes,
            outbox_tasks,
            chain,
            intake,
            connections,
            last: CancellationToken::new(),
            tracker: TaskTracker::new(),
            limits: config.limits.clone(),
            names: (config.queue_manager.name.to_string(), config.gateway.name.to_string()),
        })
    }

    /// Scripts first, then everything that may be reached from outside.
    pub(crate) async fn start(&mut self, config: &Config) -> anyhow::Result<()> {
        scripts::apply(&self.core, &config.queue_manager.mqsc, config.queue_manager.mqsc_continue).await?;
        let directory = &config.store.directory;
        let token = admin::ensure_token(directory)?;
        admin::write_endpoints(directory, &self.listeners)?;
        if let Some(local) = self.local.take() {
            self.tracker.spawn(local.run());
        }
        for remote in self.remotes.drain(..) {
            self.tracker.spawn(remote.run());
        }
        for outbox in self.outbox_tasks.drain(..) {
            self.tracker.spawn(outbox.run());
        }
        let Some(sockets) = self.sockets.take() else { return Ok(()) };
        let (mq, connections) = (Arc::clone(&self.mq), slots(self.limits.mq_connections_max));
        let serve = move |accepted| mq::serve(Arc::clone(&mq), accepted);
        // Who comes while the queue manager quiesces is told so in reply to MQCONN.
        let stop = self.connections.clone();
        self.tracker.spawn(net::accept(sockets.mq, connections, self.tracker.clone(), stop, serve));
        let (devices, connections) = (Arc::clone(&self.devices), slots(self.limits.device_connections_max));
        let serve = move |accepted| device::serve(Arc::clone(&devices), accepted);
        let stop = self.intake.clone();
        self.tracker.spawn(net::accept(sockets.devices, connections, self.tracker.clone(), stop, serve));
        if let Some(listener) = sockets.admin {
            let backend: Arc<dyn AdminBackend> = Arc::<Backend>::clone(&self.backend);
            let bounds = AdminBounds::from(&config.admin);
            let last = self.last.clone();
            self.tracker.spawn(async move {
                if let Err(error) = admin::serve_bounded(listener, token, backend, bounds, last).await {
                    tracing::error!(%error, "the admin listener ended");
                }
            });
        }
        Ok(())
    }

    /// Whether it serves: only then a failed journal is recovered.
    pub(crate) fn serving(&self, serving: bool) {
        self.backend.serving.store(serving, Ordering::Release);
    }

    /// The line that scripts wait for (INTERFACE.md 3).
    fn say_ready(&self, directory: &Path) -> anyhow::Result<()> {
        self.serving(true);
        let Listeners { mq, devices, admin } = &self.listeners;
        let (queue_manager, gateway) = &self.names;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "ready queue-manager={queue_manager} gateway={gateway} mq={mq} devices={devices} admin={admin} data={}",
            directory.display()
        )?;
        out.flush()?;
        tracing::info!(queue_manager, gateway, mq, devices, admin, "ready");
        Ok(())
    }

    /// Ends in order: no new connections, what is in flight until the grace is over, then all others.
    async fn end(self, grace: Duration) {
        self.serving(false);
        self.intake.cancel();
        // A core that has ended takes no commands, and needs none. One that recovers is waited for.
        if let Ok(core) = self.core.newest().await {
            let _ = core.send(Lane::Control, Command::Quiesce).await;
        }
        self.tracker.close();
        // The administration stays for a stop that takes long; it is not waited for.
        let quiet = async || {
            while self.mq.count.now() > 0 || self.devices.count.now() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(grace, quiet()).await.is_err() && grace > Duration::ZERO {
            tracing::warn!(
                mq = self.mq.count.now(),
                devices = self.devices.count.now(),
                "connections are cut: the grace period is over"
            );
            // Those who still wait hear why (2162), as far as they listen.
            if let Ok(core) = self.core.newest().await {
                let _ = core.send(Lane::Control, Command::Stopping).await;
            }
            let _ = tokio::time::timeout(LAST_WORDS, quiet()).await;
        }
        self.connections.cancel();
        self.last.cancel();
        if tokio::time::timeout(Duration::from_secs(5), self.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.tracker.len(), "tasks did not end in time");
        }
        let Self { core, mq, devices, backend, local, remotes, outbox_tasks, chain, .. } = self;
        drop((mq, devices, backend, local, remotes, outbox_tasks));
        if let Some(chain) = Arc::into_inner(chain) {
            chain.term().await;
        }
        // The same.
        if let Ok(core) = core.newest().await {
            let _ = core.send(Lane::Control, Command::Stop).await;
        }
    }
}

/// Waits for the core's last step, and closes the store.
async fn close(core_task: JoinHandle<anyhow::Result<Core>>) -> anyhow::Result<()> {
    let core = core_task.await.context("the core ended unexpectedly")??;
    tokio::task::spawn_blocking(move || core.close()).await.context("the store did not close")?
}

fn core_ended(ended: Result<anyhow::Result<Core>, tokio::task::JoinError>) -> anyhow::Error {
    match ended {
        Ok(Err(error)) => error,
        Ok(Ok(_)) => anyhow::anyhow!("the core ended unexpectedly"),
        Err(panicked) => anyhow::anyhow!("the core ended unexpectedly: {panicked}"),
    }
}

/// SIGTERM, SIGINT and SIGHUP.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?,
            hangup: signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?,
        })
    }

    /// What is asked next.
    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::End,
            _ = self.interrupt.recv() => Asked::End,
            _ = self.hangup.recv() => Asked::Reload,
        }
    }

    /// Returns when the service shall stop.
    async fn end(&mut self) {
        while self.next().await == Asked::Reload {
            tracing::warn!("SIGHUP: nothing is reloaded now");
        }
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    End,
    Reload,
}

fn slots(connections_max: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(connections_max as usize))
}
