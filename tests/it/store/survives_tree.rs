//! The store under commands that change or remove every file of a tree: nothing is lost silently, and numbers that were
//! given out are not given out again.

use std::fs;
use std::path::PathBuf;

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;
use crate::guard::{GUARD, check, check_text, world_with};

/// Runs a shell command in the project.
#[track_caller]
fn shell(world: &TestProject, line: &str) -> CommandOutput {
    let mut command = world.command("sh");
    let run: CommandOutput = command.args(["-c", line]).output().unwrap().into();
    run.exits(0)
}

/// A project in a repository, with five tasks about an identifier; two are claimed.
fn with_tasks() -> TestProject {
    let world = TestProject::with_git();
    fs::write(world.root().join("code.txt"), "foo_total\n").unwrap();
    for number in 1..=5 {
        world.run(["task", "add", &format!("cart {number}: foo_total is wrong")]).exits(0);
    }
    world.run(["claim", "T-1"]).exits(0);
    world.run(["claim", "T-2"]).exits(0);
    world
}

/// Makes a snapshot of everything until now.
fn snapshot(world: &TestProject) {
    world.advance_clock(11 * 60);
    world.run(["session", "reconcile"]).exits(0);
}

/// The directory of what is kept about the store outside the tree.
fn outside(world: &TestProject) -> PathBuf {
    let stores = world.dir().join("home/.local/state/fairway/stores");
    let mut found = fs::read_dir(stores).unwrap().map(|entry| entry.unwrap().path());
    let one = found.next().unwrap();
    assert_eq!(found.next(), None);
    one
}

#[test]
fn word_of_the_same_length_replaced_in_all_files_is_told_and_ids_are_not_reused() {
    let world = with_tasks();
    shell(&world, "grep -rl foo_total . | xargs sed -i 's/foo_total/bar_total/g'");
    for words in [&["ready"][..], &["claim"], &["task", "add", "another"], &["task", "list"], &["init"]] {
        let error = world.run(words.iter().chain(&["--json"])).refuses(1, "store_damaged").error();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("it has lost"), "{words:?}: {message}");
        assert!(error["hint"].as_str().unwrap().contains("fairway restore --latest"), "{error}");
    }
    let findings = world.run(["doctor", "--json"]).exits(1).stdout;
    assert!(findings.contains("store_damaged") && findings.contains("fairway restore --latest"), "{findings}");

    // Going on without what is gone.
    let accepted = world.run(["doctor", "--accept"]).stdout;
    assert!(accepted.contains("is accepted"), "{accepted}");
    let left = world.run(["task", "list", "--quiet"]).exits(0).stdout;
    assert!(left.lines().count() < 5, "{left}");
    let added = world.run(["task", "add", "another", "--quiet"]).exits(0).stdout;
    assert_eq!(added, "T-6\n");
    // The claims that are gone are not valid under the epochs of new ones.
    world.run(["task", "add", "cart 1", "--id", "OLD-1"]).exits(0);
    world.run(["doctor"]).exits(0);
    // Accepting once is enough, and nothing more is lost.
    let events = world.run(["events", "--json"]).exits(0).stdout;
    world.run(["doctor", "--accept"]).exits(0);
    assert_eq!(world.run(["events", "--json"]).exits(0).stdout, events);
    assert!(events.contains("\"lost_events\""), "{events}");
}

#[test]
fn removed_log_is_told() {
    let world = with_tasks();
    shell(&world, "rm -f .fairway/*-wal");
    let error = world.run(["ready", "--json"]).refuses(1, "store_damaged").error();
    assert!(error["message"].as_str().unwrap().contains("it has lost"), "{error}");
}

#[test]
fn word_of_another_length_replaced_in_a_written_back_store_is_told_with_the_snapshot() {
    let world = with_tasks();
    // Into the main file, as a long day does.
    rusqlite::Connection::open(world.store()).unwrap().pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    snapshot(&world);
    shell(&world, "grep -rl foo_total . | xargs sed -i 's/foo_total/a_longer_total/g'");
    let error = world.run(["ready", "--json"]).refuses(1, "store_damaged").error();
    assert!(error["hint"].as_str().unwrap().contains("fairway restore --latest"), "{error}");
    world.run(["restore", "--latest"]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 5);
}

