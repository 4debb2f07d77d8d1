//! The smallest program that opens the store and asks what is ready: the measure for `fairway ready`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "the least code that does it")]

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let conn =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX).unwrap();
    conn.execute_batch("PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL").unwrap();
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert!(version > 0);
    let mut text = String::new();
    let ready = "SELECT id, priority, status, role, lane, claimant, title FROM tasks INDEXED BY tasks_ready \
                 WHERE status = 'todo' AND open_deps = 0 ORDER BY priority, created_at, id LIMIT 20";
    let mut statement = conn.prepare(ready).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        text.push_str(&row.get::<_, String>(0).unwrap());
        text.push_str("  ");
        text.push_str(&row.get::<_, String>(6).unwrap());
        text.push('\n');
    }
    drop(rows);
    drop(statement);
    print!("{text}");
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
}
