//! The supervisor process: prepares a job, supervises its program and records the result.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use anyhow::Result;
use nix::sys::signal::SigSet;

use super::own_process::{self, KeptRoot};
use super::{event, finish, gc, notification_format, notify, queue_waiter, scheduler};
use crate::App;
use crate::core::check_slot::{self, Ticket};
use crate::core::errors;
use crate::sessions::prompt;
use fairway_core::domain::job::{Job, JobId, JobResult, JobStatus};
use fairway_core::domain::job_output::{Batch, NewItem};
use fairway_core::domain::message::Recipient;
use fairway_core::domain::{EventKind, Refusal};
use fairway_core::env::vars;
use fairway_core::os::process::ProcessKey;
use fairway_core::os::slots::Slot;
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{StoreError, jobs, lanes};
use fairway_core::supervisor::host::{JobHost, SuperviseError};
use fairway_core::supervisor::job_dir::StartSpec;
use fairway_core::supervisor::supervise::{self, JobSpec};
use fairway_core::supervisor::{JobDir, OutputRecorder, Sink, SinkError, Watchers};

/// Supervises a job that is marked as starting. The process that starts the supervisor passes the job's lock as stdin. Returns
/// when the job has ended and the next jobs are started.
///
/// # Errors
/// `usage` without the lock or for a job that is not starting; errors of the stores and the operating system.
pub fn supervise(app: &App, id: &str) -> Result<()> {
    let id = JobId::parse(id)?;
    let directory = JobDir::of(&app.project.jobs_dir(), &id);
    let not_ours =
        || Refusal::Usage { why: "only fairway starts a supervisor; spawn a job with: fairway exec spawn".into() };
    let lock = directory.lock_from_stdin().ok().flatten().ok_or_else(not_ours)?;
    let job = app.read(|tx| Ok(jobs::find(tx, &id)?))?.ok_or_else(not_ours)?;
    if job.status != JobStatus::Starting {
        return Err(not_ours().into());
    }
    let root = KeptRoot::of(app);
    let supervised = supervise_job(app, &root, &job, &directory.kept_open());
    // Released before the next jobs start, also after an error.
    drop(lock);
    let moved = root.moved(app);
    let app = moved.as_ref().unwrap_or(app);
    let next = scheduler::schedule(app);
    gc::gc_if_due(app, job.seq);
    // An idle agent has no event by which it would read the notice of the end.
    if let Some(Recipient::Session(session)) = notify::reader(&job).filter(|_| job.background) {
        prompt::try_deliver(app, &session);
    }
    supervised.and(next)
}

fn supervise_job(app: &App, root: &KeptRoot, job: &Job, directory: &JobDir) -> Result<()> {
    let mut sink = StoreSink {
        app,
        root,
        reopened: None,
        job,
        dir: directory,
        output: None,
        is_end_recorded: false,
        has_pending: job.attempt > 1,
    };
    let start = match directory.start_spec().and_then(|start| Ok((start, directory.stdin()?))) {
        Ok((Some(start), stdin)) => Ok((start, stdin)),
        Ok((None, _)) => Err("start file is missing".to_owned()),
        Err(error) => Err(format!("cannot read the start file: {error}")),
    };
    let (StartSpec { cwd, argv, env }, stdin) = match start {
        Ok(start) => start,
        Err(why) => return fail_before_start(app, job, why),
    };
    let tag = format!("{}={}", vars::FAIRWAY_EXEC_RUN, job.id);
    let mut env: BTreeMap<OsString, OsString> = env.into_iter().collect();
    env.insert(vars::FAIRWAY_EXEC_RUN.into(), job.id.to_string().into());
    let slot = Arc::new(Mutex::new(None));
    let turn = turn(app, job, &mut env, &slot)?;
    let spec = JobSpec {
        job_dir: directory,
        argv: &argv,
        env: &env,
        env_tag: &tag,
        cwd: &cwd,
        stdin,
        pty: job.pty,
        turn,
        timeout: job.timeout_ms.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis),
        notification_key: &|suffix| notification_format::dedup_key(&job.id, suffix),
    };
    match supervise::supervise(spec, &mut sink) {
        Ok(()) => {}
        // A retry would fail as well; the waiters get the reason.
        Err(SuperviseError::System(error)) if !directory.has_started() => {
            return fail_before_start(app, job, format!("cannot supervise it: {error}"));
        }
        Err(error) => return Err(errors::internal(error)),
    }
    // The start file holds the environment, which may hold secrets.
    let _ = directory.remove_start_spec();
    // A notification that fails now stays pending for the next process.
    sink.has_pending = true;
    sink.flush_notifications();
    Ok(())
}

