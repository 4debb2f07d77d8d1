//! Looking at one run: how it stands, and what it has printed since.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    find,
    job_waiter::{self, JobWaiter},
    output_decoder::{DecodedItem, Decoder, item_len},
    view::{JobReader, is_supervised},
};
use crate::{
    actions::App,
    domain::{
        job::{ItemType, Job},
        secrets::mask,
    },
    store::job_output::OutputStore,
    supervisor::JobDir,
    wire::{JobItemView, JobPollView, exec_request::Until},
};

/// How many items an answer has at most, and after how much text no more are added.
const MAX_ITEMS: usize = 256;
const TEXT_LIMIT_BYTES: usize = 256 << 10;
/// The length of the snippet in characters.
const MAX_SNIPPET_CHARS: usize = 2_000;
/// How much is looked at for it, in bytes and items: a secret that begins before it is still seen.
const SNIPPET_SCAN_BYTES: i64 = 12 << 10;
const SNIPPET_SCAN_ITEMS: [i64; 2] = [16, 4_096];
/// How often to look again when what the rows speak of was left out meanwhile.
const MAX_ROUNDS: usize = 10;

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
    let mut run = app.read(|tx| find::job(tx, &order.job))?;
    if let Some(wait) = order.wait.filter(|_| !run.status.is_final()) {
        let until = Instant::now() + wait;
        let mut waiting = JobWaiter::new(app, &run)?;
        let id = run.id.to_string();
        loop {
            waiting.drain()?;
            run = app.read(|tx| find::job(tx, &id))?;
            if is_satisfied(app, &run, order, &mut looker)? {
                break;
            }
            waiting.track_supervisor(&run);
            if !job_waiter::wait_any([&waiting], Some(until)) {
                break;
            }
        }
    }
    view(app, &run, order.since_seq, &mut looker)
}

/// Whether what is waited for is there.
fn is_satisfied(app: &App, run: &Job, order: &PollRequest, looker: &mut JobReader) -> Result<bool> {
    if run.status.is_final() || !is_supervised(app, run) {
        return Ok(true);
    }
    let Some(output) = looker.output(app)? else { return Ok(false) };
    let newer = |events| output.newest_after(&run.id, order.since_seq, events);
    Ok(match order.until {
        Some(Until::Exit) => false,
        Some(Until::Output) => newer(false)?.is_some(),
        Some(Until::Event) => newer(true)?.is_some(),
        None => !output.items(&run.id, order.since_seq, 1, None)?.0.is_empty(),
    })
}

/// How a run stands, with what came after `since_seq`.
///
/// # Errors
/// As the store of output or the run's directory fails.
pub fn view(app: &App, run: &Job, since_seq: i64, looker: &mut JobReader) -> Result<JobPollView> {
    let shown = looker.view(app, run);
    let Some(output) = looker.output(app)? else {
        return Ok(JobPollView {
            run: shown,
            since_seq,
            next_seq: since_seq,
            snippet: String::new(),
            items: Vec::new(),
        });
    };
    let dir = JobDir::of(&app.project.jobs_dir(), &run.id);
    let decoder = Decoder::new(output, &run.id, dir, run.status.is_final());
    let page = page(output, &decoder, run, since_seq, MAX_ITEMS, TEXT_LIMIT_BYTES, None)?;
    Ok(JobPollView {
        run: shown,
        since_seq,
        next_seq: page.next_seq,
        snippet: snippet(output, &decoder, run)?,
        items: page.items.iter().map(JobItemView::from).collect(),
    })
}

/// Some items.
pub(super) struct Page {
    pub items: Vec<DecodedItem>,
    /// The last place that was looked at.
    pub next_seq: i64,
    pub has_more: bool,
}

/// At most `limit` items after `since_seq`. No more are added when there is `much` text.
pub(super) fn page(
    output: &OutputStore,
    decoder: &Decoder<'_>,
    run: &Job,
    since_seq: i64,
    limit: usize,
    much: usize,
    stream: Option<ItemType>,
) -> Result<Page> {
    let mut looks = 0;
    loop {
        let (mut items, mut has_more) = output.items(&run.id, since_seq, limit, stream)?;
        let mut text = 0_usize;
        let whole = items.iter().take_while(|item| {
            let fits = text < much;
            text = text.saturating_add(item_len(item));
            fits
        });
        let whole = whole.count();
        has_more |= whole < items.len();
        items.truncate(whole);
        let pieces = decoder.decode(&items)?;
        looks += 1;
        // What was left out since the rows were read is a gap by now: look again. What was removed by hand stays away.
        if pieces.len() == items.len() || looks >= MAX_ROUNDS {
            let next_seq = items.last().map_or(since_seq, |item| item.seq);
            return Ok(Page { items: pieces, next_seq, has_more });
        }
    }
}

/// The end of what a run has printed.
pub(super) fn snippet(output: &OutputStore, decoder: &Decoder<'_>, run: &Job) -> Result<String> {
    let mut newest = Vec::new();
    for most in SNIPPET_SCAN_ITEMS {
        newest = output.newest_before(&run.id, i64::MAX, most)?;
        let bytes: usize = newest.iter().map(item_len).sum();
        if i64::try_from(bytes).unwrap_or(i64::MAX) >= SNIPPET_SCAN_BYTES
            || newest.len() < usize::try_from(most).unwrap_or(0)
        {
            break;
        }
    }
    let mut bytes = 0;
    let enough = newest.iter().take_while(|item| {
        let more = bytes < SNIPPET_SCAN_BYTES;
        bytes += i64::try_from(item_len(item)).unwrap_or(0);
        more
    });
    let enough = enough.count();
    newest.truncate(enough);
    newest.reverse();
    let text: String = decoder.decode(&newest)?.into_iter().map(|piece| piece.text).collect();
    let text = mask(&text);
    let from = text.char_indices().rev().nth(MAX_SNIPPET_CHARS - 1).map_or(0, |(at, _)| at);
    Ok(text.get(from..).unwrap_or_default().to_owned())
}
