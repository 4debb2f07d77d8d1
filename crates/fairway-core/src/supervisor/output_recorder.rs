//! Keeps a job's output within limits on disk and in memory. Pushed output waits in memory until it is flushed: its bytes go into
//! the segment files, then its rows through the [`Sink`].
//!
//! One half of the limit is for the head (the beginning of the output), the other for the tail (its end). When the tail is full,
//! its oldest segments are removed, and one event, the gap, takes their place. Output that would be removed before anybody could
//! read it never reaches the disk.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use nix::errno::Errno;

use super::output_files::{self, OpenSegment};
use super::{JobDir, Sink};
use crate::domain::job::ItemType;
use crate::domain::job_output::{Batch, Gap, NewItem, Totals, WatcherHit};
use crate::os::file_system;

/// The largest item of output, in bytes.
const MAX_CHUNK_BYTES: u64 = 16 << 10;
/// How long output waits for more before it is flushed; the shorter delay applies from [`QUICK_FLUSH_BYTES`] on.
const FLUSH_DELAY: Duration = Duration::from_millis(20);
const QUICK_FLUSH_DELAY: Duration = Duration::from_millis(5);
const QUICK_FLUSH_BYTES: u64 = 64 << 10;
/// With the first amount of waiting output a flush is due at once; above the second one the oldest output is dropped.
const IMMEDIATE_FLUSH_BYTES: u64 = 1 << 20;
const MAX_BUFFERED_BYTES: u64 = 4 << 20;
/// How many events wait at most while writing fails.
const MAX_BUFFERED_EVENTS: usize = 4_096;
/// The space that is left free on the disk, in bytes, but at most this part of the disk: a job that fills the disk with output
/// must not prevent its result, or any other change of state, from being written.
const DISK_RESERVE_BYTES: u64 = 1 << 20;
const DISK_RESERVE_DIVISOR: u64 = 16;
/// The delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_millis(250);
/// The number of segments of a full tail.
const TAIL_SEGMENTS: u64 = 4;
/// How many buffers are kept for reuse.
const MAX_SPARE_BUFFERS: usize = 64;

/// Output or an event that waits to be written.
#[derive(Debug)]
enum Chunk {
    Output { seq: i64, stream: ItemType, bytes: Vec<u8>, origin: i64, is_head: bool },
    Event { seq: i64, payload: String, meta: String, notification_key: Option<String> },
}

/// Segments of the tail that are removed together.
#[derive(Debug)]
struct Segment {
    first: i64,
    last: i64,
    bytes: u64,
    first_seq: i64,
    through_seq: i64,
}

/// Why writing failed, and how many bytes were lost since.
#[derive(Debug)]
struct WriteFailure {
    why: String,
    lost: u64,
}

/// Keeps a job's output within limits.
#[derive(Debug)]
pub struct OutputRecorder {
    job_dir: JobDir,
    /// How many more bytes the head takes, and how many the tail may hold.
    head_room: u64,
    tail_limit: u64,
    chunks: VecDeque<Chunk>,
    /// The bytes of output that wait, and how many of them belong to the tail.
    pending_bytes: u64,
    pending_tail_bytes: u64,
    pending_events: usize,
    hits: Vec<WatcherHit>,
    /// The first and last sequence number of the output that was dropped before it reached the disk.
    skipped: Option<(i64, i64)>,
    segments: VecDeque<Segment>,
    next_segment: i64,
    /// Whether the last segment takes more bytes.
    is_open: bool,
    open_segments: [Option<OpenSegment>; 2],
    /// A batch whose bytes are in the files but which the sink refused, and the segments to remove after it.
    rejected_batch: Option<(Batch, Vec<(i64, i64)>)>,
    write_failure: Option<WriteFailure>,
    next_seq: i64,
    total_bytes: [i64; 2],
    dropped_bytes: i64,
    pending_since: Option<Duration>,
    last_flush: Option<Duration>,
    retry_at: Option<Duration>,
    spare_buffers: Vec<Vec<u8>>,
}

const fn index(stream: ItemType) -> usize {
    if matches!(stream, ItemType::Stderr) { 1 } else { 0 }
}

