//! The configuration: defaults, over them the file, over it the environment, over that the flags. All that is wrong
//! with a file is reported, each with its place. What the values mean is for those who use them.

mod nearest;
mod problem;
mod section;
mod sections;
mod setting;
mod values;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mq_wire::{QMgrName, QName};
use mqe_exits::{DataOptions, DestinationRewrite, ExitConfig};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use nearest::{nearest, suggestion};
pub use problem::{Location, Problem, Problems, Source};
pub use section::Section;
pub use sections::{
    Admin, Devices, GatewaySection, Limits, Log, Park, QueueManager, SourceSection, StoreSection,
};
pub use setting::Setting;
pub use values::{
    Address, Addresses, ByteOrder, DevicePattern, LogFormat, LogLevel, MessageContext, Onboarding,
    PutsWhenStopped, Segments, Separator,
};

use section::read_section;

/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "mqe-gateway.toml";

/// The file with every key, its default and a sentence.
pub const ANNOTATED: &str = include_str!("../mqe-gateway.toml");

/// Sections of INTERFACE.md 6 that this version does not have.
const LATER: &[&str] = &["tls", "auth"];

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `[queue_manager]`
    pub queue_manager: QueueManager,
    /// `[gateway]`
    pub gateway: GatewaySection,
    /// `[[source]]`
    pub sources: Vec<SourceSection>,
    /// `[[exit]]`, in the order of the chain.
    pub exits: Vec<ExitConfig>,
    /// `[park]`
    pub park: Park,
    /// `[devices]`
    pub devices: Devices,
    /// `[store]`
    pub store: StoreSection,
    /// `[admin]`
    pub admin: Admin,
    /// `[log]`
    pub log: Log,
    /// `[limits]`
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queue_manager: QueueManager::default(),
            gateway: GatewaySection::default(),
            sources: Vec::new(),
            exits: vec![default_exit()],
            park: Park::default(),
            devices: Devices::default(),
            store: StoreSection::default(),
            admin: Admin::default(),
            log: Log::default(),
            limits: Limits::default(),
        }
    }
}

/// What flags and environment say; what they do not say is `None`, empty or false.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The data directory.
    pub data: Option<PathBuf>,
    /// Scripts after those of the file.
    pub mqsc: Vec<PathBuf>,
    /// Go on when a command of a script fails.
    pub mqsc_continue: bool,
    /// Leave the DEV objects out.
    pub no_dev_objects: bool,
    /// Where MQ clients connect.
    pub listen_mq: Option<SocketAddr>,
    /// Where devices connect.
    pub listen_devices: Option<SocketAddr>,
    /// Where administration listens.
    pub listen_admin: Option<SocketAddr>,
    /// How a line of the log looks.
    pub log_format: Option<LogFormat>,
}

