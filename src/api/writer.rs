//! The one thread that writes to the store: what is asked of it goes in line. Decisions on tool calls are written in
//! batches, a moment after they were made.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::sync::oneshot;

use super::{
    error::ApiError,
    live_project::{AppFactory, LiveProject},
};
use crate::{
    actions::{App, boundary::guard, core::errors},
    domain::session::Session,
};

/// How many may stand in line.
const QUEUE_LEN: usize = 1_024;
/// How long decisions are gathered.
const BATCH_WINDOW: Duration = Duration::from_millis(10);
/// How many decisions may wait for a store that cannot be written.
const MAX_UNRECORDED_DECISIONS: usize = 10_000;

type WriteFn = Box<dyn FnOnce(&mut LiveProject) + Send>;

/// A decision on a tool call, to be recorded.
#[derive(Debug)]
pub(super) struct PendingDecision {
    pub(super) session: Option<Session>,
    pub(super) call: guard::ToolCall,
    pub(super) decision: guard::GuardDecision,
    pub(super) entry_point: guard::EntryPoint,
    /// Who waits until it is recorded.
    pub(super) on_recorded: Option<oneshot::Sender<Result<(), ApiError>>>,
}

enum WriterMessage {
    Run(WriteFn),
    /// A decision that somebody waits for.
    RecordNow(Box<PendingDecision>),
    /// Decisions are there that nobody waits for.
    FlushDecisions,
}

/// What others know about the thread.
#[derive(Debug, Default)]
struct SharedStatus {
    /// The last batch of decisions was recorded.
    last_flush_ok: AtomicBool,
    /// How much stands in line.
    queued: AtomicUsize,
    /// Decisions that nobody waits for: the thread is woken for the first of them, and not for each.
    decisions: Mutex<Vec<PendingDecision>>,
}

impl SharedStatus {
    fn lock_decisions(&self) -> MutexGuard<'_, Vec<PendingDecision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: SyncSender<WriterMessage>,
    status: Arc<SharedStatus>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(seed: AppFactory) -> std::io::Result<Self> {
        let (line, tasks) = sync_channel(QUEUE_LEN);
        let state = Arc::new(SharedStatus::default());
        let known = Arc::clone(&state);
        let thread = thread::Builder::new().name("writer".into()).spawn(move || {
            // Read before, by whoever starts us: it fails only when that has changed since.
            if let Ok(current) = seed.open() {
                WriterThread { project: current, status: known, unrecorded: Vec::new() }.run_loop(&tasks);
            }
        })?;
        Ok(Self { queue: line, status: state, thread })
    }

    /// Puts something in line.
    ///
    /// # Errors
    /// When the line is full, or nobody works on it any more.
    fn enqueue(&self, task: WriterMessage) -> Result<(), ApiError> {
        self.status.queued.fetch_add(1, SeqCst);
        self.queue.try_send(task).map_err(|error| {
            self.status.queued.fetch_sub(1, SeqCst);
            match error {
                TrySendError::Full(_) => ApiError::busy(format!("{QUEUE_LEN} changes stand in line already")),
                TrySendError::Disconnected(_) => ApiError::internal("nobody writes any more"),
            }
        })
    }

    /// Has something done; the answer comes by the receiver.
    ///
    /// # Errors
    /// As [`Writer::put`] fails.
    pub(super) fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, ApiError>>, ApiError> {
        let (tell, told) = oneshot::channel();
        self.enqueue(WriterMessage::Run(Box::new(move |current| {
            // Who asked has gone: nothing was promised.
            if !tell.is_closed() {
                let _ = tell.send(run_catching_panic(current, job));
            }
        })))?;
        Ok(told)
    }

    /// Has a decision recorded.
    ///
    /// # Errors
    /// As [`Writer::put`] fails.
    pub(super) fn record(&self, decision: PendingDecision) -> Result<(), ApiError> {
        if decision.on_recorded.is_some() {
            return self.enqueue(WriterMessage::RecordNow(Box::new(decision)));
        }
        let mut decisions = self.status.lock_decisions();
        if decisions.len() >= MAX_UNRECORDED_DECISIONS {
            return Err(ApiError::busy(format!("{MAX_UNRECORDED_DECISIONS} decisions wait to be recorded")));
        }
        decisions.push(decision);
        if decisions.len() > 1 {
            return Ok(());
        }
        // What is not said to be there would lie there: it is not taken then.
        self.enqueue(WriterMessage::FlushDecisions).inspect_err(|_| decisions.clear())
    }

