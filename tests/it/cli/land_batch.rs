//! `fairway land` in batches: one check for a stack, and the one that breaks it is found without blame for the others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fairway_core::os::{poll_until, process_tree};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, main_commit, project, status, submitted};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// A project whose check writes a line into `log`, then runs `check` in the merged tree. The check is not in the repository.
fn checked(land: &str, check: &str) -> TestProject {
    let world = project(NO_GATES);
    let script = world.dir().join("check.sh");
    fs::write(&script, format!("echo run >>'{}'\n{check}\n", world.dir().join("log").display())).unwrap();
    let file = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}[land]\nchecks = [\"sh '{}'\"]\n{land}\n", script.display())).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=check"]);
    world.run(["trust"]).exits(0);
    world
}

/// How often the check ran since the last call.
fn runs(world: &TestProject) -> usize {
    let log = world.dir().join("log");
    let count = fs::read_to_string(&log).unwrap_or_default().lines().count();
    let _ = fs::remove_file(log);
    count
}

/// Lanes of these names, each with a task in review and a file of its own.
fn tasks<const N: usize>(world: &TestProject, names: [&str; N]) -> [String; N] {
    names.map(|name| submitted(world, name, &[(&format!("{name}.txt"), "x\n")]))
}

fn statuses<const N: usize>(world: &TestProject, tasks: [&String; N]) -> [String; N] {
    tasks.map(|task| status(world, task))
}

/// The landing of a task in an answer.
fn landing(run: &CommandOutput, task: &str) -> Value {
    let json = run.json();
    json["landings"].as_array().unwrap().iter().find(|one| one["tasks"][0] == task).unwrap().clone()
}

fn subjects(world: &TestProject) -> Vec<String> {
    let log = world.git(&world.root(), &["log", "--first-parent", "--reverse", "--format=%s", "main"]);
    log.lines().skip(3).map(str::to_owned).collect()
}

fn evidence(world: &TestProject, task: &str) -> Value {
    world.json(["evidence", "list", task])
}

/// Lets each call of git write its arguments into the file that is returned.
fn count_git(world: &mut TestProject) -> PathBuf {
    let (calls, bin) = (world.dir().join("calls"), world.dir().join("bin"));
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nPATH='{path}' exec git \"$@\"\n", calls.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    calls
}

#[test]
fn batch_lands_in_one_move_after_one_check_each_with_its_own_commit() {
    let world = checked("", "true");
    let names = ["a", "b", "c", "d", "e"];
    let tasks = tasks(&world, names);
    let moves = || world.git(&world.root(), &["reflog", "main"]).lines().count();
    let before = moves();
    let run = world.run(["land", "--all", "--json"]).exits(0);
    // Four, and the fifth.
    assert_eq!((runs(&world), moves() - before), (2, 2));
    assert_eq!(tasks.each_ref().map(|task| status(&world, task)), ["done"; 5].map(str::to_owned));
    let expected: Vec<String> =
        names.iter().zip(&tasks).map(|(name, task)| format!("{task}: Work on {name}")).collect();
    assert_eq!(subjects(&world), expected);
    let mut below = run.json()["landings"][0]["base_before"].clone();
    for task in &tasks {
        let landing = landing(&run, task);
        assert_eq!((&landing["state"], &landing["base_before"]), (&json!("landed"), &below), "{landing:#}");
        assert_eq!(world.json(["task", "show", task])["landed_commit"], landing["candidate"]);
        below = landing["candidate"].clone();
        let is_last = *task == tasks[4];
        assert_eq!(landing["batch"], if is_last { json!([]) } else { json!(tasks[..4]) });
        // What was checked is the highest tree.
        let evidence = evidence(&world, task);
        let top = if is_last { &tasks[4] } else { &tasks[3] };
        assert_eq!(evidence[0]["commit"], world.json(["task", "show", top])["landed_commit"]);
        let part = format!("checked as part of {}", tasks[..4].join(", "));
        assert_eq!(evidence[0]["summary"].as_str().unwrap().contains(&part), !is_last, "{evidence:#}");
    }
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE state = 'landed'"), "5");
    assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway"]), "");

    // One by one, as asked.
    let world = checked("batch = 1", "true");
    let [one, two] = self::tasks(&world, ["one", "two"]);
    let run = world.run(["land", "--all"]).exits(0);
    assert_eq!((runs(&world), statuses(&world, [&one, &two])), (2, ["done", "done"].map(str::to_owned)));
    assert!(!run.stdout.contains("as part of"), "{run:?}");
}