fn saturating_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl OutputRecorder {
    /// A recorder that keeps at most `max_output_bytes` of output in the job's directory. The output of earlier attempts counts,
    /// too, and `resume` has its totals.
    pub fn new(dir: JobDir, max_output_bytes: u64, resume: Totals) -> Self {
        let found = output_files::list(&dir).unwrap_or_default();
        let head = max_output_bytes.div_ceil(2);
        let in_head: u64 = found.iter().filter(|(number, _)| *number == 0).map(|(_, bytes)| bytes).sum();
        let older: Vec<_> = found.iter().filter(|(number, _)| *number > 0).collect();
        let mut next_seq = resume.next_seq;
        let mut kept = VecDeque::new();
        if let (Some((first, _)), Some((last, _))) = (older.first(), older.last()) {
            // Which items are in which of these segments is not known here. They are removed together, and a sequence number is
            // reserved for their gap.
            let bytes = older.iter().map(|(_, bytes)| bytes).sum();
            kept.push_back(Segment { first: *first, last: *last, bytes, first_seq: 1, through_seq: next_seq });
            next_seq += 1;
        }
        let is_closed = !kept.is_empty() || resume.dropped_bytes > 0;
        Self {
            job_dir: dir,
            head_room: if is_closed { 0 } else { head.saturating_sub(in_head) },
            tail_limit: max_output_bytes.saturating_sub(head),
            chunks: VecDeque::new(),
            pending_bytes: 0,
            pending_tail_bytes: 0,
            pending_events: 0,
            hits: Vec::new(),
            skipped: None,
            next_segment: kept.back().map_or(1, |old| old.last.saturating_add(1)),
            segments: kept,
            is_open: false,
            open_segments: [None, None],
            rejected_batch: None,
            write_failure: None,
            next_seq,
            total_bytes: [resume.stdout_bytes, resume.stderr_bytes],
            dropped_bytes: resume.dropped_bytes,
            pending_since: None,
            last_flush: None,
            retry_at: None,
            spare_buffers: Vec::new(),
        }
    }

    /// Adds output of a stream. A later [`flush`](Self::flush) writes it. `now` is the time since the supervisor's start.
    pub fn push(&mut self, stream: ItemType, bytes: &[u8], now: Duration) {
        if bytes.is_empty() {
            return;
        }
        self.pending_since.get_or_insert(now);
        let mut origin = self.total_bytes[index(stream)];
        self.total_bytes[index(stream)] = origin.saturating_add(saturating_i64(bytes.len() as u64));
        let room = usize::try_from(self.head_room).unwrap_or(usize::MAX).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head_room -= room as u64;
        self.push_chunks(stream, head, &mut origin, true);
        // Bytes that the tail cannot hold are not copied at all.
        let surplus = rest.len().saturating_sub(usize::try_from(self.tail_limit).unwrap_or(usize::MAX));
        let (skipped, rest) = rest.split_at(surplus);
        if !skipped.is_empty() {
            let seq = self.take_seq();
            self.record_skipped(seq, skipped.len() as u64);
            origin = origin.saturating_add(saturating_i64(skipped.len() as u64));
        }
        self.push_chunks(stream, rest, &mut origin, false);
        self.drop_oldest();
    }

    /// Adds an event after everything that was added so far, and returns its sequence number. When too many events wait to be
    /// written, the oldest one is dropped.
    pub fn event(&mut self, payload: String, meta: String, notification_key: Option<String>) -> i64 {
        if self.pending_events >= MAX_BUFFERED_EVENTS
            && let Some(at) = self.chunks.iter().position(|piece| matches!(piece, Chunk::Event { .. }))
        {
            self.chunks.remove(at);
            self.pending_events -= 1;
        }
        let seq = self.take_seq();
        self.chunks.push_back(Chunk::Event { seq, payload, meta, notification_key });
        self.pending_events += 1;
        seq
    }

    /// Sets the number of matches so far of the watcher with the index `place`. The number is written together with the events
    /// that were added before.
    pub fn record_hits(&mut self, place: usize, hits: i64) {
        // While writing fails only the newest number of each is kept.
        match self.hits.iter_mut().find(|known| known.watcher == place) {
            Some(known) => known.count = hits,
            None => self.hits.push(WatcherHit { watcher: place, count: hits }),
        }
    }

    /// When the next flush is due, as the time since the supervisor's start; `None` when nothing waits.
    pub fn due(&self) -> Option<Duration> {
        if self.chunks.is_empty() && self.hits.is_empty() && self.skipped.is_none() && self.rejected_batch.is_none() {
            return None;
        }
        if self.retry_at.is_some() {
            return self.retry_at;
        }
        let pace = match self.pending_bytes {
            IMMEDIATE_FLUSH_BYTES.. => Duration::ZERO,
            // Most of this flood is dropped; no reader could follow it.
            _ if self.skipped.is_some() => FLUSH_DELAY,
            QUICK_FLUSH_BYTES.. => QUICK_FLUSH_DELAY,
            _ => FLUSH_DELAY,
        };
        let earliest = self.last_flush.map_or(Duration::ZERO, |flushed| flushed.saturating_add(pace));
        Some(self.pending_since.unwrap_or_default().max(earliest))
    }

    /// Writes everything that waits. When that fails, the rest keeps waiting, within limits, until the next flush.
    pub fn flush(&mut self, now: Duration, sink: &mut dyn Sink) {
        let done = self.try_flush(sink) && (!self.push_loss_event() || self.try_flush(sink));
        if done {
            (self.last_flush, self.pending_since, self.retry_at) = (Some(now), None, None);
        } else {
            self.retry_at = Some(now.saturating_add(RETRY_DELAY));
        }
    }

    /// Adds an event about the bytes that were lost while writing failed; returns `false` when none were.
    fn push_loss_event(&mut self) -> bool {
        let Some(WriteFailure { why, lost: lost @ 1.. }) = self.write_failure.take() else { return false };
        let meta = serde_json::json!({ "event": "not_kept", "bytes": lost, "reason": why });
        self.event(format!("{lost} bytes could not be kept: {why}"), meta.to_string(), None);
        true
    }

    /// The size of all output so far in bytes, whether it was kept or dropped.
    pub const fn output_bytes(&self) -> i64 {
        self.total_bytes[0].saturating_add(self.total_bytes[1])
    }

    /// Whether some of the output was dropped.
    pub const fn is_truncated(&self) -> bool {
        self.dropped_bytes > 0
    }

    /// Why output could not be written, or was lost; `None` when everything was written since.
    pub fn write_failure(&self) -> Option<&str> {
        self.write_failure.as_ref().map(|trouble| trouble.why.as_str())
    }

    const fn take_seq(&mut self) -> i64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Appends bytes to the waiting chunks.
    fn push_chunks(&mut self, stream: ItemType, mut rest: &[u8], origin: &mut i64, head: bool) {
        let most = if head { MAX_CHUNK_BYTES } else { MAX_CHUNK_BYTES.min(self.segment_limit()) };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.pending_bytes += rest.len() as u64;
        if !head {
            self.pending_tail_bytes += rest.len() as u64;
        }
        while !rest.is_empty() {
            let taken = match self.chunks.back_mut() {
                Some(Chunk::Output { stream: last, bytes, is_head, .. })
                    if *last == stream && *is_head == head && bytes.len() < most =>
                {
                    let (now, later) = rest.split_at(rest.len().min(most - bytes.len()));
                    bytes.extend_from_slice(now);
                    rest = later;
                    now.len()
                }
                _ => {
                    let (now, later) = rest.split_at(rest.len().min(most));
                    let mut bytes = self.spare_buffers.pop().unwrap_or_default();
                    bytes.extend_from_slice(now);
                    let seq = self.take_seq();
                    self.chunks.push_back(Chunk::Output { seq, stream, bytes, origin: *origin, is_head: head });
                    rest = later;
                    now.len()
                }
            };
            *origin = origin.saturating_add(saturating_i64(taken as u64));
        }
    }

    /// The largest size of a segment of the tail, in bytes.
    fn segment_limit(&self) -> u64 {
        self.tail_limit.div_ceil(TAIL_SEGMENTS).max(1)
    }

    /// Counts output that is dropped before it reaches the disk.
    fn record_skipped(&mut self, seq: i64, bytes: u64) {
        let (first, through) = self.skipped.unwrap_or((seq, seq));
        self.skipped = Some((first.min(seq), through.max(seq)));
        self.dropped_bytes = self.dropped_bytes.saturating_add(saturating_i64(bytes));
    }

    /// Drops the oldest waiting output while there is more of it than the tail or the memory may hold.
    fn drop_oldest(&mut self) {
        while self.pending_tail_bytes > self.tail_limit || self.pending_bytes > MAX_BUFFERED_BYTES {
            let is_tail = self.pending_tail_bytes > self.tail_limit;
            let oldest = self.chunks.iter().position(|piece| match piece {
                Chunk::Output { is_head, .. } => !(is_tail && *is_head),
                Chunk::Event { .. } => false,
            });
            let Some(Chunk::Output { seq, mut bytes, .. }) = oldest.and_then(|oldest| self.chunks.remove(oldest))
            else {
                return;
            };
            let length = bytes.len() as u64;
            self.pending_bytes -= length;
            if is_tail {
                self.pending_tail_bytes -= length;
                self.record_skipped(seq, length);
            } else {
                self.record_loss(length);
            }
            if self.spare_buffers.len() < MAX_SPARE_BUFFERS {
                bytes.clear();
                self.spare_buffers.push(bytes);
            }
        }
    }

    /// Counts output that is dropped because writing fails and the memory is full. Output that was kept before it stays.
    fn record_loss(&mut self, bytes: u64) {
        self.dropped_bytes = self.dropped_bytes.saturating_add(saturating_i64(bytes));
        let trouble =
            self.write_failure.get_or_insert_with(|| WriteFailure { why: "it came too fast".into(), lost: 0 });
        trouble.lost += bytes;
        // The next bytes do not continue the files as they are.
        self.is_open = false;
        self.head_room = 0;
        for piece in &mut self.chunks {
            if let Chunk::Output { is_head, .. } = piece {
                *is_head = false;
            }
        }
        self.pending_tail_bytes = self.pending_bytes;
    }

    fn try_flush(&mut self, sink: &mut dyn Sink) -> bool {
        if let Some((batch, going)) = self.rejected_batch.take()
            && !self.submit(batch, going, sink)
        {
            return false;
        }
        if let Some((batch, going)) = self.make_room()
            && !self.submit(batch, going, sink)
        {
            return false;
        }
        let (batch, whole) = self.write_pending();
        let is_empty = batch.items.is_empty() && batch.hits.is_empty();
        (is_empty || self.submit(batch, Vec::new(), sink)) && whole
    }

    fn new_batch(&self) -> Batch {
        Batch {
            next_seq: self.next_seq,
            stdout_bytes: self.total_bytes[0],
            stderr_bytes: self.total_bytes[1],
            ..Batch::default()
        }
    }

    /// Hands a batch to the sink, then removes the files of the segments that the batch gives up.
    fn submit(&mut self, batch: Batch, going: Vec<(i64, i64)>, sink: &mut dyn Sink) -> bool {
        if let Err(error) = sink.write_batch(&batch) {
            self.record_failure(&error);
            self.rejected_batch = Some((batch, going));
            return false;
        }
        for (first, last) in going {
            (first..=last).for_each(|segment| output_files::remove(&self.job_dir, segment));
        }
        true
    }

    fn record_failure(&mut self, why: &impl ToString) {
        let why = why.to_string();
        match &mut self.write_failure {
            Some(trouble) => trouble.why = why,
            None => self.write_failure = Some(WriteFailure { why, lost: 0 }),
        }
    }

    /// Gives up the oldest segments until the waiting output fits into the tail; `None` when none had to go.
    fn make_room(&mut self) -> Option<(Batch, Vec<(i64, i64)>)> {
        let mut kept: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let (mut first_seq, mut through_seq) = (i64::MAX, 0);
        let mut going = Vec::new();
        // The skipped bytes come after all of the segments, so none of them can stay.
        while (kept + self.pending_tail_bytes > self.tail_limit || self.skipped.is_some())
            && let Some(oldest) = self.segments.pop_front()
        {
            kept -= oldest.bytes;
            self.dropped_bytes = self.dropped_bytes.saturating_add(saturating_i64(oldest.bytes));
            (first_seq, through_seq) = (first_seq.min(oldest.first_seq), through_seq.max(oldest.through_seq));
            going.push((oldest.first, oldest.last));
        }
        if let Some((first, through)) = self.skipped.take() {
            (first_seq, through_seq) = (first_seq.min(first), through_seq.max(through));
        }
        if self.segments.is_empty() {
            self.is_open = false;
        }
        let gap = Gap { first_seq, through_seq, dropped_bytes: self.dropped_bytes };
        (through_seq > 0).then(|| (Batch { gap: Some(gap), ..self.new_batch() }, going))
    }

    /// Writes the waiting output into the files. Returns a batch of the written items, and whether that was everything.
    fn write_pending(&mut self) -> (Batch, bool) {
        let mut batch = self.new_batch();
        let mut room = if self.pending_bytes > 0 { self.check_free_space() } else { Ok(()) };
        while let Some(piece) = self.chunks.pop_front() {
            match piece {
                Chunk::Event { seq, payload, meta, notification_key } => {
                    self.pending_events -= 1;
                    batch.items.push(NewItem::Event { seq, payload, meta, notification_key });
                }
                Chunk::Output { seq, stream, mut bytes, origin, is_head } => {
                    let room = std::mem::replace(&mut room, Ok(()));
                    match room.and_then(|()| self.write_chunk(seq, stream, &bytes, is_head)) {
                        Ok((segment, start)) => {
                            let length = saturating_i64(bytes.len() as u64);
                            batch.items.push(NewItem::Output { seq, stream, segment, start, length, origin });
                        }
                        Err(error) => {
                            self.chunks.push_front(Chunk::Output { seq, stream, bytes, origin, is_head });
                            self.record_failure(&error);
                            return (batch, false);
                        }
                    }
                    self.pending_bytes -= bytes.len() as u64;
                    if !is_head {
                        self.pending_tail_bytes -= bytes.len() as u64;
                    }
                    if self.spare_buffers.len() < MAX_SPARE_BUFFERS {
                        bytes.clear();
                        self.spare_buffers.push(bytes);
                    }
                }
            }
        }
        // The hits are written only together with all events that they count.
        batch.hits = std::mem::take(&mut self.hits);
        (batch, true)
    }

    /// Fails when the disk has no room for the waiting output and the reserve.
    fn check_free_space(&self) -> io::Result<()> {
        let path = self.job_dir.path();
        // When a size is unknown, the write itself shows whether there is room.
        let reserve =
            file_system::total_bytes(path).map_or(0, |size| DISK_RESERVE_BYTES.min(size / DISK_RESERVE_DIVISOR));
        let is_short =
            file_system::free_bytes(path).is_ok_and(|free| free < reserve.saturating_add(self.pending_bytes));
        if is_short { Err(Errno::ENOSPC.into()) } else { Ok(()) }
    }

    fn write_chunk(&mut self, seq: i64, stream: ItemType, bytes: &[u8], is_head: bool) -> io::Result<(i64, i64)> {
        let length = bytes.len() as u64;
        let part = self.segment_limit();
        let open = self.segments.back().filter(|last| self.is_open && last.bytes + length <= part);
        let segment = match open {
            _ if is_head => 0,
            Some(last) => last.last,
            None => self.next_segment,
        };
        let writing = &mut self.open_segments[index(stream)];
        if writing.as_ref().is_none_or(|writing| writing.segment() != segment) {
            *writing = Some(OpenSegment::open(&self.job_dir, stream, segment)?);
        }
        let start = match writing {
            Some(writing) => writing.append(bytes)?,
            None => 0,
        };
        if segment > 0 {
            if segment == self.next_segment {
                self.next_segment += 1;
                self.is_open = true;
                let new = Segment { first: segment, last: segment, bytes: 0, first_seq: seq, through_seq: seq };
                self.segments.push_back(new);
            }
            if let Some(last) = self.segments.back_mut() {
                last.bytes += length;
                last.through_seq = seq;
            }
        }
        Ok((segment, saturating_i64(start)))
    }
}

#[cfg(test)]
mod tests;