#[test]
fn gone_store_is_refused_until_the_newest_snapshot_is_back() {
    let world = with_tasks();
    snapshot(&world);
    assert_eq!(world.json(["restore", "--list"]).as_array().unwrap().len(), 2);
    world.run(["task", "add", "after the snapshot"]).exits(0);
    world.run(["claim", "T-6"]).exits(0);
    world.git(&world.root(), &["clean", "-ffdxq"]);
    assert!(!world.store().exists());
    for words in [&["ready"][..], &["task", "list"], &["task", "add", "x"], &["claim"], &["init"], &["status"]] {
        let error = world.run(words.iter().chain(&["--json"])).refuses(1, "store_gone").error();
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("fairway restore --latest") && hint.contains("fairway init --new"), "{hint}");
        assert!(!world.store().exists(), "{words:?}");
    }
    let restored = world.run(["restore", "--latest", "--json"]).exits(0);
    assert_eq!(restored.json()["missing"]["events"], 2, "{restored:?}");
    assert!(restored.stderr.contains("it lacks 2 events since"), "{restored:?}");
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 5);
    // T-6 was given out.
    assert_eq!(world.run(["task", "add", "next", "--quiet"]).exits(0).stdout, "T-7\n");
    // An older epoch is refused.
    world.run(["release", "T-1", "--epoch", "1", "--json"]).refuses(4, "stale_claim");
    world.run(["doctor"]).exits(0);
}

#[test]
fn restoring_a_readable_store_names_the_missing_events() {
    let world = with_tasks();
    snapshot(&world);
    world.run(["task", "add", "after the snapshot"]).exits(0);
    let restored = world.run(["restore", "--latest"]).exits(0);
    assert!(restored.stderr.contains("it lacks 1 event since: 8 to 8"), "{restored:?}");
    assert!(restored.stderr.contains("missing: 8 task.added T-6"), "{restored:?}");
    assert_eq!(world.run(["task", "add", "next", "--quiet"]).exits(0).stdout, "T-7\n");
}

#[test]
fn new_store_in_the_place_of_a_gone_one_goes_on_with_its_numbers() {
    let world = with_tasks();
    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
    world.run(["init", "--json"]).refuses(1, "store_gone");
    world.run(["init", "--new"]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout, "");
    assert_eq!(world.run(["task", "add", "first", "--quiet"]).exits(0).stdout, "T-6\n");
    // Events too: a program that follows them by number misses none.
    let first = world.run(["events", "--quiet"]).exits(0).stdout;
    assert_eq!(first.lines().next(), Some("8"), "{first}");
    // With a store in place, nothing begins anew.
    world.run(["init", "--new"]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout, "T-6\n");
    world.run(["doctor"]).exits(0);
}

#[test]
fn configuration_that_went_with_the_store_is_not_trusted_again() {
    let world = world_with(GUARD);
    check_text(&world, "git push -f").refuses(5, "guard_denied");
    world.run(["task", "add", "one"]).exits(0);
    fs::remove_file(world.root().join(".fairway.toml")).unwrap();
    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
    world.run(["init", "--json"]).refuses(1, "store_gone");
    assert!(world.root().join(".fairway.toml").exists());
    // The configuration is back, so that something can be restored; without its rules every call is denied.
    let call = serde_json::json!({
        "session_id": "a", "cwd": world.root(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "ls" },
    });
    let asked = world.run_with_stdin(["hook", "claude", "PreToolUse"], call.to_string().as_bytes());
    assert!(asked.code == Some(2) || asked.stdout.contains("\"deny\""), "{asked:?}");
}

#[test]
fn state_of_project_and_user_and_git_is_outside_of_every_worktree() {
    let mut world = world_with(GUARD);
    let home = world.root().join("home");
    world.set("XDG_STATE_HOME", &home);
    world.git(&world.root(), &["init", "--quiet"]);
    world.run(["trust"]).exits(0);
    let write = |path: &str| check(&world, "Write", &serde_json::json!({ "file_path": path, "content": "x" }));
    for path in ["src/a.rs", ".fairway.d/a", "new/.fairway/a"] {
        write(path).exits(0);
    }
    for path in [".fairway/fairway.db", ".fairway/worktrees/other/a", "home/fairway/trust/x.json", ".git/config"] {
        write(path).refuses(5, "guard_denied");
    }
}

