//! `fairway start`: task, lane, claim and session in one command, or nothing of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Sessions, eventually, text};
use crate::common::concurrent_start::race;
use crate::common::test_project::CommandOutput;

/// A repository, in which sessions have no terminal.
fn world() -> Sessions {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    world
}

#[track_caller]
fn start(world: &Sessions, args: &[&str]) -> CommandOutput {
    let (flags, words) = args.split_at(args.iter().position(|word| *word == "--").unwrap_or(args.len()));
    world.run(["start", "--json"].iter().chain(flags).chain(words))
}

fn count(world: &Sessions, query: &str) -> String {
    world.rows(&format!("SELECT count(*) AS n FROM {query}"))[0]["n"].clone()
}

/// Tasks, lanes, claims, sessions and branches: what a refusal leaves alone.
fn made(world: &Sessions) -> (Vec<BTreeMap<String, String>>, Vec<String>) {
    let mut rows = world.queue();
    rows.extend(world.rows("SELECT * FROM lanes"));
    rows.extend(world.rows("SELECT * FROM agent_sessions"));
    (rows, world.branches_and_worktrees())
}

/// A program of this name in a directory that comes first in the path. It writes down how it was called and what it is told.
fn install_agent(world: &mut Sessions, name: &str) -> PathBuf {
    let bin = world.dir().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let told = world.dir().join(format!("{name}-told"));
    let text = format!(
        "#!/bin/sh\necho \"$PWD: $*\" >>'{0}'\nwhile read -r line; do echo \"$line\" >>'{0}'; done\nexec sleep 600\n",
        told.display()
    );
    world.script(&format!("bin/{name}"), &text);
    told
}

/// The path with these directories only: agents of the machine are not found.
fn only_path(world: &mut Sessions) {
    let bin = world.dir().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for name in ["git", "tmux"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(name))
            .find(|path| path.exists());
        if let Some(found) = found {
            let _ = std::os::unix::fs::symlink(found, bin.join(name));
        }
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    world.set("PATH", path);
}

#[test]
fn body_describes_the_task_that_a_start_adds() {
    let world = world();
    let body = "Totals are net.\n'Gross' is another field.";
    let plan = start(&world, &["Fix the tax", "--body", body, "--dry-run", "--", "sleep", "600"]).exits(0).json();
    let add = format!("fairway {}", shell_words::join(["task", "add", "Fix the tax", "--body", body]));
    assert_eq!(plan["commands"][0], add, "{plan}");
    assert_eq!(world.json(["task", "list"]), json!([]));
    let words = ["start", "Fix the tax", "--body", "-", "--json", "--", "sleep", "600"];
    world.run_with_stdin(words, body.as_bytes()).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["body"], body);
    world.run(["session", "stop", "T-1-shell", "--timeout", "1s"]);
    // A file, and what a repeat of an interrupted start means.
    fs::write(world.dir().join("body"), "from a file").unwrap();
    let file = world.dir().join("body").display().to_string();
    world.run(["task", "add", "Mend the cart", "--body", "from a file"]).exits(0);
    start(&world, &["Mend the cart", "--body-file", &file, "--", "sleep", "600"]).exits(0);
    let before = made(&world);
    // A task that exists keeps its description.
    for task in ["T-2", "Mend the cart"] {
        let refused = start(&world, &[task, "--body", "other", "--", "sleep", "600"]).refuses(2, "usage").error();
        assert_eq!(refused["hint"], "describe it: fairway task edit T-2 --body TEXT", "{refused}");
    }
    let several = start(&world, &["One task", "Two tasks", "--body", "x", "--", "true"]).refuses(2, "usage").error();
    assert_eq!(several["message"], "--body is for one task; several are given");
    assert_eq!(made(&world), before);
}