#[test]
fn red_batch_is_halved_until_the_one_that_breaks_is_alone_and_only_that_one_is_blamed() {
    let world = checked("retries = 0", "echo WHY; test ! -f c.txt");
    let [a, b, c, d] = tasks(&world, ["a", "b", "c", "d"]);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    // All four, the base, `a b`, `c`, then `d`, and `c` alone. The tree of `c` is not checked a second time.
    assert_eq!(runs(&world), 6, "{run:?}");
    let expected = ["done", "done", "in_progress", "done"].map(str::to_owned);
    assert_eq!(statuses(&world, [&a, &b, &c, &d]), expected, "{run:?}");
    let sent_back = landing(&run, &c);
    let after = world.json(["task", "show", &b])["landed_commit"].clone();
    assert_eq!((&sent_back["state"], &sent_back["error"]["details"]["base_commit"]), (&json!("sent_back"), &after));
    let message = sent_back["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("on the merged tree of main at {}", &after.as_str().unwrap()[..12])),
        "{message}"
    );
    assert_eq!(sent_back["error"]["details"]["landed_since"], json!([b, a]));
    assert!(run.stderr.contains(&format!("{a}, {b}, {c}, {d} fail together: ")), "{run:?}");
    assert_eq!((&landing(&run, &a)["batch"], &landing(&run, &d)["batch"]), (&json!([a, b]), &json!([])));
    for task in [&a, &b, &d] {
        let evidence = evidence(&world, task);
        let all = evidence.as_array().unwrap();
        assert!(all.len() == 1 && all[0]["result"] == "pass", "{evidence:#}");
    }
    assert_eq!(
        (&evidence(&world, &c)[0]["result"], evidence(&world, &c).as_array().unwrap().len()),
        (&json!("fail"), 1)
    );
    assert_eq!(world.value("SELECT group_concat(DISTINCT to_lane) FROM messages"), "c");
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
}

#[test]
fn work_that_breaks_only_together_lands_up_to_the_second_half() {
    let world = checked("retries = 0", "test ! -f a.txt -o ! -f d.txt");
    let [a, b, c, d, last] = tasks(&world, ["a", "b", "c", "d", "e"]);
    world.run(["land", "--all"]).exits(5);
    let expected = ["done", "done", "done", "in_progress", "done"].map(str::to_owned);
    assert_eq!(statuses(&world, [&a, &b, &c, &d, &last]), expected);
    // All four, the base, `a b`, `a b c`, then `e`; and `d` alone, with `a`, and `a` without it.
    assert_eq!(runs(&world), 8);
}

