//! MQINQ and MQSET: integers in either byte order, characters in each code page, counts that do not fit.

use mq_client::ClientError;
use mq_wire::{OpenOptions, Reason, Selector};

use crate::pair::{connected, open, queue};
use crate::setting::Setting;

#[tokio::test]
async fn characters_of_every_code_page() {
    for ccsid in [819, 437, 850, 500] {
        for setting in [Setting::default().ccsid(ccsid), Setting::default().ccsid(ccsid).big()] {
            let (mut connection, mut peer) = connected(setting).await;
            let handle = open(&mut connection, &mut peer, 2).await;
            let script = async {
                let call = peer.call(0x89).await;
                let mut parts = call.parts(&peer);
                let asked = parts.selectors();
                parts.end();
                assert_eq!(asked.selectors, [2013, 3, 2016, 15]);
                assert_eq!((asked.integers, asked.chars), (2, 112));
                let mut body = asked.echo(peer.coding());
                for number in [-1_i32, 123_456_789] {
                    body.extend(peer.coding().u32(number as u32));
                }
                body.extend(peer.coding().chars("a queue, présent [1]", 64));
                body.extend(peer.coding().chars("APP.QUEUE", 48));
                peer.reply(&call, (0, 0), 2, &body).await;

                let call = peer.call(0x88).await;
                let mut parts = call.parts(&peer);
                let asked = parts.selectors();
                assert_eq!(
                    (asked.selectors.as_slice(), asked.integers, asked.chars),
                    (&[2023, 9][..], 1, 64)
                );
                assert_eq!((parts.number(), parts.text(64)), (1, "donnée {x}".to_owned()));
                parts.end();
                // Some send the request's body back (mq-wire-observed-base.md 4.1).
                let body = call.body.clone();
                peer.reply(&call, (0, 0), 2, &body).await;
            };
            let client = async {
                let selectors = [2013, 3, 2016, 15].map(Selector).to_vec();
                let found = connection.inquire(handle, selectors, 112).await.unwrap();
                assert_eq!(found.ints, [-1, 123_456_789]);
                let text: String = found.chars.iter().map(|byte| char::from(*byte)).collect();
                assert_eq!(text, format!("{:64}{:48}", "a queue, présent [1]", "APP.QUEUE"), "{ccsid}");
                let mut data = b"donn\xE9e {x}".to_vec();
                data.resize(64, b' ');
                let set = connection.set(handle, [2023, 9].map(Selector).to_vec(), vec![1], data).await;
                assert_eq!(set.unwrap(), Reason::NONE);
            };
            tokio::join!(client, script);
        }
    }
}

#[tokio::test]
async fn warnings_come_with_what_there_is_and_errors_without() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let handle = open(&mut connection, &mut peer, 2).await;
    for (codes, whole) in [((1, 2068), true), ((1, 2008), true), ((2, 2067), false), ((2, 2038), true)] {
        let script = async {
            let call = peer.call(0x89).await;
            let asked = call.parts(&peer).selectors();
            let mut body = asked.echo(peer.coding());
            body.extend(peer.coding().u32(u32::MAX));
            body.extend(peer.coding().chars("", 48));
            peer.reply(&call, codes, 2, if whole { &body } else { &[] }).await;
            let call = peer.call(0x88).await;
            peer.reply(&call, codes, 2, &[]).await;
        };
        let client = async {
            let selectors = vec![Selector(2016), Selector(22)];
            let found = connection.inquire(handle, selectors, 48).await;
            match &found {
                Ok(found) => assert_eq!((1, found.reason.0 as u32, found.ints[0]), (codes.0, codes.1, -1)),
                Err(error) => assert_eq!((2, error.reason().0 as u32), codes),
            }
            let set = connection.set(handle, vec![Selector(9)], vec![1], vec![]).await;
            let told = set.map(|reason| (1, reason.0 as u32)).unwrap_or_else(|e| (2, e.reason().0 as u32));
            assert_eq!(told, codes);
        };
        tokio::join!(client, script);
    }
}

/// Programs take values by their places: a reply with fewer is not handed to them.
#[tokio::test]
async fn a_reply_with_other_counts_breaks_the_connection() {
    for (integers, chars) in [(0, 48), (2, 48), (1, 47), (1, 0)] {
        let (mut connection, mut peer) = connected(Setting::default()).await;
        let script = async {
            let call = peer.call(0x89).await;
            let mut asked = call.parts(&peer).selectors();
            (asked.integers, asked.chars) = (integers, chars);
            let mut body = asked.echo(peer.coding());
            body.extend(vec![0; 4 * integers as usize + chars as usize]);
            peer.reply(&call, (0, 0), 2, &body).await;
        };
        let inquire = connection.inquire(2, vec![Selector(3), Selector(2016)], 48);
        let (outcome, ()) = tokio::join!(inquire, script);
        let error = outcome.unwrap_err();
        assert!(matches!(error, ClientError::Broken { call: "MQINQ", .. }), "{error}");
        assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
        assert!(!connection.is_usable());
    }
}

#[tokio::test]
async fn the_queue_manager_itself_is_inquired() {
    let (mut connection, mut peer) = connected(Setting::default().big()).await;
    let script = async {
        let call = peer.call(0x83).await;
        let (od, options) = peer.answer_open(&call, 6).await;
        assert_eq!((od.number("ObjectType"), od.text("ObjectName"), options), (5, "", 0x20));
        let call = peer.call(0x89).await;
        let asked = call.parts(&peer).selectors();
        assert_eq!((call.handle, asked.selectors.as_slice()), (6, &[31, 32, 2][..]));
        let mut body = asked.echo(peer.coding());
        [920, 3, 819].iter().for_each(|value| body.extend(peer.coding().u32(*value)));
        peer.reply(&call, (0, 0), 6, &body).await;
    };
    let client = async {
        let od = mq_wire::Mqod { object_type: mq_wire::ObjectType::Q_MGR, ..queue("X") };
        let od = mq_wire::Mqod { object_name: mq_wire::ObjectName::BLANK, ..od };
        let handle = connection.open(od, OpenOptions::INQUIRE).await.unwrap().handle;
        let found = connection.inquire(handle, [31, 32, 2].map(Selector).to_vec(), 0).await.unwrap();
        assert_eq!((found.ints, found.chars), (vec![920, 3, 819], vec![]));
    };
    tokio::join!(client, script);
}
