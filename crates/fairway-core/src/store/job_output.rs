//! The output of jobs: `runs.db` beside the store. Its rows locate the bytes in the output files. A power failure may lose
//! the newest rows, but no job's state.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::open::{self, prepare_close};
use super::sql::{self, Row, ToValue};
use super::{StoreError, integrity, schema};
use crate::domain::job::{ItemType, JobId};
use crate::domain::job_output::{
    Batch, Content, Gap, Item, NewItem, PendingNotification, Totals, Watcher, WatcherHit, WatcherState,
};
use crate::env::Timestamp;

const TOTALS: &str = "SELECT next_seq, stdout_bytes, stderr_bytes, dropped_bytes FROM exec_outputs WHERE run = $1";
const SET_TOTALS: &str = "INSERT INTO exec_outputs (run, next_seq, stdout_bytes, stderr_bytes) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (run) DO UPDATE SET next_seq = max(next_seq, $2), stdout_bytes = max(stdout_bytes, $3), \
     stderr_bytes = max(stderr_bytes, $4)";
const NEXT_SEQ: &str = "INSERT INTO exec_outputs (run, next_seq) VALUES ($1, 2) \
     ON CONFLICT (run) DO UPDATE SET next_seq = next_seq + 1 RETURNING next_seq - 1";
const INSERT_OUTPUT: &str = "INSERT INTO exec_run_items (run, seq, type, segment, start, length, origin, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (run, seq) DO NOTHING";
const INSERT_EVENT: &str = "INSERT INTO exec_run_items (run, seq, type, payload, meta, owes, created_at) \
     VALUES ($1, $2, 'event', $3, $4, $5, $6) ON CONFLICT (run, seq) DO NOTHING";
const DELETE_GAP_ITEM: &str = "DELETE FROM exec_run_items WHERE run = $1 \
     AND seq = (SELECT gap_seq FROM exec_outputs WHERE run = $1)";
/// The first segment holds the head of the output, which is kept.
const DELETE_OMITTED: &str = "DELETE FROM exec_run_items WHERE run = $1 AND seq BETWEEN $2 AND $3 \
     AND type <> 'event' AND segment > 0";
const SET_GAP: &str = "UPDATE exec_outputs SET dropped_bytes = $2, gap_seq = $3 WHERE run = $1";
const SET_MATCH_COUNT: &str = "UPDATE exec_watchers SET hits = max(hits, $3) WHERE run = $1 AND place = $2";
const DELETE_JOB: [&str; 3] = [
    "DELETE FROM exec_run_items WHERE run = $1",
    "DELETE FROM exec_watchers WHERE run = $1",
    "DELETE FROM exec_outputs WHERE run = $1",
];

macro_rules! select {
    ($rest:literal) => {
        select!("", $rest)
    };
    ($index:literal, $rest:literal) => {
        concat!(
            "SELECT seq, type, segment, start, length, origin, payload, meta, created_at FROM exec_run_items ",
            $index,
            " WHERE run = $1 ",
            $rest
        )
    };
}

const SINCE: &str = select!("AND seq > $2 ORDER BY seq LIMIT $3");
const SINCE_IN_STREAM: &str = select!("AND seq > $2 AND type = $4 ORDER BY seq LIMIT $3");
const EVENTS_SINCE: &str =
    select!("INDEXED BY exec_run_items_events", "AND seq > $2 AND type = 'event' ORDER BY seq LIMIT $3");
const NEWEST_BEFORE: &str = select!("AND seq < $2 AND type <> 'event' ORDER BY seq DESC LIMIT $3");
const BEFORE_IN_STREAM: &str = select!("AND seq < $2 AND type = $4 ORDER BY seq DESC LIMIT $3");
const NEWEST_EVENT: &str = "SELECT seq FROM exec_run_items INDEXED BY exec_run_items_events \
     WHERE run = $1 AND seq > $2 AND type = 'event' ORDER BY seq DESC LIMIT 1";
