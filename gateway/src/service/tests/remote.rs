//! A gateway with a remote source on a store that fails, and its queue manager on one that does not: wherever a generation ends,
//! each message is there once, both ways (ONCE.md 3 and 4).

use super::*;

const DEFINITIONS: &str = "DEFINE QLOCAL(GATE1) USAGE(XMITQ)\nDEFINE QLOCAL(MQE.SYNCQ) DEFPSIST(YES)\n";
const TEXTS: [&str; 3] = ["one", "two", "three"];

/// The queue manager of the applications.
async fn queue_manager() -> Running {
    Running::start_with(|config, folder| {
        config.queue_manager.name = QMgrName::new("HQ").unwrap();
        config.gateway.name = QMgrName::new("GATEHQ").unwrap();
        let script = folder.join("definitions.mqsc");
        std::fs::write(&script, DEFINITIONS).unwrap();
        config.queue_manager.mqsc = vec![script];
    })
    .await
}

/// What makes a gateway of a configuration.
fn source(hq: &Running) -> impl FnOnce(&mut Config, &Path) {
    let (host, port) = hq.service.listeners.mq.rsplit_once(':').unwrap();
    let connect = format!("DEV.ADMIN.SVRCONN/TCP/{host}({port})").parse().unwrap();
    move |config, _| {
        config.sources.push(SourceSection {
            name: "hq".to_owned(),
            connect,
            wait_seconds: 1,
            ..SourceSection::default()
        });
    }
}

async fn until_running(gateway: &Running) {
    until(async || {
        let status = gateway.status().await;
        let mut sources = status.sources.iter().filter(|source| source.name == "hq");
        sources.all(|source| source.state == "RUNNING")
    })
    .await;
}

/// Messages for a device, one that nobody takes, in one unit of work.
async fn put_batch(hq: &Running) {
    let mut connection = Connection::connect(&hq.mq()).await.unwrap();
    let addressed = TEXTS.map(|text| ("ORDERS%DEV1", text));
    for (queue, text) in addressed.into_iter().chain([("NOWHERE", "dead")]) {
        let (od, md, pmo) = put_for(queue, "GATE1", PutOptions::SYNCPOINT);
        connection.put1(od, md, pmo, Bytes::from_static(text.as_bytes())).await.unwrap();
    }
    connection.commit().await.unwrap();
    connection.disconnect().await.unwrap();
}

/// The device takes what comes until it has as many as there are, and answers each.
async fn take(gateway: &Running) -> Vec<String> {
    let options = DeviceOptions {
        pause_first: Duration::from_millis(5),
        ..DeviceOptions::new(gateway.service.listeners.devices.clone(), "DEV1".parse().unwrap())
    };
    let mut device = Device::open(options).await.unwrap();
    let mut came = Vec::new();
    while came.len() < TEXTS.len() {
        let received = device.next(LONG).await.unwrap().expect("it comes");
        let text = String::from_utf8(received.message.payload.to_vec()).unwrap();
        let queue = QName::new("DEV.QUEUE.1").unwrap();
        let message = sim::text_message(queue, format!("answer to {text}"));
        let put = NewPut { queue, queue_manager: QMgrName::BLANK, message };
        device.answer(&[received.uid], vec![put]).await.unwrap();
        came.push(text);
    }
    assert_eq!(device.flush(LONG).await.unwrap().open, 0);
    assert!(device.settle(LONG).await.unwrap());
    while let Some(received) = device.try_next() {
        came.push(String::from_utf8(received.message.payload.to_vec()).unwrap());
    }
    device.close(LONG).await.unwrap();
    came
}

async fn depth(hq: &Running, queue: &str) -> u64 {
    let status = hq.status().await;
    status.queues.iter().find(|report| report.name == queue).map_or(0, |report| report.depth)
}

