//! Backup and restore of the whole store, and what follows a restore by the tools of its engine.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::claim_epochs::{EPOCH_JUMP, highest_epoch, renew_claims};
use super::error::Loss;
use super::progress::{self, Progress};
use super::schema::{self, STATE};
use super::sql::{self, Statement};
use super::{ReadTx, Store, StoreError, WriteTx, integrity, open, sibling_path};
use crate::domain::{Event, EventKind};
use crate::env::{Clock, Timestamp};
use crate::os::{files, notify};
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    pub bytes: u64,
    pub tasks: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    pub kept: Option<PathBuf>,
    pub tasks: i64,
    /// The new epoch of every task.
    pub epoch: i64,
}

/// The largest epoch of a backup.
const MAX_EPOCH: i64 = i64::MAX / 2;

const TABLES: &str = "SELECT name FROM restored.sqlite_schema WHERE type = 'table' \
     AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name <> 'refinery_schema_history' ORDER BY name";
const USED_IDS: &str = "SELECT id, removed_at FROM removed_tasks";
const KEEP_USED_ID: &str = "INSERT OR IGNORE INTO removed_tasks (id, removed_at) SELECT $1, $2 \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = $1)";

/// A private draft file. Dropping it removes the file and SQLite's files beside it, unless it was renamed.
pub(super) struct DraftFile {
    pub path: PathBuf,
}

impl DraftFile {
    /// Creates an empty draft in the directory of its target, so that a rename can put it in the target's place.
    pub fn create_for(target: &Path) -> Result<Self, StoreError> {
        // Only a part of the target's name: the whole name must not exceed the file system's limit.
        let name: String =
            target.file_name().map(|name| name.to_string_lossy().chars().take(40).collect()).unwrap_or_default();
        let path = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        open::remove_database_files(&path)?;
        files::private_file(&path).map_err(|error| StoreError::io(path.display().to_string(), error))?;
        Ok(Self { path })
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        let _ = open::remove_database_files(&self.path);
    }
}

/// Writes a complete, checked copy of the store to the new file `target`; with `replace`, an existing file is replaced.
/// After an error there is no new file.
pub fn back_up(store: &Store, target: &Path, replace: bool) -> Result<BackupReport, StoreError> {
    let draft = DraftFile::create_for(target)?;
    copy_pages(&store.file()?.conn, &draft.path)?;
    let tasks = {
        let conn = open::open_checked(&draft.path, &STATE)?;
        check_backup(&conn, &draft.path)?;
        integrity::count_tasks(&ReadTx::from_connection(&conn))?
    };
    let io = |error| StoreError::io(target.display().to_string(), error);
    let file = fs::File::open(&draft.path).map_err(io)?;
    file.sync_all().map_err(io)?;
    let done = if replace { fs::rename(&draft.path, target) } else { files::rename_noreplace(&draft.path, target) };
    done.map_err(io)?;
    files::sync_parent_dir(target).map_err(io)?;
    Ok(BackupReport { bytes: file.metadata().map_err(io)?.len(), tasks })
}

/// Copies all pages of one snapshot without blocking writers.
fn copy_pages(from: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut conn = open::open_checked(to, &STATE)?;
    {
        let copy = Backup::new(from, &mut conn)?;
        match copy.step(-1)? {
            StepResult::Done => {}
            _ => return Err(StoreError::Busy),
        }
    }
    conn.close().map_err(|(_, error)| error.into())
}

/// Refuses a file that is incomplete, not a Fairway store, or newer than this binary.
fn check_backup(conn: &Connection, path: &Path) -> Result<i64, StoreError> {
    let version = open::schema_version(conn, path, &STATE)?;
    match integrity::database_errors(conn)?.first() {
        None => Ok(version),
        Some(fault) => Err(StoreError::Damaged { path: Some(path.to_path_buf()), why: fault.clone() }),
    }
}

