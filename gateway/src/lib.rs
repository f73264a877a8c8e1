//! MQ to MQ Everyplace gateway: wiring of tasks, sockets, clock, configuration, commands and administration.
