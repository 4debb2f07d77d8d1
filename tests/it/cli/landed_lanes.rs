//! After a landing: the lane of a start goes with its idle agent, and what works or could be lost stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use fairway_core::os::lock::SharedLock;
use serde_json::{Value, json};

use super::land::{NO_GATES, commit, lane_dir, project, submitted};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;
use crate::sessions::eventually;

/// Starts an agent on a task, in the lane that the start makes. Returns its id.
fn start(world: &TestProject, task: &str, lane: &[&str]) -> String {
    world.run([&["task", "add", task, &format!("Work on {task}")], lane].concat()).exits(0);
    let agent = ["--backend", "shell", "--", "sh", "-c", "sleep 600"];
    world.run([&["start", task], &agent[..]].concat()).exits(0);
    world.json(["task", "show", task])["claimant"]["session_id"].as_str().unwrap().to_owned()
}

/// Commits and submits the work of a task, after which its agent is idle.
fn finish(world: &TestProject, task: &str, lane: &str, session: &str) {
    commit(world, lane, &[(&format!("{task}.txt"), "done\n")]);
    world.run(["--session", session, "task", "submit", task]).exits(0);
    world.run(["session", "heartbeat", session, "--activity", "idle"]).exits(0);
}

fn session(world: &TestProject, id: &str) -> Value {
    world.json(["session", "show", id])
}

fn land(world: &TestProject, task: &str) -> Value {
    world.json(["land", task])["landings"][0].clone()
}

fn note(landing: &Value) -> &str {
    landing["notes"].as_array().unwrap().last().unwrap().as_str().unwrap()
}

fn stop_all(world: &TestProject) {
    world.run(["session", "stop", "--all"]).exits(0);
}

#[test]
fn idle_agent_ends_with_the_lane_of_its_start_when_its_task_has_landed() {
    let world = project(NO_GATES);
    world.real_time();
    let id = start(&world, "T-1", &[]);
    finish(&world, "T-1", "T-1", &id);
    let landing = land(&world, "T-1");
    assert_eq!((&landing["ended"], &landing["removed_worktree"]), (&json!([id]), &json!(lane_dir(&world, "T-1"))));
    assert_eq!(landing["notes"], json!([]));
    // It is a stop by the landing, no death: nobody is needed.
    let shown = session(&world, &id);
    assert_eq!((&shown["status"], &shown["stopped_by"]), (&json!("ended"), &json!("landing 1")), "{shown}");
    let board = world.json(["status"]);
    assert_eq!((&board["needs_you"], &board["lanes"]), (&json!([]), &json!([])), "{board}");
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    assert_eq!(world.run(["session", "relaunch", "--dead"]).exits(0).stdout, "no sessions to relaunch\n");
}

