//! A client and the peer, brought together.

use std::time::Duration;

use mq_client::{ClientError, ConnectOptions, Connection};
use mq_wire::{ApplName, Mqod, OpenOptions};

use crate::conversation::{Conversation, Peer};
use crate::setting::{CHANNEL, Setting};

/// How the client connects to `peer`, patient as a test is.
pub(crate) fn options(peer: &Peer) -> ConnectOptions {
    let address = format!("{CHANNEL}/TCP/127.0.0.1({})", peer.address().port());
    ConnectOptions {
        appl_name: ApplName::cut("demo.Main"),
        user: "Alexandra.Long-Name".to_owned(),
        connect_timeout: Duration::from_secs(20),
        reply_timeout: Duration::from_secs(20),
        ..ConnectOptions::parse(&address).unwrap()
    }
}

/// A client connected to a peer of this kind.
pub(crate) async fn connected(setting: Setting) -> (Connection, Conversation) {
    connected_with(setting, |_| {}).await
}

pub(crate) async fn connected_with(
    setting: Setting,
    change: impl FnOnce(&mut ConnectOptions),
) -> (Connection, Conversation) {
    let peer = Peer::listen(setting).await;
    let mut options = options(&peer);
    change(&mut options);
    let (connection, conversation) = tokio::join!(Connection::connect(&options), peer.connected());
    (connection.unwrap(), conversation)
}

/// What a client is told that a peer treats like this: `script` gets the peer.
pub(crate) async fn refused<F: Future<Output = ()>>(
    setting: Setting,
    change: impl FnOnce(&mut ConnectOptions),
    script: impl FnOnce(Peer) -> F,
) -> ClientError {
    let peer = Peer::listen(setting).await;
    let mut options = options(&peer);
    change(&mut options);
    let (outcome, ()) = tokio::join!(Connection::connect(&options), script(peer));
    outcome.expect_err("the connection should be refused")
}

/// A queue by name.
pub(crate) fn queue(name: &str) -> Mqod {
    Mqod { object_name: name.parse().unwrap(), ..Mqod::default() }
}

/// A queue that is open under this handle.
pub(crate) async fn open(connection: &mut Connection, peer: &mut Conversation, handle: u32) -> i32 {
    let all = OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::BROWSE;
    let (opened, _) = tokio::join!(connection.open(queue("APP.QUEUE"), all), peer.opened(handle));
    let opened = opened.unwrap();
    assert_eq!(opened.handle as u32, handle);
    opened.handle
}
