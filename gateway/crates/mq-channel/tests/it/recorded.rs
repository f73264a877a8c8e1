//! What IBM MQ classes for Java sent, replayed into the server machine: the events are what the client meant, the
//! answers have the form of those that it accepted (mq-wire-observed-base.md 9).

use std::sync::Arc;
use std::time::Instant;

use mq_channel::{ChannelTerms, Event, OpenDefaults, Reply, Request, ServerConfig, ServerConnection};
use mq_wire::{
    Ccsid, Coding, CompCode, ControlFlags1, GetOptions, MsgId, OpenOptions, PutOptions, Reason,
    SegmentHeader, SegmentType, Selector,
};

use crate::pair::{connect_reply, server_config};

pub(crate) struct Line {
    n: u64,
    pub(crate) from_client: bool,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn lines(file: &str) -> Vec<Line> {
    let path = format!("{}/../../../tests/golden/wire/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let hex = line["hex"].as_str().unwrap();
            let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
            Line {
                n: line["n"].as_u64().unwrap(),
                from_client: line["dir"] == "c>s",
                bytes: (0..hex.len()).step_by(2).map(byte).collect(),
            }
        })
        .collect()
}

/// Whole segments only: those above 3000 bytes are left out of the recordings, so the others of their calls are cut.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let (header, _) = SegmentHeader::peek(bytes, 40_000).unwrap().unwrap();
    !header.segment_type.is_call()
        || header.control_flags_1.contains(ControlFlags1::FIRST | ControlFlags1::LAST)
}

/// A short word for each event, and an answer to it.
pub(crate) fn say(request: &Request) -> (String, Reply) {
    let (cc, reason) = (CompCode::OK, Reason::NONE);
    match request {
        Request::Connect(connect) => {
            let password = connect.password.as_ref().map_or(&b""[..], |password| password.as_bytes());
            let password = String::from_utf8_lossy(password);
            (
                format!("connect {} {} {} {password}", connect.qmgr_name, connect.appl_name, connect.user),
                connect_reply(),
            )
        }
        Request::Open { od, options } => {
            let word = format!("open {} {:x}", od.object_name, options.bits());
            if od.object_name.to_string() == "SYSTEM.PROTECTION.POLICY.QUEUE"
                || od.object_name.to_string() == "NO.SUCH"
            {
                return (word, Reply::failed(Reason::UNKNOWN_OBJECT_NAME));
            }
            let defaults = OpenDefaults::default();
            (word, Reply::Open { cc, reason, handle: 2, od: od.clone(), defaults })
        }
        Request::Close { .. } => ("close".to_owned(), Reply::DONE),
        Request::Put { md, pmo, data, .. } => {
            let word = format!("put {} {:?}", pmo.options.bits(), String::from_utf8_lossy(data));
            (word, Reply::Put { cc, reason, md: md.clone(), pmo: pmo.clone() })
        }
        Request::Put1 { od, md, pmo, data } => {
            let word = format!("put1 {} {:?}", od.object_name, String::from_utf8_lossy(data));
            (word, Reply::Put1 { cc, reason, od: od.clone(), md: md.clone(), pmo: pmo.clone() })
        }
        Request::Get { gmo, buffer_length, .. } => {
            let word = format!("get {:x} {} {buffer_length}", gmo.options.bits(), gmo.wait_interval);
            (word, Reply::failed(Reason::NO_MSG_AVAILABLE))
        }
        Request::Inquire { selectors, int_count, char_length, .. } => {
            let selectors: Vec<i32> = selectors.iter().map(|selector| selector.0).collect();
            let word = format!("inquire {selectors:?} {int_count} {char_length}");
            (word, Reply::Inquire { cc, reason, ints: vec![], chars: vec![] })
        }
        Request::Set { selectors, ints, .. } => {
            assert_eq!(selectors, &[Selector::IA_INHIBIT_PUT]);
            (format!("set {ints:?}"), Reply::DONE)
        }
        Request::Reserve => ("reserve".to_owned(), Reply::Reserved { base: MsgId([7; 24]) }),
        Request::Commit => ("commit".to_owned(), Reply::DONE),
        Request::Back => ("back".to_owned(), Reply::DONE),
        Request::Disconnect => ("disconnect".to_owned(), Reply::DONE),
        Request::Stat { .. } => ("stat".to_owned(), Reply::DONE),
    }
}