#[test]
fn start_of_a_title_adds_task_and_lane_and_claims_for_the_session() {
    let world = world();
    let run = start(&world, &["Fix the tax", "--", "sleep", "600"]).exits(0);
    let started = run.json();
    let worktree = world.root().join(".fairway/worktrees/T-1").display().to_string();
    for (key, value) in [
        ("id", json!("T-1-shell")),
        ("task_id", json!("T-1")),
        ("title", json!("Fix the tax")),
        ("lane", json!("T-1")),
        ("role", json!("agent")),
        ("branch", json!("lane/T-1")),
        ("worktree", json!(worktree)),
        ("status", json!("running")),
        ("added_task", json!(true)),
        ("added_lane", json!(true)),
        ("claimed", json!(true)),
        ("relaunch_of", Value::Null),
    ] {
        assert_eq!(started[key], value, "{key}: {started}");
    }
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["status"], &task["lane"]), (&json!("in_progress"), &json!("T-1")));
    assert_eq!(task["claim"]["session_id"], "T-1-shell", "{task}");
    // The person acts; the session is the claimant.
    let claimed = world.rows("SELECT actor, session_id, data FROM events WHERE kind = 'task.claimed'").remove(0);
    assert!(claimed["actor"].contains('@') && claimed["session_id"] == "T-1-shell", "{claimed:?}");
    assert!(claimed["data"].contains("\"claimant\":\"T-1-shell\""), "{claimed:?}");
    // The agent works on with its own claim.
    world
        .run(["checkpoint", "record", "T-1", "--state", "active", "--summary", "s", "--session", "T-1-shell"])
        .exits(0);
    // The text for a person is short and names the next step.
    world.run(["session", "stop", "T-1-shell"]).exits(0);
    let shown = world.run(["start", "Another one", "--", "sleep", "600"]).exits(0);
    let expected = format!(
        "started T-2-shell on T-2: Another one\n  lane: T-2 (new)\n  worktree: {}\n  attach: fairway session attach \
         T-2-shell\n  peek: fairway session peek T-2-shell\n  status: fairway status\n",
        worktree.replace("T-1", "T-2")
    );
    assert_eq!((shown.stdout, shown.stderr.as_str()), (expected, "added T-2: Another one\n"));
}

#[test]
fn dry_run_prints_commands_that_do_the_same_and_writes_nothing() {
    let (one, two) = (world(), world());
    let args =
        ["Fix the tax", "--prompt", "it's a 'test'", "--env", "A=b c", "--", "sh", "-c", "sleep 600; echo \"x\""];
    let dry: Vec<&str> = ["start", "--dry-run"].into_iter().chain(args).collect();
    let before = made(&one);
    let commands = one.run(&dry).exits(0).stdout;
    assert_eq!(made(&one), before);
    let names: Vec<&str> = commands.lines().map(|line| line.rsplit_once(" --").map_or(line, |_| line)).collect();
    assert_eq!(names.len(), 4, "{commands}");
    for (line, command) in names.iter().zip(["task add", "lane add", "session launch", "claim"]) {
        assert!(line.starts_with(&format!("fairway {command} ")), "{commands}");
    }
    start(&one, &args).exits(0);
    // A shell reads the lines as a person would type them.
    let script = commands.replace("fairway ", &format!("{} ", crate::common::test_project::FAIRWAY));
    let run: CommandOutput = two.command("/bin/sh").args(["-ec", &script]).output().unwrap().into();
    run.exits(0);
    let same = |world: &Sessions| {
        let mut rows = world.rows("SELECT id, title, status, lane, epoch, claimant FROM tasks");
        rows.extend(world.rows("SELECT name, branch, base, made_worktree FROM lanes"));
        rows.extend(
            world.rows("SELECT id, role, lane, task_id, provider, backend, branch, status FROM agent_sessions"),
        );
        rows.extend(world.rows("SELECT task_id, epoch, claimant, session_id, lane, assigned_lane FROM claims"));
        rows
    };
    assert_eq!(same(&one), same(&two));
    let plan = start(&one, &["More work", "--dry-run", "--no-claim", "--", "true"]).exits(0).json();
    assert_eq!(
        (&plan["dry_run"], &plan["task_id"], &plan["session_id"]),
        (&json!(true), &json!("T-2"), &json!("T-2-shell"))
    );
    assert_eq!(plan["commands"].as_array().unwrap().len(), 3, "{plan}");
}

