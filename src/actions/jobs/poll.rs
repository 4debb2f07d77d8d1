//! Looking at one run: how it stands, and what it has printed since.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    find,
    job_waiter::{self, Waiting},
    output_decoder::{Decoder, Piece, length},
    view::{Looker, is_supervised},
};
use crate::{
    actions::App,
    domain::{
        run::{ExecRun, ItemType},
        secrets::masked,
    },
    store::output::OutputStore,
    supervisor::RunFolder,
    wire::{PolledView, RunItemView, call::Until},
};

/// How many items an answer has at most, and after how much text no more are added.
const MOST_ITEMS: usize = 256;
const MUCH_TEXT: usize = 256 << 10;
/// The length of the snippet in characters.
const SNIPPET: usize = 2_000;
/// How much is looked at for it, in bytes and items: a secret that begins before it is still seen.
const BEFORE_SNIPPET: i64 = 12 << 10;
const SNIPPET_ITEMS: [i64; 2] = [16, 4_096];
/// How often to look again when what the rows speak of was left out meanwhile.
const LOOKS: usize = 10;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Order {
    /// The run, as somebody typed it.
    pub run: String,
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
/// `not_found`, `ambiguous`; as the stores or the run's folder fail.
pub fn poll(app: &App, order: &Order) -> Result<PolledView> {
    let mut looker = Looker::new();
    let mut run = app.read(|tx| find::run(tx, &order.run))?;
    if let Some(wait) = order.wait.filter(|_| !run.status.is_final()) {
        let until = Instant::now() + wait;
        let mut waiting = Waiting::on(app, &run)?;
        let id = run.id.to_string();
        loop {
            waiting.calm()?;
            run = app.read(|tx| find::run(tx, &id))?;
            if is_there(app, &run, order, &mut looker)? {
                break;
            }
            waiting.follow(&run);
            if !job_waiter::sleep([&waiting], Some(until)) {
                break;
            }
        }
    }
    view(app, &run, order.since_seq, &mut looker)
}

/// Whether what is waited for is there.
fn is_there(app: &App, run: &ExecRun, order: &Order, looker: &mut Looker) -> Result<bool> {
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
/// As the store of output or the run's folder fails.
pub fn view(app: &App, run: &ExecRun, since_seq: i64, looker: &mut Looker) -> Result<PolledView> {
    let shown = looker.view(app, run);
    let Some(output) = looker.output(app)? else {
        return Ok(PolledView {
            run: shown,
            since_seq,
            next_seq: since_seq,
            snippet: String::new(),
            items: Vec::new(),
        });
    };
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    let decoder = Decoder::new(output, &run.id, folder, run.status.is_final());
    let page = page(output, &decoder, run, since_seq, MOST_ITEMS, MUCH_TEXT, None)?;
    Ok(PolledView {
        run: shown,
        since_seq,
        next_seq: page.next_seq,
        snippet: snippet(output, &decoder, run)?,
        items: page.pieces.iter().map(RunItemView::from).collect(),
    })
}

/// Some items.
pub(super) struct Page {
    pub pieces: Vec<Piece>,
    /// The last place that was looked at.
    pub next_seq: i64,
    pub has_more: bool,
}

/// At most `limit` items after `since_seq`. No more are added when there is `much` text.
pub(super) fn page(
    output: &OutputStore,
    decoder: &Decoder<'_>,
    run: &ExecRun,
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
            text = text.saturating_add(length(item));
            fits
        });
        let whole = whole.count();
        has_more |= whole < items.len();
        items.truncate(whole);
        let pieces = decoder.pieces(&items)?;
        looks += 1;
        // What was left out since the rows were read is a gap by now: look again. What was removed by hand stays away.
        if pieces.len() == items.len() || looks >= LOOKS {
            let next_seq = items.last().map_or(since_seq, |item| item.seq);
            return Ok(Page { pieces, next_seq, has_more });
        }
    }
}

/// The end of what a run has printed.
pub(super) fn snippet(output: &OutputStore, decoder: &Decoder<'_>, run: &ExecRun) -> Result<String> {
    let mut newest = Vec::new();
    for most in SNIPPET_ITEMS {
        newest = output.newest(&run.id, i64::MAX, most)?;
        let bytes: usize = newest.iter().map(length).sum();
        if i64::try_from(bytes).unwrap_or(i64::MAX) >= BEFORE_SNIPPET
            || newest.len() < usize::try_from(most).unwrap_or(0)
        {
            break;
        }
    }
    let mut bytes = 0;
    let enough = newest.iter().take_while(|item| {
        let more = bytes < BEFORE_SNIPPET;
        bytes += i64::try_from(length(item)).unwrap_or(0);
        more
    });
    let enough = enough.count();
    newest.truncate(enough);
    newest.reverse();
    let text: String = decoder.pieces(&newest)?.into_iter().map(|piece| piece.text).collect();
    let text = masked(&text);
    let from = text.char_indices().rev().nth(SNIPPET - 1).map_or(0, |(at, _)| at);
    Ok(text.get(from..).unwrap_or_default().to_owned())
}
