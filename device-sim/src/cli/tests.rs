//! The words of the command line.

use clap::CommandFactory;

use super::push::target;
use super::*;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn words() {
    let check = |line: &str, is_right: bool| {
        let words = std::iter::once("device-sim").chain(line.split_whitespace());
        let parsed = Cli::try_parse_from(words);
        assert_eq!(parsed.is_ok(), is_right, "{line}: {parsed:?}");
    };
    check("pull --gateway 127.0.0.1:7414 --device DEV00001", true);
    check("pull --gateway 127.0.0.1:7414 --device D --state d --queue Q --max 5 --wait 0.5", true);
    check("pull --device D --reject 2110", true);
    check("pull --device D --reject MQRC_FORMAT_ERROR", true);
    check("pull --device D --reject format_error", true);
    check("pull --device D --reject NONSENSE", false);
    check("pull --device D --reject 2110 --no-confirm", false);
    check("pull --device D --max 0", false);
    check("pull --device D/E", false);
    check("pull --gateway 127.0.0.1 --device D", false);
    check("pull --gateway 127.0.0.1:0 --device D", false);
    check("pull", false);
    check("push --device D --to Q", true);
    check("push --device D --to Q@QM1 --reply-to R --count 3", true);
    check("push --device D", false);
    check("push --device D --to @QM1", false);
    check("fleet", true);
    check(
        "fleet --gateway 127.0.0.1:7414 --mq DEV.APP.SVRCONN/TCP/127.0.0.1(1414) --via GATE1 --devices 2000 \
         --queues 2 --messages 20 --size 256 --online 0.5 --connections 1000 --rate 100 --seed 7 \
         --faults cut=0.1,crash=0.01 --direction both --report f.json",
        true,
    );
    check("fleet --faults burn=1", false);
    check("fleet --direction sideways", false);
    check("fleet --mq nowhere", false);
    check("fleet --devices 0", false);
}

#[test]
fn targets() {
    let check = |text: &str, queue: &str, queue_manager: &str| {
        let found = target(text).map(|found| (found.queue.to_string(), found.queue_manager.to_string()));
        assert_eq!(found, Ok((queue.to_owned(), queue_manager.to_owned())), "{text}");
    };
    check("Q", "Q", "");
    check("ORDERS%DEV00001@GATE1", "ORDERS%DEV00001", "GATE1");
    assert!(target("A B").is_err());
}

#[test]
fn durations() {
    assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1_500)));
    for wrong in ["-1", "soon", "NaN"] {
        assert!(seconds(wrong).is_err(), "{wrong}");
    }
}