#[test]
fn failed_launch_leaves_no_claim_and_no_lane() {
    let world = world();
    let run = world.run(["start", "Fix the tax", "--", "sh", "-c", "echo broken; exit 3"]).exits(7);
    assert!(run.stderr.contains("exit code 3") && run.stderr.contains("removed the lane T-1 again"), "{}", run.stderr);
    assert!(run.stderr.contains("fairway start T-1"), "{}", run.stderr);
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["status"], &task["claim"], &task["lane"]), (&json!("todo"), &Value::Null, &Value::Null));
    assert_eq!(world.session("T-1-shell")["status"], "failed");
    assert_eq!(world.json(["lane", "list"]), json!([]));
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    // The same line again starts the task that is there.
    let started = start(&world, &["Fix the tax", "--", "sleep", "600"]).exits(0).json();
    assert_eq!((&started["task_id"], &started["added_task"]), (&json!("T-1"), &json!(false)));
    assert_eq!(count(&world, "tasks"), "1");
}

#[test]
fn failed_launch_keeps_a_lane_with_work_and_one_that_was_there() {
    let world = world();
    let run = world.run(["start", "Fix the tax", "--", "sh", "-c", "echo new >work.txt; sleep 1; exit 3"]);
    // The program may live longer than the launch waits; then the start has succeeded, and the work is its own.
    if run.code == Some(7) {
        assert!(run.stderr.contains("the lane T-1 stays"), "{}", run.stderr);
    }
    assert!(world.root().join(".fairway/worktrees/T-1/work.txt").exists());
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-2", "two"]).exits(0);
    start(&world, &["T-2", "--lane", "api", "--", "sh", "-c", "exit 3"]).refuses(7, "program_failed");
    assert_eq!(world.rows("SELECT status FROM lanes")[0]["status"], "open");
    assert_eq!(world.json(["task", "show", "T-2"])["status"], "todo");
}

#[test]
fn start_is_refused_before_any_effect_when_the_claim_would_be() {
    let mut world = world();
    world.run(["task", "add", "T-1", "one", "--role", "backend"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--depends-on", "T-1"]).exits(0);
    world.run(["task", "add", "T-3", "three"]).exits(0);
    world.run(["lane", "add", "api", "--wip", "1"]).exits(0);
    world.run(["task", "add", "T-4", "four", "--lane", "api"]).exits(0);
    world.run(["task", "add", "T-5", "five", "--lane", "api"]).exits(0);
    world.run(["claim", "T-3"]).exits(0);
    world.run(["claim", "T-4"]).exits(0);
    world.run(["task", "add", "T-6", "six"]).exits(0);
    world.run(["task", "cancel", "T-6", "--reason", "rain"]).exits(0);
    let before = made(&world);
    for (args, exit, code) in [
        (&["T-2", "--", "true"][..], 5, "deps_open"),
        (&["T-1", "--role", "frontend", "--", "true"], 5, "role_mismatch"),
        (&["T-3", "--", "true"], 4, "already_claimed"),
        (&["T-5", "--", "true"], 5, "lane_full"),
        (&["T-6", "--", "true"], 4, "wrong_state"),
        (&["T-99", "--", "true"], 3, "not_found"),
        (&["word", "--", "true"], 3, "not_found"),
        (&["A new one", "--lane", "nowhere", "--", "true"], 3, "not_found"),
        (&["A new one", "--", "no-such-program"], 3, "not_found"),
        (&["A new one", "--backend", "nothing", "--", "true"], 3, "not_found"),
    ] {
        start(&world, args).refuses(exit, code);
        assert_eq!(made(&world), before, "{args:?}");
    }
    world.configure("[project]\nname = \"x\"\n[providers.p]\ncommand = \"true\"\n");
    start(&world, &["A new one", "--", "true"]).refuses(9, "untrusted");
    assert_eq!(made(&world), before);
    world.configure("[project]\nbase_branch = \"gone\"\n");
    start(&world, &["A new one", "--", "true"]).refuses(3, "not_found");
    assert_eq!(made(&world), before);
    world.set("FAIRWAY_SESSION_ID", "T-9");
    start(&world, &["A new one", "--", "true"]).refuses(5, "inside_session");
    assert_eq!(made(&world), before);
}

#[test]
fn session_may_start_sessions_only_in_a_named_role() {
    let world = world();
    world.configure("[project]\nbase_branch = \"main\"\n[roles.lead]\nmay = [\"start\"]\n");
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "lead", "--name", "boss", "--", "sleep", "600"]);
    world.launch(&["--role", "agent", "--name", "worker", "--", "sleep", "600"]);
    let inside = |session: &str| {
        let run = world.session(session)["run_id"].clone();
        let mut command = world.fairway(["start", "Fix the tax", "--json", "--", "sleep", "600"]);
        command.env("FAIRWAY_SESSION_ID", session).env("FAIRWAY_RUN_ID", run);
        // A role in the environment is no proof.
        CommandOutput::from(command.env("FAIRWAY_ROLE", "lead").output().unwrap())
    };
    inside("worker").refuses(5, "inside_session");
    assert_eq!(count(&world, "tasks"), "0");
    let started = inside("boss").exits(0).json();
    assert_eq!((&started["id"], &started["role"]), (&json!("T-1-shell"), &json!("agent")));
    let claimed = world.rows("SELECT actor FROM events WHERE kind = 'task.claimed'").remove(0);
    assert_eq!(claimed["actor"], "boss");
}