const NEWEST_OUTPUT: &str =
    "SELECT seq FROM exec_run_items WHERE run = $1 AND seq > $2 AND type <> 'event' ORDER BY seq DESC LIMIT 1";

const PENDING: &str = "SELECT run, seq, owes, payload, meta FROM exec_run_items INDEXED BY exec_run_items_owing \
     WHERE owes IS NOT NULL ORDER BY run, seq LIMIT $1";
const PENDING_OF_RUN: &str = "SELECT run, seq, owes, payload, meta FROM exec_run_items INDEXED BY exec_run_items_owing \
     WHERE owes IS NOT NULL AND run = $1 ORDER BY seq";
const ACKNOWLEDGE: &str = "UPDATE exec_run_items SET owes = NULL WHERE run = $1 AND seq = $2 AND owes IS NOT NULL";

const INSERT_WATCHER: &str = "INSERT INTO exec_watchers (run, place, regex, event, once, scope) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (run, place) DO NOTHING";
const WATCHERS: &str = "SELECT regex, event, once, scope, hits FROM exec_watchers WHERE run = $1 ORDER BY place";

fn read_item(row: &Row<'_>) -> Result<Item, StoreError> {
    let kind = row.get(1)?;
    let content = if kind == ItemType::Event {
        Content::Event { payload: row.get(6)?, meta: row.get(7)? }
    } else {
        Content::Output { segment: row.get(2)?, start: row.get(3)?, length: row.get(4)?, origin: row.get(5)? }
    };
    Ok(Item { seq: row.get(0)?, kind, content, created_at: row.get::<Timestamp>(8)? })
}

fn read_pending(row: &Row<'_>) -> Result<PendingNotification, StoreError> {
    let run = row.get::<[u8; 16]>(0)?;
    Ok(PendingNotification {
        job: JobId::new(uuid::Uuid::from_bytes(run)),
        seq: row.get(1)?,
        key: row.get(2)?,
        payload: row.get(3)?,
        meta: row.get(4)?,
    })
}

fn read_watcher(row: &Row<'_>) -> Result<WatcherState, StoreError> {
    let watcher = Watcher { regex: row.get(0)?, event: row.get(1)?, once: row.get(2)?, scope: row.get(3)? };
    Ok(WatcherState { watcher, match_count: row.get(4)? })
}

/// The open output store: one connection, used by one thread.
#[derive(Debug)]
pub struct OutputStore {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    /// Whether a WAL file existed before this process opened the file.
    wal_was_there: bool,
}

