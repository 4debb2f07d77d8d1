//! The view of a job.

use anyhow::Result;

use super::supervision::is_supervised;
use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    store::{StoreError, job_output::OutputStore},
    wire::JobView,
};

/// Builds views of jobs; opens the output store once, on first use.
#[derive(Debug, Default)]
pub struct JobReader {
    output: Option<OutputStore>,
}

impl JobReader {
    /// A reader with the output store not opened.
    pub const fn new() -> Self {
        Self { output: None }
    }

    /// The output store; `None` while it does not exist. A later call tries again.
    pub fn output(&mut self, app: &App) -> Result<Option<&OutputStore>, StoreError> {
        if self.output.is_none() {
            self.output = OutputStore::open_for_reading(&app.project.output_file())?;
        }
        Ok(self.output.as_ref())
    }

    /// The output size of a job in bytes, and whether output was dropped. If the output store cannot be read, the values of the
    /// job's row are used, so that a damaged output store hides no job.
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

    /// The view of a job.
    pub fn view(&mut self, app: &App, job: &Job) -> JobView {
        let (bytes, truncated) = self.output_size(app, job);
        JobView::new(job, is_supervised(app, job), bytes, truncated)
    }
}

/// The view of one job.
pub fn view(app: &App, job: &Job) -> JobView {
    JobReader::new().view(app, job)
}