#[test]
fn several_tasks_start_several_sessions_each_by_itself() {
    let world = world();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let all = start(&world, &["T-1", "T-77", "A new one", "--", "sleep", "600"]).exits(3).json();
    assert_eq!((&all[0]["id"], &all[0]["task_id"]), (&json!("T-1-shell"), &json!("T-1")));
    assert_eq!((&all[1]["id"], &all[1]["error"]["code"]), (&json!("T-77"), &json!("not_found")));
    assert_eq!((&all[2]["id"], &all[2]["lane"]), (&json!("T-2-shell"), &json!("T-2")));
    assert_eq!(count(&world, "claims WHERE ended_at IS NULL"), "2");
    start(&world, &["T-1", "T-2", "--attach", "--", "true"]).refuses(2, "usage");
}

#[test]
fn start_without_a_claim_leaves_it_to_the_agent() {
    let world = world();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let started = start(&world, &["T-1", "--no-claim", "--", "sleep", "600"]).exits(0).json();
    assert_eq!((&started["claimed"], &started["lane"]), (&json!(false), &json!("T-1")));
    assert_eq!(count(&world, "claims"), "0");
    world.run(["claim", "--session", "T-1-shell"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], "T-1-shell");
}

#[test]
fn request_id_of_a_start_has_one_effect_and_the_first_answer() {
    let world = world();
    let again = || start(&world, &["Fix the tax", "--request-id", "R", "--", "sleep", "600"]).exits(0);
    let first = again();
    assert_eq!(first.stdout, again().stdout);
    assert_eq!((count(&world, "agent_sessions"), count(&world, "tasks")), ("1".into(), "1".into()));
    start(&world, &["Another one", "--request-id", "R", "--", "sleep", "600"]).refuses(2, "request_reused");
}

#[test]
fn title_of_several_open_tasks_is_ambiguous() {
    let world = world();
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", id, "Fix the tax"]).exits(0);
    }
    let error = start(&world, &["Fix the tax", "--", "true"]).refuses(3, "ambiguous").error();
    assert!(text(&error["message"]).contains("T-1, T-2"), "{error}");
    world.run(["task", "cancel", "T-1", "--reason", "twice"]).exits(0);
    let started = start(&world, &["Fix the tax", "--", "sleep", "600"]).exits(0).json();
    assert_eq!(started["task_id"], "T-2");
}