impl OutputStore {
    /// Opens the file for reading and writing, and creates it if it is missing. Any number of processes may do so at once.
    ///
    /// # Errors
    /// When the file cannot be created, or cannot be used: it has a newer schema, is damaged, comes from another program, belongs
    /// to another user, or is on a network file system.
    pub fn open_for_writing(path: &Path) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            open::create(path, &schema::OUTPUT)?;
        }
        Self::open(path)
    }

    /// Opens the file for reading. Returns `None` when it is missing, because no job has printed anything.
    pub fn open_for_reading(path: &Path) -> Result<Option<Self>, StoreError> {
        if open::is_absent(path)? { Ok(None) } else { Self::open(path).map(Some) }
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        let wal_was_there = open::wal_size(path).is_some();
        let conn = open::open_existing(path, &schema::OUTPUT)?;
        Ok(Self { conn, path: path.to_path_buf(), wal_was_there })
    }

    /// Sets how long later calls wait for other processes; `None` restores the default. For callers that have other work and try
    /// again later.
    pub fn set_busy_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        Ok(self.conn.busy_timeout(timeout.unwrap_or(open::BUSY_TIMEOUT))?)
    }

    /// Runs `change` as one IMMEDIATE transaction, which excludes other writers from its start.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        let done = change(&tx).map_err(|error| error.with_path(&self.path))?;
        tx.commit()?;
        Ok(done)
    }

    /// Writes a batch of a job's output and of its watchers' matches, in one transaction. A batch that is written again has no
    /// further effect.
    pub fn apply(&self, job: &JobId, batch: &Batch, now: Timestamp) -> Result<(), StoreError> {
        self.write(|conn| {
            let values: &[&dyn ToValue] = &[job.bytes(), &batch.next_seq, &batch.stdout_bytes, &batch.stderr_bytes];
            sql::execute(conn, SET_TOTALS, values)?;
            for item in &batch.items {
                insert_item(conn, job, item, now)?;
            }
            for WatcherHit { watcher, count } in &batch.hits {
                set_match_count(conn, job, *watcher, *count)?;
            }
            match &batch.gap {
                Some(gap) => record_gap(conn, job, gap, now),
                None => Ok(()),
            }
        })
    }

    /// Appends an event after the job's output; returns its sequence number. For processes other than the job's supervisor.
    /// `notification_key` marks the event as a pending notification.
    pub fn append_event(
        &self,
        job: &JobId,
        payload: &str,
        meta: &str,
        notification_key: Option<&str>,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        self.write(|conn| {
            let seq = sql::first(conn, NEXT_SEQ, &[job.bytes()], |row| row.get(0))?.unwrap_or_default();
            sql::execute(conn, INSERT_EVENT, &[job.bytes(), &seq, &payload, &meta, &notification_key, &now])?;
            Ok(seq)
        })
    }

    /// How much a job has printed, and how much of that was dropped.
    pub fn totals(&self, job: &JobId) -> Result<Totals, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(Totals {
                next_seq: row.get(0)?,
                stdout_bytes: row.get(1)?,
                stderr_bytes: row.get(2)?,
                dropped_bytes: row.get(3)?,
            })
        };
        sql::first(&self.conn, TOTALS, &[job.bytes()], read)
            .map(Option::unwrap_or_default)
            .map_err(|error| error.with_path(&self.path))
    }

    fn query(&self, statement: &str, values: &[&dyn ToValue]) -> Result<Vec<Item>, StoreError> {
        sql::rows(&self.conn, statement, values, read_item).map_err(|error| error.with_path(&self.path))
    }

    /// At most `limit` items after `since_seq`, in order, only of the type `stream` if it is given. The second value tells
    /// whether there are more.
    pub fn items(
        &self,
        run: &JobId,
        since_seq: i64,
        limit: usize,
        stream: Option<ItemType>,
    ) -> Result<(Vec<Item>, bool), StoreError> {
        let most = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let mut found = match stream {
            None => self.query(SINCE, &[run.bytes(), &since_seq, &most])?,
            Some(ItemType::Event) => self.query(EVENTS_SINCE, &[run.bytes(), &since_seq, &most])?,
            Some(stream) => self.query(SINCE_IN_STREAM, &[run.bytes(), &since_seq, &most, &stream])?,
        };
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok((found, has_more))
    }

    /// At most `limit` output items before the sequence number `before`, newest first.
    pub fn newest_before(&self, run: &JobId, before: i64, limit: i64) -> Result<Vec<Item>, StoreError> {
        self.query(NEWEST_BEFORE, &[run.bytes(), &before, &limit])
    }

    /// The items of a stream before the sequence number `seq`, newest first, at most `limit`.
    pub fn before_in_stream(
        &self,
        run: &JobId,
        stream: ItemType,
        seq: i64,
        limit: i64,
    ) -> Result<Vec<Item>, StoreError> {
        self.query(BEFORE_IN_STREAM, &[run.bytes(), &seq, &limit, &stream])
    }

    /// The sequence number of the newest event after `since_seq`, or of the newest output when `events` is false; `None` when
    /// there is none.
    pub fn newest_after(&self, run: &JobId, since_seq: i64, events: bool) -> Result<Option<i64>, StoreError> {
        let statement = if events { NEWEST_EVENT } else { NEWEST_OUTPUT };
        sql::first(&self.conn, statement, &[run.bytes(), &since_seq], |row| row.get(0))
            .map_err(|error| error.with_path(&self.path))
    }

    /// The events with a pending notification, of all jobs, at most `limit`.
    pub fn pending_notifications(&self, limit: i64) -> Result<Vec<PendingNotification>, StoreError> {
        sql::rows(&self.conn, PENDING, &[&limit], read_pending).map_err(|error| error.with_path(&self.path))
    }

    /// Every event of a job with a pending notification, in order.
    pub fn pending_notifications_of(&self, run: &JobId) -> Result<Vec<PendingNotification>, StoreError> {
        sql::rows(&self.conn, PENDING_OF_RUN, &[run.bytes()], read_pending).map_err(|error| error.with_path(&self.path))
    }

    /// Marks the notification of an event as sent.
    pub fn acknowledge_notification(&self, run: &JobId, seq: i64) -> Result<(), StoreError> {
        self.write(|conn| sql::execute(conn, ACKNOWLEDGE, &[run.bytes(), &seq]).map(drop))
    }

    pub fn add_watchers(&self, job: &JobId, watchers: &[Watcher]) -> Result<(), StoreError> {
        if watchers.is_empty() {
            return Ok(());
        }
        self.write(|conn| {
            for (place, watcher) in (0_i64..).zip(watchers) {
                let values: &[&dyn ToValue] =
                    &[job.bytes(), &place, &watcher.regex, &watcher.event, &watcher.once, &watcher.scope];
                sql::execute(conn, INSERT_WATCHER, values)?;
            }
            Ok(())
        })
    }

    /// The watchers of a job, in their order, with their match counts.
    pub fn watchers(&self, job: &JobId) -> Result<Vec<WatcherState>, StoreError> {
        sql::rows(&self.conn, WATCHERS, &[job.bytes()], read_watcher).map_err(|error| error.with_path(&self.path))
    }

    /// The errors that SQLite's own checks find in the file. Empty if there are none.
    pub fn integrity_errors(&self) -> Result<Vec<String>, StoreError> {
        integrity::database_errors(&self.conn)
    }

    pub fn delete_job(&self, job: &JobId) -> Result<(), StoreError> {
        self.write(|conn| {
            for statement in DELETE_JOB {
                sql::execute(conn, statement, &[job.bytes()])?;
            }
            Ok(())
        })
    }
}