#[test]
fn git_cleaners_leave_the_store_and_git_sees_nothing_of_it() {
    let world = with_tasks();
    let root = world.root();
    let git = |args: &[&str]| world.git(&root, args);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=all"]);
    assert_eq!(git(&["ls-files"]), ".fairway.toml\ncode.txt\n");
    assert_eq!(git(&["status", "--porcelain"]), "");
    for cleaner in [&["clean", "-fdxq"][..], &["clean", "-fdXq"], &["stash", "--all", "--quiet"]] {
        git(cleaner);
        assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 5, "{cleaner:?}");
    }
    // Worktrees below it are worktrees like any other, and Fairway's commands work in them.
    git(&["worktree", "add", "--quiet", ".fairway/worktrees/w1", "-b", "w1"]);
    let below = root.join(".fairway/worktrees/w1");
    fs::write(below.join("new.txt"), "new").unwrap();
    assert_eq!(world.git(&below, &["status", "--porcelain"]), "?? new.txt\n");
    world.git(&below, &["clean", "-fdxq"]);
    assert!(!below.join("new.txt").exists());
    let listed: CommandOutput = world.fairway(["task", "list", "--quiet"]).current_dir(&below).output().unwrap().into();
    assert_eq!(listed.exits(0).stdout.lines().count(), 5);
    world.run(["doctor"]).exits(0);
    git(&["fsck", "--no-progress"]);
    git(&["gc", "--quiet"]);
    git(&["clean", "-fdxq"]);
    assert!(world.store().exists());
    // A new repository in the place of the old one: the directory is ignored as before.
    fs::remove_dir_all(root.join(".git")).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "--all"]);
    assert!(!git(&["ls-files"]).contains(".fairway/"));
}

#[test]
fn project_below_a_repository_is_shielded_at_its_own_path() {
    let world = TestProject::uninitialized();
    let sub = world.root().join("a [b]/sub");
    fs::create_dir_all(&sub).unwrap();
    world.git(&world.root(), &["init", "--quiet", "--initial-branch=main"]);
    let run = |args: &[&str]| {
        let run: CommandOutput = world.fairway(args).current_dir(&sub).output().unwrap().into();
        run.exits(0)
    };
    run(&["init"]);
    run(&["task", "add", "one"]);
    world.git(&world.root(), &["clean", "-fdxq", "--exclude=.fairway.toml"]);
    assert_eq!(run(&["task", "list", "--quiet"]).stdout, "T-1\n");
    assert_eq!(world.git(&world.root(), &["status", "--porcelain", "-uall"]), "?? \"a [b]/sub/.fairway.toml\"\n");
}

#[test]
fn writes_make_snapshots_after_ten_minutes() {
    let world = TestProject::with_git();
    let events = || -> Vec<i64> {
        let list = world.json(["restore", "--list"]);
        list.as_array().unwrap().iter().map(|one| one["event"].as_i64().unwrap()).collect()
    };
    world.run(["task", "add", "one"]).exits(0);
    assert_eq!(events(), [1]);
    world.run(["task", "add", "more"]).exits(0);
    assert_eq!(events(), [1]);
    world.advance_clock(11 * 60);
    world.run(["ready"]).exits(0);
    assert_eq!(events(), [1]);
    world.run(["task", "edit", "T-1", "--title", "another"]).exits(0);
    assert_eq!(events(), [3, 1]);
    // After a day one is made without a change, so that what was deleted is gone from it.
    world.advance_clock(25 * 60 * 60);
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(events().len(), 3);
    // A snapshot is a backup.
    let newest = world.json(["restore", "--list"])[0]["file"].as_str().unwrap().to_owned();
    world.run(["restore", &newest]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 2);
}

#[test]
fn imported_tasks_come_back_without_a_launch_or_a_server() {
    let world = TestProject::with_git();
    world.run(["task", "add", "first"]).exits(0);
    let file = world.dir().join("tasks.jsonl");
    let lines: String = (0..150).map(|n| format!("{{\"id\":\"M-{n}\",\"title\":\"foo_total {n}\"}}\n")).collect();
    fs::write(&file, lines).unwrap();
    world.run(["task", "import", file.to_str().unwrap()]).exits(0);
    for _ in 0..3 {
        world.run(["claim"]).exits(0);
    }
    shell(&world, "grep -rl foo_total . | xargs sed -i 's/foo_total/bar_total/g'");
    let error = world.run(["task", "list", "--json"]).refuses(1, "store_damaged").error();
    assert!(error["hint"].as_str().unwrap().contains("fairway restore --latest"), "{error}");
    world.run(["restore", "--latest"]).exits(0);
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 151);
}

#[test]
fn writers_at_once_make_one_snapshot() {
    let world = TestProject::with_git();
    world.run(["task", "add", "one"]).exits(0);
    world.advance_clock(11 * 60);
    let calls: Vec<_> = (0..8)
        .map(|n| world.fairway(["task", "edit", "T-1", "--title", &format!("title {n}")]).spawn().unwrap())
        .collect();
    for mut call in calls {
        assert!(call.wait().unwrap().success());
    }
    assert_eq!(world.json(["restore", "--list"]).as_array().unwrap().len(), 2);
}

