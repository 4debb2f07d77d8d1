//! Looking after a run: what a supervisor does before the program begins, and after it has ended.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use anyhow::Result;

use super::{event, finish, gc, launch_supervisor, notify, queue_waiter, scheduler};
use crate::{
    actions::{App, core::errors},
    domain::{
        EventKind, Refusal,
        job::{Job, JobId, JobResult, JobStatus},
        job_output::{Batch, NewItem},
    },
    env::vars,
    os::process::ProcessKey,
    store::{StoreError, job_output::OutputStore, jobs},
    supervisor::{
        JobDir, OutputRecorder, Sink, SinkError, Watchers,
        host::{JobHost, SuperviseError},
        job_dir::StartSpec,
        supervise::{self, JobSpec},
    },
};

/// Looks after a run that was taken, with the lock that came as stdin; returns when it has ended and the next one of its
/// queue is begun.
///
/// # Errors
/// `usage` when nobody has handed it over; as the stores and the operating system fail.
pub fn supervise(app: &App, id: &str) -> Result<()> {
    let id = JobId::parse(id)?;
    let directory = JobDir::of(&app.project.jobs_dir(), &id);
    let not_ours = || Refusal::Usage { why: "a run is begun by: fairway exec spawn".into() };
    let held = directory.lock_from_stdin().ok().flatten().ok_or_else(not_ours)?;
    let run = app.read(|tx| Ok(jobs::find(tx, &id)?))?.ok_or_else(not_ours)?;
    if run.status != JobStatus::Starting {
        return Err(not_ours().into());
    }
    let looked_after = supervise_job(app, &run, &directory);
    // Whatever became of it, who waits may go on.
    drop(held);
    let next = scheduler::schedule(app);
    gc::gc_if_due(app, run.seq);
    looked_after.and(next)
}

fn supervise_job(app: &App, run: &Job, directory: &JobDir) -> Result<()> {
    let mut keeper = StoreSink {
        app,
        reopened: None,
        job: run,
        dir: directory,
        output: None,
        is_end_recorded: false,
        has_pending: run.attempt > 1,
    };
    let start = match directory.start_spec().and_then(|start| Ok((start, directory.stdin()?))) {
        Ok((Some(start), stdin)) => Ok((start, stdin)),
        Ok((None, _)) => Err("what it is to be started with is gone".to_owned()),
        Err(error) => Err(format!("what it is to be started with cannot be read: {error}")),
    };
    let (StartSpec { cwd, argv, env }, stdin) = match start {
        Ok(start) => start,
        Err(why) => return fail_before_start(app, run, why),
    };
    let mark = format!("{}={}", vars::FAIRWAY_EXEC_RUN, run.id);
    let mut env: BTreeMap<OsString, OsString> = env.into_iter().collect();
    env.insert(vars::FAIRWAY_EXEC_RUN.into(), run.id.to_string().into());
    let order = JobSpec {
        job_dir: directory,
        argv: &argv,
        env: &env,
        env_tag: &mark,
        cwd: &cwd,
        stdin,
        pty: run.pty,
        timeout: run.timeout_ms.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis),
        notification_key: &|suffix| notify::dedup_key(&run.id, suffix),
    };
    match supervise::supervise(order, &mut keeper) {
        Ok(()) => {}
        // Nobody else would do better, and who waits for it hears why.
        Err(SuperviseError::System(error)) if !directory.has_started() => {
            return fail_before_start(app, run, format!("it cannot be looked after: {error}"));
        }
        Err(error) => return Err(errors::internal(error)),
    }
    // It holds the run's environment.
    let _ = directory.remove_start_spec();
    // What is not told now stays owed, and is told by whoever comes next.
    keeper.has_pending = true;
    keeper.flush_notifications();
    Ok(())
}

/// Says that a run has failed of which nothing was begun.
fn fail_before_start(app: &App, run: &Job, why: String) -> Result<()> {
    let ending = JobResult { status: JobStatus::Failed, exit_code: None, signal: None, error_message: Some(why) };
    finish::finish_unsupervised(app, run, &ending).map(drop)
}

