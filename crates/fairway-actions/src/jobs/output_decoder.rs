//! Decodes output segments to text. A character whose bytes are split over two items is decoded with the second one.

use std::str;

use anyhow::{Context as _, Result};
use serde_json::Value;

use fairway_core::domain::job::{ItemType, JobId};
use fairway_core::domain::job_output::{Content, Item};
use fairway_core::domain::secrets::mask;
use fairway_core::env::Timestamp;
use fairway_core::store::job_output::OutputStore;
use fairway_core::supervisor::{JobDir, output_files};
use fairway_core::wire::JobItemView;

/// The most bytes of a UTF-8 character before its last one.
const MAX_PREFIX_BYTES: i64 = 3;

/// An item as text, with secrets not yet masked.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedItem {
    pub seq: i64,
    pub kind: ItemType,
    pub text: String,
    /// Details of an event.
    pub meta: Value,
    pub created_at: Timestamp,
}

impl From<&DecodedItem> for JobItemView {
    fn from(piece: &DecodedItem) -> Self {
        Self {
            seq: piece.seq,
            kind: piece.kind,
            payload: mask(&piece.text),
            meta: piece.meta.clone(),
            created_at: piece.created_at.to_string(),
        }
    }
}

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
    /// A decoder of the output in the directory of `job`. `is_over` says that the job will write no more of it.
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
mod tests {
    use std::time::Duration;

    use super::*;
    use fairway_core::domain::job::JobResult;
    use fairway_core::domain::job_output::{Batch, Totals};
    use fairway_core::os::process::ProcessKey;
    use fairway_core::supervisor::job_dir::StartSpec;
    use fairway_core::supervisor::{OutputRecorder, Sink, SinkError};

    const SAMPLE_TEXT: &str = "a¢€😀é👋🏽z";

    /// A job and its output, without a program.
    struct FakeJob {
        _home: tempfile::TempDir,
        store: OutputStore,
        id: JobId,
        dir: JobDir,
        recorder: OutputRecorder,
    }

    struct Rows<'a>(&'a OutputStore, &'a JobId);

    impl Sink for Rows<'_> {
        fn record_started(&mut self, _: &ProcessKey) -> Result<(), SinkError> {
            Ok(())
        }

        fn write_batch(&mut self, write_batch: &Batch) -> Result<(), SinkError> {
            self.0
                .apply(self.1, write_batch, Timestamp::from_millis(0))
                .map_err(|error| SinkError::Store(error.to_string()))
        }

