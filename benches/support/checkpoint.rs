//! The smallest program that records a checkpoint, with the same rows in one durable transaction: the measure for
//! `fairway checkpoint record`.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::print_stdout, reason = "the least code that does it")]

mod least;

use rusqlite::{Transaction, TransactionBehavior};

fn main() {
    let (path, conn) = least::open();
    let tx = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate).unwrap();
    let number: i64 = tx
        .query_row(
            "INSERT INTO checkpoints (task_id, state, summary, created_at) \
             SELECT id, 'active', 'as far as that', 1 FROM tasks WHERE id = 'S-1' RETURNING id",
            [],
            |row| row.get(0),
        )
        .unwrap();
    tx.execute(
        "INSERT INTO events (at, kind, task_id, actor, data) VALUES (1, 'checkpoint.recorded', 'S-1', 'bench', '{}')",
        [],
    )
    .unwrap();
    tx.commit().unwrap();
    println!("recorded checkpoint {number} on S-1: active");
    least::close(&path, conn);
}
