//! The actors of a test: sessions, lanes and a repository, put in place without the verbs that make them.

use std::fs;
use std::path::Path;

use super::TestProject;

/// A value in a statement.
fn quoted(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".into(), |text| format!("'{}'", text.replace('\'', "''")))
}

fn event(world: &TestProject, kind: &str, session: Option<&str>, lane: Option<&str>) -> String {
    let (now, session, lane) = (world.now().millis(), quoted(session), quoted(lane));
    format!(
        "INSERT INTO events (at, kind, session_id, run_id, lane, actor, data) \
         VALUES ({now}, '{kind}', {session}, 'run-' || {session}, {lane}, 'test', '{{}}')"
    )
}

/// A running session.
pub fn add_session(world: &TestProject, id: &str, role: &str, lane: Option<&str>) {
    let (now, event) = (world.now().millis(), event(world, "session.upserted", Some(id), None));
    let (id, role, lane) = (quoted(Some(id)), quoted(Some(role)), quoted(lane));
    world.write_rows(&format!(
        "INSERT INTO agent_sessions (id, run_id, role, lane, status, host, started_at) \
         VALUES ({id}, 'run-' || {id}, {role}, {lane}, 'running', 'elsewhere', {now}); {event}"
    ));
}

/// An open lane, with a worktree where one is given.
pub fn add_lane(world: &TestProject, name: &str, wip_limit: Option<i64>, worktree: Option<&Path>) {
    let (now, event) = (world.now().millis(), event(world, "lane.added", None, Some(name)));
    let worktree = worktree.map(|path| path.to_string_lossy().into_owned());
    let (name, worktree) = (quoted(Some(name)), quoted(worktree.as_deref()));
    let wip_limit = wip_limit.map_or_else(|| "NULL".into(), |limit| limit.to_string());
    world.write_rows(&format!(
        "INSERT INTO lanes (name, status, worktree, wip_limit, created_at) \
         VALUES ({name}, 'open', {worktree}, {wip_limit}, {now}); {event}"
    ));
}

/// A permission request of a running session; answers with its number.
pub fn add_approval(world: &TestProject, session: &str, tool: &str, answerable: bool) -> i64 {
    let (now, answerable) = (world.now().millis(), i64::from(answerable));
    // Before a server sees the request, as the product does.
    let next: i64 = world.value("SELECT COALESCE(max(id), 0) + 1 FROM approvals").parse().unwrap();
    if answerable == 1 {
        await_answer(world, next);
    }
    world.write_rows(&format!(
        "INSERT INTO approvals (session_id, run_id, provider, tool, input, answerable, status, asked_at) \
         VALUES ('{session}', 'run-{session}', 'acme', {tool}, '{{\"command\":\"ls\"}}', {answerable}, 'pending', {now})",
        tool = quoted(Some(tool))
    ));
    let id: i64 = world.value("SELECT max(id) FROM approvals").parse().unwrap();
    let data = serde_json::json!({ "id": id, "provider": "acme", "tool": tool }).to_string();
    world.write_rows(&format!(
        "INSERT INTO events (at, kind, session_id, run_id, actor, data) \
         VALUES ({now}, 'approval.asked', '{session}', 'run-{session}', 'test', {})",
        quoted(Some(&data))
    ));
    assert_eq!(id, next);
    id
}

/// This process waits for the answer to an approval, until it ends.
pub fn await_answer(world: &TestProject, id: i64) {
    let dir = world.root().join(".fairway/runtime/attended");
    fairway_core::os::files::private_dir(dir.parent().unwrap()).unwrap();
    fairway_core::os::files::private_dir(&dir).unwrap();
    let lock = fairway_core::os::lock::SharedLock::acquire_waiting(&dir.join(format!("approval:{id}"))).unwrap();
    std::mem::forget(lock);
}

/// The session asks a question about a task, by a checkpoint.
#[track_caller]
pub fn ask_by_checkpoint(world: &TestProject, session: &str, task: &str, question: &str) {
    let asks = ["checkpoint", "record", task, "--state", "awaiting_input", "--summary", question];
    world.run([&["--session", session], &asks[..]].concat()).exits(0);
}

/// Removes the store of a test that wrote rows which no command leaves: they keep no invariant.
pub fn discard_store(world: &TestProject) {
    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
}

/// Runs git in a folder of this world; answers with what it printed.
#[track_caller]
pub fn git(world: &TestProject, folder: &Path, args: &[&str]) -> String {
    let mut command = world.command("git");
    // The same commits on every machine.
    for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.org"), ("DATE", "2026-01-01T00:00:00Z")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let done = command.args(args).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Makes the project a repository with everything in it committed; answers with the commit.
#[track_caller]
pub fn init_repository(world: &TestProject) -> String {
    let root = world.root();
    git(world, &root, &["init", "-q", "-b", "main"]);
    commit(world, "first")
}

/// Commits a new file of this name; answers with the commit.
#[track_caller]
pub fn commit(world: &TestProject, name: &str) -> String {
    let root = world.root();
    fs::write(root.join(name), name).unwrap();
    git(world, &root, &["add", "."]);
    git(world, &root, &["commit", "-q", "-m", name]);
    git(world, &root, &["rev-parse", "HEAD"])
}