/// What ends when a job that is a check has a slot, which is then in `slot`; `None` for every other job.
fn turn(
    app: &App,
    job: &Job,
    env: &mut BTreeMap<OsString, OsString>,
    slot: &Arc<Mutex<Option<Slot>>>,
) -> Result<Option<File>> {
    if env.get(OsStr::new(vars::FAIRWAY_SLOT)).is_none_or(|value| value != check_slot::WAIT) {
        return Ok(None);
    }
    env.extend([check_slot::variable()].map(|(name, value)| (name.into(), value.into())));
    let lanes = app.read(|tx| Ok(lanes::all(tx)?))?;
    let lane = lanes.iter().find(|lane| lane.is_around(&job.cwd)).map(|lane| &lane.name);
    let what = format!("job {} runs '{}'", job.id.short(), job.command);
    let Some(ticket) = Ticket::of(app, &what, lane)? else { return Ok(None) };
    let (turn, end) = io::pipe()?;
    let slot = Arc::clone(slot);
    thread::spawn(move || {
        // The supervisor's are for its own thread.
        let _ = SigSet::all().thread_block();
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = ticket.take(|_| ());
        drop(end);
    });
    Ok(Some(OwnedFd::from(turn).into()))
}

fn fail_before_start(app: &App, job: &Job, why: String) -> Result<()> {
    finish::finish_without_exit(app, job, JobStatus::Failed, why).map(drop)
}

/// Busy timeout of the stores while the program runs: its output must not back up behind a locked store.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Records a supervisor's reports in the stores.
struct StoreSink<'a> {
    app: &'a App,
    /// The project's root, which may be moved.
    root: &'a KeptRoot,
    /// The project opened again, after a restore replaced the store, or after a move.
    reopened: Option<App>,
    job: &'a Job,
    /// The job's directory; its waiters are woken there.
    dir: &'a JobDir,
    /// The output store, opened at first use, and again after a failure.
    output: Option<OutputStore>,
    /// Whether the end event is written; the status may still be missing.
    is_end_recorded: bool,
    has_pending: bool,
}

fn sink_error(error: impl Into<anyhow::Error>) -> SinkError {
    SinkError::Store(format!("{:#}", error.into()))
}

impl StoreSink<'_> {
    /// Calls `act` with the output store.
    fn output<T>(&mut self, act: impl FnOnce(&OutputStore) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.output.is_none() {
            self.output = Some(OutputStore::open_for_writing(&self.current_app().project.output_file())?);
        }
        match &self.output {
            Some(output) => act(output),
            None => Err(StoreError::Busy),
        }
    }

    fn current_app(&self) -> &App {
        self.reopened.as_ref().unwrap_or(self.app)
    }

    /// Opens the project at its new path if it was moved.
    fn follow_move(&mut self) {
        if let Some(moved) = self.root.moved(self.current_app()) {
            (self.reopened, self.output) = (Some(moved), None);
        }
    }

    /// Sets the busy timeout of both stores; `None` restores the default.
    fn set_busy_timeout(&mut self, timeout: Option<Duration>) {
        let _ = self.output(|output| output.set_busy_timeout(timeout));
        if let Ok(store) = self.current_app().store_for_writing() {
            let _ = store.set_busy_timeout(timeout);
        }
    }

    /// Wakes the job's waiters after a write of its status; turns an error into that of the sink.
    fn after_write(&mut self, written: Result<bool>) -> Result<(), SinkError> {
        let error = match written {
            Ok(true) => {
                self.dir.notify_waiters();
                return Ok(());
            }
            Ok(false) => return Err(SinkError::NotOwner),
            Err(error) => error,
        };
        if matches!(error.downcast_ref(), Some(StoreError::Replaced)) {
            self.reopened = Some(self.current_app().with_fresh_store());
        }
        Err(sink_error(error))
    }
}

