//! `fairway doctor`

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rusqlite::Connection;

use crate::common::{TestProject, tree_snapshot};

/// The codes of what is wrong; notes are no fault.
fn wrong(world: &TestProject) -> Vec<String> {
    let run = world.run(["doctor", "--json"]);
    let document = run.json();
    let findings = document["findings"].as_array().unwrap();
    let wrong: Vec<String> = findings
        .iter()
        .filter(|one| one["severity"] != "note")
        .map(|one| one["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(document["ok"], wrong.is_empty(), "{document}");
    assert_eq!(run.code, Some(i32::from(!wrong.is_empty())), "{document}");
    wrong
}

/// The table without what differs from build to build.
fn redacted(text: &str) -> String {
    text.replace(rusqlite::version(), "[version]")
}

fn stocked() -> TestProject {
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    world.run(["task", "add", "second", "--depends-on", "T-1"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    world
}

#[test]
fn healthy_project_is_told_so_and_nothing_is_touched() {
    let world = stocked();
    let before = tree_snapshot::capture(world.dir());
    insta::assert_snapshot!(redacted(&world.transcript(&["fairway doctor", "fairway doctor --quiet"])), @"
    $ fairway doctor
    SEVERITY  CODE       FIX  MESSAGE
    note      store      -    2 tasks, schema 25, SQLite [version]; only fairway backup copies it: a copy of the file lacks its log
    note      same_user  -    agents that run as this user can read the store and the files beside it; to isolate them, run them as another user or in a container
    $ fairway doctor --quiet
    store
    same_user
    ");
    assert_eq!(wrong(&world), Vec::<String>::new());
    assert!(tree_snapshot::capture(world.dir()) == before);

    let bare = TestProject::uninitialized();
    fs::write(bare.root().join(".fairway.toml"), "").unwrap();
    let before = tree_snapshot::capture(bare.dir());
    assert_eq!(wrong(&bare), Vec::<String>::new());
    assert!(tree_snapshot::capture(bare.dir()) == before);
}

#[test]
fn derivable_damage_is_found_and_repaired() {
    let world = stocked();
    let break_it = "UPDATE tasks SET open_deps = 7 WHERE id = 'T-2';
         UPDATE tasks SET epoch = 9 WHERE id = 'T-1';
         INSERT INTO claims (task_id, epoch, claimant, claimed_at) VALUES ('T-2', 3, 'nobody', 1);";
    Connection::open(world.store()).unwrap().execute_batch(break_it).unwrap();
    insta::assert_snapshot!(redacted(&world.transcript(&["fairway doctor", "fairway doctor --fix", "fairway doctor"])), @"
    $ fairway doctor
    SEVERITY  CODE             FIX                   MESSAGE
    error     open_deps_wrong  fairway doctor --fix  T-2 counts 7 open dependencies; it has 1
    error     epoch_low        fairway doctor --fix  T-2 is at epoch 0; a claim on it had 3
    error     claim_missing    fairway doctor --fix  T-1 is held by [user] under epoch 9, but its history has no such claim
    error     claim_left       fairway doctor --fix  the history of T-1 has a claim of [user] under epoch 1 that is active, but the task has no such claim
    error     claim_left       fairway doctor --fix  the history of T-2 has a claim of nobody under epoch 3 that is active, but the task has no such claim
    note      store            -                     2 tasks, schema 25, SQLite [version]; only fairway backup copies it: a copy of the file lacks its log
    note      same_user        -                     agents that run as this user can read the store and the files beside it; to isolate them, run them as another user or in a container
    [exit 1]
    $ fairway doctor --fix
    SEVERITY  CODE       FIX  MESSAGE
    note      repaired   -    T-2 counts 7 open dependencies; it has 1
    note      repaired   -    T-2 is at epoch 0; a claim on it had 3
    note      repaired   -    T-1 is held by [user] under epoch 9, but its history has no such claim
    note      repaired   -    the history of T-1 has a claim of [user] under epoch 1 that is active, but the task has no such claim
    note      repaired   -    the history of T-2 has a claim of nobody under epoch 3 that is active, but the task has no such claim
    note      store      -    2 tasks, schema 25, SQLite [version]; only fairway backup copies it: a copy of the file lacks its log
    note      same_user  -    agents that run as this user can read the store and the files beside it; to isolate them, run them as another user or in a container
    $ fairway doctor
    SEVERITY  CODE       FIX  MESSAGE
    note      store      -    2 tasks, schema 25, SQLite [version]; only fairway backup copies it: a copy of the file lacks its log
    note      same_user  -    agents that run as this user can read the store and the files beside it; to isolate them, run them as another user or in a container
    ");
    // The repair is in the log, and the tasks go on: no old epoch is valid.
    let events = world.run(["events"]).exits(0).stdout;
    assert!(events.contains("store.repaired"), "{events}");
    world.run(["release", "T-1", "--epoch", "1", "--json"]).refuses(4, "stale_claim");
    world.run(["release", "T-1", "--epoch", "9"]).exits(0);
    let conn = Connection::open(world.store()).unwrap();
    let claims: Vec<(String, i64, Option<String>)> = conn
        .prepare("SELECT task_id, epoch, ended_as FROM claims ORDER BY 1, 2")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let released = || Some("released".to_owned());
    assert_eq!(claims, [("T-1".into(), 1, released()), ("T-1".into(), 9, released()), ("T-2".into(), 3, released())]);
    // Rows that were written past Fairway have no events: the invariants of the suite do not hold here.
    conn.execute_batch(
        "INSERT INTO events (at, kind, task_id, actor, data) SELECT 1, 'task.claimed', task_id, 'test', \
         json_object('epoch', epoch, 'claimant', 'x', 'role', null, 'takeover', 'fresh') \
         FROM (SELECT 'T-2' AS task_id, 3 AS epoch UNION ALL SELECT 'T-1', 9)",
    )
    .unwrap();
}

#[test]
fn lower_epoch_than_the_history_knows_is_lifted() {
    let world = stocked();
    world.run(["release", "T-1"]).exits(0);
    Connection::open(world.store()).unwrap().execute_batch("UPDATE tasks SET epoch = 0 WHERE id = 'T-1'").unwrap();
    assert_eq!(wrong(&world), ["epoch_low"]);
    world.run(["doctor", "--fix"]).exits(0);
    assert_eq!(wrong(&world), Vec::<String>::new());
    assert_eq!(world.json(["claim", "T-1"])["task"]["claim"]["epoch"], 2);
}

#[test]
fn unrepairable_findings_are_reported_and_kept() {
    let world = stocked();
    let broken = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
         INSERT INTO task_deps VALUES ('T-1', 'T-2'); UPDATE tasks SET open_deps = 1 WHERE id = 'T-1';
         DELETE FROM events WHERE task_id = 'T-2' AND kind = 'task.added';
         UPDATE tasks SET role = 'no role!' WHERE id = 'T-2';
         INSERT INTO task_labels VALUES ('T-99', 'lost'); UPDATE tasks SET priority = 77 WHERE id = 'T-1';";
    Connection::open(world.store()).unwrap().execute_batch(broken).unwrap();
    let found = wrong(&world);
    assert_eq!(found, ["store_damaged", "store_damaged", "cycle", "event_missing", "store_unreadable"]);
    let before = tree_snapshot::capture(world.dir());
    world.run(["doctor", "--fix"]).exits(1);
    assert!(tree_snapshot::capture(world.dir()) == before);
    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
}

#[test]
fn modes_drafts_and_tracked_files_are_checked() {
    let world = stocked();
    let state = world.root().join(".fairway");
    fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(world.store(), Permissions::from_mode(0o644)).unwrap();
    fs::write(state.join("fairway.db-draft"), "half").unwrap();
    fs::set_permissions(state.join("fairway.db-draft"), Permissions::from_mode(0o600)).unwrap();
    // A pid above the largest there can be.
    fs::write(state.join(".AGENTS.md.4999999.tmp"), "half").unwrap();
    fs::set_permissions(state.join(".AGENTS.md.4999999.tmp"), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(wrong(&world), ["mode_open", "mode_open", "leftover", "leftover"]);
    world.run(["doctor", "--fix"]).exits(0);
    assert_eq!(wrong(&world), Vec::<String>::new());

    for version in ["2", "3", "4"] {
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(world.root()).env("HOME", world.dir()).env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(git.args(words).output().unwrap().status.success(), "{words:?}");
        };
        git(&["init", "--quiet"]);
        git(&["config", "index.version", version]);
        fs::write(world.root().join("a file.txt"), "x").unwrap();
        git(&["add", "a file.txt", ".fairway.toml"]);
        assert_eq!(wrong(&world), Vec::<String>::new());
        git(&["add", "--force", ".fairway/fairway.db"]);
        assert_eq!(wrong(&world), ["store_tracked"], "index version {version}");
        world.run(["doctor", "--fix"]).exits(1);
        fs::remove_dir_all(world.root().join(".git")).unwrap();
    }
}

#[test]
fn store_that_cannot_be_opened_is_a_finding() {
    let world = stocked();
    let good = fs::read(world.store()).unwrap();
    fs::write(world.store(), &good[..5000]).unwrap();
    let log = world.root().join(".fairway/fairway.db-wal");
    let aside = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    assert_eq!(wrong(&world), ["store_damaged"]);
    world.run(["doctor", "--fix"]).exits(1);
    assert!(fs::read(world.store()).unwrap() == good[..5000]);
    fs::write(world.store(), &good).unwrap();
    fs::write(&log, aside).unwrap();
}

/// An interrupted intent is told with the command that settles it, once no process can be busy with it any more.
#[test]
fn intentions_that_were_cut_off_are_noted() {
    let world = stocked();
    let now = world.now().millis();
    Connection::open(world.store())
        .unwrap()
        .execute_batch(&format!(
            "INSERT INTO lanes (name, status, created_at) VALUES ('late', 'open', 1);
             INSERT INTO requests (id, words, answer, created_at) VALUES
             ('lane ui', '{{\"branch\":\"lane/ui\",\"commit\":\"c\",\"worktree\":\"/w/ui\"}}', NULL, {now}),
             ('lane late', '{{\"branch\":\"lane/late\",\"commit\":\"c\",\"worktree\":\"/w/late\"}}', NULL, {now}),
             ('r1', 'digest', NULL, {now}), ('r2', 'digest', '{{}}', {now})"
        ))
        .unwrap();
    let unsettled = || -> Vec<(String, String)> {
        let document = world.json(["doctor"]);
        let findings = document["findings"].as_array().unwrap().iter().filter(|one| one["code"] == "unsettled");
        let text = |one: &serde_json::Value, field: &str| one[field].as_str().unwrap().to_owned();
        findings.map(|one| (text(one, "fix"), text(one, "severity"))).collect()
    };
    assert_eq!(unsettled(), []);
    world.advance_clock(300);
    let fixes = [
        "git worktree remove /w/late; git branch -d lane/late",
        "fairway lane add ui --create-worktree",
        "repeat the command with --request-id r1",
    ];
    assert_eq!(unsettled(), fixes.map(|fix| (fix.to_owned(), "note".to_owned())));
    assert_eq!(wrong(&world), Vec::<String>::new());
}
