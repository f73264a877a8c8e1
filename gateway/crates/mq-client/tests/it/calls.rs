//! Calls that do what they should.

use bytes::Bytes;
use mq_client::{ClientError, Connection, Got, Opened};
use mq_wire::{
    CloseOptions, GetOptions, Mqgmo, Mqmd, Mqod, Mqpmo, MsgId, OpenOptions, PutOptions, Reason, Selector,
};

use tokio::net::TcpStream;

use crate::server::{Behaviour, Server};

fn od() -> Mqod {
    Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() }
}

fn pmo(options: PutOptions) -> Mqpmo {
    Mqpmo { options, ..Mqpmo::default() }
}

fn gmo(options: GetOptions) -> Mqgmo {
    Mqgmo { options, wait_interval: -1, ..Mqgmo::default() }
}

async fn open(connection: &mut Connection) -> Opened {
    connection.open(od(), OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT).await.unwrap()
}

async fn get(connection: &mut Connection, handle: i32, options: GetOptions) -> Option<Got> {
    connection.get(handle, Mqmd::default(), gmo(options), 1000).await.unwrap()
}

#[tokio::test]
async fn puts_gets_and_attributes() {
    let mut server = Server::start(Behaviour::Good).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    assert_eq!(connection.qmgr_name().to_string(), "QM1");
    assert_eq!((connection.connection_id(), connection.max_msg_length()), ([7; 24], 4_194_304));
    let queue = open(&mut connection).await;
    assert_eq!((queue.handle, queue.reason), (1, Reason::NONE));
    assert_eq!(get(&mut connection, 1, GetOptions::NO_SYNCPOINT).await, None);
    let options = pmo(PutOptions::NO_SYNCPOINT);
    let put = connection.put(1, Mqmd::default(), options.clone(), "one".into()).await.unwrap();
    assert_eq!(put.md.msg_id, MsgId([9; 24]));
    connection.put1(od(), Mqmd::default(), options, "two".into()).await.unwrap();
    let selectors = vec![Selector::IA_CURRENT_Q_DEPTH, Selector::CA_Q_NAME];
    let found = connection.inquire(1, selectors, 48).await.unwrap();
    assert_eq!((found.ints, found.chars.len()), (vec![2], 48));
    connection.set(1, vec![Selector::IA_INHIBIT_PUT], vec![0], vec![]).await.unwrap();
    for expected in ["one", "two"] {
        let got = get(&mut connection, 1, GetOptions::NO_SYNCPOINT).await.unwrap();
        assert_eq!((got.data, got.total_length), (Bytes::from(expected), 3));
    }
    connection.close(1, CloseOptions::empty()).await.unwrap();
    connection.disconnect().await.unwrap();
    assert_eq!(server.ended.recv().await, Some(true));
}

/// In pipes shorter than a segment.
#[tokio::test]
async fn over_something_else_than_a_socket() {
    let mut server = Server::start(Behaviour::Good).await;
    let (transport, mut other_end) = tokio::io::duplex(16);
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut other_end, &mut socket).await });
    let mut connection = Connection::over(transport, &server.options()).await.unwrap();
    let queue = open(&mut connection).await;
    connection
        .put(queue.handle, Mqmd::default(), pmo(PutOptions::SYNCPOINT), vec![7; 100_000].into())
        .await
        .unwrap();
    connection.commit().await.unwrap();
    let got = connection.get_whole(queue.handle, Mqmd::default(), gmo(GetOptions::NO_SYNCPOINT)).await;
    assert_eq!(got.unwrap().unwrap().data, vec![7; 100_000]);
    connection.disconnect().await.unwrap();
    assert_eq!(server.ended.recv().await, Some(true));
}

