//! Opening and creating a store: checks of the file, locks against concurrent creation, connection settings.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use nix::sys::statfs::{self, FsType};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::schema::{self, Schema};
use crate::config::project::STATE_DIR;
use crate::os::lock::FileLock;
use crate::os::lock_queue::{self, QueuedLock};
use crate::os::{file_system, files, user};
/// How long to wait in the queue by default.
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the WAL in bytes above which a closing writer writes it back.
const MAX_WAL_BYTES: u64 = 1 << 20;
/// The age of the last write after which a reader writes the WAL back.
pub const IDLE_WAL_AGE: Duration = Duration::from_secs(60);

/// The oldest supported SQLite: older ones can lose WAL frames.
const OLDEST_SQLITE: (i32, &str) = (3_051_003, "3.51.3");
/// The header of every SQLite file, and the smallest page size: SQLite takes a shorter file for a new one.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER_BYTES: u64 = 512;
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// File systems in memory or on a disk, which need no closer look: ext, btrfs, xfs, f2fs, tmpfs, overlay, zfs, bcachefs.
const LOCAL_FILE_SYSTEMS: &[FsType] = &[
    FsType(0xEF53),
    FsType(0x9123_683E),
    FsType(0x5846_5342),
    FsType(0xF2F5_2010),
    FsType(0x0102_1994),
    FsType(0x794C_7630),
    FsType(0x2FC1_2FC1),
    FsType(0xCA45_1A4E),
];

/// Whether there is no store at this path. A WAL without its store is reported as damage: SQLite would apply it to a new file.
///
/// Fails also for a symbolic link: a cloned repository may contain one with any target.
pub(super) fn is_absent(path: &Path) -> Result<bool, StoreError> {
    let link = |path: &Path| StoreError::Foreign { path: path.to_path_buf(), why: "it is a symbolic link".into() };
    if let Some(dir) = path.parent().filter(|dir| is_state_dir(dir))
        && dir.is_symlink()
    {
        return Err(link(dir));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(link(path)),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match wal_size(path) {
            // Another process may have made the store, and written to its log, between the two checks.
            Some(_) if path.is_file() => Ok(false),
            Some(size) if size > 0 => Err(StoreError::Damaged {
                path: Some(path.to_path_buf()),
                why: "the file is gone, but its log (-wal) is here".into(),
            }),
            _ => Ok(true),
        },
        Err(error) => Err(StoreError::io(path.display().to_string(), error)),
    }
}

/// Whether this is a project's own `.fairway`, not a directory that `FAIRWAY_DB` names.
fn is_state_dir(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| name == STATE_DIR)
}

/// The size in bytes of the WAL beside the store; `None` when there is none.
pub(super) fn wal_size(path: &Path) -> Option<u64> {
    fs::metadata(sibling_path(path, "-wal")).ok().map(|found| found.len())
}

/// The identity of the file at a path: its device and inode number. Returns `None` when there is no file.
pub(super) fn file_identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The state of a store's file between writes: length, time of change and status in nanoseconds.
pub(super) type FileStamp = (u64, (i64, i64), (i64, i64));