#[test]
fn work_that_conflicts_with_a_stack_waits_for_it_and_is_not_blamed_for_what_did_not_land() {
    let world = checked("retries = 0", "! grep -q ONE shared.txt");
    let first = submitted(&world, "first", &[("shared.txt", "1\nONE\n3\n4\n5\n")]);
    let second = submitted(&world, "second", &[("shared.txt", "1\nTWO\n3\n4\n5\n")]);
    let third = submitted(&world, "third", &[("third.txt", "x\n")]);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    let expected = ["in_progress", "done", "done"].map(str::to_owned);
    assert_eq!(statuses(&world, [&first, &second, &third]), expected, "{run:?}");
    assert_eq!(world.value("SELECT group_concat(DISTINCT to_lane) FROM messages"), "first");

    // Where the first one lands, it is.
    let world = checked("", "true");
    let first = submitted(&world, "first", &[("shared.txt", "1\nONE\n3\n4\n5\n")]);
    let second = submitted(&world, "second", &[("shared.txt", "1\nTWO\n3\n4\n5\n")]);
    let third = submitted(&world, "third", &[("third.txt", "x\n")]);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    let expected = ["done", "in_progress", "done"].map(str::to_owned);
    assert_eq!(statuses(&world, [&first, &second, &third]), expected, "{run:?}");
    assert_eq!(landing(&run, &second)["error"]["code"], "land_conflict");
    assert_eq!(runs(&world), 1);
    // It came back, and is told once.
    let told = |task: &str| landing(&run, task)["told"].as_array().unwrap().len();
    assert_eq!((told(&first), told(&third)), (0, 0), "{run:?}");
    assert_eq!(world.value("SELECT count(*) FROM messages WHERE to_lane = 'second'"), "1");
}

#[test]
fn dependent_task_lands_in_one_batch_with_what_it_depends_on_and_waits_where_that_does_not_land() {
    for check in ["true", "test ! -f base.txt"] {
        let world = checked("retries = 0", check);
        let [base, top] = tasks(&world, ["base", "top"]);
        world.run(["task", "edit", &top, "--priority", "0"]).exits(0);
        world.run(["task", "dep", "add", &top, &base]).exits(0);
        let run = world.run(["land", "--all", "--json"]);
        let expected = if check == "true" { ["done", "done"] } else { ["in_progress", "review"] };
        assert_eq!(statuses(&world, [&base, &top]), expected.map(str::to_owned), "{run:?}");
        if check == "true" {
            assert_eq!(runs(&world), 1);
        } else {
            assert_eq!(landing(&run, &top)["error"]["code"], "gate_blocked", "{run:?}");
        }
    }
}

#[test]
fn tasks_of_one_lane_land_once_each_in_one_batch() {
    let world = checked("", "true");
    let first = submitted(&world, "ui", &[("a.txt", "a\n")]);
    let second = world.json(["task", "add", "More", "--lane", "ui"])["id"].as_str().unwrap().to_owned();
    world.run(["claim", &second]).exits(0);
    let tip = commit(&world, "ui", &[("b.txt", "b\n")]);
    world.run(["task", "submit", &second, "--commit", &tip]).exits(0);
    let run = world.run(["land", "--all", "--json"]).exits(0);
    assert_eq!((runs(&world), subjects(&world).len()), (1, 2), "{run:?}");
    assert_eq!(world.run(["events", "--kind", "task.landed", "--json"]).exits(0).stdout.lines().count(), 2);
    let commits = [&first, &second].map(|task| world.json(["task", "show", task])["landed_commit"].clone());
    assert_eq!(commits, [&first, &second].map(|task| landing(&run, task)["candidate"].clone()));
    assert!(!lane_dir(&world, "ui").exists());
}

