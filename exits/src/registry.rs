//! Which kinds of exits there are, and how one is made of its configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{DestinationRewrite, ExitConfig, ExitError, HeaderStamp, ReceiveExit};

/// Makes an exit. It is called once for each instance of the chain, so that one that hangs shares nothing with the
/// one that replaces it; what instances are to share, the constructor shares among them.
pub(crate) type Constructor =
    Arc<dyn Fn(&ExitConfig) -> Result<Arc<dyn ReceiveExit>, ExitError> + Send + Sync>;

/// The kinds of exits that a configuration can name.
#[derive(Clone, Default)]
pub struct Registry {
    constructors: BTreeMap<String, Constructor>,
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

    /// The kinds, sorted.
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

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.constructors.keys()).finish()
    }
}