/// The state by which a later read can tell that the file has not changed. Returns `None` while there is a WAL, which has newer
/// data than the file.
pub(super) fn unlocked_stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::metadata(path).ok()?;
    let stamp = (found.len(), (found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    wal_size(path).is_none().then_some(stamp)
}

/// Opens a store without a WAL for reading, without locks and without any file beside it. It is for a place where nothing can be
/// written: every other connection needs the index of a WAL, which SQLite cannot create there.
pub(super) fn open_unlocked(path: &Path, schema: &Schema) -> Result<(Connection, FileStamp), StoreError> {
    let read_only = |why: &str| StoreError::ReadOnly { dir: None, why: why.into() };
    let stamp = unlocked_stamp(path).ok_or_else(|| read_only("another process has written it"))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    let resolved = resolve_dir(path);
    let mut uri = String::from("file:");
    for byte in resolved.as_os_str().as_bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        if is_plain {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    #[expect(clippy::disallowed_methods, reason = "the one module that opens connections")]
    let conn = Connection::open_with_flags(uri + "?immutable=1", flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    if schema_version(&conn, path, schema)? < schema.newest {
        return Err(read_only("it has an older schema, which must be brought up to date first"));
    }
    Ok((conn, stamp))
}

pub(super) fn in_memory() -> Result<Connection, StoreError> {
    #[expect(clippy::disallowed_methods, reason = "the one module that opens connections")]
    let mut conn = Connection::open_in_memory()?;
    schema::create(&mut conn, &schema::STATE)?;
    Ok(conn)
}

/// Creates a store under a lock, if there is still none. The store is a draft until it is complete, and then gets its name, so
/// that no process sees an incomplete file.
pub(super) fn create(path: &Path, schema: &Schema) -> Result<(), StoreError> {
    let _held = lock_for_create(path)?;
    // Another process may have created it while this one waited.
    if !is_absent(path)? {
        return Ok(());
    }
    let draft = sibling_path(path, "-draft");
    let build = || -> Result<(), StoreError> {
        remove_database_files(&draft)?;
        drop(files::private_file(&draft).map_err(|error| StoreError::io(draft.display().to_string(), error))?);
        let mut conn = connect(&draft)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        schema::create(&mut conn, schema)?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.close().map_err(|(_, error)| StoreError::from(error))?;
        install_draft(&draft, path)
    };
    build().inspect_err(|_| {
        let _ = remove_database_files(&draft);
    })
}

/// Takes the lock under which a store is created or replaced. Creates the store's directory if it is missing.
pub(super) fn lock_for_create(path: &Path) -> Result<FileLock, StoreError> {
    let dir = path.parent().unwrap_or_else(|| Path::new("/"));
    // A directory that `FAIRWAY_DB` names may be shared: it is created if missing, and its mode is left alone.
    let made = match is_state_dir(dir) {
        // Nothing is made at the old path of a project that was moved.
        true => files::private_subdir(dir),
        false if dir.exists() => Ok(()),
        false => files::private_dir(dir),
    };
    made.map_err(|error| StoreError::io(dir.display().to_string(), error))?;
    reject_network_file_system(dir)?;
    let lock = sibling_path(path, "-init");
    let held = FileLock::acquire_within(&lock, LOCK_TIMEOUT).map_err(|error| StoreError::io("the store", error))?;
    held.ok_or(StoreError::Busy)
}

/// Gives a closed draft the store's name, so that the file is complete even after a power failure.
pub(super) fn install_draft(draft: &Path, path: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::io(path.display().to_string(), error);
    fs::File::open(draft).and_then(|file| file.sync_all()).map_err(io)?;
    // The WAL of an earlier store must not be applied to the new file.
    for suffix in ["-wal", "-shm"] {
        remove_if_exists(&sibling_path(path, suffix))?;
    }
    fs::rename(draft, path).map_err(io)?;
    files::sync_parent_dir(path).map_err(io)
}

/// Removes a database file and SQLite's files beside it.
pub(super) fn remove_database_files(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        remove_if_exists(&sibling_path(path, suffix))?;
    }
    Ok(())
}

fn remove_if_exists(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(path.display().to_string(), error)),
        _ => Ok(()),
    }
}

/// Checks and opens an existing store, and migrates an older one.
pub(super) fn open_existing(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    reject_foreign(path)?;
    let conn = open_checked(path, schema).map_err(|error| error.with_path(path))?;
    if schema_version(&conn, path, schema).map_err(|error| error.with_path(path))? == schema.newest {
        return Ok(conn);
    }
    drop(conn);
    upgrade(path, schema).map_err(|error| error.with_path(path))
}

pub(super) fn open_checked(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    let conn = connect(path)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_prepared_statement_cache_capacity(64);
    // SQLite has no other interface for this setting.
    conn.pragma_update(None, "synchronous", schema.synchronous)?;
    Ok(conn)
}

/// Reads the schema version of a Fairway file. Refuses the file of another program, and a version that is newer than this
/// binary.
pub(super) fn schema_version(conn: &Connection, path: &Path, schema: &Schema) -> Result<i64, StoreError> {
    let read = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (read("application_id")?, read("user_version")?);
    if application != schema.application_id {
        let why = if version == 0 && application == 0 {
            "it is empty or another program's"
        } else {
            "another program made it"
        };
        return Err(StoreError::Foreign { path: path.to_path_buf(), why: why.into() });
    }
    if version > schema.newest {
        return Err(StoreError::Newer { path: path.to_path_buf(), found: version, known: schema.newest });
    }
    Ok(version)
}

