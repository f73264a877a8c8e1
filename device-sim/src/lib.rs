//! Simulated MQe devices: library with a durable outbox, pull, push, and a fleet with a ledger.
