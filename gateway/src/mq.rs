//! MQ clients: one thin task a connection, which moves bytes between socket and protocol machine and calls between
//! machine and core.

mod connection;
mod convert;

pub(crate) use connection::{MqServer, serve};
