//! Copies of the whole store: out of it, and back into its place.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, Transaction, TransactionBehavior,
    backup::{Backup, StepResult},
};

use super::{
    ReadTx, Store, StoreError, WriteTx, beside, integrity, open,
    schema::{self, STATE},
    sql, write_queue,
};
use crate::{
    domain::{
        Event, Kind, TaskId,
        claim::{Claim, ClaimEnd},
    },
    env::Timestamp,
    os::{files, notify},
};

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackedUp {
    /// Its length in bytes.
    pub bytes: u64,
    /// How many tasks are in it.
    pub tasks: i64,
}

/// What a restore has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where the store that was there lies now.
    pub kept: Option<PathBuf>,
    /// How many tasks came with the backup.
    pub tasks: i64,
    /// The epoch that every task has now.
    pub epoch: i64,
}

/// Epochs go up by so many when the store that is replaced cannot tell which it has given out.
const LEAP: i64 = 1_000_000;

const HIGHEST: &str = "SELECT max((SELECT coalesce(max(epoch), 0) FROM tasks), \
     (SELECT coalesce(max(epoch), 0) FROM claims), (SELECT coalesce(max(epoch), 0) FROM restores))";
const TABLES: &str = "SELECT name FROM restored.sqlite_schema WHERE type = 'table' \
     AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name <> 'refinery_schema_history' ORDER BY name";
const NOTE: &str = "INSERT INTO restores (epoch, at) VALUES ($1, $2)";
// A handoff that was good when the backup was made stays so.
const LIFT_HANDOFFS: &str = "UPDATE handoffs SET epoch = $1 WHERE status = 'open' \
     AND epoch = (SELECT epoch FROM tasks WHERE id = handoffs.task_id)";
const LIFT: &str = "UPDATE tasks SET epoch = $1";
const END_ALL: &str = "UPDATE claims SET ended_at = $1, ended_as = $2 WHERE ended_at IS NULL";
const HELD: &str = "SELECT t.id, t.claimant, t.claim_role, t.claimed_at, s.id FROM tasks t \
     LEFT JOIN agent_sessions s ON s.id = t.claim_session WHERE t.claimant IS NOT NULL ORDER BY t.id";

/// A private file that is removed with everything SQLite kept beside it, unless it has been renamed.
struct Draft {
    path: PathBuf,
}

impl Draft {
    /// An empty one, in the folder of what it is to become.
    fn of(target: &Path) -> Result<Self, StoreError> {
        // A part of the name: with the rest around it, it must still be one that a file can have.
        let name: String =
            target.file_name().map(|name| name.to_string_lossy().chars().take(40).collect()).unwrap_or_default();
        let path = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        open::remove(&path)?;
        files::private_file(&path).map_err(|error| StoreError::io(path.display().to_string(), error))?;
        Ok(Self { path })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = open::remove(&self.path);
    }
}

/// Writes the store as it is now, whole and checked, to a file that nobody had, or in the place of one.
///
/// # Errors
/// As the store or the file fails; there is then no new file.
pub fn back_up(store: &Store, target: &Path, replace: bool) -> Result<BackedUp, StoreError> {
    let draft = Draft::of(target)?;
    pages(&store.conn, &draft.path)?;
    let tasks = {
        let conn = open::open_checked(&draft.path, &STATE)?;
        verified(&conn, &draft.path)?;
        integrity::tasks(&ReadTx::of(&conn))?
    };
    let io = |error| StoreError::io(target.display().to_string(), error);
    let file = fs::File::open(&draft.path).map_err(io)?;
    file.sync_all().map_err(io)?;
    let done = if replace { fs::rename(&draft.path, target) } else { files::rename_noreplace(&draft.path, target) };
    done.map_err(io)?;
    files::sync_parent_dir(target).map_err(io)?;
    Ok(BackedUp { bytes: file.metadata().map_err(io)?.len(), tasks })
}

