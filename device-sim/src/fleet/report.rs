//! The report of a fleet: for scripts as JSON, for people as a table.

use std::fmt;
use std::sync::atomic::Ordering;

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::inject;
use super::ledger::{Account, Findings};
use super::options::{Direction, FleetOptions};
use super::payload::Way;
use super::shared::Shared;

/// What a fleet found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Whether everything that was put came once, whole, and in order; for a self-test: whether just the faults that
    /// were made were found.
    pub exact: bool,
    /// Why it ended before all was done, if it did.
    pub gave_up: Option<String>,
    /// From which all that was random followed.
    pub seed: u64,
    /// Names the run in the payloads.
    pub run: String,
    /// Of the programs and the protocol.
    pub versions: Value,
    /// What was played.
    pub options: Value,
    /// How long it took.
    pub seconds: f64,
    /// From MQ to devices.
    pub down: WayReport,
    /// From devices to MQ.
    pub up: WayReport,
    /// Messages that were changed on their way.
    pub damaged: u64,
    /// Messages of other runs that came.
    pub foreign: u64,
    /// Messages that came where they do not belong.
    pub astray: Findings,
    /// Faults and what came of them.
    pub hardships: Value,
    /// What the device library counted. After a crash of a device some is counted again.
    pub devices: Value,
    /// Whether this was a self-test of the ledger.
    pub self_test: bool,
}

/// One way.
#[derive(Debug, Clone, Serialize)]
pub struct WayReport {
    /// What was to be put.
    pub expected: u64,
    /// What was stored on the way: by devices, or in their outboxes.
    pub stored: u64,
    /// What was confirmed: by devices, or to them.
    pub confirmed: u64,
    /// What expired. A fleet puts nothing that expires.
    pub expired: u64,
    /// What was refused for good.
    pub rejected: u64,
    /// The ledger's account.
    #[serde(flatten)]
    pub account: Account,
    /// Messages that arrived in a second.
    pub messages_per_second: f64,
    /// From the put to the application at the other end, where that waited for it.
    pub latency: Latency,
}

/// Percentiles, in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Latency {
    /// Messages that were timed.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 90 % took no longer.
    pub p90_ms: f64,
    /// 99 % took no longer.
    pub p99_ms: f64,
    /// 99.9 % took no longer.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// What is known at the end.
pub(super) fn make(shared: &Shared, gave_up: Option<String>) -> Report {
    let options = &shared.options;
    let seconds = shared.begun.elapsed().as_secs_f64();
    let devices: Map<String, Value> =
        shared.counts.list().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let counted = |name: &str| devices.get(name).and_then(Value::as_u64).unwrap_or(0);
    let (down, up) = {
        let ledger = shared.ledger();
        (ledger.account(Way::Down), ledger.account(Way::Up))
    };
    let way = |way: Way, account: Account, stored, confirmed, rejected| WayReport {
        expected: options.expected(way),
        stored: counted(stored),
        confirmed: counted(confirmed),
        expired: 0,
        rejected: counted(rejected),
        messages_per_second: account.delivered as f64 / seconds,
        latency: latency(shared, way),
        account,
    };
    let down = way(Way::Down, down, "stored", "confirmed", "refused");
    let up = way(Way::Up, up, "put", "taken", "put_refused");
    let ledger = shared.ledger();
    let (damaged, foreign, astray) = (ledger.damaged(), ledger.foreign(), ledger.astray());
    drop(ledger);
    let is_whole = gave_up.is_none() && damaged == 0 && foreign == 0 && astray.count == 0;
    let is_all_put = |way: &WayReport| way.account.sent == way.expected;
    let is_down_right = match options.self_test {
        true => inject::are_found(&down.account),
        false => down.account.is_exact(),
    };
    let is_exact = is_whole && is_down_right && up.account.is_exact() && is_all_put(&down) && is_all_put(&up);
    let hardships = &shared.hardships;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    Report {
        exact: is_exact,
        gave_up,
        seed: options.seed,
        run: format!("{:016x}", shared.run),
        versions: json!({ "device-sim": env!("CARGO_PKG_VERSION"), "protocol": mqe::frame::VERSION }),
        options: describe(options),
        seconds,
        down,
        up,
        damaged,
        foreign,
        astray,
        hardships: json!({
            "connections_cut": shared.proxy.as_ref().map_or(0, super::Proxy::cuts),
            "device_crashes": count(&hardships.crashes),
            "mq_connections_lost": count(&hardships.mq_breaks),
            "units_in_doubt_committed": count(&hardships.found_committed),
            "units_in_doubt_backed_out": count(&hardships.found_backed_out),
        }),
        devices: Value::Object(devices),
        self_test: options.self_test,
    }
}

