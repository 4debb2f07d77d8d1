//! The invariants after every test, read straight from the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::published_schemas;

/// Queries that must find nothing, each with what it would mean.
const NEVER: &[(&str, &str)] = &[
    ("a table's integrity", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
    ("a broken reference", "SELECT * FROM pragma_foreign_key_check"),
    (
        "a held task without its live claim",
        "SELECT id FROM tasks t WHERE claimant IS NOT NULL AND NOT EXISTS (SELECT 1 FROM claims c \
         WHERE c.task_id = t.id AND c.ended_at IS NULL AND c.claimant = t.claimant AND c.epoch = t.epoch)",
    ),
    (
        "a live claim without its held task",
        "SELECT task_id FROM claims c WHERE ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM tasks t \
         WHERE t.id = c.task_id AND t.claimant = c.claimant)",
    ),
    (
        "an epoch above its task's",
        "SELECT task_id FROM claims c JOIN tasks t ON t.id = c.task_id WHERE c.epoch > t.epoch",
    ),
    (
        "a wrong count of open dependencies",
        "SELECT t.id FROM tasks t WHERE t.open_deps <> (SELECT count(*) FROM task_deps d LEFT JOIN tasks o \
         ON o.id = d.depends_on WHERE d.task_id = t.id AND coalesce(o.status, 'absent') <> 'done')",
    ),
    (
        "an event of a checkpoint that is not there",
        "SELECT seq FROM events e WHERE e.kind = 'checkpoint.recorded' \
         AND NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.id = json_extract(e.data, '$.id'))",
    ),
    (
        "evidence without its event",
        "SELECT id FROM evidence r WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.task_id = r.task_id \
         AND e.kind = 'evidence.recorded' AND json_extract(e.data, '$.id') = r.id)",
    ),
    (
        "an event of evidence that is not there",
        "SELECT seq FROM events e WHERE e.kind = 'evidence.recorded' \
         AND NOT EXISTS (SELECT 1 FROM evidence r WHERE r.id = json_extract(e.data, '$.id'))",
    ),
    (
        "an event of a handoff that is not in that state",
        "SELECT seq FROM events e WHERE e.kind IN ('handoff.accepted', 'handoff.declined', 'handoff.withdrawn') \
         AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.id = json_extract(e.data, '$.id') \
         AND e.kind = 'handoff.' || h.status)",
    ),
    (
        "a review without the event of its state",
        "SELECT id FROM reviews r WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.task_id = r.task_id \
         AND e.kind = CASE WHEN r.verdict IS NULL THEN 'review.requested' ELSE 'review.recorded' END \
         AND json_extract(e.data, '$.id') = r.id)",
    ),
    (
        "two open reviews in one domain",
        "SELECT task_id, domain FROM reviews WHERE verdict IS NULL GROUP BY task_id, domain HAVING count(*) > 1",
    ),
    (
        "a task without its first event",
        "SELECT id FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.task_id = t.id \
         AND e.kind IN ('task.added', 'task.imported'))",
    ),
    (
        "a claim without its event",
        "SELECT task_id FROM claims c WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.task_id = c.task_id \
         AND e.kind = 'task.claimed' AND json_extract(e.data, '$.epoch') = c.epoch)",
    ),
    (
        "a claim event without its claim",
        "SELECT seq FROM events e WHERE e.kind = 'task.claimed' AND NOT EXISTS (SELECT 1 FROM claims c \
         WHERE c.task_id = e.task_id AND c.epoch = json_extract(e.data, '$.epoch'))",
    ),
    (
        "a session without its first event",
        "SELECT id FROM agent_sessions s WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id \
         AND e.run_id = s.run_id AND e.kind IN ('session.starting', 'session.upserted'))",
    ),
    (
        "a final session without its event, or an event of an end without a final session",
        "SELECT id FROM agent_sessions s WHERE (s.ended_at IS NOT NULL) <> EXISTS (SELECT 1 FROM events e \
         WHERE e.session_id = s.id AND e.run_id = s.run_id AND e.kind IN ('session.ended', 'session.failed'))",
    ),
    (
        "a background run without its first event",
        "SELECT id FROM exec_runs WHERE id NOT IN (SELECT coalesce(json_extract(data, '$.exec_run_id'), run_id) FROM events \
         WHERE kind = 'exec.queued' AND coalesce(json_extract(data, '$.exec_run_id'), run_id) IS NOT NULL)",
    ),
    (
        "a final background run without its event, or an event of an end without a final run",
        "SELECT id FROM exec_runs WHERE (finished_at IS NOT NULL) <> (id IN (SELECT coalesce(json_extract(data, '$.exec_run_id'), run_id) \
         FROM events WHERE kind = 'exec.finished' AND coalesce(json_extract(data, '$.exec_run_id'), run_id) IS NOT NULL))",
    ),
    (
        "a background run that became final twice",
        "SELECT coalesce(json_extract(data, '$.exec_run_id'), run_id) AS job FROM events WHERE kind = 'exec.finished' \
         GROUP BY job HAVING count(*) > 1",
    ),
    (
        "a background run that runs without its event",
        "SELECT id FROM exec_runs WHERE status = 'running' AND id NOT IN (SELECT coalesce(json_extract(data, '$.exec_run_id'), run_id) \
         FROM events WHERE kind = 'exec.started' AND coalesce(json_extract(data, '$.exec_run_id'), run_id) IS NOT NULL)",
    ),
    (
        "two active background runs in one queue",
        "SELECT queue FROM exec_runs WHERE queue IS NOT NULL AND status IN ('starting', 'running') \
         GROUP BY queue HAVING count(*) > 1",
    ),
    (
        "an approval without the event of its state, or an event of an approval that is not in that state",
        "SELECT id FROM approvals a WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.kind = 'approval.asked' \
         AND json_extract(e.data, '$.id') = a.id) OR (a.status IN ('allowed', 'denied')) <> EXISTS (SELECT 1 FROM events e \
         WHERE e.kind = 'approval.answered' AND json_extract(e.data, '$.id') = a.id) OR (a.status = 'lapsed') <> EXISTS \
         (SELECT 1 FROM events e WHERE e.kind = 'approval.lapsed' AND json_extract(e.data, '$.id') = a.id)",
    ),
    (
        "an approval that a final session still waits for",
        "SELECT a.id FROM approvals a JOIN agent_sessions s ON s.id = a.session_id WHERE a.status = 'pending' \
         AND s.ended_at IS NOT NULL",
    ),
    (
        "a message without its first event",
        "SELECT id FROM messages WHERE id NOT IN (SELECT json_extract(data, '$.id') FROM events \
         WHERE kind = 'message.queued')",
    ),
    (
        "a settled message without the event of how it was settled",
        "SELECT id FROM messages WHERE settled_at IS NOT NULL AND (id, 'message.' || status) NOT IN \
         (SELECT json_extract(data, '$.id'), kind FROM events WHERE kind LIKE 'message.%')",
    ),
    (
        "an event of how a message was settled that is not in that state",
        "SELECT seq FROM events e JOIN messages m ON m.id = json_extract(e.data, '$.id') \
         WHERE e.kind IN ('message.acknowledged', 'message.expired', 'message.withdrawn') \
         AND e.kind <> 'message.' || m.status",
    ),
    (
        "a message that was settled twice",
        "SELECT json_extract(data, '$.id') FROM events \
         WHERE kind IN ('message.acknowledged', 'message.expired', 'message.withdrawn') \
         GROUP BY json_extract(data, '$.id') HAVING count(*) > 1",
    ),
    (
        "an offered message without its event",
        "SELECT id FROM messages WHERE status = 'offered' AND id NOT IN (SELECT json_extract(data, '$.id') FROM events \
         WHERE kind = 'message.offered')",
    ),
    (
        "a turn or a call of a run that is not its session's",
        "SELECT session_id FROM (SELECT session_id, run_id FROM usage_turns UNION ALL \
         SELECT session_id, run_id FROM tool_calls) u WHERE NOT EXISTS (SELECT 1 FROM agent_sessions s \
         WHERE s.id = u.session_id AND s.run_id = u.run_id) AND NOT EXISTS (SELECT 1 FROM events e \
         WHERE e.session_id = u.session_id AND e.run_id = u.run_id AND e.kind = 'session.starting')",
    ),
    (
        "usage without its event, or an event of usage without a turn",
        "SELECT id FROM agent_sessions s WHERE EXISTS (SELECT 1 FROM usage_turns u WHERE u.session_id = s.id) \
         <> EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id AND e.kind = 'usage.reported')",
    ),
    (
        "a session run that became final twice",
        "SELECT session_id FROM events WHERE kind IN ('session.ended', 'session.failed') \
         GROUP BY session_id, run_id HAVING count(*) > 1",
    ),
];

/// Fails when an invariant does not hold.
#[track_caller]
pub fn check(store: &Path) {
    let conn = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    if let Some(why) = violations(&conn) {
        panic!("{why} in {}", store.display());
    }
}

/// The first invariant that does not hold.
pub fn violations(conn: &Connection) -> Option<String> {
    let rows = NEVER.iter().find_map(|(what, query)| {
        let mut statement = conn.prepare_cached(query).unwrap();
        let found: Vec<String> = statement
            .query_map([], |row| row.get::<_, rusqlite::types::Value>(0).map(|value| format!("{value:?}")))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        (!found.is_empty()).then(|| format!("{what}: {found:?}"))
    });
    rows.or_else(|| unpublished_event(conn)).or_else(|| {
        let circle = in_cycles(conn);
        (!circle.is_empty()).then(|| format!("a circle of dependencies: {circle:?}"))
    })
}

/// How many of the newest events are compared with their schemas.
const MAX_EVENTS: i64 = 200;

/// An event whose data are not as `docs/reference/schemas.json` says. Tests plant events with empty data.
fn unpublished_event(conn: &Connection) -> Option<String> {
    let mut statement =
        conn.prepare("SELECT kind, data FROM events WHERE data <> '{}' ORDER BY seq DESC LIMIT ?1").unwrap();
    let events =
        statement.query_map([MAX_EVENTS], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    events.map(Result::unwrap).find_map(|(kind, data)| {
        let data = serde_json::from_str(&data).unwrap();
        published_schemas::event_violation(&kind, &data)
            .map(|why| format!("an event that has no schema: {why}: {data}"))
    })
}

/// The tasks that are left when, again and again, all are taken away that wait for none that is left: those on circles, and
/// those that wait for them. A walk over every pair would take a minute for a chain of twenty thousand.
fn in_cycles(conn: &Connection) -> Vec<String> {
    let mut waits: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut awaited: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statement = conn.prepare("SELECT task_id, depends_on FROM task_deps").unwrap();
    let edges = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (task, on) in edges.map(Result::unwrap) {
        awaited.entry(on.clone()).or_default().push(task.clone());
        waits.entry(task).or_default().insert(on);
    }
    let mut free: Vec<String> = awaited.keys().filter(|task| !waits.contains_key(*task)).cloned().collect();
    while let Some(task) = free.pop() {
        for waiting in awaited.get(&task).into_iter().flatten() {
            let Some(left) = waits.get_mut(waiting) else { continue };
            left.remove(&task);
            if left.is_empty() {
                waits.remove(waiting);
                free.push(waiting.clone());
            }
        }
    }
    waits.into_keys().collect()
}
