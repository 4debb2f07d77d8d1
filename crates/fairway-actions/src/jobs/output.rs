//! Output of jobs: its size, pages of it, and its end.

use anyhow::Result;

use super::output_decoder::{DecodedItem, Decoder, item_len};
use super::supervision::is_supervised;
use crate::App;
use fairway_core::domain::ansi;
use fairway_core::domain::job::{ItemType, Job, JobStatus};
use fairway_core::domain::secrets::mask;
use fairway_core::store::StoreError;
use fairway_core::store::job_output::OutputStore;
use fairway_core::supervisor::JobDir;
use fairway_core::wire::JobView;

const MAX_SNIPPET_CHARS: usize = 2_000;
/// How much output is read for the snippet. It is more than the snippet shows, so that a secret that begins before it is still
/// masked.
const SNIPPET_SCAN_BYTES: i64 = 12 << 10;
const SNIPPET_SCAN_ITEMS: [i64; 2] = [16, 4_096];
/// Maximum reads of one page, if output is dropped between reading the rows and the bytes.
const MAX_ROUNDS: usize = 10;

pub(super) struct Page {
    pub items: Vec<DecodedItem>,
    /// The last sequence number that was read.
    pub next_seq: i64,
    pub has_more: bool,
}

/// At most `limit` items after `since_seq`. The page ends early with the item that brings its text to `text_limit` bytes.
pub(super) fn page(
    output: &OutputStore,
    decoder: &Decoder<'_>,
    job: &Job,
    since_seq: i64,
    limit: usize,
    text_limit: usize,
    stream: Option<ItemType>,
) -> Result<Page> {
    let mut rounds = 0;
    loop {
        let (mut items, mut has_more) = output.items(&job.id, since_seq, limit, stream)?;
        let mut text = 0_usize;
        let whole = items.iter().take_while(|item| {
            let fits = text < text_limit;
            text = text.saturating_add(item_len(item));
            fits
        });
        let whole = whole.count();
        has_more |= whole < items.len();
        items.truncate(whole);
        let pieces = decoder.decode(&items)?;
        rounds += 1;
        // Output dropped since the rows were read is a gap item by now: read again. Files deleted by hand stay missing.
        if pieces.len() == items.len() || rounds >= MAX_ROUNDS {
            let next_seq = items.last().map_or(since_seq, |item| item.seq);
            return Ok(Page { items: pieces, next_seq, has_more });
        }
    }
}

pub(super) fn snippet(output: &OutputStore, decoder: &Decoder<'_>, job: &Job) -> Result<String> {
    let mut newest = Vec::new();
    for most in SNIPPET_SCAN_ITEMS {
        newest = output.newest_before(&job.id, i64::MAX, most)?;
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
    let text: String = decoder.decode(&newest)?.into_iter().map(|item| item.text).collect();
    let text = mask(&text);
    let from = text.char_indices().rev().nth(MAX_SNIPPET_CHARS - 1).map_or(0, |(at, _)| at);
    Ok(text.get(from..).unwrap_or_default().to_owned())
}

#[derive(Debug, Default)]
pub struct JobReader {
    output: Option<OutputStore>,
}

impl JobReader {
    pub const fn new() -> Self {
        Self { output: None }
    }

    /// Returns the output store, and `None` while the project has none. A later call looks again.
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

    pub fn view(&mut self, app: &App, job: &Job) -> JobView {
        let (bytes, truncated) = self.output_size(app, job);
        JobView::new(job, is_supervised(app, job), bytes, truncated)
    }
}

pub fn view(app: &App, job: &Job) -> JobView {
    JobReader::new().view(app, job)
}

/// The last line of a job's output that is not empty, without control sequences and with secrets masked. Returns `None` when
/// there is none or the output cannot be read: a damaged output store hides no job.
pub(crate) fn last_line(app: &App, reader: &mut JobReader, job: &Job) -> Option<String> {
    let output = reader.output(app).ok().flatten()?;
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let decoder = Decoder::new(output, &job.id, dir, job.status.is_final());
    let text = snippet(output, &decoder, job).ok()?;
    let text = ansi::visible_text(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