/// The queue manager with which a recording was made: its level and coding are those of its answers.
pub(crate) fn recorded_config(file: &str) -> ServerConfig {
    let lines = lines(file);
    let answer = lines.iter().find(|line| !line.from_client).unwrap();
    let (header, _) = SegmentHeader::peek(&answer.bytes, 40_000).unwrap().unwrap();
    let coding = Coding { order: header.order, ccsid: Ccsid(header.ccsid.into()) };
    ServerConfig { fap_level_max: answer.bytes[32], coding, ..server_config() }
}

/// Feeds the client's side of a recording; gives the events as words, and the answer to each line.
fn replay(file: &str) -> (Vec<String>, Vec<(u64, Vec<u8>)>) {
    let now = Instant::now();
    let mut server = ServerConnection::new(Arc::new(recorded_config(file)), now);
    let (mut words, mut answers) = (Vec::new(), Vec::new());
    for line in lines(file).iter().filter(|line| line.from_client && is_whole(&line.bytes)) {
        // In pieces, as a socket might.
        for piece in line.bytes.chunks(100) {
            server.handle_bytes(now, piece).unwrap_or_else(|error| panic!("line {}: {error}", line.n));
        }
        while let Some(event) = server.poll_event() {
            match event {
                Event::ChannelRequested(request) => {
                    words.push(format!("channel {} {}", request.channel, request.product_id));
                    let max_msg_length = 104_857_600;
                    let terms = ChannelTerms { max_msg_length, heartbeat_s: 300, ..ChannelTerms::default() };
                    server.channel_accepted(terms).unwrap();
                }
                Event::Call { call, request, .. } => {
                    let (word, reply) = say(&request);
                    words.push(word);
                    server.reply(now, call, reply).unwrap();
                }
                Event::ConversationEnded { conversation } => words.push(format!("{conversation} ended")),
                Event::Ended => words.push("ended".to_owned()),
            }
        }
        while let Some(bytes) = server.poll_output() {
            answers.push((line.n, bytes.to_vec()));
        }
    }
    assert!(server.is_finished());
    (words, answers)
}

#[test]
fn the_events_are_what_the_client_meant() {
    let (words, _) = replay("base-fap12-tsh.jsonl");
    let policy = "open SYSTEM.PROTECTION.POLICY.QUEUE 8";
    let expected = [
        "channel DEV.APP.SVRCONN MQJB09040100",
        "connect QM1 base.Ping app secretpw1",
        "open  2020",
        "inquire [31, 32, 2, 2015, 2032, 273] 4 100",
        "close",
        "open  2020",
        "inquire [2006] 0 48",
        "close",
        "open  20",
        "inquire [32, 31] 2 0",
        "close",
        "open  20",
        // SPI QUERY is answered by the machine, SPI OPEN is an open.
        "open DEV.QUEUE.1 2079",
        policy,
    ];
    assert_eq!(words[..expected.len()], expected);
    let end = ["open NO.SUCH 10", "close", "close", "commit", "back", "disconnect", "ended"];
    assert_eq!(words[words.len() - end.len()..], end);
}

