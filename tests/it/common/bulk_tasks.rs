//! Many tasks at once, put into the store's file directly, each with its first event.

use std::path::Path;

use rusqlite::Connection;

/// Puts `count` ready tasks `S-1`, `S-2`, … into a store.
pub fn insert_ready_tasks(store: &Path, count: u32) {
    let conn = Connection::open(store).unwrap();
    conn.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at)
         SELECT 'S-' || i, 'task ' || i, 'todo', 2, i, i FROM n;
         INSERT INTO events (at, kind, task_id, actor, data)
         SELECT created_at, 'task.added', id, 'fill', '{{}}' FROM tasks WHERE id LIKE 'S-%';
         COMMIT;"
    ))
    .unwrap();
}
