//! `fairway land` where git could be misled or work be lost: odd content, held and locked bases, bare and shallow repositories,
//! lanes that have lost something, and work that has landed before.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::land::{NO_GATES, commit, head, lane_dir, main_commit, project, status, submitted};
use crate::common::TestProject;
use crate::common::terminal::at_terminal;
use crate::common::test_project::FAIRWAY;

/// A change of a lane's worktree.
type Edit<'a> = Box<dyn Fn(&Path) + 'a>;

/// A lane without a task, whose worktree `edit` changes before everything in it is committed.
fn lane(world: &TestProject, name: &str, edit: impl Fn(&Path)) {
    world.run(["lane", "add", name, "--create-worktree"]).exits(0);
    edit(&lane_dir(world, name));
    commit(world, name, &[]);
}

/// The message of a refusal and its hint.
fn refused(world: &TestProject, name: &str, code: &str) -> (String, String) {
    let error = world.run(["land", name, "--json"]).refuses(5, code).error();
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    (text("message"), text("hint"))
}

fn state(landed: &Value) -> &str {
    landed["landings"][0]["state"].as_str().unwrap()
}

/// A program that leaves a sign when it runs.
fn canary(world: &TestProject) -> (String, std::path::PathBuf) {
    let (script, sign) = (world.dir().join("canary.sh"), world.dir().join("canary"));
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\ncat\n", sign.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script.display().to_string(), sign)
}

