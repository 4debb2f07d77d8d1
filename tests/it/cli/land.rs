//! `fairway land`, with real git: what lands, what is refused, and what is left afterwards.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::TestProject;

/// No gates: what they ask for has tests of its own.
pub(crate) const NO_GATES: &str = "\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n";

/// A project whose configuration ends with this text, and git knows who commits.
pub(crate) fn project(config: &str) -> TestProject {
    let world = TestProject::with_git();
    let root = world.root();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&root, &["config", key, value]);
    }
    let file = root.join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{config}")).unwrap();
    fs::write(root.join("shared.txt"), "1\n2\n3\n4\n5\n").unwrap();
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=configuration"]);
    world
}

pub(super) fn lane_dir(world: &TestProject, lane: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(lane)
}

/// Commits files in a lane.
pub(crate) fn commit(world: &TestProject, lane: &str, files: &[(&str, &str)]) -> String {
    let dir = lane_dir(world, lane);
    for (name, text) in files {
        fs::write(dir.join(name), text).unwrap();
    }
    world.git(&dir, &["add", "--all"]);
    let author = format!("--author={lane} <{lane}@example.com>");
    world.git(&dir, &["commit", "--quiet", &author, &format!("--message=work of {lane}")]);
    head(world, &dir)
}

/// A lane of its own with a task in review.
pub(super) fn submitted(world: &TestProject, lane: &str, files: &[(&str, &str)]) -> String {
    world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    let added = world.json(["task", "add", &format!("Work on {lane}"), "--lane", lane]);
    let task = added["id"].as_str().unwrap().to_owned();
    world.run(["claim", &task]).exits(0);
    let commit = commit(world, lane, files);
    world.run(["task", "submit", &task, "--commit", &commit]).exits(0);
    task
}

pub(super) fn head(world: &TestProject, dir: &Path) -> String {
    world.git(dir, &["rev-parse", "HEAD"]).trim().to_owned()
}

pub(super) fn main_commit(world: &TestProject) -> String {
    world.git(&world.root(), &["rev-parse", "main"]).trim().to_owned()
}

pub(crate) fn status(world: &TestProject, task: &str) -> String {
    world.json(["task", "show", task])["status"].as_str().unwrap().to_owned()
}

fn refs(world: &TestProject) -> String {
    world.git(&world.root(), &["for-each-ref", "--format=%(refname) %(objectname)"])
}

#[test]
fn task_lands_as_a_merge_and_its_lane_ends() {
    let world = project(NO_GATES);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let (before, tip) = (main_commit(&world), head(&world, &lane_dir(&world, "ui")));
    fs::write(world.root().join("untracked.txt"), "mine\n").unwrap();

    let plan = world.json(["land", &task, "--dry-run"]);
    assert_eq!(
        (&plan["landings"][0]["state"], &plan["landings"][0]["candidate"]),
        (&json!("would_land"), &Value::Null)
    );
    let landed = world.json(["land", &task]);
    let landing = &landed["landings"][0];
    assert_eq!((&landing["state"], &landing["style"]), (&json!("landed"), &json!("merge")), "{landed}");
    assert_eq!((&landing["base_before"], &landing["commit"]), (&json!(before), &json!(tip)));
    assert_eq!(landing["candidate"], json!(main_commit(&world)));
    assert_eq!(landing["removed_worktree"], json!(lane_dir(&world, "ui")));

    let root = world.root();
    let parents = world.git(&root, &["log", "-1", "--format=%P"]);
    assert_eq!(parents.trim(), format!("{before} {tip}"));
    let message = world.git(&root, &["log", "-1", "--format=%an <%ae>%n%B"]);
    let expected = format!("Ann <ann@example.com>\n{task}: Work on ui\n\nFairway-Task: {task}\nFairway-Lane: ui\n\n");
    assert_eq!(message, expected);
    assert_eq!(world.git(&root, &["status", "--porcelain"]), "?? untracked.txt\n");
    assert_eq!(fs::read_to_string(root.join("ui.txt")).unwrap(), "ui\n");

    let shown = world.json(["task", "show", &task]);
    assert_eq!((&shown["status"], &shown["landed_commit"]), (&json!("done"), &json!(main_commit(&world))));
    let event = world.json(["events", "--kind", "task.landed"]);
    assert_eq!((&event["data"]["holder"], &event["data"]["to"]), (&event["actor"], &json!("done")), "{event}");
    assert_eq!(world.redacted(event["actor"].as_str().unwrap()), "[user]");
    assert!(!lane_dir(&world, "ui").exists());
    assert_eq!(refs(&world), format!("refs/heads/main {}\n", main_commit(&world)));
    assert_eq!(world.json(["lane", "show", "ui"])["lane"]["status"], "closed");

    // Again: there is nothing left to do.
    assert_eq!(world.json(["land", &task])["landings"][0]["state"], "unchanged");
    assert_eq!(world.run(["events", "--kind", "task.landed", "--json"]).exits(0).stdout.lines().count(), 1);
    // A task that is opened again has not landed.
    world.run(["task", "reopen", &task, "--reason", "it crashes"]).exits(0);
    assert_eq!(world.json(["task", "show", &task])["landed_commit"], Value::Null);
}

