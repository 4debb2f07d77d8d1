//! The smallest program that claims the first ready task, with the same rows in one durable transaction: the measure for
//! `fairway claim`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "the least code that does it")]

mod least;

use rusqlite::{Transaction, TransactionBehavior, params};

fn main() {
    let (path, conn) = least::open();
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
    least::close(&path, conn);
}