#[test]
fn log_of_an_idle_store_is_written_back() {
    let world = with_tasks();
    let log = world.store().with_file_name("fairway.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0);
    world.run(["ready"]).exits(0);
    assert!(fs::metadata(&log).unwrap().len() > 0, "it was written just now");
    let idle = || {
        let hour = std::time::Duration::from_secs(60 * 60);
        let old = std::time::SystemTime::now() - hour;
        fs::File::options().append(true).open(&log).unwrap().set_modified(old).unwrap();
    };
    idle();
    world.run(["ready"]).exits(0);
    assert!(!log.exists());
    // While another process has the store open, that process does it: nothing is left for a search and replace.
    world.real_time();
    world.run(["task", "add", "more"]).exits(0);
    idle();
    world.run(["serve", "--exit-after", "1s"]).exits(0);
    assert_eq!(fs::metadata(&log).map_or(0, |log| log.len()), 0);
    shell(&world, "rm -f .fairway/*-wal");
    assert_eq!(world.run(["task", "list", "--quiet"]).exits(0).stdout.lines().count(), 6);
}

#[test]
fn hint_offers_a_snapshot_only_where_there_is_one() {
    let world = with_tasks();
    let snapshots = fs::read_dir(world.dir().join("home/.local/state/fairway/stores")).unwrap();
    for dir in snapshots.flatten().map(|entry| entry.path().join("snapshots")).filter(|dir| dir.exists()) {
        fs::remove_dir_all(dir).unwrap();
    }
    let hint = |world: &TestProject, code: &str| {
        world.run(["ready", "--json"]).refuses(1, code).error()["hint"].as_str().unwrap().to_owned()
    };
    shell(&world, "rm -f .fairway/*-wal");
    let without = "there is no snapshot; restore a backup: fairway restore FILE\n";
    assert_eq!(hint(&world, "store_damaged"), format!("{without}go on without them: fairway doctor --accept"));
    shell(&world, "rm -f .fairway/fairway.db*");
    let begin = format!("{without}begin a new store: fairway init --new");
    assert_eq!(hint(&world, "store_gone"), begin);
    let refused = world.run(["init", "--json"]).refuses(1, "store_gone").error();
    assert_eq!(refused["hint"], begin);
}

#[test]
fn launch_and_server_make_snapshots() {
    let made = |words: &[&str]| {
        let world = with_tasks();
        world.real_time();
        world.run(words).exits(0);
        let count = world.json(["restore", "--list"]).as_array().unwrap().len();
        world.run(["session", "stop", "--all"]).exits(0);
        count
    };
    assert_eq!(made(&["session", "launch", "--role", "r", "--id", "s1", "--", "sleep", "60"]), 1);
    assert_eq!(made(&["serve", "--exit-after", "1s"]), 1);
}

#[test]
fn memory_that_cannot_be_written_fails_no_command() {
    let world = TestProject::with_git();
    let state = world.dir().join("home/.local/state/fairway");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("stores"), "not a directory").unwrap();
    world.run(["task", "add", "one"]).exits(0);
    world.run(["claim"]).exits(0);
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.run(["restore", "--list"]).exits(0).stdout, "no snapshots\n");
}

#[test]
fn moved_project_and_a_copy_of_it_are_no_loss() {
    let world = with_tasks();
    let copy = world.dir().join("copy");
    shell(&world, "cp -a . ../copy");
    // The original goes on; the copy is behind it, and is a store of its own.
    world.run(["task", "add", "only here"]).exits(0);
    let run = |args: &[&str]| -> CommandOutput {
        let run: CommandOutput = world.fairway(args).current_dir(&copy).output().unwrap().into();
        run.exits(0)
    };
    assert_eq!(run(&["task", "list", "--quiet"]).stdout.lines().count(), 5);
    run(&["task", "add", "only there"]);
    fs::rename(&copy, world.dir().join("moved")).unwrap();
    let moved = world.dir().join("moved");
    let listed: CommandOutput = world.fairway(["task", "list", "--quiet"]).current_dir(&moved).output().unwrap().into();
    assert_eq!(listed.exits(0).stdout.lines().count(), 6);
}

#[test]
fn torn_memory_counts_as_none() {
    let world = with_tasks();
    let mut files = fs::read_dir(outside(&world)).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|file| file.extension().is_some_and(|ending| ending == "progress")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "fairway store 1\nevent 7\ntask T 5\nend\n");
    fs::write(&file, &text[..20]).unwrap();
    world.run(["ready"]).exits(0);
    world.run(["task", "add", "one more"]).exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "fairway store 1\nevent 8\ntask T 6\nend\n");
}
