//! The end of a run, as it is written down.

use anyhow::Result;

use super::{look::Looker, note};
use crate::{
    actions::App,
    domain::{
        Kind,
        run::{Ending, ExecRun},
    },
    runs::RunFolder,
    store::{WriteTx, exec_runs},
};

/// Writes the end of a run, with its event. `false` when it is final already; it then stays as it is.
///
/// # Errors
/// As the store fails.
pub fn settled(tx: &WriteTx<'_>, run: &ExecRun, ending: &Ending, output_bytes: i64, truncated: bool) -> Result<bool> {
    if !exec_runs::end(tx, &run.id, ending, output_bytes, truncated)? {
        return Ok(false);
    }
    tx.record(
        &note::event(Kind::ExecFinished, run)
            .with("status", ending.status.as_str())
            .with("exit_code", ending.exit_code)
            .with("signal", ending.signal)
            .with("error_message", ending.error_message.clone()),
    )?;
    Ok(true)
}

/// Writes the end of a run that has no supervisor: by whoever has its lock, or before it was begun.
///
/// # Errors
/// As the stores fail.
pub fn outside(app: &App, run: &ExecRun, ending: &Ending) -> Result<bool> {
    let (bytes, truncated) = Looker::new().printed(app, run);
    let done = app.write(|tx| settled(tx, run, ending, bytes, truncated))?;
    // What it was started with holds its environment: gone as soon as nobody needs it.
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    let _ = folder.forget_start();
    folder.wake();
    Ok(done)
}
