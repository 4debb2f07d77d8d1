//! The smallest program that claims the first ready task, with the same rows in one durable transaction: the measure for
//! `fairway claim`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the least code that does it, without the house around it"
)]

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig, params};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let conn = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .unwrap();
    conn.execute_batch("PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
    let tx = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate).unwrap();
    let (id, epoch): (String, i64) = tx
        .query_row(
            "SELECT id, epoch + 1 FROM tasks INDEXED BY tasks_ready WHERE status = 'todo' AND open_deps = 0 \
             ORDER BY priority, created_at, id LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    tx.execute(
        "UPDATE tasks SET status = 'in_progress', claimant = 'bench', epoch = ?2, claimed_at = 1, updated_at = 1 \
         WHERE id = ?1",
        params![id, epoch],
    )
    .unwrap();
    tx.execute(
        "INSERT INTO claims (task_id, epoch, claimant, claimed_at) VALUES (?1, ?2, 'bench', 1)",
        params![id, epoch],
    )
    .unwrap();
    tx.execute(
        "INSERT INTO events (at, kind, task_id, actor, data) VALUES (1, 'task.claimed', ?1, 'bench', '{}')",
        params![id],
    )
    .unwrap();
    tx.commit().unwrap();
    println!("claimed {id} under epoch {epoch}");
    // Never writing the log back would make every later opening slower: the same rule as Fairway's.
    let small = std::fs::metadata(format!("{path}-wal")).is_ok_and(|found| found.len() < 1 << 20);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, small).unwrap();
}
