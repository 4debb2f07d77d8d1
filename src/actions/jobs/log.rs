//! Reading everything that a run has printed, and what it prints.

use std::ops::ControlFlow;

use anyhow::Result;

use super::{
    find,
    job_waiter::{self, JobWaiter},
    output::{Page, page},
    output_decoder::{DecodedItem, Decoder},
    supervision::is_supervised,
    view::JobReader,
};
use crate::{
    actions::App,
    domain::{
        Refusal,
        job::{ItemType, Job},
    },
    supervisor::JobDir,
    wire::{JobItemView, JobLogView},
};

/// How many items an answer has when nobody says, and at most.
const DEFAULT_ITEMS: usize = 256;
const MAX_ITEMS: usize = 500;
/// After how much text no more items are added to an answer, in bytes.
const TEXT_LIMIT_BYTES: usize = 1 << 20;

/// What is asked.
#[derive(Debug, Clone)]
pub struct LogRequest {
    /// The run, as somebody typed it.
    pub job: String,
    /// Exclusive.
    pub since_seq: i64,
    /// How many items at most.
    pub limit: Option<usize>,
    /// Only these.
    pub stream: Option<ItemType>,
}

/// The items after `since_seq`, of one type when it is named.
///
/// # Errors
/// `invalid_value` for a limit that cannot be meant, `not_found`, `ambiguous`; as the stores or the run's directory fail.
pub fn log(app: &App, order: &LogRequest) -> Result<JobLogView> {
    let limit = order.limit.unwrap_or(DEFAULT_ITEMS);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(Refusal::invalid("limit", format!("must be between 1 and {MAX_ITEMS}")).into());
    }
    let job = app.read(|tx| find::job(tx, &order.job))?;
    let page = read_page(app, &mut JobReader::new(), &job, order.since_seq, limit, order.stream)?;
    Ok(JobLogView {
        run_id: job.id.to_string(),
        next_seq: page.next_seq,
        items: page.items.iter().map(JobItemView::from).collect(),
        has_more: page.has_more,
    })
}

fn read_page(
    app: &App,
    looker: &mut JobReader,
    job: &Job,
    since_seq: i64,
    limit: usize,
    stream: Option<ItemType>,
) -> Result<Page> {
    let Some(output) = looker.output(app)? else {
        return Ok(Page { items: Vec::new(), next_seq: since_seq, has_more: false });
    };
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    page(output, &decoder, job, since_seq, limit, TEXT_LIMIT_BYTES, stream)
}

/// Hands over every item after `since_seq`, not masked yet, and with `follow` those that come until the run has ended, or
/// until nobody looks after it any more. Ends early when `see` breaks. Answers the run as it stood at last.
///
/// `pause` is called whenever there is nothing more for now.
///
/// # Errors
/// `not_found`, `ambiguous`; as the stores or the run's directory fail, or `see`.
pub fn each(
    app: &App,
    order: &LogRequest,
    follow: bool,
    mut see: impl FnMut(DecodedItem) -> Result<ControlFlow<()>>,
    mut pause: impl FnMut() -> Result<()>,
) -> Result<Job> {
    let mut looker = JobReader::new();
    let mut job = app.read(|tx| find::job(tx, &order.job))?;
    let id = job.id.to_string();
    let mut waiting = if follow && !job.status.is_final() { Some(JobWaiter::new(app, &job)?) } else { None };
    let mut since = order.since_seq;
    loop {
        if let Some(waiting) = &waiting {
            waiting.drain()?;
        }
        // Its state first: when it has ended by then, everything that it printed is there.
        job = app.read(|tx| find::job(tx, &id))?;
        let is_over = job.status.is_final() || !is_supervised(app, &job);
        loop {
            let page = read_page(app, &mut looker, &job, since, MAX_ITEMS, order.stream)?;
            since = page.next_seq;
            for piece in page.items {
                if see(piece)?.is_break() {
                    return Ok(job);
                }
            }
            if !page.has_more {
                break;
            }
        }
        pause()?;
        let Some(waiting) = waiting.as_mut().filter(|_| !is_over) else { return Ok(job) };
        waiting.track_supervisor(&job);
        let _ = job_waiter::wait_any([&*waiting], None);
    }
}
