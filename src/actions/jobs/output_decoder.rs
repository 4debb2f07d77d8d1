//! Decodes output segments to text. A character whose bytes are split over two items is decoded with the second one.

use std::str;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    domain::{
        job::{ItemType, JobId},
        job_output::{Content, Item},
        secrets::mask,
    },
    env::Timestamp,
    store::job_output::OutputStore,
    supervisor::{JobDir, output_files},
    wire::JobItemView,
};

/// The most bytes of a UTF-8 character before its last one.
const MAX_PREFIX_BYTES: i64 = 3;

/// An item as text, with secrets not yet masked.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedItem {
    /// Its sequence number.
    pub seq: i64,
    pub kind: ItemType,
    pub text: String,
    /// Details of an event.
    pub meta: Value,
    /// When it was written.
    pub created_at: Timestamp,
}

impl From<&DecodedItem> for JobItemView {
    fn from(piece: &DecodedItem) -> Self {
        Self {
            seq: piece.seq,
            kind: piece.kind.as_str(),
            payload: mask(&piece.text),
            meta: piece.meta.clone(),
            created_at: piece.created_at.to_string(),
        }
    }
}

/// Decodes the output of one job.
#[derive(Debug)]
pub struct Decoder<'a> {
    output: &'a OutputStore,
    job: &'a JobId,
    dir: JobDir,
    /// Whether the job will write no more output.
    is_complete: bool,
}

/// The bytes of an output item, and their position in the stream.
struct ByteRange {
    stream: ItemType,
    segment: i64,
    start: i64,
    length: i64,
    origin: i64,
}

impl ByteRange {
    const fn of(item: &Item) -> Option<Self> {
        match item.content {
            Content::Output { segment, start, length, origin } => {
                Some(Self { stream: item.kind, segment, start, length, origin })
            }
            Content::Event { .. } => None,
        }
    }

    const fn end(&self) -> i64 {
        self.origin.saturating_add(self.length)
    }
}

/// The approximate text length of an item, in bytes.
pub(super) fn item_len(item: &Item) -> usize {
    match &item.content {
        Content::Output { length, .. } => usize::try_from(*length).unwrap_or(0),
        Content::Event { payload, meta } => payload.len() + meta.len(),
    }
}

/// The incomplete character at the end of a stream's last item.
struct Tail {
    end: i64,
    bytes: Vec<u8>,
}

impl<'a> Decoder<'a> {
    /// Decodes the output in the directory of `job`; `is_complete` says that there will be no more.
    pub const fn new(output: &'a OutputStore, job: &'a JobId, directory: JobDir, is_over: bool) -> Self {
        Self { output, job, dir: directory, is_complete: is_over }
    }

    /// The items as text, in order. An item whose bytes were dropped meanwhile is left out.
    pub fn decode(&self, items: &[Item]) -> Result<Vec<DecodedItem>> {
        let mut pieces = Vec::new();
        let mut last: [Option<Tail>; 2] = [None, None];
        for (place, item) in items.iter().enumerate() {
            let (text, meta) = match &item.content {
                Content::Event { payload, meta } => {
                    (payload.clone(), serde_json::from_str(meta).unwrap_or(Value::Null))
                }
                Content::Output { .. } => {
                    let Some(span) = ByteRange::of(item) else { continue };
                    let Some(bytes) = self.bytes(&span, span.start, span.length)? else { continue };
                    let last = &mut last[usize::from(item.kind == ItemType::Stderr)];
                    let prefix = self.incomplete_prefix(item.seq, &span, last.take())?;
                    let whole = [prefix, bytes].concat();
                    let mut held = incomplete_len(&whole);
                    if held > 0 && !self.continues(item.seq, &span, items.get(place + 1..).unwrap_or_default())? {
                        held = 0;
                    }
                    let (complete, rest) = whole.split_at(whole.len().saturating_sub(held));
                    let text = String::from_utf8_lossy(complete).into_owned();
                    *last = Some(Tail { end: span.end(), bytes: rest.to_vec() });
                    (text, Value::Null)
                }
            };
            pieces.push(DecodedItem { seq: item.seq, kind: item.kind, text, meta, created_at: item.created_at });
        }
        Ok(pieces)
    }

    fn bytes(&self, span: &ByteRange, start: i64, length: i64) -> Result<Option<Vec<u8>>> {
        let (start, length) = (u64::try_from(start).unwrap_or(0), usize::try_from(length).unwrap_or(0));
        output_files::read(&self.dir, span.stream, span.segment, start, length)
            .with_context(|| format!("cannot read the output of {}", self.job))
    }

    /// The bytes of an incomplete character right before `span`.
    fn incomplete_prefix(&self, seq: i64, span: &ByteRange, last: Option<Tail>) -> Result<Vec<u8>> {
        match last {
            Some(last) if last.end == span.origin => return Ok(last.bytes),
            _ if span.origin == 0 => return Ok(Vec::new()),
            _ => {}
        }
        let mut before = Vec::new();
        // The preceding bytes of the same segment are the preceding output.
        let here = span.start.min(MAX_PREFIX_BYTES);
        if here > 0 {
            before = self.bytes(span, span.start - here, here)?.unwrap_or_default();
        }
        let mut first = span.origin - here;
        let mut origin = span.origin;
        let missing = MAX_PREFIX_BYTES - here;
        let earlier = if missing > 0 {
            self.output.before_in_stream(self.job, span.stream, seq, MAX_PREFIX_BYTES * 2)?
        } else {
            Vec::new()
        };
        for item in earlier {
            let Some(earlier) = ByteRange::of(&item).filter(|earlier| earlier.end() == origin) else { break };
            origin = earlier.origin;
            // Some of these bytes may be in `before` already, from the same segment.
            let end = earlier.end().min(first);
            let from = earlier.origin.max(span.origin - MAX_PREFIX_BYTES);
            if from < end {
                let Some(bytes) = self.bytes(&earlier, earlier.start + (from - earlier.origin), end - from)? else {
                    break;
                };
                before = [bytes, before].concat();
                first = from;
            }
            if first <= span.origin - MAX_PREFIX_BYTES {
                break;
            }
        }
        let length = incomplete_len(&before);
        Ok(before.split_off(before.len() - length))
    }

    /// Whether the same stream continues, or may continue, where this item ends.
    fn continues(&self, seq: i64, span: &ByteRange, behind: &[Item]) -> Result<bool> {
        if let Some(next) = behind.iter().find(|item| item.kind == span.stream) {
            return Ok(ByteRange::of(next).is_some_and(|next| next.origin == span.end()));
        }
        let (found, _) = self.output.items(self.job, seq, 1, Some(span.stream))?;
        Ok(match found.first().and_then(ByteRange::of) {
            Some(next) => next.origin == span.end(),
            None => !self.is_complete,
        })
    }
}

/// The length of the incomplete character at the end of `bytes`.
fn incomplete_len(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|length| {
            let end = bytes.get(bytes.len() - length..).unwrap_or_default();
            // The lead byte of a multi-byte character, valid so far.
            end.first().is_some_and(|byte| *byte >= 0xC0)
                && str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