#[test]
fn squash_and_rebase_keep_the_author() {
    let world = project(&format!("{NO_GATES}[land]\nstyle = \"squash\"\n"));
    let root = world.root();
    let first = submitted(&world, "one", &[("one.txt", "1\n")]);
    let before = main_commit(&world);
    world.run(["land", &first]).exits(0);
    let log = |format: &str| world.git(&root, &["log", "-1", &format!("--format={format}")]);
    assert_eq!(log("%P").trim(), before);
    assert_eq!(log("%an|%cn|%s").trim(), format!("one|Ann|{first}: Work on one"));

    let config = fs::read_to_string(root.join(".fairway.toml")).unwrap().replace("squash", "rebase");
    fs::write(root.join(".fairway.toml"), config).unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=rebase"]);
    let second = submitted(&world, "two", &[("two.txt", "1\n")]);
    commit(&world, "two", &[("two.txt", "2\n")]);
    fs::write(root.join("base.txt"), "base\n").unwrap();
    world.git(&root, &["add", "base.txt"]);
    world.git(&root, &["commit", "--quiet", "--message=base"]);
    let before = main_commit(&world);
    world.run(["land", "two"]).exits(0);
    assert_eq!(
        world.git(&root, &["log", "--format=%an %s", &format!("{before}..")]),
        "two work of two\ntwo work of two\n"
    );
    assert_eq!(log("%B").trim(), format!("work of two\n\nFairway-Task: {second}\nFairway-Lane: two"));

    let third = submitted(&world, "three", &[("three.txt", "3\n")]);
    fs::write(root.join("base.txt"), "more\n").unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=more"]);
    world.run(["lane", "sync", "three"]).exits(0);
    let tip = head(&world, &lane_dir(&world, "three"));
    world.run(["task", "resume", &third]).exits(0);
    world.run(["task", "submit", &third, "--commit", &tip]).exits(0);
    world.run(["land", &third, "--json"]).refuses(5, "merge_commits");
    assert_eq!(status(&world, &third), "review");
}

