//! A run as it is shown.

use anyhow::Result;

use super::supervision::is_supervised;
use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    store::{StoreError, job_output::OutputStore},
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
    pub fn output_size(&mut self, app: &App, job: &Job) -> (i64, bool) {
        let never = job.status == JobStatus::Queued && job.attempt == 1;
        if never || job.status.is_final() {
            return (job.output_bytes, job.truncated);
        }
        let totals = self.output(app).ok().flatten().and_then(|output| output.totals(&job.id).ok());
        totals.map_or((job.output_bytes, job.truncated), |totals| {
            (totals.stdout_bytes.saturating_add(totals.stderr_bytes), totals.dropped_bytes > 0)
        })
    }

    /// A run as it stands.
    pub fn view(&mut self, app: &App, job: &Job) -> JobView {
        let (bytes, truncated) = self.output_size(app, job);
        JobView::new(job, is_supervised(app, job), bytes, truncated)
    }
}

/// A run as it stands.
#[must_use]
pub fn view(app: &App, job: &Job) -> JobView {
    JobReader::new().view(app, job)
}
