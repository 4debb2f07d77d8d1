//! Places that cannot be written: a full disk, a read-only one.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::common::mount::Mount;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, bulk_tasks, fixtures, tree_snapshot};

const COMMANDS: &[&[&str]] = &[
    &["task", "add", "one more", "--json"],
    &["claim", "--json"],
    &["ready", "--json"],
    &["task", "show", "S-1", "--json"],
    &["events", "--json"],
];

/// Either it worked, or it says in one sentence what is in the way and exits 8; answers whether it worked.
#[track_caller]
fn worked_or_told(run: &CommandOutput, codes: &[&str]) -> bool {
    assert!(!run.stderr.contains("panicked"), "{run:?}");
    if run.code == Some(0) {
        return true;
    }
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    let error = run.error();
    let code = error["code"].as_str().unwrap();
    assert!(codes.contains(&code), "{run:?}");
    // Room on the disk may be made; what a sandbox forbids stays forbidden.
    let exit = if code == "store_read_only" { 7 } else { 8 };
    assert_eq!(run.code, Some(exit), "{run:?}");
    assert_eq!(error["retryable"], exit == 8, "{run:?}");
    false
}

/// Writes until not one more byte fits.
fn fill_up(folder: &Path) -> File {
    let mut file = File::create(folder.join("ballast")).unwrap();
    for size in [65_536, 4_096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    file
}

#[test]
fn full_disk_is_reported_and_recoverable() {
    let world = TestProject::uninitialized();
    let state = world.root().join(".fairway");
    fs::create_dir(&state).unwrap();
    let Some(_mount) = Mount::tmpfs(&state, 2_048) else { return };
    world.run(["init", "--quiet"]).exits(0);
    bulk_tasks::insert_ready_tasks(&world.store(), 50);
    let database = fs::read(world.store()).unwrap();

    // Once without a log, once with one that can hold no more.
    for round in 0..2 {
        drop(fill_up(&state));
        let log = fs::read(state.join("fairway.db-wal")).unwrap_or_default();
        let mut refused = 0;
        for words in COMMANDS.iter().chain(COMMANDS) {
            refused += i32::from(!worked_or_told(&world.run(*words), &["store_full"]));
            assert!(fs::read(world.store()).unwrap() == database, "{words:?} has written to the store's file");
        }
        assert!(refused >= 4, "the disk was not full: only {refused} were refused");
        assert!(fs::read(state.join("fairway.db-wal")).unwrap_or_default().starts_with(&log));
        fs::remove_file(state.join("ballast")).unwrap();
        world.run(["ready", "--quiet"]).exits(0);
        world.run(["task", "add", &format!("after round {round}")]).exits(0);
        world.run(["claim", &format!("S-{}", round + 1)]).exits(0);
        assert!(fs::read(world.store()).unwrap() == database);
    }
}

#[test]
fn first_open_on_a_full_disk_leaves_nothing_and_works_later() {
    let world = TestProject::uninitialized();
    let state = world.root().join(".fairway");
    fs::create_dir(&state).unwrap();
    let Some(_mount) = Mount::tmpfs(&state, 1_024) else { return };
    fs::write(world.root().join(".fairway.toml"), "").unwrap();
    // Room for a draft of the store, but not for all of it.
    let mut ballast = File::create(state.join("ballast")).unwrap();
    ballast.write_all(&vec![0; 900 * 1024]).unwrap();
    assert!(!worked_or_told(&world.run(["task", "add", "first", "--json"]), &["store_full"]));
    assert!(!world.store().exists() && !state.join("fairway.db-draft").exists());
    drop(ballast);
    fs::remove_file(state.join("ballast")).unwrap();
    world.run(["task", "add", "first"]).exits(0);
}

/// The whole project is on the full disk. What git or the store cannot write is told with its cause and with what makes room.
#[test]
fn landing_and_import_on_a_full_disk_name_it_and_go_on_once_there_is_room() {
    let world = TestProject::uninitialized();
    let root = world.root();
    let Some(_mount) = Mount::tmpfs(&root, 16_384) else { return };
    fixtures::init_repository(&world);
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&root, &["config", key, value]);
    }
    world.run(["init", "--quiet"]).exits(0);
    let config = root.join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap() + "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n";
    fs::write(config, text).unwrap();
    let base = fixtures::commit(&world, "config");
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let lane = root.join(".fairway/worktrees/ui");
    // It does not get smaller.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from(state >> 56).unwrap()
    };
    fs::write(lane.join("picture"), (0..2 << 20).map(|_| next()).collect::<Vec<u8>>()).unwrap();
    world.git(&lane, &["add", "--all"]);
    world.git(&lane, &["commit", "--quiet", "--message=picture"]);
    let rows = |id: usize| format!("{{\"id\":\"x-{id}\",\"title\":\"{}\",\"status\":\"open\"}}\n", "long ".repeat(60));
    let backlog = world.dir().join("backlog.jsonl");
    fs::write(&backlog, (0..3_000).map(rows).collect::<String>()).unwrap();
    let import = ["task", "import", backlog.to_str().unwrap(), "--json"];

    // Room for a commit, but not for the file.
    let ballast = fill_up(&root);
    ballast.set_len(ballast.metadata().unwrap().len() - (600 << 10)).unwrap();
    for (words, exit, cause) in [
        (&["land", "ui", "--json"][..], 7, "No space left on device"),
        (&import, 8, "the disk is full"),
        (&["lane", "add", "api", "--create-worktree", "--json"], 8, "the disk is full"),
    ] {
        let run = world.run(words).exits(exit);
        let error = run.error();
        assert!(error["message"].as_str().unwrap().contains(cause), "{run:?}");
        assert!(error["hint"].as_str().unwrap().contains("fairway lane trim"), "{run:?}");
    }
    assert_eq!(world.git(&root, &["rev-parse", "main"]).trim(), base);
    drop(ballast);
    fs::remove_file(root.join("ballast")).unwrap();
    world.run(["land", "ui"]).exits(0);
    assert_eq!(world.git(&root, &["status", "--porcelain"]), "");
    assert!(root.join("picture").metadata().unwrap().len() == 2 << 20 && !lane.exists());
    world.run(import).exits(0);
    assert_eq!(world.value("SELECT count(*) FROM tasks"), "3000");
}

