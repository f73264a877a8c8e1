//! What a connection costs that does nothing at the moment.

use integration_tests::service::Service;
use mq_client::Connection;
use mq_wire::{Mqod, OpenOptions};

pub(crate) fn run(connections: usize) {
    let mut service = Service::start(env!("CARGO_BIN_EXE_mqe-gateway-under-test"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = service.connect_options("DEV.APP.SVRCONN");
    let connect = |count: usize| {
        let mut open = Vec::new();
        for _ in 0..count {
            open.push(runtime.block_on(async {
                let mut connection = Connection::connect(&options).await.unwrap();
                let od = Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() };
                connection.open(od, OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT).await.unwrap();
                connection
            }));
        }
        open
    };
    // Once for everything that is made on first use.
    let some = connect(20);
    let (memory, threads) = (service.resident_kib(), threads_of(&mut service));
    let many = connect(connections);
    let (memory_after, threads_after) = (service.resident_kib(), threads_of(&mut service));
    println!(
        "{connections} connections with an open queue: {:.1} KiB each, {} threads more",
        (memory_after.saturating_sub(memory)) as f64 / connections as f64,
        threads_after - threads
    );
    drop((some, many));
}

fn threads_of(service: &mut Service) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", service.process().id())).unwrap().count()
}
