//! Puts to remote queues, with many definitions and with few.

use std::fmt::Write as _;
use std::time::Instant;

use integration_tests::mq::Mq;
use integration_tests::service::Service;
use mq_wire::{Mqmd, OpenOptions, Persistence, PutOptions};

use crate::{median, service};

const FEW: usize = 10;
const SLICES: usize = 9;
/// Puts of a slice.
const PUTS: usize = 500;

pub(crate) fn run(many: usize) {
    let services = [FEW, many].map(|definitions| service(&script(definitions)));
    let mut figures = [Vec::new(), Vec::new()];
    for slice in 0..=SLICES {
        for ((service, definitions), figures) in services.iter().zip([FEW, many]).zip(&mut figures) {
            let micros = puts(service, definitions);
            if slice > 0 {
                figures.push(micros);
            }
        }
    }
    let [few, many_micros] = figures.map(median);
    println!(
        "open, put and close: {few:.1} us with {FEW} definitions of remote queues, {many_micros:.1} us with {many}: {:.2} (median \
         of {SLICES})",
        many_micros / few
    );
}

fn script(definitions: usize) -> String {
    let mut script = "DEFINE QLOCAL(XQ) USAGE(XMITQ) MAXDEPTH(999999999)\n".to_owned();
    for number in 0..definitions {
        writeln!(script, "DEFINE QREMOTE(R{number:05}) RNAME(Q{number:05}) RQMNAME(QM2) XMITQ(XQ)").unwrap();
    }
    script
}

fn puts(service: &Service, definitions: usize) -> f64 {
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let begun = Instant::now();
    for number in 0..PUTS {
        let queue = format!("R{:05}", number * (definitions / FEW).max(1) % definitions);
        let handle = app.open(&queue, "", OpenOptions::OUTPUT).unwrap();
        let md = Mqmd { persistence: Persistence::NOT_PERSISTENT, ..Mqmd::default() };
        app.put(handle, md, PutOptions::NO_SYNCPOINT, vec![b'x'; 64]).unwrap();
        app.close(handle).unwrap();
    }
    let micros = begun.elapsed().as_secs_f64() * 1e6 / PUTS as f64;
    app.disconnect().unwrap();
    micros
}