fn insert_item(conn: &Connection, job: &JobId, item: &NewItem, now: Timestamp) -> Result<(), StoreError> {
    let now = now.millis();
    match item {
        NewItem::Output { seq, stream, segment, start, length, origin } => {
            let values: &[&dyn ToValue] = &[job.bytes(), seq, &stream, segment, start, length, origin, &now];
            sql::execute(conn, INSERT_OUTPUT, values)
        }
        NewItem::Event { seq, payload, meta, notification_key } => {
            sql::execute(conn, INSERT_EVENT, &[job.bytes(), seq, payload, meta, notification_key, &now])
        }
    }
    .map(drop)
}

/// Replaces the dropped output items by one event that gives the number of dropped bytes.
fn record_gap(conn: &Connection, job: &JobId, gap: &Gap, now: Timestamp) -> Result<(), StoreError> {
    sql::execute(conn, DELETE_GAP_ITEM, &[job.bytes()])?;
    sql::execute(conn, DELETE_OMITTED, &[job.bytes(), &gap.first_seq, &gap.through_seq])?;
    let item = NewItem::Event {
        seq: gap.through_seq,
        payload: format!("{} bytes left out", gap.dropped_bytes),
        meta: format!("{{\"event\":\"gap\",\"bytes\":{}}}", gap.dropped_bytes),
        notification_key: None,
    };
    insert_item(conn, job, &item, now)?;
    sql::execute(conn, SET_GAP, &[job.bytes(), &gap.dropped_bytes, &gap.through_seq]).map(drop)
}