#[test]
fn base_that_moves_or_a_task_that_changes_hands_meanwhile_restacks_the_others() {
    let world = project(NO_GATES);
    let (root, mark) = (world.root(), world.dir().join("mark"));
    let moves = format!("git -C '{}' commit --quiet --allow-empty --message=theirs", root.display());
    let file = root.join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    let check = format!(
        "echo run >>'{}'; test -f '{1}' || {{ touch '{1}'; {moves}; }}",
        world.dir().join("log").display(),
        mark.display()
    );
    fs::write(&file, format!("{text}[land]\nchecks = [{check:?}]\n")).unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=check"]);
    world.run(["trust"]).exits(0);
    let [a, b] = tasks(&world, ["a", "b"]);
    let run = world.run(["land", "--all", "--json"]).exits(0);
    assert_eq!((runs(&world), statuses(&world, [&a, &b])), (2, ["done", "done"].map(str::to_owned)), "{run:?}");
    assert_eq!(subjects(&world), ["theirs".to_owned(), format!("{a}: Work on a"), format!("{b}: Work on b")]);
    assert_eq!(main_commit(&world), landing(&run, &b)["candidate"].as_str().unwrap());

    // The check lets a person take the middle one back.
    let [third, fourth, fifth] = tasks(&world, ["c", "d", "e"]);
    let program = world.fairway(["version"]).get_program().to_string_lossy().into_owned();
    let text = fs::read_to_string(&file).unwrap();
    let resume = format!(
        "'{program}' task resume {fourth} --quiet >/dev/null 2>&1 || true; '{program}' release {fourth} --quiet || true"
    );
    let text = text.replace(&moves, &format!("(cd '{}' && {{ {resume}; }})", root.display()));
    fs::write(&file, text).unwrap();
    world.git(&root, &["commit", "--quiet", "--all", "--message=resume"]);
    world.run(["trust"]).exits(0);
    fs::remove_file(mark).unwrap();
    let run = world.run(["land", "--all", "--json"]);
    assert_eq!(statuses(&world, [&third, &fourth, &fifth]), ["done", "todo", "done"].map(str::to_owned), "{run:?}");
    // The tree of the two that are left was checked, and not that of the three.
    assert_eq!(runs(&world), 2);
    assert!(!root.join("d.txt").exists());
}

#[test]
fn check_of_a_task_runs_for_its_batch_and_blames_the_one_that_breaks_it() {
    let world = checked("retries = 0", "true");
    let [a, b] = tasks(&world, ["a", "b"]);
    world.run(["task", "edit", &a, "--check", "alone=test ! -f b.txt"]).exits(0);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    assert_eq!(statuses(&world, [&a, &b]), ["done", "in_progress"].map(str::to_owned), "{run:?}");
    let error = landing(&run, &b)["error"].clone();
    assert_eq!(error["details"]["check"], format!("alone of {a}"), "{error}");
    let all = evidence(&world, &b);
    let failed = all.as_array().unwrap().iter().find(|one| one["result"] == "fail").unwrap();
    assert_eq!((&failed["kind"], &failed["check"]), (&json!("landing"), &Value::Null), "{all:#}");
}

#[test]
fn red_base_stops_a_batch_and_names_those_that_were_not_tried() {
    let world = checked("retries = 0", "false");
    let [a, b, c] = tasks(&world, ["a", "b", "c"]);
    let before = main_commit(&world);
    let run = world.run(["land", "--queue"]).exits(5);
    assert!(run.stdout.contains(&format!("{a} is not sent back, and nothing more lands")), "{run:?}");
    assert!(run.stderr.contains(&format!("not tried: {b}, {c}")), "{run:?}");
    assert_eq!((runs(&world), main_commit(&world)), (2, before));
    assert_eq!(statuses(&world, [&a, &b, &c]), ["review"; 3].map(str::to_owned));
    assert_eq!(world.value("SELECT count(*) FROM messages"), "0");
    let open: i64 = Connection::open(world.store())
        .unwrap()
        .query_row("SELECT count(*) FROM landings WHERE ended_at IS NULL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(open, 0);
}

/// Each process costs milliseconds, and a look at a lane walks its worktree.
#[test]
fn other_lanes_are_looked_at_once_a_pass() {
    let mut asked = Vec::new();
    for names in [&["a", "b"][..], &["a", "b", "c", "d", "e", "f"]] {
        let mut world = checked("batch = 1", "true");
        for name in names {
            submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]);
        }
        for lane in ["other", "more"] {
            world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
            fs::write(lane_dir(&world, lane).join("shared.txt"), format!("1\n{lane}\n3\n4\n5\n")).unwrap();
        }
        let far = submitted(&world, "far", &[("shared.txt", "1\nFAR\n3\n4\n5\n")]);
        let calls = count_git(&mut world);
        let run = world.run(["land", "--all", "--json"]).exits(0);
        let told = landing(&run, &far)["told"].clone();
        let lanes: Vec<&str> = told.as_array().unwrap().iter().map(|one| one["lane"].as_str().unwrap()).collect();
        assert_eq!(lanes, ["more", "other"], "{run:?}");
        assert_eq!(world.value("SELECT count(*) FROM messages"), "2");
        let log = fs::read_to_string(calls).unwrap();
        let count = |words: &str| log.lines().filter(|line| line.contains(words)).count();
        // The order, the first and the last commit, and those between.
        assert_eq!(count("merge-tree --stdin"), 3, "{log}");
        let is_snapshot = |line: &&str| line.contains("write-tree") && !line.contains("merge-tree");
        asked.push(log.lines().filter(is_snapshot).count());
    }
    assert_eq!(asked[0], asked[1], "a snapshot of each lane");
}

