//! Which kinds of exits there are, and how one is made of its configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::chain::caught;
use crate::undelivered::{Compat, Dlq, Fleet, Rule, UndeliveredRule};
use crate::{
    AccessList, Audit, DataOptions, Decompress, DestinationFrom, DestinationRewrite, ExitConfig, ExitError,
    HeaderStamp, RateLimit, ReceiveExit, SizeLimit,
};

/// Makes an exit. It is called once for each instance of the chain, so that one that hangs shares nothing with the
/// one that replaces it; what instances are to share, the constructor shares among them.
pub(crate) type Constructor =
    Arc<dyn Fn(&ExitConfig) -> Result<Arc<dyn ReceiveExit>, ExitError> + Send + Sync>;

/// Makes an undelivered rule of its data string.
type RuleConstructor = Arc<dyn Fn(&str) -> Result<Arc<dyn UndeliveredRule>, ExitError> + Send + Sync>;

/// The kinds of exits and undelivered rules that a configuration can name.
#[derive(Clone, Default)]
pub struct Registry {
    constructors: BTreeMap<String, Constructor>,
    /// Each with whether it is one of ours.
    rules: BTreeMap<String, (RuleConstructor, bool)>,
}

impl Registry {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that knows the shipped exits.
    pub fn with_shipped() -> Self {
        let mut registry = Self::new();
        registry.register(DestinationRewrite::KIND, |config| {
            Ok(Arc::new(DestinationRewrite::from_data(&config.data)?))
        });
        registry.register(HeaderStamp::KIND, |config| Ok(Arc::new(HeaderStamp::from_data(&config.data)?)));
        registry.register(DestinationFrom::KIND, |config| {
            Ok(Arc::new(DestinationFrom::from_data(&config.data)?))
        });
        registry.register(AccessList::KIND, |config| Ok(Arc::new(AccessList::from_data(&config.data)?)));
        registry.register(SizeLimit::KIND, |config| Ok(Arc::new(SizeLimit::from_data(&config.data)?)));
        registry.register(Decompress::KIND, |config| Ok(Arc::new(Decompress::from_data(&config.data)?)));
        // These two have something that all their instances share.
        let shared = Shared::new();
        registry.register(RateLimit::KIND, move |config| {
            let buckets = shared.of(config, || RateLimit::from_data(&config.data).map(Arc::new))?;
            Ok(buckets)
        });
        let shared = Shared::new();
        registry.register(Audit::KIND, move |config| {
            let audit = shared.of(config, || Audit::from_data(&config.data).map(Arc::new))?;
            Ok(audit)
        });
        registry.add_rule(Fleet::KIND, true, |data| {
            no_options(data)?;
            Ok(Arc::new(Fleet))
        });
        registry.add_rule(Compat::KIND, true, |data| Ok(Arc::new(Compat::from_data(data)?)));
        registry.add_rule(Dlq::KIND, true, |data| {
            no_options(data)?;
            Ok(Arc::new(Dlq))
        });
        registry
    }

    /// Adds a kind. One that exists is replaced, so that a program can have its own of a shipped kind.
    pub fn register(
        &mut self,
        kind: &str,
        constructor: impl Fn(&ExitConfig) -> Result<Arc<dyn ReceiveExit>, ExitError> + Send + Sync + 'static,
    ) -> &mut Self {
        self.constructors.insert(kind.to_owned(), Arc::new(constructor));
        self
    }

    /// Adds a kind of undelivered rule; `undelivered = "..."` of the configuration names it, and its data string is given
    /// to the constructor. One that exists is replaced.
    pub fn register_rule(
        &mut self,
        kind: &str,
        constructor: impl Fn(&str) -> Result<Arc<dyn UndeliveredRule>, ExitError> + Send + Sync + 'static,
    ) -> &mut Self {
        self.add_rule(kind, false, constructor)
    }

    fn add_rule(
        &mut self,
        kind: &str,
        shipped: bool,
        constructor: impl Fn(&str) -> Result<Arc<dyn UndeliveredRule>, ExitError> + Send + Sync + 'static,
    ) -> &mut Self {
        self.rules.insert(kind.to_owned(), (Arc::new(constructor), shipped));
        self
    }

    /// Makes a rule; each of its answers may take as long as `limit`.
    pub fn rule(&self, kind: &str, data: &str, limit: Duration) -> Result<Rule, ExitError> {
        let (constructor, shipped) = self.rules.get(kind).ok_or_else(|| ExitError::UnknownRule {
            kind: kind.to_owned(),
            known: self.rules.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Rule::new(
            kind,
            caught("the rule's constructor", || constructor(data)).flatten()?,
            *shipped,
            limit,
        ))
    }

    /// Whether an exit can be made of its configuration: its kind is known, and it takes its data string. It is made, and not
    /// started.
    pub fn check(&self, config: &ExitConfig) -> Result<(), ExitError> {
        let constructor = self.constructor(&config.kind)?;
        caught("its constructor", || constructor(config)).flatten().map(drop)
    }

    /// The kinds of exits, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.constructors.keys().map(String::as_str)
    }

    pub(crate) fn constructor(&self, kind: &str) -> Result<Constructor, ExitError> {
        self.constructors.get(kind).cloned().ok_or_else(|| ExitError::UnknownKind {
            kind: kind.to_owned(),
            known: self.kinds().collect::<Vec<_>>().join(", "),
        })
    }
}

/// Exits of a kind that are the same object in all instances, by name and data: a limit counts for all of them together.
struct Shared<T>(Mutex<BTreeMap<(String, String), Arc<T>>>);

impl<T> Shared<T> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn of(
        &self,
        config: &ExitConfig,
        make: impl FnOnce() -> Result<Arc<T>, ExitError>,
    ) -> Result<Arc<T>, ExitError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (config.display_name().to_owned(), config.data.clone());
        if let Some(found) = made.get(&key) {
            return Ok(Arc::clone(found));
        }
        let new = make()?;
        made.insert(key, Arc::clone(&new));
        Ok(new)
    }
}

fn no_options(data: &str) -> Result<(), ExitError> {
    DataOptions::parse(data)?.finish(&["none"])
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.constructors.keys()).finish()
    }
}
