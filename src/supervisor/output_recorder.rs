//! Keeps what a run prints: the beginning and the end of it, never more than it may, and never more in memory than a few
//! megabytes. What is pushed waits here until it is flushed: bytes into the segment files, then their rows through the
//! [`Sink`].
//!
//! The head is the first half of what may be kept, the tail the other half. When the tail is full its oldest segments go,
//! and one event, the gap, stands in their place. What would be gone before anybody could read it never reaches the disk.

use std::{collections::VecDeque, io, time::Duration};

use nix::errno::Errno;

use super::{RunFolder, Sink, segments, segments::Writing};
use crate::{
    domain::{
        output::{Batch, Gap, Hit, NewItem, Totals},
        run::ItemType,
    },
    os::disk,
};

/// The largest item of output, in bytes.
const PIECE: u64 = 16 << 10;
/// How long what was printed waits for more, and how long when it is this much already.
const PACE: Duration = Duration::from_millis(20);
const QUICK_PACE: Duration = Duration::from_millis(5);
const MUCH: u64 = 64 << 10;
/// With so much in memory it is time to write, and with so much it is kept no longer, when writing fails.
const FULL: u64 = 1 << 20;
const TOO_FULL: u64 = 4 << 20;
/// How many events wait at most when writing fails.
const MOST_EVENTS: usize = 4_096;
/// How much is left free on the disk, in bytes, but at most this part of it: a run that fills it with what it prints must
/// not keep its own end, and every other change of state, from being written.
const RESERVE: u64 = 1 << 20;
const RESERVED: u64 = 16;
/// After writing has failed.
const RETRY: Duration = Duration::from_millis(250);
/// Into how many segments the tail is cut.
const PARTS: u64 = 4;
/// How many buffers are kept for the next pieces.
const SPARES: usize = 64;

/// What waits to be written.
#[derive(Debug)]
enum Piece {
    Output { seq: i64, stream: ItemType, bytes: Vec<u8>, origin: i64, is_head: bool },
    Event { seq: i64, payload: String, meta: String, owes: Option<String> },
}

/// Segments of the tail that go together.
#[derive(Debug)]
struct Segment {
    first: i64,
    last: i64,
    bytes: u64,
    first_seq: i64,
    through_seq: i64,
}

/// Why writing failed, and what was lost since.
#[derive(Debug)]
struct Trouble {
    why: String,
    lost: u64,
}

/// Keeps what a run prints.
#[derive(Debug)]
pub struct Recorder {
    folder: RunFolder,
    /// How much the head still takes, and how much the tail may hold, in bytes.
    head_room: u64,
    tail: u64,
    pieces: VecDeque<Piece>,
    /// How much output waits; and how much of it belongs to the tail.
    pending: u64,
    pending_tail: u64,
    events: usize,
    hits: Vec<Hit>,
    /// What was left out before it reached the disk: its first and its last place.
    skipped: Option<(i64, i64)>,
    segments: VecDeque<Segment>,
    next_segment: i64,
    /// Whether the last segment takes more.
    is_open: bool,
    writing: [Option<Writing>; 2],
    /// A batch whose bytes lie in the files and which was not taken, and the segments that go after it.
    refused: Option<(Batch, Vec<(i64, i64)>)>,
    trouble: Option<Trouble>,
    next_seq: i64,
    printed: [i64; 2],
    dropped: i64,
    since: Option<Duration>,
    flushed: Option<Duration>,
    retry: Option<Duration>,
    spares: Vec<Vec<u8>>,
}

