//! A run as it is shown.

use anyhow::Result;

use super::recover;
use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    os::host,
    store::{StoreError, job_output::OutputStore, jobs},
    supervisor::JobDir,
    wire::JobView,
};

/// Looks at runs: opens what they printed once, when that is needed.
#[derive(Debug, Default)]
pub struct JobReader {
    output: Option<OutputStore>,
}

impl JobReader {
    /// Has opened nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { output: None }
    }

    /// What runs printed; `None` when none has ever printed anything. Asked again, it looks again.
    ///
    /// # Errors
    /// As the store of output fails.
    pub fn output(&mut self, app: &App) -> Result<Option<&OutputStore>, StoreError> {
        if self.output.is_none() {
            self.output = OutputStore::open_for_reading(&app.project.output_file())?;
        }
        Ok(self.output.as_ref())
    }

    /// How much a run has printed so far, in bytes, and whether something of it was left out. What cannot be told is as the
    /// run's row has it: a damaged file of output hides no run.
    pub fn output_size(&mut self, app: &App, run: &Job) -> (i64, bool) {
        let never = run.status == JobStatus::Queued && run.attempt == 1;
        if never || run.status.is_final() {
            return (run.output_bytes, run.truncated);
        }
        let totals = self.output(app).ok().flatten().and_then(|output| output.totals(&run.id).ok());
        totals.map_or((run.output_bytes, run.truncated), |totals| {
            (totals.stdout_bytes.saturating_add(totals.stderr_bytes), totals.dropped_bytes > 0)
        })
    }

    /// A run as it stands.
    pub fn view(&mut self, app: &App, run: &Job) -> JobView {
        let (bytes, truncated) = self.output_size(app, run);
        JobView::new(run, is_supervised(app, run), bytes, truncated)
    }
}

/// A run as it stands.
#[must_use]
pub fn view(app: &App, run: &Job) -> JobView {
    JobReader::new().view(app, run)
}

/// Whether somebody looks after a run, or nobody has to. What cannot be told counts as looked after.
#[must_use]
pub fn is_supervised(app: &App, run: &Job) -> bool {
    // Another host's locks cannot be seen from here.
    if !run.status.is_active() || run.host != host::identity() {
        return true;
    }
    if JobDir::of(&app.project.jobs_dir(), &run.id).is_locked().unwrap_or(true) || recover::supervisor_alive(run) {
        return true;
    }
    // It may have ended since its row was read: whoever looks after it writes that first.
    let now = app.read(|tx| Ok(jobs::find(tx, &run.id)?));
    !now.is_ok_and(|now| now.is_some_and(|now| now.status.is_active() && now.attempt == run.attempt))
}
