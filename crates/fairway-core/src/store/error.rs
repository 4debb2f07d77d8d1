//! Errors of the store.

use std::io;
use std::path::PathBuf;

use rusqlite::{ErrorCode, ffi};
use thiserror::Error;

use crate::domain::plural;

/// The events that are remembered but missing in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The number of the newest event that is remembered.
    pub known_event: i64,
    /// The number of the newest event in the store.
    pub found_event: i64,
}

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("the store {} has schema {found}; this fairway knows up to {known}", .path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{} is not a Fairway store: {why}", .path.display())]
    Foreign { path: PathBuf, why: String },
    #[error("the store {}is damaged: {why}", .path.as_ref().map(|path| format!("{} ", path.display())).unwrap_or_default())]
    Damaged { path: Option<PathBuf>, why: String },
    #[error(
        "the store {} is damaged: it has lost {} (event {} was written, the newest one here is {})",
        .path.display(), plural::count(.loss.known_event - .loss.found_event, "event"), .loss.known_event, .loss.found_event
    )]
    Lost { path: PathBuf, loss: Loss },
    #[error("the store {} is gone; it was here before", .path.display())]
    Gone { path: PathBuf },
    #[error("the store {} belongs to another user (uid {uid})", .path.display())]
    NotOwned { path: PathBuf, uid: u32 },
    /// A file system on which locks cannot be trusted.
    #[error("the store {} is on a network file system ({kind}), where locks cannot be trusted", .path.display())]
    NetworkFileSystem { path: PathBuf, kind: String },
    /// Another process holds the lock for too long.
    #[error("the store is locked by another process")]
    Busy,
    /// A known process of a host holds the turn to write for too long.
    #[error("the store is locked by {holder}")]
    Held { holder: String },
    /// Another file lies where the store was when it was opened.
    #[error("the store was replaced while it was in use; nothing was written")]
    Replaced,
    #[error("the store cannot be written: the disk is full")]
    Full,
    /// The file system, the permissions or a sandbox forbid writing. With the store's directory, where it is known.
    #[error("the store cannot be written: {why}")]
    ReadOnly { dir: Option<PathBuf>, why: String },
    #[error("SQLite {found} is linked; {needed} or newer is needed")]
    OldSqlite { found: String, needed: &'static str },
    /// A value in the store that the program does not know.
    #[error("the store holds '{value}' where {what} is due")]
    Unreadable { what: &'static str, value: String },
    #[error("the store holds {value} in the column '{column}'")]
    ColumnType { column: String, value: String },
    #[error("the store cannot be brought up to date: {0}")]
    Migration(Box<refinery::Error>),
    #[error("the store {address} cannot be brought up to date: {why}; nothing was changed")]
    ServerMigration { address: String, why: String },
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    /// Anything else from SQLite.
    #[error("the store failed: {0}")]
    Sqlite(rusqlite::Error),
    /// An address of a store that cannot be used. Without the address: it may hold a password.
    #[error("the address of the store cannot be used: {why}")]
    Address { why: String },
    #[error("the store of this project is on a PostgreSQL server, and its address is not known here")]
    NoAddress,
    #[error("a store on a PostgreSQL server needs a fairway that is built with PostgreSQL, and this one is not")]
    NoPostgres,
    #[error("the address has a password, which every user of this machine could read on a command line")]
    PasswordOnCommandLine,
    #[error("the store's server {address} cannot be reached: {why}")]
    Unreachable { address: String, why: String },
    /// A server that has no connection to give, for too long.
    #[error("the store's server {address} takes no connection now: {why}")]
    ServerBusy { address: String, why: String },
    #[error("the login may not use the store {address}: {why}")]
    NoRights { address: String, why: String },
    #[error("the store {address} cannot be written: {why}")]
    ServerReadOnly { address: String, why: String },
    #[error("the store's server {address} refuses the login: {why}")]
    Denied { address: String, why: String },
    #[error("no encrypted connection to the store's server {address}: {why}")]
    Tls { address: String, why: String },
    #[error("the store's server has no such database ({address}): {why}")]
    NoDatabase { address: String, why: String },
    #[error("the store's server {address} cannot be used: {why}")]
    Server { address: String, why: String },
    #[error("the connection to the store's server {address} broke: {why}; nothing was written")]
    NotWritten { address: String, why: String },
    /// A connection that broke while a change was committed, on a server that does not tell what became of it. With whether
    /// the change has a request id, so that it is done once however often it is sent.
    #[error("the connection to the store's server {address} broke during a write, which may be done or not: {why}")]
    OutcomeUnknown { address: String, why: String, has_request_id: bool },
    #[error("there is no store at {address}")]
    NotThere { address: String },
    /// A store that `store copy` moved from the server to a file.
    #[error("there is no store at {address}: it was moved to a file, and what it had is kept as the schema {left}")]
    MovedAway { address: String, schema: String, left: String },
    #[error("the store {address} has schema {found}; this fairway needs {known}")]
    Older { address: String, found: i64, known: i64 },
    /// A write by a host whose id another machine uses: both have been copied from one disk or image.
    #[error(
        "another machine has the id of this host, and has written with it since: {name}, with its checkout at {root}"
    )]
    HostCloned { name: String, root: String },
    /// A look from an event on that the store does not have: it was restored, or failed over, to an older state.
    #[error(
        "the store has no event {seen}: its newest is {newest}. It was restored, or its server failed over, to an older state"
    )]
    Rewound { seen: i64, newest: i64 },
    #[error("the store {address} is on a server, not in a file")]
    NoFile { address: String },
    #[error("there is a store at {target} already")]
    NotEmpty { target: String },
    /// A copy that lacks rows.
    #[error("the copy of the table {table} has {copied} of {found} rows; nothing was changed")]
    Incomplete { table: String, found: i64, copied: i64 },
    /// Anything else from PostgreSQL.
    #[error("the store failed: {0}")]
    Postgres(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let why = || match &error {
            rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
            other => other.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            // The shared memory beside the store is a file too, the first to fail on a full disk.
            _ if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::Full
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { dir: None, why: why() }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path: None, why: why() },
            _ => Self::Sqlite(error),
        }
    }
}

