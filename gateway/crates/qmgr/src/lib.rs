//! The queue manager as a pure state machine.