/// Sets how often a watcher has matched. The count never falls.
fn set_match_count(conn: &Connection, job: &JobId, watcher: usize, count: i64) -> Result<(), StoreError> {
    sql::execute(conn, SET_MATCH_COUNT, &[job.bytes(), &i64::try_from(watcher).unwrap_or(i64::MAX), &count]).map(drop)
}

impl Drop for OutputStore {
    fn drop(&mut self) {
        prepare_close(&self.conn, &self.path, self.wal_was_there);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Label;
    use crate::domain::job_output::WatchScope;

    const NOW: Timestamp = Timestamp::from_millis(7);

    fn store() -> (tempfile::TempDir, OutputStore) {
        let home = tempfile::tempdir().unwrap();
        let store = OutputStore::open_for_writing(&home.path().join("runs.db")).unwrap();
        (home, store)
    }

    fn run(last: u8) -> JobId {
        JobId::parse(&format!("0193b0c0-7e6a-7a5b-8c3d-aabbccddee{last:02x}")).unwrap()
    }

    fn printed(seq: i64, segment: i64) -> NewItem {
        NewItem::Output { seq, stream: ItemType::Stdout, segment, start: 0, length: 10, origin: seq * 10 }
    }

    fn noticed(seq: i64, key: Option<&str>) -> NewItem {
        NewItem::Event {
            seq,
            payload: "p".into(),
            meta: "{\"event\":\"e\"}".into(),
            notification_key: key.map(str::to_owned),
        }
    }

    fn batch(items: Vec<NewItem>, next_seq: i64) -> Batch {
        Batch { items, next_seq, stdout_bytes: next_seq * 10, ..Batch::default() }
    }

    fn seqs(store: &OutputStore, run: &JobId) -> Vec<(i64, ItemType)> {
        store.items(run, 0, 100, None).unwrap().0.iter().map(|item| (item.seq, item.kind)).collect()
    }

    #[test]
    fn file_that_is_not_there_is_not_made_by_reading() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("runs.db");
        assert!(OutputStore::open_for_reading(&path).unwrap().is_none());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        // The state's own file is not taken for it, nor the other way round.
        drop(crate::store::Store::open_for_writing(&path, home.path(), None).unwrap());
        assert!(matches!(OutputStore::open_for_reading(&path), Err(StoreError::Foreign { .. })));
        let other = home.path().join("other.db");
        drop(OutputStore::open_for_writing(&other).unwrap());
        assert!(matches!(
            crate::store::Store::open_for_reading(&other, home.path(), None),
            Err(StoreError::Foreign { .. })
        ));
    }

    #[test]
    fn batch_that_comes_again_is_written_once() {
        let (_home, store) = store();
        let batch = batch(vec![printed(1, 0), noticed(2, Some("k"))], 3);
        store.apply(&run(1), &batch, NOW).unwrap();
        store.acknowledge_notification(&run(1), 2).unwrap();
        store.apply(&run(1), &batch, NOW).unwrap();
        assert_eq!(seqs(&store, &run(1)), [(1, ItemType::Stdout), (2, ItemType::Event)]);
        assert_eq!(store.pending_notifications(9).unwrap(), []);
        assert_eq!(store.totals(&run(1)).unwrap(), Totals { next_seq: 3, stdout_bytes: 30, ..Totals::default() });
        assert_eq!(store.append_event(&run(1), "x", "{}", Some("k2"), NOW).unwrap(), 3);
        assert_eq!(store.append_event(&run(2), "x", "{}", None, NOW).unwrap(), 1);
        assert_eq!(store.pending_notifications_of(&run(1)).unwrap()[0].key, "k2");
    }

