//! `[review] capacity`: fresh work waits while reviews are open.

#[path = "../../../benches/reviews/simulation.rs"]
mod simulation;

use std::fs;

use serde_json::json;
use simulation::{Day, run};

use crate::common::{TestProject, fixtures};

/// Tasks `T-1` to `T-4` of two roles, and three sessions.
fn limited(config: &str) -> TestProject {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), format!("[gates.done]\nrequire = []\n{config}")).unwrap();
    for (id, role) in [("T-1", "dev"), ("T-2", "dev"), ("T-3", "dev"), ("T-4", "ops")] {
        world.run(["task", "add", id, "work", "--role", role]).exits(0);
    }
    for (session, role) in [("d1", "dev"), ("d2", "dev"), ("o1", "ops"), ("rosa", "reviewer")] {
        fixtures::add_session(&world, session, role, None);
    }
    world
}

#[test]
fn fresh_work_waits_at_the_limit_and_everything_else_goes_on() {
    let world = limited("[review]\ncapacity = 1\n");
    let by = |session: &str, args: &[&str]| world.run([&["--session", session], args].concat());
    by("d1", &["claim", "T-1"]).exits(0);
    by("d2", &["claim", "T-2"]).exits(0);
    by("d1", &["review", "request", "T-1", "--reviewer", "rosa"]).exits(0);
    by("d1", &["task", "submit", "T-1"]).exits(0);
    for claim in [&["claim", "T-3", "--json"][..], &["claim", "--json"]] {
        let error = by("d1", claim).refuses(5, "review_full").error();
        assert_eq!(error["message"], "the limit of 1 open review is reached: T-1 (for rosa)");
        assert_eq!(error["hint"], "review what waits: fairway review next");
        let waiting = json!([{ "task_id": "T-1", "waits_for": ["rosa"] }]);
        assert_eq!(error["details"], json!({ "capacity": 1, "waiting": waiting }));
    }
    let ready = by("d1", &["ready"]).exits(0);
    assert!(ready.stderr.contains("no fresh work is claimed: the limit of 1 open review is reached"), "{ready:?}");
    let why = by("d1", &["ready", "--why", "--json"]).exits(0).json();
    let held: Vec<_> = why.as_array().unwrap().iter().filter(|task| task["status"] == "todo").collect();
    assert_eq!((held.len(), &held[0]["waiting_on"][0]["code"]), (1, &json!("review_full")), "{why}");
    // What is claimed goes on, also beyond the limit; so does a takeover.
    by("d2", &["task", "submit", "T-2"]).exits(0);
    by("d2", &["claim", "T-1", "--steal", "--reason", "d1 is on leave"]).exits(0);
    by("d2", &["task", "submit", "T-1"]).exits(0);
    // Sent back, given up and claimed again: rework.
    by("rosa", &["review", "record", "T-2", "--verdict", "changes"]).exits(0);
    by("d2", &["release", "T-2"]).exits(0);
    by("d1", &["claim", "T-2"]).exits(0);
    by("d1", &["claim", "T-3", "--json"]).refuses(5, "review_full");
    // The end of the reviews leaves room. One that was sent back goes on until its rework is done.
    by("d2", &["done", "T-1"]).exits(0);
    let error = by("d1", &["claim", "T-3", "--json"]).refuses(5, "review_full").error();
    assert_eq!(error["message"], "the limit of 1 open review is reached: T-2 (for d1)");
    by("d1", &["task", "submit", "T-2"]).exits(0);
    by("rosa", &["review", "record", "T-2", "--verdict", "approve"]).exits(0);
    by("d1", &["done", "T-2"]).exits(0);
    by("d1", &["claim", "T-3"]).exits(0);
    assert!(by("d1", &["ready"]).exits(0).stderr.is_empty());
}

/// The table in the guide is of the same simulation, which `cargo bench --bench reviews` prints.
#[test]
fn limit_bounds_the_open_reviews_and_keeps_the_reviewer_at_work() {
    for agents in [2, 5, 20] {
        let free = run(Day::of(agents, 0));
        for capacity in [1, 2, 4, 8] {
            let limited = run(Day::of(agents, capacity));
            let bound = usize::try_from(capacity).unwrap() + agents;
            assert!(limited.most_open <= bound, "{agents} agents, capacity {capacity}: {limited:?}");
            // With a small limit, few agents leave the reviewer without work.
            let share = limited.landed * 100 / free.landed;
            assert!(capacity < 4 || share >= 95, "{agents} agents, capacity {capacity}: {share} %");
        }
        assert!(free.most_open > 100, "the agents are no faster than the reviewer: {free:?}");
    }
}
