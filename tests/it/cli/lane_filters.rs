//! Lanes and landings of repositories with Git LFS and git-crypt: content goes through the person's own filters, and a push brings it.

use std::fs;
use std::path::PathBuf;

use super::land::{NO_GATES, commit, lane_dir, main_commit, project};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// A project with the person's own git-lfs, a large file in its base, and an upstream that has both.
fn with_large_files() -> (TestProject, PathBuf) {
    let world = project(NO_GATES);
    let (root, upstream) = (world.root(), world.dir().join("upstream.git"));
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", "upstream.git"]);
    world.git(&root, &["lfs", "install", "--skip-repo"]);
    world.git(&root, &["lfs", "track", "*.bin"]);
    fs::write(root.join("a.bin"), "first\n".repeat(1_000)).unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=large"]);
    world.git(&root, &["remote", "add", "origin", &format!("file://{}", upstream.display())]);
    // The hook of the person's own push uploads.
    world.git(&root, &["lfs", "install", "--local"]);
    world.git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    for key in ["clean", "smudge", "process", "required"] {
        world.git(&root, &["config", "--unset", &format!("filter.lfs.{key}")]);
    }
    (world, upstream)
}

fn upstream_commit(world: &TestProject) -> String {
    world.git(&world.dir().join("upstream.git"), &["rev-parse", "main"]).trim().to_owned()
}

#[test]
fn push_of_a_landing_brings_the_objects_of_large_files() {
    let (world, upstream) = with_large_files();
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    assert_eq!(fs::read_to_string(lane_dir(&world, "c").join("a.bin")).unwrap().len(), 6_000);
    commit(&world, "c", &[("b.bin", &"second\n".repeat(1_000))]);
    world.run(["land", "c", "--push"]).exits(0);
    let clone = world.dir().join("clone");
    world.git(&world.root(), &["clone", "--quiet", &format!("file://{}", upstream.display()), clone.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(clone.join("b.bin")).unwrap().len(), 7_000);
}

/// Without its objects a commit is not pushed, and nothing has moved: not when the upstream does not take them, and not when the repository names a
/// program for their transfer.
#[test]
fn landing_without_the_objects_of_large_files_moves_nothing() {
    let (world, upstream) = with_large_files();
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    commit(&world, "c", &[("b.bin", &"second\n".repeat(1_000))]);
    let before = (main_commit(&world), upstream_commit(&world));
    let sign = world.dir().join("ran");
    let evil = format!("touch {}", sign.display());
    world.git(&world.root(), &["config", "lfs.customtransfer.evil.path", &evil]);
    world.git(&world.root(), &["config", "lfs.standalonetransferagent", "evil"]);
    let error = world.run(["land", "c", "--push", "--json"]).refuses(5, "push_failed").error();
    assert!(error["message"].as_str().unwrap().contains(" is not used"), "{error}");
    for key in ["lfs.customtransfer.evil.path", "lfs.standalonetransferagent"] {
        world.git(&world.root(), &["config", "--unset", key]);
    }
    // The upstream takes no large file.
    let (large, away) = (upstream.join("lfs"), upstream.join("away"));
    fs::rename(&large, &away).unwrap();
    fs::write(&large, "").unwrap();
    let error = world.run(["land", "c", "--push", "--json"]).refuses(5, "push_failed").error();
    assert!(error["message"].as_str().unwrap().contains("large files (Git LFS) were not uploaded"), "{error}");
    assert_eq!((main_commit(&world), upstream_commit(&world)), before);
    assert!(!sign.exists());
    fs::remove_file(&large).unwrap();
    fs::rename(&away, &large).unwrap();
    world.run(["land", "c", "--push"]).exits(0);
    assert_eq!(main_commit(&world), upstream_commit(&world));
}

/// The filter of the repository's own configuration does not run; the hint makes it the person's, and then the lane works.
#[test]
fn filter_of_the_repository_is_refused_with_the_command_that_makes_it_own() {
    let (world, _) = with_large_files();
    let root = world.root();
    world.git(&root, &["lfs", "uninstall", "--skip-repo"]);
    world.git(&root, &["lfs", "install", "--local"]);
    // Debian's package of git-lfs makes the filter one of the whole machine.
    let mut add = world.fairway(["lane", "add", "c", "--create-worktree", "--json"]);
    let refused: CommandOutput = add.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().into();
    let error = refused.refuses(5, "filter_not_own").error();
    assert_eq!(error["hint"], "make it your own: git lfs install --skip-repo");
    assert!(!lane_dir(&world, "c").exists());
    world.git(&root, &["lfs", "install", "--skip-repo"]);
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    assert_eq!(fs::read_to_string(lane_dir(&world, "c").join("a.bin")).unwrap().len(), 6_000);
}

/// git-crypt keeps its key in git's directory of one worktree; a lane gets a link to it. What is committed there is encrypted.
#[test]
fn lane_has_the_keys_of_git_crypt() {
    let world = project(NO_GATES);
    let root = world.root();
    let crypt = |args: &[&str]| {
        let run = world.command("git-crypt").args(args).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    crypt(&["init"]);
    fs::write(root.join(".gitattributes"), "*.env filter=git-crypt diff=git-crypt\n").unwrap();
    fs::write(root.join("k.env"), "KEY=plain-one\n").unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=secret"]);
    let error = world.run(["lane", "add", "c", "--create-worktree", "--json"]).refuses(5, "filter_not_own").error();
    let hint = error["hint"].as_str().unwrap().strip_prefix("make it your own: ").unwrap();
    assert!(world.command("sh").args(["-c", hint]).status().unwrap().success(), "{hint}");
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    assert_eq!(fs::read_to_string(lane_dir(&world, "c").join("k.env")).unwrap(), "KEY=plain-one\n");
    commit(&world, "c", &[("k.env", "KEY=plain-two\n")]);
    world.run(["land", "c"]).exits(0);
    assert_eq!(fs::read_to_string(root.join("k.env")).unwrap(), "KEY=plain-two\n");
    let committed = world.command("git").args(["cat-file", "blob", "main:k.env"]).output().unwrap().stdout;
    assert!(committed.starts_with(b"\0GITCRYPT\0"), "{committed:?}");
}
