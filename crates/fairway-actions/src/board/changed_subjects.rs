//! The subjects of the events since a board was composed.

use std::collections::BTreeSet;

use anyhow::Result;

use fairway_core::domain::{EventKind, SessionId, TaskId};
use fairway_core::store::{ReadTx, events};

/// After more events than this, everything is read again.
const MAX_EVENTS: i64 = 2_000;

/// The parts of the board that may have changed since it was last composed.
#[derive(Debug, Default)]
pub(super) struct News {
    pub seq: i64,
    /// Whether everything may have changed.
    pub everything: bool,
    pub tasks: BTreeSet<TaskId>,
    pub sessions: BTreeSet<SessionId>,
    pub lanes: bool,
    pub messages: bool,
}

impl News {
    /// Reads which tasks, sessions and lanes the events after `seq` are about. Without `seq`, or after too many events,
    /// everything counts as changed.
    pub(super) fn since(tx: &ReadTx<'_>, seq: Option<i64>) -> Result<Self> {
        let newest = events::last_seq(tx)?;
        let everything = || Self { seq: newest, everything: true, ..Self::default() };
        // A store that was restored may have fewer events.
        let Some(since) = seq.filter(|seq| *seq <= newest && newest - seq <= MAX_EVENTS) else {
            return Ok(everything());
        };
        let mut news = Self { seq: newest, ..Self::default() };
        for event in events::subjects_since(tx, since, MAX_EVENTS)? {
            let task = event.task.as_deref().map(TaskId::parse).transpose();
            let session = event.session.as_deref().map(SessionId::parse).transpose();
            let (Ok(task), Ok(session)) = (task, session) else { return Ok(everything()) };
            news.tasks.extend(task);
            news.sessions.extend(session);
            match event.kind.split_once('.').map_or("", |(noun, _)| noun) {
                // An event kind of a newer version may mean anything.
                _ if EventKind::parse(&event.kind).is_none() => return Ok(everything()),
                "store" => return Ok(everything()),
                "lane" => news.lanes = true,
                "message" => news.messages = true,
                _ => {}
            }
        }
        Ok(news)
    }
}