    #[test]
    fn items_are_filtered_before_they_are_limited_and_since_is_exclusive() {
        let (_home, store) = store();
        store.apply(&run(1), &batch((1..=9).map(|seq| printed(seq, 0)).collect(), 10), NOW).unwrap();
        store.apply(&run(1), &batch(vec![noticed(10, None), printed(11, 0)], 12), NOW).unwrap();
        store.apply(&run(2), &batch(vec![noticed(1, None)], 2), NOW).unwrap();
        let ask = |since, limit, stream| {
            let (items, more) = store.items(&run(1), since, limit, stream).unwrap();
            (items.iter().map(|item| item.seq).collect::<Vec<_>>(), more)
        };
        assert_eq!(ask(0, 2, None), (vec![1, 2], true));
        assert_eq!(ask(9, 2, None), (vec![10, 11], false));
        assert_eq!(ask(11, 2, None), (vec![], false));
        assert_eq!(ask(0, 1, Some(ItemType::Event)), (vec![10], false));
        assert_eq!(ask(8, 1, Some(ItemType::Stdout)), (vec![9], true));
        assert_eq!(store.newest_after(&run(1), 3, true).unwrap(), Some(10));
        assert_eq!(store.newest_after(&run(1), 10, true).unwrap(), None);
        assert_eq!(store.newest_after(&run(1), 10, false).unwrap(), Some(11));
    }

    #[test]
    fn gap_grows_in_one_place_and_spares_head_and_events() {
        let (_home, store) = store();
        let items = vec![printed(1, 0), printed(2, 1), noticed(3, None), printed(4, 1), printed(5, 2), printed(6, 3)];
        store.apply(&run(1), &batch(items, 7), NOW).unwrap();
        let gap = |first_seq, through_seq, dropped_bytes| Batch {
            gap: Some(Gap { first_seq, through_seq, dropped_bytes }),
            ..batch(Vec::new(), 7)
        };
        store.apply(&run(1), &gap(2, 4, 20), NOW).unwrap();
        let of = |seqs: &[(i64, ItemType)]| seqs.iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
        assert_eq!(of(&seqs(&store, &run(1))), [1, 3, 4, 5, 6]);
        // From the very first, as after another beginning: the head stays all the same.
        store.apply(&run(1), &gap(1, 5, 30), NOW).unwrap();
        store.apply(&run(1), &gap(1, 5, 30), NOW).unwrap();
        assert_eq!(of(&seqs(&store, &run(1))), [1, 3, 5, 6]);
        let (items, _) = store.items(&run(1), 3, 1, None).unwrap();
        assert_eq!(
            items[0].content,
            Content::Event { payload: "30 bytes left out".into(), meta: "{\"event\":\"gap\",\"bytes\":30}".into() }
        );
        assert_eq!(store.totals(&run(1)).unwrap().dropped_bytes, 30);
        store.delete_job(&run(1)).unwrap();
        assert_eq!((seqs(&store, &run(1)), store.totals(&run(1)).unwrap()), (vec![], Totals::default()));
    }

    #[test]
    fn watchers_keep_their_order_and_their_hits() {
        let (_home, store) = store();
        let watcher = |regex: &str| Watcher {
            regex: regex.into(),
            event: Label::parse("found").unwrap(),
            once: true,
            scope: WatchScope::Both,
        };
        let all: Vec<Watcher> = (0..16).map(|number| watcher(&number.to_string())).collect();
        store.add_watchers(&run(1), &all).unwrap();
        let hits = vec![WatcherHit { watcher: 11, count: 3 }];
        store.apply(&run(1), &Batch { hits, ..batch(vec![noticed(1, None)], 2) }, NOW).unwrap();
        let found = store.watchers(&run(1)).unwrap();
        assert_eq!(found.iter().map(|standing| standing.watcher.clone()).collect::<Vec<_>>(), all);
        assert_eq!(found.iter().map(|standing| standing.match_count).sum::<i64>(), found[11].match_count);
        assert_eq!(found[11].match_count, 3);
    }
}