impl Config {
    /// The configuration of a file, or of [`DEFAULT_FILE`] where none is named and there is one, with `overrides`.
    pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Self, Problems> {
        let (_, config, problems) = Self::examine(file, overrides);
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// Like [`Config::load`], for those who want the file that was read, what can be used of it, and all that is wrong.
    pub fn examine(file: Option<&Path>, overrides: &Overrides) -> (Option<PathBuf>, Self, Vec<Problem>) {
        let file = file_to_read(file);
        let (mut config, mut problems) = file.as_deref().map(Self::read).unwrap_or_default();
        config.apply(overrides);
        problems.extend(config.contradictions());
        (file, config, problems)
    }

    /// The configuration in a text that came from `file`, and what is wrong with it: those keys have their defaults.
    pub fn parse(file: &Path, text: &str) -> (Self, Vec<Problem>) {
        let mut source = Source::new(file, text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            source.problem(error.span().unwrap_or_default(), error.message());
        }
        let mut config = Self::default();
        for (key, value) in table.get_ref() {
            config.read_table(key, value, &mut source);
        }
        // In the order of the file, which tables do not keep.
        source.problems.sort_by_key(|problem| problem.place.as_ref().map(|place| (place.line, place.column)));
        (config, source.problems)
    }

    /// The transmission queue that the gateway drains.
    pub fn transmission_queue(&self) -> QName {
        self.gateway.transmission_queue.unwrap_or(QName(self.gateway.name.0))
    }

    /// The source whose outbox takes puts of devices that name no queue manager; none is the embedded queue manager.
    pub fn device_puts(&self) -> Option<String> {
        match self.gateway.device_puts.as_str() {
            "" => self.sources.first().map(|source| self.source_name(source)),
            LOCAL_SOURCE => None,
            name => Some(name.to_owned()),
        }
    }

    /// The names under which the gateway is addressed; the first is its own.
    pub fn gateway_names(&self) -> Arc<[QMgrName]> {
        std::iter::once(self.gateway.name).chain(self.gateway.aliases.iter().copied()).collect()
    }

    /// The exits in force: `destination-rewrite` has the gateway's separator where its data does not name another.
    pub fn chain(&self) -> Vec<ExitConfig> {
        let with_separator = |exit: &ExitConfig| {
            let named = DataOptions::parse(&exit.data).is_ok_and(|mut options| options.take("sep").is_some());
            if exit.kind != DestinationRewrite::KIND || named {
                return exit.clone();
            }
            exit.clone().with_data(format!("sep={} {}", self.gateway.separator, exit.data).trim_end())
        };
        self.exits.iter().map(with_separator).collect()
    }

    /// The onboarding in force: never [`Onboarding::Auto`] (INTERFACE.md 2).
    pub fn onboarding(&self) -> Onboarding {
        match self.devices.onboarding {
            Onboarding::Auto if self.devices.listen.ip().is_loopback() && self.queue_manager.dev_objects => {
                Onboarding::Pattern
            }
            Onboarding::Auto => Onboarding::Listed,
            chosen => chosen,
        }
    }

    /// The listeners that can be reached from other machines: name of the section, address.
    pub fn exposed(&self) -> Vec<(&'static str, SocketAddr)> {
        self.listeners().into_iter().filter(|(_, address)| !address.ip().is_loopback()).collect()
    }

    fn listeners(&self) -> [(&'static str, SocketAddr); 3] {
        [
            (QueueManager::NAME, self.queue_manager.listen),
            (Devices::NAME, self.devices.listen),
            (Admin::NAME, self.admin.listen),
        ]
    }

    fn read(file: &Path) -> (Self, Vec<Problem>) {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(file, &text),
            Err(error) => {
                let message = format!("cannot read the configuration {}: {error}", file.display());
                (Self::default(), vec![Problem::of_values(message)])
            }
        }
    }

    fn read_table(
        &mut self,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
        source: &mut Source<'_>,
    ) {
        let name = key.get_ref().as_ref();
        if name == "exit" {
            self.exits = read_exits(value, source);
            return;
        }
        if name == SourceSection::NAME {
            self.sources = read_sources(value, source);
            return;
        }
        if LATER.contains(&name) {
            source.problem(key.span(), format!("[{name}] is not supported by this version: leave it out"));
            return;
        }
        let known: Vec<&str> =
            sections().iter().map(|(name, _)| *name).chain(["exit", SourceSection::NAME]).collect();
        if !known.contains(&name) {
            let near = suggestion(name, known.iter().copied());
            let near = if near.is_empty() { format!(": there are {}", known.join(", ")) } else { near };
            source.problem(key.span(), format!("unknown section `{name}`{near}"));
            return;
        }
        let DeValue::Table(table) = value.get_ref() else {
            source.problem(value.span(), format!("`{name}` is a section: write [{name}] above its keys"));
            return;
        };
        let others = sections();
        match name {
            QueueManager::NAME => self.queue_manager = read_section(table, &others, source),
            GatewaySection::NAME => self.gateway = read_section(table, &others, source),
            Park::NAME => self.park = read_section(table, &others, source),
            Devices::NAME => self.devices = read_section(table, &others, source),
            StoreSection::NAME => self.store = read_section(table, &others, source),
            Admin::NAME => self.admin = read_section(table, &others, source),
            Log::NAME => self.log = read_section(table, &others, source),
            Limits::NAME => self.limits = read_section(table, &others, source),
            _ => {}
        }
    }

    fn apply(&mut self, overrides: &Overrides) {
        let Overrides { data, mqsc, mqsc_continue, no_dev_objects, .. } = overrides;
        if let Some(data) = data {
            self.store.directory.clone_from(data);
        }
        self.queue_manager.mqsc.extend_from_slice(mqsc);
        self.queue_manager.mqsc_continue |= mqsc_continue;
        self.queue_manager.dev_objects &= !no_dev_objects;
        self.queue_manager.listen = overrides.listen_mq.unwrap_or(self.queue_manager.listen);
        self.devices.listen = overrides.listen_devices.unwrap_or(self.devices.listen);
        self.admin.listen = overrides.listen_admin.unwrap_or(self.admin.listen);
        self.log.format = overrides.log_format.unwrap_or(self.log.format);
    }

    /// What fits each by itself, but not together.
    fn contradictions(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let listeners = self.listeners();
        for (index, (name, address)) in listeners.iter().enumerate() {
            for (other, same) in &listeners[..index] {
                if address == same && address.port() != 0 {
                    let message =
                        format!("[{other}] and [{name}] both listen on {address}: give one another port");
                    problems.push(Problem::of_values(message));
                }
            }
        }
        if self.queue_manager.name == self.gateway.name {
            let name = self.gateway.name;
            let message = format!(
                "queue manager and gateway are both named {name}: messages for {name} would stay in the queue manager"
            );
            problems.push(Problem::of_values(message));
        }
        self.contradictions_of_sources(&mut problems);
        for (index, exit) in self.exits.iter().enumerate() {
            let name = exit.display_name();
            if self.exits[..index].iter().any(|before| before.display_name() == name) {
                problems
                    .push(Problem::of_values(format!("two exits are named {name:?}: give one another name")));
            }
        }
        problems
    }
}

impl Config {
    fn contradictions_of_sources(&self, problems: &mut Vec<Problem>) {
        let mut problem = |message: String| problems.push(Problem::of_values(message));
        for (index, source) in self.sources.iter().enumerate() {
            let name = self.source_name(source);
            let before = &self.sources[..index];
            if name == LOCAL_SOURCE || before.iter().any(|other| self.source_name(other) == name) {
                problem(format!("two sources are named {name:?}: give one another name"));
            }
            if source.connect.0.is_empty() {
                problem(format!("source {name:?} has no address: connect = \"CHANNEL/TCP/host(1414)\""));
            }
            let queue = |source: &SourceSection| {
                (source.queue_manager, source.connect.clone(), self.transmission_queue_of(source))
            };
            if before.iter().any(|other| queue(other) == queue(source)) {
                let queue = self.transmission_queue_of(source);
                problem(format!("two sources drain {queue} of one queue manager: only one can have it"));
            }
        }
        let target = self.gateway.device_puts.as_str();
        let known = |target: &str| self.sources.iter().any(|source| self.source_name(source) == target);
        if !target.is_empty() && target != LOCAL_SOURCE && !known(target) {
            problem(format!("[gateway] device_puts: there is no source {target:?}"));
        }
    }