#[tokio::test]
async fn units_of_work_end_as_the_caller_says() {
    let mut server = Server::start(Behaviour::Good).await;
    let put_one = async |data: &'static str| {
        let mut connection = Connection::connect(&server.options()).await.unwrap();
        let options = pmo(PutOptions::SYNCPOINT);
        connection.put1(od(), Mqmd::default(), options, data.into()).await.unwrap();
        connection
    };
    let mut backed_out = put_one("backed out").await;
    backed_out.back().await.unwrap();
    backed_out.disconnect().await.unwrap();
    drop(put_one("dropped").await);
    let mut committed = put_one("committed").await;
    committed.commit().await.unwrap();
    drop(committed);
    put_one("disconnected").await.disconnect().await.unwrap();
    let mut in_order = 0;
    for _ in 0..4 {
        in_order += i32::from(server.ended.recv().await.unwrap());
    }
    assert_eq!(in_order, 2);

    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let handle = open(&mut connection).await.handle;
    let first = get(&mut connection, handle, GetOptions::SYNCPOINT).await.unwrap();
    connection.back().await.unwrap();
    let again = get(&mut connection, handle, GetOptions::SYNCPOINT).await.unwrap();
    assert_eq!((first.data, again.data), (Bytes::from("committed"), Bytes::from("committed")));
    let second = get(&mut connection, handle, GetOptions::SYNCPOINT).await.unwrap();
    assert_eq!(second.data, Bytes::from("disconnected"));
    connection.commit().await.unwrap();
    assert_eq!(get(&mut connection, handle, GetOptions::SYNCPOINT).await, None);
}

#[tokio::test]
async fn a_waiting_get_is_woken_by_a_put() {
    let server = Server::start(Behaviour::Good).await;
    let mut getter = Connection::connect(&server.options()).await.unwrap();
    let mut putter = Connection::connect(&server.options()).await.unwrap();
    let handle = open(&mut getter).await.handle;
    let (got, put) = tokio::join!(
        getter.get(handle, Mqmd::default(), gmo(GetOptions::WAIT), 1000),
        putter.put1(od(), Mqmd::default(), pmo(PutOptions::NO_SYNCPOINT), "late".into()),
    );
    put.unwrap();
    assert_eq!(got.unwrap().unwrap().data, Bytes::from("late"));
}

#[tokio::test]
async fn heartbeats_in_a_waiting_get_are_answered_and_swallowed() {
    let server = Server::start(Behaviour::HeartbeatFirst).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let handle = open(&mut connection).await.handle;
    connection.put1(od(), Mqmd::default(), pmo(PutOptions::NO_SYNCPOINT), "beat".into()).await.unwrap();
    let got = get(&mut connection, handle, GetOptions::WAIT).await.unwrap();
    assert_eq!(got.data, Bytes::from("beat"));
}

#[tokio::test]
async fn four_mebibytes_there_and_back() {
    let server = Server::start(Behaviour::Good).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let handle = open(&mut connection).await.handle;
    let data: Bytes = (0..4 * 1024 * 1024).map(|i| (i % 253) as u8).collect();
    let options = pmo(PutOptions::NO_SYNCPOINT);
    connection.put(handle, Mqmd::default(), options.clone(), data.clone()).await.unwrap();
    let short =
        connection.get(handle, Mqmd::default(), gmo(GetOptions::NO_SYNCPOINT), 4096).await.unwrap_err();
    let ClientError::TooLongForBuffer { total_length, .. } = short else { panic!("{short}") };
    assert_eq!((total_length as usize, short.reason()), (data.len(), Reason::TRUNCATED_MSG_FAILED));
    assert!(!short.is_broken());
    let got =
        connection.get(handle, Mqmd::default(), gmo(GetOptions::NO_SYNCPOINT), total_length).await.unwrap();
    assert_eq!(got.unwrap().data, data);
    let long = connection
        .put(handle, Mqmd::default(), options, vec![0; 4 * 1024 * 1024 + 1].into())
        .await
        .unwrap_err();
    assert_eq!(long.reason(), Reason::MSG_TOO_BIG_FOR_CHANNEL);
    assert!(connection.is_usable(), "nothing was sent");
}

#[tokio::test]
async fn a_message_longer_than_the_channel_cannot_be_got_with_any_buffer() {
    let server = Server::start(Behaviour::Good).await;
    let mut putter = Connection::connect(&server.options()).await.unwrap();
    putter.put1(od(), Mqmd::default(), pmo(PutOptions::NO_SYNCPOINT), vec![1; 5000].into()).await.unwrap();
    let small = mq_client::ConnectOptions { max_msg_length: 1000, ..server.options() };
    let mut getter = Connection::connect(&small).await.unwrap();
    let handle = open(&mut getter).await.handle;
    let options = gmo(GetOptions::NO_SYNCPOINT);
    let error = getter.get(handle, Mqmd::default(), options, 10_000).await.unwrap_err();
    assert_eq!(error.reason(), Reason::MSG_TOO_BIG_FOR_CHANNEL);
    assert!(getter.is_usable());
}
