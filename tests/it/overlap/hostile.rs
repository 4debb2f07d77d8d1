//! Git is not misled by what a lane holds: no program that a repository names runs, and what cannot be judged is said so.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{commit, lines, said, tree, with_lanes, write};
use crate::common::TestProject;

/// A script that leaves a sign when it runs.
fn canary(world: &TestProject) -> (String, std::path::PathBuf) {
    let sign = world.dir().join("canary");
    let script = world.dir().join("canary.sh");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\ncat\n", sign.display())).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (script.display().to_string(), sign)
}

#[test]
fn programs_named_by_a_lane_or_the_project_do_not_run() {
    let world = with_lanes(&["f", "g", "lfs.bin"], &["api", "web"]);
    let (script, sign) = canary(&world);
    let root = world.root();
    for lane in ["api", "web"] {
        write(&world, lane, ".gitattributes", "f merge=evil diff=evil\ng filter=evil\n*.bin filter=lfs\n");
        write(&world, lane, "f", &lines(&[(5, lane)]));
        write(&world, lane, "lfs.bin", &lines(&[(1, lane)]));
        write(&world, lane, "own.txt", lane);
    }
    let hooks = root.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman", "post-checkout"] {
        fs::copy(&script, hooks.join(hook)).unwrap();
    }
    for key in [
        "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.lfs.clean", "filter.lfs.process",
        "merge.evil.driver", "diff.evil.command", "diff.evil.textconv", "core.fsmonitor", "diff.external",
        "core.pager", "core.sshCommand", "core.editor", "core.askPass", "gpg.program", "alias.merge-tree",
    ] {
        world.git(&root, &["config", key, &script]);
    }
    world.git(&root, &["config", "filter.lfs.required", "true"]);
    world.git(&root, &["config", "commit.gpgSign", "true"]);
    // A path with a filter is known by its name only, and its content is not read.
    assert_eq!(
        said(&world, &[]),
        ["conflict api:web .gitattributes,f,lfs.bin,own.txt"].map(|all| { all.replace(".gitattributes,", "") })
    );
    let level = |world: &TestProject| world.json(["overlap"])["overlaps"][0]["files"][1]["level"].clone();
    assert_eq!(level(&world), "adjacent");
    // Git takes the attributes from the index where their file is absent.
    let api = tree(&world, "api");
    world.git(&api, &["-c", "core.fsmonitor=", "update-index", "--add", ".gitattributes"]);
    let _ = fs::remove_file(&sign);
    fs::remove_file(api.join(".gitattributes")).unwrap();
    write(&world, "api", "lfs.bin", &lines(&[(2, "api")]));
    assert_eq!(level(&world), "adjacent");
    assert!(!sign.exists(), "{}", fs::read_to_string(&sign).unwrap());
}