impl From<refinery::Error> for StoreError {
    fn from(error: refinery::Error) -> Self {
        // Under a full disk or a lock the cause is what the caller needs to know.
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(at) = cause {
            match at.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code) {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => return Self::Busy,
                Some(ErrorCode::DiskFull) => return Self::Full,
                Some(ErrorCode::ReadOnly) => return Self::ReadOnly { dir: None, why: at.to_string() },
                _ => cause = at.source(),
            }
        }
        Self::Migration(Box::new(error))
    }
}

impl From<io::Error> for StoreError {
    fn from(source: io::Error) -> Self {
        Self::io("the store's directory", source)
    }
}

impl StoreError {
    /// Converts the error of a failed file operation; `what` names the file or the purpose of the operation.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly { dir: None, why: format!("{}: {source}", what.into()) }
            }
            _ => Self::Io { what: what.into(), source },
        }
    }

    /// Whether a later attempt may succeed although this one failed.
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::Held { .. }
                | Self::Full
                | Self::ReadOnly { .. }
                | Self::NoRights { .. }
                | Self::ServerReadOnly { .. }
                | Self::Unreachable { .. }
                | Self::ServerBusy { .. }
                | Self::NotWritten { .. }
        )
    }

    /// Adds the file's name, or that of its directory, to an error that has none yet.
    #[must_use]
    pub fn with_path(self, file: &std::path::Path) -> Self {
        match self {
            Self::Damaged { path: None, why } => Self::Damaged { path: Some(file.to_path_buf()), why },
            Self::ReadOnly { dir: None, why } => {
                Self::ReadOnly { dir: file.parent().map(std::path::Path::to_path_buf), why }
            }
            other => other,
        }
    }
}
