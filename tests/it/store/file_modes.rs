//! Files and directories of Fairway are their owner's alone, whatever the umask; those of others are not used.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use crate::common::test_project::FAIRWAY;
use crate::common::{TestProject, require, tree_snapshot};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn folders_are_0700_and_files_0600_under_umask_000() {
    let world = TestProject::uninitialized();
    let open = "umask 000; \"$0\" init --quiet && \"$0\" task add first && \"$0\" claim && \"$0\" task list";
    let done = world.command("sh").args(["-c", open, FAIRWAY]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let state = world.root().join(".fairway");
    assert_eq!(mode(&state), 0o700);
    // Whoever can write to a parent can put another folder in its place.
    for folder in [".local", ".local/state", ".local/state/fairway"] {
        assert_eq!(mode(&world.dir().join("home").join(folder)), 0o700, "{folder}");
    }
    let mut seen = Vec::new();
    for path in tree_snapshot::capture(&state).keys() {
        assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        seen.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    for name in ["fairway.db", "fairway.db-wal", "fairway.db-turn", "fairway.db-init"] {
        assert!(seen.iter().any(|one| one == name), "{name} is not among {seen:?}");
    }
    assert_eq!(mode(&state.join("fairway.db-shm")), 0o600);
}

#[test]
fn folder_that_fairway_db_names_keeps_its_mode() {
    let mut world = TestProject::new();
    let shared = world.dir().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    let file = shared.join("moved.db");
    world.set("FAIRWAY_DB", &file);
    world.run(["task", "add", "elsewhere"]).exits(0);
    assert_eq!((mode(&shared), mode(&file)), (0o755, 0o600));
}

#[test]
fn links_in_the_place_of_store_or_folder_are_refused() {
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    let state = world.root().join(".fairway");
    let elsewhere = world.dir().join("elsewhere");
    fs::rename(&state, &elsewhere).unwrap();
    symlink(&elsewhere, &state).unwrap();
    let before = tree_snapshot::capture(world.dir());
    world.run(["ready", "--json"]).refuses(1, "store_foreign");
    world.run(["task", "add", "second", "--json"]).refuses(1, "store_foreign");
    assert!(tree_snapshot::capture(world.dir()) == before);

    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    for target in [elsewhere.join("fairway.db"), world.store()] {
        symlink(&target, world.store()).unwrap();
        world.run(["ready", "--json"]).refuses(1, "store_foreign");
        world.run(["task", "add", "second", "--json"]).refuses(1, "store_foreign");
        fs::remove_file(world.store()).unwrap();
    }
}

#[test]
fn store_or_folder_of_another_user_is_refused() {
    if !require::root() {
        return;
    }
    let world = TestProject::new();
    world.run(["task", "add", "first"]).exits(0);
    let before = tree_snapshot::capture(world.dir());
    chown(world.store(), Some(1), None).unwrap();
    world.run(["ready", "--json"]).refuses(5, "store_not_owned");
    world.run(["claim", "--json"]).refuses(5, "store_not_owned");
    assert!(tree_snapshot::capture(world.dir()) == before);
    chown(world.store(), Some(0), None).unwrap();
    world.run(["claim"]).exits(0);
}
