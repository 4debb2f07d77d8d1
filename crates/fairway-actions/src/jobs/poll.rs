//! The state of one job, with new output.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::find;
use super::output::{JobReader, page, snippet};
use super::output_decoder::Decoder;
use super::supervision::{self, is_supervised};
use super::wait::{self, JobWaiter};
use crate::App;
use fairway_core::domain::job::Job;
use fairway_core::supervisor::JobDir;
use fairway_core::wire::exec_request::Until;
use fairway_core::wire::{JobItemView, JobPollView};

/// Maximum number of items in an answer; after this much text none is added.
const MAX_ITEMS: usize = 256;
const TEXT_LIMIT_BYTES: usize = 256 << 10;

#[derive(Debug, Clone)]
pub struct PollRequest {
    pub job: String,
    /// Only items with a higher sequence number are returned.
    pub since_seq: i64,
    pub wait: Option<Duration>,
    /// The condition that ends the wait; by default any item or the end.
    pub until: Option<Until>,
}

/// The state of a job with its items after `since_seq`. With `wait` it returns when there is an item of the kind that the
/// request waits for, when the job has ended or has no supervisor, or when the time is over.
///
/// # Errors
/// `not_found`, `ambiguous`; errors of the stores or the job's directory.
pub fn poll(app: &App, request: &PollRequest) -> Result<JobPollView> {
    let mut reader = JobReader::new();
    let mut job = app.read(|tx| find::of_actor(app, tx, &request.job))?;
    if let Some(wait) = request.wait.filter(|_| !job.status.is_final()) {
        let until = Instant::now() + wait;
        let mut waiting = JobWaiter::new(app, &job)?;
        let id = job.id.to_string();
        loop {
            waiting.drain()?;
            job = app.read(|tx| find::job(tx, &id))?;
            if is_satisfied(app, &job, request, &mut reader)? {
                // Its start may have been recorded between the two reads, with the output that was waited for.
                job = app.read(|tx| find::job(tx, &id))?;
                break;
            }
            waiting.track_supervisor(&job);
            if !wait::wait_any([&waiting], Some(until)) {
                break;
            }
        }
    }
    view(app, &job, request.since_seq, &mut reader)
}

/// Whether the awaited item is there, or the job has ended or lost its supervisor.
fn is_satisfied(app: &App, job: &Job, request: &PollRequest, reader: &mut JobReader) -> Result<bool> {
    if job.status.is_final() || !is_supervised(app, job) {
        return Ok(true);
    }
    let Some(output) = reader.output(app)? else { return Ok(false) };
    let newer = |events| output.newest_after(&job.id, request.since_seq, events);
    Ok(match request.until {
        Some(Until::Exit) => false,
        Some(Until::Output) => newer(false)?.is_some(),
        Some(Until::Event) => newer(true)?.is_some(),
        None => !output.items(&job.id, request.since_seq, 1, None)?.0.is_empty(),
    })
}

pub fn view(app: &App, job: &Job, since_seq: i64, reader: &mut JobReader) -> Result<JobPollView> {
    let job_view = reader.view(app, job);
    let other = supervision::other_host_of(app, job)?;
    let log_command = other.as_ref().map(|host| host.command(&["exec", "log", &job_view.run_id]));
    let output_host = other.map(|host| host.name);
    let Some(output) = reader.output(app)? else {
        return Ok(JobPollView {
            run: job_view,
            since_seq,
            next_seq: since_seq,
            snippet: String::new(),
            items: Vec::new(),
            output_host,
            log_command,
        });
    };
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    let page = page(output, &decoder, job, since_seq, MAX_ITEMS, TEXT_LIMIT_BYTES, None)?;
    Ok(JobPollView {
        run: job_view,
        since_seq,
        next_seq: page.next_seq,
        snippet: snippet(output, &decoder, job)?,
        items: page.items.iter().map(JobItemView::from).collect(),
        output_host,
        log_command,
    })
}