#[test]
fn colliding_lanes_are_told_sent_back_and_land_after_a_rebase() {
    let world = project(NO_GATES);
    let one = submitted(&world, "one", &[("shared.txt", "1\nONE\n3\n4\n5\n")]);
    let two = submitted(&world, "two", &[("shared.txt", "1\nTWO\n3\n4\n5\n")]);
    let far = submitted(&world, "far", &[("shared.txt", "1\n2\n3\n4\nFAR\n")]);

    let plan = world.json(["land", "--all", "--dry-run"]);
    let order: Vec<&str> =
        plan["order"].as_array().unwrap().iter().map(|one| one["tasks"][0].as_str().unwrap()).collect();
    assert_eq!(order, [far.as_str(), &one, &two]);
    assert_eq!(plan["landings"][2]["state"], "would_be_sent_back");
    let shown = format!(
        "$ fairway land --all --dry-run\nwould land {far} (lane far) in main (merge)\nwould land {one} (lane one) in main (merge)\n\
         would send back {two} (lane two): {two} conflicts with main in shared.txt\n  \
         bring main in by hand: git -C [world]/project/.fairway/worktrees/two merge main\n"
    );
    assert_eq!(world.transcript(&["fairway land --all --dry-run"]), shown);
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stderr.contains(&format!("order: {far} (lane far), {one} (lane one), {two} (lane two)")), "{run:?}");
    assert!(!run.stdout.contains("told lane"), "{run:?}");
    let why = format!("{two} conflicts with main in shared.txt; landed since: {one}, {far}");
    assert!(run.stdout.contains(&why), "{run:?}");
    assert_eq!([&one, &two, &far].map(|task| status(&world, task)), ["done", "in_progress", "done"]);
    let messages: String = Connection::open(world.store())
        .unwrap()
        .query_row("SELECT group_concat(content) FROM messages WHERE to_lane = 'two'", [], |row| row.get(0))
        .unwrap();
    let by_hand = format!("git -C {} merge main", lane_dir(&world, "two").display());
    assert!(messages.ends_with(&format!("\nNext, bring main in by hand: {by_hand}")), "{messages}");
    assert_eq!(messages.matches("conflicts with main in shared.txt").count(), 1, "{messages}");

    // Neither the commit nor the base has changed: `--queue` ends.
    world.run(["task", "submit", &two]).exits(0);
    let before = main_commit(&world);
    let again = world.json(["land", "--queue"]);
    assert_eq!((&again["landings"][0]["state"], main_commit(&world)), (&json!("skipped"), before), "{again}");

    let dir = lane_dir(&world, "two");
    world.command("git").args(["rebase", "main"]).current_dir(&dir).output().unwrap();
    world.run(["land", &two, "--json"]).refuses(5, "operation_unfinished");
    fs::write(dir.join("shared.txt"), "1\nBOTH\n3\n4\nFAR\n").unwrap();
    world.git(&dir, &["add", "shared.txt"]);
    world.git(&dir, &["-c", "core.editor=true", "rebase", "--continue"]);
    let tip = head(&world, &dir);
    world.run(["task", "resume", &two]).exits(0);
    world.run(["task", "submit", &two, "--commit", &tip]).exits(0);
    world.run(["land", "--queue"]).exits(0);
    assert_eq!(status(&world, &two), "done");
    assert_eq!(fs::read_to_string(world.root().join("shared.txt")).unwrap(), "1\nBOTH\n3\n4\nFAR\n");
}

