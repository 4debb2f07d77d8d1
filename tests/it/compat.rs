//! A project of version 0.1 opens with this version: every read answers as recorded, stored answers are repeated, writing
//! goes on. `tests/fixtures/version-0.1/make.py` recorded them with the binary of that version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairway_core::config::KEYS;
use fairway_core::os;
use rusqlite::Connection;
use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The time at which the reads were recorded.
const READ_AT: &str = "2026-01-02T03:46:41Z";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-0.1").join(name)
}

/// The fixture's text with this project's root, user and machine in place of the recorded ones.
fn localized(world: &TestProject, name: &str) -> String {
    let root = world.root().display().to_string();
    let user = format!("{}@{}", os::user::name(), os::host::name());
    fs::read_to_string(fixture(name))
        .unwrap()
        .replace("[root]", &root)
        .replace("[user]", &user)
        .replace("[host]", &os::host::identity().name)
        .replace("[boot]", &os::host::boot_id())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A copy of the fixture's project, trusted.
fn project() -> TestProject {
    let world = TestProject::uninitialized();
    let root = world.root();
    fs::create_dir(root.join("tools")).unwrap();
    fs::copy(fixture("fairway.toml"), root.join(".fairway.toml")).unwrap();
    let state = root.join(".fairway");
    fs::create_dir(&state).unwrap();
    set_mode(&state, 0o700);
    for (dump, store) in [("store.sql", "fairway.db"), ("runs.sql", "runs.db")] {
        let path = state.join(store);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&localized(&world, dump)).unwrap();
        conn.pragma_update(None, "journal_mode", "wal").unwrap();
        drop(conn);
        set_mode(&path, 0o600);
    }
    copy_private(&fixture("jobs"), &state.join("runs"));
    world.run(["trust"]).exits(0);
    world
}

/// Copies a tree with the modes that Fairway gives; git keeps neither them nor empty directories.
fn copy_private(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    set_mode(to, 0o700);
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_private(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            set_mode(&target, 0o600);
        }
    }
}

/// Whether a value is at a path of the table of keys: `*` stands for any name, `[]` for an element of a list.
fn has(value: &toml::Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let below: Vec<&toml::Value> = match (*step, step.strip_suffix("[]")) {
        ("*", _) => value.as_table().into_iter().flat_map(toml::Table::values).collect(),
        (_, Some(list)) => value.get(list).and_then(toml::Value::as_array).into_iter().flatten().collect(),
        (name, None) => value.get(name).into_iter().collect(),
    };
    below.into_iter().any(|value| has(value, rest))
}

/// Those of a server are in no file that is committed.
#[test]
fn recorded_configuration_has_every_key() {
    let recorded: toml::Value =
        fs::read_to_string(fixture("fairway.toml")).unwrap().parse::<toml::Table>().unwrap().into();
    let paths = KEYS.iter().filter(|key| key.section != "store").map(fairway_core::config::Key::path);
    let missing: Vec<String> = paths.filter(|path| !has(&recorded, &path.split('.').collect::<Vec<_>>())).collect();
    assert_eq!(missing, [""; 0]);
}

/// The recorded calls of a file: the command line, its exit code and its output.
fn recorded(world: &TestProject, name: &str) -> Vec<(String, i32, String)> {
    let calls: Vec<Value> = serde_json::from_str(&localized(world, name)).unwrap();
    let text = |call: &Value, key: &str| call[key].as_str().unwrap().to_owned();
    calls
        .iter()
        .map(|call| {
            let exit = call.get("exit").map_or(0, |exit| i32::try_from(exit.as_i64().unwrap()).unwrap());
            (text(call, "command"), exit, text(call, "stdout"))
        })
        .collect()
}

fn run_at(world: &TestProject, time: &str, line: &str, more: &[&str]) -> CommandOutput {
    let mut command = world.fairway(line.split(' ').chain(more.iter().copied()));
    command.env("FAIRWAY_TEST_TIME", time).output().unwrap().into()
}

/// The documents of an output: one, or one a line.
fn documents(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
}

/// The members of a command's documents that are texts for a person or an agent. Such a text is no promise; its presence is.
fn text_members(line: &str) -> &'static [&'static str] {
    match line.split(' ').next() {
        Some("explain") => &["message"],
        Some("prime") => &["content", "text"],
        _ => &[],
    }
}

