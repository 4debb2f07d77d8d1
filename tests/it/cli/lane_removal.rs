//! Worktrees with work that exists nowhere else: no command that removes a worktree removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::TestProject;

/// A kind of work, and how it gets into the lane's worktree. The text is to be found afterwards.
type Work = (&'static str, fn(&TestProject, &Path, &str));

/// Directories that git ignores in every lane.
const IGNORED: &str = "/.claude/worktrees/\nnode_modules/\nvendor/\n*.log\n";

const WORK: [Work; 21] = [
    ("changed file", |_, dir, text| fs::write(dir.join("code.txt"), text).unwrap()),
    ("new file", |_, dir, text| fs::write(dir.join("new.txt"), text).unwrap()),
    ("new file that is not shown", |world, dir, text| {
        world.git(dir, &["config", "status.showUntrackedFiles", "no"]);
        fs::write(dir.join("hidden.txt"), text).unwrap();
    }),
    ("staged file", |world, dir, text| {
        fs::write(dir.join("staged.txt"), text).unwrap();
        world.git(dir, &["add", "staged.txt"]);
    }),
    ("file taken for unchanged", |world, dir, text| {
        world.git(dir, &["update-index", "--assume-unchanged", "code.txt"]);
        fs::write(dir.join("code.txt"), text).unwrap();
    }),
    ("skipped file", |world, dir, text| {
        world.git(dir, &["update-index", "--skip-worktree", "code.txt"]);
        fs::write(dir.join("code.txt"), text).unwrap();
    }),
    ("worktree in an ignored directory", |world, dir, text| {
        let branch = format!("nested-{}", text.replace(' ', "-"));
        world.git(dir, &["worktree", "add", "--quiet", ".claude/worktrees/x", "-b", &branch]);
        fs::write(dir.join(".claude/worktrees/x/uncommitted.txt"), text).unwrap();
    }),
    ("repository in an ignored directory", |world, dir, text| repository(world, &dir.join("vendor"), text)),
    ("repository deep in an ignored directory", |world, dir, text| {
        repository(world, &dir.join("node_modules/a/b/pkg"), text);
    }),
    ("repository that is not ignored", |world, dir, text| repository(world, &dir.join("lib"), text)),
    ("repository without a commit", |world, dir, text| {
        let nested = dir.join("vendor/fresh");
        fs::create_dir_all(&nested).unwrap();
        world.git(&nested, &["init", "--quiet"]);
        fs::write(nested.join("file"), text).unwrap();
    }),
    ("bare repository", |world, dir, text| {
        let (source, bare) = (world.dir().join(format!("source {text}")), dir.join("vendor/x.git"));
        repository(world, &source, text);
        world.git(dir, &["clone", "--quiet", "--bare", source.to_str().unwrap(), bare.to_str().unwrap()]);
        fs::remove_dir_all(source).unwrap();
    }),
    ("detached commit", |world, dir, text| {
        world.git(dir, &["checkout", "--quiet", "--detach"]);
        world.git(dir, &["commit", "--quiet", "--allow-empty", "--message", text]);
    }),
    ("commit of a ref of the worktree", |world, dir, text| {
        let commit = world.git(dir, &["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", text]);
        world.git(dir, &["update-ref", "refs/worktree/kept", commit.trim()]);
    }),
    ("stash", |world, dir, text| {
        fs::write(dir.join("code.txt"), text).unwrap();
        world.git(dir, &["stash", "push", "--quiet", "--message", text]);
    }),
    ("directory behind a link", |world, dir, text| {
        let outside = world.dir().join(format!("outside {text}"));
        repository(world, &outside, text);
        fs::create_dir_all(dir.join("vendor")).unwrap();
        std::os::unix::fs::symlink(outside, dir.join("vendor/link")).unwrap();
    }),
    ("new file in a submodule", |world, dir, text| {
        fs::write(submodule(world, dir).join("new.txt"), text).unwrap();
    }),
    ("commit in a submodule", |world, dir, text| {
        world.git(&submodule(world, dir), &["commit", "--quiet", "--allow-empty", "--message", text]);
    }),
    ("stash in a submodule", |world, dir, text| {
        let lib = submodule(world, dir);
        fs::write(lib.join("file"), text).unwrap();
        world.git(&lib, &["stash", "push", "--quiet", "--message", text]);
    }),
    ("commit in a submodule that is not checked out any more", |world, dir, text| {
        world.git(&submodule(world, dir), &["commit", "--quiet", "--allow-empty", "--message", text]);
        world.git(dir, &["submodule", "--quiet", "deinit", "--force", "library"]);
    }),
    ("rebase that has stopped", |world, dir, text| {
        let tip = world.git(dir, &["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", text]);
        let mut rebase = world.command("git");
        rebase.current_dir(dir).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "sequence.editor=sed -i s/^pick/edit/",
        ]);
        rebase.args(["rebase", "--quiet", "--interactive", "--keep-empty", "HEAD", tip.trim()]);
        assert!(rebase.output().unwrap().status.success());
    }),
];

