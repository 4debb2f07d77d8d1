//! Looking after a run: what a supervisor does before the program begins, and after it has ended.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use anyhow::{Context as _, Result};

use super::{begin, end, gc, next, note, steer};
use crate::{
    actions::{App, failure},
    domain::{
        Kind, Refusal,
        output::{Batch, NewItem},
        run::{Ending, ExecRun, RunId, RunStatus},
    },
    env::vars,
    os::process::ProcessKey,
    runs::{
        Recorder, RunFolder, Sink, SinkError, Watching,
        folder::Start,
        supervisor::{self, Order},
    },
    store::{exec_runs, output::OutputStore},
};

/// Looks after a run that was taken, with the lock that came as stdin; returns when it has ended and the next one of its
/// queue is begun.
///
/// # Errors
/// `usage` when nobody has handed it over; as the stores and the operating system fail.
pub fn supervise(app: &App, id: &str) -> Result<()> {
    let id = RunId::parse(id)?;
    let folder = RunFolder::of(&app.project.runs(), &id);
    let not_ours = || Refusal::Usage { why: "a run is begun by: fairway exec spawn".into() };
    let held = folder.handed_on().ok().flatten().ok_or_else(not_ours)?;
    let run = app.read(|tx| Ok(exec_runs::find(tx, &id)?))?.ok_or_else(not_ours)?;
    if run.status != RunStatus::Starting {
        return Err(not_ours().into());
    }
    let looked_after = look_after(app, &run, &folder);
    // Whatever became of it, who waits may go on.
    drop(held);
    let next = next::start_next(app);
    gc::now_and_then(app, run.seq);
    looked_after.and(next)
}

fn look_after(app: &App, run: &ExecRun, folder: &RunFolder) -> Result<()> {
    let output = OutputStore::open_for_writing(&app.project.output())?;
    let mut keeper = Keeper { app, run, folder, output, is_end_told: false, is_owing: false };
    let start = folder.start().context("what the run is started with cannot be read")?;
    let Some(Start { cwd, argv, env }) = start else {
        let why = "what it is to be started with is gone".to_owned();
        let ending = Ending { status: RunStatus::Failed, exit_code: None, signal: None, error_message: Some(why) };
        end::outside(app, run, &ending)?;
        return Ok(());
    };
    let stdin = folder.stdin().context("what the program is to read cannot be read")?;
    let mark = format!("{}={}", vars::FAIRWAY_EXEC_RUN, run.id);
    let mut env: BTreeMap<OsString, OsString> = env.into_iter().collect();
    env.insert(vars::FAIRWAY_EXEC_RUN.into(), run.id.to_string().into());
    let watching = Watching::new(&keeper.output.watchers(&run.id)?)?;
    let most = u64::try_from(run.max_output_bytes).unwrap_or_default();
    let recorder = Recorder::new(folder.clone(), most, keeper.output.totals(&run.id)?);
    let order = Order {
        folder,
        argv: &argv,
        env: &env,
        mark: &mark,
        cwd: &cwd,
        stdin,
        pty: run.pty,
        timeout: run.timeout_ms.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis),
        key: &|suffix| steer::key(&run.id, suffix),
    };
    supervisor::supervise(order, recorder, watching, &mut keeper).map_err(failure::internal)?;
    // It holds the run's environment.
    let _ = folder.forget_start();
    // What is not told now stays owed, and is told by whoever comes next.
    let _ = steer::deliver(app, &keeper.output, run);
    Ok(())
}

/// Writes into the stores what a supervisor tells.
struct Keeper<'a> {
    app: &'a App,
    run: &'a ExecRun,
    /// Where those who wait for the run are woken.
    folder: &'a RunFolder,
    output: OutputStore,
    /// The item of the end is written; the state may not be.
    is_end_told: bool,
    /// A message is owed, and could not be handed over.
    is_owing: bool,
}

fn refused(error: impl Into<anyhow::Error>) -> SinkError {
    SinkError::Store(format!("{:#}", error.into()))
}

impl Sink for Keeper<'_> {
    fn running(&mut self, process: &ProcessKey) -> Result<(), SinkError> {
        let started = i64::try_from(process.started).map_err(refused)?;
        let own = begin::ourselves().map_err(refused)?;
        let written = self.app.write(|tx| {
            if !exec_runs::running(tx, &self.run.id, (i64::from(process.pid), started), own)? {
                return Ok(false);
            }
            tx.record(&note::event(Kind::ExecStarted, self.run).with("pid", i64::from(process.pid)))?;
            Ok(true)
        });
        self.folder.wake();
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(SinkError::NotOurs),
            Err(error) => Err(refused(error)),
        }
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.output.apply(&self.run.id, batch, self.app.env.now()).map_err(refused)?;
        self.folder.wake();
        self.is_owing |= batch.items.iter().any(|item| matches!(item, NewItem::Event { owes: Some(_), .. }));
        if self.is_owing {
            // When it fails it is tried again with the next batch, and at the end.
            self.is_owing = steer::deliver(self.app, &self.output, self.run).is_err();
        }
        Ok(())
    }

    fn ended(&mut self, ending: &Ending, output_bytes: i64, truncated: bool) -> Result<(), SinkError> {
        if !self.is_end_told {
            let (payload, meta, owes) = steer::end_event(self.run, ending);
            let now = self.app.env.now();
            // A full disk ends the keeping of output, not the run.
            self.is_end_told = self.output.append_event(&self.run.id, &payload, &meta, owes.as_deref(), now).is_ok();
        }
        let written = self.app.write(|tx| end::settled(tx, self.run, ending, output_bytes, truncated));
        self.folder.wake();
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(SinkError::NotOurs),
            Err(error) => Err(refused(error)),
        }
    }
}
