//! Two services: one plays the queue manager of applications, the other is a gateway that reaches it over MQ's client protocol.

use std::net::SocketAddr;

use crate::service::Service;

/// The queue manager of the applications.
const QUEUE_MANAGER: &str = "[queue_manager]\nname = \"HQ\"\n[gateway]\nname = \"GATEHQ\"\n";

/// What the administrator of that queue manager defines for the gateway.
pub const DEFINITIONS: &str = "DEFINE QLOCAL(GATE1) USAGE(XMITQ) MAXDEPTH(999999999) MAXMSGL(104857600)\n\
                               DEFINE QLOCAL(MQE.SYNCQ) DEFPSIST(YES)\n";

/// A queue manager named HQ, with what a gateway needs there; not started yet.
pub fn queue_manager(program: &str) -> Service {
    let service = Service::prepare(program).named("HQ", "GATEHQ").with_config(QUEUE_MANAGER);
    let script = service.folder().join("gateway.mqsc");
    std::fs::write(&script, DEFINITIONS).unwrap();
    service.with(&["--mqsc", &script.display().to_string()])
}

/// A gateway whose source is that queue manager, with more in its configuration; not started yet.
pub fn gateway(program: &str, hq: &Service, source: &str, more: &str) -> Service {
    gateway_at(program, hq.mq(), source, more)
}

/// The same; the queue manager is reached at this address.
pub fn gateway_at(program: &str, address: SocketAddr, source: &str, more: &str) -> Service {
    let connect = format!("DEV.ADMIN.SVRCONN/TCP/127.0.0.1({})", address.port());
    let config = format!("{more}\n[[source]]\nname = \"hq\"\nconnect = \"{connect}\"\n{source}\n");
    Service::prepare(program).with_config(&config)
}