#[test]
fn read_only_directory_is_reported_and_recoverable() {
    let world = TestProject::new();
    bulk_tasks::insert_ready_tasks(&world.store(), 50);
    let state = world.root().join(".fairway");
    let Some(mount) = Mount::bind_over_itself(&state) else { return };
    for with_log in [false, true] {
        if with_log {
            world.run(["task", "add", "with a log"]).exits(0);
        }
        mount.set_writable(false);
        let before = tree_snapshot::capture(&state);
        for words in COMMANDS {
            let worked = worked_or_told(&world.run(*words), &["store_read_only"]);
            assert!(!worked || !["add", "claim"].iter().any(|verb| words.contains(verb)), "{words:?} worked");
        }
        assert!(tree_snapshot::capture(&state) == before);
        mount.set_writable(true);
        world.run(["ready", "--quiet"]).exits(0);
    }
    world.run(["claim", "S-1"]).exits(0);
}

/// A directory that a sandbox does not let an agent write, with and without a log beside the store.
#[test]
fn store_in_a_sandbox_is_read_and_its_refusal_names_the_way_out() {
    let world = TestProject::new();
    world.run(["task", "add", "--id", "T-1", "one"]).exits(0);
    let state = world.root().join(".fairway");
    let Some(mount) = Mount::bind_over_itself(&state) else { return };
    for with_log in [true, false] {
        if !with_log {
            rusqlite::Connection::open(world.store())
                .unwrap()
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
                .unwrap();
            for suffix in ["wal", "shm"] {
                let _ = fs::remove_file(state.join(format!("fairway.db-{suffix}")));
            }
        }
        mount.set_writable(false);
        assert_eq!(world.json(["task", "list"])[0]["id"], "T-1", "with a log: {with_log}");
        world.run(["prime"]).exits(0);
        let refused = world.run(["claim", "--json"]).refuses(7, "store_read_only");
        assert_eq!(refused.error()["retryable"], false);
        assert_eq!(refused.error()["details"]["directory"], state.display().to_string());
        for (variable, value) in [("FAIRWAY_PROVIDER", "codex"), ("CODEX_THREAD_ID", "conversation-1")] {
            let told = world.fairway(["claim"]).env(variable, value).output().unwrap();
            let told = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.contains("the sandbox of codex"), "{told}");
            let list = format!("[\"{}\"]", state.display());
            let argument = format!("-c 'sandbox_workspace_write.writable_roots={list}'");
            assert!(told.contains(&format!(": codex {argument}")), "{told}");
        }
        // Over the protocol it asks for a run outside of its sandbox.
        let told = world.fairway(["claim"]).env("FAIRWAY_PROVIDER", "codex").env("FAIRWAY_BACKEND", "acp").output();
        let told = String::from_utf8_lossy(&told.unwrap().stderr).into_owned();
        assert!(told.contains("outside of your sandbox") && !told.contains("writable_roots"), "{told}");
        mount.set_writable(true);
    }
    world.run(["claim"]).exits(0);
}