#[test]
fn odd_content_lands_as_it_is_and_leaves_the_checkout_clean() {
    let world = project(NO_GATES);
    let root = world.root();
    let outside = world.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept\n").unwrap();
    for (name, text) in [("README", "read\n"), ("docs/kept", "docs\n"), ("far/x", "x\n"), ("near/y", "y\n")] {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }
    fs::write(root.join("image"), [0, 1, 2, 255]).unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=odd"]);
    let module = world.dir().join("module");
    fs::create_dir(&module).unwrap();
    world.git(&module, &["init", "--quiet"]);
    world.git(&module, &["commit", "--quiet", "--allow-empty", "--message=module"]);
    let (script, sign) = canary(&world);

    let cases: [(&str, Edit<'_>); 6] = [
        ("case", Box::new(|dir| drop(world.git(dir, &["mv", "README", "readme"])))),
        (
            "link",
            Box::new(|dir| {
                fs::remove_dir_all(dir.join("docs")).unwrap();
                symlink(&outside, dir.join("docs")).unwrap();
                symlink("nowhere", dir.join("dangling")).unwrap();
            }),
        ),
        ("huge", Box::new(|dir| fs::File::create(dir.join("huge")).unwrap().set_len(8 << 20).unwrap())),
        ("binary", Box::new(|dir| fs::write(dir.join("image"), [0, 1, 2, 254]).unwrap())),
        (
            "filter",
            Box::new(|dir| {
                fs::write(dir.join(".gitattributes"), "near/y filter=evil diff=evil merge=evil\n").unwrap();
                fs::write(dir.join("near/y"), "y of the lane\n").unwrap();
                world.git(dir, &["config", "extensions.worktreeConfig", "true"]);
                for key in ["filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "merge.evil.driver"] {
                    world.git(dir, &["config", "--worktree", key, &script]);
                }
            }),
        ),
        (
            "submodule",
            Box::new(|dir| {
                world.git(dir, &["submodule", "--quiet", "add", &module.display().to_string(), "sub"]);
                // A program that the lane's own repositories name does not run.
                for key in ["core.fsmonitor", "diff.external", "filter.evil.clean"] {
                    world.git(&dir.join("sub"), &["config", key, &script]);
                }
                fs::write(dir.join("sub/draft"), "draft\n").unwrap();
            }),
        ),
    ];
    for (name, edit) in cases {
        lane(&world, name, edit);
        // Git must look into a file of another time to know that it is unchanged.
        let near = fs::File::options().append(true).open(lane_dir(&world, name).join("near/y")).unwrap();
        near.set_modified(std::time::UNIX_EPOCH).unwrap();
        // A program that the test's own commit has run does not count.
        let _ = fs::remove_file(&sign);
        if ["submodule", "filter"].contains(&name) {
            assert_eq!(state(&world.json(["land", name, "--dry-run"])), "would_land", "{name}");
        }
        let landed = world.json(["land", name]);
        assert_eq!(state(&landed), "landed", "{landed:#}");
        assert_eq!(world.git(&root, &["status", "--porcelain"]), "", "{name}");
        assert!(!sign.exists(), "{name}: {}", fs::read_to_string(&sign).unwrap());
        let stays = landed["landings"][0]["removed_worktree"].is_null();
        assert_eq!(stays, name == "submodule", "{landed:#}");
    }
    let listed = world.git(&root, &["ls-files", "readme", "README", "sub", "docs", "dangling"]);
    assert_eq!(listed, "dangling\ndocs\nreadme\nsub\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::metadata(root.join("huge")).unwrap().len(), 8 << 20);
    assert!(fs::read_dir(root.join("sub")).unwrap().next().is_none(), "a submodule is not fetched");
    assert_eq!(fs::read_to_string(root.join("near/y")).unwrap(), "y of the lane\n");

    // Both sides change a binary file.
    lane(&world, "pixel", |dir| fs::write(dir.join("image"), [0, 9]).unwrap());
    fs::write(root.join("image"), [0, 8]).unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=image"]);
    assert!(refused(&world, "pixel", "land_conflict").0.ends_with("conflicts with main in image"));
    // A sparse checkout of the base gets only what belongs there.
    world.git(&root, &["sparse-checkout", "set", "--cone", "near"]);
    lane(&world, "sparse", |dir| {
        for name in ["far/x", "near/y"] {
            world.git(dir, &["checkout", "--quiet", "HEAD", "--ignore-skip-worktree-bits", "--", name]);
            fs::write(dir.join(name), "sparse\n").unwrap();
        }
        world.git(dir, &["add", "--sparse", "--all"]);
    });
    assert_eq!(state(&world.json(["land", "sparse"])), "landed");
    assert_eq!(
        (root.join("far/x").exists(), fs::read_to_string(root.join("near/y")).unwrap()),
        (false, "sparse\n".into())
    );
    assert_eq!(world.git(&root, &["show", "main:far/x"]), "sparse\n");
    assert_eq!(world.git(&root, &["status", "--porcelain"]), "");
}

#[test]
fn held_and_locked_bases_are_refused_and_nothing_changes() {
    let world = project(NO_GATES);
    let root = world.root();
    world.git(&root, &["branch", "side"]);
    lane(&world, "ui", |dir| fs::write(dir.join("ui.txt"), "ui\n").unwrap());
    let other = world.dir().join("other");
    world.git(&root, &["worktree", "add", "--quiet", &other.display().to_string(), "side"]);
    fs::write(other.join("shared.txt"), "side\n").unwrap();
    world.git(&other, &["commit", "--quiet", "--all", "--message=side"]);
    fs::write(root.join("shared.txt"), "main\n").unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=main"]);
    let before = main_commit(&world);
    let git = |dir: &Path, line: &str| {
        let words = ["-c", "user.name=a", "-c", "user.email=a@b"].into_iter().chain(line.split_whitespace());
        world.command("git").args(words).current_dir(dir).output().unwrap()
    };
    let lock = |name: &str| root.join(".git").join(name);
    let text = |path: &Path| path.display().to_string();

    let in_the_middle = |operation: &str| format!("the base main is in the middle of a {operation} in {}", text(&root));
    for (operation, begin, end) in [
        ("merge", "merge side", "merge --abort"),
        ("rebase", "rebase side", "rebase --abort"),
        ("cherry-pick", "cherry-pick side", "cherry-pick --abort"),
        ("revert", "revert --no-commit HEAD~1", "revert --abort"),
        ("bisect", "bisect start", "bisect reset"),
    ] {
        git(&root, begin);
        let (message, hint) = refused(&world, "ui", "operation_unfinished");
        assert_eq!(message, in_the_middle(operation));
        assert_eq!(hint, format!("finish or abort it: git -C {} status", text(&root)));
        assert!(git(&root, end).status.success(), "{end}");
    }
    // A rebase of the base that goes on in another worktree.
    world.git(&root, &["switch", "--quiet", "--detach"]);
    git(&other, "switch --quiet main");
    git(&other, "rebase side");
    assert_eq!(refused(&world, "ui", "operation_unfinished").0, in_the_middle("rebase"));
    git(&other, "rebase --abort");
    // In two worktrees.
    git(&root, "switch --ignore-other-worktrees main");
    let (message, hint) = refused(&world, "ui", "base_checked_out");
    assert!(message.starts_with("the base main is checked out in several worktrees: "), "{message}");
    assert!(hint.ends_with("switch --detach"), "{hint}");
    git(&other, "switch --quiet side");
    // Locked by another program, whose lock stays.
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        fs::write(lock(name), "").unwrap();
        let (message, hint) = refused(&world, "ui", "base_locked");
        assert_eq!(message, format!("the base main is locked by another program: {}", text(&lock(name))));
        assert_eq!(hint, format!("if no git is at work there, remove it: rm {}", text(&lock(name))));
        fs::remove_file(lock(name)).unwrap();
    }
    // Staged: a file, and a submodule.
    fs::write(root.join("staged"), "mine\n").unwrap();
    world.git(&root, &["add", "staged"]);
    assert!(refused(&world, "ui", "checkout_changed").0.ends_with("has changes: staged"));
    world.git(&root, &["rm", "--quiet", "--force", "staged"]);
    world.git(&root, &["update-index", "--add", "--cacheinfo", &format!("160000,{before},sub")]);
    assert!(refused(&world, "ui", "checkout_changed").0.ends_with("has changes: sub"));
    world.git(&root, &["rm", "--quiet", "--cached", "sub"]);
    // The base has another name by now.
    world.git(&root, &["branch", "--move", "main", "trunk"]);
    let error = world.run(["land", "ui", "--json"]).refuses(3, "not_found").error();
    assert_eq!(error["message"], "there is no base branch 'main'");
    assert_eq!(error["hint"], "name the base of the lane: fairway lane edit LANE --base BRANCH");
    world.git(&root, &["branch", "--move", "trunk", "main"]);

    assert_eq!((main_commit(&world), world.git(&root, &["status", "--porcelain"])), (before, String::new()));
    assert_eq!(state(&world.json(["land", "ui"])), "landed");
}

#[test]
fn files_that_would_be_overwritten_are_named_before_the_checks_run_and_stay() {
    let world = project(&format!("{NO_GATES}[land]\nchecks = [\"touch ../checked\"]\n"));
    world.run(["trust"]).exits(0);
    let root = world.root();
    fs::write(root.join(".gitignore"), "*.o\nbuild/\n").unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/f"), "f\n").unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=directory"]);
    world.run(["trust"]).exits(0);
    lane(&world, "ui", |dir| {
        fs::create_dir(dir.join("build")).unwrap();
        for name in ["new.txt", "x.o", "build/out"] {
            fs::write(dir.join(name), "of the lane\n").unwrap();
        }
        world.git(dir, &["add", "--force", "--all"]);
    });
    lane(&world, "file", |dir| {
        fs::remove_dir_all(dir.join("dir")).unwrap();
        fs::write(dir.join("dir"), "a file\n").unwrap();
    });
    fs::create_dir(root.join("build")).unwrap();
    for name in ["new.txt", "x.o", "build/out", "dir/ignored.o"] {
        fs::write(root.join(name), "mine\n").unwrap();
    }
    let (message, hint) = refused(&world, "ui", "checkout_changed");
    assert!(message.ends_with(": build/out, new.txt, x.o"), "{message}");
    assert_eq!(hint, format!("move them away: cd {} && mv build/out new.txt x.o ELSEWHERE", root.display()));
    let plan = world.run(["land", "ui", "--dry-run", "--json"]).refuses(5, "checkout_changed").error();
    assert_eq!(plan["details"]["files"], json!(["build/out", "new.txt", "x.o"]));
    assert!(!world.root().join(".fairway/land/checked").exists(), "no check ran");
    // A directory with files of its own that is to become a file.
    assert!(refused(&world, "file", "checkout_changed").0.ends_with(": dir/ignored.o"));
    for name in ["new.txt", "x.o", "build/out", "dir/ignored.o"] {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "mine\n", "{name}");
    }
    assert_eq!(fs::read_to_string(root.join("dir/f")).unwrap(), "f\n");
}

