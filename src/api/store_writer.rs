//! The thread that writes to the store, and its queue. Decisions on tool calls are written in batches, at most 10 ms after they
//! were made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::oneshot;

use super::error::ApiError;
use super::live_project::{AppFactory, LiveProject};
use fairway_actions::App;
use fairway_actions::agents::guard;
use fairway_actions::core::errors;
use fairway_core::domain::session::Session;
use fairway_core::store::session_reports;

const QUEUE_LEN: usize = 1_024;
/// How long decisions are collected for one batch.
const BATCH_WINDOW: Duration = Duration::from_millis(10);
/// How many decisions are kept while the store cannot be written.
const MAX_UNRECORDED_DECISIONS: usize = 10_000;

type WriteFn = Box<dyn FnOnce(&mut LiveProject) + Send>;

/// A decision on a tool call that is not recorded yet.
#[derive(Debug)]
pub(super) struct PendingDecision {
    pub(super) session: Option<Session>,
    pub(super) call: guard::ToolCall,
    pub(super) decision: guard::GuardDecision,
    pub(super) entry_point: guard::EntryPoint,
    /// Receives the result, when a client waits for it.
    pub(super) on_recorded: Option<oneshot::Sender<Result<(), ApiError>>>,
}

enum WriterMessage {
    Run(WriteFn),
    RecordNow(Box<PendingDecision>),
    /// Announces that `SharedStatus::decisions` is not empty.
    FlushDecisions,
}

/// State that the writer thread shares with its callers.
#[derive(Debug, Default)]
struct SharedStatus {
    /// Whether the last batch of decisions was recorded.
    last_flush_ok: AtomicBool,
    /// How many messages are queued.
    queued: AtomicUsize,
    /// Decisions that no client waits for. Only the first one wakes the thread.
    decisions: Mutex<Vec<PendingDecision>>,
}

impl SharedStatus {
    fn lock_decisions(&self) -> MutexGuard<'_, Vec<PendingDecision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle of the writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: SyncSender<WriterMessage>,
    status: Arc<SharedStatus>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(factory: AppFactory) -> std::io::Result<Self> {
        let (queue, messages) = sync_channel(QUEUE_LEN);
        let status = Arc::new(SharedStatus::default());
        let shared = Arc::clone(&status);
        let thread = thread::Builder::new().name("writer".into()).spawn(move || {
            // The caller has loaded the same settings: this fails only when they have changed since.
            if let Ok(current) = factory.open() {
                WriterThread { project: current, status: shared, unrecorded: Vec::new() }.run_loop(&messages);
            }
        })?;
        Ok(Self { queue, status, thread })
    }

    fn enqueue(&self, message: WriterMessage) -> Result<(), ApiError> {
        self.status.queued.fetch_add(1, SeqCst);
        self.queue.try_send(message).map_err(|error| {
            self.status.queued.fetch_sub(1, SeqCst);
            match error {
                TrySendError::Full(_) => ApiError::busy(format!("the write queue is full ({QUEUE_LEN})")),
                TrySendError::Disconnected(_) => ApiError::internal("the store writer has stopped"),
            }
        })
    }

    /// Queues `job` for the writer thread, and returns a receiver for its result. The job is not run when the receiver is
    /// dropped before its turn.
    pub(super) fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&App) -> Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, ApiError>>, ApiError> {
        let (sender, receiver) = oneshot::channel();
        let request = tracing::Span::current();
        self.enqueue(WriterMessage::Run(Box::new(move |current| {
            let _request = request.entered();
            // The client is gone and was promised nothing.
            if !sender.is_closed() {
                let _ = sender.send(run_catching_panic(current, job));
            }
        })))?;
        Ok(receiver)
    }

    /// Queues a guard decision to be recorded. Error: `server_busy` when too many are not recorded yet.
    pub(super) fn record(&self, decision: PendingDecision) -> Result<(), ApiError> {
        if decision.on_recorded.is_some() {
            return self.enqueue(WriterMessage::RecordNow(Box::new(decision)));
        }
        let mut decisions = self.status.lock_decisions();
        if decisions.len() >= MAX_UNRECORDED_DECISIONS {
            return Err(ApiError::busy(format!("{MAX_UNRECORDED_DECISIONS} decisions are not recorded yet")));
        }
        decisions.push(decision);
        if decisions.len() > 1 {
            return Ok(());
        }
        // Without the message the thread would not see the decision, so it is not kept.
        self.enqueue(WriterMessage::FlushDecisions).inspect_err(|_| decisions.clear())
    }

    /// Whether a decision that is queued now is likely to be recorded soon.
    pub(super) fn is_healthy(&self) -> bool {
        self.status.last_flush_ok.load(SeqCst)
            && self.status.queued.load(SeqCst) < QUEUE_LEN / 2
            && self.status.lock_decisions().len() < MAX_UNRECORDED_DECISIONS / 2
    }

    pub(super) fn finish(self) {
        drop(self.queue);
        let _ = self.thread.join();
    }
}