/// The submodule of a lane, checked out.
fn submodule(world: &TestProject, dir: &Path) -> PathBuf {
    world.git(dir, &["submodule", "--quiet", "update", "--init"]);
    for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
        world.git(&dir.join("library"), &["config", name, value]);
    }
    dir.join("library")
}

/// Runs a command that ends a lane, then each command of its hint, as a person does who trusts hints, and the command again.
fn follow_hints(world: &TestProject, args: &[&str]) {
    let run = world.run(args);
    for line in run.stderr.lines().chain(run.stdout.lines()) {
        let Some(at) = line.find("git ").or_else(|| line.find("fairway ")) else { continue };
        if line.contains("hint:") || line.starts_with("    ") {
            let mut shell = world.command("sh");
            shell.current_dir(world.root()).args(["-c", &line[at..]]);
            drop(shell.output().unwrap());
        }
    }
    drop(world.run(args));
}

/// A repository with one commit.
fn repository(world: &TestProject, dir: &Path, text: &str) {
    fs::create_dir_all(dir).unwrap();
    world.git(dir, &["init", "--quiet"]);
    fs::write(dir.join("file"), "").unwrap();
    world.git(dir, &["add", "file"]);
    world.git(dir, &["commit", "--quiet", "--message", text]);
}

/// Whether the text is in a file below a directory, or in the message of a commit that a ref of a repository there reaches.
fn exists(world: &TestProject, dir: &Path, text: &str) -> bool {
    let has_git = dir.join(".git").exists() || dir.join("HEAD").exists() && dir.join("refs").is_dir();
    if has_git && world.git(dir, &["log", "--all", "--format=%B"]).contains(text) {
        return true;
    }
    let head = || world.git(dir, &["log", "--format=%B", "HEAD", "--"]).contains(text);
    if dir.join(".git").is_file() && !dir.ends_with(".fairway") && head() {
        return true;
    }
    fs::read_dir(dir).unwrap().flatten().any(|entry| {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            // The objects and records of git are asked through it.
            return entry.file_name() != ".git" && exists(world, &entry.path(), text);
        }
        kind.is_file() && fs::read(entry.path()).is_ok_and(|found| found == text.as_bytes())
    })
}