#[test]
fn bare_and_shallow_repositories_land_or_are_refused_in_words() {
    let origin = project(NO_GATES);
    origin.git(&origin.root(), &["tag", "early", "HEAD~1"]);
    let url = format!("file://{}", origin.root().display());
    let setup = |args: &[&str]| {
        let world = TestProject::uninitialized();
        let root = world.root();
        if args[0] == "--bare" {
            world.git(&root, &["clone", "--quiet", "--bare", &url, ".bare"]);
            fs::write(root.join(".git"), "gitdir: ./.bare\n").unwrap();
        } else {
            fs::remove_dir(&root).unwrap();
            world.git(world.dir(), &["clone", "--quiet", args[0], &url, &root.display().to_string()]);
        }
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            world.git(&root, &["config", key, value]);
        }
        world.run(["init", "--quiet"]).exits(0);
        lane(&world, "ui", |dir| fs::write(dir.join("ui.txt"), "ui\n").unwrap());
        world
    };
    let bare = setup(&["--bare"]);
    assert_eq!(state(&bare.json(["land", "ui"])), "landed");
    assert_eq!(bare.git(&bare.root(), &["show", "main:ui.txt"]), "ui\n");
    // Its base in a worktree beside it follows.
    let beside = bare.dir().join("beside");
    bare.git(&bare.root(), &["worktree", "add", "--quiet", &beside.display().to_string(), "main"]);
    lane(&bare, "more", |dir| fs::write(dir.join("more.txt"), "more\n").unwrap());
    assert_eq!(state(&bare.json(["land", "more"])), "landed");
    assert_eq!(fs::read_to_string(beside.join("more.txt")).unwrap(), "more\n");

    let shallow = setup(&["--depth=1"]);
    let root = shallow.root();
    assert_eq!(state(&shallow.json(["land", "ui"])), "landed");
    lane(&shallow, "old", |dir| fs::write(dir.join("old.txt"), "old\n").unwrap());
    shallow.git(&root, &["fetch", "--quiet", "--depth=1", "origin", "refs/tags/early:refs/heads/early"]);
    shallow.run(["lane", "edit", "old", "--base", "early"]).exits(0);
    let (message, hint) = refused(&shallow, "old", "no_common_commit");
    assert_eq!(message, "lane old and early have no commit in common");
    assert_eq!(hint, "if the history is shallow, fetch the rest of it: git fetch --unshallow");
}

