//! Refusals, broken connections, silence: the reason code, and a sentence that says what to do.

use std::time::Duration;

use mq_client::{ClientError, ConnectOptions, Connection, Password};
use mq_wire::{GetOptions, Mqgmo, Mqmd, Mqod, OpenOptions, Reason};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Behaviour, Server};

async fn refusal(change: impl FnOnce(&mut ConnectOptions)) -> (Reason, String) {
    let server = Server::start(Behaviour::Good).await;
    let mut options = server.options();
    change(&mut options);
    let error = Connection::connect(&options).await.unwrap_err();
    (error.reason(), error.to_string())
}

#[tokio::test]
async fn refusals_have_their_reasons() {
    let (reason, text) = refusal(|options| options.channel = "NO.SUCH".parse().unwrap()).await;
    assert_eq!(reason, Reason::UNKNOWN_CHANNEL_NAME);
    assert!(text.contains("channel NO.SUCH") && text.contains("2540"), "{text}");
    let (reason, text) = refusal(|options| options.qmgr_name = "QM2".parse().unwrap()).await;
    assert_eq!(reason, Reason::Q_MGR_NAME_ERROR);
    assert!(text.contains("QM2"), "{text}");
    let (reason, text) = refusal(|options| {
        options.user = "app".to_owned();
        options.password = Some(Password::new("wrong"));
    })
    .await;
    assert_eq!(reason, Reason::NOT_AUTHORIZED);
    assert!(!text.contains("wrong"), "{text}");
    let (reason, _) = refusal(|options| options.channel = "STOPPED".parse().unwrap()).await;
    assert_eq!(reason, Reason::Q_MGR_NOT_AVAILABLE);
    let (reason, _) = refusal(|options| options.channel = "FULL".parse().unwrap()).await;
    assert_eq!(reason, Reason::MAX_CONNS_LIMIT_REACHED);
}

#[tokio::test]
async fn the_right_password_is_taken() {
    let server = Server::start(Behaviour::Good).await;
    let mut options = server.options();
    options.user = "app".to_owned();
    options.password = Some(Password::new("passw0rd"));
    assert!(!format!("{options:?}").contains("passw0rd"));
    Connection::connect(&options).await.unwrap().disconnect().await.unwrap();
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let options = ConnectOptions::parse(&format!("A/TCP/127.0.0.1({port})")).unwrap();
    let error = Connection::connect(&options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::HOST_NOT_AVAILABLE);
    assert!(error.to_string().contains(&format!("127.0.0.1({port})")), "{error}");
    assert!(error.to_string().contains("listener"), "{error}");
}

#[tokio::test]
async fn something_else_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 1000];
        stream.read_exact(&mut buffer[..28]).await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Read the client's last word, so that the answer is not overtaken by a reset.
        while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
    });
    let options = ConnectOptions::parse(&format!("A/TCP/127.0.0.1({port})")).unwrap();
    let error = Connection::connect(&options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    assert!(matches!(error, ClientError::Channel { .. }), "{error}");
}

#[tokio::test]
async fn nobody_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut options = ConnectOptions::parse(&format!("A/TCP/127.0.0.1({port})")).unwrap();
    options.connect_timeout = Duration::from_millis(50);
    let error = Connection::connect(&options).await.unwrap_err();
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    assert!(error.to_string().contains("in time"), "{error}");
}

#[tokio::test]
async fn a_call_that_fails_leaves_the_connection() {
    let server = Server::start(Behaviour::Good).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let error = connection.open(Mqod::default(), OpenOptions::OUTPUT).await.unwrap_err();
    assert_eq!(error.reason(), Reason::UNKNOWN_OBJECT_NAME);
    assert!(!error.is_broken());
    assert!(error.to_string().contains("MQOPEN") && error.to_string().contains("DEFINE"), "{error}");
    connection.commit().await.unwrap();
}

#[tokio::test]
async fn a_socket_closed_in_a_call_breaks_the_connection_for_ever() {
    let server = Server::start(Behaviour::HangUpAt("MQCMIT")).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let error = connection.commit().await.unwrap_err();
    assert_eq!((error.reason(), error.is_broken()), (Reason::CONNECTION_BROKEN, true));
    assert!(error.to_string().contains("MQCMIT"), "{error}");
    let error = connection.back().await.unwrap_err();
    assert!(matches!(error, ClientError::Unusable), "{error}");
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
}

#[tokio::test]
async fn a_queue_manager_that_does_not_answer_breaks_the_connection() {
    let server = Server::start(Behaviour::SilentAt("MQCMIT")).await;
    let mut options = server.options();
    options.reply_timeout = Duration::from_millis(50);
    let mut connection = Connection::connect(&options).await.unwrap();
    let error = connection.commit().await.unwrap_err();
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    assert!(error.to_string().contains("MQCMIT"), "{error}");
}

#[tokio::test]
async fn an_abandoned_call_makes_the_connection_unusable() {
    let mut server = Server::start(Behaviour::Good).await;
    let mut connection = Connection::connect(&server.options()).await.unwrap();
    let od = Mqod { object_name: "DEV.EMPTY".parse().unwrap(), ..Mqod::default() };
    let handle = connection.open(od, OpenOptions::INPUT_SHARED).await.unwrap().handle;
    let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
    let get = connection.get(handle, Mqmd::default(), gmo, 10);
    assert!(tokio::time::timeout(Duration::from_millis(20), get).await.is_err());
    assert!(!connection.is_usable());
    let error = connection.commit().await.unwrap_err();
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    assert!(error.to_string().contains("abandoned"), "{error}");
    drop(connection);
    // The server of these tests looks at its socket only between calls; it need not be waited for.
    assert!(server.ended.try_recv().is_err());
}
