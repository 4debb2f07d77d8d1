//! Background jobs: what runs, and what failed lately.

use super::facts::Facts;
use crate::{
    actions::{
        App,
        jobs::{last_line::last_line, view::JobReader},
    },
    domain::{job::Job, secrets::mask},
    store::overview::FailedJob,
    wire::{BoardJobView, BoardJobsView},
};

/// So many active jobs are shown with the last line of their output.
const MAX_ACTIVE: usize = 20;

pub(super) fn jobs(app: &App, facts: &Facts) -> BoardJobsView {
    let mut reader = JobReader::new();
    let active = &facts.active_jobs;
    let newest = active.get(active.len().saturating_sub(MAX_ACTIVE)..).unwrap_or_default();
    BoardJobsView {
        active: newest.iter().map(|job| active_view(app, &mut reader, job)).collect(),
        active_count: active.len(),
        failed: facts.failed_jobs.iter().map(failed_view).collect(),
    }
}

fn active_view(app: &App, reader: &mut JobReader, job: &Job) -> BoardJobView {
    BoardJobView {
        run_id: job.id.to_string(),
        session_id: job.session.as_ref().map(ToString::to_string),
        command: mask(&job.command),
        status: job.status.as_str(),
        since: job.started_at.unwrap_or(job.queued_at).to_string(),
        exit_code: None,
        last_line: last_line(app, reader, job),
    }
}

fn failed_view(job: &FailedJob) -> BoardJobView {
    BoardJobView {
        run_id: job.id.to_string(),
        session_id: job.session.clone(),
        command: mask(&job.command),
        status: job.status.as_str(),
        since: job.finished_at.to_string(),
        exit_code: job.exit_code,
        last_line: job.error_message.as_deref().map(mask),
    }
}
