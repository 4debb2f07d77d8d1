//! `fairway backup` and `fairway restore`

use std::fs;

use crate::common::{TestProject, tree_snapshot};

#[test]
fn store_is_backed_up_and_restored() {
    let world = TestProject::new();
    let transcript = world.transcript(&[
        "fairway task add 'before the backup'",
        "fairway claim T-1",
        "fairway backup ../copy.db",
        "fairway backup ../copy.db",
        "fairway backup ../copy.db --force",
        "fairway backup .fairway/fairway.db --force",
        "fairway backup ..",
        "fairway task add 'after the backup'",
        "fairway restore ../nothing.db",
        "fairway restore .fairway/fairway.db",
        "fairway restore ../copy.db",
        "fairway task list",
        "fairway release T-1 --epoch 1",
        "fairway release T-1",
    ]);
    // The size follows the schema.
    let size = fs::metadata(world.dir().join("copy.db")).unwrap().len();
    insta::assert_snapshot!(transcript.replace(&format!("({size} bytes)"), "([size])"), @"
    $ fairway task add 'before the backup'
    added T-1
    $ fairway claim T-1
    claimed T-1: before the backup
    $ fairway backup ../copy.db
    backed up 1 task to ../copy.db ([size])
    $ fairway backup ../copy.db
    error: file '[world]/project/../copy.db' already exists
    hint: move it away: mv --backup=numbered [world]/project/../copy.db [world]/project/../copy.db.old
    [exit 4]
    $ fairway backup ../copy.db --force
    backed up 1 task to ../copy.db ([size])
    $ fairway backup .fairway/fairway.db --force
    error: [world]/project/.fairway/fairway.db belongs to the store itself
    [exit 2]
    $ fairway backup ..
    error: .. is a directory, not a file
    [exit 2]
    $ fairway task add 'after the backup'
    added T-2
    $ fairway restore ../nothing.db
    error: there is no file '[world]/project/../nothing.db'
    [exit 3]
    $ fairway restore .fairway/fairway.db
    error: [world]/project/.fairway/fairway.db belongs to the store itself
    [exit 2]
    $ fairway restore ../copy.db
    restored 1 task from ../copy.db; the previous store is kept as [world]/project/.fairway/fairway.db.before-restore-2026-01-01T000012.000Z
    claims now have epoch 2; older epochs are invalid
    $ fairway task list
    ID   P  STATUS       ROLE  LANE  HELD BY  TITLE
    T-1  2  in_progress  -     -     [user]  before the backup
    $ fairway release T-1 --epoch 1
    error: your claim on T-1 is stale: its epoch is 1, the task is at epoch 2 (claimed by [user])
    hint: see who has it: fairway task show T-1
    [exit 4]
    $ fairway release T-1
    released T-1: in_progress → todo
    ");
}

#[test]
fn backup_and_restore_documents_are_as_recorded() {
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    let copy = world.dir().join("copy.db");
    let made = world.json(["backup", "../copy.db"]);
    assert_eq!(made["tasks"], 1);
    assert_eq!(made["bytes"], fs::metadata(&copy).unwrap().len());
    let back = world.json(["restore", "../copy.db"]);
    assert_eq!((&back["tasks"], &back["epoch"]), (&1.into(), &1.into()));
    assert!(fs::exists(back["kept"].as_str().unwrap()).unwrap());
    assert_eq!(world.run(["doctor"]).code, Some(0));
}

#[test]
fn backup_is_private_leaves_no_draft_and_touches_nothing() {
    use std::os::unix::fs::MetadataExt;
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    let before = tree_snapshot::capture(world.dir());
    world.run(["backup", "../copy.db"]).exits(0);
    let mut after = tree_snapshot::capture(world.dir());
    let copy = world.dir().join("copy.db");
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, 0o600);
    after.remove(&copy);
    assert!(after == before, "{:?}", after.keys());
}

#[test]
fn backup_without_a_store_is_refused() {
    let world = TestProject::uninitialized();
    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    world.run(["backup", "../copy.db", "--json"]).refuses(3, "not_found");
    assert!(!world.dir().join("copy.db").exists() && !world.store().exists());
    fs::write(world.dir().join("live.db-wal"), "x").unwrap();
    world.run(["task", "add", "first"]).exits(0);
    world.run(["backup", "../live.db", "--force", "--json"]).refuses(4, "in_use");
}

#[test]
fn restore_names_the_sessions_that_had_not_ended() {
    let world = TestProject::new();
    world.run(["backup", "b.db"]).exits(0);
    let quiet = world.run(["restore", "b.db"]).exits(0).stderr;
    assert!(!quiet.contains("had not ended"), "{quiet}");
    world.add_session("s1");
    world.add_session("s2");
    world.run(["session", "end", "s2"]).exits(0);
    let run = world.run(["restore", "b.db"]).exits(0);
    assert!(run.stderr.contains("these sessions had not ended: s1; "), "{}", run.stderr);
}
