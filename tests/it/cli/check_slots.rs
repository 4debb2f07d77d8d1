//! Slots for checks: so many run at once on this host, and the others wait in turn.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::time::Duration;

use fairway_core::os::poll_until;
use serde_json::Value;

use super::land::{NO_GATES, project, status, submitted};
use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

/// Runs until it may end.
const CHECK: &str = "touch in.$$; until test -e go; do sleep 0.01; done; rm in.$$";

fn wait_for(what: &str, fact: impl Fn() -> bool) {
    let seen = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(10), || fact().then_some(()));
    seen.unwrap_or_else(|| panic!("{what} never came"));
}

/// How many checks run.
fn running(world: &TestProject) -> usize {
    let names = fs::read_dir(world.root()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with("in.")).count()
}

struct Started {
    child: Child,
    log: std::path::PathBuf,
}

impl Started {
    fn waits(&self) -> bool {
        fs::read_to_string(&self.log).unwrap().contains("waits for a slot for checks")
    }
}

fn start(world: &TestProject, args: &[&str]) -> Started {
    let count = fs::read_dir(world.dir()).unwrap().count();
    let log = world.dir().join(format!("log-{count}"));
    let mut command = world.fairway(args);
    let child = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    Started { child, log }
}

fn go(world: &TestProject, all: Vec<Started>) {
    fs::write(world.root().join("go"), "").unwrap();
    for mut one in all {
        assert!(one.child.wait().unwrap().success(), "{}", fs::read_to_string(&one.log).unwrap());
    }
    wait_for("the end of the checks", || running(world) == 0);
    fs::remove_file(world.root().join("go")).unwrap();
}

#[test]
fn so_many_checks_run_at_once_and_a_killed_one_makes_room() {
    let mut world = project(&format!("{NO_GATES}[land]\nchecks = ['true']\n[checks]\nparallel = 2\n"));
    fs::write(world.root().join(".git/info/exclude"), "in.*\ngo\n.fairway\n").unwrap();
    world.run(["trust"]).exits(0);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let late = submitted(&world, "api", &[("api.txt", "api\n")]);
    let subject = world.json(["task", "add", "Check"])["id"].as_str().unwrap().to_owned();
    let evidence = ["evidence", "run", &subject, "--", "sh", "-c", CHECK];
    let at_once = ["evidence", "run", &subject, "--now", "--", "sh", "-c", CHECK];

    // The control: past the queue all run at once.
    let past: Vec<Started> = (0..4).map(|_| start(&world, &at_once)).collect();
    wait_for("all", || running(&world) == 4);
    go(&world, past);

    let mut all: Vec<Started> = (0..2).map(|_| start(&world, &evidence)).collect();
    wait_for("the first two", || running(&world) == 2);
    all.extend((0..3).map(|_| start(&world, &evidence)));
    wait_for("the others", || all.iter().filter(|one| one.waits()).count() == 3);
    assert_eq!(running(&world), 2);
    let told = fs::read_to_string(&all.last().unwrap().log).unwrap();
    assert!(told.contains(&format!("waits for a slot for checks: {subject} runs 'sh -c ")), "{told}");

    // So does a job, and one that is killed while it waits never runs. The board has them in their lane.
    let waiting = || {
        let lanes = world.json(["status"])["lanes"].clone();
        let api = lanes.as_array().unwrap().iter().find(|one| one["name"] == "api").unwrap().clone();
        api["waiting_checks"].as_array().unwrap().clone()
    };
    all.push(start(&world, &["evidence", "run", &late, "--", "true"]));
    wait_for("it", || waiting().len() == 1);
    let lane = world.root().join(".fairway/worktrees/api");
    let spawned = |file: &str| {
        let shell = format!("echo \"slot $FAIRWAY_SLOT\" >{file}");
        let run = world.run(["exec", "spawn", "--check", "--json", "--cwd", lane.to_str().unwrap(), "--shell", &shell]);
        (run.json()["run_id"].as_str().unwrap().to_owned(), run.exits(0).stderr)
    };
    let (job, told) = spawned("../job");
    assert!(told.contains(&format!("waits for a slot for checks: {subject} runs 'sh -c ")), "{told}");
    let (given_up, _) = spawned("../never");
    wait_for("all of them", || waiting().len() == 3);
    let shown = waiting();
    assert_eq!(shown[0]["what"], format!("{late} runs 'true'"));
    let is_job = |one: &Value| one["what"].as_str().unwrap().ends_with("../job'");
    assert!(shown.iter().any(is_job), "{shown:?}");
    let text = world.run(["status"]).exits(0).stdout;
    assert_eq!(text.matches("lane api waits for a slot for checks: ").count(), 3, "{text}");
    assert_eq!(world.json(["exec", "kill", &given_up])["status"], "canceled");
    assert_eq!(waiting().len(), 2);

    // A landing waits too, and its place on the board says for what.
    all.push(start(&world, &["land", &task]));
    let shown = || world.json(["status"])["landing"]["running"][0]["what"].as_str().unwrap_or_default().to_owned();
    wait_for("the landing", || shown().starts_with(&format!("waits for a slot for checks: {subject} runs")));
    assert_eq!((running(&world), status(&world, &task)), (2, "review".to_owned()));

    // The program of a killed check lives on; its slot is free.
    let mut killed = all.remove(0);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    wait_for("the next", || running(&world) == 3);
    go(&world, all);
    world.run(["exec", "wait", &job]).exits(0);
    let read = |file: &str| fs::read_to_string(world.root().join(".fairway/worktrees").join(file));
    assert_eq!((read("job").unwrap().as_str(), read("never").is_err(), waiting().len()), ("slot 1\n", true, 0));
    assert_eq!(status(&world, &task), "done");
    let results = world.json(["evidence", "list", &subject]);
    assert_eq!(results.as_array().unwrap().iter().filter(|one| one["result"] == "pass").count(), 8, "{results}");

    // A check of a check has its slot.
    let full: Vec<Started> = (0..2).map(|_| start(&world, &evidence)).collect();
    wait_for("both", || running(&world) == 2);
    let inner = ["evidence", "run", &subject, "--now", "--", FAIRWAY, "evidence", "run", &subject, "--", "true"];
    world.run(inner).exits(0);
    world.run(["land", &late, "--now"]).exits(0);
    go(&world, full);

    // Where no slots can be, a check still runs.
    world.set("XDG_STATE_HOME", "/dev/null/none");
    let run = world.run(["evidence", "run", &subject, "--", "true"]).exits(0);
    assert!(run.stderr.contains("runs without a slot for checks: "), "{run:?}");
}
