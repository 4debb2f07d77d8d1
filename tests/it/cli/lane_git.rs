//! Lanes in repositories of every shape: git is asked, and its whole reason is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::land::{NO_GATES, commit, lane_dir, project};
use crate::common::TestProject;
use crate::common::agent_programs::installed;

/// The commit of a branch.
fn tip(world: &TestProject, branch: &str) -> String {
    world.git(&world.root(), &["rev-parse", branch]).trim().to_owned()
}

/// Commits a new file in the checkout of the project.
fn commit_here(world: &TestProject, name: &str) {
    fs::write(world.root().join(name), "1").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message", name]);
}

/// A repository whose refs are in a reftable, with each hash: the base is found, a lane lands, and a lock that a killed git left
/// holds nothing up. Git before 2.45 has no reftable.
#[test]
fn reftable_has_a_base_and_lands() {
    for hash in ["sha1", "sha256"] {
        let world = TestProject::uninitialized();
        let root = world.root();
        fs::create_dir_all(&root).unwrap();
        let args = ["init", "--quiet", "--initial-branch=trunk", "--ref-format=reftable"];
        let mut init = world.command("git");
        init.current_dir(&root).args(args).arg(format!("--object-format={hash}"));
        if !init.output().unwrap().status.success() {
            let version = world.git(&root, &["version"]);
            assert!(version.contains("version 2.39") || version.contains("version 2.4"), "{version}");
            return;
        }
        for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
            world.git(&root, &["config", name, value]);
        }
        commit_here(&world, "a.txt");
        world.run(["init"]).exits(0);
        let config = fs::read_to_string(root.join(".fairway.toml")).unwrap();
        assert!(config.contains("base_branch = \"trunk\""), "{config}");
        fs::write(root.join(".fairway.toml"), format!("{config}{NO_GATES}")).unwrap();
        world.git(&root, &["add", "--all"]);
        world.git(&root, &["commit", "--quiet", "--message=fairway"]);
        world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
        commit(&world, "c", &[("new.txt", "1")]);
        fs::write(root.join(".git/reftable/tables.list.lock"), "").unwrap();
        world.run(["land", "c"]).exits(0);
        assert!(root.join("new.txt").exists());
        assert!(!lane_dir(&world, "c").exists());
    }
}

#[test]
fn lane_takes_an_existing_branch() {
    let world = project(NO_GATES);
    let root = world.root();
    world.git(&root, &["switch", "--quiet", "--create", "work/pay"]);
    commit_here(&world, "b.txt");
    world.git(&root, &["switch", "--quiet", "main"]);
    let before = tip(&world, "work/pay");
    let run = world.run(["lane", "add", "pay", "--create-worktree", "--branch", "work/pay"]).exits(0);
    assert_eq!(run.stderr, "it works on the branch work/pay, which was there\n");
    assert_eq!(world.git(&lane_dir(&world, "pay"), &["rev-parse", "HEAD"]).trim(), before);
    // A branch that was there is never deleted by an attempt that fails: this one is checked out elsewhere.
    let failed = world.run(["lane", "add", "two", "--create-worktree", "--branch", "work/pay"]).exits(4);
    let said = world.redacted(&failed.stderr);
    assert_eq!(
        said,
        "error: branch 'work/pay' is in use: it is checked out in [world]/project/.fairway/worktrees/pay\n"
    );
    assert_eq!(tip(&world, "work/pay"), before);
    // One that would be made by its default name is not taken by accident, and the hint takes it.
    world.git(&root, &["branch", "lane/old"]);
    let error = world.run(["lane", "add", "old", "--create-worktree", "--json"]).refuses(4, "exists").error();
    assert_eq!(error["hint"], "work on it: fairway lane add old --create-worktree --branch lane/old");
    world.run(["lane", "add", "old", "--create-worktree", "--branch", "lane/old"]).exits(0);
}

#[test]
fn branch_in_the_way_is_gone_round_or_named() {
    let world = project(NO_GATES);
    let root = world.root();
    world.git(&root, &["branch", "lane"]);
    let added = world.run(["lane", "add", "c", "--create-worktree", "--json"]).exits(0).json();
    assert_eq!(added["branch"], "lane-c");
    world.git(&root, &["branch", "lane-d/x"]);
    let run = world.run(["lane", "add", "d", "--create-worktree", "--branch", "lane/d"]).exits(4);
    assert_eq!(
        run.stderr,
        "error: branch 'lane/d' cannot be made: the branch 'lane' is in its way\nhint: name another branch: fairway lane add d \
         --create-worktree --branch NAME\n"
    );
    let run = world.run(["lane", "add", "d", "--create-worktree", "--branch", "lane-d"]).exits(4);
    assert!(run.stderr.starts_with("error: branch 'lane-d' cannot be made: the branch 'lane-d/x' is in its way\n"));
}