#[test]
fn only_installed_agent_is_started_in_tmux_and_told_to_begin() {
    let mut world = Sessions::with_git();
    only_path(&mut world);
    let none = start(&world, &["Fix the tax"]).refuses(3, "not_found").error();
    assert!(text(&none["message"]).contains("claude, codex, gemini"), "{none}");
    let told = install_agent(&mut world, "claude");
    let started = start(&world, &["Fix the tax", "--prompt", "mind the rounding"]).exits(0).json();
    assert_eq!((&started["provider"], &started["id"]), (&json!("claude"), &json!("T-1-claude")));
    if world.dir().join("bin/tmux").exists() {
        assert_eq!(started["backend"], "tmux", "{started}");
    }
    let told = eventually("the prompt", || {
        let told = fs::read_to_string(&told).ok()?;
        told.contains("fairway prime").then_some(told)
    });
    assert!(told.contains(".fairway/worktrees/T-1:"), "{told}");
    install_agent(&mut world, "codex");
    let several = start(&world, &["Another one"]).refuses(2, "usage").error();
    assert!(text(&several["message"]).contains("claude, codex"), "{several}");
    assert_eq!(count(&world, "tasks"), "1");
    // The role's provider decides.
    world.configure(
        "[project]\nbase_branch = \"main\"\n[roles.agent]\nprovider = \"codex\"\n[sessions]\ndefault_backend = \"shell\"\n",
    );
    world.run(["trust"]).exits(0);
    let started = start(&world, &["Another one"]).exits(0).json();
    assert_eq!((&started["provider"], &started["backend"]), (&json!("codex"), &json!("shell")));
    world.run(["session", "stop", "--all"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&started["socket"]), "kill-server"]).output();
}

/// A backend script that does something to the start that calls it, and then what the built-in `shell` does.
fn wrapped_shell(world: &Sessions, before: &str, after: &str) -> String {
    // The start is the script's parent.
    let shell = Path::new(env!("CARGO_MANIFEST_DIR")).join("session-adapters/shell.sh");
    let text = format!(
        "#!/bin/sh\nflag='{}'\nif [ \"$1\" = start ] && [ ! -e \"$flag\" ]; then\n  : >\"$flag\"\n  {before}\n  '{1}' \"$@\"\n  {after}\n  exit\nfi\n\
         exec '{1}' \"$@\"\n",
        world.dir().join("flag").display(),
        shell.display(),
    );
    format!("exec:{}", world.script("wrapped.sh", &text).display())
}

#[test]
fn start_that_is_killed_before_its_program_runs_is_continued_by_the_next() {
    let world = world();
    let backend = wrapped_shell(&world, "kill -9 $PPID; exit 1", "");
    let args = ["Fix the tax", "--backend", &backend, "--", "sleep", "600"];
    let killed = start(&world, &args);
    assert_eq!(killed.code, None, "{killed:?}");
    assert_eq!(world.session(&interrupted(&world))["status"], "starting");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["claimant"], interrupted(&world));
    // At once: the claim is that of a launch of which nothing is left.
    let started = eventually("the script is gone", || {
        let run = start(&world, &args);
        (run.code == Some(0)).then(|| run.json())
    });
    assert_eq!(
        (&started["task_id"], &started["lane"], &started["added_lane"]),
        (&json!("T-1"), &json!("T-1"), &json!(false))
    );
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!(task["claim"]["session_id"], started["id"]);
    assert_eq!(world.rows("SELECT ended_as FROM claims WHERE epoch = 1")[0]["ended_as"], "continued");
    assert_eq!((count(&world, "tasks"), count(&world, "lanes")), ("1".into(), "1".into()));
    assert_eq!(count(&world, "agent_sessions WHERE ended_at IS NULL"), "1");
}

/// The first session.
fn interrupted(world: &Sessions) -> String {
    world.rows("SELECT id FROM agent_sessions ORDER BY started_at").remove(0).remove("id").unwrap()
}

#[test]
fn request_that_is_killed_before_its_program_runs_is_continued_by_its_repeat() {
    let world = world();
    let backend = wrapped_shell(&world, "kill -9 $PPID; exit 1", "");
    let args = ["Fix the tax", "--request-id", "R", "--backend", &backend, "--", "sleep", "600"];
    assert_eq!(start(&world, &args).code, None);
    let first = eventually("the script is gone", || {
        let run = start(&world, &args);
        (run.code == Some(0)).then_some(run)
    });
    assert_eq!(first.stdout, start(&world, &args).exits(0).stdout);
    assert_eq!(count(&world, "agent_sessions WHERE ended_at IS NULL"), "1");
}