#[test]
fn failing_check_on_the_merged_tree_sends_back_and_the_next_lands() {
    let config = format!(
        "{NO_GATES}[land]\nprepare = [\"echo made >made.txt\"]\nchecks = [\"test -f made.txt && ! test -f bad.txt\"]\n"
    );
    let world = project(&config);
    let bad = submitted(&world, "bad", &[("bad.txt", "bad\n")]);
    let good = submitted(&world, "good", &[("good.txt", "good\n")]);
    world.run(["land", "--all", "--json"]).refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    world.run(["task", "edit", &good, "--check", "own=test -f good.txt && test -f code.txt"]).exits(0);

    let run = world.run(["land", "--all", "--json"]).exits(5);
    let landings = run.json()["landings"].clone();
    let state = |task: &str| {
        let all = landings.as_array().unwrap().iter();
        all.clone().find(|one| one["tasks"][0] == task).unwrap().clone()
    };
    assert_eq!(
        (&state(&bad)["state"], &state(&bad)["error"]["code"]),
        (&json!("sent_back"), &json!("land_check_failed"))
    );
    assert_eq!((&state(&good)["state"], state(&good)["checks"].as_array().unwrap().len()), (&json!("landed"), 2));
    assert!(!world.root().join("bad.txt").exists() && world.root().join("good.txt").exists());

    let evidence = world.json(["evidence", "list", &bad]);
    assert_eq!(
        (&evidence[0]["kind"], &evidence[0]["result"], &evidence[0]["observed"]),
        (&json!("landing"), &json!("fail"), &json!(true)),
        "{evidence}"
    );
    assert_eq!(evidence[0]["commit"], state(&bad)["candidate"]);
    // It blocks no gate, and a pass opens none.
    assert_eq!(world.json(["merge-ready", &bad])["ready"], true);
    // The worktree for checks stays for the next landing, out of the way of the project's files.
    assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
    let sent_back = |world: &TestProject| {
        let needs = world.json(["status"])["needs_you"].clone();
        needs.as_array().unwrap().iter().find(|need| need["kind"] == "landing").cloned()
    };
    // It is a person's claim, and a person has to hear of it.
    let need = sent_back(&world).unwrap();
    assert_eq!((&need["task_id"], &need["lane"]), (&json!(bad), &json!("bad")));
    assert!(need["line"].as_str().unwrap().starts_with(&format!("{bad} sent back: ")), "{need}");
    assert_eq!(need["commands"][0]["command"], "fairway lane diff bad");
    // A person may have reasons to try again.
    world.run(["land", &bad, "--json"]).refuses(5, "land_check_failed");
    let again = sent_back(&world).unwrap();
    assert_ne!(again["id"], need["id"]);
    let submit = again["commands"][1]["command"].as_str().unwrap().to_owned();
    assert_eq!(submit, format!("fairway task submit {bad}"));
    // Released, it is in the queue as any other task, and its branch waits for someone.
    world.run(["release", &bad, "--force", "--reason", "no time"]).exits(0);
    let free = sent_back(&world).unwrap();
    assert!(free["line"].as_str().unwrap().starts_with(&format!("{bad} sent back and unclaimed: ")), "{free}");
    let commands: Vec<&str> =
        free["commands"].as_array().unwrap().iter().map(|one| one["command"].as_str().unwrap()).collect();
    assert_eq!(commands, [format!("fairway start {bad}"), "fairway lane diff bad".to_owned()]);
    world.run(["claim", &bad]).exits(0);
    assert!(!sent_back(&world).unwrap()["line"].as_str().unwrap().contains("unclaimed"));
    world.run(["task", "submit", &bad, "--commit", &head(&world, &lane_dir(&world, "bad"))]).exits(0);
    assert_eq!(sent_back(&world), None);
}

#[test]
fn tasks_of_the_lane_must_be_ready_too() {
    let world = project("\n[gates.merge]\nrequire = [\"evidence\", \"reviews\"]\n");
    let first = submitted(&world, "ui", &[("a.txt", "a\n")]);
    let second = world.json(["task", "add", "More", "--lane", "ui"])["id"].as_str().unwrap().to_owned();
    world.run(["claim", &second]).exits(0);
    let tip = commit(&world, "ui", &[("b.txt", "b\n")]);
    for task in [&first, &second] {
        world.run(["evidence", "add", task, "--result", "pass"]).exits(0);
    }
    world.run(["task", "block", &second, "--reason", "no key"]).exits(0);

    let error = world.run(["land", "ui", "--json"]).refuses(5, "gate_blocked").error();
    assert_eq!(error["details"]["tasks"][0]["task_id"], json!(second));
    assert!(error["message"].as_str().unwrap().contains("it is blocked: no key"), "{error}");
    assert_eq!(error["hint"], json!(format!("fairway task unblock {second}")));
    // The earlier commit does not contain it.
    world.run(["land", &first]).exits(0);
    assert!(lane_dir(&world, "ui").exists(), "a claimed task needs it");
    world.run(["task", "unblock", &second]).exits(0);
    world.run(["review", "request", &second, "--domain", "code"]).exits(0);
    world.run(["land", "ui", "--json"]).refuses(5, "gate_blocked");
    world.add_session("rosa");
    let verdict = ["review", "record", &second, "--domain", "code", "--verdict", "approve", "--commit", &tip];
    world.run(["--session", "rosa"].iter().chain(&verdict)).exits(0);
    world.run(["land", "ui"]).exits(0);
    assert_eq!(status(&world, &second), "done");
}