#[test]
fn lane_from_a_remote_branch_lands_on_the_branch_here() {
    let world = project(NO_GATES);
    let root = world.root();
    let upstream = world.dir().join("upstream.git");
    world.git(&root, &["clone", "--quiet", "--bare", ".", upstream.to_str().unwrap()]);
    world.git(&root, &["remote", "add", "origin", upstream.to_str().unwrap()]);
    commit_here(&world, "c.txt");
    world.git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    let newer = tip(&world, "main");
    world.git(&root, &["reset", "--quiet", "--hard", "HEAD^"]);
    let run = world.run(["lane", "add", "c", "--create-worktree", "--base", "origin/main"]).exits(0);
    assert_eq!(run.stderr, "its work lands on main\n");
    assert_eq!(world.git(&lane_dir(&world, "c"), &["rev-parse", "HEAD"]).trim(), newer);
    commit(&world, "c", &[("new.txt", "1")]);
    world.run(["land", "c", "--fetch"]).exits(0);
    assert!(root.join("new.txt").exists());
}

/// A submodule that is a project, whose setting `core.worktree` counts in all of its worktrees: git in a lane would work on other
/// files. The hint makes it right.
#[test]
fn project_that_is_a_misled_submodule_is_refused_with_the_way_out() {
    let world = TestProject::with_git();
    let (lib, outer) = (world.dir().join("lib"), world.dir().join("outer"));
    for dir in [&lib, &outer] {
        fs::create_dir(dir).unwrap();
        world.git(dir, &["init", "--quiet", "--initial-branch=main"]);
        world.git(dir, &["commit", "--quiet", "--allow-empty", "--message=one"]);
    }
    world.git(&outer, &["submodule", "--quiet", "add", lib.to_str().unwrap(), "sub"]);
    let sub = outer.join("sub");
    world.git(&sub, &["config", "extensions.worktreeConfig", "true"]);
    let run = |args: &[&str]| {
        let output = world.fairway(args).current_dir(&sub).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&["init", "--quiet"]).0, Some(0));
    let (code, said) = run(&["lane", "add", "c", "--create-worktree"]);
    assert_eq!(code, Some(5), "{said}");
    assert!(!sub.join(".fairway/worktrees/c").exists(), "{said}");
    let hint = said.split("alone: ").nth(1).unwrap();
    let mut shell = world.command("sh");
    assert!(shell.current_dir(&outer).args(["-c", hint]).status().unwrap().success(), "{hint}");
    assert_eq!(run(&["lane", "add", "c", "--create-worktree"]).0, Some(0));
    let lane = sub.join(".fairway/worktrees/c");
    assert_eq!(world.git(&lane, &["rev-parse", "--show-toplevel"]).trim(), lane.to_str().unwrap());
    assert_eq!(world.git(&sub, &["status", "--porcelain", "--untracked-files=no"]), "");
}