/// Migrates an older store: lock, check the version again, migrate.
fn upgrade(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    let lock = FileLock::acquire_within(&sibling_path(path, "-init"), LOCK_TIMEOUT)?;
    if lock.is_none() {
        return Err(StoreError::Busy);
    }
    let mut conn = open_checked(path, schema)?;
    if schema_version(&conn, path, schema)? < schema.newest {
        schema::migrate(&mut conn, schema)?;
    }
    Ok(conn)
}

/// Refuses a file that cannot be the user's store, before SQLite opens and changes it.
fn reject_foreign(path: &Path) -> Result<(), StoreError> {
    let found = fs::metadata(path).map_err(|error| StoreError::io(path.display().to_string(), error))?;
    if found.uid() != user::uid() {
        return Err(StoreError::NotOwned { path: path.to_path_buf(), uid: found.uid() });
    }
    check_file_format(path)?;
    reject_network_file_system(path)
}

/// Refuses a file that is not a complete SQLite database.
pub(super) fn check_file_format(path: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::io(path.display().to_string(), error);
    let foreign = |why: &str| StoreError::Foreign { path: path.to_path_buf(), why: why.into() };
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(foreign("it is not a file"));
    }
    let (head, length) = read_header(path).map_err(io)?;
    if !head.starts_with(&MAGIC[..MAGIC.len().min(head.len())]) {
        return Err(foreign("it is no SQLite database"));
    }
    let cut = length < HEADER_BYTES || (length < stated_length(&head) && is_truncated(path).map_err(io)?);
    if cut {
        let why = format!("it ends after {length} bytes");
        return Err(StoreError::Damaged { path: Some(path.to_path_buf()), why });
    }
    Ok(())
}

/// Files whose headers were read. They stay open for the life of this process: POSIX locks belong to the process, so closing
/// any descriptor releases SQLite's locks on the file. Another process that closes the store would then think it is the
/// last one, and remove a WAL that is in use.
static OPENED_FILES: Mutex<Vec<OpenedFile>> = Mutex::new(Vec::new());

/// A file by device and inode number.
type OpenedFile = ((u64, u64), Arc<fs::File>);

/// The header of the file, and its length in bytes.
fn read_header(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let file = open_permanently(path)?;
    let (mut head, most) = (vec![0; usize::try_from(HEADER_BYTES).unwrap_or_default()], file.metadata()?.len());
    let whole = usize::try_from(most.min(HEADER_BYTES)).unwrap_or_default();
    head.truncate(whole);
    file.read_exact_at(&mut head, 0)?;
    Ok((head, file.metadata()?.len()))
}

fn open_permanently(path: &Path) -> io::Result<Arc<fs::File>> {
    let found = fs::metadata(path)?;
    let mut read = OPENED_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, file)) = read.iter().find(|(id, _)| *id == (found.dev(), found.ino())) {
        return Ok(Arc::clone(file));
    }
    let file = Arc::new(fs::File::open(path)?);
    let found = file.metadata()?;
    read.push(((found.dev(), found.ino()), Arc::clone(&file)));
    Ok(file)
}

/// The length in bytes that the file's header states.
fn stated_length(head: &[u8]) -> u64 {
    let number = |from: usize, to: usize| {
        head.get(from..to).unwrap_or_default().iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
    };
    let page = match number(16, 18) {
        1 => 65_536,
        size => size,
    };
    page * number(28, 32)
}

/// Whether a file that is shorter than its header states is truncated. SQLite reads the missing rest as zeroes. While there
/// is a WAL, the rest may be in it. Another process may write the WAL back at any time, so two equal reads are required.
fn is_truncated(path: &Path) -> io::Result<bool> {
    let look = || -> io::Result<Option<(Vec<u8>, u64)>> {
        let before = wal_size(path).unwrap_or(0);
        let (head, length) = read_header(path)?;
        let calm = before == 0 && wal_size(path).unwrap_or(0) == 0;
        Ok((calm && length < stated_length(&head)).then_some((head, length)))
    };
    let first = look()?;
    Ok(first.is_some() && first == look()?)
}

