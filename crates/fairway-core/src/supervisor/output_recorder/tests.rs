use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::domain::job::{JobId, JobResult};
use crate::os::process::ProcessKey;
use crate::supervisor::SinkError;
use crate::supervisor::job_dir::StartSpec;

/// An output item's stream, bytes and place (from its segment and origin), or an event's text.
type Kept = Result<(ItemType, Vec<u8>, i64), String>;

/// A store as a recorder sees it.
#[derive(Default)]
struct Rows {
    /// The stored items by their sequence numbers.
    items: BTreeMap<i64, Kept>,
    batches: usize,
    refuses: bool,
    gap: Option<i64>,
    dir: PathBuf,
    /// The largest size that the files ever had together, in bytes.
    most: u64,
}

impl Rows {
    fn kept(&self) -> u64 {
        fs::read_dir(&self.dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name().to_string_lossy().contains('.'))
            .map(|entry| entry.metadata().unwrap().len())
            .sum()
    }

    /// The output of a stream as a reader gets it, with gaps as `#`.
    fn text(&self, stream: ItemType) -> Vec<u8> {
        let mut text = Vec::new();
        for item in self.items.values() {
            match item {
                Ok((of, bytes, _)) if *of == stream => text.extend_from_slice(bytes),
                Ok(_) => {}
                Err(said) => text.extend_from_slice(if said == "gap" { b"#" } else { b"" }),
            }
        }
        text
    }
}

impl Sink for Rows {
    fn record_started(&mut self, _: &ProcessKey) -> Result<(), SinkError> {
        Ok(())
    }

    fn write_batch(&mut self, write_batch: &Batch) -> Result<(), SinkError> {
        self.most = self.most.max(self.kept());
        if self.refuses {
            return Err(SinkError::Store("no room".into()));
        }
        self.batches += 1;
        let home = self.dir.parent().unwrap().to_owned();
        let id = JobId::parse(self.dir.file_name().unwrap().to_str().unwrap()).unwrap();
        let dir = JobDir::of(&home, &id);
        for item in &write_batch.items {
            let (seq, value) = match item {
                NewItem::Output { seq, stream, segment, start, length, origin } => {
                    let (start, length) = (u64::try_from(*start).unwrap(), usize::try_from(*length).unwrap());
                    let bytes = output_files::read(&dir, *stream, *segment, start, length).unwrap().unwrap();
                    assert_eq!(bytes.len(), length);
                    (*seq, Ok((*stream, bytes, *segment * 1_000_000_000 + *origin)))
                }
                NewItem::Event { seq, payload, .. } => (*seq, Err(payload.clone())),
            };
            assert!(seq < write_batch.next_seq);
            assert!(self.items.insert(seq, value).is_none(), "{seq} came twice");
        }
        if let Some(gap) = write_batch.gap {
            if let Some(old) = self.gap.replace(gap.through_seq) {
                self.items.remove(&old);
            }
            self.items.retain(|seq, item| {
                let is_tail = matches!(item, Ok((_, _, place)) if *place >= 1_000_000_000);
                !(is_tail && (gap.first_seq..=gap.through_seq).contains(seq))
            });
            assert!(self.items.insert(gap.through_seq, Err("gap".into())).is_none(), "the gap takes a place");
        }
        Ok(())
    }

    fn record_finished(&mut self, _: &JobResult, _: i64, _: bool) -> Result<(), SinkError> {
        Ok(())
    }
}

fn setting(max: u64) -> (tempfile::TempDir, JobDir, OutputRecorder, Rows) {
    let home = tempfile::tempdir().unwrap();
    let id = JobId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
    let dir = JobDir::of(home.path(), &id);
    dir.create(&StartSpec { cwd: "/".into(), argv: Vec::new(), env: Vec::new() }, None).unwrap();
    dir.remove_start_spec().unwrap();
    let rows = Rows { dir: dir.path().to_owned(), ..Rows::default() };
    let recorder = OutputRecorder::new(dir.clone(), max, Totals::default());
    (home, dir, recorder, rows)
}

const fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn what_fits_is_kept_whole_whatever_its_pieces() {
    for max in [1_u64, 2, 7, 100, 4_096, 100_000] {
        for piece in [1, 3, 50, 40_000] {
            if max / piece > 5_000 {
                continue;
            }
            let (_home, _dir, mut recorder, mut rows) = setting(max);
            let all: Vec<u8> = (0..max).map(|number| b'a' + u8::try_from(number % 26).unwrap()).collect();
            for (number, part) in (0..).zip(all.chunks(usize::try_from(piece).unwrap())) {
                recorder.push(ItemType::Stdout, part, at(number));
                recorder.flush(at(number), &mut rows);
            }
            assert_eq!(rows.text(ItemType::Stdout), all, "{max} in pieces of {piece}");
            assert!(!recorder.is_truncated() && recorder.output_bytes() == i64::try_from(max).unwrap());
            // With one more byte, something in the middle is dropped.
            recorder.push(ItemType::Stderr, b"!", at(0));
            recorder.flush(at(0), &mut rows);
            assert!(recorder.is_truncated() && rows.most <= max && rows.kept() <= max);
            assert_eq!(recorder.due(), None);
        }
    }
}