/// All of it arrives, once and in order.
async fn arrives(hq: &Running, gateway: &Running, what: &str) {
    assert_eq!(take(gateway).await, TEXTS, "{what}");
    until(async || depth(hq, "DEV.QUEUE.1").await >= TEXTS.len() as u64).await;
    until(async || {
        let report = gateway.status().await;
        report.area.messages == 0 && report.sources.iter().all(|source| source.waiting == 0)
    })
    .await;
    let answers = TEXTS.map(|text| format!("answer to {text}"));
    assert_eq!(browse_all(hq, "DEV.QUEUE.1").await, answers, "{what}");
    let letters = browse_all(hq, "DEV.DEAD.LETTER.QUEUE").await;
    assert!(letters.len() == 1 && letters[0].ends_with("dead"), "{what}: {letters:?}");
    assert_eq!(depth(hq, "GATE1").await, 0, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_a_batch_of_a_remote_source_is_there_once_wherever_the_journal_fails() {
    let hq = queue_manager().await;
    let gateway = Running::start_with(source(&hq)).await;
    until_running(&gateway).await;
    let begun = gateway.disk.batches();
    put_batch(&hq).await;
    arrives(&hq, &gateway, "no failure").await;
    let total = gateway.disk.batches();
    gateway.end().await;
    hq.end().await;
    assert!(total > begun + 8, "{begun} {total}");
    let mut recovered = 0;
    for fail_at in begun + 1..=total {
        let hq = queue_manager().await;
        let gateway = Running::start_with(source(&hq)).await;
        until_running(&gateway).await;
        gateway.disk.fail_at([fail_at]);
        put_batch(&hq).await;
        arrives(&hq, &gateway, &format!("failure at {fail_at}")).await;
        recovered += gateway.status().await.store.recoveries;
        gateway.end().await;
        hq.end().await;
    }
    // How many batches there are depends on what goes together: the last ones may not be reached.
    assert!(recovered >= (total - begun) * 2 / 3, "{recovered} of {}", total - begun);
}

/// MQDISC would commit what no journal has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_a_stop_backs_out_what_is_not_on_disk_before_it_disconnects() {
    for written in [true, false] {
        let hq = queue_manager().await;
        let gateway = Running::start_with(source(&hq)).await;
        until_running(&gateway).await;
        gateway.disk.hold(true);
        put_batch(&hq).await;
        // All that the queue manager has to do but MQCMIT is done: four gets, a dead letter, and the new sync message for the
        // old one.
        until(async || {
            let status = hq.status().await;
            let of = |queue: &str| status.queues.iter().find(|report| report.name == queue);
            let uncommitted = ["GATE1", "DEV.DEAD.LETTER.QUEUE", "MQE.SYNCQ"]
                .map(|queue| of(queue).map(|of| of.uncommitted));
            uncommitted == [Some(4), Some(1), Some(2)]
        })
        .await;
        let Running { service, core_task, disk, folder } = gateway;
        let ends = tokio::spawn(service.end(Duration::ZERO));
        until(async || depth(&hq, "GATE1").await == 4).await;
        if !written {
            disk.fail_next();
        }
        disk.hold(false);
        ends.await.unwrap();
        assert_eq!(close(core_task).await.is_ok(), written);
        drop(folder);
        assert_eq!(backouts(&hq).await, [1; 4]);
        let gateway = Running::start_again(disk, source(&hq)).await;
        arrives(&hq, &gateway, &format!("written: {written}")).await;
        gateway.end().await;
        hq.end().await;
    }
}

/// How often what is on the transmission queue was backed out.
async fn backouts(hq: &Running) -> Vec<i32> {
    let mut connection = Connection::connect(&hq.mq()).await.unwrap();
    let od = Mqod { object_name: ObjectName(Chars::cut("GATE1")), ..Mqod::default() };
    let opened = connection.open(od, Mqoo::BROWSE).await.unwrap();
    let gmo = Mqgmo { options: GetOptions::BROWSE_NEXT, ..Mqgmo::default() };
    let mut found = Vec::new();
    while let Some(got) = connection.get(opened.handle, Mqmd::default(), gmo.clone(), 10_000).await.unwrap() {
        found.push(got.md.backout_count);
    }
    connection.disconnect().await.unwrap();
    found
}
