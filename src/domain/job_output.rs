//! The output of a job, the watchers of it and the events in it, on their way into the store and out of it.

use super::{
    id::Label,
    job::{ItemType, JobId},
    string_enum::string_enum,
};
use crate::env::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewItem {
    /// Bytes that lie in the segment files of a stream by now.
    Output {
        /// Its place in the order of all items of the run, from 1.
        seq: i64,
        /// stdout or stderr.
        stream: ItemType,
        /// Which segment file of that stream.
        segment: i64,
        /// Where in that file, in bytes.
        start: i64,
        length: i64,
        /// How many bytes of its stream were printed before it.
        origin: i64,
    },
    /// Something that was noticed.
    Event {
        /// Its place, likewise.
        seq: i64,
        /// Its text: for a match, the line; masked and of limited length.
        payload: String,
        /// Particulars, as the text of a JSON object with at least `event`.
        meta: String,
        /// The key of the notification that is pending for the job's session.
        notification_key: Option<String>,
    },
}

/// A watcher has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatcherHit {
    pub watcher: usize,
    pub count: i64,
}

/// The gap between head and tail: output items from `first_seq` to `through_seq` go, an item that says so takes the place of
/// the last one. Events in between stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first item that is gone.
    pub first_seq: i64,
    /// The last item that is gone; the gap's own item gets its place.
    pub through_seq: i64,
    /// All bytes that were left out since the run began.
    pub dropped_bytes: i64,
}

/// The items of one transaction, after their bytes lie in the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub items: Vec<NewItem>,
    pub hits: Vec<WatcherHit>,
    /// The gap as it is now, when it has grown.
    pub gap: Option<Gap>,
    /// The number that the next item will have.
    pub next_seq: i64,
    /// All that stdout has brought so far, in bytes, kept or not.
    pub stdout_bytes: i64,
    /// All that stderr has brought so far.
    pub stderr_bytes: i64,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Bytes in the segment files of a stream.
    Output {
        /// Which segment file of that stream.
        segment: i64,
        /// Where in that file, in bytes.
        start: i64,
        length: i64,
        /// How many bytes of its stream were printed before it: the item before follows on without a hole when it ends there.
        origin: i64,
    },
    /// Something that was noticed: its text, and its particulars as JSON text.
    Event {
        payload: String,
        /// Particulars, as the text of a JSON object.
        meta: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its place in the order of all items of the run, from 1. Never given twice.
    pub seq: i64,
    pub kind: ItemType,
    pub content: Content,
    pub created_at: Timestamp,
}

/// How much a run has printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// The number that the next item will have.
    pub next_seq: i64,
    /// All that stdout has brought, in bytes.
    pub stdout_bytes: i64,
    /// All that stderr has brought.
    pub stderr_bytes: i64,
    /// The bytes of both streams that are missing between head and tail.
    pub dropped_bytes: i64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { next_seq: 1, stdout_bytes: 0, stderr_bytes: 0, dropped_bytes: 0 }
    }
}

/// A watcher as it stands: how often it has matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatcherState {
    /// The condition that it looks for.
    pub watcher: Watcher,
    pub match_count: i64,
}

/// An event whose message has not been handed over yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingNotification {
    pub job: JobId,
    /// The event's place in it.
    pub seq: i64,
    pub key: String,
    pub payload: String,
    /// Its particulars, as the text of a JSON object.
    pub meta: String,
}

string_enum! {
    /// The stream that is watched.
    WatchScope { Stdout => "stdout", Stderr => "stderr", Both => "both" }
}

/// How many watchers a run has at most.
pub const MAX_WATCHERS: usize = 16;
/// How long a watcher's expression is at most, in bytes.
pub const MAX_REGEX_BYTES: usize = 256;

/// Something to look for in each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watcher {
    pub regex: String,
    pub event: Label,
    /// Whether the first match is the last one that counts.
    pub once: bool,
    /// The stream that is watched.
    pub scope: WatchScope,
}
