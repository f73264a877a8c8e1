//! Async MQ client on mq-channel's machines.