#[test]
fn start_that_is_killed_after_its_program_runs_keeps_its_claim() {
    let mut world = world();
    let backend = wrapped_shell(&world, "", "kill -9 $PPID");
    let args = ["Fix the tax", "--backend", &backend, "--", "sleep", "600"];
    assert_eq!(start(&world, &args).code, None);
    // The backend is asked once the launch would have given up; usually that is after a minute.
    world.set("FAIRWAY_SESSIONS_LAUNCH_TIMEOUT", "2s");
    start(&world, &args).refuses(4, "already_claimed");
    world.run(["session", "reconcile"]).exits(0);
    let id = interrupted(&world);
    eventually("it is known to run", || {
        world.run(["session", "reconcile"]).exits(0);
        (world.session(&id)["status"] == "running").then_some(())
    });
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], json!(id));
}

#[test]
fn launch_in_progress_is_no_dead_claimant() {
    let world = world();
    let backend = wrapped_shell(&world, "sleep 3", "");
    let mut first =
        world.fairway(["start", "Fix the tax", "--backend", &backend, "--", "sleep", "600"]).spawn().unwrap();
    eventually("the claim", || (count(&world, "claims") == "1").then_some(()));
    start(&world, &["T-1", "--", "sleep", "600"]).refuses(4, "already_claimed");
    let dead = world.run(["release", "--dead"]).exits(0);
    assert!(dead.stdout.contains("unchanged"), "{dead:?}");
    assert!(first.wait().unwrap().success());
    assert_eq!(count(&world, "agent_sessions"), "1");
    let locks = fs::read_dir(world.root().join(".fairway/runtime")).unwrap().flatten();
    let locks: Vec<_> = locks.filter(|file| file.file_name().to_string_lossy().starts_with("launch-")).collect();
    assert!(locks.is_empty(), "{locks:?}");
}

#[test]
fn of_several_starts_of_a_task_one_wins() {
    let world = world();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let runs = race(5, |_| world.fairway(["start", "T-1", "--json", "--", "sleep", "600"]));
    let runs: Vec<CommandOutput> = runs.into_iter().map(CommandOutput::from).collect();
    let won = runs.iter().filter(|run| run.code == Some(0)).count();
    assert_eq!(won, 1, "{runs:#?}");
    for run in runs.iter().filter(|run| run.code != Some(0)) {
        assert_eq!(run.code, Some(4), "{run:#?}");
    }
    assert_eq!(count(&world, "agent_sessions"), "1");
    assert_eq!(count(&world, "claims"), "1");
    assert_eq!(world.rows("SELECT status FROM lanes")[0]["status"], "open");
}

#[test]
fn start_continues_the_claim_of_a_dead_session_and_says_who_else_is_in_the_lane() {
    let world = world();
    start(&world, &["Fix the tax", "--", "sleep", "600"]).exits(0);
    world.run(["session", "stop", "T-1-shell"]).exits(0);
    world.launch(&["--role", "agent", "--lane", "T-1", "--name", "other", "--", "sleep", "600"]);
    let run = world.run(["start", "T-1", "--", "sleep", "600"]).exits(0);
    assert!(run.stderr.contains("the lane T-1 has another live session: other (running)"), "{}", run.stderr);
    assert!(run.stdout.starts_with("started T-1-shell-2 on T-1"), "{}", run.stdout);
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], "T-1-shell-2");
    // A failed launch leaves what it would have continued: the next start continues it.
    world.run(["session", "stop", "T-1-shell-2"]).exits(0);
    start(&world, &["T-1", "--", "sh", "-c", "exit 3"]).refuses(7, "program_failed");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["claimant"], "T-1-shell-3");
    let started = start(&world, &["T-1", "--", "sleep", "600"]).exits(0).json();
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], started["id"]);
}

#[test]
fn launch_itself_still_claims_nothing() {
    let world = world();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.launch(&["--role", "agent", "--task", "T-1", "--", "sleep", "600"]);
    assert_eq!(count(&world, "claims"), "0");
}
