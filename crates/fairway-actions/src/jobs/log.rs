//! Reads and follows the output of a job.

use std::ops::ControlFlow;

use anyhow::Result;

use super::find;
use super::output::{JobReader, Page, page};
use super::output_decoder::{DecodedItem, Decoder};
use super::supervision::{self, is_supervised};
use super::wait::{self, JobWaiter};
use crate::App;
use fairway_core::domain::Refusal;
use fairway_core::domain::job::{ItemType, Job};
use fairway_core::supervisor::JobDir;
use fairway_core::wire::{JobItemView, JobLogView};

/// Default and maximum number of items in an answer.
const DEFAULT_ITEMS: usize = 256;
const MAX_ITEMS: usize = 500;
/// No more items are added to an answer after this much text.
const TEXT_LIMIT_BYTES: usize = 1 << 20;

#[derive(Debug, Clone)]
pub struct LogRequest {
    pub job: String,
    /// Only items with a higher sequence number are returned.
    pub since_seq: i64,
    pub limit: Option<usize>,
    pub stream: Option<ItemType>,
}

/// Returns a page of the items of a job's output after `since_seq`, of one type if the request names one.
///
/// # Errors
/// `invalid_value` for a limit out of range, `not_found`, `ambiguous`; `run_unsupervised` for a job of another host; errors of
/// the stores or the job's directory.
pub fn log(app: &App, request: &LogRequest) -> Result<JobLogView> {
    let limit = request.limit.unwrap_or(DEFAULT_ITEMS);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(Refusal::invalid("limit", format!("must be between 1 and {MAX_ITEMS}")).into());
    }
    let job = app.read(|tx| find::of_actor(app, tx, &request.job))?;
    supervision::refuse_elsewhere(app, &job, &["exec", "log"])?;
    let page = read_page(app, &mut JobReader::new(), &job, request.since_seq, limit, request.stream)?;
    Ok(JobLogView {
        run_id: job.id.to_string(),
        next_seq: page.next_seq,
        items: page.items.iter().map(JobItemView::from).collect(),
        has_more: page.has_more,
    })
}

fn read_page(
    app: &App,
    reader: &mut JobReader,
    job: &Job,
    since_seq: i64,
    limit: usize,
    stream: Option<ItemType>,
) -> Result<Page> {
    let Some(output) = reader.output(app)? else {
        return Ok(Page { items: Vec::new(), next_seq: since_seq, has_more: false });
    };
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    page(output, &decoder, job, since_seq, limit, TEXT_LIMIT_BYTES, stream)
}

/// Passes every item after `since_seq` to `on_item`, with secrets not yet masked. With `follow` it goes on until the job has
/// ended or has no supervisor. Stops early when `on_item` breaks. Returns the job as last read.
///
/// `on_pause` is called whenever there are no more items for now.
///
/// # Errors
/// `not_found`, `ambiguous`; `run_unsupervised` for a job of another host; errors of the stores, the job's directory or the
/// callbacks.
pub fn each(
    app: &App,
    request: &LogRequest,
    follow: bool,
    mut on_item: impl FnMut(DecodedItem) -> Result<ControlFlow<()>>,
    mut on_pause: impl FnMut() -> Result<()>,
) -> Result<Job> {
    let mut reader = JobReader::new();
    let mut job = app.read(|tx| find::of_actor(app, tx, &request.job))?;
    supervision::refuse_elsewhere(app, &job, &["exec", "log"])?;
    let id = job.id.to_string();
    let mut waiting = if follow && !job.status.is_final() { Some(JobWaiter::new(app, &job)?) } else { None };
    let mut since = request.since_seq;
    loop {
        if let Some(waiting) = &waiting {
            waiting.drain()?;
        }
        // The status first: if the job has ended by then, all of its output is there.
        job = app.read(|tx| find::job(tx, &id))?;
        let is_over = job.status.is_final() || !is_supervised(app, &job);
        loop {
            let page = read_page(app, &mut reader, &job, since, MAX_ITEMS, request.stream)?;
            since = page.next_seq;
            for item in page.items {
                if on_item(item)?.is_break() {
                    return Ok(job);
                }
            }
            if !page.has_more {
                break;
            }
        }
        on_pause()?;
        let Some(waiting) = waiting.as_mut().filter(|_| !is_over) else { return Ok(job) };
        waiting.track_supervisor(&job);
        let _ = wait::wait_any([&*waiting], None);
    }
}