#[test]
fn paused_landing_is_shown_and_ends_a_queue_after_its_step() {
    let mut world = checked("batch = 1", "test ! -f \"$PAUSE\" || exec sh \"$PAUSE\"");
    let [a, b, c] = tasks(&world, ["a", "b", "c"]);
    world.run(["land", "pause", "release freeze"]).exits(0);
    let paused = world.json(["land", "pause", "release freeze"]);
    assert_eq!((&paused["paused"]["reason"], paused["paused"]["by"].is_string()), (&json!("release freeze"), true));
    for words in [&["land", "--all", "--json"][..], &["land", &a, "--json"]] {
        let error = world.run(words).refuses(5, "land_paused").error();
        assert!(error["message"].as_str().unwrap().ends_with(": release freeze"), "{error}");
        assert_eq!(
            (&error["hint"], &error["details"]["reason"]),
            (&json!("resume it: fairway land resume"), &json!("release freeze"))
        );
    }
    assert_eq!(world.json(["land", "--all", "--dry-run"])["landings"].as_array().unwrap().len(), 3);
    let needs = world.json(["status"])["needs_you"].clone();
    let need = needs.as_array().unwrap().iter().find(|need| need["id"] == "landing:pause").unwrap();
    assert!(need["line"].as_str().unwrap().ends_with(": release freeze"), "{need}");
    assert_eq!(need["commands"][0]["command"], "fairway land resume");
    let shown = world.json(["land", "show"]);
    assert_eq!((&shown["paused"]["reason"], &shown["now"]), (&json!("release freeze"), &json!([])));
    let order: Vec<&Value> = shown["order"].as_array().unwrap().iter().map(|one| &one["tasks"][0]).collect();
    assert_eq!(order, [&json!(a), &json!(b), &json!(c)]);

    // A session does neither.
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    // A session does neither.
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    for verb in ["pause", "resume"] {
        let mut inside = world.fairway(["land", verb, "--json"]);
        let run: CommandOutput = inside.env("FAIRWAY_SESSION_ID", "s1").output().unwrap().into();
        run.refuses(5, "inside_session");
    }

    // The check of the first one pauses: it lands, and nothing more begins.
    assert!(world.run(["land", "resume"]).exits(0).stdout.contains("resumed landing"));
    assert!(world.run(["land", "resume"]).exits(0).stdout.contains("unchanged: landing is not paused"));
    let program = world.fairway(["version"]).get_program().to_string_lossy().into_owned();
    let script = world.dir().join("pause.sh");
    let text = format!(
        "cd '{}' && '{program}' land show >'{}' && '{program}' land pause 'by the check'\n",
        world.root().display(),
        world.dir().join("shown").display()
    );
    fs::write(&script, text).unwrap();
    world.set("PAUSE", script.display().to_string());
    let run = world.run(["land", "--queue"]).exits(5);
    assert!(run.stdout.contains(&format!("landed {a} ")) && run.stdout.contains("landing is paused by "), "{run:?}");
    assert!(run.stderr.contains(&format!("not tried: {c}")), "{run:?}");
    assert_eq!(statuses(&world, [&a, &b, &c]), ["done", "review", "review"].map(str::to_owned));
    let shown = fs::read_to_string(world.dir().join("shown")).unwrap();
    assert!(shown.contains(&format!("checking {a} (lane a) for main since ")), "{shown}");
    assert!(!shown.contains("expected end"), "{shown}");
    let kinds = ["landing.paused", "landing.resumed"]
        .map(|kind| world.run(["events", "--kind", kind, "--json"]).exits(0).stdout.lines().count());
    assert_eq!(kinds, [3, 1]);

    // A second one knows how long the first took.
    world.run(["land", "resume"]).exits(0);
    world.run(["land", &b]).exits(0);
    let shown = fs::read_to_string(world.dir().join("shown")).unwrap();
    assert!(
        shown.contains(&format!("checking {b} (lane b) for main since ")) && shown.contains(", expected end "),
        "{shown}"
    );

    // A file that says nothing pauses too.
    fs::write(world.root().join(".fairway/land/pause.json"), "").unwrap();
    world.run(["land", &c, "--json"]).refuses(5, "land_paused");
    let lines = world.transcript(&["fairway land pause", "fairway land resume", "fairway land show"]);
    assert!(lines.contains("paused landing\n") && lines.contains(&format!("order: {c} (lane c)\n")), "{lines}");
}

