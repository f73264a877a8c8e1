//! Calls on a long queue, compared with the same on a short one.

use std::thread;
use std::time::{Duration, Instant};

use integration_tests::mq::Mq;
use integration_tests::service::Service;
use mq_wire::{CorrelId, GetOptions, MatchOptions, Mqgmo, Mqmd, MsgId, OpenOptions, Persistence, PutOptions};

use crate::{median, service};

const SHORT: usize = 1_000;
const CONNECTIONS: usize = 8;
const UNIT: usize = 500;
const SLICES: usize = 9;
/// Calls of a slice.
const CALLS: usize = 100;
/// Each so manieth message of the queue is one that is got by its ids.
const SPREAD: usize = SHORT / CALLS;

pub(crate) fn run(messages: usize) {
    let service = service(
        "DEFINE QLOCAL(SHORT) MAXDEPTH(999999999)\nDEFINE QLOCAL(LONG) MAXDEPTH(999999999)\nALTER QMGR MAXUMSGS(999999)",
    );
    fill(&service, "SHORT", SHORT);
    let begun = Instant::now();
    fill(&service, "LONG", messages);
    println!("{messages} messages put in {:.0} s", begun.elapsed().as_secs_f64());
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let (short, long) = (Queue::open(&mut app, "SHORT", SHORT), Queue::open(&mut app, "LONG", messages));
    println!("{:<28} {:>12} {:>12} {:>7}", "", "1,000 us", format!("{messages} us"), "ratio");
    let parts: [(&str, Call); 5] = [
        ("put by priority", Queue::put),
        ("get of the first", |queue, app, _| queue.get(app, Mqmd::default(), MatchOptions::empty())),
        ("get by MsgId", |queue, app, number| queue.get(app, queue.spread(number), MatchOptions::MSG_ID)),
        ("get by CorrelId", |queue, app, number| {
            queue.get(app, queue.spread(number), MatchOptions::CORREL_ID)
        }),
        ("browse of the next", |queue, app, _| queue.browse(app)),
    ];
    for (name, call) in parts {
        let mut figures = [Vec::new(), Vec::new()];
        // Once for everything that is made on first use, such as an index by ids.
        for slice in 0..=SLICES {
            for (figures, queue) in figures.iter_mut().zip([&short, &long]) {
                let times: Vec<f64> =
                    (0..CALLS).map(|number| call(queue, &mut app, number).as_secs_f64() * 1e6).collect();
                if slice > 0 {
                    figures.push(times.iter().sum::<f64>() / CALLS as f64);
                }
            }
        }
        let [short, long] = figures.map(median);
        println!("{name:<28} {short:>12.1} {long:>12.1} {:>7.2}", long / short);
    }
    app.disconnect().unwrap();
}

/// One call, by its number; says how long it took.
type Call = fn(&Queue, &mut Mq, usize) -> Duration;

struct Queue {
    handle: i32,
    messages: usize,
}

impl Queue {
    fn open(app: &mut Mq, name: &str, messages: usize) -> Self {
        let options = OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::BROWSE;
        Self { handle: app.open(name, "", options).unwrap(), messages }
    }

    /// The descriptor of a message that is there: they are spread over the whole queue.
    fn spread(&self, number: usize) -> Mqmd {
        message(number % CALLS * SPREAD * (self.messages / SHORT))
    }

    fn put(&self, app: &mut Mq, number: usize) -> Duration {
        let begun = Instant::now();
        self.put_message(app, message(self.messages + number));
        begun.elapsed()
    }

    fn put_message(&self, app: &mut Mq, md: Mqmd) {
        app.put(self.handle, md, PutOptions::NO_SYNCPOINT, vec![b'x'; 64]).unwrap();
    }

    /// Gets a message; it is put again, so that the queue stays as it is, which is not in the figure.
    fn get(&self, app: &mut Mq, md: Mqmd, match_options: MatchOptions) -> Duration {
        let options = GetOptions::NO_SYNCPOINT;
        let gmo = Mqgmo { version: 2, options, match_options, ..Mqgmo::default() };
        let begun = Instant::now();
        let got = app.get_by(self.handle, md, gmo).unwrap();
        let time = begun.elapsed();
        self.put_message(app, got.unwrap().md);
        time
    }

    fn browse(&self, app: &mut Mq) -> Duration {
        let gmo = Mqgmo { options: GetOptions::BROWSE_NEXT, ..Mqgmo::default() };
        let begun = Instant::now();
        app.get_by(self.handle, Mqmd::default(), gmo).unwrap().unwrap();
        begun.elapsed()
    }
}

fn message(number: usize) -> Mqmd {
    let (mut msg_id, mut correl_id) = ([1; 24], [2; 24]);
    msg_id[..8].copy_from_slice(&(number as u64).to_be_bytes());
    correl_id[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Mqmd {
        persistence: Persistence::NOT_PERSISTENT,
        priority: (number % 10) as i32,
        msg_id: MsgId(msg_id),
        correl_id: CorrelId(correl_id),
        ..Mqmd::default()
    }
}

fn fill(service: &Service, queue: &str, messages: usize) {
    let options = service.connect_options("DEV.APP.SVRCONN");
    thread::scope(|scope| {
        for first in 0..CONNECTIONS {
            let options = &options;
            scope.spawn(move || {
                let mut app = Mq::connect(options).unwrap();
                let handle = app.open(queue, "", OpenOptions::OUTPUT).unwrap();
                for (count, number) in (first..messages).step_by(CONNECTIONS).enumerate() {
                    app.put(handle, message(number), PutOptions::SYNCPOINT, vec![b'x'; 64]).unwrap();
                    if (count + 1) % UNIT == 0 {
                        app.commit().unwrap();
                    }
                }
                app.disconnect().unwrap();
            });
        }
    });
}