#[test]
fn lane_that_has_lost_something_says_so_and_loses_nothing_more() {
    let world = project(NO_GATES);
    let root = world.root();
    let note = |landed: &Value| landed["landings"][0]["notes"][0].as_str().unwrap_or_default().to_owned();
    // No branch yet.
    world.run(["lane", "add", "early", "--branch", "lane/early"]).exits(0);
    let (message, hint) = refused(&world, "early", "no_commit");
    assert_eq!(message, "the lane early has no commit: its branch lane/early does not exist");
    assert_eq!(hint, "look at it: fairway lane show early");
    // Its branch deleted below it, with and without a commit that is checked out.
    lane(&world, "c", |dir| fs::write(dir.join("c.txt"), "c\n").unwrap());
    world.git(&lane_dir(&world, "c"), &["checkout", "--quiet", "--detach"]);
    world.git(&root, &["branch", "--quiet", "-D", "lane/c"]);
    let landed = world.json(["land", "c"]);
    assert_eq!((state(&landed), note(&landed)), ("landed", String::new()));
    assert!(!lane_dir(&world, "c").exists());
    lane(&world, "d", |dir| fs::write(dir.join("d.txt"), "d\n").unwrap());
    let known = head(&world, &lane_dir(&world, "d"));
    world.git(&root, &["update-ref", "-d", "refs/heads/lane/d"]);
    refused(&world, "d", "no_commit");
    let task = world.json(["task", "add", "Work on d", "--lane", "d"])["id"].as_str().unwrap().to_owned();
    world.run(["claim", &task]).exits(0);
    world.run(["task", "submit", &task, "--commit", &known]).exits(0);
    assert_eq!(refused(&world, &task, "no_commit").1, format!("make it again: git branch lane/d {known}"));
    // Its worktree deleted by hand.
    let task = submitted(&world, "e", &[("e.txt", "e\n")]);
    fs::remove_dir_all(lane_dir(&world, "e")).unwrap();
    let landed = world.json(["land", &task]);
    assert_eq!((state(&landed), &landed["landings"][0]["removed_worktree"]), ("landed", &Value::Null));
    assert_eq!(world.json(["lane", "show", "e"])["lane"]["status"], "closed");
    assert!(!world.git(&root, &["worktree", "list"]).contains("worktrees/e"));
    // A repository of its own in an ignored directory.
    fs::write(root.join(".git/info/exclude"), "/.fairway/\nvendor/\n").unwrap();
    lane(&world, "f", |dir| fs::write(dir.join("f.txt"), "f\n").unwrap());
    let vendor = lane_dir(&world, "f").join("vendor");
    fs::create_dir(&vendor).unwrap();
    world.git(&vendor, &["init", "--quiet"]);
    let landed = world.json(["land", "f"]);
    assert_eq!(note(&landed), "the worktree of the lane f stays: it contains the repository vendor");
    assert!(vendor.join(".git").exists());
    // From inside of it.
    lane(&world, "g", |dir| fs::write(dir.join("g.txt"), "g\n").unwrap());
    let inside = world.fairway(["land", "g"]).current_dir(lane_dir(&world, "g")).output().unwrap();
    assert!(inside.status.success() && lane_dir(&world, "g").exists());
    assert!(String::from_utf8_lossy(&inside.stderr).contains("stays: you are in it"), "{inside:?}");
}