#[test]
fn refused_landings_name_the_reason_and_change_nothing() {
    let world = project(NO_GATES);
    let root = world.root();
    let task = submitted(&world, "ui", &[("new.txt", "new\n"), ("shared.txt", "1\nUI\n3\n4\n5\n")]);
    let before = (main_commit(&world), head(&world, &lane_dir(&world, "ui")));
    let refused = |code: &str| world.run(["land", &task, "--json"]).refuses(5, code).error();

    fs::write(lane_dir(&world, "ui").join("draft.txt"), "draft\n").unwrap();
    assert!(refused("unsaved_work")["message"].as_str().unwrap().contains("draft.txt"));
    fs::remove_file(lane_dir(&world, "ui").join("draft.txt")).unwrap();

    // The person's own checkout.
    fs::write(root.join("code.txt"), "my edit\n").unwrap();
    assert_eq!(refused("checkout_changed")["details"]["files"], json!(["code.txt"]));
    world.git(&root, &["checkout", "--quiet", "code.txt"]);
    fs::write(root.join("new.txt"), "mine\n").unwrap();
    assert_eq!(refused("checkout_changed")["details"]["files"], json!(["new.txt"]));
    fs::write(root.join(".git/info/exclude"), "new.txt\n/.fairway/\n").unwrap();
    refused("checkout_changed");
    assert_eq!(fs::read_to_string(root.join("new.txt")).unwrap(), "mine\n");
    fs::remove_file(root.join("new.txt")).unwrap();

    world.git(&root, &["worktree", "add", "--quiet", "--force", "../other", "main"]);
    refused("base_checked_out");
    world.git(&root, &["worktree", "remove", "../other"]);
    world.git(&root, &["bisect", "start"]);
    refused("operation_unfinished");
    world.git(&root, &["bisect", "reset"]);

    // Behind its upstream, and apart from it.
    world.git(&root, &["update-ref", "refs/remotes/origin/main", "main"]);
    for (key, value) in [
        ("remote.origin.url", "/nowhere"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
    ] {
        world.git(&root, &["config", key, value]);
    }
    let ahead = world.git(&root, &["commit-tree", "main^{tree}", "-p", "main", "-m", "theirs"]);
    world.git(&root, &["update-ref", "refs/remotes/origin/main", ahead.trim()]);
    let error = refused("base_behind");
    assert!(error["hint"].as_str().unwrap().ends_with("pull --ff-only"), "{error}");
    world.git(&root, &["update-ref", "-d", "refs/remotes/origin/main"]);

    world.git(&root, &["config", "--unset", "user.name"]);
    world.git(&root, &["config", "--unset", "user.email"]);
    world.git(&root, &["config", "user.useConfigOnly", "true"]);
    refused("no_identity");
    assert_eq!((main_commit(&world), head(&world, &lane_dir(&world, "ui"))), before);
    assert_eq!(status(&world, &task), "review");
    assert_eq!(world.git(&root, &["status", "--porcelain"]), "");
    let open: i64 = Connection::open(world.store())
        .unwrap()
        .query_row("SELECT count(*) FROM landings WHERE ended_at IS NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(open, 0);
}

#[test]
fn agents_land_only_in_a_trusted_role() {
    let mut world = project(NO_GATES);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["session", "upsert", "--id", "s1", "--role", "integrator"]).exits(0);
    world.set("FAIRWAY_SESSION_ID", "s1");
    world.run(["land", &task, "--json"]).refuses(5, "inside_session");
    world.run(["land", &task, "--dry-run"]).exits(0);
    fs::write(world.root().join(".fairway/local.toml"), "[roles.integrator]\nmay = [\"land\"]\n").unwrap();
    world.run(["land", &task, "--json"]).refuses(5, "inside_session");
    let mut trust = world.fairway(["trust"]);
    assert!(trust.env_remove("FAIRWAY_SESSION_ID").status().unwrap().success());
    world.run(["land", &task]).exits(0);
    assert_eq!(status(&world, &task), "done");
}

#[test]
fn base_that_is_not_checked_out_moves_alone() {
    let world = project(NO_GATES);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let root = world.root();
    world.git(&root, &["switch", "--quiet", "--create", "mine"]);
    fs::write(root.join("code.txt"), "my edit\n").unwrap();
    world.run(["land", &task]).exits(0);
    assert_eq!(world.git(&root, &["show", "main:ui.txt"]), "ui\n");
    assert!(!root.join("ui.txt").exists());
    assert_eq!(world.git(&root, &["status", "--porcelain"]), " M code.txt\n");
}

#[test]
fn landing_runs_no_program_that_lanes_or_the_repository_name() {
    let world = project(NO_GATES);
    let root = world.root();
    let canary = world.dir().join("canary");
    let script = world.dir().join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\nexit 1\n", canary.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.display().to_string();
    let task = submitted(
        &world,
        "ui",
        &[(".gitattributes", "shared.txt merge=evil diff=evil\n"), ("shared.txt", "1\nUI\n3\n4\n5\n")],
    );
    fs::write(root.join("shared.txt"), "1\n2\n3\n4\nMAIN\n").unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=main"]);
    for key in [
        "merge.evil.driver", "diff.evil.textconv", "diff.external", "core.fsmonitor", "core.pager", "filter.evil.clean",
    ] {
        world.git(&root, &["config", key, &evil]);
    }
    let hooks = root.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-merge", "pre-merge-commit", "reference-transaction", "post-checkout", "pre-commit", "post-rewrite",
        "commit-msg", "post-index-change",
    ] {
        fs::copy(&script, hooks.join(hook)).unwrap();
    }
    // A filter that only the lane's own configuration and files name.
    fs::write(root.join(".git/info/attributes"), "ui-only.txt filter=evil\n").unwrap();
    world.run(["land", &task]).exits(0);
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap());
    assert_eq!(world.git(&root, &["-c", "core.fsmonitor=false", "show", "main:shared.txt"]), "1\nUI\n3\n4\nMAIN\n");
}