#[test]
fn of_more_than_fits_head_and_tail_stay_with_one_gap_and_never_more_than_that() {
    for (max, piece, flush_every) in
        [(1_000, 7, 1), (1_000, 333, 3), (1_000, 5_000, 1), (64, 1, 5), (300_000, 70_000, 2)]
    {
        let (_home, dir, mut recorder, mut rows) = setting(max);
        let all: Vec<u8> = (0..max * 5).map(|number| b'a' + u8::try_from(number % 26).unwrap()).collect();
        for (number, part) in all.chunks(piece).enumerate() {
            recorder.push(ItemType::Stdout, part, at(0));
            recorder.event(format!("e{number}"), String::new(), None);
            if number % flush_every == 0 {
                recorder.flush(at(0), &mut rows);
            }
        }
        recorder.flush(at(0), &mut rows);
        let text = rows.text(ItemType::Stdout);
        let gap = text.iter().position(|byte| *byte == b'#').unwrap();
        let (head, tail) = (&text[..gap], &text[gap + 1..]);
        assert!(!tail.contains(&b'#'));
        assert_eq!(head, &all[..usize::try_from(max / 2).unwrap()]);
        assert!(all.ends_with(tail) && tail.len() as u64 >= max / 4, "{max} {piece}: {}", tail.len());
        assert!(rows.most <= max, "{max} {piece}: {}", rows.most);
        let dropped = all.len() - head.len() - tail.len();
        assert_eq!(recorder.dropped_bytes, i64::try_from(dropped).unwrap());
        let events = rows.items.values().filter(|item| matches!(item, Err(said) if said.starts_with('e'))).count();
        assert_eq!(events, all.len().div_ceil(piece));

        // Another attempt continues after this one.
        let totals = Totals {
            next_seq: recorder.next_seq,
            stdout_bytes: recorder.total_bytes[0],
            stderr_bytes: 0,
            dropped_bytes: recorder.dropped_bytes,
        };
        let mut again = OutputRecorder::new(dir, max, totals);
        again.push(ItemType::Stderr, &vec![b'x'; usize::try_from(max / 2).unwrap()], at(0));
        again.flush(at(0), &mut rows);
        assert_eq!(rows.text(ItemType::Stdout), [head, b"#"].concat());
        assert_eq!(rows.text(ItemType::Stderr).len() as u64, max / 2 + 1);
        assert!(rows.kept() <= max);
    }
}

#[test]
fn what_the_store_refuses_waits_and_comes_once() {
    let (_home, _dir, mut recorder, mut rows) = setting(1 << 20);
    recorder.push(ItemType::Stdout, b"one ", at(0));
    rows.refuses = true;
    recorder.flush(at(0), &mut rows);
    assert_eq!((recorder.due(), recorder.write_failure()), (Some(RETRY_DELAY), Some("no room")));
    recorder.push(ItemType::Stdout, b"two ", at(10));
    recorder.record_hits(3, 1);
    recorder.flush(RETRY_DELAY, &mut rows);
    assert_eq!(rows.batches, 0);
    rows.refuses = false;
    recorder.flush(at(600), &mut rows);
    assert_eq!(
        (rows.text(ItemType::Stdout), recorder.write_failure(), recorder.due()),
        (b"one two ".to_vec(), None, None)
    );
    assert!(!recorder.is_truncated());
}

#[test]
fn store_that_refuses_for_long_costs_no_memory_and_the_loss_is_said() {
    let (_home, _dir, mut recorder, mut rows) = setting(64 << 20);
    recorder.push(ItemType::Stdout, b"first", at(0));
    rows.refuses = true;
    recorder.flush(at(0), &mut rows);
    for _ in 0..100 {
        recorder.push(ItemType::Stdout, &vec![b'x'; 100_000], at(1));
        assert!(recorder.pending_bytes <= MAX_BUFFERED_BYTES);
    }
    rows.refuses = false;
    recorder.flush(at(300), &mut rows);
    recorder.flush(at(600), &mut rows);
    let text = rows.text(ItemType::Stdout);
    assert!(text.starts_with(b"firstxxx") && text.len() as u64 > MAX_BUFFERED_BYTES / 2 && recorder.is_truncated());
    let lost = 10_000_005 - text.len();
    assert_eq!(
        rows.items.values().find_map(|item| item.as_ref().err()).unwrap(),
        &format!("{lost} bytes could not be kept: no room")
    );
    assert_eq!(recorder.due(), None);
}

#[test]
fn first_is_written_at_once_and_what_follows_a_little_later() {
    let (_home, _dir, mut recorder, mut rows) = setting(1 << 20);
    assert_eq!(recorder.due(), None);
    recorder.push(ItemType::Stdout, b"a", at(1_000));
    assert_eq!(recorder.due(), Some(at(1_000)));
    recorder.flush(at(1_000), &mut rows);
    recorder.push(ItemType::Stdout, b"b", at(1_001));
    assert_eq!(recorder.due(), Some(at(1_020)));
    recorder.push(ItemType::Stdout, &vec![b'c'; 64 << 10], at(1_002));
    assert_eq!(recorder.due(), Some(at(1_005)));
    recorder.flush(at(1_005), &mut rows);
    recorder.event("e".into(), "{}".into(), None);
    assert_eq!(recorder.due(), Some(at(1_025)));
    recorder.flush(at(1_025), &mut rows);
    recorder.push(ItemType::Stdout, b"d", at(5_000));
    assert_eq!(recorder.due(), Some(at(5_000)));
}

#[test]
fn while_the_store_refuses_the_number_of_a_watchers_hits_is_kept_once() {
    let (_home, _dir, mut recorder, mut rows) = setting(100);
    rows.refuses = true;
    for hits in 1..=1_000 {
        recorder.record_hits(0, hits);
        recorder.record_hits(1, hits * 2);
        recorder.flush(at(u64::try_from(hits).unwrap()), &mut rows);
    }
    let (batch, _) = recorder.rejected_batch.take().unwrap();
    // The first are on their way; of all others the newest.
    let of = |hits: &[WatcherHit]| hits.iter().map(|one| (one.watcher, one.count)).collect::<Vec<_>>();
    assert_eq!((of(&batch.hits), of(&recorder.hits)), (vec![(0, 1), (1, 2)], vec![(0, 1_000), (1, 2_000)]));
}