#[test]
fn work_that_has_landed_is_not_landed_again_in_any_style() {
    for style in ["squash", "rebase"] {
        let world = project(&format!("{NO_GATES}[land]\nstyle = \"{style}\"\n"));
        let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
        fs::write(world.root().join("base.txt"), "base\n").unwrap();
        world.git(&world.root(), &["add", "base.txt"]);
        world.git(&world.root(), &["commit", "--quiet", "--message=base"]);
        // The first landing cannot remove the lane, which a person looks at.
        let land = |dir: &Path| world.fairway(["land", &task, "--json"]).current_dir(dir).output().unwrap();
        assert!(land(&lane_dir(&world, "ui")).status.success(), "{style}");
        let after = main_commit(&world);
        assert_eq!(state(&world.json(["land", "ui", "--dry-run"])), "unchanged", "{style}");
        let again = world.run(["land", &task]).exits(0);
        assert!(
            again.stdout.starts_with(&format!("unchanged: main has {task} (lane ui) already\n")),
            "{style}: {again:?}"
        );
        // The lane that was left is ended by that.
        assert!(!lane_dir(&world, "ui").exists(), "{style}");
        assert_eq!(state(&world.json(["land", "ui"])), "unchanged", "{style}");
        assert_eq!(main_commit(&world), after, "{style}");
        // A lane that has not begun is left alone.
        world.run(["lane", "add", "fresh", "--create-worktree"]).exits(0);
        assert_eq!(state(&world.json(["land", "fresh"])), "unchanged", "{style}");
        assert!(lane_dir(&world, "fresh").exists(), "{style}");
        // The same change by hand: one commit without a change would say nothing.
        let by_hand = submitted(&world, "hand", &[("hand.txt", "hand\n")]);
        fs::write(world.root().join("hand.txt"), "hand\n").unwrap();
        world.git(&world.root(), &["add", "hand.txt"]);
        world.git(&world.root(), &["commit", "--quiet", "--message=by hand"]);
        let before = main_commit(&world);
        world.run(["land", &by_hand]).exits(0);
        assert_eq!((status(&world, &by_hand), main_commit(&world)), ("done".to_owned(), before));
    }
}

#[test]
fn task_in_progress_with_newer_commits_is_submitted_first() {
    let world = project(NO_GATES);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["task", "resume", &task]).exits(0);
    let old = head(&world, &lane_dir(&world, "ui"));
    let new = commit(&world, "ui", &[("ui.txt", "better\n")]);
    let (message, hint) = refused(&world, &task, "gate_blocked");
    assert!(
        message.ends_with(&format!("it is in progress, and its lane has commits after {}", &old[..12])),
        "{message}"
    );
    assert_eq!(hint, format!("fairway task submit {task} --commit {new}"));
    // The whole lane has them.
    world.run(["land", "ui"]).exits(0);
    assert_eq!(status(&world, &task), "done");
    assert_eq!(fs::read_to_string(world.root().join("ui.txt")).unwrap(), "better\n");
    assert_eq!(
        world.run(["land", "--all"]).exits(0).stdout,
        "nothing to land: no task is in review, and no finished work is ahead of its base\n"
    );
}

