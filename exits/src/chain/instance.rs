//! An instance: a thread with a runtime of its own (or a task, in simulations) and an exit object for each place of the chain. What it works on
//! lies on its [`Desk`], from which the pool takes it when the instance is late.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::{debug, info};

use super::Place;
use super::guard::{caught, guarded};
use super::job::{Ending, Job, Turn};
use super::pool::{Next, Pool, locked};
use crate::{
    Direction, ExitContext, ExitError, ExitMessage, ExitResponse, InitContext, OnFailure, Origin, ReceiveExit,
};

/// What an instance is doing, seen by its thread and by the pool. Held for a few lines, never while an exit runs.
pub(super) struct Desk {
    number: usize,
    place: Place,
    doing: Mutex<Doing>,
}

enum Doing {
    /// Starting its exits.
    Starting { since: Instant },
    /// Waiting for work.
    Idle,
    /// At an exit with a message.
    Working { job: Box<Job>, exit: usize, since: Instant },
    /// Given up by the pool: whatever it still returns is nobody's.
    Abandoned,
}

/// What the watch finds on a desk.
pub(super) enum Found {
    Idle,
    /// It has until then.
    Until(Instant),
    /// It was late in its start and is abandoned now.
    LateStart,
    /// It was late at this exit and is abandoned now; the job is the finder's.
    Late {
        job: Box<Job>,
        exit: usize,
    },
}

impl Desk {
    pub(super) fn new(number: usize, place: Place) -> Self {
        Self { number, place, doing: Mutex::new(Doing::Starting { since: place.now() }) }
    }

    /// Looks whether the instance is late, and abandons it if so.
    pub(super) fn look(
        &self,
        now: Instant,
        start_limit: Duration,
        exit_limit: impl Fn(usize) -> Duration,
    ) -> Found {
        let mut doing = locked(&self.doing);
        let until = match &*doing {
            Doing::Idle | Doing::Abandoned => return Found::Idle,
            Doing::Starting { since } => *since + start_limit,
            Doing::Working { exit, since, .. } => *since + exit_limit(*exit),
        };
        if now < until {
            return Found::Until(until);
        }
        match std::mem::replace(&mut *doing, Doing::Abandoned) {
            Doing::Working { job, exit, .. } => Found::Late { job, exit },
            _ => Found::LateStart,
        }
    }

    /// Puts a job on the desk; gives it back if the instance has been abandoned meanwhile.
    pub(super) fn put(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut doing = locked(&self.doing);
        if matches!(*doing, Doing::Abandoned) {
            return Err(job);
        }
        *doing = Doing::Working { job, exit: 0, since: self.place.now() };
        Ok(())
    }

    pub(super) fn is_abandoned(&self) -> bool {
        matches!(*locked(&self.doing), Doing::Abandoned)
    }

    /// The start is over. False if it was late.
    fn idle(&self) -> bool {
        let mut doing = locked(&self.doing);
        if matches!(*doing, Doing::Abandoned) {
            return false;
        }
        *doing = Doing::Idle;
        true
    }

    /// Settles the last message and takes the next one. None when the job is done, and its verdicts are on their
    /// way, or when the instance has been abandoned.
    fn next(&self, ending: Option<Ending>) -> Option<Turn> {
        let mut doing = locked(&self.doing);
        let Doing::Working { job, exit, since } = &mut *doing else { return None };
        if let Some(ending) = ending {
            job.settle(ending);
        }
        if let Some(turn) = job.next() {
            (*exit, *since) = (turn.from_exit, self.place.now());
            return Some(turn);
        }
        let done = std::mem::replace(&mut *doing, Doing::Idle);
        drop(doing);
        if let Doing::Working { job, .. } = done {
            job.finish();
        }
        None
    }

    /// The current message goes into an exit. False if the instance has been abandoned.
    fn enter(&self, at: usize, input: Option<ExitMessage>, now: Instant) -> bool {
        let mut doing = locked(&self.doing);
        let Doing::Working { job, exit, since } = &mut *doing else { return false };
        job.keep_input(input);
        (*exit, *since) = (at, now);
        true
    }
}

/// An exit of this instance and its memory.
struct Seat {
    exit: Arc<dyn ReceiveExit>,
    init: InitContext,
    context: ExitContext,
}

/// Starts the thread, or the task. `ready` gets whether one of its exits is serial, or why they could not be started; `ended` is
/// dropped at the very end.
pub(super) fn spawn(
    pool: &Arc<Pool>,
    desk: Arc<Desk>,
    ready: oneshot::Sender<Result<bool, ExitError>>,
    ended: oneshot::Sender<()>,
) -> Result<(), ExitError> {
    let (pool, number) = (Arc::clone(pool), desk.number);
    if pool.place == Place::Tasks {
        tokio::spawn(async move {
            let _ended = ended;
            serve(&pool, &desk, ready).await;
            pool.returned(&desk);
        });
        return Ok(());
    }
    let body = move || {
        let _ended = ended;
        // All drivers that are compiled in: an exit may use timers and sockets.
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(serve(&pool, &desk, ready)),
            Err(error) => pool.not_started(ready, ExitError::Thread(error)),
        }
        pool.returned(&desk);
    };
    let name = format!("exits-{number}");
    thread::Builder::new().name(name).spawn(body).map(drop).map_err(ExitError::Thread)
}

