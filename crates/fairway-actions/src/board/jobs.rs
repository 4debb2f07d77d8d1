//! Background jobs: those that run, and those that failed lately.

use super::facts::{Facts, ShownFailure};
use super::need::Need;
use crate::App;
use crate::jobs::output::{JobReader, last_line};
use fairway_core::domain::SessionId;
use fairway_core::domain::job::Job;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::secrets::mask;
use fairway_core::wire::{BoardJobView, BoardJobsView, short_job_id};

const MAX_ACTIVE: usize = 20;
const MAX_COMMAND_CHARS: usize = 60;

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
        status: job.status,
        since: job.started_at.unwrap_or(job.queued_at).to_string(),
        exit_code: None,
        last_line: last_line(app, reader, job),
    }
}

/// One item for each job that failed lately, until the job is removed or a later job with its command succeeds.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    facts.failed_jobs.iter().filter(|failure| !failure.is_mended).map(|failure| item(facts, failure)).collect()
}

fn item(facts: &Facts, failure: &ShownFailure) -> Need {
    let (job, id) = (&failure.job, failure.job.id.to_string());
    let code = job.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    let last = why(failure).map(|line| format!(": {line}")).unwrap_or_default();
    let command = mask(&job.command);
    let cut = if command.chars().count() > MAX_COMMAND_CHARS { "…" } else { "" };
    let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let line = format!("{command}{cut} {}{code}{last}", job.status);
    let evidence = format!("job {}, the last line of its output", short_job_id(&id));
    let need = Need::new(NeedKind::Job, &id, Some(job.finished_at), line, evidence);
    let session = job.session.as_deref().and_then(|id| facts.session(&SessionId::parse(id).ok()?));
    let need = session.into_iter().fold(need, Need::session);
    need.then("see its output", format!("fairway exec log {id}")).then("dismiss it", format!("fairway exec rm {id}"))
}

/// The last line of a job's output, else its error.
fn why(failure: &ShownFailure) -> Option<String> {
    failure.last_line.clone().or_else(|| failure.job.error_message.as_deref().map(mask))
}

fn failed_view(failure: &ShownFailure) -> BoardJobView {
    let job = &failure.job;
    BoardJobView {
        run_id: job.id.to_string(),
        session_id: job.session.clone(),
        command: mask(&job.command),
        status: job.status,
        since: job.finished_at.to_string(),
        exit_code: job.exit_code,
        last_line: why(failure),
    }
}
