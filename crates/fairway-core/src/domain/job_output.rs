//! The output of a job, its watchers, and the events in the output, as they are written to the store and read from it.

use super::id::Label;
use super::job::{ItemType, JobId};
use super::string_enum::string_enum;
use crate::env::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewItem {
    /// Bytes that are already in the segment files of a stream.
    Output {
        /// Its number among all items of the job, from 1.
        seq: i64,
        /// stdout or stderr.
        stream: ItemType,
        /// The number of the segment file of that stream.
        segment: i64,
        /// The place in that file, in bytes.
        start: i64,
        length: i64,
        /// How many bytes of its stream were printed before it.
        origin: i64,
    },
    /// An event, such as the match of a watcher.
    Event {
        /// Its number among all items of the job, from 1.
        seq: i64,
        /// Its text: for a match, the line; masked and of limited length.
        payload: String,
        /// The details: the text of a JSON object with at least `event`.
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

/// The gap between the kept beginning and the kept end of the output: the output items from `first_seq` to `through_seq` are
/// removed, and an item about the gap takes the place of the last one. Events in between stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first item that is removed.
    pub first_seq: i64,
    /// The last item that is removed; the item about the gap gets its number.
    pub through_seq: i64,
    /// All bytes that were left out since the job started.
    pub dropped_bytes: i64,
}

/// The items of one transaction; their bytes are in the files already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub items: Vec<NewItem>,
    pub hits: Vec<WatcherHit>,
    /// The gap after this batch; `None` when it has not grown.
    pub gap: Option<Gap>,
    /// The number that the next item will have.
    pub next_seq: i64,
    /// All bytes that stdout has printed so far, kept or not.
    pub stdout_bytes: i64,
    /// All bytes that stderr has printed so far, kept or not.
    pub stderr_bytes: i64,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Bytes in the segment files of a stream.
    Output {
        /// The number of the segment file of that stream.
        segment: i64,
        /// The place in that file, in bytes.
        start: i64,
        length: i64,
        /// How many bytes of its stream were printed before it. If the item before ends there, nothing is missing between the
        /// two.
        origin: i64,
    },
    /// An event with its text, and with its details as JSON text.
    Event {
        payload: String,
        /// The details: the text of a JSON object.
        meta: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number among all items of the job, from 1. A number is never used again.
    pub seq: i64,
    pub kind: ItemType,
    pub content: Content,
    pub created_at: Timestamp,
}

/// How much a job has printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// The number that the next item will have.
    pub next_seq: i64,
    /// All bytes that stdout has printed.
    pub stdout_bytes: i64,
    /// All bytes that stderr has printed.
    pub stderr_bytes: i64,
    /// The bytes of both streams that are missing between the kept beginning and the kept end.
    pub dropped_bytes: i64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { next_seq: 1, stdout_bytes: 0, stderr_bytes: 0, dropped_bytes: 0 }
    }
}

/// A watcher with the number of its matches.
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
    /// The event's number among the items of its job.
    pub seq: i64,
    pub key: String,
    pub payload: String,
    /// The details: the text of a JSON object.
    pub meta: String,
}

string_enum! {
    /// The stream that is watched.
    WatchScope { Stdout => "stdout", Stderr => "stderr", Both => "both" }
}

/// How many watchers a job has at most.
pub const MAX_WATCHERS: usize = 16;
/// How long a watcher's expression is at most, in bytes.
pub const MAX_REGEX_BYTES: usize = 256;

/// A condition that is looked for in each line of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watcher {
    pub regex: String,
    pub event: Label,
    /// Whether only the first match counts.
    pub once: bool,
    /// The stream that is watched.
    pub scope: WatchScope,
}