    /// Whether what is put in line now will be recorded soon, as far as can be told.
    pub(super) fn is_healthy(&self) -> bool {
        self.status.last_flush_ok.load(SeqCst)
            && self.status.queued.load(SeqCst) < QUEUE_LEN / 2
            && self.status.lock_decisions().len() < MAX_UNRECORDED_DECISIONS / 2
    }

    /// Waits until everything in line is done.
    pub(super) fn finish(self) {
        drop(self.queue);
        let _ = self.thread.join();
    }
}

/// Does something in a house, whatever becomes of it.
pub(super) fn run_catching_panic<T>(
    current: &mut LiveProject,
    job: impl FnOnce(&App) -> Result<T>,
) -> Result<T, ApiError> {
    let done = catch_unwind(AssertUnwindSafe(|| job(current.app()?)));
    let done = done.unwrap_or_else(|_| Err(errors::internal("a change broke off")));
    done.map_err(|error| {
        current.note_error(&error);
        error.into()
    })
}

struct WriterThread {
    project: LiveProject,
    status: Arc<SharedStatus>,
    /// Decisions that were acted on and could not be recorded yet.
    unrecorded: Vec<PendingDecision>,
}

impl WriterThread {
    fn run_loop(mut self, tasks: &Receiver<WriterMessage>) {
        while let Ok(task) = tasks.recv() {
            self.status.queued.fetch_sub(1, SeqCst);
            match task {
                WriterMessage::Run(job) => job(&mut self.project),
                WriterMessage::RecordNow(decision) => {
                    self.unrecorded.push(*decision);
                    self.flush_decisions();
                }
                WriterMessage::FlushDecisions => {
                    let next = self.collect_batch(tasks);
                    self.flush_decisions();
                    if let Some(job) = next {
                        job(&mut self.project);
                    }
                }
            }
        }
        self.flush_decisions();
    }

    /// Waits a moment for more decisions; ends at once at one that somebody waits for, and at something else to do.
    fn collect_batch(&mut self, tasks: &Receiver<WriterMessage>) -> Option<WriteFn> {
        let deadline = Instant::now() + BATCH_WINDOW;
        while let Ok(task) = tasks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.status.queued.fetch_sub(1, SeqCst);
            match task {
                WriterMessage::Run(job) => return Some(job),
                WriterMessage::RecordNow(decision) => {
                    self.unrecorded.push(*decision);
                    return None;
                }
                WriterMessage::FlushDecisions => {}
            }
        }
        None
    }

    /// Records what is to be recorded.
    fn flush_decisions(&mut self) {
        self.unrecorded.append(&mut self.status.lock_decisions());
        // Who was told no meanwhile, because it took too long, is not recorded as told yes.
        self.unrecorded.retain(|one| one.on_recorded.as_ref().is_none_or(|waits| !waits.is_closed()));
        if self.unrecorded.is_empty() {
            return;
        }
        let batch = &self.unrecorded;
        let written = run_catching_panic(&mut self.project, |app| {
            app.transaction(|tx| {
                for one in batch {
                    guard::record(tx, one.entry_point, one.session.as_ref(), &one.call, &one.decision)?;
                }
                Ok(())
            })
        });
        self.status.last_flush_ok.store(written.is_ok(), SeqCst);
        let mut left = Vec::new();
        for one in self.unrecorded.drain(..) {
            match (one.on_recorded, &written) {
                (Some(waits), _) => drop(waits.send(written.clone())),
                (None, Err(_)) => left.push(PendingDecision { on_recorded: None, ..one }),
                (None, Ok(())) => {}
            }
        }
        let surplus = left.len().saturating_sub(MAX_UNRECORDED_DECISIONS);
        left.drain(..surplus);
        self.unrecorded = left;
    }
}