/// The first place where `now` lacks something that `before` has. A later version may add keys to objects, nothing else.
fn difference(before: &Value, now: &Value, at: &str, texts: &[&str]) -> Option<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => before.iter().find_map(|(key, value)| {
            let at = format!("{at}.{key}");
            if texts.contains(&key.as_str()) {
                return (!now.get(key).is_some_and(Value::is_string)).then(|| format!("{at} is missing"));
            }
            now.get(key).map_or_else(|| Some(format!("{at} is missing")), |now| difference(value, now, &at, texts))
        }),
        // A list of settings: a later version has more keys.
        (Value::Array(before), Value::Array(now))
            if before.iter().any(|one| one["key"].is_string()) && now != before =>
        {
            let is_known = |one: &&Value| before.iter().any(|other| other["key"] == one["key"]);
            let known: Vec<Value> = now.iter().filter(is_known).cloned().collect();
            let all = before.iter().zip(&known);
            let pair =
                |(before, now): (&Value, &Value)| difference(before, now, &format!("{at}[{}]", before["key"]), texts);
            let missing = || (known.len() != before.len()).then(|| format!("{at}: {} settings", known.len()));
            all.map(pair).find_map(|found| found).or_else(missing)
        }
        // A list of events: a later version has more kinds.
        (Value::Array(before), Value::Array(now))
            if before.iter().any(|one| one["seq"].is_number()) && now.len() > before.len() =>
        {
            let known =
                now.iter().filter(|one| before.iter().any(|other| other["seq"] == one["seq"])).cloned().collect();
            difference(&Value::Array(before.clone()), &Value::Array(known), at, texts)
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => before
            .iter()
            .zip(now)
            .enumerate()
            .find_map(|(index, (before, now))| difference(before, now, &format!("{at}[{index}]"), texts)),
        _ => (before != now).then(|| format!("{at} was {before} and is {now}")),
    }
}

#[test]
fn every_read_of_a_version_0_1_store_answers_as_recorded() {
    let world = project();
    let calls = recorded(&world, "reads.json");
    assert!(calls.len() > 50, "only {} reads were recorded", calls.len());
    let mut wrong = Vec::new();
    for (line, exit, before) in calls {
        let run = run_at(&world, READ_AT, &line, &["--json"]);
        if run.code != Some(exit) {
            wrong.push(format!("{line}: {run:#?}"));
            continue;
        }
        let (before, now) = (Value::Array(documents(&before)), Value::Array(documents(&run.stdout)));
        wrong.extend(difference(&before, &now, "", text_members(&line)).map(|why| format!("{line}: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn stored_answers_of_version_0_1_are_repeated() {
    let world = project();
    let calls = recorded(&world, "repeats.json");
    assert!(calls.len() > 10, "only {} repeats were recorded", calls.len());
    let events = || documents(&world.run(["events", "--json"]).exits(0).stdout).len();
    let before = events();
    for (line, exit, stdout) in calls {
        let run = run_at(&world, READ_AT, &line, &[]);
        assert_eq!((run.code, &run.stdout), (Some(exit), &stdout), "{line}: {run:#?}");
        assert_eq!(events(), before, "{line} had an effect");
        // Another command under the key is refused. Stored rows of version 0.1 name their command by its answer.
        let (_, key) = line.split_once("--request-id ").unwrap();
        let other = if line.starts_with("lane") { "task add other" } else { "lane add other --role backend" };
        let other = format!("{other} --json --session lead --request-id {}", key.split(' ').next().unwrap());
        run_at(&world, READ_AT, &other, &[]).refuses(2, "request_reused");
    }
}

#[test]
fn writing_goes_on_in_a_version_0_1_store() {
    let world = project();
    world.advance_clock(200_000);
    world.run(["config", "check"]).exits(0);
    let id = world.json(["task", "add", "made later"])["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("D-"), "{id}");
    world.run(["claim", &id, "--session", "lead"]).exits(0);
    world.run(["checkpoint", "record", &id, "--state", "active", "--summary", "s", "--session", "lead"]).exits(0);
    world.run(["evidence", "add", &id, "--result", "pass", "--session", "lead"]).exits(0);
    world.run(["task", "done", &id, "--session", "lead"]).exits(0);
    assert_eq!(world.json(["task", "show", &id])["status"], "done");
    // Rows of that version are changed too: a claim, a task, a handoff, a session and a message.
    world.run(["release", "D-4", "--reason", "later", "--session", "lead"]).exits(0);
    world.run(["task", "resume", "D-6", "--session", "lead"]).exits(0);
    world.run(["handoff", "withdraw", "1", "--session", "lead"]).exits(0);
    world.run(["session", "end", "other"]).exits(0);
    let inbox = world.json(["inbox", "--session", "dev"]);
    assert_eq!(inbox[0]["content"], "next", "{inbox}");
    let pending = world.json(["approvals", "list"]);
    let approval = pending[0]["id"].to_string();
    // Its provider no longer waits for it.
    world.run(["approvals", "answer", &approval, "deny", "--reason", "late"]).exits(5);
    world.run(["guard", "check", "--session", "dev", "--tool", "Bash", "--input", "{\"command\":\"ls\"}"]).exits(0);
    let jobs = world.json(["exec", "list"]).as_array().unwrap().len();
    world.run(["exec", "spawn", "--foreground", "--", "true"]).exits(0);
    let listed = world.json(["exec", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), jobs + 1);
    let oldest = listed[jobs]["run_id"].as_str().unwrap();
    world.run(["exec", "rm", oldest]).exits(0);
    assert_eq!(world.json(["exec", "list"]).as_array().unwrap().len(), jobs);
    world.run(["doctor"]).exits(0);
}
