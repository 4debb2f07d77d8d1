//! Ignored files of the main checkout in a lane's worktree: which are copied, and that a changed one is not lost.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::TestProject;
use crate::common::mount::Mount;

/// A repository whose `.gitignore` and `.worktreeinclude` have these lines.
fn world(ignored: &str, include: &str) -> TestProject {
    let world = TestProject::with_git();
    fs::write(world.root().join(".gitignore"), ignored).unwrap();
    commit(&world, ".gitignore");
    fs::write(world.root().join(".worktreeinclude"), include).unwrap();
    commit(&world, ".worktreeinclude");
    world
}

fn commit(world: &TestProject, path: &str) {
    world.git(&world.root(), &["add", "--force", path]);
    world.git(&world.root(), &["commit", "--quiet", "--message", path]);
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn lane(world: &TestProject, name: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(name)
}

/// The files below a directory that git does not track there.
fn untracked(world: &TestProject, dir: &Path) -> BTreeSet<Vec<u8>> {
    listed(world, dir, &["--others"])
}

fn listed(world: &TestProject, dir: &Path, args: &[&str]) -> BTreeSet<Vec<u8>> {
    let done = world.command("git").current_dir(dir).args(["ls-files", "-z"]).args(args).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    done.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn copies_are_the_files_that_git_names_for_both_lists() {
    let world = world(
        ".env*\n!.env.example\nnode_modules/\nsecret/\n*.key\nbuild/\nodd*\n",
        ".env*\nsecret/\n!secret/no\nnode_modules/*/keep.txt\n*.key\n!public.key\n/build/out\nodd*\ntracked.key\n.git/\n\
         ../*\n../outside.key\n/etc/passwd\n.fairway/**\n",
    );
    let root = world.root();
    for path in [
        ".env", ".env.local", ".env.example", "app/.env", "secret/no", "secret/deep/er/yes", "node_modules/a/keep.txt",
        "node_modules/a/other.txt", "a.key", "public.key", "app/b.key", "build/out", "build/in", "sub/build/out",
        "odd name", "odd\nline", "odd\"quote'", "odd*", " odd is not ignored", "odd\u{1b}[31m",
    ] {
        write(&root.join(path), path);
    }
    fs::write(root.join(OsStr::from_bytes(b"odd\xff\xfe")), "bytes").unwrap();
    // An ignore file further down takes one back, and ignores one more.
    write(&root.join("app/.gitignore"), "!b.key\nonly-here.key\n");
    write(&root.join("app/only-here.key"), "x");
    write(&root.join("tracked.key"), "tracked");
    commit(&world, "tracked.key");
    commit(&world, "app/.gitignore");
    symlink("/etc/passwd", root.join(".env.link")).unwrap();
    symlink("/etc", root.join("secret/etc")).unwrap();
    nix::unistd::mkfifo(&root.join(".env.fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    write(&root.join("nested/.env"), "of another repository");
    world.git(&root.join("nested"), &["init", "--quiet"]);
    write(&root.join(".fairway/.env"), "of Fairway");
    write(&world.dir().join("outside.key"), "of nobody here");
    world.run(["lane", "add", "one", "--create-worktree"]).exits(0);
    write(&lane(&world, "one").join(".env.of-lane-one"), "of another lane");
    fs::set_permissions(root.join("a.key"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(root.join("build/out"), fs::Permissions::from_mode(0o751)).unwrap();

    world.run(["lane", "add", "two", "--create-worktree"]).exits(0);
    let both = |all: BTreeSet<Vec<u8>>| {
        let ignored = listed(&world, &root, &["--others", "--ignored", "--exclude-standard"]);
        all.intersection(&ignored).cloned().collect::<BTreeSet<_>>()
    };
    let named = both(listed(&world, &root, &["--others", "--ignored", "--exclude-from=.worktreeinclude"]));
    let is_file = |path: &Vec<u8>| {
        let path = Path::new(OsStr::from_bytes(path));
        !path.starts_with(".fairway") && root.join(path).symlink_metadata().unwrap().is_file()
    };
    let expected: BTreeSet<Vec<u8>> = named.into_iter().filter(is_file).collect();
    let found = untracked(&world, &lane(&world, "two"));
    assert_eq!(found, expected);
    assert_eq!(found.len(), 15, "{found:?}");
    for path in &found {
        let path = Path::new(OsStr::from_bytes(path));
        let (from, to) = (root.join(path), lane(&world, "two").join(path));
        assert_eq!(fs::read(&from).unwrap(), fs::read(&to).unwrap());
        assert_eq!(from.metadata().unwrap().permissions().mode(), to.metadata().unwrap().permissions().mode());
    }
    // They are no changes, and the worktree goes with them.
    world.run(["lane", "rm", "two"]).exits(0);
    assert!(!lane(&world, "two").exists());
}

#[test]
fn copies_are_told_with_those_that_are_not_made() {
    let world = world(".env*\nlinked/\n", ".env*\nlinked/\n");
    let root = world.root();
    write(&root.join(".env"), "TOKEN=1\n");
    symlink(".env", root.join(".env.link")).unwrap();
    // On the branch of the lane there is a link where the main checkout has a directory, and another `.gitignore`.
    world.git(&root, &["checkout", "--quiet", "-b", "other"]);
    symlink("/tmp", root.join("linked")).unwrap();
    commit(&world, "linked");
    fs::write(root.join(".gitignore"), ".env\n.env.link\nlinked\n").unwrap();
    commit(&world, ".gitignore");
    world.git(&root, &["checkout", "--quiet", "main"]);
    write(&root.join("linked/key"), "secret");
    write(&root.join(".env.local"), "LOCAL=1\n");
    insta::assert_snapshot!(world.transcript(&[
        "fairway lane add same --create-worktree",
        "fairway lane add different --create-worktree --base other",
    ]), @"
    $ fairway lane add same --create-worktree
    added lane same with a worktree at [world]/project/.fairway/worktrees/same
    copied 3 ignored files (22 bytes) from the main checkout
    not copied: .env.link: only regular files are copied
    $ fairway lane add different --create-worktree --base other
    added lane different with a worktree at [world]/project/.fairway/worktrees/different
    copied 1 ignored file (8 bytes) from the main checkout
    not copied: .env.link: only regular files are copied
    not copied: linked/key: the branch has a link or a file on their way
    not copied: .env.local: git does not ignore them on the branch
    ");
    assert!(!Path::new("/tmp/key").exists());
    assert!(!lane(&world, "different").join(".env.local").exists());
}

#[test]
fn patterns_of_this_machine_add_to_those_of_the_project() {
    let world = world(".env*\n*.pem\n", ".env\n");
    for path in [".env", "a.pem", "b.pem"] {
        write(&world.root().join(path), path);
    }
    fs::write(world.root().join(".fairway/local.toml"), "[lanes]\ninclude = ['*.pem', '!b.pem']\n").unwrap();
    world.run(["lane", "add", "one", "--create-worktree"]).exits(0);
    let names: BTreeSet<Vec<u8>> = [".env", "a.pem"].iter().map(|name| name.as_bytes().to_vec()).collect();
    assert_eq!(untracked(&world, &lane(&world, "one")), names);
}

#[test]
fn include_file_that_is_none_is_not_read() {
    let world = world(".env\n", "");
    fs::remove_file(world.root().join(".worktreeinclude")).unwrap();
    nix::unistd::mkfifo(&world.root().join(".worktreeinclude"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    write(&world.root().join(".env"), "x");
    fs::write(world.root().join(".fairway/local.toml"), "[lanes]\ninclude = ['.env']\n").unwrap();
    let run = world.run(["lane", "add", "one", "--create-worktree"]).exits(0);
    assert!(run.stderr.contains(".worktreeinclude is no regular file"), "{run:?}");
    assert!(lane(&world, "one").join(".env").is_file());
}

#[test]
fn changed_copy_keeps_the_worktree_until_it_is_discarded() {
    let world = world(".env*\n", ".env*\n");
    for name in [".env", ".env.gone", ".env.other"] {
        write(&world.root().join(name), "A=1\n");
    }
    let run = |words: &str| world.transcript(&[&format!("fairway lane {words}")]);
    for (name, change) in [("text", "A=2\n"), ("same", "A=1\n")] {
        run(&format!("add {name} --create-worktree"));
        fs::write(lane(&world, name).join(".env"), change).unwrap();
        fs::remove_file(lane(&world, name).join(".env.gone")).unwrap();
    }
    run("add link --create-worktree");
    fs::remove_file(lane(&world, "link").join(".env")).unwrap();
    symlink("/etc/passwd", lane(&world, "link").join(".env")).unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway lane rm same",
        "fairway lane rm text",
        "fairway lane close text --rm-worktree",
        "fairway lane rm link",
        "fairway lane close link",
        "fairway lane prune",
        "fairway lane rm text --discard-copies",
    ]), @"
    $ fairway lane rm same
    removed lane same, its worktree and its branch lane/same
    $ fairway lane rm text
    error: cannot remove the lane text: its worktree has copied files with changes (.env), which `lane rm --discard-copies` gives up
    hint: to keep it as it is: fairway lane close text
    [exit 5]
    $ fairway lane close text --rm-worktree
    error: cannot remove the worktree of the lane text: its worktree has copied files with changes (.env), which `lane rm --discard-copies` gives up
    hint: to keep it as it is: fairway lane close text
    [exit 5]
    $ fairway lane rm link
    error: cannot remove the lane link: its worktree has copied files with changes (.env), which `lane rm --discard-copies` gives up
    hint: to keep it as it is: fairway lane close link
    [exit 5]
    $ fairway lane close link
    lane link: open → closed
    $ fairway lane prune
    kept the worktree of lane link: its worktree has copied files with changes (.env), which `lane rm --discard-copies` gives up
        fairway lane diff link
    kept the worktree of lane text: it is open
        fairway lane close text
    $ fairway lane rm text --discard-copies
    removed lane text, its worktree and its branch lane/text
    ");
    world.run(["lane", "close", "link", "--rm-worktree", "--discard-copies"]).exits(0);
    assert!(!lane(&world, "text").exists() && !lane(&world, "link").exists());
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn repair_copies_into_the_worktree_that_it_makes_again() {
    let world = world(".env\n", ".env\n");
    write(&world.root().join(".env"), "A=1\n");
    world.run(["lane", "add", "one", "--create-worktree"]).exits(0);
    fs::remove_dir_all(lane(&world, "one")).unwrap();
    let run = world.run(["lane", "repair", "one"]).exits(0);
    assert!(run.stderr.contains("copied 1 ignored file"), "{run:?}");
    assert_eq!(fs::read_to_string(lane(&world, "one").join(".env")).unwrap(), "A=1\n");
    world.run(["lane", "rm", "one"]).exits(0);
}

#[test]
fn disk_that_fills_up_leaves_neither_lane_nor_copies() {
    let world = world("big/\n", "big/\n");
    for number in 0..40 {
        write(&world.root().join(format!("big/{number:02}")), &"x".repeat(100 * 1024));
    }
    let small = world.dir().join("small");
    fs::create_dir(&small).unwrap();
    let Some(_mount) = Mount::tmpfs(&small, 2048) else { return };
    let dir = small.join("lane");
    let words = ["lane", "add", "one", "--create-worktree", "--worktree", dir.to_str().unwrap(), "--json"];
    let run = world.run(words).refuses(1, "copy_failed");
    assert!(run.error()["message"].as_str().unwrap().contains("No space left on device"), "{run:?}");
    assert!(run.error()["message"].as_str().unwrap().ends_with("nothing was copied"), "{run:?}");
    assert!(run.error()["hint"].as_str().unwrap().contains("made again: fairway lane trim"), "{run:?}");
    assert!(!dir.exists());
    assert_eq!(world.json(["lane", "list"]), serde_json::json!([]));
    assert_eq!(world.git(&world.root(), &["branch", "--list", "lane/one"]), "");
    // In a worktree that stays, what was copied goes again.
    world.run(["lane", "add", "one", "--worktree", dir.to_str().unwrap()]).exits(0);
    world.git(&world.root(), &["worktree", "add", "--quiet", dir.to_str().unwrap(), "-b", "one"]);
    world.run(["lane", "setup", "one", "--json"]).refuses(1, "copy_failed");
    assert!(!dir.join("big").exists());
}

#[test]
fn few_of_a_hundred_thousand_ignored_files_are_found() {
    let world = world("node_modules/\n", "node_modules/*/9/keep.txt\n");
    let modules = world.root().join("node_modules");
    for dir in 0..100 {
        for below in 0..10 {
            let dir = modules.join(format!("{dir}/{below}"));
            fs::create_dir_all(&dir).unwrap();
            for file in 0..99 {
                fs::write(dir.join(file.to_string()), "").unwrap();
            }
            fs::write(dir.join("keep.txt"), "kept").unwrap();
        }
    }
    let run = world.run(["lane", "add", "one", "--create-worktree"]).exits(0);
    assert!(run.stderr.contains("copied 100 ignored files (400 bytes)"), "{run:?}");
    assert_eq!(untracked(&world, &lane(&world, "one")).len(), 100);
}