impl JobHost for StoreSink<'_> {
    fn open_output(&mut self) -> (OutputRecorder, Watchers) {
        let id = &self.job.id;
        // Output is recorded if possible; the job runs in any case.
        let (watchers, totals) =
            self.output(|output| Ok((output.watchers(id)?, output.totals(id)?))).unwrap_or_default();
        self.set_busy_timeout(Some(BUSY_TIMEOUT));
        // Other jobs are recovered by another process: that may take seconds, and this one must read its program's output.
        let _ = queue_waiter::ensure_recovery(self.current_app());
        let max_bytes = u64::try_from(self.job.max_output_bytes).unwrap_or_default();
        let recorder = OutputRecorder::new(self.dir.clone(), max_bytes, totals);
        // They compiled when the job was spawned.
        (recorder, Watchers::new(&watchers).unwrap_or_default())
    }
}

impl Sink for StoreSink<'_> {
    fn record_started(&mut self, process: &ProcessKey) -> Result<(), SinkError> {
        self.follow_move();
        let started = i64::try_from(process.started).map_err(sink_error)?;
        let own = own_process::own_process().map_err(sink_error)?;
        let written = self.current_app().transaction(|tx| {
            if !jobs::mark_running(tx, &self.job.id, (i64::from(process.pid), started), own)? {
                return Ok(false);
            }
            tx.record(&event::for_job(EventKind::ExecStarted, self.job).with("pid", i64::from(process.pid)))?;
            Ok(true)
        });
        self.after_write(written)
    }

    fn write_batch(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.follow_move();
        let now = self.app.env.now();
        self.output(|output| output.apply(&self.job.id, batch, now)).map_err(sink_error)?;
        self.has_pending |=
            batch.items.iter().any(|item| matches!(item, NewItem::Event { notification_key: Some(_), .. }));
        // Before the waiters wake: a waiter that sees an event must find its notification.
        self.flush_notifications();
        self.dir.notify_waiters();
        Ok(())
    }

    fn has_pending_notifications(&self) -> bool {
        self.has_pending
    }

    fn flush_notifications(&mut self) {
        if self.has_pending {
            self.has_pending = match &self.output {
                Some(output) => notify::send_pending(self.current_app(), output, self.job).is_err(),
                None => true,
            };
        }
    }

    fn record_finished(&mut self, result: &JobResult, output_bytes: i64, truncated: bool) -> Result<(), SinkError> {
        self.follow_move();
        // The program has ended: waiting for the stores is harmless now.
        self.set_busy_timeout(None);
        if !self.is_end_recorded {
            let (job, now) = (self.job, self.app.env.now());
            let appended = self.output(|output| {
                let (payload, meta, key) = notify::end_event(job, result, notify::notifies_end(job, output));
                output.append_event(&job.id, &payload, &meta, key.as_deref(), now)
            });
            // On a full disk the end event is missing, but the result is recorded.
            self.is_end_recorded = appended.is_ok();
        }
        let written =
            self.current_app().transaction(|tx| finish::record_finished(tx, self.job, result, output_bytes, truncated));
        if matches!(written, Ok(true)) {
            // After the result, because the notification reports it; before the waiters wake, so that they find the notification.
            self.has_pending |= notify::reader(self.job).is_some();
            self.flush_notifications();
        }
        self.after_write(written)
    }
}