/// Runs `job`, and turns a panic into an internal error.
pub(super) fn run_catching_panic<T>(
    project: &mut LiveProject,
    job: impl FnOnce(&App) -> Result<T>,
) -> Result<T, ApiError> {
    let result = catch_unwind(AssertUnwindSafe(|| job(project.app()?)));
    let result = result.unwrap_or_else(|_| Err(errors::internal("a write panicked")));
    result.map_err(|error| {
        project.note_error(&error);
        error.into()
    })
}

struct WriterThread {
    project: LiveProject,
    status: Arc<SharedStatus>,
    /// Decisions that were answered and are not recorded yet.
    unrecorded: Vec<PendingDecision>,
}

impl WriterThread {
    fn run_loop(mut self, messages: &Receiver<WriterMessage>) {
        while let Ok(message) = messages.recv() {
            self.status.queued.fetch_sub(1, SeqCst);
            match message {
                WriterMessage::Run(job) => job(&mut self.project),
                WriterMessage::RecordNow(decision) => {
                    self.unrecorded.push(*decision);
                    self.flush_decisions();
                }
                WriterMessage::FlushDecisions => {
                    let next = self.collect_batch(messages);
                    self.flush_decisions();
                    if let Some(job) = next {
                        job(&mut self.project);
                    }
                }
            }
        }
        self.flush_decisions();
    }

    /// Collects decisions for [`BATCH_WINDOW`]. Ends at once with a decision that a client waits for, and with a job,
    /// which is returned.
    fn collect_batch(&mut self, messages: &Receiver<WriterMessage>) -> Option<WriteFn> {
        let deadline = Instant::now() + BATCH_WINDOW;
        while let Ok(message) = messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.status.queued.fetch_sub(1, SeqCst);
            match message {
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

    /// Records all pending decisions in one transaction.
    fn flush_decisions(&mut self) {
        self.unrecorded.append(&mut self.status.lock_decisions());
        // A client that gave up waiting was denied: its decision must not be recorded as allowed.
        self.unrecorded.retain(|one| one.on_recorded.as_ref().is_none_or(|sender| !sender.is_closed()));
        if self.unrecorded.is_empty() {
            return;
        }
        let batch = &self.unrecorded;
        let written = run_catching_panic(&mut self.project, |app| {
            app.transaction(|tx| {
                for pending in batch {
                    guard::record(tx, pending.entry_point, pending.session.as_ref(), &pending.call, &pending.decision)?;
                    if let Some(session) = &pending.session
                        && pending.decision.allowed
                        && pending.entry_point == guard::EntryPoint::Hook
                    {
                        session_reports::count_call(tx, &session.id, true)?;
                    }
                }
                Ok(())
            })
        });
        self.status.last_flush_ok.store(written.is_ok(), SeqCst);
        let mut left = Vec::new();
        for one in self.unrecorded.drain(..) {
            match (one.on_recorded, &written) {
                (Some(sender), _) => drop(sender.send(written.clone())),
                (None, Err(_)) => left.push(PendingDecision { on_recorded: None, ..one }),
                (None, Ok(())) => {}
            }
        }
        let surplus = left.len().saturating_sub(MAX_UNRECORDED_DECISIONS);
        left.drain(..surplus);
        self.unrecorded = left;
    }
}