#[test]
fn agent_that_works_or_is_needed_keeps_its_lane_and_is_named() {
    type Situation = (&'static str, fn(&TestProject, &str) -> Option<SharedLock>, &'static str);
    let situations: [Situation; 8] = [
        (
            "T-1",
            |world, id| {
                world.run(["session", "heartbeat", id, "--activity", "busy"]).exits(0);
                None
            },
            "its agent ID is busy",
        ),
        (
            "T-2",
            |world, id| {
                let asks = ["session", "heartbeat", id, "--activity", "requires_action", "--waiting-for", "which?"];
                world.run(asks).exits(0);
                None
            },
            "its agent ID waits for a person",
        ),
        (
            "T-3",
            |world, id| {
                world.run(["lane", "add", "other"]).exits(0);
                world.run(["task", "add", "U-3", "another", "--lane", "other"]).exits(0);
                world.run(["--session", id, "claim", "U-3", "--lane", "other"]).exits(0);
                world.run(["session", "heartbeat", id, "--activity", "idle"]).exits(0);
                None
            },
            "its agent ID has claimed U-3",
        ),
        (
            "T-4",
            |world, id| {
                world.run(["message", "send", "one more thing", "--to-session", id]).exits(0);
                None
            },
            "its agent ID has not read 1 message",
        ),
        (
            "T-5",
            |world, id| {
                let dir = world.root().join(".fairway/runtime/attended");
                fs::create_dir_all(&dir).unwrap();
                Some(SharedLock::acquire_waiting(&dir.join(format!("session:{id}"))).unwrap())
            },
            "its agent ID is attached to a person's terminal",
        ),
        (
            "T-6",
            |world, id| {
                world.run(["session", "heartbeat", id, "--activity", "busy"]).exits(0);
                None
            },
            "its agent ID is busy",
        ),
        (
            "T-7",
            |world, _| {
                let dir = lane_dir(world, "T-7");
                fs::write(dir.join("T-7.txt"), "later\n").unwrap();
                world.git(&dir, &["stash"]);
                None
            },
            "its branch lane/T-7 has a stash",
        ),
        (
            "T-8",
            |world, _| {
                fs::write(world.root().join(".git/info/exclude"), "vendor\n").unwrap();
                world.git(&lane_dir(world, "T-8"), &["init", "--quiet", "vendor"]);
                None
            },
            "it contains the repository vendor",
        ),
    ];
    let world = project(NO_GATES);
    world.real_time();
    for (task, arrange, why) in situations {
        let id = start(&world, task, &[]);
        finish(&world, task, task, &id);
        let presence = arrange(&world, &id);
        let landing = land(&world, task);
        let expected = format!("the worktree of the lane {task} stays: {}", why.replace("ID", &id));
        assert_eq!((landing["state"].as_str(), note(&landing)), (Some("landed"), &*expected), "{landing}");
        assert_eq!((&landing["ended"], session(&world, &id)["status"].as_str()), (&json!([]), Some("running")));
        assert!(lane_dir(&world, task).exists());
        drop(presence);
    }
    // A prune of landed lanes names the same, and takes the one whose agent has become idle.
    for id in ["T-1-shell", "T-6-shell"] {
        world.run(["session", "heartbeat", id, "--activity", "idle"]).exits(0);
    }
    fs::write(lane_dir(&world, "T-6").join("notes.txt"), "mine\n").unwrap();
    let pruned = world.json(["lane", "prune", "--landed"]);
    let lanes = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["lane"].as_str().unwrap().to_owned()).collect()
    };
    // Nobody is attached to T-5 any more.
    assert_eq!(lanes(&pruned["removed"]), ["T-1", "T-5"], "{pruned}");
    assert_eq!(lanes(&pruned["kept"]), ["T-2", "T-3", "T-4", "T-6", "T-7", "T-8"], "{pruned}");
    stop_all(&world);
}

#[test]
fn agents_stay_where_the_settings_say_so_and_in_lanes_that_a_person_made() {
    let world = project(&format!("{NO_GATES}[land]\nkeep_agents = true\n"));
    world.real_time();
    let kept = start(&world, "T-1", &[]);
    finish(&world, "T-1", "T-1", &kept);
    let stays = |lane: &str, id: &str| format!("the worktree of the lane {lane} stays: session {id} is running");
    assert_eq!(note(&land(&world, "T-1")), stays("T-1", &kept));
    let config = fs::read_to_string(world.root().join(".fairway.toml")).unwrap().replace("keep_agents = true", "");
    fs::write(world.root().join(".fairway.toml"), config).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=settings"]);

    // An agent in a lane of a person's making may get the next task.
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let by_hand = start(&world, "T-2", &["--lane", "api"]);
    finish(&world, "T-2", "api", &by_hand);
    assert_eq!(note(&land(&world, "T-2")), stays("api", &by_hand));
    // A lane without landed work is none of them.
    submitted(&world, "open", &[("open.txt", "open\n")]);
    let plan = world.run(["lane", "prune", "--landed", "--dry-run"]).exits(0).stdout;
    let expected = format!(
        "would end {kept}, whose work has landed\nwould remove the worktree of lane T-1 and its branch lane/T-1 (was"
    );
    assert!(plan.starts_with(&expected) || plan.contains(&expected), "{plan}");
    assert_eq!(session(&world, &kept)["status"], "running");
    let pruned = world.run(["lane", "prune", "--landed"]).exits(0).stdout;
    for id in [&kept, &by_hand] {
        assert!(pruned.contains(&format!("ended {id}, whose work has landed\n")), "{pruned}");
        assert_eq!(session(&world, id)["status"], "ended");
    }
    assert!(!pruned.contains("open"), "{pruned}");
    assert!(lane_dir(&world, "open").exists() && !lane_dir(&world, "api").exists());
}

