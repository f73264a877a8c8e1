//! MQ channel protocol state machines without I/O: both ends of MQI channels.