#[test]
fn odd_content_is_judged_or_named() {
    let world = with_lanes(&["f", "README"], &["api", "web", "odd"]);
    let odd = tree(&world, "odd");
    // Links, also in place of a directory; a nested repository; large and binary files; a name with a newline.
    symlink("/etc", odd.join("etc")).unwrap();
    symlink("f", odd.join("link")).unwrap();
    fs::create_dir(odd.join("nested")).unwrap();
    world.git(&odd.join("nested"), &["init", "--quiet"]);
    fs::write(odd.join("nested/f"), "x").unwrap();
    let large = fs::File::create(odd.join("large")).unwrap();
    large.set_len(3 << 30).unwrap();
    fs::write(odd.join("new\nline"), "x\n").unwrap();
    nix::unistd::mkfifo(&odd.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(odd.join("binary"), [0, 1, 2, 255]).unwrap();
    fs::write(tree(&world, "api").join("binary"), [0, 1, 2, 254]).unwrap();
    write(&world, "api", "large", "small here\n");
    write(&world, "api", "nested/f", "a file here\n");
    // A rename that only changes the case, and a change of the old name elsewhere.
    world.git(&odd, &["mv", "README", "readme"]);
    write(&world, "web", "README", &lines(&[(5, "web")]));
    let said = said(&world, &[]);
    assert_eq!(said, ["conflict api:odd binary,large"], "{said:?}");
    assert!(fs::metadata(world.root().join(".fairway/overlap")).unwrap().is_dir());
    let objects = world.root().join(".fairway/overlap/odd/objects");
    let size: u64 = walk(&objects).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(size < 100_000, "{size}");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn lane_that_cannot_be_judged_is_named() {
    let world = with_lanes(&["f"], &["api", "web"]);
    let root = world.root();
    write(&world, "api", "f", &lines(&[(5, "api")]));
    commit(&world, &tree(&world, "api"), "api");
    write(&world, "web", "f", &lines(&[(5, "web")]));
    commit(&world, &tree(&world, "web"), "web");
    // A lock of another git is no obstacle, and stays.
    let lock = root.join(".git/worktrees/web/index.lock");
    fs::write(&lock, "").unwrap();
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    fs::remove_file(&lock).unwrap();
    // Stopped in the middle of a rebase, and of a merge with a conflict.
    let git = |args: &[&str]| {
        let mut command = world.command("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).current_dir(tree(&world, "web"));
        command.output().unwrap().status.code()
    };
    assert_eq!(git(&["rebase", "lane/api"]), Some(1));
    assert_eq!(said(&world, &[]), ["unknown web:- a rebase is in progress"]);
    assert_eq!(git(&["rebase", "--abort"]), Some(0));
    assert_eq!(git(&["merge", "lane/api"]), Some(1));
    assert_eq!(said(&world, &[]), ["unknown web:- the index has unmerged files"]);
    // Resolved, but not committed: the merge counts.
    write(&world, "web", "f", &lines(&[(5, "both")]));
    world.git(&tree(&world, "web"), &["add", "f"]);
    assert_eq!(said(&world, &[]), Vec::<String>::new());
    assert_eq!(git(&["merge", "--abort"]), Some(0));
    // No common commit; a base that is not there.
    world.git(&tree(&world, "web"), &["checkout", "--quiet", "--orphan", "alone"]);
    commit(&world, &tree(&world, "web"), "alone");
    assert_eq!(said(&world, &[]), ["unknown web:- no common commit with main"]);
    world.run(["lane", "edit", "web", "--base", "gone"]).exits(0);
    assert_eq!(said(&world, &[]), ["unknown web:- there is no commit 'gone'"]);
}

#[test]
fn submodules_and_sparse_checkouts_are_as_git_has_them() {
    let world = with_lanes(&["f", "g"], &["api", "web"]);
    let root = world.root();
    let other = world.dir().join("module");
    fs::create_dir(&other).unwrap();
    world.git(&other, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(other.join("m"), "m\n").unwrap();
    commit(&world, &other, "module");
    for lane in ["api", "web"] {
        let url = other.display().to_string();
        world.git(&tree(&world, lane), &["submodule", "--quiet", "add", &url, "sub"]);
    }
    commit(&world, &tree(&world, "api"), "sub");
    // Both add the same submodule at the same commit; then one goes on.
    assert_eq!(said(&world, &[]), Vec::<String>::new());
    let sub = tree(&world, "web").join("sub");
    fs::write(sub.join("m"), "changed\n").unwrap();
    commit(&world, &sub, "on");
    assert_eq!(said(&world, &[]), ["conflict api:web sub"]);
    world.git(&tree(&world, "web"), &["rm", "--quiet", "--force", "--cached", "sub", ".gitmodules"]);
    fs::remove_dir_all(&sub).unwrap();
    fs::remove_file(tree(&world, "web").join(".gitmodules")).unwrap();
    // Files outside of the cone are absent, and not deleted; what is written there all the same counts.
    fs::create_dir(root.join("far")).unwrap();
    fs::write(root.join("far/x"), lines(&[])).unwrap();
    commit(&world, &root, "far");
    let web = tree(&world, "web");
    world.git(&web, &["merge", "--quiet", "main"]);
    for index in ["--no-sparse-index", "--sparse-index"] {
        world.git(&web, &["sparse-checkout", "set", "--cone", index, "near"]);
        assert!(!web.join("far/x").exists());
        let lanes = world.json(["overlap"])["lanes"].clone();
        assert_eq!(lanes[1]["files"], 0, "{lanes:#}");
    }
    fs::create_dir(web.join("far")).unwrap();
    fs::write(web.join("far/x"), lines(&[(5, "web")])).unwrap();
    assert_eq!(world.json(["overlap"])["lanes"][1]["files"], 1);
}

#[test]
fn bare_and_shallow_repositories_are_judged_or_named() {
    let origin = with_lanes(&["f"], &[]);
    origin.git(&origin.root(), &["tag", "early"]);
    fs::write(origin.root().join("f"), lines(&[(1, "second")])).unwrap();
    commit(&origin, &origin.root(), "second");
    // A bare repository in the project's directory, as `git clone --bare` and worktrees beside it make it.
    let world = TestProject::uninitialized();
    let root = world.root();
    let url = format!("file://{}", origin.root().display());
    world.git(&root, &["clone", "--quiet", "--bare", &url, ".bare"]);
    fs::write(root.join(".git"), "gitdir: ./.bare\n").unwrap();
    world.run(["init", "--quiet"]).exits(0);
    clash(&world);
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    // A shallow clone: the commit where both left the base is there.
    let world = TestProject::uninitialized();
    let root = world.root();
    let _ = fs::remove_dir(&root);
    world.git(world.dir(), &["clone", "--quiet", "--depth=1", &url, &root.display().to_string()]);
    world.run(["init", "--quiet"]).exits(0);
    clash(&world);
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    // A base whose history does not reach that of the lanes.
    world.git(&root, &["fetch", "--quiet", "--depth=1", "origin", "refs/tags/early:refs/heads/early"]);
    world.run(["lane", "edit", "web", "--base", "early"]).exits(0);
    assert_eq!(said(&world, &[]), ["unknown web:- no common commit with early"]);
}

/// Two lanes that conflict.
fn clash(world: &TestProject) {
    for lane in ["api", "web"] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        write(world, lane, "f", &lines(&[(5, lane)]));
    }
}