fn reject_network_file_system(path: &Path) -> Result<(), StoreError> {
    if statfs::statfs(path).is_ok_and(|found| LOCAL_FILE_SYSTEMS.contains(&found.filesystem_type())) {
        return Ok(());
    }
    match file_system::network_type(path) {
        Some(kind) => Err(StoreError::NetworkFileSystem { path: path.to_path_buf(), kind }),
        None => Ok(()),
    }
}

/// Decides, before a connection is closed, whether closing it writes the WAL back. That costs a millisecond, so a writer does it
/// only when the WAL is large. A reader leaves a WAL that was there before as long as others write to it, and writes an idle one
/// back: a program that changes every file of a tree destroys a WAL, but not the records in the store's file.
pub(super) fn prepare_close(conn: &Connection, path: &Path, wal_was_there: bool) {
    let wrote = conn.total_changes() > 0;
    let keep_log = if wrote {
        wal_size(path).is_none_or(|size| size < MAX_WAL_BYTES)
    } else {
        wal_was_there && !has_idle_wal(path)
    };
    if keep_log {
        // If this fails, the WAL is written back: slower, but safe.
        let _ = conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }
}

/// Whether the store has a WAL that is not empty and to which nothing was written for a while, by its modification time.
pub(super) fn has_idle_wal(path: &Path) -> bool {
    let wal = fs::metadata(sibling_path(path, "-wal")).ok().filter(|wal| wal.len() > 0);
    wal.and_then(|wal| wal.modified().ok()?.elapsed().ok()).is_some_and(|age| age >= IDLE_WAL_AGE)
}

#[expect(clippy::disallowed_methods, reason = "the one module that opens connections")]
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let (oldest, needed) = OLDEST_SQLITE;
    if rusqlite::version_number() < oldest {
        return Err(StoreError::OldSqlite { found: rusqlite::version().into(), needed });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Ok(Connection::open_with_flags(resolve_dir(path), flags)?)
}

/// The path with its directory resolved. NOFOLLOW refuses links anywhere in the path, but a project may be behind one.
fn resolve_dir(path: &Path) -> PathBuf {
    let dir = path.parent().and_then(|dir| dir.canonicalize().ok());
    dir.zip(path.file_name()).map_or_else(|| path.to_path_buf(), |(dir, name)| dir.join(name))
}

/// Waits for a turn in the queue in which writers line up; `None` after the timeout. The queue is for fairness only: SQLite's own
/// lock serializes writes, and a write goes ahead without a turn.
pub(super) fn acquire_turn(store: &Path, timeout: Duration) -> io::Result<Option<QueuedLock>> {
    lock_queue::acquire(&sibling_path(store, "-turn"), timeout)
}

/// The path of a file beside the store: the store's path plus a suffix.
pub fn sibling_path(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use crate::store::Store;

    /// Whether anybody has SQLite's lock of a connection on this file.
    fn is_locked(path: &std::path::Path) -> bool {
        let file = std::fs::File::open(path).unwrap();
        let mut lock = libc::flock {
            l_type: i16::try_from(libc::F_WRLCK).unwrap(),
            l_whence: 0,
            // The bytes that SQLite gives to those who read: 510 behind the second gigabyte's half.
            l_start: 0x4000_0002,
            l_len: 510,
            l_pid: 0,
        };
        fcntl(file.as_fd(), FcntlArg::F_OFD_GETLK(&mut lock)).unwrap();
        // Not closed: that would take the lock away which was asked for.
        std::mem::forget(file);
        i32::from(lock.l_type) != libc::F_UNLCK
    }

    #[test]
    fn opening_a_store_twice_takes_no_lock_from_the_first() {
        let home = tempfile::tempdir().unwrap();
        let (path, runtime) = (home.path().join("s.db"), home.path().join("runtime"));
        let first = Store::open_for_writing(&path, &runtime, None).unwrap();
        let look = || first.read::<_, crate::store::StoreError>(crate::store::integrity::count_tasks).unwrap();
        look();
        assert!(is_locked(&path));
        let second = Store::open_for_writing(&path, &runtime, None).unwrap();
        look();
        assert!(is_locked(&path));
        drop(second);
        look();
        assert!(is_locked(&path));
        // Control: this is what closing any descriptor of the file does.
        drop(std::fs::File::open(&path).unwrap());
        assert!(!is_locked(&path));
    }
}
