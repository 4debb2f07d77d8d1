//! `fairway lane diff`, `lane sync` and the state of worktrees, with real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::TestProject;

/// A project with the lane `ui` in a worktree of its own.
fn with_lane() -> (TestProject, PathBuf) {
    let world = TestProject::with_git();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let tree = world.root().join(".fairway/worktrees/ui");
    (world, tree)
}

/// Writes a file and commits it.
fn commit(world: &TestProject, dir: &Path, name: &str, text: &str) {
    fs::write(dir.join(name), text).unwrap();
    world.git(dir, &["add", "--all"]);
    world.git(dir, &["commit", "--quiet", &format!("--message={name}")]);
}

fn head(world: &TestProject, dir: &Path) -> String {
    world.git(dir, &["rev-parse", "HEAD"]).trim().to_owned()
}

/// Everything that a question must not change: HEAD, the state of every file, and git's own files of the worktree.
fn fingerprint(world: &TestProject, tree: &Path) -> (String, String, Vec<u8>, usize) {
    let index = world.git(tree, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let bytes = fs::read(index.trim()).unwrap();
    let objects = world.git(tree, &["count-objects"]);
    let count = objects.split(' ').next().unwrap().parse().unwrap();
    // Without locks: this look itself must not refresh the index.
    let status = world.git(tree, &["--no-optional-locks", "status", "--porcelain", "--branch"]);
    (head(world, tree), status, bytes, count)
}

fn files(diff: &Value) -> Vec<(String, String, Value, Value)> {
    let file = |file: &Value| {
        let text = |key: &str| file[key].as_str().unwrap().to_owned();
        (text("path"), text("status"), file["added"].clone(), file["deleted"].clone())
    };
    diff["files"].as_array().unwrap().iter().map(file).collect()
}

#[test]
fn diff_has_commits_changes_and_new_files_and_writes_nothing() {
    let (world, tree) = with_lane();
    let root = world.root();
    commit(&world, &tree, "done.txt", "one\ntwo\n");
    // The base goes on; that is no change of the lane.
    commit(&world, &root, "base.txt", "of the base\n");
    fs::write(tree.join("code.txt"), "changed\n").unwrap();
    fs::create_dir(tree.join("new")).unwrap();
    fs::write(tree.join("new/ü file.txt"), "n\n").unwrap();
    fs::write(tree.join("picture.bin"), b"\0\x01\x02").unwrap();
    fs::write(tree.join(".gitignore"), "*.log\n").unwrap();
    fs::write(tree.join("x.log"), "ignored\n").unwrap();
    fs::write(tree.join("staged.txt"), "s\n").unwrap();
    world.git(&tree, &["add", "staged.txt"]);
    let before = fingerprint(&world, &tree);

    let diff = world.json(["lane", "diff", "ui"]);
    let row = |path: &str, status: &str, added: Value, deleted: Value| (path.into(), status.into(), added, deleted);
    assert_eq!(
        files(&diff),
        [
            row(".gitignore", "added", json!(1), json!(0)),
            row("code.txt", "modified", json!(1), json!(1)),
            row("done.txt", "added", json!(2), json!(0)),
            row("new/ü file.txt", "added", json!(1), json!(0)),
            row("picture.bin", "added", Value::Null, Value::Null),
            row("staged.txt", "added", json!(1), json!(0)),
        ]
    );
    assert_eq!((&diff["added"], &diff["deleted"]), (&json!(6), &json!(1)));
    assert_eq!(diff["branch"], "lane/ui");
    assert_eq!(diff["base"], "main");
    assert_eq!(diff["commit"], head(&world, &tree));
    assert_eq!(diff["since"], world.git(&root, &["rev-parse", "main~1"]).trim());

    let names = world.run(["lane", "diff", "ui", "--name-only"]).exits(0).stdout;
    assert_eq!(names.lines().count(), 6, "{names}");
    assert_eq!(world.run(["lane", "diff", "ui", "--quiet"]).exits(0).stdout, names);
    let stat = world.run(["lane", "diff", "ui", "--stat"]).exits(0).stdout;
    assert!(stat.contains("6 files changed, 6 insertions(+), 1 deletion(-)"), "{stat}");
    let patch = world.run(["lane", "diff", "ui"]).exits(0).stdout;
    assert!(patch.contains("-code\n+changed\n"), "{patch}");
    assert!(!patch.contains("of the base") && !patch.contains("ignored\n") && !patch.contains('\u{1b}'), "{patch}");
    let coloured = world.run(["lane", "diff", "ui", "--color", "always"]).exits(0).stdout;
    assert!(coloured.contains("\u{1b}["), "{coloured}");

    // Since a commit: what is in no commit.
    let diff = world.json(["lane", "diff", "ui", "--since", "HEAD"]);
    assert_eq!(diff["files"].as_array().unwrap().len(), 5);
    assert!(!diff.to_string().contains("done.txt"));
    world.run(["lane", "diff", "ui", "--since", "nowhere", "--json"]).refuses(3, "not_found");

    assert_eq!(fingerprint(&world, &tree), before);
    let left: Vec<_> = fs::read_dir(world.dir().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The time of the index is copied too: git would take a file that was changed in the same instant for unchanged.
#[test]
fn diff_finds_a_file_that_changed_right_after_the_index() {
    let (world, tree) = with_lane();
    for round in 0..20 {
        fs::write(tree.join("code.txt"), format!("round {round:02}\n")).unwrap();
        world.git(&tree, &["add", "code.txt"]);
        fs::write(tree.join("code.txt"), format!("later {round:02}\n")).unwrap();
        let patch = world.run(["lane", "diff", "ui"]).exits(0).stdout;
        assert!(patch.contains(&format!("+later {round:02}")), "{patch}");
    }
}

#[test]
fn diff_runs_no_program_of_the_repository() {
    let (world, tree) = with_lane();
    let mark = world.dir().join("ran");
    let script = world.dir().join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\ncat \"$1\" 2>/dev/null\n", mark.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    for key in ["diff.external", "diff.evil.command", "diff.evil.textconv", "core.fsmonitor", "core.pager"] {
        world.git(&world.root(), &["config", key, &script]);
    }
    fs::write(world.root().join(".git/info/attributes"), "* diff=evil\n").unwrap();
    fs::write(tree.join("code.txt"), "changed\n").unwrap();
    fs::write(tree.join("new.txt"), "new\n").unwrap();
    for more in [&["--json"][..], &["--stat"], &["--name-only"], &[]] {
        world.run(["lane", "diff", "ui"].iter().chain(more)).exits(0);
    }
    world.run(["lane", "show", "ui"]).exits(0);
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
}

#[test]
fn diff_on_a_terminal_goes_through_the_pager_of_git() {
    let (world, tree) = with_lane();
    fs::write(tree.join("code.txt"), "changed\n").unwrap();
    let fairway = crate::common::test_project::FAIRWAY;
    let mut command = world.command("script");
    command.args(["--quiet", "--return", "--command", &format!("{fairway} lane diff ui"), "/dev/null"]);
    command.env("GIT_PAGER", "sed 's/^/paged: /'").env("TERM", "xterm");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    // Git colours for a pager by itself.
    assert!(text.contains("paged: ") && text.contains("changed"), "{text}");
    assert!(text.contains("\u{1b}["), "{text}");
    let left: Vec<_> = fs::read_dir(world.dir().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn diff_and_sync_of_a_lane_without_a_worktree_are_refused() {
    let world = TestProject::with_git();
    world.run(["lane", "add", "docs"]).exits(0);
    for verb in ["diff", "sync", "repair"] {
        let error = world.run(["lane", verb, "docs", "--json"]).refuses(5, "no_worktree").error();
        assert_eq!(error["hint"], "name one: fairway lane edit docs --worktree DIR");
    }
}

#[test]
fn sync_fast_forwards_merges_and_rebases() {
    let (world, tree) = with_lane();
    let root = world.root();
    assert_eq!(world.json(["lane", "sync", "ui"])["how"], "up_to_date");
    commit(&world, &root, "base.txt", "1\n");
    let planned = world.json(["lane", "sync", "ui", "--dry-run"]);
    assert_eq!((&planned["how"], &planned["dry_run"]), (&json!("fast_forward"), &json!(true)));
    assert!(!tree.join("base.txt").exists());
    let synced = world.json(["lane", "sync", "ui"]);
    assert_eq!((&synced["how"], &synced["to"]), (&json!("fast_forward"), &json!(head(&world, &root))));
    assert!(tree.join("base.txt").exists());

    commit(&world, &tree, "lane.txt", "lane\n");
    commit(&world, &root, "base.txt", "2\n");
    let before = fingerprint(&world, &tree);
    let run = world.run(["lane", "sync", "ui", "--dry-run"]).exits(0);
    assert_eq!(run.stdout, "lane ui: would merge 1 commit of main into lane/ui\n");
    assert_eq!(fingerprint(&world, &tree), before);
    let run = world.run(["lane", "sync", "ui"]).exits(0);
    assert_eq!(run.stdout, "lane ui: merged 1 commit of main into lane/ui\n");
    assert_eq!(world.git(&tree, &["log", "-1", "--format=%an %s"]), "Ann Merge branch 'main' into lane/ui\n");
    assert_eq!(world.git(&tree, &["rev-list", "--count", "main..HEAD"]).trim(), "2");
    assert_eq!(fs::read_to_string(tree.join("base.txt")).unwrap(), "2\n");
    assert_eq!(world.git(&tree, &["status", "--porcelain"]), "");
    // The hint undoes it.
    let undo = run.stderr.trim().strip_prefix("to undo it: git ").unwrap().to_owned();
    world.git(&root, &undo.split(' ').collect::<Vec<_>>());
    assert_eq!(head(&world, &tree), before.0);

    let run = world.run(["lane", "sync", "ui", "--rebase"]).exits(0);
    assert_eq!(run.stdout, "lane ui: rebased 1 commit of lane/ui on main\n");
    assert_eq!(world.git(&tree, &["log", "--format=%s", "main..HEAD"]), "lane.txt\n");
    assert_eq!(world.git(&tree, &["rev-parse", "HEAD~1"]), world.git(&root, &["rev-parse", "main"]));
    assert_eq!(world.git(&tree, &["status", "--porcelain", "--branch"]), "## lane/ui\n");
    let events = world.run(["events", "--json"]).exits(0).stdout;
    let hows: Vec<String> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .flat_map(|document| document.as_array().cloned().unwrap_or_else(|| vec![document]))
        .filter(|event| event["kind"] == "lane.synced")
        .map(|event| event["data"]["how"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(hows, ["fast_forward", "merge", "rebase"]);
}

/// A rebase keeps authors, dates and messages, and leaves out commits whose changes the base has.
#[test]
fn rebase_keeps_commits_as_git_does() {
    let (world, tree) = with_lane();
    let root = world.root();
    fs::write(tree.join("a.txt"), "a\n").unwrap();
    world.git(&tree, &["add", "--all"]);
    let message = "Subject\n\nBody with ü\n\n  indented\n";
    // Without a last dot, which git before 2.41 takes away.
    let author = "--author=Böb Ö <bob@example.com>";
    world.git(&tree, &["commit", "--quiet", author, "--date=2001-02-03T04:05:06+0130", "--message", message]);
    commit(&world, &tree, "picked.txt", "p\n");
    commit(&world, &tree, "code.txt", "code\nmore\n");
    world.git(&tree, &["commit", "--quiet", "--allow-empty", "--message=empty on purpose"]);
    world.git(&root, &["cherry-pick", "lane/ui~2"]);
    commit(&world, &root, "base.txt", "b\n");
    // The merge that git itself makes.
    world.git(&tree, &["branch", "expected"]);
    let other = world.dir().join("other");
    world.git(&root, &["worktree", "add", "--quiet", other.to_str().unwrap(), "expected"]);
    world.git(&other, &["rebase", "--quiet", "main"]);
    world.run(["lane", "sync", "ui", "--rebase"]).exits(0);
    let log = |revision: &str| world.git(&root, &["log", "--format=%an|%ae|%ad|%B|%T", revision]);
    assert_eq!(log("main..lane/ui"), log("main..expected"));
    assert_eq!(log("main..lane/ui").matches("Böb Ö|bob@example.com|Sat Feb 3 04:05:06 2001 +0130").count(), 1);
}

#[test]
fn sync_with_a_conflict_leaves_the_lane_as_it_was() {
    let (world, tree) = with_lane();
    let root = world.root();
    commit(&world, &tree, "code.txt", "of the lane\n");
    commit(&world, &root, "code.txt", "of the base\n");
    let before = fingerprint(&world, &tree);
    for (more, verb) in [(&[][..], "merge"), (&["--rebase"], "rebase"), (&["--dry-run"], "merge")] {
        let run = world.run(["lane", "sync", "ui", "--json"].iter().chain(more)).refuses(5, "sync_conflict");
        let error = run.error();
        assert_eq!(error["details"]["files"], json!(["code.txt"]));
        assert_eq!(error["details"]["commit"].is_string(), verb == "rebase");
        let by_hand = format!("resolve it by hand: git -C {} {verb} main", tree.display());
        assert_eq!(error["hint"], by_hand);
    }
    // A conflict leaves objects of the trees that were tried, and nothing else.
    let after = fingerprint(&world, &tree);
    assert_eq!((&after.0, &after.1, &after.2), (&before.0, &before.1, &before.2));
    let text = world.run(["lane", "sync", "ui"]).exits(5).stderr;
    assert!(text.starts_with("error: main conflicts with the lane ui in code.txt; the lane is unchanged\n"), "{text}");
    assert!(!world.run(["events"]).stdout.contains("lane.synced"));
}

#[test]
fn sync_refuses_unsaved_changes_and_merges() {
    let (world, tree) = with_lane();
    let root = world.root();
    commit(&world, &root, "base.txt", "1\n");
    fs::write(tree.join("new.txt"), "untracked\n").unwrap();
    let error = world.run(["lane", "sync", "ui", "--json"]).refuses(5, "unsaved_work").error();
    assert_eq!(
        error["message"],
        "cannot sync the lane ui: its worktree holds changes that are in no commit (?? new.txt)"
    );
    let hint = format!("commit the changes: git -C {0} add --all && git -C {0} commit", tree.display());
    assert_eq!(error["hint"], hint);
    fs::remove_file(tree.join("new.txt")).unwrap();
    fs::write(tree.join("code.txt"), "changed\n").unwrap();
    world.run(["lane", "sync", "ui", "--json"]).refuses(5, "unsaved_work");
    assert_eq!(fs::read_to_string(tree.join("code.txt")).unwrap(), "changed\n");
    world.git(&tree, &["checkout", "--quiet", "code.txt"]);

    commit(&world, &tree, "lane.txt", "1\n");
    world.git(&tree, &["merge", "--quiet", "--no-edit", "main"]);
    commit(&world, &root, "base.txt", "2\n");
    world.run(["lane", "sync", "ui", "--rebase", "--json"]).refuses(5, "merge_commits");
    world.run(["lane", "sync", "ui", "--merge"]).exits(0);
    world.run(["lane", "sync", "ui", "--merge", "--rebase", "--json"]).refuses(2, "usage");
}

#[test]
fn sync_moves_what_is_checked_out() {
    let (world, tree) = with_lane();
    let root = world.root();
    world.git(&tree, &["switch", "--quiet", "--create", "feature/x"]);
    commit(&world, &tree, "lane.txt", "1\n");
    commit(&world, &root, "base.txt", "1\n");
    let run = world.run(["lane", "sync", "ui"]).exits(0);
    assert_eq!(run.stdout, "lane ui: merged 1 commit of main into feature/x\n");
    assert_eq!(world.git(&tree, &["status", "--porcelain", "--branch"]), "## feature/x\n");
    world.git(&tree, &["checkout", "--quiet", "--detach"]);
    commit(&world, &root, "base.txt", "2\n");
    let run = world.run(["lane", "sync", "ui"]).exits(0);
    assert_eq!(run.stdout, "lane ui: merged 1 commit of main into HEAD\n");
    assert!(tree.join("base.txt").exists());
    // In the middle of a rebase nothing moves.
    commit(&world, &tree, "base.txt", "of the lane\n");
    commit(&world, &root, "base.txt", "3\n");
    world.command("git").args(["rebase", "--quiet", "main"]).current_dir(&tree).output().unwrap();
    world.run(["lane", "sync", "ui", "--json"]).refuses(5, "operation_unfinished");
}

#[test]
fn sync_while_another_session_works_needs_force() {
    let (world, _) = with_lane();
    for id in ["s1", "s2"] {
        world.add_session(id);
    }
    world.run(["session", "upsert", "--id", "s1", "--lane", "ui"]).exits(0);
    commit(&world, &world.root(), "base.txt", "1\n");
    for caller in [&[][..], &["--session", "s2"]] {
        let error = world.run(["lane", "sync", "ui", "--json"].iter().chain(caller)).refuses(4, "in_use").error();
        assert_eq!(error["message"], "lane 'ui' is in use: session s1 works in it");
    }
    // The session itself may, and so may a person who insists.
    world.run(["lane", "sync", "ui", "--session", "s1"]).exits(0);
    commit(&world, &world.root(), "base.txt", "2\n");
    world.run(["lane", "sync", "ui", "--force"]).exits(0);
}

#[test]
fn sync_without_a_name_to_commit_with_changes_nothing() {
    let (mut world, tree) = with_lane();
    let root = world.root();
    for key in ["user.name", "user.email"] {
        world.git(&root, &["config", "--unset", key]);
    }
    world.git(&root, &["config", "user.useConfigOnly", "true"]);
    commit(&world, &tree, "lane.txt", "1\n");
    commit(&world, &root, "base.txt", "1\n");
    let before = fingerprint(&world, &tree);
    world.run(["lane", "sync", "ui", "--json"]).refuses(7, "git_failed");
    let after = fingerprint(&world, &tree);
    assert_eq!((&after.0, &after.1, &after.2), (&before.0, &before.1, &before.2));
    // Hooks do not run, and a signature is made where the user asked for it.
    let hook = root.join(".git/hooks/commit-msg");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    let signer = world.dir().join("sign.sh");
    fs::write(&signer, "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed-by-test\n").unwrap();
    for file in [&hook, &signer] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.git(&root, &["config", "commit.gpgSign", "true"]);
    world.git(&root, &["config", "--global", "gpg.program", signer.to_str().unwrap()]);
    for (name, value) in [("NAME", "Ann"), ("EMAIL", "ann@example.com")] {
        world.set(&format!("GIT_AUTHOR_{name}"), value).set(&format!("GIT_COMMITTER_{name}"), value);
    }
    world.run(["lane", "sync", "ui"]).exits(0);
    assert!(world.git(&tree, &["cat-file", "commit", "HEAD"]).contains("signed-by-test"));
}

/// A sync that was killed after git had moved the branch left its intent: the next one records what happened.
#[test]
fn interrupted_sync_is_recorded_by_the_next() {
    let (world, tree) = with_lane();
    let root = world.root();
    let from = head(&world, &tree);
    commit(&world, &root, "base.txt", "1\n");
    let to = head(&world, &root);
    let intent = |from: &str, to: &str| {
        let plan =
            json!({ "base": "main", "base_commit": to, "how": "fast_forward", "behind": 1, "from": from, "to": to });
        let conn = rusqlite::Connection::open(world.store()).unwrap();
        let put = "INSERT INTO requests (id, words, answer, created_at) VALUES ('lane-sync ui', ?1, NULL, ?2)";
        conn.execute(put, (plan.to_string(), world.now().millis())).unwrap();
    };
    intent(&from, &to);
    world.advance_clock(600);
    let findings = world.run(["doctor", "--json"]).json();
    let named = findings["findings"].as_array().unwrap().iter().find(|one| one["code"] == "unsettled").unwrap();
    assert_eq!(named["fix"], "fairway lane sync ui");
    // It had not moved yet: the sync is done now, once.
    world.run(["lane", "sync", "ui"]).exits(0);
    let synced = || world.run(["events"]).exits(0).stdout.matches("lane.synced").count();
    assert_eq!(synced(), 1);
    // It had moved.
    commit(&world, &root, "base.txt", "2\n");
    intent(&to, &head(&world, &root));
    world.git(&tree, &["merge", "--quiet", "--ff-only", "main"]);
    assert_eq!(world.json(["lane", "sync", "ui"])["how"], "up_to_date");
    assert_eq!(synced(), 2);
    assert!(!world.run(["doctor", "--json"]).stdout.contains("unsettled"));
}

#[test]
fn show_and_list_say_how_far_a_worktree_is() {
    let (world, tree) = with_lane();
    let root = world.root();
    world.run(["lane", "add", "docs"]).exits(0);
    commit(&world, &tree, "lane.txt", "1\n");
    commit(&world, &tree, "lane.txt", "2\n");
    commit(&world, &root, "base.txt", "1\n");
    fs::write(tree.join("new.txt"), "n\n").unwrap();
    let git = world.json(["lane", "show", "ui"])["lane"]["git"].clone();
    assert_eq!(
        git,
        json!({ "worktree": tree, "branch": "lane/ui", "work": null, "base": "main", "commit": head(&world, &tree), "ahead": 2,
            "behind": 1, "dirty": true, "changed_files": 1, "submodules": [], "problem": null })
    );
    assert_eq!(world.json(["lane", "show", "docs"])["lane"]["git"], Value::Null);
    let text = world.run(["lane", "show", "ui"]).exits(0).stdout;
    let commit = format!("commit      {}, 2 ahead of main, 1 behind\n", &head(&world, &tree)[..12]);
    assert!(text.contains(&commit) && text.contains("changes     1 file with changes in no commit\n"), "{text}");

    // The list asks git only on request.
    assert!(world.json(["lane", "list"])[1].get("git").is_none());
    assert_eq!(world.json(["lane", "list", "--git"])[1]["git"], git);
    let table = world.run(["lane", "list", "--git"]).exits(0).stdout;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().take(8).collect()).collect();
    assert_eq!(rows[0], ["NAME", "STATUS", "ROLE", "HELD", "AHEAD", "BEHIND", "CHANGED", "BRANCH"]);
    assert_eq!(rows[1][..7], ["docs", "open", "-", "0", "-", "-", "-"]);
    assert_eq!(rows[2][..7], ["ui", "open", "-", "0", "2", "1", "1"]);

    fs::remove_dir_all(&tree).unwrap();
    let git = world.json(["lane", "show", "ui"])["lane"]["git"].clone();
    assert_eq!((&git["problem"], &git["commit"]), (&json!("the worktree is gone"), &Value::Null));
    assert!(world.run(["lane", "list", "--git"]).exits(0).stdout.contains("gone"));
}

#[test]
fn repository_without_a_commit_is_told_to_commit_first() {
    let world = TestProject::uninitialized();
    world.git(&world.root(), &["init", "--quiet", "--initial-branch=main"]);
    world.run(["init", "--quiet"]).exits(0);
    insta::assert_snapshot!(world.transcript(&["fairway lane add ui --create-worktree"]), @"
    $ fairway lane add ui --create-worktree
    error: there is no base branch 'main': the repository has no commit
    hint: commit first: git add -A && git commit -m 'first commit'
    [exit 3]
    ");
}

#[test]
fn diff_since_an_event_shows_the_changes_after_it() {
    let (world, tree) = with_lane();
    // The reflog has the time of the machine.
    world.real_time();
    let event = |world: &TestProject| {
        world.run(["task", "edit", "T-1", "--priority", "0", "--body", "seen"]).exits(0);
        world.run(["events", "--tail", "1", "--quiet"]).exits(0).stdout.trim().to_owned()
    };
    world.run(["task", "add", "T-1", "t"]).exits(0);
    commit(&world, &tree, "before.txt", "one\n");
    let seen = event(&world);
    // The reflog counts in seconds.
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let moved = |seq: &str, seconds: i64| {
        let at = "UPDATE events SET at = at + ?2 * 1000 WHERE seq = ?1";
        assert_eq!(conn.execute(at, rusqlite::params![seq, seconds]).unwrap(), 1);
    };
    world.git(&tree, &["config", "user.useConfigOnly", "true"]);
    let later = (fairway_core::env::Clock::System.now().millis() / 1_000 + 60).to_string();
    fs::write(tree.join("after.txt"), "two\n").unwrap();
    world.git(&tree, &["add", "--all"]);
    let mut late = world.command("git");
    late.args(["commit", "--quiet", "--message=after"])
        .current_dir(&tree)
        .env("GIT_COMMITTER_DATE", format!("@{later} +0000"));
    assert!(late.status().unwrap().success());
    fs::write(tree.join("new.txt"), "three\n").unwrap();
    let names = |since: &str| world.run(["lane", "diff", "ui", "--name-only", "--since", since]).exits(0).stdout;
    assert_eq!(names(&seen), "after.txt\nnew.txt\n");
    let diff = world.json(["lane", "diff", "ui", "--since", &seen]);
    assert_eq!(diff["since"], world.git(&tree, &["rev-parse", "HEAD~1"]).trim());
    // An event after the commit, and one before the branch.
    moved(&seen, 120);
    assert_eq!(names(&seen), "new.txt\n");
    moved(&seen, -1_000_000);
    let run = world.run(["lane", "diff", "ui", "--since", &seen]).exits(3);
    assert!(
        run.stderr.contains(&format!("event {seen} (")) && run.stderr.contains("is before the reflog of lane/ui"),
        "{run:?}"
    );
    assert!(run.stderr.contains("hint: compare with a commit: fairway lane diff ui --since COMMIT"), "{run:?}");
    world.run(["lane", "diff", "ui", "--since", "999999", "--json"]).refuses(3, "not_found");
}

/// Git would wait for somebody who writes to it.
#[test]
fn fifo_at_a_name_that_git_reads_stops_no_look() {
    let (world, tree) = with_lane();
    commit(&world, &tree, "done.txt", "one\n");
    fs::write(tree.join("new.txt"), "two\n").unwrap();
    fs::create_dir(tree.join("sub")).unwrap();
    fs::write(tree.join("sub/new.txt"), "three\n").unwrap();
    for name in [".gitignore", ".gitattributes", "sub/.gitignore", "sub/.gitattributes"] {
        nix::unistd::mkfifo(&tree.join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    let started = std::time::Instant::now();
    let diff = world.json(["lane", "diff", "ui"]);
    let paths: Vec<String> = files(&diff).into_iter().map(|file| file.0).collect();
    assert_eq!(paths, ["done.txt", "new.txt", "sub/new.txt"]);
    for command in
        [&["overlap"][..], &["lane", "list", "--git"], &["lane", "show", "ui"], &["lane", "diff", "ui"], &["doctor"]]
    {
        let run = world.run(command);
        assert!(!run.stderr.contains("timed out") && !run.stderr.contains("in time"), "{command:?}: {run:?}");
    }
    let overlap = world.json(["overlap"]);
    assert_eq!(overlap["problem"], Value::Null, "{overlap}");
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "no look of 20 s was given up");
}

/// What scaffolders do.
#[test]
fn repository_in_a_lane_is_named_and_the_rest_is_compared() {
    let (world, tree) = with_lane();
    fs::write(tree.join("new.txt"), "two\n").unwrap();
    for name in ["fresh", "used"] {
        fs::create_dir(tree.join(name)).unwrap();
        world.git(&tree.join(name), &["init", "--quiet"]);
        fs::write(tree.join(name).join("inside.txt"), "x\n").unwrap();
    }
    commit_in(&world, &tree.join("used"));
    let before = fingerprint(&world, &tree);
    let run = world.run(["lane", "diff", "ui", "--stat"]).exits(0);
    assert!(run.stdout.contains("new.txt") && !run.stdout.contains("inside.txt"), "{run:?}");
    assert_eq!(
        run.stderr,
        "note: fresh is a repository of its own: what is inside is not compared\n\
         note: used is a repository of its own: what is inside is not compared\n"
    );
    let diff = world.json(["lane", "diff", "ui"]);
    assert_eq!((&diff["repositories"], files(&diff).len()), (&json!(["fresh", "used"]), 1));
    for command in [&["overlap"][..], &["lane", "list", "--git"], &["lane", "show", "ui"]] {
        world.run(command).exits(0);
    }
    assert_eq!(fingerprint(&world, &tree), before);
}

fn commit_in(world: &TestProject, dir: &Path) {
    world.git(dir, &["add", "--all"]);
    let by = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    world.git(dir, &[&by[..], &["commit", "--quiet", "--message=inside"]].concat());
}

#[test]
fn lane_diff_counts_a_file_that_became_a_fifo_as_deleted() {
    let (world, tree) = with_lane();
    for name in ["kept.txt", "pipe.txt"] {
        commit(&world, &tree, name, "one\ntwo\n");
    }
    fs::write(tree.join("kept.txt"), "one\n").unwrap();
    fs::remove_file(tree.join("pipe.txt")).unwrap();
    nix::unistd::mkfifo(&tree.join("pipe.txt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let before = fingerprint(&world, &tree);
    let since_head = ["lane", "diff", "ui", "--since", "HEAD"];
    for more in ["--stat", "--name-only", "--color=never"] {
        let run = world.run(since_head.into_iter().chain([more])).exits(0);
        assert!(run.stdout.contains("kept.txt") && run.stdout.contains("pipe.txt"), "{run:?}");
        let note = "note: pipe.txt is no regular file now, which git cannot keep: it counts as deleted\n";
        assert_eq!(run.stderr, note);
    }
    let diff = world.json(since_head);
    assert_eq!(diff["special_files"], json!(["pipe.txt"]));
    assert_eq!((&diff["added"], &diff["deleted"]), (&json!(0), &json!(3)));
    assert_eq!(diff["files"][1]["status"], "deleted");
    assert_eq!(fingerprint(&world, &tree), before);
}