async fn serve(pool: &Arc<Pool>, desk: &Desk, ready: oneshot::Sender<Result<bool, ExitError>>) {
    let mut seats = Vec::with_capacity(pool.exits.len());
    match open(pool, desk.number, &mut seats).await {
        Ok(serial) if desk.idle() => {
            let _ = ready.send(Ok(serial));
            work(pool, desk, &mut seats).await;
        }
        Ok(_) => {}
        Err(error) => {
            desk.idle();
            pool.not_started(ready, error);
        }
    }
    for (Seat { exit, .. }, plan) in seats.iter_mut().zip(&pool.exits) {
        if let Err(error) = guarded("term", plan.config.start_limit, || {
            let term = exit.term();
            Box::pin(async move {
                term.await;
                Ok(())
            })
        })
        .await
        {
            info!(exit = plan.config.display_name(), %error, "an exit did not end well");
        }
    }
    // Their destructors are code of exits too.
    let _ = caught("drop", || drop(seats));
}

/// Makes and starts the exits. Those that were started are in `seats`, also when a later one fails.
async fn open(pool: &Pool, instance: usize, seats: &mut Vec<Seat>) -> Result<bool, ExitError> {
    let mut serial = false;
    for (place, plan) in pool.exits.iter().enumerate() {
        let config = &plan.config;
        let starting = |error: ExitError| error.starting(config.display_name());
        let exit = caught("its constructor", || (plan.constructor)(config)).flatten().map_err(starting)?;
        serial |= caught("serial", || exit.serial()).map_err(starting)?;
        let init = InitContext {
            exit_name: config.display_name().into(),
            exit_data: config.data.as_str().into(),
            exit_number: place + 1,
            instance,
            gateway_names: Arc::clone(&pool.gateway_names),
        };
        // The first message brings its own origin.
        let context = ExitContext::new(init.clone(), Origin::new("", Direction::FromMq));
        seats.push(Seat { exit, init, context });
        let Seat { exit, init, .. } = &seats[place];
        guarded("init", config.start_limit, || exit.init(init)).await.map_err(starting)?;
    }
    Ok(serial)
}

/// Takes jobs until the chain is closed or this instance is abandoned.
async fn work(pool: &Arc<Pool>, desk: &Desk, seats: &mut [Seat]) {
    loop {
        // Made before the look, so that nothing that comes after it is missed.
        let changed = pool.changed.notified();
        match pool.next_job(desk) {
            Next::Job => {
                let mut ending = None;
                while let Some(turn) = desk.next(ending.take()) {
                    match pass(pool, desk, seats, turn).await {
                        Some(end) => ending = Some(end),
                        None => return,
                    }
                }
                if desk.is_abandoned() {
                    return;
                }
                // Lets tasks run that exits have spawned, also when jobs never run out.
                tokio::task::yield_now().await;
            }
            Next::Wait => changed.await,
            Next::End => return,
        }
    }
}

/// Takes a message through the exits. None if the instance has been abandoned on the way.
async fn pass(pool: &Pool, desk: &Desk, seats: &mut [Seat], turn: Turn) -> Option<Ending> {
    let Turn { mut message, number, from_exit, .. } = turn;
    let mut now = pool.place.now();
    for (place, seat) in seats.iter_mut().enumerate().skip(from_exit) {
        let (config, stats) = (&pool.exits[place].config, &pool.stats[place]);
        if stats.is_suppressed() {
            continue;
        }
        let input = (config.on_failure == OnFailure::Pass).then(|| {
            message.share();
            message.clone()
        });
        if !desk.enter(place, input.clone(), now) {
            return None;
        }
        let had_header = message.has_xqh();
        seat.context.begin(message.origin(), number);
        let (exit, context) = (&seat.exit, &mut seat.context);
        let result = guarded("receive", config.time_limit, || exit.receive(context, &mut message)).await;
        if desk.is_abandoned() {
            // It was counted when it was given up.
            return None;
        }
        let before = std::mem::replace(&mut now, pool.place.now());
        stats.called(now - before);
        let bytes = message.bytes().len();
        let result = match result {
            Ok(_) if bytes > config.message_bytes_max => {
                Err(ExitError::TooLarge { bytes, bytes_max: config.message_bytes_max })
            }
            Ok(ExitResponse::Ok | ExitResponse::SuppressExit) if had_header && !message.has_xqh() => {
                Err(ExitError::HeaderLost)
            }
            result => result,
        };
        let name = config.display_name();
        match result {
            Ok(ExitResponse::Ok) => {}
            Ok(ExitResponse::SuppressExit) => {
                if stats.suppress() {
                    info!(exit = name, "the exit asked not to be called any more");
                }
            }
            Ok(ExitResponse::SuppressFunction { reason, why }) => {
                stats.refused();
                return Some(Ending::Undelivered { reason, why: format!("exit {name}: {why}") });
            }
            Ok(ExitResponse::CloseChannel) => {
                return Some(Ending::Close { why: format!("exit {name} closed the channel") });
            }
            Err(error) => {
                stats.failed(&error);
                debug!(exit = name, message = number, %error, "an exit failed");
                match (failure(config.on_failure, name, &error), input) {
                    (Some(ending), _) => return Some(ending),
                    (None, Some(input)) => message = input,
                    (None, None) => {}
                }
            }
        }
    }
    message.share();
    Some(Ending::Pass(message))
}

/// What a failure means for the message; none if it passes.
pub(super) fn failure(on_failure: OnFailure, exit: &str, error: &ExitError) -> Option<Ending> {
    let why = format!("exit {exit}: {error}");
    match on_failure {
        OnFailure::DeadLetter => Some(Ending::Undelivered { reason: error.reason(), why }),
        OnFailure::Pass => None,
        OnFailure::Stop => Some(Ending::Stop { why }),
    }
}