/// Replaces the store by a backup. The backup is copied and checked first, and the previous store is kept in a file beside it.
/// All epochs of the previous store become invalid. Numbers of events and tasks that are remembered in `outside` are not given
/// out again. After an error the store is unchanged.
pub fn restore(
    path: &Path,
    runtime: &Path,
    outside: Option<&Path>,
    source: &Path,
    now: Timestamp,
    actor: &str,
) -> Result<RestoreReport, StoreError> {
    let mut sound_one = open_if_intact(path, runtime)?;
    let mut making = None;
    if sound_one.is_none() {
        making = Some(open::lock_for_create(path)?);
        // Another process may have created a store while this one waited.
        sound_one = open_if_intact(path, runtime)?;
    }
    let draft = DraftFile::create_for(path)?;
    prepare_draft(source, &draft.path)?;
    let known = outside.map(progress::known).unwrap_or_default();
    let task = Restore { path, source, known, now, actor };
    let done = match sound_one {
        Some(store) => task.replace_content(&store, &draft.path)?,
        None => task.replace_file(draft)?,
    };
    if let Some(dir) = outside {
        progress::replace(&open::open_checked(path, &STATE)?, dir);
    }
    drop(making);
    notify::notify_all(&runtime.join("wake"));
    Ok(done)
}

/// Accepts that records which were written are missing from the store. Their numbers are not given out again, and every epoch
/// becomes invalid, because lost claims may have had higher ones. Returns `None` when nothing is missing.
pub fn accept_loss(
    path: &Path,
    runtime: &Path,
    outside: &Path,
    now: Timestamp,
    actor: &str,
) -> Result<Option<(Loss, i64)>, StoreError> {
    if open::is_absent(path)? {
        return Ok(None);
    }
    let store = Store::open(path, runtime, None)?;
    let known = progress::known(outside);
    let accepted = store.write(Clock::Fixed(now), actor, |tx| {
        let Some(loss) = progress::missing(tx.conn(), outside)? else { return Ok(None) };
        let epoch = highest_epoch(tx.conn())? + EPOCH_JUMP;
        progress::raise_to(tx.conn(), &known, now.millis())?;
        renew_claims(tx, epoch)?;
        let lost = loss.known_event - loss.found_event;
        tx.record(&Event::new(EventKind::StoreRepaired).with("lost_events", lost).with("epoch", epoch))?;
        Ok::<_, StoreError>(Some((loss, epoch)))
    })?;
    if accepted.is_some() {
        progress::replace(&store.file()?.conn, outside);
    }
    Ok(accepted)
}

/// Creates a new store where an earlier one is gone that `outside` remembers. The numbers of its events and tasks continue where
/// those of the earlier store ended.
pub fn create_new(path: &Path, runtime: &Path, outside: &Path, now: Timestamp, actor: &str) -> Result<(), StoreError> {
    let known = progress::known(outside);
    let store = Store::open_for_writing(path, runtime, None)?;
    store.write(Clock::Fixed(now), actor, |tx| progress::raise_to(tx.conn(), &known, now.millis()))?;
    progress::replace(&store.file()?.conn, outside);
    Ok(())
}

/// Copies a backup to a draft, with its WAL if there is one, and migrates it.
fn prepare_draft(source: &Path, draft: &Path) -> Result<(), StoreError> {
    open::check_file_format(source)?;
    let log = sibling_path(source, "-wal");
    for (from, to) in [(source, draft.to_path_buf()), (&log, sibling_path(draft, "-wal"))] {
        let copied = match fs::File::open(from) {
            Ok(mut from) => files::private_file(&to).and_then(|mut to| io::copy(&mut from, &mut to)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && from == log => continue,
            Err(error) => Err(error),
        };
        copied.map_err(|error| StoreError::io(from.display().to_string(), error))?;
    }
    let bring = || -> Result<(), StoreError> {
        let mut conn = open::open_checked(draft, &STATE)?;
        if check_backup(&conn, source)? < STATE.newest {
            schema::migrate(&mut conn, &STATE)?;
        }
        // No epoch above it could be given out.
        if highest_epoch(&conn)? > MAX_EPOCH {
            let why = "it has an epoch that is too large".into();
            return Err(StoreError::Damaged { path: Some(source.to_path_buf()), why });
        }
        // A file copied by other tools may lack WAL mode.
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.close().map_err(|(_, error)| error.into())
    };
    bring().map_err(|error| error.with_path(source))
}

/// The current store; `None` if it is damaged or missing.
fn open_if_intact(path: &Path, runtime: &Path) -> Result<Option<Store>, StoreError> {
    let opened = match open::is_absent(path) {
        Ok(true) => return Ok(None),
        Ok(false) => Store::open(path, runtime, None),
        Err(error) => Err(error),
    };
    let checked =
        opened.and_then(|store| Ok(integrity::database_errors(&store.file()?.conn)?.is_empty().then_some(store)));
    match checked {
        // A path that is not a file is left alone.
        Err(error @ StoreError::Foreign { .. }) if !path.is_file() || path.is_symlink() => Err(error),
        Err(StoreError::Damaged { .. } | StoreError::Foreign { .. } | StoreError::Sqlite(_)) => Ok(None),
        other => other,
    }
}

struct Restore<'a> {
    path: &'a Path,
    source: &'a Path,
    known: Progress,
    now: Timestamp,
    actor: &'a str,
}

