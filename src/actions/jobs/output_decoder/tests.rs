use std::time::Duration;

use super::*;
use crate::{
    domain::{
        job::JobResult,
        job_output::{Batch, Totals},
    },
    os::process::ProcessKey,
    supervisor::{OutputRecorder, Sink, SinkError, job_dir::StartSpec},
};

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
                job.print(ItemType::Stderr, "é".as_bytes().get(usize::from(part.len() % 2 == 0)..).unwrap_or_default());
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
