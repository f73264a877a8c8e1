//! The queue manager as a pure state machine: objects, queues, units of work, name resolution, waiting gets.
//!
//! The owner calls one function for each event (a verb of a connection, a lost socket, a time-out, a command) and
//! gets back what must be told to whom, with the journal position that each answer depends on. What must be durable
//! is written into the owner's [`store::Batch`]. Time and the position come in as parameters: the crate reads no
//! clock, opens no file, draws no random number. It knows nothing of sockets, devices or exits.
//!
//! Bodies are not kept: an index entry says where a message lies, and the side of the connection reads it there.
//!
//! # The machine
//!
//! ```text
//! QueueManager::new(settings, &Recovered, now, &mut Batch) -> Result<Self, StartError>
//!   .apply(now, conn, call, verb, &mut batch, &mut out)       .closed(now, conn, &mut batch, &mut out)
//!   .mismatched(now, conn, call, get, found, record, ..)
//!   .poll_timeout() -> Option<Instant>                        .handle_timeout(now, &mut batch, &mut out)
//!   .record_read(now, conn, call, record, ..)                 .expired_read(now, Id, record, &mut batch, &mut out)
//!   .quiesce(&mut out) .quiesce_connection(conn, &mut out)    .stopping(&mut out)
//!   .watch(&QName)   .unwatch(&QName)
//!   .set_room(store::Room)                                    .moved(&store::Moved) -> bool
//!   .lock_next(now, &QName, Holder, messages_max, bytes_max) -> Result<Vec<Locked>, Reason>
//!   .unlock(now, Holder, &[Id], &mut batch, &mut out)         .take_locked(Holder, &[Id], &mut Commit) -> Vec<bool>
//!   .put_in_unit(now, &Putter, UnitPut, &Commit, &mut batch) -> Result<PutOutcome, Reason>
//!   .unit_is_real(now, UnitId, &mut batch, &mut out)          .unit_dropped(UnitId, &mut batch)
//!   .exception_report(now, &Mqmd, &body, Feedback, &mut Commit, &mut batch) -> Result<Undelivered, Reason>
//!   .explain_route(QName, QMgrName) -> RouteExplanation
//!   .dead_letter_queue() .channel(&ChannelName) .queues() .run(now, &mqsc command, &mut batch, &mut out)
//!   .clear(now, &QName, &mut batch, &mut out)                 .display(&mqsc display, Option<DisplayCursor>)
//! ```
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | `verb`, `settings` | what crosses the seam |
//! | `attributes`, `object`, `defaults`, `shipped` | definitions: the table of attributes, their record, the default objects |
//! | `resolve`, `route` | name resolution (mq-objects.md 5), and its explanation |
//! | `queue`, `index`, `waiting` | a local queue: its messages in order, who waits for which |
//! | `open`, `put`, `context`, `get`, `offer`, `inquire`, `set`, `unit` | the verbs |
//! | `order`, `segment`, `report`, `headers` | groups and segments at a put, reports |
//! | `hand_out`, `browse`, `marks`, `read_first` | what a get leaves behind: units, locks, marks; records read before |
//! | `sweep` | expiry |
//! | `special` | what few messages have beside their entry: reports wanted, groups, properties |
//! | `clearing` | CLEAR, and the messages of deleted queues, in steps |
//! | `held`, `moved` | messages off their queues; where compaction puts a message |
//! | `local` | the gateway's own way to a queue: locks and puts in a unit of the owner |
//! | `define`, `run`, `display` | DEFINE, ALTER, DELETE, DISPLAY, typed and as MQSC |

mod browse;
mod clearing;
mod clock;
mod connection;
mod context;
mod defaults;
mod define;
mod display;
mod envelope;
mod error;
mod get;
mod hand_out;
mod hash;
mod headers;
mod held;
mod index;
mod inquire;
mod local;
mod manager;
mod marks;
mod mismatch;
mod moved;
mod object;
mod offer;
mod open;
mod order;
mod put;
mod queue;
mod read_first;
mod report;
mod resolve;
mod route;
mod run;
mod segment;
mod set;
mod settings;
mod shipped;
mod special;
mod start;
mod sweep;
mod unit;
mod verb;
mod waiting;

#[cfg(test)]
mod tests;

pub use clock::put_date_time;
pub use display::DisplayCursor;
pub use error::{RecordError, StartError};
pub use local::{ChannelView, Holder, Locked, PutContext, PutOutcome, Putter, QueueView, UnitPut};
pub use manager::QueueManager;
pub use mismatch::Mismatch;
pub use report::{ReportKind, ReportMessage, Undelivered, report_message};
pub use route::{RouteExplanation, RouteOutcome};
pub use settings::{Limits, Settings};
pub use verb::{
    CallId, ConnId, Connect, Connected, Context, Effect, GetRequest, Got, IdCheck, Inquired, NotGot, Now,
    OpenRequest, Opened, Part, Properties, Put1Request, PutDone, PutRequest, QueueDefaults, ReadFirst, Reply,
    Rights, SetRequest, Verb,
};