#[test]
fn lanes_with_the_names_of_the_commands_land_all_the_same() {
    let world = checked("", "true");
    for name in ["pause", "show"] {
        world.run(["lane", "add", name, "--create-worktree"]).exits(0);
        commit(&world, name, &[(&format!("{name}.txt"), "x\n")]);
    }
    world.run(["land", "lane:pause"]).exits(0);
    assert!(world.root().join("pause.txt").exists());
    assert_eq!(world.json(["land", "show"])["paused"], Value::Null);
    assert!(!world.root().join("show.txt").exists());
}

#[test]
fn flaky_checks_are_counted_once_a_run() {
    let world = checked("", "test -f \"$HOME/mark\" || { touch \"$HOME/mark\"; exit 3; }");
    let _ = tasks(&world, ["a", "b"]);
    world.run(["land", "--all"]).exits(0);
    let shown = world.json(["land", "show"]);
    assert_eq!((&shown["flaky"][0]["count"], shown["flaky"].as_array().unwrap().len()), (&json!(1), 1), "{shown:#}");
    assert!(world.run(["land", "show"]).exits(0).stdout.starts_with("nothing waits to land\nflaky 1 times: sh "));
}

#[test]
fn ignored_files_of_one_check_stay_for_the_next_unless_it_removes_them() {
    for (prepare, state) in [("true", "landed"), ("git clean -qfdX", "sent_back")] {
        // Its cache hides that the second one breaks it.
        let world = project(&format!(
            "{NO_GATES}[land]\nprepare = ['{prepare}']\nbatch = 1\nchecks = [\"test -f cache || test ! -f bad.txt && touch cache\"]\n"
        ));
        fs::write(world.root().join(".gitignore"), "cache\n").unwrap();
        world.git(&world.root(), &["add", "--all"]);
        world.git(&world.root(), &["commit", "--quiet", "--message=ignore"]);
        world.run(["trust"]).exits(0);
        let [_, bad] = tasks(&world, ["good", "bad"]);
        let run = world.run(["land", "--all", "--json"]);
        assert_eq!(landing(&run, &bad)["state"], state, "{run:?}");
    }
}

/// A project with this check, which finds the log of its runs at `$LOG`.
fn logged(land: &str, check: &str) -> TestProject {
    let mut world = checked(land, check);
    let log = world.dir().join("log");
    world.set("LOG", log);
    world
}

