//! What an exit is told besides the message: MQ's MQCXP and MQCD, as far as a message exit needs them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mq_wire::QMgrName;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From a transmission queue to a device.
    FromMq,
    /// From a device to a queue of MQ or to another device; its transmission header was built for the exits.
    FromDevice,
}

/// Where a message came from. Cheap to clone: one is made for a source or a connection, and given to each message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    source: Arc<str>,
    direction: Direction,
    dry_run: bool,
}

impl Origin {
    /// The name of the source or channel, and the direction.
    pub fn new(source: &str, direction: Direction) -> Self {
        Self { source: source.into(), direction, dry_run: false }
    }

    /// Of a message that does not exist: somebody asks what would become of it ([`crate::Chain::dry_run`]).
    pub fn dry_run(source: &str, direction: Direction) -> Self {
        Self { dry_run: true, ..Self::new(source, direction) }
    }

    /// Name of the source, channel or device.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

/// What an exit is told when it is started.
#[derive(Debug, Clone)]
pub struct InitContext {
    pub(crate) exit_name: Arc<str>,
    pub(crate) exit_data: Arc<str>,
    pub(crate) exit_number: usize,
    pub(crate) instance: usize,
    pub(crate) gateway_names: Arc<[QMgrName]>,
}

impl InitContext {
    /// For tests of an exit: its data string, and the gateway's names.
    pub fn new(exit_data: &str, gateway_names: &[QMgrName]) -> Self {
        Self {
            exit_name: "test".into(),
            exit_data: exit_data.into(),
            exit_number: 1,
            instance: 0,
            gateway_names: gateway_names.into(),
        }
    }

    /// The name under which it is configured.
    pub fn exit_name(&self) -> &str {
        &self.exit_name
    }

    /// Its user data string (MQCXP.ExitData).
    pub fn exit_data(&self) -> &str {
        &self.exit_data
    }

    /// Its place in the chain, from 1 (MQCXP.ExitNumber).
    pub fn exit_number(&self) -> usize {
        self.exit_number
    }

    /// The instance of the chain. One that replaces another has a number of its own.
    pub fn instance(&self) -> usize {
        self.instance
    }

    /// The names under which the gateway is addressed; the first is its own.
    pub fn gateway_names(&self) -> &[QMgrName] {
        &self.gateway_names
    }
}

/// What an exit is told with each message, and its memory between them.
#[derive(Debug)]
pub struct ExitContext {
    init: InitContext,
    origin: Origin,
    message_number: u64,
    user_area: ExitUserArea,
}

impl ExitContext {
    /// A context as the chain makes one: also for tests of an exit.
    pub fn new(init: InitContext, origin: Origin) -> Self {
        Self { init, origin, message_number: 0, user_area: ExitUserArea::default() }
    }

    /// For the next message.
    pub(crate) fn begin(&mut self, origin: &Origin, message_number: u64) {
        if self.origin != *origin {
            self.origin = origin.clone();
        }
        self.message_number = message_number;
    }

    /// The name under which the exit is configured.
    pub fn exit_name(&self) -> &str {
        self.init.exit_name()
    }

    /// Its user data string (MQCXP.ExitData).
    pub fn exit_data(&self) -> &str {
        self.init.exit_data()
    }

    /// Its place in the chain, from 1 (MQCXP.ExitNumber).
    pub fn exit_number(&self) -> usize {
        self.init.exit_number()
    }

    /// The instance of the chain.
    pub fn instance(&self) -> usize {
        self.init.instance()
    }

    /// The names under which the gateway is addressed; the first is its own.
    pub fn gateway_names(&self) -> &[QMgrName] {
        self.init.gateway_names()
    }

    /// Name of the source, channel or device that the message came from.
    pub fn source(&self) -> &str {
        self.origin.source()
    }

    /// Which way the message goes.
    pub fn direction(&self) -> Direction {
        self.origin.direction()
    }

    /// Whether somebody only asks what would become of such a message (`route`): nothing outside of the message is to change.
    pub fn is_dry_run(&self) -> bool {
        self.origin.dry_run
    }

    /// Number of the message since the chain was started, from 1, in order of arrival.
    pub fn message_number(&self) -> u64 {
        self.message_number
    }

    /// The exit's memory between calls, one for each instance and place in the chain.
    pub fn user_area(&mut self) -> &mut ExitUserArea {
        &mut self.user_area
    }
}

/// Memory of an exit between its calls (MQCXP.ExitUserArea): 16 bytes as in MQ, or a value of any type.
#[derive(Default)]
pub struct ExitUserArea {
    /// MQ's 16 bytes, zeros at first.
    pub bytes: [u8; 16],
    state: Option<Box<dyn Any + Send>>,
}

impl ExitUserArea {
    /// The value that was kept, or the one that `make` makes if there is none of that type yet.
    pub fn state<T: Send + 'static>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let kept = self.state.take().and_then(|state| state.downcast::<T>().ok());
        let state: Box<T> = kept.unwrap_or_else(|| Box::new(make()));
        let state: &mut Box<dyn Any + Send> = self.state.insert(state);
        #[expect(clippy::expect_used, reason = "the line above put a value of this very type there")]
        (**state).downcast_mut().expect("just put there")
    }
}

impl fmt::Debug for ExitUserArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExitUserArea")
            .field("bytes", &self.bytes)
            .field("state", &self.state.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_area_keeps_a_value_of_any_type() {
        let mut area = ExitUserArea::default();
        *area.state(|| 7_u32) += 1;
        assert_eq!(*area.state(|| 0_u32), 8);
        assert_eq!(area.state(String::new), "", "another type starts afresh");
        assert_eq!(area.bytes, [0; 16]);
    }
}