fn describe(options: &FleetOptions) -> Value {
    json!({
        "gateway": options.gateway,
        "mq": format!("{}/TCP/{}({})", options.mq.channel, options.mq.host, options.mq.port),
        "via": options.via.to_string(),
        "devices": options.devices,
        "queues": options.queues,
        "messages": options.messages,
        "size": options.size,
        "online": options.online,
        "connections": options.connections,
        "rate": options.rate,
        "faults": options.faults,
        "direction": options.direction,
        "mq_connections": options.mq_connections,
        "unit_messages": options.unit_messages,
    })
}

fn latency(shared: &Shared, way: Way) -> Latency {
    let all = shared.latency();
    let times = &all[way as usize];
    if times.is_empty() {
        return Latency::default();
    }
    let at = |quantile| times.value_at_quantile(quantile) as f64 / 1_000.0;
    Latency {
        count: times.len(),
        p50_ms: at(0.5),
        p90_ms: at(0.9),
        p99_ms: at(0.99),
        p999_ms: at(0.999),
        max_ms: times.max() as f64 / 1_000.0,
    }
}

impl Report {
    fn ways(&self) -> Vec<(&'static str, &WayReport)> {
        let direction = self.options.get("direction").and_then(Value::as_str);
        let is = |wanted: Direction| {
            direction == serde_json::to_value(wanted).ok().as_ref().and_then(Value::as_str)
        };
        match () {
            () if is(Direction::Down) => vec![("MQ to devices", &self.down)],
            () if is(Direction::Up) => vec![("devices to MQ", &self.up)],
            () => vec![("MQ to devices", &self.down), ("devices to MQ", &self.up)],
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([
            "",
            "expected",
            "put",
            "delivered",
            "lost",
            "doubled",
            "out of order",
            "phantom",
            "per second",
            "p50 ms",
            "p99 ms",
            "max ms",
        ]);
        for (name, way) in self.ways() {
            let account = &way.account;
            let mut row = vec![name.to_owned()];
            row.extend(
                [
                    way.expected,
                    account.sent,
                    account.delivered,
                    account.lost.count,
                    account.duplicated.count,
                    account.reordered.count,
                    account.phantom.count,
                ]
                .map(|count| count.to_string()),
            );
            row.push(format!("{:.0}", way.messages_per_second));
            let Latency { count, p50_ms, p99_ms, max_ms, .. } = way.latency;
            let time = |ms: f64| if count == 0 { "-".to_owned() } else { format!("{ms:.1}") };
            row.extend([p50_ms, p99_ms, max_ms].map(time));
            table.add_row(row);
        }
        writeln!(f, "{table}")?;
        for (name, way) in self.ways() {
            let account = &way.account;
            for (what, found) in [
                ("lost", &account.lost),
                ("doubled", &account.duplicated),
                ("out of order", &account.reordered),
                ("phantom", &account.phantom),
            ] {
                if found.count > 0 {
                    let shown: Vec<&str> = found.ids.iter().take(10).map(String::as_str).collect();
                    let more = found.count - shown.len() as u64;
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    writeln!(f, "{name}: {what}: {}{more}", shown.join(", "))?;
                }
            }
        }
        if self.damaged > 0 || self.astray.count > 0 {
            writeln!(f, "damaged: {}; where they do not belong: {}", self.damaged, self.astray.count)?;
        }
        let hardship = |name: &str| self.hardships.get(name).and_then(Value::as_u64).unwrap_or(0);
        writeln!(
            f,
            "{:.1} s; connections cut {}, device crashes {}, MQ connections lost {}, units of work in doubt: {} were committed, {} were not",
            self.seconds,
            hardship("connections_cut"),
            hardship("device_crashes"),
            hardship("mq_connections_lost"),
            hardship("units_in_doubt_committed"),
            hardship("units_in_doubt_backed_out"),
        )?;
        if let Some(why) = &self.gave_up {
            writeln!(f, "gave up: {why}")?;
        }
        match (self.exact, self.self_test) {
            (true, false) => write!(f, "exact: nothing lost, nothing doubled, order kept"),
            (true, true) => {
                write!(f, "self-test: the ledger found the lost, the doubled and the swapped message")
            }
            (false, true) => write!(f, "self-test FAILED: the ledger did not find just what was done"),
            (false, false) => write!(f, "NOT EXACT; seed={}", self.seed),
        }
    }
}