/// Copies all pages of one snapshot; who writes meanwhile is not held up.
fn pages(from: &Connection, to: &Path) -> Result<(), StoreError> {
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

/// Refuses a file that is not whole, not ours or newer than we are.
fn verified(conn: &Connection, path: &Path) -> Result<i64, StoreError> {
    let version = open::version(conn, path, &STATE)?;
    match integrity::faults(conn)?.first() {
        None => Ok(version),
        Some(fault) => Err(StoreError::Damaged { path: Some(path.to_path_buf()), why: fault.clone() }),
    }
}

/// Puts a backup in the place of the store. It is copied and checked before anything is touched; the store that was
/// there is kept beside. No epoch that was given out before is valid after.
///
/// # Errors
/// As the backup, the store or the disk fails; the store is then as it was.
pub fn restore(
    path: &Path,
    runtime: &Path,
    source: &Path,
    now: Timestamp,
    actor: &str,
) -> Result<Restored, StoreError> {
    let mut sound_one = sound(path, runtime)?;
    let mut making = None;
    if sound_one.is_none() {
        making = Some(open::making(path)?);
        // Another process may have made one while this one waited.
        sound_one = sound(path, runtime)?;
    }
    let draft = Draft::of(path)?;
    import(source, &draft.path)?;
    let task = Restore { path, source, now, actor };
    let done = match sound_one {
        Some(store) => task.within(&store, &draft.path)?,
        None => task.instead(draft)?,
    };
    drop(making);
    notify::notify_all(&runtime.join("wake"));
    Ok(done)
}

/// Copies a backup to a draft, with its log when it has one, and brings it up to date.
fn import(source: &Path, draft: &Path) -> Result<(), StoreError> {
    open::refuse_shapeless(source)?;
    let log = beside(source, "-wal");
    for (from, to) in [(source, draft.to_path_buf()), (&log, beside(draft, "-wal"))] {
        let copied = match fs::File::open(from) {
            Ok(mut from) => files::private_file(&to).and_then(|mut to| io::copy(&mut from, &mut to)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && from == log => continue,
            Err(error) => Err(error),
        };
        copied.map_err(|error| StoreError::io(from.display().to_string(), error))?;
    }
    let bring = || -> Result<(), StoreError> {
        let mut conn = open::open_checked(draft, &STATE)?;
        if verified(&conn, source)? < STATE.newest {
            schema::migrate(&mut conn, &STATE)?;
        }
        // Also a copy by other hands has a log from here on.
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.close().map_err(|(_, error)| error.into())
    };
    bring().map_err(|error| error.at(source))
}

/// The store that is there, when it is a good one; `None` when it is damaged or gone.
fn sound(path: &Path, runtime: &Path) -> Result<Option<Store>, StoreError> {
    let opened = match open::is_absent(path) {
        Ok(true) => return Ok(None),
        Ok(false) => Store::open(path, runtime),
        Err(error) => Err(error),
    };
    let checked = opened.and_then(|store| Ok(integrity::faults(&store.conn)?.is_empty().then_some(store)));
    match checked {
        // What is no file is nobody's to move.
        Err(error @ StoreError::Foreign { .. }) if !path.is_file() || path.is_symlink() => Err(error),
        Err(StoreError::Damaged { .. } | StoreError::Foreign { .. } | StoreError::Sqlite(_)) => Ok(None),
        other => other,
    }
}

struct Restore<'a> {
    path: &'a Path,
    source: &'a Path,
    now: Timestamp,
    actor: &'a str,
}

impl Restore<'_> {
    /// Into the file that is there, as one transaction: whoever has it open goes on with the new content.
    fn within(&self, store: &Store, draft: &Path) -> Result<Restored, StoreError> {
        let conn = &store.conn;
        let attached =
            draft.to_str().ok_or_else(|| StoreError::io("the store's path", io::Error::other("is no UTF-8")))?;
        sql::execute(conn, "ATTACH DATABASE $1 AS restored", &[&attached])?;
        let turn = write_queue::enter(self.path, write_queue::PATIENCE)?;
        let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        store.still_there()?;
        let epoch = highest(&tx)? + 1;
        // Nobody can write now: what is kept is what is replaced, to the last commit.
        let kept = self.keep_copy()?;
        tx.pragma_update(None, "defer_foreign_keys", true)?;
        for table in sql::rows(&tx, TABLES, &[], |row| Ok(row.get::<_, String>(0)?))? {
            // Numbers that were given out stay so: SQLite's own table of them is left as it is.
            sql::execute(&tx, &format!("DELETE FROM main.\"{table}\""), &[])?;
            // A bare SELECT is copied page by page, and the keys that others refer to are not counted as there again.
            let copy = format!("INSERT INTO main.\"{table}\" SELECT * FROM restored.\"{table}\" WHERE true");
            sql::execute(&tx, &copy, &[])?;
        }
        let epoch = epoch.max(highest(&tx)? + 1);
        let tasks = self.lift(&WriteTx::new(&tx, self.now, self.actor), epoch, Some(&kept))?;
        tx.commit()?;
        drop(turn);
        sql::execute(conn, "DETACH DATABASE restored", &[])?;
        Ok(Restored { kept: Some(kept), tasks, epoch })
    }

    /// In the place of what is damaged or gone. Who has the damaged file open finds out before the next write.
    fn instead(&self, draft: Draft) -> Result<Restored, StoreError> {
        let turn = write_queue::enter(self.path, write_queue::PATIENCE)?;
        // As far as it can still be read, it tells what it has given out.
        let known = open::open_checked(self.path, &STATE).and_then(|conn| highest(&conn)).unwrap_or(0);
        let kept = self.name_kept();
        let conn = open::open_checked(&draft.path, &STATE)?;
        let epoch = known.max(highest(&conn)?) + LEAP;
        let there = self.path.exists() || open::wal_size(self.path).is_some();
        let tx = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
        let kept = there.then_some(kept);
        let tasks = self.lift(&WriteTx::new(&tx, self.now, self.actor), epoch, kept.as_deref())?;
        tx.commit()?;
        conn.close().map_err(|(_, error)| StoreError::from(error))?;
        if let Some(kept) = &kept {
            self.keep_damaged(kept).map_err(|error| StoreError::io(kept.display().to_string(), error))?;
        }
        open::put_in_place(&draft.path, self.path)?;
        drop(turn);
        Ok(Restored { kept, tasks, epoch })
    }

    /// A copy of the store as it stands, beside it.
    fn keep_copy(&self) -> Result<PathBuf, StoreError> {
        let kept = self.name_kept();
        let draft = Draft::of(&kept)?;
        pages(&open::open_checked(self.path, &STATE)?, &draft.path)?;
        let io = |error| StoreError::io(kept.display().to_string(), error);
        fs::File::open(&draft.path).and_then(|file| file.sync_all()).map_err(io)?;
        files::rename_noreplace(&draft.path, &kept).map_err(io)?;
        files::sync_parent_dir(&kept).map_err(io)?;
        Ok(kept)
    }

    /// The damaged file under a second name, and its log, which must not meet another file, under that name too. The
    /// store's own name is never free: a writer that comes now would make an empty one.
    fn keep_damaged(&self, kept: &Path) -> io::Result<()> {
        if self.path.exists() {
            fs::hard_link(self.path, kept).or_else(|_| fs::copy(self.path, kept).map(drop))?;
        }
        match fs::rename(beside(self.path, "-wal"), beside(kept, "-wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A name beside the store that nobody has.
    fn name_kept(&self) -> PathBuf {
        let time = self.now.to_string().replace(':', "");
        let plain = beside(self.path, &format!(".before-restore-{time}"));
        let numbered = (2..).map(|number| beside(&plain, &format!("-{number}")));
        std::iter::once(plain.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(plain)
    }

    /// Lifts every epoch, renews the claims under it, and says so in the log. Answers how many tasks there are.
    fn lift(&self, tx: &WriteTx<'_>, epoch: i64, kept: Option<&Path>) -> Result<i64, StoreError> {
        let conn = tx.conn();
        sql::execute(conn, NOTE, &[&epoch, &self.now.millis()])?;
        sql::execute(conn, LIFT_HANDOFFS, &[&epoch])?;
        sql::execute(conn, LIFT, &[&epoch])?;
        sql::execute(conn, END_ALL, &[&self.now.millis(), &ClaimEnd::Restored.as_str()])?;
        let held = sql::rows(conn, HELD, &[], |row| {
            let claim = Claim {
                claimant: row.get(1)?,
                role: sql::optional_id("a role", row.get(2)?, crate::domain::Role::parse)?,
                epoch,
                claimed_at: Timestamp::from_millis(row.get(3)?),
                session: sql::optional_id("a session id", row.get(4)?, crate::domain::SessionId::parse)?,
                lease_until: None,
                lease: None,
            };
            Ok((sql::id("a task id", &row.get::<_, String>(0)?, TaskId::parse)?, claim))
        })?;
        for (task, claim) in &held {
            super::claims::begin(tx, task, claim)?;
            let event = Event::new(Kind::TaskClaimed)
                .task(task)
                .with("epoch", epoch)
                .with("claimant", claim.claimant.as_str())
                .with("role", claim.role.as_ref().map(ToString::to_string))
                .with("takeover", "restored");
            tx.record(&event)?;
        }
        let shown = |path: &Path| path.display().to_string();
        let event = Event::new(Kind::StoreRestored)
            .with("from", shown(self.source))
            .with("kept", kept.map(shown))
            .with("epoch", epoch);
        tx.record(&event)?;
        integrity::tasks(tx)
    }
}

fn highest(conn: &Connection) -> Result<i64, StoreError> {
    Ok(sql::first(conn, HIGHEST, &[], |row| Ok(row.get(0)?))?.unwrap_or_default())
}
