//! MQ clients: one thin task a socket, which moves bytes between socket and protocol machine, and calls between machine
//! and core. Each conversation of a socket is a connection of its own in the core.
//!
//! | module | what is in it |
//! |---|---|
//! | `socket` | the task: what it waits for, and what it does then |
//! | `conversation` | what it keeps of each conversation |
//! | `convert` | requests of the machine as verbs of the queue manager, and replies back |
//! | `deliver` | from the core's answer to the machine's reply: durability, reading, conversion |
//! | `works` | what takes time, beside everything else |
//! | `instances` | MAXINST and MAXINSTC |

mod conversation;
mod convert;
mod deliver;
mod instances;
mod socket;
mod works;

use std::time::Duration;

use mq_wire::{Chars, Coding};

use crate::config::{ByteOrder, QueueManager};

pub(crate) use instances::Instances;
pub(crate) use socket::{MqServer, serve};

/// What the machines are told.
pub(crate) fn server_config(
    config: &QueueManager,
    qmgr_id: Chars<48>,
    handshake_timeout: Duration,
) -> anyhow::Result<mq_channel::ServerConfig> {
    let order = match config.byte_order {
        ByteOrder::Little => mq_wire::ByteOrder::Little,
        ByteOrder::Big => mq_wire::ByteOrder::Big,
    };
    let mut random = [0; 12];
    crate::system::random(&mut random)?;
    Ok(mq_channel::ServerConfig {
        coding: Coding { order, ..Coding::NATIVE },
        // The configuration has no higher one than 14.
        fap_level_max: u8::try_from(config.fap_level_max).unwrap_or(14),
        random,
        handshake_timeout,
        ..mq_channel::ServerConfig::new(config.name, qmgr_id)
    })
}