#[test]
fn uncommitted_work_that_collides_is_told_once_and_shown() {
    let world = project(NO_GATES);
    let task = submitted(&world, "one", &[("shared.txt", "1\nONE\n3\n4\n5\n")]);
    world.run(["lane", "add", "two", "--create-worktree"]).exits(0);
    world.run(["session", "upsert", "--id", "s2", "--role", "dev", "--lane", "two"]).exits(0);
    fs::write(lane_dir(&world, "two").join("shared.txt"), "1\nTWO\n3\n4\n5\n").unwrap();
    let landed = world.json(["land", &task]);
    let told = &landed["landings"][0]["told"][0];
    assert_eq!(
        (&told["lane"], &told["level"], &told["files"]),
        (&json!("two"), &json!("rebase"), &json!(["shared.txt"]))
    );
    let needs = world.json(["status"])["needs_you"].clone();
    assert!(needs.to_string().contains("lane two conflicts with its base in shared.txt"), "{needs:#}");
    // The next look finds it known.
    let found = world.json(["overlap"])["overlaps"].clone();
    assert_eq!((found.as_array().unwrap().len(), &found[0]["level"]), (1, &json!("rebase")), "{found:#}");
    let told: i64 = Connection::open(world.store())
        .unwrap()
        .query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
        .unwrap();
    assert_eq!(told, 1);
    assert_eq!(world.run(["events", "--kind", "overlap.found", "--json"]).exits(0).stdout.lines().count(), 1);
}

#[test]
fn interrupted_landing_is_told_by_doctor_until_the_next_completes_it() {
    let world = project(NO_GATES);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let (old, tip) = (main_commit(&world), head(&world, &lane_dir(&world, "ui")));
    let insert = |state: &str| {
        let conn = Connection::open(world.store()).unwrap();
        conn.execute(
            "INSERT INTO landings (lane, commit_id, style, base, base_before, candidate, state, tasks, started_at) \
             VALUES ('ui', ?1, 'merge', 'main', ?2, ?1, ?3, ?4, 1)",
            (&tip, &old, state, json!([[task, 1]]).to_string()),
        )
        .unwrap();
    };
    let found = || {
        let findings = world.run(["doctor", "--json"]).json()["findings"].clone();
        let all = findings.as_array().unwrap().iter().filter(|one| one["code"] == "landing_unfinished");
        all.cloned().collect::<Vec<_>>()
    };
    assert!(found().is_empty());
    insert("checking");
    insert("moving");
    let told = found();
    assert_eq!(
        (told.len(), &told[1]["severity"], &told[1]["fix"]),
        (2, &json!("warning"), &json!(format!("fairway land {task}")))
    );
    assert!(
        told[0]["message"]
            .as_str()
            .unwrap()
            .ends_with("was interrupted before main moved; the next landing gives it up and begins anew")
    );
    assert!(told[1]["message"].as_str().unwrap().contains(&format!("landing 2 of {task}, started at ")), "{told:#?}");
    // A landing that is at work is none.
    let runtime = world.root().join(".fairway/runtime");
    fairway_core::os::files::private_dir(&runtime).unwrap();
    let lock = fairway_core::os::lock::FileLock::try_acquire(&runtime.join("land.lock")).unwrap().unwrap();
    assert!(found().is_empty());
    drop(lock);
    world.run(["doctor", "--fix"]);
    assert_eq!((found().len(), main_commit(&world)), (2, old.clone()), "a landing is a person's command");
    world.run(["land", &task]).exits(0);
    assert!(found().is_empty());
    assert_eq!(status(&world, &task), "done");
}

