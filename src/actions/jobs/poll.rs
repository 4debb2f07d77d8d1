//! Looking at one run: how it stands, and what it has printed since.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    find,
    job_waiter::{self, JobWaiter},
    output::{page, snippet},
    output_decoder::Decoder,
    supervision::is_supervised,
    view::JobReader,
};
use crate::{
    actions::App,
    domain::job::Job,
    supervisor::JobDir,
    wire::{JobItemView, JobPollView, exec_request::Until},
};

/// How many items an answer has at most, and after how much text no more are added.
const MAX_ITEMS: usize = 256;
const TEXT_LIMIT_BYTES: usize = 256 << 10;

/// What is asked.
#[derive(Debug, Clone)]
pub struct PollRequest {
    /// The run, as somebody typed it.
    pub job: String,
    /// Exclusive.
    pub since_seq: i64,
    /// How long to wait for something new.
    pub wait: Option<Duration>,
    /// For what; by default for any item, and for the end.
    pub until: Option<Until>,
}

/// How a run stands and what came after `since_seq`; with `wait` not before what it waits for is there. It answers as well
/// when the run has ended, when nobody looks after it any more, and when the time is over.
///
/// # Errors
/// `not_found`, `ambiguous`; as the stores or the run's directory fail.
pub fn poll(app: &App, order: &PollRequest) -> Result<JobPollView> {
    let mut looker = JobReader::new();
    let mut job = app.read(|tx| find::job(tx, &order.job))?;
    if let Some(wait) = order.wait.filter(|_| !job.status.is_final()) {
        let until = Instant::now() + wait;
        let mut waiting = JobWaiter::new(app, &job)?;
        let id = job.id.to_string();
        loop {
            waiting.drain()?;
            job = app.read(|tx| find::job(tx, &id))?;
            if is_satisfied(app, &job, order, &mut looker)? {
                break;
            }
            waiting.track_supervisor(&job);
            if !job_waiter::wait_any([&waiting], Some(until)) {
                break;
            }
        }
    }
    view(app, &job, order.since_seq, &mut looker)
}

/// Whether what is waited for is there.
fn is_satisfied(app: &App, job: &Job, order: &PollRequest, looker: &mut JobReader) -> Result<bool> {
    if job.status.is_final() || !is_supervised(app, job) {
        return Ok(true);
    }
    let Some(output) = looker.output(app)? else { return Ok(false) };
    let newer = |events| output.newest_after(&job.id, order.since_seq, events);
    Ok(match order.until {
        Some(Until::Exit) => false,
        Some(Until::Output) => newer(false)?.is_some(),
        Some(Until::Event) => newer(true)?.is_some(),
        None => !output.items(&job.id, order.since_seq, 1, None)?.0.is_empty(),
    })
}

/// How a run stands, with what came after `since_seq`.
///
/// # Errors
/// As the store of output or the run's directory fails.
pub fn view(app: &App, job: &Job, since_seq: i64, looker: &mut JobReader) -> Result<JobPollView> {
    let shown = looker.view(app, job);
    let Some(output) = looker.output(app)? else {
        return Ok(JobPollView {
            run: shown,
            since_seq,
            next_seq: since_seq,
            snippet: String::new(),
            items: Vec::new(),
        });
    };
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    let page = page(output, &decoder, job, since_seq, MAX_ITEMS, TEXT_LIMIT_BYTES, None)?;
    Ok(JobPollView {
        run: shown,
        since_seq,
        next_seq: page.next_seq,
        snippet: snippet(output, &decoder, job)?,
        items: page.items.iter().map(JobItemView::from).collect(),
    })
}