        fn record_finished(&mut self, _: &JobResult, _: i64, _: bool) -> Result<(), SinkError> {
            Ok(())
        }
    }

    impl FakeJob {
        fn new(max: u64) -> Self {
            let home = tempfile::tempdir().unwrap();
            let store = OutputStore::open_for_writing(&home.path().join("runs.db")).unwrap();
            let id = JobId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
            let directory = JobDir::of(home.path(), &id);
            directory.create(&StartSpec { cwd: "/".into(), argv: Vec::new(), env: Vec::new() }, None).unwrap();
            let recorder = OutputRecorder::new(directory.clone(), max, Totals::default());
            Self { _home: home, store, id, dir: directory, recorder }
        }

        fn print(&mut self, stream: ItemType, bytes: &[u8]) {
            self.recorder.push(stream, bytes, Duration::ZERO);
            self.recorder.flush(Duration::ZERO, &mut Rows(&self.store, &self.id));
        }

        fn read(&self, since: i64, limit: usize, is_over: bool) -> Vec<DecodedItem> {
            let (items, _) = self.store.items(&self.id, since, limit, None).unwrap();
            Decoder::new(&self.store, &self.id, self.dir.clone(), is_over).decode(&items).unwrap()
        }

        fn text(&self, stream: ItemType, is_over: bool) -> String {
            let pieces = self.read(0, usize::MAX - 1, is_over);
            pieces.into_iter().filter(|piece| piece.kind == stream).map(|piece| piece.text).collect()
        }

        /// The text of a stream, decoded an item at a time.
        fn text_by_items(&self, stream: ItemType) -> String {
            let (mut since, mut text) = (0, String::new());
            while let Some(piece) = self.read(since, 1, true).pop() {
                since = piece.seq;
                if piece.kind == stream {
                    text.push_str(&piece.text);
                }
            }
            text
        }
    }

    #[test]
    fn character_is_whole_wherever_it_was_split() {
        let bytes = SAMPLE_TEXT.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                // Room for all of it, but in several segments; the other stream is in between.
                let mut job = FakeJob::new(bytes.len() as u64 * 2);
                for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    job.print(ItemType::Stdout, part);
                    job.print(
                        ItemType::Stderr,
                        "é".as_bytes().get(usize::from(part.len() % 2 == 0)..).unwrap_or_default(),
                    );
                }
                assert_eq!(job.text(ItemType::Stdout, false), SAMPLE_TEXT, "{first} {second}");
                assert_eq!(job.text_by_items(ItemType::Stdout), SAMPLE_TEXT, "{first} {second} by items");
            }
        }
    }

    #[test]
    fn each_byte_alone_and_across_every_edge_of_a_segment() {
        let bytes = SAMPLE_TEXT.as_bytes();
        for more in 0..40 {
            let mut job = FakeJob::new(bytes.len() as u64 + more);
            for byte in bytes {
                job.print(ItemType::Stdout, &[*byte]);
            }
            assert_eq!(job.text(ItemType::Stdout, true), SAMPLE_TEXT, "{more}");
            assert_eq!(job.text_by_items(ItemType::Stdout), SAMPLE_TEXT, "{more} by items");
        }
    }

    #[test]
    fn what_was_cut_by_a_gap_is_replaced_and_nothing_is_joined_over_it() {
        for max in 4..60_u64 {
            for size in [1, 2, 3, 5, 200] {
                let mut job = FakeJob::new(max);
                let bytes = SAMPLE_TEXT.repeat(8).into_bytes();
                for part in bytes.chunks(size) {
                    job.print(ItemType::Stdout, part);
                }
                let head = usize::try_from(max.div_ceil(2)).unwrap();
                let (items, _) = job.store.items(&job.id, 0, usize::MAX - 1, None).unwrap();
                let tail = items
                    .iter()
                    .filter_map(|item| match item.content {
                        Content::Output { origin, .. } => usize::try_from(origin).ok().filter(|origin| *origin >= head),
                        Content::Event { .. } => None,
                    })
                    .min()
                    .unwrap();
                let expected = [&bytes[..head], &bytes[tail..]].map(|part| String::from_utf8_lossy(part).into_owned());
                assert_eq!(job.text(ItemType::Stdout, true), expected.concat(), "{max} {size}");
                assert_eq!(job.text_by_items(ItemType::Stdout), expected.concat(), "{max} {size} by items");
            }
        }
    }

    #[test]
    fn stream_of_which_nothing_was_left_out_is_whole_on_both_sides_of_a_gap() {
        let mut job = FakeJob::new(100);
        job.print(ItemType::Stderr, &[b'x'; 47]);
        job.print(ItemType::Stdout, &"😀".as_bytes()[..3]);
        job.print(ItemType::Stderr, &[b'y'; 200]);
        job.print(ItemType::Stdout, &"😀".as_bytes()[3..]);
        assert!(job.recorder.is_truncated());
        assert_eq!(job.text(ItemType::Stdout, true), "😀");
        assert_eq!(job.text_by_items(ItemType::Stdout), "😀");
    }

    #[test]
    fn unfinished_character_waits_until_nothing_can_follow() {
        let mut job = FakeJob::new(1_000);
        job.print(ItemType::Stdout, b"a\xe2\x82");
        assert_eq!(job.text(ItemType::Stdout, false), "a");
        assert_eq!(job.text(ItemType::Stdout, true), "a\u{fffd}");
        job.print(ItemType::Stderr, b"\xac");
        assert_eq!(job.text(ItemType::Stdout, false), "a");
        job.print(ItemType::Stdout, b"b\xff\xf0\x9f");
        assert_eq!(job.text(ItemType::Stdout, true), "a\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(job.text(ItemType::Stderr, true), "\u{fffd}");
        assert_eq!(job.text_by_items(ItemType::Stdout), "a\u{fffd}b\u{fffd}\u{fffd}");
    }

    #[test]
    fn bytes_that_are_gone_since_their_rows_were_read_are_no_error() {
        let mut job = FakeJob::new(40);
        job.print(ItemType::Stdout, &[b'a'; 20]);
        job.print(ItemType::Stdout, &[b'b'; 20]);
        let (items, _) = job.store.items(&job.id, 0, 100, None).unwrap();
        job.print(ItemType::Stdout, &[b'c'; 20]);
        let decoder = Decoder::new(&job.store, &job.id, job.dir.clone(), false);
        let left: String = decoder.decode(&items).unwrap().iter().map(|piece| piece.text.as_str()).collect();
        assert!(left.starts_with("aaaaaaaaaaaaaaaaaaaa") && !left.contains('c') && left.len() < 40, "{left}");
    }
}