/// One commit for several keeps their authors, messages and sign-offs.
#[test]
fn squash_keeps_authors_messages_and_sign_offs() {
    let world = project(&format!("{NO_GATES}\n[land]\nstyle = \"squash\"\n"));
    world.run(["lane", "add", "c", "--create-worktree"]).exits(0);
    world.run(["task", "add", "Both", "--body", "What they are for.", "--lane", "c"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    let dir = lane_dir(&world, "c");
    for (name, author, message) in [
        (
            "b",
            "Bot <bot@x.example>",
            "feat: b\n\nWhy so.\n\nSigned-off-by: Bot <bot@x.example>\nCo-authored-by: Ann <ann@x.example>",
        ),
        ("c", "Eve <eve@x.example>", "fix: c"),
    ] {
        fs::write(dir.join(name), name).unwrap();
        world.git(&dir, &["add", "--all"]);
        world.git(&dir, &["commit", "--quiet", &format!("--author={author}"), "--message", message]);
    }
    world.run(["task", "submit", "T-1"]).exits(0);
    world.run(["land", "T-1"]).exits(0);
    let landed = world.git(&world.root(), &["log", "-1", "--format=%an%n%B", "main"]);
    assert_eq!(
        landed.trim_end(),
        "Eve\nT-1: Both\n\nWhat they are for.\n\n* feat: b\n\nWhy so.\n\n* fix: c\n\nFairway-Task: T-1\nFairway-Lane: c\nCo-authored-by: Bot <bot@x.example>\nSigned-off-by: Bot \
         <bot@x.example>\nCo-authored-by: Ann <ann@x.example>"
    );
}

/// A project whose landings are signed, with lanes `c` and `d` that have a commit each; `main` has one that they lack.
fn signed(format: &str, key: &str) -> TestProject {
    let world = project(&format!("{NO_GATES}\n"));
    for (name, value) in [("gpg.format", format), ("user.signingkey", key)] {
        world.git(&world.root(), &["config", "--global", name, value]);
    }
    for name in ["c", "d"] {
        lane(&world, name, |dir| fs::write(dir.join(name), "1").unwrap());
    }
    fs::write(world.root().join("here.txt"), "1").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=here"]);
    world.git(&world.root(), &["config", "--global", "commit.gpgsign", "true"]);
    world
}

/// Lands where nobody can be asked, then at a terminal: first Ctrl-C, then the passphrase; and at last again where nobody can be asked.
fn sign_with_a_passphrase(world: &TestProject, reason: &str, unlock: &str, typed: &str) {
    let before = main_commit(world);
    let refused = |lane: &str| {
        let error = world.run(["land", lane, "--json"]).refuses(7, "git_failed").error();
        let why = error["message"].as_str().unwrap().strip_prefix("the commit cannot be signed: ").expect("its reason");
        // Git 2.39 does not pass on what gpg says.
        assert!(why.contains(reason) || why == "gpg failed to sign the data", "{error}");
        assert_eq!(error["hint"], format!("unlock the key, then again: {unlock}"));
    };
    refused("c");
    let land = || {
        let mut command = world.command("setsid");
        command.args(["--ctty", "--wait", FAIRWAY, "land", "c"]).current_dir(world.root());
        command
    };
    let stopped = at_terminal(land(), &[("assphrase", "\u{3}")]);
    assert_ne!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(main_commit(world), before);
    // The lock is free, and nothing is half done.
    refused("d");
    let landed = at_terminal(land(), &[("assphrase", typed)]);
    assert_eq!(landed.code, Some(0), "{landed:?}");
    assert!(world.git(&world.root(), &["cat-file", "commit", "main"]).contains("\ngpgsig "));
    assert_eq!(world.git(&world.root(), &["status", "--short", "--untracked-files=no"]), "");
}

#[test]
fn ssh_key_with_a_passphrase_asks_at_a_terminal_or_ends_a_landing_with_the_reason() {
    let keys = TestProject::uninitialized();
    let key = keys.dir().join("key");
    let made = keys.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "secret", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let world = signed("ssh", key.with_extension("pub").to_str().unwrap());
    let unlock = format!("eval \"$(ssh-agent -s)\" && ssh-add {}", key.display());
    sign_with_a_passphrase(&world, "incorrect passphrase", &unlock, "secret\r");
}

#[test]
fn gpg_key_with_a_passphrase_asks_at_a_terminal_or_ends_a_landing_with_the_reason() {
    let world = signed("openpgp", "ann@example.com");
    let gpg = |args: &[&str]| {
        let run = world.command(args[0]).args(&args[1..]).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    let make = ["--quick-generate-key", "Ann <ann@example.com>", "ed25519", "sign", "never"];
    gpg(&[&["gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "secret"][..], &make].concat());
    let forget = ["gpgconf", "--kill", "gpg-agent"];
    gpg(&forget);
    let unlock = "GPG_TTY=$(tty) gpg --local-user ann@example.com --sign </dev/null >/dev/null";
    sign_with_a_passphrase(&world, "Inappropriate ioctl for device", unlock, "secret\r");
    gpg(&forget);
}