    /// What a source is called.
    pub fn source_name(&self, source: &SourceSection) -> String {
        if source.name.is_empty() {
            self.transmission_queue_of(source).to_string()
        } else {
            source.name.clone()
        }
    }

    /// The transmission queue that a source drains.
    pub fn transmission_queue_of(&self, source: &SourceSection) -> QName {
        source.transmission_queue.unwrap_or(QName(self.gateway.name.0))
    }
}

/// What the listener on the embedded queue manager's transmission queue is called.
pub const LOCAL_SOURCE: &str = "local";

/// The sections with their keys.
pub fn sections() -> [(&'static str, &'static [&'static str]); 8] {
    [
        (QueueManager::NAME, QueueManager::KEYS),
        (GatewaySection::NAME, GatewaySection::KEYS),
        (Park::NAME, Park::KEYS),
        (Devices::NAME, Devices::KEYS),
        (StoreSection::NAME, StoreSection::KEYS),
        (Admin::NAME, Admin::KEYS),
        (Log::NAME, Log::KEYS),
        (Limits::NAME, Limits::KEYS),
    ]
}

fn file_to_read(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(file) => Some(file.to_owned()),
        None => Some(PathBuf::from(DEFAULT_FILE)).filter(|file| file.exists()),
    }
}

/// The chain where the file has none: the exit that makes queue and device of `QUEUE%DEVICE`.
fn default_exit() -> ExitConfig {
    ExitConfig::new(DestinationRewrite::KIND)
}

/// Reads the `[[source]]` tables.
fn read_sources(value: &Spanned<DeValue<'_>>, source: &mut Source<'_>) -> Vec<SourceSection> {
    let DeValue::Array(tables) = value.get_ref() else {
        source.problem(value.span(), "sources are a list: write [[source]] above the keys of each");
        return Vec::new();
    };
    let mut sources = Vec::new();
    for table in tables {
        match table.get_ref() {
            DeValue::Table(keys) => sources.push(read_section(keys, &sections(), source)),
            _ => source.problem(table.span(), "a source is a table: write [[source]] above its keys"),
        }
    }
    sources
}

/// Reads the `[[exit]]` tables.
fn read_exits(value: &Spanned<DeValue<'_>>, source: &mut Source<'_>) -> Vec<ExitConfig> {
    let DeValue::Array(tables) = value.get_ref() else {
        source.problem(value.span(), "exits are a list: write [[exit]] above the keys of each");
        return Vec::new();
    };
    let mut exits = Vec::new();
    for table in tables {
        match ExitConfig::deserialize(table.clone().into_deserializer()) {
            Ok(exit) => exits.push(exit),
            Err(error) => {
                let message = format!("[[exit]] {}", explain(error.message()));
                source.problem(error.span().unwrap_or(table.span()), message);
            }
        }
    }
    exits
}

/// serde's sentence about an unknown word, with the nearest known one.
fn explain(message: &str) -> String {
    let message = message.replace("unknown field", "unknown key").replace("unknown variant", "unknown word");
    let mut words = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown "), words.next()) {
        (true, Some(unknown)) => match nearest(unknown, words) {
            Some(known) => {
                format!("{}, did you mean `{known}`?", message.split(',').next().unwrap_or(&message))
            }
            None => message,
        },
        _ => message,
    }
}