/// The reason is in git's first line and its remedy in the last one; both are told, by `init` already.
#[test]
fn whole_reason_of_git_is_told() {
    let mut world = project(NO_GATES);
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    commit_here(&world, "d.txt");
    fs::write(world.root().join(".git/worktrees/c/index.lock"), "").unwrap();
    let said = world.run(["lane", "sync", "c"]).exits(7).stderr;
    assert!(said.contains("Unable to create") && said.contains(".git/worktrees/c/index.lock': File exists."), "{said}");
    // Git takes all files for another user's.
    world.set("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let remedy = format!("git config --global --add safe.directory {}", world.root().display());
    for args in [&["init"][..], &["lane", "add", "d", "--create-worktree"]] {
        let said = world.run(args).stderr;
        assert!(said.contains("detected dubious ownership in repository") && said.contains(&remedy), "{said}");
    }
}

/// What git leaves out of a new worktree is said, with the command that brings it; `doctor` says it as long as it is so.
#[test]
fn absent_hooks_and_submodules_are_said_with_the_way_to_them() {
    let Some(programs) = installed("npm-tools/node_modules/.bin", "husky") else { return };
    let world = project(NO_GATES);
    let root = world.root();
    let library = world.dir().join("library");
    fs::create_dir(&library).unwrap();
    world.git(&library, &["init", "--quiet", "--initial-branch=main"]);
    world.git(&library, &["commit", "--quiet", "--allow-empty", "--message=one"]);
    world.git(&root, &["submodule", "--quiet", "add", library.to_str().unwrap(), "library"]);
    world.git(&root, &["commit", "--quiet", "--message=library"]);
    assert!(world.command(programs.join("husky")).current_dir(&root).status().unwrap().success());
    fs::write(root.join(".husky/pre-commit"), "echo the check of the team; exit 1\n").unwrap();
    world.git(&root, &["add", ".husky"]);
    world.git(&root, &["commit", "--quiet", "--no-verify", "--message=husky"]);
    world.git(&root, &["config", "--global", "protocol.file.allow", "always"]);
    let said = world.run(["lane", "add", "c", "--create-worktree"]).exits(0).stderr;
    let notes: Vec<&str> = said.lines().collect();
    assert!(
        notes[0].starts_with("its worktree lacks the hooks of core.hooksPath (.husky/_), so none run: mkdir -p "),
        "{said}"
    );
    assert!(notes[1].starts_with("its worktree has no files of 1 submodule (library): git -C "), "{said}");
    let codes = || -> Vec<String> {
        let found = world.run(["doctor", "--json"]).json();
        let codes = found["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
        codes.filter(|code| code.ends_with("_absent")).collect()
    };
    assert_eq!(codes(), ["hooks_absent", "submodules_absent"]);
    for note in notes {
        let command = note.split_once(": ").unwrap().1;
        assert!(world.command("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    }
    let dir = lane_dir(&world, "c");
    assert!(dir.join("library/.git").exists());
    assert_eq!(codes(), [""; 0]);
    let committed =
        world.command("git").args(["commit", "--allow-empty", "--message=c"]).current_dir(dir).output().unwrap();
    let said = String::from_utf8_lossy(&committed.stderr).into_owned();
    assert!(!committed.status.success() && said.contains("the check of the team"), "{said}");
}

/// A project that was cloned with these flags, and another clone of its upstream.
fn cloned(flags: &[&str]) -> (TestProject, PathBuf) {
    let world = TestProject::uninitialized();
    let root = world.root();
    let (ahead, upstream) = (world.dir().join("ahead"), world.dir().join("upstream.git"));
    let address = format!("file://{}", upstream.display());
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", "upstream.git"]);
    for name in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        world.git(&upstream, &["config", name, "true"]);
    }
    for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
        world.git(world.dir(), &["config", "--global", name, value]);
    }
    world.git(world.dir(), &["clone", "--quiet", &address, "ahead"]);
    for text in ["one", "two"] {
        fs::write(ahead.join("f"), text).unwrap();
        world.git(&ahead, &["add", "--all"]);
        world.git(&ahead, &["commit", "--quiet", "--message", text]);
    }
    world.git(&ahead, &["push", "--quiet", "origin", "HEAD:main"]);
    world.git(world.dir(), &[&["clone", "--quiet"], flags, &[&address, root.to_str().unwrap()]].concat());
    world.run(["init"]).exits(0);
    let config = fs::read_to_string(root.join(".fairway.toml")).unwrap();
    fs::write(root.join(".fairway.toml"), format!("{config}{NO_GATES}")).unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=fairway"]);
    world.git(&root, &["push", "--quiet"]);
    (world, ahead)
}

/// The upstream gets a commit of the other clone.
fn grow(world: &TestProject, ahead: &Path, text: &str) {
    world.git(ahead, &["pull", "--quiet", "--rebase", "origin", "main"]);
    fs::write(ahead.join("f"), text).unwrap();
    world.git(ahead, &["commit", "--quiet", "--all", "--message", text]);
    world.git(ahead, &["push", "--quiet", "origin", "HEAD:main"]);
}

/// A clone without the content of files that are not checked out: git gets it when it needs it, and so does Fairway, but never by a
/// program that the repository names.
#[test]
fn partial_clone_gets_what_it_lacks_by_no_program_of_the_repository() {
    const HINT: &str = "get the objects that are not here: git fetch --refetch --no-filter";
    let (world, ahead) = cloned(&["--filter=blob:none"]);
    let root = world.root();
    grow(&world, &ahead, "three");
    world.git(&root, &["fetch", "--quiet"]);
    let (sign, evil) = (world.dir().join("ran"), world.dir().join("evil"));
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\nexec git-upload-pack \"$@\"\n", sign.display())).unwrap();
    fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
    world.git(&root, &["config", "remote.origin.uploadpack", evil.to_str().unwrap()]);
    let refused = world.run(["lane", "add", "up", "--create-worktree", "--base", "origin/main", "--json"]);
    assert_eq!(refused.refuses(7, "git_failed").error()["hint"], HINT);
    assert!(!sign.exists() && !lane_dir(&world, "up").exists());
    world.git(&root, &["config", "--unset", "remote.origin.uploadpack"]);
    let file = |dir: &Path| fs::read_to_string(dir.join("f")).unwrap();

    world.run(["lane", "add", "up", "--create-worktree", "--base", "origin/main"]).exits(0);
    assert_eq!(file(&lane_dir(&world, "up")), "three");
    grow(&world, &ahead, "four");
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    commit(&world, "c", &[("new.txt", "1")]);
    world.run(["land", "c", "--fetch"]).exits(0);
    assert_eq!((file(&root), root.join("new.txt").exists()), ("four".to_owned(), true));
    // A base that moved without its checkout.
    world.run(["lane", "add", "d", "--create-worktree"]).exits(0);
    commit(&world, "d", &[("other.txt", "1")]);
    world.git(&root, &["push", "--quiet"]);
    grow(&world, &ahead, "five");
    world.git(&root, &["fetch", "--quiet"]);
    world.git(&root, &["switch", "--quiet", "--detach"]);
    world.git(&root, &["update-ref", "refs/heads/main", "refs/remotes/origin/main"]);
    world.run(["lane", "sync", "d"]).exits(0);
    assert_eq!(file(&lane_dir(&world, "d")), "five");
}

/// A clone without the older history: lanes work, land, are pushed and follow the upstream.
#[test]
fn shallow_clone_lands_pushes_and_follows_its_upstream() {
    let (world, ahead) = cloned(&["--depth=1"]);
    let root = world.root();
    assert!(root.join(".git/shallow").exists());
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    world.run(["lane", "add", "d", "--create-worktree"]).exits(0);
    commit(&world, "c", &[("c.txt", "1")]);
    commit(&world, "d", &[("d.txt", "1")]);
    grow(&world, &ahead, "three");
    world.run(["land", "c", "--push"]).exits(0);
    assert_eq!(tip(&world, "main"), tip(&world, "origin/main"));
    assert_eq!((fs::read_to_string(root.join("f")).unwrap().as_str(), root.join("c.txt").exists()), ("three", true));
    world.run(["lane", "sync", "d"]).exits(0);
    world.run(["land", "d", "--push"]).exits(0);
    assert!(!lane_dir(&world, "d").exists());
}

/// Work in a submodule of a submodule counts, and without it the worktree goes.
#[test]
fn work_in_a_submodule_of_a_submodule_keeps_the_worktree() {
    let world = project(NO_GATES);
    let root = world.root();
    world.git(&root, &["config", "--global", "protocol.file.allow", "always"]);
    let (inner, library) = (world.dir().join("inner"), world.dir().join("library"));
    for dir in [&inner, &library] {
        fs::create_dir(dir).unwrap();
        world.git(dir, &["init", "--quiet", "--initial-branch=main"]);
        world.git(dir, &["commit", "--quiet", "--allow-empty", "--message=one"]);
    }
    for (dir, from, name) in [(&library, &inner, "inner"), (&root, &library, "library")] {
        world.git(dir, &["submodule", "--quiet", "add", from.to_str().unwrap(), name]);
        world.git(dir, &["commit", "--quiet", "--message", name]);
    }
    let said = world.run(["lane", "add", "c", "--create-worktree"]).exits(0).stderr;
    let command = said.trim_end().rsplit_once(": ").unwrap().1;
    assert!(world.command("sh").args(["-c", command]).status().unwrap().success(), "{said}");
    let deep = lane_dir(&world, "c").join("library/inner");
    fs::write(deep.join("own.txt"), "own").unwrap();
    let shown = world.run(["lane", "show", "c"]).exits(0).stdout;
    assert!(shown.contains("\nsubmodule   library, which has work in the submodule inner"), "{shown}");
    for args in [&["lane", "close", "c", "--rm-worktree"][..], &["lane", "rm", "c"]] {
        let said = world.run(args).stderr;
        assert!(said.contains("inner") && deep.join("own.txt").exists(), "{args:?}: {said}");
    }
    fs::remove_file(deep.join("own.txt")).unwrap();
    world.run(["lane", "close", "c", "--rm-worktree"]).exits(0);
    assert!(!lane_dir(&world, "c").exists());
}