/// A git that kills the landing instead of removing a worktree.
fn killing_git(world: &mut TestProject) -> PathBuf {
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' worktree remove '*) kill -9 $PPID; exit 1;; esac\nPATH='{path}' exec git \"$@\"\n"
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    bin.join("git")
}

#[test]
fn next_landing_ends_the_lanes_of_one_that_was_killed_after_its_base_moved() {
    let mut world = project(NO_GATES);
    for lane in ["a", "b", "c"] {
        submitted(&world, lane, &[(&format!("{lane}.txt"), "work\n")]);
    }
    let git = killing_git(&mut world);
    let killed: CommandOutput = world.fairway(["land", "--all"]).output().unwrap().into();
    assert_eq!(killed.code, None, "{killed:?}");
    fs::remove_file(git).unwrap();
    // The base has everything, and the lanes are there.
    assert_eq!(
        world.json(["task", "list", "--all"]).as_array().unwrap().iter().filter(|one| one["status"] == "done").count(),
        3
    );
    assert!(["a", "b", "c"].iter().all(|lane| lane_dir(&world, lane).exists()));
    assert!(world.run(["doctor"]).stdout.contains("was interrupted before its lane ended"));
    let next = world.run(["land", "--all", "--json"]).exits(0);
    let landings = next.json()["landings"].clone();
    let removed: Vec<&Value> = landings.as_array().unwrap().iter().map(|one| &one["removed_worktree"]).collect();
    assert_eq!(
        removed,
        ["a", "b", "c"].map(|lane| json!(lane_dir(&world, lane))).iter().collect::<Vec<_>>(),
        "{landings}"
    );
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    // It is complete: the next one has nothing to do.
    assert_eq!(world.json(["land", "--all"])["landings"], json!([]));
    world.run(["doctor"]).exits(0);
}

#[test]
fn landing_at_work_is_shown_with_its_check_and_the_end_of_the_output() {
    let world = project(&format!(
        "{NO_GATES}[land]\nchecks = [\"echo first line; echo last line; while [ ! -e ../../go ]; do sleep 0.02; done\"]\n"
    ));
    world.real_time();
    world.run(["trust"]).exits(0);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    assert_eq!(world.json(["status"])["needs_you"][0]["id"], format!("review:{task}"));
    let mut command = world.fairway(["land", &task]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let board = eventually("the check has written", || {
        let board = world.json(["status"]);
        (board["landing"]["running"][0]["output"] == json!(["first line", "last line"])).then_some(board)
    });
    let landing = &board["landing"]["now"][0];
    assert_eq!(
        (&landing["tasks"], &landing["lane"], &landing["base"], &landing["state"]),
        (&json!([task]), &json!("ui"), &json!("main"), &json!("checking"))
    );
    let what = board["landing"]["running"][0]["what"].as_str().unwrap();
    assert!(what.starts_with(&format!("checking {task}: echo first line")), "{what}");
    assert!(landing["since"].as_str().is_some() && board["landing"]["running"][0]["since"].as_str().is_some());
    // Nobody is asked to land what lands.
    assert_eq!(board["needs_you"], json!([]));
    assert_eq!(world.run(["status", "--line"]).exits(0).stdout, "1▶\n");
    let text = world.run(["status"]).exits(0).stdout;
    assert!(text.contains(&format!("LANDING (1)\n▶ {task} (lane ui) in main  checking ")), "{text}");
    assert!(text.contains(": last line\n"), "{text}");
    let frame = world.fairway(["top", "--once"]).env("COLUMNS", "160").env("LINES", "40").output().unwrap();
    let frame = String::from_utf8_lossy(&frame.stdout).into_owned();
    assert!(frame.contains(&format!("Landing {task} (lane ui) in main")) && frame.contains("last line"), "{frame}");
    assert_eq!(world.json(["land", "show"])["running"], board["landing"]["running"]);
    fs::write(world.root().join(".fairway/go"), "").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let after = world.json(["status"]);
    assert_eq!(after["landing"], json!({ "now": [], "running": [] }));
}
