//! Lanes whose worktree is not one of the project's repository any more: an agent ran `git init` there, or rewrote git's files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::TestProject;

/// A project with the lane `ui`, a commit in it, and the claimed task `T-1` with a check.
fn with_lane() -> (TestProject, PathBuf) {
    let world = TestProject::with_git();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let tree = world.root().join(".fairway/worktrees/ui");
    fs::write(tree.join("work.txt"), "work\n").unwrap();
    world.git(&tree, &["add", "--all"]);
    world.git(&tree, &["commit", "--quiet", "--message=work"]);
    world.run(["task", "add", "T-1", "one", "--lane", "ui", "--check", "c=true"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    (world, tree)
}

/// A repository with a filter that writes down that it ran.
fn planted(world: &TestProject, dir: &Path) -> PathBuf {
    let canary = world.dir().join("canary");
    world.git(dir, &["config", "filter.z.clean", &format!("touch '{}'; cat", canary.display())]);
    canary
}

type Damage = (&'static str, fn(&TestProject, &Path), fn(&Path) -> String);

const DAMAGES: [Damage; 5] = [
    (
        "a repository in its place",
        |world, tree| {
            fs::remove_file(tree.join(".git")).unwrap();
            world.git(tree, &["init", "--quiet", "--initial-branch=main"]);
            world.git(tree, &["add", "--all"]);
            world.git(tree, &["commit", "--quiet", "--message=scaffold"]);
        },
        |_| "its .git file was replaced by another repository".to_owned(),
    ),
    (
        "the name of another repository",
        |world, tree| {
            let other = other_repository(world);
            fs::write(tree.join(".git"), format!("gitdir: {}\n", other.display())).unwrap();
        },
        |home| format!("its .git file names another repository, {}", home.join("other/.git").display()),
    ),
    (
        "a link to another repository",
        |world, tree| {
            let other = other_repository(world);
            fs::remove_file(tree.join(".git")).unwrap();
            std::os::unix::fs::symlink(other, tree.join(".git")).unwrap();
        },
        |_| "its .git file was replaced by another repository".to_owned(),
    ),
    (
        "another common directory",
        |world, tree| {
            let other = other_repository(world);
            let record = world.root().join(".git/worktrees/ui");
            fs::write(record.join("commondir"), format!("{}\n", other.display())).unwrap();
            fs::write(tree.join(".gitattributes"), "* filter=z\n").unwrap();
        },
        |home| {
            let record = home.join("project/.git/worktrees/ui/commondir");
            format!("{} names another repository", record.display())
        },
    ),
    (
        "another worktree",
        |world, _| {
            let other = other_repository(world);
            fs::write(world.root().join(".git/worktrees/ui/gitdir"), format!("{}\n", other.display())).unwrap();
        },
        |home| {
            let record = home.join("project/.git/worktrees/ui/gitdir");
            format!("{} names another worktree", record.display())
        },
    ),
];

/// The git directory of a repository with the same commit and a filter of its own.
fn other_repository(world: &TestProject) -> PathBuf {
    let other = world.dir().join("other");
    world.git(world.dir(), &["clone", "--quiet", world.root().to_str().unwrap(), "other"]);
    planted(world, &other);
    other.join(".git")
}

#[test]
fn damaged_lane_is_judged_by_no_other_repository_and_is_mended() {
    for (about, damage, why) in DAMAGES {
        let (world, tree) = with_lane();
        let commit = world.git(&world.root(), &["rev-parse", "lane/ui"]);
        damage(&world, &tree);
        let canary = planted(&world, &world.root());
        fs::write(tree.join("code.txt"), "cod2\n").unwrap();
        let message = format!("lane ui is damaged: {}", why(world.dir()));
        for words in [
            &["merge-ready", "T-1"][..],
            &["evidence", "run", "T-1", "--check", "c"],
            &["done", "T-1"],
            &["review", "record", "T-1", "--verdict", "approve"],
            &["lane", "diff", "ui"],
            &["lane", "sync", "ui"],
            &["lane", "rm", "ui"],
            &["lane", "close", "ui", "--rm-worktree"],
            &["land", "ui"],
            &["session", "launch", "--role", "r", "--lane", "ui", "--dry-run"],
        ] {
            if words[0] == "lane" && matches!(words[1], "rm" | "close") {
                world.run(["release", "T-1"]);
            }
            let run = world.run(words.iter().copied().chain(["--json"]));
            assert_ne!(run.code, Some(0), "{about}: {words:?}");
            if run.error()["code"] != "in_use" {
                assert_eq!(run.error()["message"], message, "{about}: {words:?}");
                assert_eq!(run.error()["hint"], "mend it: fairway lane repair ui");
            }
        }
        let shown = world.json(["lane", "show", "ui"]);
        assert_eq!(shown["lane"]["git"]["problem"], message.replacen("lane ui", "the lane", 1), "{about}: {shown}");
        assert!(world.run(["overlap"]).stdout.contains("ui: cannot be judged: the lane is damaged"), "{about}");
        assert!(world.run(["doctor"]).stdout.contains(&message), "{about}");
        assert!(!canary.exists(), "{about}");
        // What was in the place of the `.git` file stays, and every file of the lane.
        let run = world.run(["lane", "repair", "ui"]).exits(0);
        assert!(run.stdout.starts_with("connected the worktree of lane ui"), "{run:?}");
        assert_eq!(
            run.stderr.contains(".git.replaced.1"),
            !["another common directory", "another worktree"].contains(&about),
            "{run:?}"
        );
        assert_eq!(fs::read_to_string(tree.join("code.txt")).unwrap(), "cod2\n");
        assert_eq!(world.git(&tree, &["rev-parse", "HEAD"]), commit, "{about}");
        assert_eq!(world.json(["lane", "show", "ui"])["lane"]["git"]["branch"], "lane/ui");
    }
}

#[test]
fn lane_without_its_git_file_is_unknown_and_is_mended_with_its_files() {
    let (world, tree) = with_lane();
    fs::write(tree.join("draft.txt"), "draft\n").unwrap();
    fs::remove_file(tree.join(".git")).unwrap();
    let found = world.run(["overlap"]).stdout;
    assert!(found.contains("ui: cannot be judged: its .git file is missing"), "{found}");
    world.run(["lane", "repair", "ui"]).exits(0);
    assert_eq!(fs::read_to_string(tree.join("draft.txt")).unwrap(), "draft\n");
    let shown = world.json(["lane", "show", "ui"]);
    assert_eq!(shown["lane"]["git"]["changed_files"], 1, "{shown}");
    // The branch of a HEAD that cannot be read is that of the lane.
    fs::write(world.root().join(".git/worktrees/ui/HEAD"), "garbage").unwrap();
    fs::remove_file(tree.join(".git")).unwrap();
    world.run(["lane", "repair", "ui"]).exits(0);
    assert_eq!(world.json(["lane", "show", "ui"])["lane"]["git"]["branch"], "lane/ui");
    // Without git's record and the file that names it there is nothing to connect with.
    fs::remove_file(tree.join(".git")).unwrap();
    fs::remove_dir_all(world.root().join(".git/worktrees/ui")).unwrap();
    let error = world.run(["lane", "repair", "ui", "--json"]).refuses(4, "in_use").error();
    let quoted = tree.display();
    assert_eq!(error["hint"], format!("move them away: mv {quoted} {quoted}.old && fairway lane repair ui"));
}

#[test]
fn lane_whose_record_git_has_dropped_gets_a_new_one_and_lands() {
    let (world, tree) = with_lane();
    let commit = world.git(&tree, &["rev-parse", "HEAD"]);
    fs::write(tree.join("staged.txt"), "staged\n").unwrap();
    fs::write(tree.join("work.txt"), "more\n").unwrap();
    world.git(&tree, &["add", "staged.txt"]);
    // As `git gc` does, once the directory was away for long enough.
    let away = world.dir().join("away");
    fs::rename(&tree, &away).unwrap();
    world.git(&world.root(), &["worktree", "prune", "--expire=now"]);
    fs::rename(&away, &tree).unwrap();
    for words in [&["land", "ui"][..], &["lane", "diff", "ui"], &["evidence", "run", "T-1", "--check", "c"]] {
        let error = world.run(words.iter().copied().chain(["--json"])).error();
        assert_eq!(error["message"], "lane ui is damaged: git has dropped its record of the worktree", "{words:?}");
        assert_eq!(error["hint"], "mend it: fairway lane repair ui");
    }
    // A repair that was killed has left a worktree beside the lane's.
    let beside = tree.with_file_name(".ui.repair").join("ui");
    world.git(&world.root(), &["worktree", "add", "--quiet", "--no-checkout", beside.to_str().unwrap(), "lane/ui"]);
    let run = world.run(["lane", "repair", "ui"]).exits(0);
    assert!(run.stdout.starts_with("connected the worktree of lane ui"), "{run:?}");
    assert!(!beside.parent().unwrap().exists());
    assert_eq!(world.git(&tree, &["rev-parse", "HEAD"]), commit);
    assert_eq!(world.git(&tree, &["status", "--porcelain"]), " M work.txt\n?? staged.txt\n");
    world.git(&tree, &["add", "--all"]);
    world.git(&tree, &["commit", "--quiet", "--message=more"]);
    world.run(["evidence", "run", "T-1", "--check", "c"]).exits(0);
    world.run(["land", "ui"]).exits(0);
    assert_eq!(fs::read_to_string(world.root().join("work.txt")).unwrap(), "more\n");
}