/// A file and its new text; `None` removes it.
type Edit<'a> = (&'a str, Option<&'a str>);

/// A fast-forward of the checkout that was killed in its middle, as each step leaves it.
#[test]
fn interrupted_checkout_is_completed_by_the_next_landing_and_a_changed_one_is_refused() {
    let steps: [(&str, &[Edit<'_>], bool); 4] = [
        ("nothing was written", &[], true),
        ("one file was written", &[("shared.txt", Some("1\nUI\n3\n4\n5\n"))], true),
        ("a file was half written, another is away", &[("new.txt", Some("ne")), ("code.txt", None)], true),
        ("a person has edited since", &[("new.txt", Some("new\n")), ("shared.txt", Some("mine\n"))], false),
    ];
    for (about, files, completes) in steps {
        let world = project(NO_GATES);
        let root = world.root();
        let edits = [("new.txt", "new\n"), ("shared.txt", "1\nUI\n3\n4\n5\n"), ("code.txt", "code of ui\n")];
        let task = submitted(&world, "ui", &edits);
        let (old, tip) = (main_commit(&world), head(&world, &lane_dir(&world, "ui")));
        let tree = format!("{tip}^{{tree}}");
        let new = world.git(&root, &["commit-tree", &tree, "-p", &old, "-p", &tip, "-m", "landing"]).trim().to_owned();
        world.git(&root, &["update-ref", "refs/fairway/land/1", &new]);
        let epoch = world.json(["task", "show", &task])["claim"]["epoch"].as_i64().unwrap();
        Connection::open(world.store())
            .unwrap()
            .execute(
                "INSERT INTO landings (lane, commit_id, style, base, base_before, candidate, state, tasks, started_at) \
                 VALUES ('ui', ?1, 'merge', 'main', ?2, ?3, 'moving', ?4, 1)",
                (&tip, &old, &new, json!([[task, epoch]]).to_string()),
            )
            .unwrap();
        for (name, text) in files {
            match text {
                Some(text) => fs::write(root.join(name), text).unwrap(),
                None => fs::remove_file(root.join(name)).unwrap(),
            }
        }
        fs::write(root.join(".git/index.lock"), "").unwrap();
        if completes {
            world.run(["land", &task]).exits(0);
            assert_eq!(status(&world, &task), "done", "{about}");
            assert_eq!(world.git(&root, &["status", "--porcelain"]), "", "{about}");
            assert_eq!(fs::read_to_string(root.join("new.txt")).unwrap(), "new\n", "{about}");
            // The attempt that had begun was completed, and not begun anew.
            assert_eq!(main_commit(&world) == new, !files.is_empty(), "{about}");
            assert!(!refs(&world).contains("refs/fairway"), "{about}");
        } else {
            let error = world.run(["land", &task, "--json"]).refuses(5, "checkout_changed").error();
            assert_eq!(error["details"]["files"], json!(["shared.txt"]), "{about}");
            assert_eq!((main_commit(&world), status(&world, &task)), (old, "review".to_owned()), "{about}");
            assert_eq!(fs::read_to_string(root.join("shared.txt")).unwrap(), "mine\n", "{about}");
        }
    }
}

#[test]
fn landings_at_once_go_one_after_the_other_each_checked_on_what_it_landed_on() {
    let count = std::env::var("FAIRWAY_SOAK").map_or(4, |_| 16);
    // Passes only where the tree has all of base: the number of files is that of the landings so far, and one more.
    let check = "test $(ls done-* | wc -l) -eq $(( $(git rev-list --first-parent HEAD | wc -l) - 2 ))";
    let world = project(&format!("{NO_GATES}[land]\nchecks = [{check:?}]\n"));
    world.real_time();
    world.run(["trust"]).exits(0);
    let tasks: Vec<String> = (0..count)
        .map(|number| submitted(&world, &format!("l{number}"), &[(&format!("done-{number}"), "done\n")]))
        .collect();
    thread::scope(|scope| {
        let runs: Vec<_> = tasks.iter().map(|task| scope.spawn(|| world.run(["land", task]).exits(0))).collect();
        for run in runs {
            run.join().unwrap();
        }
    });
    assert!(tasks.iter().all(|task| status(&world, task) == "done"));
    let landed = world.git(&world.root(), &["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(landed.lines().count(), count + 2, "{landed}");
    assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
}

#[test]
fn landing_without_a_repository_is_refused() {
    let world = TestProject::new();
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stderr.contains("nothing can be landed: ") && run.stderr.contains("git init"), "{run:?}");
}

/// Each process costs milliseconds: with pairs of lanes, 100 lanes took minutes.
#[test]
fn order_asks_git_once_for_the_ancestry_of_all_lanes() {
    let mut world = project(NO_GATES);
    let (calls, bin) = (world.dir().join("calls"), world.dir().join("bin"));
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nPATH='{path}' exec git \"$@\"\n", calls.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut names: Vec<String> = Vec::new();
    let mut asked = Vec::new();
    for count in [3, 6, 9] {
        while names.len() < count {
            let name = format!("l{}", names.len());
            world.run(["lane", "add", &name, "--create-worktree"]).exits(0);
            // Each lane builds on the one before.
            if let Some(before) = names.last() {
                world.git(&lane_dir(&world, &name), &["reset", "--quiet", "--hard", &format!("lane/{before}")]);
            }
            commit(&world, &name, &[(&format!("{name}.txt"), "x\n")]);
            names.push(name);
        }
        // The last one first.
        let words: Vec<&str> =
            ["land", "--dry-run"].into_iter().chain(names.iter().rev().map(String::as_str)).collect();
        let usual = std::env::var("PATH").unwrap();
        world.set("PATH", format!("{}:{path}", bin.display()));
        let _ = fs::remove_file(&calls);
        let plan = world.json(words);
        world.set("PATH", usual);
        let order: Vec<&str> =
            plan["order"].as_array().unwrap().iter().map(|one| one["lane"].as_str().unwrap()).collect();
        assert_eq!(order, names);
        let log = fs::read_to_string(&calls).unwrap();
        assert_eq!(log.lines().filter(|line| line.contains("rev-list --parents")).count(), 1, "{log}");
        asked.push(log.lines().filter(|line| line.contains("merge-base --is-ancestor")).count());
    }
    // Those that are left are about one lane each.
    assert_eq!(asked[2] - asked[1], asked[1] - asked[0], "{asked:?}");
}

#[test]
fn task_lands_after_the_one_it_depends_on_at_the_same_commit_of_another_base() {
    let world = project(NO_GATES);
    world.git(&world.root(), &["branch", "next", "main"]);
    let first = submitted(&world, "first", &[("first.txt", "x\n")]);
    let tip = head(&world, &lane_dir(&world, "first"));
    world.run(["lane", "add", "second", "--create-worktree"]).exits(0);
    world.run(["lane", "edit", "second", "--base", "next"]).exits(0);
    world.git(&lane_dir(&world, "second"), &["reset", "--quiet", "--hard", &tip]);
    let second = world.json(["task", "add", "Urgent", "--lane", "second", "--priority", "0"])["id"].clone();
    let second = second.as_str().unwrap();
    world.run(["claim", second]).exits(0);
    world.run(["task", "submit", second, "--commit", &tip]).exits(0);
    world.run(["task", "dep", "add", second, &first]).exits(0);
    let plan = world.json(["land", "--all", "--dry-run"]);
    let order: Vec<&Value> = plan["order"].as_array().unwrap().iter().map(|one| &one["tasks"][0]).collect();
    assert_eq!(order, [&json!(first), &json!(second)]);
    world.run(["land", "--all"]).exits(0);
    assert_eq!([&first, second].map(|task| status(&world, task)), ["done", "done"]);
}

/// The session that has claimed several tasks of a lane gets one message about its landing, and so does a lane's session that
/// conflicts.
#[test]
fn session_of_several_tasks_is_told_once_that_its_lane_was_sent_back() {
    let world = project(NO_GATES);
    for lane in ["one", "two", "three"] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        commit(&world, lane, &[("shared.txt", &format!("1\n{lane}\n3\n4\n5\n"))]);
        world.run(["session", "upsert", "--id", lane, "--role", "dev", "--lane", lane, "--activity", "idle"]).exits(0);
    }
    for task in ["T-1", "T-2"] {
        world.run(["task", "add", task, task, "--lane", "two"]).exits(0);
        world.run(["--session", "two", "claim", task]).exits(0);
        world.run(["--session", "two", "task", "submit", task]).exits(0);
    }
    world.run(["land", "lane:one"]).exits(0);
    world.run(["land", "lane:two"]).exits(5);
    let told = |to: &str| {
        let sent = world.json(["outbox", "--to-session", to]);
        sent.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sent_back: Vec<String> = told("two").into_iter().filter(|text| text.contains("was sent back")).collect();
    assert_eq!(sent_back.len(), 1, "{:?}", told("two"));
    assert!(told("three").iter().any(|text| text.contains("your lane three conflicts with it")), "{:?}", told("three"));
}
