//! MQ structures, constants, names, code pages and transport segments as bytes; no I/O, no clock.