#[test]
fn trees_are_checked_at_once_and_the_highest_that_passes_lands() {
    // No check ends before the other one has begun.
    let world = logged("batch = 1\nwidth = 2", "until [ $(wc -l <\"$LOG\") -ge 2 ]; do sleep 0.02; done");
    let [a, b] = tasks(&world, ["a", "b"]);
    let run = world.run(["land", "--all", "--json"]).exits(0);
    assert_eq!((runs(&world), statuses(&world, [&a, &b])), (2, ["done", "done"].map(str::to_owned)));
    assert_eq!(landing(&run, &a)["batch"], json!([a, b]));
    // What was checked with the higher one has evidence for both.
    let summary = &evidence(&world, &a)[0]["summary"];
    assert_eq!(*summary, json!(format!("on the merged tree of main, checked as part of {a}, {b}: exit 0")));
    let land = world.root().join(".fairway/land");
    assert!(land.join("worktree").exists() && land.join("worktree-2").exists() && !land.join("worktree-3").exists());
}

#[test]
fn one_that_breaks_among_trees_checked_at_once_is_sent_back_alone_and_those_above_it_are_not_waited_for() {
    let check = "if [ -f bad.txt ] && [ -f c.txt ]; then exec sleep 600; fi; test ! -f bad.txt";
    let world = logged("batch = 1\nwidth = 4\nretries = 0", check);
    let [a, bad, c, d] = tasks(&world, ["a", "bad", "c", "d"]);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    let expected = ["done", "in_progress", "done", "done"].map(str::to_owned);
    assert_eq!(statuses(&world, [&a, &bad, &c, &d]), expected, "{run:?}");
    assert_eq!((&landing(&run, &bad)["state"], &landing(&run, &d)["batch"]), (&json!("sent_back"), &json!([c, d])));
    assert!(!run.stderr.contains("fail together"), "{run:?}");
    // Four trees, the base, the two that are left, and the bad one alone. A tree above the bad one may not have begun.
    assert!((6..=8).contains(&runs(&world)), "{run:?}");
}

#[test]
fn checks_at_once_end_with_the_landing_that_is_interrupted_or_killed() {
    let world = logged("batch = 1\nwidth = 2", "exec sleep 600");
    let [a, b] = tasks(&world, ["a", "b"]);
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut command = world.fairway(["land", "--all"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let has_begun = || {
            let log = fs::read_to_string(world.dir().join("log")).unwrap_or_default();
            (log.lines().count() == 2).then_some(())
        };
        wait_for(has_begun, "two checks run");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let run = CommandOutput::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, if signal == Signal::SIGTERM { Some(7) } else { None }, "{run:?}");
        assert!(signal == Signal::SIGKILL || run.stdout.contains("interrupted by SIGTERM"), "{run:?}");
        let text = world.dir().display().to_string();
        let none_left = || process_tree::with_command_line_text(&text).unwrap().is_empty().then_some(());
        wait_for(none_left, "no process is left");
        runs(&world);
    }
    // A worker alone is killed, as by a system without memory.
    let mut command = world.fairway(["land", "--all", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = || (fs::read_to_string(world.dir().join("log")).ok()?.lines().count() == 2).then_some(());
    wait_for(begun, "two checks run");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    let worker: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    kill(Pid::from_raw(worker), Signal::SIGKILL).unwrap();
    let run = CommandOutput::from(child.wait_with_output().unwrap()).exits(7);
    let error = &run.json()["landings"][0]["error"];
    assert_eq!(error["code"], "program_failed", "{run:?}");
    assert!(error["message"].as_str().unwrap().starts_with("the process that runs the checks ended early"), "{error}");
    assert!(error["hint"].as_str().unwrap().starts_with("land again: fairway land --queue\n"), "{error}");
    assert_eq!(statuses(&world, [&a, &b]), ["review", "review"]);
}

#[track_caller]
pub(super) fn wait_for(ask: impl FnMut() -> Option<()>, what: &str) {
    let found = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(10), ask);
    found.unwrap_or_else(|| panic!("never: {what}"));
}