const fn index(stream: ItemType) -> usize {
    if matches!(stream, ItemType::Stderr) { 1 } else { 0 }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Recorder {
    /// Keeps at most `max_output_bytes` in a run's folder, after what an earlier beginning of the run has left there.
    #[must_use]
    pub fn new(folder: RunFolder, max_output_bytes: u64, resume: Totals) -> Self {
        let found = segments::found(&folder).unwrap_or_default();
        let head = max_output_bytes.div_ceil(2);
        let in_head: u64 = found.iter().filter(|(number, _)| *number == 0).map(|(_, bytes)| bytes).sum();
        let older: Vec<_> = found.iter().filter(|(number, _)| *number > 0).collect();
        let mut next_seq = resume.next_seq;
        let mut kept = VecDeque::new();
        if let (Some((first, _)), Some((last, _))) = (older.first(), older.last()) {
            // Which items lie in which of them is not known here: they go together, and a place is set aside for that.
            let bytes = older.iter().map(|(_, bytes)| bytes).sum();
            kept.push_back(Segment { first: *first, last: *last, bytes, first_seq: 1, through_seq: next_seq });
            next_seq += 1;
        }
        let is_closed = !kept.is_empty() || resume.dropped_bytes > 0;
        Self {
            folder,
            head_room: if is_closed { 0 } else { head.saturating_sub(in_head) },
            tail: max_output_bytes.saturating_sub(head),
            pieces: VecDeque::new(),
            pending: 0,
            pending_tail: 0,
            events: 0,
            hits: Vec::new(),
            skipped: None,
            next_segment: kept.back().map_or(1, |old| old.last.saturating_add(1)),
            segments: kept,
            is_open: false,
            writing: [None, None],
            refused: None,
            trouble: None,
            next_seq,
            printed: [resume.stdout_bytes, resume.stderr_bytes],
            dropped: resume.dropped_bytes,
            since: None,
            flushed: None,
            retry: None,
            spares: Vec::new(),
        }
    }

    /// Takes what a stream has brought; `now` is the time since the supervisor's start.
    pub fn push(&mut self, stream: ItemType, bytes: &[u8], now: Duration) {
        if bytes.is_empty() {
            return;
        }
        self.since.get_or_insert(now);
        let mut origin = self.printed[index(stream)];
        self.printed[index(stream)] = origin.saturating_add(signed(bytes.len() as u64));
        let room = usize::try_from(self.head_room).unwrap_or(usize::MAX).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head_room -= room as u64;
        self.add(stream, head, &mut origin, true);
        // What the tail cannot hold is not even copied.
        let surplus = rest.len().saturating_sub(usize::try_from(self.tail).unwrap_or(usize::MAX));
        let (skipped, rest) = rest.split_at(surplus);
        if !skipped.is_empty() {
            let seq = self.number();
            self.skip(seq, skipped.len() as u64);
            origin = origin.saturating_add(signed(skipped.len() as u64));
        }
        self.add(stream, rest, &mut origin, false);
        self.trim();
    }

    /// Takes an event that follows everything pushed so far; answers its place.
    pub fn event(&mut self, payload: String, meta: String, owes: Option<String>) -> i64 {
        if self.events >= MOST_EVENTS
            && let Some(at) = self.pieces.iter().position(|piece| matches!(piece, Piece::Event { .. }))
        {
            self.pieces.remove(at);
            self.events -= 1;
        }
        let seq = self.number();
        self.pieces.push_back(Piece::Event { seq, payload, meta, owes });
        self.events += 1;
        seq
    }

    /// Notes how often a watcher has matched by now; written together with the events so far.
    pub fn hit(&mut self, place: usize, hits: i64) {
        // While writing fails only the newest number of each is kept.
        match self.hits.iter_mut().find(|known| known.place == place) {
            Some(known) => known.hits = hits,
            None => self.hits.push(Hit { place, hits }),
        }
    }

    /// When it is time to flush, as the time since the supervisor's start; `None`: nothing waits.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        if self.pieces.is_empty() && self.hits.is_empty() && self.skipped.is_none() && self.refused.is_none() {
            return None;
        }
        if self.retry.is_some() {
            return self.retry;
        }
        let pace = match self.pending {
            FULL.. => Duration::ZERO,
            // A flood of which most goes: nobody could follow it anyway.
            _ if self.skipped.is_some() => PACE,
            MUCH.. => QUICK_PACE,
            _ => PACE,
        };
        let earliest = self.flushed.map_or(Duration::ZERO, |flushed| flushed.saturating_add(pace));
        Some(self.since.unwrap_or_default().max(earliest))
    }

    /// Writes everything that waits. What cannot be written goes on waiting, within bounds, and is tried again when it is
    /// due.
    pub fn flush(&mut self, now: Duration, sink: &mut dyn Sink) {
        let done = self.try_flush(sink) && (!self.say_loss() || self.try_flush(sink));
        if done {
            (self.flushed, self.since, self.retry) = (Some(now), None, None);
        } else {
            self.retry = Some(now.saturating_add(RETRY));
        }
    }

    /// Adds the event that says what could not be kept, now that it can be written; `false` when all was.
    fn say_loss(&mut self) -> bool {
        let Some(Trouble { why, lost: lost @ 1.. }) = self.trouble.take() else { return false };
        let meta = serde_json::json!({ "event": "not_kept", "bytes": lost, "reason": why });
        self.event(format!("{lost} bytes could not be kept: {why}"), meta.to_string(), None);
        true
    }

    /// All that was printed, in bytes, kept or not.
    #[must_use]
    pub const fn output_bytes(&self) -> i64 {
        self.printed[0].saturating_add(self.printed[1])
    }

    /// Whether something of it was left out.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        self.dropped > 0
    }

    /// Why the last flush could not write everything.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_ref().map(|trouble| trouble.why.as_str())
    }

    const fn number(&mut self) -> i64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    /// Cuts bytes into pieces behind what waits.
    fn add(&mut self, stream: ItemType, mut rest: &[u8], origin: &mut i64, head: bool) {
        let most = if head { PIECE } else { PIECE.min(self.part()) };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.pending += rest.len() as u64;
        if !head {
            self.pending_tail += rest.len() as u64;
        }
        while !rest.is_empty() {
            let taken = match self.pieces.back_mut() {
                Some(Piece::Output { stream: last, bytes, is_head, .. })
                    if *last == stream && *is_head == head && bytes.len() < most =>
                {
                    let (now, later) = rest.split_at(rest.len().min(most - bytes.len()));
                    bytes.extend_from_slice(now);
                    rest = later;
                    now.len()
                }
                _ => {
                    let (now, later) = rest.split_at(rest.len().min(most));
                    let mut bytes = self.spares.pop().unwrap_or_default();
                    bytes.extend_from_slice(now);
                    let seq = self.number();
                    self.pieces.push_back(Piece::Output { seq, stream, bytes, origin: *origin, is_head: head });
                    rest = later;
                    now.len()
                }
            };
            *origin = origin.saturating_add(signed(taken as u64));
        }
    }

    /// How large a segment of the tail may grow, in bytes.
    fn part(&self) -> u64 {
        self.tail.div_ceil(PARTS).max(1)
    }

    /// Notes what is left out for good before it reached the disk.
    fn skip(&mut self, seq: i64, bytes: u64) {
        let (first, through) = self.skipped.unwrap_or((seq, seq));
        self.skipped = Some((first.min(seq), through.max(seq)));
        self.dropped = self.dropped.saturating_add(signed(bytes));
    }

    /// Leaves out the oldest that waits, as long as it is more than the tail or the memory holds.
    fn trim(&mut self) {
        while self.pending_tail > self.tail || self.pending > TOO_FULL {
            let is_tail = self.pending_tail > self.tail;
            let oldest = self.pieces.iter().position(|piece| match piece {
                Piece::Output { is_head, .. } => !(is_tail && *is_head),
                Piece::Event { .. } => false,
            });
            let Some(Piece::Output { seq, mut bytes, .. }) = oldest.and_then(|oldest| self.pieces.remove(oldest))
            else {
                return;
            };
            let length = bytes.len() as u64;
            self.pending -= length;
            if is_tail {
                self.pending_tail -= length;
                self.skip(seq, length);
            } else {
                self.lose(length);
            }
            if self.spares.len() < SPARES {
                bytes.clear();
                self.spares.push(bytes);
            }
        }
    }

    /// Writing fails and memory is full: the oldest that waits is gone. What was kept before stays.
    fn lose(&mut self, bytes: u64) {
        self.dropped = self.dropped.saturating_add(signed(bytes));
        let trouble = self.trouble.get_or_insert_with(|| Trouble { why: "it came too fast".into(), lost: 0 });
        trouble.lost += bytes;
        // What follows does not continue the files as they are.
        self.is_open = false;
        self.head_room = 0;
        for piece in &mut self.pieces {
            if let Piece::Output { is_head, .. } = piece {
                *is_head = false;
            }
        }
        self.pending_tail = self.pending;
    }

    fn try_flush(&mut self, sink: &mut dyn Sink) -> bool {
        if let Some((batch, going)) = self.refused.take()
            && !self.submit(batch, going, sink)
        {
            return false;
        }
        if let Some((batch, going)) = self.make_room()
            && !self.submit(batch, going, sink)
        {
            return false;
        }
        let (batch, whole) = self.write_out();
        let is_empty = batch.items.is_empty() && batch.hits.is_empty();
        (is_empty || self.submit(batch, Vec::new(), sink)) && whole
    }

    fn batch(&self) -> Batch {
        Batch {
            next_seq: self.next_seq,
            stdout_bytes: self.printed[0],
            stderr_bytes: self.printed[1],
            ..Batch::default()
        }
    }

    /// Hands a batch over, then removes the files that it says are gone.
    fn submit(&mut self, batch: Batch, going: Vec<(i64, i64)>, sink: &mut dyn Sink) -> bool {
        if let Err(error) = sink.batch(&batch) {
            self.is_troubled(&error);
            self.refused = Some((batch, going));
            return false;
        }
        for (first, last) in going {
            (first..=last).for_each(|segment| segments::remove(&self.folder, segment));
        }
        true
    }

    fn is_troubled(&mut self, why: &impl ToString) {
        let why = why.to_string();
        match &mut self.trouble {
            Some(trouble) => trouble.why = why,
            None => self.trouble = Some(Trouble { why, lost: 0 }),
        }
    }

    /// Lets the oldest segments go until what waits has room beside the others; `None` when it has.
    fn make_room(&mut self) -> Option<(Batch, Vec<(i64, i64)>)> {
        let mut kept: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let (mut first_seq, mut through_seq) = (i64::MAX, 0);
        let mut going = Vec::new();
        // What was skipped lies behind all of them: they cannot stay.
        while (kept + self.pending_tail > self.tail || self.skipped.is_some())
            && let Some(oldest) = self.segments.pop_front()
        {
            kept -= oldest.bytes;
            self.dropped = self.dropped.saturating_add(signed(oldest.bytes));
            (first_seq, through_seq) = (first_seq.min(oldest.first_seq), through_seq.max(oldest.through_seq));
            going.push((oldest.first, oldest.last));
        }
        if let Some((first, through)) = self.skipped.take() {
            (first_seq, through_seq) = (first_seq.min(first), through_seq.max(through));
        }
        if self.segments.is_empty() {
            self.is_open = false;
        }
        let gap = Gap { first_seq, through_seq, dropped_bytes: self.dropped };
        (through_seq > 0).then(|| (Batch { gap: Some(gap), ..self.batch() }, going))
    }

    /// Writes the bytes that wait; answers the batch of what was written, and whether that was everything.
    fn write_out(&mut self) -> (Batch, bool) {
        let mut batch = self.batch();
        let mut room = if self.pending > 0 { self.has_room() } else { Ok(()) };
        while let Some(piece) = self.pieces.pop_front() {
            match piece {
                Piece::Event { seq, payload, meta, owes } => {
                    self.events -= 1;
                    batch.items.push(NewItem::Event { seq, payload, meta, owes });
                }
                Piece::Output { seq, stream, mut bytes, origin, is_head } => {
                    let room = std::mem::replace(&mut room, Ok(()));
                    match room.and_then(|()| self.write(seq, stream, &bytes, is_head)) {
                        Ok((segment, start)) => {
                            let length = signed(bytes.len() as u64);
                            batch.items.push(NewItem::Output { seq, stream, segment, start, length, origin });
                        }
                        Err(error) => {
                            self.pieces.push_front(Piece::Output { seq, stream, bytes, origin, is_head });
                            self.is_troubled(&error);
                            return (batch, false);
                        }
                    }
                    self.pending -= bytes.len() as u64;
                    if !is_head {
                        self.pending_tail -= bytes.len() as u64;
                    }
                    if self.spares.len() < SPARES {
                        bytes.clear();
                        self.spares.push(bytes);
                    }
                }
            }
        }
        // Only with all the events that they count.
        batch.hits = std::mem::take(&mut self.hits);
        (batch, true)
    }

    /// Whether the disk takes what waits, and a little more.
    fn has_room(&self) -> io::Result<()> {
        let path = self.folder.path();
        // What cannot be told shows when it is written.
        let reserve = disk::size(path).map_or(0, |size| RESERVE.min(size / RESERVED));
        let is_short = disk::free(path).is_ok_and(|free| free < reserve.saturating_add(self.pending));
        if is_short { Err(Errno::ENOSPC.into()) } else { Ok(()) }
    }

    fn write(&mut self, seq: i64, stream: ItemType, bytes: &[u8], is_head: bool) -> io::Result<(i64, i64)> {
        let length = bytes.len() as u64;
        let part = self.part();
        let open = self.segments.back().filter(|last| self.is_open && last.bytes + length <= part);
        let segment = match open {
            _ if is_head => 0,
            Some(last) => last.last,
            None => self.next_segment,
        };
        let writing = &mut self.writing[index(stream)];
        if writing.as_ref().is_none_or(|writing| writing.segment() != segment) {
            *writing = Some(Writing::open(&self.folder, stream, segment)?);
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
        Ok((segment, signed(start)))
    }
}

#[cfg(test)]
mod tests;