/// How long the stores may keep a supervisor waiting whose program prints meanwhile.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Writes into the stores what a supervisor tells.
struct StoreSink<'a> {
    app: &'a App,
    /// The house anew, once a restore has put another store in the place of the one that was opened first.
    reopened: Option<App>,
    job: &'a Job,
    /// Where those who wait for the run are woken.
    dir: &'a JobDir,
    /// Opened when it is needed, and again when that failed.
    output: Option<OutputStore>,
    /// The item of the end is written; the state may not be.
    is_end_recorded: bool,
    /// A message is owed, and could not be handed over.
    has_pending: bool,
}

fn sink_error(error: impl Into<anyhow::Error>) -> SinkError {
    SinkError::Store(format!("{:#}", error.into()))
}

impl StoreSink<'_> {
    /// Does something with the output's store.
    fn output<T>(&mut self, act: impl FnOnce(&OutputStore) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.output.is_none() {
            self.output = Some(OutputStore::open_for_writing(&self.app.project.output_file())?);
        }
        match &self.output {
            Some(output) => act(output),
            None => Err(StoreError::Busy),
        }
    }

    fn current_app(&self) -> &App {
        self.reopened.as_ref().unwrap_or(self.app)
    }

    /// From now on somebody prints, who must not wait for others; or not any more.
    fn set_busy_timeout(&mut self, patience: Option<Duration>) {
        let _ = self.output(|output| output.set_busy_timeout(patience));
        if let Ok(store) = self.current_app().store_for_writing() {
            let _ = store.set_busy_timeout(patience);
        }
    }

    /// What became of a change of the run's state. Who waits for the run hears of it.
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
            self.reopened = Some(self.app.with_fresh_store());
        }
        Err(sink_error(error))
    }
}

impl JobHost for StoreSink<'_> {
    fn open_output(&mut self) -> (OutputRecorder, Watchers) {
        let id = &self.job.id;
        // What a run prints is open_output as far as that can be; that it runs does not depend on it.
        let (standing, totals) =
            self.output(|output| Ok((output.watchers(id)?, output.totals(id)?))).unwrap_or_default();
        self.set_busy_timeout(Some(BUSY_TIMEOUT));
        // Runs whose supervisor died are settled by another process: that may take seconds, and this one has a program to
        // look after.
        let _ = queue_waiter::ensure_recovery(self.current_app());
        let most = u64::try_from(self.job.max_output_bytes).unwrap_or_default();
        let recorder = OutputRecorder::new(self.dir.clone(), most, totals);
        // They were compiled when they were asked for.
        (recorder, Watchers::new(&standing).unwrap_or_default())
    }
}

impl Sink for StoreSink<'_> {
    fn record_started(&mut self, process: &ProcessKey) -> Result<(), SinkError> {
        let started = i64::try_from(process.started).map_err(sink_error)?;
        let own = launch_supervisor::own_process().map_err(sink_error)?;
        let written = self.current_app().transaction(|tx| {
            if !jobs::mark_running(tx, &self.job.id, (i64::from(process.pid), started), own)? {
                return Ok(false);
            }
            tx.record(&event::for_job(EventKind::ExecStarted, self.job).with("pid", i64::from(process.pid)))?;
            Ok(true)
        });
        self.after_write(written)
    }

    fn write_batch(&mut self, write_batch: &Batch) -> Result<(), SinkError> {
        let now = self.app.env.now();
        self.output(|output| output.apply(&self.job.id, write_batch, now)).map_err(sink_error)?;
        self.has_pending |=
            write_batch.items.iter().any(|item| matches!(item, NewItem::Event { notification_key: Some(_), .. }));
        // Before anybody is woken: who hears of an event here finds its message there.
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

    fn record_finished(&mut self, ending: &JobResult, output_bytes: i64, truncated: bool) -> Result<(), SinkError> {
        // Nobody prints any more.
        self.set_busy_timeout(None);
        if !self.is_end_recorded {
            let (payload, meta, owes) = notify::end_event(self.job, ending);
            let (id, now) = (&self.job.id, self.app.env.now());
            let told = self.output(|output| output.append_event(id, &payload, &meta, owes.as_deref(), now));
            // A full disk ends the keeping of output, not the run.
            self.is_end_recorded = told.is_ok();
        }
        let written =
            self.current_app().transaction(|tx| finish::record_finished(tx, self.job, ending, output_bytes, truncated));
        if matches!(written, Ok(true)) {
            // Its message is of the run as it has record_finished; and who hears of the end finds it.
            self.has_pending |= self.job.session.is_some();
            self.flush_notifications();
        }
        self.after_write(written)
    }
}