impl Restore<'_> {
    /// Restores into the current file as one transaction: processes that have it open continue with the new content.
    fn replace_content(&self, store: &Store, draft: &Path) -> Result<RestoreReport, StoreError> {
        let file = store.file()?;
        let conn = &file.conn;
        let attached =
            draft.to_str().ok_or_else(|| StoreError::io("the store's path", io::Error::other("is no UTF-8")))?;
        sql::execute(conn, "ATTACH DATABASE $1 AS restored", &[&attached])?;
        let turn = open::acquire_turn(self.path, open::QUEUE_TIMEOUT)?;
        let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        file.check_path_unchanged()?;
        // Claims that are gone may have had higher epochs than those that are known.
        let has_lost = self.known.event > progress::position(conn)?.1.event;
        let epoch = highest_epoch(&tx)? + if has_lost { EPOCH_JUMP } else { 1 };
        // The write lock is held, so the kept copy has the last commit.
        let kept = self.keep_copy()?;
        tx.pragma_update(None, "defer_foreign_keys", true)?;
        let used_ids = sql::rows(&tx, USED_IDS, &[], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)))?;
        for table in sql::rows(&tx, TABLES, &[], |row| row.get::<String>(0))? {
            // SQLite's sequence table stays, so that used ids are not reused.
            sql::execute(&tx, &format!("DELETE FROM main.\"{table}\""), &[])?;
            // Without WHERE, SQLite copies page by page and skips the foreign key counters.
            let copy = format!("INSERT INTO main.\"{table}\" SELECT * FROM restored.\"{table}\" WHERE true");
            sql::execute(&tx, &copy, &[])?;
        }
        // The id of a task that was added and removed after the backup was used too.
        for (id, removed_at) in &used_ids {
            sql::execute(&tx, KEEP_USED_ID, &[id, removed_at])?;
        }
        let epoch = epoch.max(highest_epoch(&tx)? + 1);
        let tasks = self.raise_epochs(&WriteTx::new(&tx, self.now, self.actor), epoch, Some(&kept))?;
        tx.commit()?;
        drop(turn);
        sql::execute(conn, "DETACH DATABASE restored", &[])?;
        Ok(RestoreReport { kept: Some(kept), tasks, epoch })
    }

    /// Restores over a damaged or missing file. A process that has the damaged file open notices before its next write.
    fn replace_file(&self, draft: DraftFile) -> Result<RestoreReport, StoreError> {
        let turn = open::acquire_turn(self.path, open::QUEUE_TIMEOUT)?;
        // A damaged store may still be readable enough to give its highest epoch.
        let known = open::open_checked(self.path, &STATE).and_then(|conn| highest_epoch(&conn)).unwrap_or(0);
        let kept = self.unused_backup_path();
        let conn = open::open_checked(&draft.path, &STATE)?;
        let epoch = known.max(highest_epoch(&conn)?) + EPOCH_JUMP;
        let there = self.path.exists() || open::wal_size(self.path).is_some();
        let tx = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
        let kept = there.then_some(kept);
        let tasks = self.raise_epochs(&WriteTx::new(&tx, self.now, self.actor), epoch, kept.as_deref())?;
        tx.commit()?;
        conn.close().map_err(|(_, error)| StoreError::from(error))?;
        if let Some(kept) = &kept {
            self.keep_damaged(kept).map_err(|error| StoreError::io(kept.display().to_string(), error))?;
        }
        open::install_draft(&draft.path, self.path)?;
        drop(turn);
        Ok(RestoreReport { kept, tasks, epoch })
    }

    /// Copies the current store beside it.
    fn keep_copy(&self) -> Result<PathBuf, StoreError> {
        let kept = self.unused_backup_path();
        let draft = DraftFile::create_for(&kept)?;
        copy_pages(&open::open_checked(self.path, &STATE)?, &draft.path)?;
        let io = |error| StoreError::io(kept.display().to_string(), error);
        fs::File::open(&draft.path).and_then(|file| file.sync_all()).map_err(io)?;
        files::rename_noreplace(&draft.path, &kept).map_err(io)?;
        files::sync_parent_dir(&kept).map_err(io)?;
        Ok(kept)
    }

    /// Links the damaged file to a second name and moves its WAL there, because a WAL must not meet another file. The store's
    /// own name is never free: a concurrent writer would create an empty store.
    fn keep_damaged(&self, kept: &Path) -> io::Result<()> {
        if self.path.exists() {
            fs::hard_link(self.path, kept).or_else(|_| fs::copy(self.path, kept).map(drop))?;
        }
        match fs::rename(sibling_path(self.path, "-wal"), sibling_path(kept, "-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A free name beside the store.
    fn unused_backup_path(&self) -> PathBuf {
        let time = self.now.to_string().replace(':', "");
        let plain = sibling_path(self.path, &format!(".before-restore-{time}"));
        let numbered = (2..).map(|number| sibling_path(&plain, &format!("-{number}")));
        std::iter::once(plain.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(plain)
    }

    /// Raises the numbers and every epoch, renews the claims, and records an event. Returns the number of tasks.
    fn raise_epochs(&self, tx: &WriteTx<'_>, epoch: i64, kept: Option<&Path>) -> Result<i64, StoreError> {
        progress::raise_to(tx.conn(), &self.known, self.now.millis())?;
        renew_claims(tx, epoch)?;
        let shown = |path: &Path| path.display().to_string();
        let event = Event::new(EventKind::StoreRestored)
            .with("from", shown(self.source))
            .with("kept", kept.map(shown))
            .with("epoch", epoch);
        tx.record(&event)?;
        integrity::count_tasks(tx)
    }
}

/// The increase of the number of the newest event: numbers that were given out after the dump do not come again.
const EVENT_JUMP: i64 = 1_000_000;

const KEEP_EVENT_COUNTER: Statement<'_> = Statement {
    sqlite: "INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 0 \
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events')",
    postgres: "SELECT 1",
};
const RAISE_EVENT_NUMBER: Statement<'_> = Statement {
    sqlite: "UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = 'events'",
    postgres: "SELECT set_config('fairway.numbers', (numbers || jsonb_build_object('events', \
         coalesce((numbers ->> 'events')::bigint, 0) + $1))::text, true) \
         FROM (SELECT current_setting('fairway.numbers')::jsonb AS numbers) AS counted",
};

/// The numbers after a dump or a replica was made valid again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leap {
    /// The new epoch of every task.
    pub epoch: i64,
    /// The number of the event that records this.
    pub event: i64,
}

/// Repairs a store that was restored from a dump or replica. Epochs and event numbers that were given out after the dump are
/// lost, so this raises every epoch and the number of the newest event beyond them: no lost epoch is valid, and no number is
/// given out twice. Claims stay, under the new epoch.
pub fn leap(store: &Store, now: Timestamp, actor: &str) -> Result<Leap, StoreError> {
    store.write(Clock::Fixed(now), actor, |tx: &WriteTx<'_>| {
        let epoch = highest_epoch(tx.conn())? + EPOCH_JUMP;
        sql::execute(tx.conn(), KEEP_EVENT_COUNTER, &[])?;
        sql::execute(tx.conn(), RAISE_EVENT_NUMBER, &[&EVENT_JUMP])?;
        renew_claims(tx, epoch)?;
        let event = Event::new(EventKind::StoreRestored)
            .with("from", "a dump or a replica")
            .with("kept", None::<String>)
            .with("epoch", epoch);
        Ok(Leap { epoch, event: tx.record(&event)? })
    })
}
