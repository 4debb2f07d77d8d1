//! The common part of every smallest program: it opens the store as durable as Fairway does, and closes it by the same rule.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Opens the store that the first argument names.
pub fn open() -> (String, Connection) {
    let path = std::env::args().nth(1).unwrap();
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .unwrap();
    conn.execute_batch("PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert!(version > 0);
    (path, conn)
}

/// Closes it. Never writing the log back would make every later opening slower: the same rule as Fairway's.
pub fn close(path: &str, conn: Connection) {
    let small = std::fs::metadata(format!("{path}-wal")).is_ok_and(|found| found.len() < 1 << 20);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, small).unwrap();
    drop(conn);
}