/// The seed of the second kind of work in each lane.
fn seed() -> u64 {
    std::env::var("FAIRWAY_MODEL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

/// Lanes of random content, each with at least one kind of work, and one lane that has none. `end` removes what it can.
fn assert_work_outlives(end: impl Fn(&TestProject, &str)) {
    let world = TestProject::with_git();
    let root = world.root();
    fs::write(root.join(".gitignore"), IGNORED).unwrap();
    world.git(&root, &["add", ".gitignore"]);
    world.git(&root, &["commit", "--quiet", "--message=ignored"]);
    let library = world.dir().join("library");
    repository(&world, &library, "library");
    world.git(&root, &["submodule", "--quiet", "add", library.to_str().unwrap(), "library"]);
    world.git(&root, &["commit", "--quiet", "--message=library"]);
    for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
        world.git(&root, &["config", name, value]);
    }
    let random = AtomicU64::new(seed());
    let next = |limit: usize| {
        let value = random.load(Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random.store(value, Ordering::Relaxed);
        usize::try_from(value >> 33).unwrap() % limit
    };
    let tree = |lane: &str| root.join(".fairway/worktrees").join(lane);
    let mut planted: Vec<(String, &str, String)> = Vec::new();
    for (number, (about, plant)) in WORK.iter().enumerate() {
        let lane = format!("l{number}");
        world.run(["lane", "add", &lane, "--create-worktree"]).exits(0);
        fs::write(tree(&lane).join("app.log"), "ignored").unwrap();
        let text = format!("first{number}");
        plant(&world, &tree(&lane), &text);
        planted.push((lane.clone(), about, text));
        // A second kind, where the two do not write the same file.
        let (other, plant) = WORK[6 + next(6)];
        if other != *about && !(6..12).contains(&number) {
            let text = format!("second{number}");
            plant(&world, &tree(&lane), &text);
            planted.push((lane, other, text));
        }
    }
    world.run(["lane", "add", "empty", "--create-worktree"]).exits(0);
    fs::write(tree("empty").join("app.log"), "ignored").unwrap();
    for number in 0..WORK.len() {
        end(&world, &format!("l{number}"));
    }
    end(&world, "empty");
    let commits = world.git(&root, &["log", "--all", "--format=%B"]);
    for (lane, about, text) in &planted {
        let modules = root.join(".git/worktrees").join(lane).join("modules/library");
        let places = [tree(lane), world.dir().join(format!("outside {text}")), modules];
        let is_kept = places.iter().any(|place| place.exists() && exists(&world, place, text));
        assert!(is_kept || commits.contains(text.as_str()), "seed {}: {about} of {lane} is gone", seed());
    }
    assert!(!tree("empty").exists(), "a lane without work stays");
}

#[test]
fn lane_rm_keeps_work_that_exists_nowhere_else() {
    assert_work_outlives(|world, lane| follow_hints(world, &["lane", "rm", lane]));
}

#[test]
fn lane_close_keeps_work_that_exists_nowhere_else() {
    assert_work_outlives(|world, lane| follow_hints(world, &["lane", "close", lane, "--rm-worktree"]));
}

#[test]
fn lane_prune_keeps_work_that_exists_nowhere_else() {
    assert_work_outlives(|world, lane| {
        world.run(["lane", "close", lane]).exits(0);
        let dry = world.json(["lane", "prune", "--dry-run"]);
        let real = world.json(["lane", "prune"]);
        assert_eq!((&dry["removed"], &dry["kept"]), (&real["removed"], &real["kept"]));
        follow_hints(world, &["lane", "prune"]);
    });
}

#[test]
fn landing_keeps_work_that_exists_nowhere_else() {
    assert_work_outlives(|world, lane| {
        let dir = world.root().join(".fairway/worktrees").join(lane);
        let branch = format!("refs/heads/lane/{lane}");
        let commit = world.git(&dir, &["commit-tree", "main^{tree}", "-p", "main", "-m", "landing"]);
        let commit = commit.trim();
        // The branch has a commit to land; the files of the worktree stay as they are.
        world.git(&dir, &["update-ref", &branch, commit]);
        drop(world.run(["land", &format!("lane:{lane}")]));
    });
}

/// The refusal names each of the first repositories, and how many there are.
#[test]
fn refusal_names_repositories_below_the_worktree() {
    let world = TestProject::with_git();
    fs::write(world.root().join(".git/info/exclude"), IGNORED).unwrap();
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let tree: PathBuf = world.root().join(".fairway/worktrees/ui");
    repository(&world, &tree.join("vendor/lib"), "one");
    let why = |message: &str| format!("cannot remove the lane ui: its worktree {message}");
    let refused =
        || world.run(["lane", "rm", "ui", "--json"]).refuses(5, "unsaved_work").error()["message"].to_string();
    assert_eq!(refused(), format!("{:?}", why("contains the repository vendor/lib")));
    for name in ["a", "b", "c"] {
        repository(&world, &tree.join("node_modules").join(name), "one");
    }
    fs::write(tree.join("new.txt"), "n").unwrap();
    let repositories = "contains the repositories node_modules/a, node_modules/b, node_modules/c and 1 more";
    let both = format!("holds changes that are in no commit (?? new.txt), and {repositories}");
    assert_eq!(refused(), format!("{:?}", why(&both)));
}

/// The hint for a worktree that Fairway did not make removes it by git, which deletes an ignored repository in it. It is given only
/// where nothing is lost.
#[test]
fn hint_for_a_worktree_of_ones_own_loses_no_repository() {
    let world = TestProject::with_git();
    fs::write(world.root().join(".git/info/exclude"), IGNORED).unwrap();
    let dir = world.dir().join("own");
    world.git(&world.root(), &["worktree", "add", "--quiet", "-b", "own", dir.to_str().unwrap()]);
    world.run(["lane", "add", "own", "--worktree", dir.to_str().unwrap(), "--branch", "own"]).exits(0);
    repository(&world, &dir.join("vendor/lib"), "precious");
    for args in [&["lane", "close", "own", "--rm-worktree"][..], &["lane", "close", "own"], &["lane", "prune"]] {
        follow_hints(&world, args);
        assert!(exists(&world, &dir, "precious"), "{args:?}");
    }
    fs::remove_dir_all(dir.join("vendor")).unwrap();
    follow_hints(&world, &["lane", "close", "own", "--rm-worktree"]);
    assert!(!dir.exists());
}