#[test]
fn on_a_shared_socket_the_client_means_the_same() {
    let (plain, _) = replay("base-fap12-tsh.jsonl");
    for file in ["base-fap17-tshm-syncget.jsonl", "base-fap13-tshm-bigendian.jsonl"] {
        let (words, _) = replay(file);
        assert_eq!(words[..2], ["channel DEV.APP.SVRCONN MQJB09040100", "connect QM1 base.Ping app "]);
        let end = ["commit", "back", "disconnect", "1 ended", "ended"];
        assert_eq!(words[words.len() - end.len()..], end, "{file}");
        // The same program: what it opens, puts and gets is the same too.
        let calls = |words: &[String], verb: &str| {
            words.iter().filter(|word| word.starts_with(verb)).cloned().collect::<Vec<_>>()
        };
        for verb in ["open", "inquire", "set", "get", "close"] {
            assert_eq!(calls(&words, verb), calls(&plain, verb), "{file}: {verb}");
        }
    }
}

#[test]
fn answers_have_the_form_of_those_that_were_accepted() {
    for file in ["base-fap12-tsh.jsonl", "base-fap17-tshm-syncget.jsonl", "base-fap13-tshm-bigendian.jsonl"] {
        compare_answers(file);
    }
}

fn compare_answers(file: &str) {
    let recorded = lines(file);
    let (_, answers) = replay(file);
    let mut compared = 0;
    for (n, answer) in answers {
        // The accepted answer is the line after the request.
        let Some(accepted) = recorded.iter().find(|line| line.n == n + 1 && !line.from_client) else {
            continue;
        };
        let (ours, our_length) = SegmentHeader::peek(&answer, 40_000).unwrap().unwrap();
        let (theirs, length) = SegmentHeader::peek(&accepted.bytes, 40_000).unwrap().unwrap();
        assert_eq!(ours.segment_type, theirs.segment_type, "{file} line {n}");
        if !is_whole(&accepted.bytes) {
            continue;
        }
        let place = |header: &SegmentHeader| {
            (header.kind, header.conversation_id, header.request_id, header.order, header.ccsid)
        };
        assert_eq!(place(&ours), place(&theirs), "{file} line {n}");
        assert_eq!(ours.control_flags_1, theirs.control_flags_1, "{file} line {n}");
        // A get without message was answered by its header here; the probe had messages, or sent everything.
        if theirs.segment_type != SegmentType::MQGET_REPLY {
            assert_eq!(our_length, length, "{file} line {n}: {}", theirs.segment_type);
        }
        let body = ours.length();
        if theirs.segment_type == SegmentType::SPI_REPLY && length == body + 296 {
            assert_eq!(answer[body..], accepted.bytes[body..], "{file}: the table of SPI QUERY");
        }
        if theirs.segment_type == SegmentType::MQSET_REPLY {
            assert_eq!(answer[body..], accepted.bytes[body..]);
        }
        compared += 1;
    }
    assert!(compared > 30, "{file}: {compared} answers were compared");
}

#[test]
fn the_client_of_command_level_600_opens_by_mqopen() {
    let (words, _) = replay("base-fap12-tsh-level600.jsonl");
    assert!(words.iter().any(|word| word.starts_with("open DEV.QUEUE.1 ")), "{words:?}");
    assert_eq!(words.last().unwrap(), "ended");
}

#[test]
fn options_are_the_ones_in_the_notes() {
    let (words, _) = replay("base-fap12-tsh.jsonl");
    let put =
        |options: PutOptions| words.iter().any(|word| word.starts_with(&format!("put {} ", options.bits())));
    assert!(put(PutOptions::NO_SYNCPOINT) && put(PutOptions::SYNCPOINT));
    let get = |options: GetOptions| {
        let options = options | GetOptions::PROPERTIES_FORCE_MQRFH2;
        words.iter().any(|word| word.starts_with(&format!("get {:x} ", options.bits())))
    };
    assert!(get(GetOptions::NO_SYNCPOINT | GetOptions::BROWSE_FIRST));
    assert!(get(GetOptions::NO_SYNCPOINT | GetOptions::BROWSE_NEXT));
    assert!(get(GetOptions::NO_SYNCPOINT | GetOptions::WAIT));
    let open = OpenOptions::INQUIRE;
    assert!(words.contains(&format!("open  {:x}", open.bits())));
}
