//! `fairway handoff …`

use crate::common::concurrent_start::race;
use crate::common::{TestProject, fixtures};

#[test]
fn handoff_is_declined_with_a_reason() {
    let world = TestProject::new();
    for (session, role) in [("s1", "backend"), ("s2", "frontend"), ("s3", "docs")] {
        fixtures::add_session(&world, session, role, None);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway --session s1 claim T-1",
        "fairway --session s1 handoff create T-1 --to frontend --summary 'the page is next'",
        "fairway --session s2 handoff decline 1",
        "fairway --session s3 handoff decline 1 --reason 'not mine'",
        "fairway --session s2 handoff decline 1 --reason 'no page yet'",
        "fairway --session s2 handoff decline 1 --reason 'no page yet'",
        "fairway --session s2 handoff accept 1",
        "fairway handoff decline 9 --reason 'no'",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 handoff create T-1 --to frontend --summary 'the page is next'
    created handoff 1 of T-1 to role frontend
    $ fairway --session s2 handoff decline 1
    error: the following required arguments were not provided: --reason <TEXT>
    hint: write it as: fairway handoff decline --reason <TEXT> <ID>
    [exit 2]
    $ fairway --session s3 handoff decline 1 --reason 'not mine'
    error: handoff 1 is for the role frontend; you act as docs
    hint: to act as that role: fairway --session s3 handoff decline 1 --reason 'not mine' --as frontend
    [exit 5]
    $ fairway --session s2 handoff decline 1 --reason 'no page yet'
    declined handoff 1 of T-1
    $ fairway --session s2 handoff decline 1 --reason 'no page yet'
    unchanged: handoff 1 is declined already
    $ fairway --session s2 handoff accept 1
    error: handoff 1 is already declined
    [exit 4]
    $ fairway handoff decline 9 --reason 'no'
    error: there is no handoff '9'
    [exit 3]
    ");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["claimant"], "s1");
}

#[test]
fn handoff_moves_the_claim_when_it_is_accepted_with_it() {
    let world = TestProject::new();
    for (session, role) in [("s1", "backend"), ("s2", "frontend"), ("s3", "docs")] {
        fixtures::add_session(&world, session, role, None);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway --session s1 claim T-1",
        "fairway --session s1 handoff create T-1 --to frontend --summary 'the page is next' --payload 'see page.md'",
        "fairway handoff list --open",
        "fairway --session s3 handoff accept 1 --claim",
        "fairway --session s2 handoff withdraw 1",
        "fairway --session s2 handoff accept 1 --claim",
        "fairway --session s2 handoff accept 1 --claim",
        "fairway --session s3 handoff decline 1 --reason 'too late'",
        "fairway --session s1 checkpoint record T-1 --state active --summary 'still here'",
        "fairway handoff list --task T-1",
        "fairway handoff accept 7",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 handoff create T-1 --to frontend --summary 'the page is next' --payload 'see page.md'
    created handoff 1 of T-1 to role frontend
    $ fairway handoff list --open
    ID  TASK  STATUS  FROM     TO             AGE  SUMMARY
    1   T-1   open    backend  role frontend  1s   the page is next
    $ fairway --session s3 handoff accept 1 --claim
    error: handoff 1 is for the role frontend; you act as docs
    hint: to act as that role: fairway --session s3 handoff accept 1 --claim --as frontend
    [exit 5]
    $ fairway --session s2 handoff withdraw 1
    error: handoff 1 was created by s1, not by you (s2)
    hint: to stand in for its creator: fairway --session s2 handoff withdraw 1 --force --reason TEXT
    [exit 4]
    $ fairway --session s2 handoff accept 1 --claim
    accepted handoff 1 of T-1, which is now claimed by s2 under epoch 2: one
      summary: the page is next
    $ fairway --session s2 handoff accept 1 --claim
    unchanged: handoff 1 is accepted already; T-1 is claimed by s2
      summary: the page is next
    $ fairway --session s3 handoff decline 1 --reason 'too late'
    error: handoff 1 is already accepted
    [exit 4]
    $ fairway --session s1 checkpoint record T-1 --state active --summary 'still here'
    error: your claim on T-1 is stale: its epoch is 1, the task is at epoch 2 (claimed by s2)
    hint: see who has it: fairway task show T-1
    [exit 4]
    $ fairway handoff list --task T-1
    ID  TASK  STATUS    FROM     TO             AGE  SUMMARY
    1   T-1   accepted  backend  role frontend  8s   the page is next
    $ fairway handoff accept 7
    error: there is no handoff '7'
    [exit 3]
    ");
    let claim = world.json(["task", "show", "T-1"])["claim"].clone();
    assert_eq!((claim["claimant"].as_str(), claim["epoch"].as_i64()), (Some("s2"), Some(2)));
    assert_eq!(claim["role"], "frontend");
}

#[test]
fn handoff_is_declined_withdrawn_or_outdated() {
    let world = TestProject::new();
    fixtures::add_lane(&world, "ui", Some(0), None);
    for (session, role) in [("s1", "backend"), ("s2", "frontend")] {
        fixtures::add_session(&world, session, role, None);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway --session s1 claim T-1",
        "fairway --session s1 handoff create T-1 --to frontend --summary 'a'",
        "fairway --session s2 handoff decline 1 --reason 'no time'",
        "fairway --session s1 handoff create T-1 --to frontend --summary 'b'",
        "fairway --session s1 handoff withdraw 2",
        "fairway --session s1 handoff withdraw 2",
        "fairway --session s1 handoff create T-1 --to-lane ui --summary 'c'",
        "fairway --session s2 handoff accept 3 --claim",
        "fairway --session s1 handoff create T-1 --to frontend --summary 'd'",
        "fairway --session s1 release T-1",
        "fairway --session s1 claim T-1",
        "fairway --session s2 handoff accept 4 --claim",
        "fairway handoff withdraw 4 --force --reason 'superseded'",
        "fairway handoff list --open",
        "fairway task cancel T-1 --force --reason 'enough'",
        "fairway handoff create T-1 --to frontend --summary 'e'",
        "fairway handoff create T-1 --summary 'f'",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 handoff create T-1 --to frontend --summary 'a'
    created handoff 1 of T-1 to role frontend
    $ fairway --session s2 handoff decline 1 --reason 'no time'
    declined handoff 1 of T-1
    $ fairway --session s1 handoff create T-1 --to frontend --summary 'b'
    created handoff 2 of T-1 to role frontend
    $ fairway --session s1 handoff withdraw 2
    withdrew handoff 2 of T-1
    $ fairway --session s1 handoff withdraw 2
    unchanged: handoff 2 is withdrawn already
    $ fairway --session s1 handoff create T-1 --to-lane ui --summary 'c'
    created handoff 3 of T-1 to lane ui
    $ fairway --session s2 handoff accept 3 --claim
    error: the lane ui is full: 0 of 0 tasks are claimed
    hint: raise the limit: fairway lane edit ui --wip 1
    [exit 5]
    $ fairway --session s1 handoff create T-1 --to frontend --summary 'd'
    error: T-1 is offered already: handoff 3 to lane ui is open
    hint: withdraw that one first: fairway handoff withdraw 3
    [exit 4]
    $ fairway --session s1 release T-1
    released T-1: in_progress → todo
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s2 handoff accept 4 --claim
    error: there is no handoff '4'
    [exit 3]
    $ fairway handoff withdraw 4 --force --reason 'superseded'
    error: there is no handoff '4'
    [exit 3]
    $ fairway handoff list --open
    ID  TASK  STATUS  FROM     TO       AGE  SUMMARY
    3   T-1   open    backend  lane ui  7s   c
    $ fairway task cancel T-1 --force --reason 'enough'
    cancelled T-1: in_progress → cancelled
    $ fairway handoff create T-1 --to frontend --summary 'e'
    error: T-1 is cancelled and cannot be handed over
    hint: reopen it first: fairway task reopen T-1 --reason TEXT
    [exit 4]
    $ fairway handoff create T-1 --summary 'f'
    error: the following required arguments were not provided: <--to-role <ROLE>|--to-lane <LANE>>
    hint: write it as: fairway handoff create --summary <TEXT> <--to-role <ROLE>|--to-lane <LANE>> <TASK>
    [exit 2]
    ");
}

/// A handoff to oneself of what another holds would be a theft that says it is none.
#[test]
fn handoff_of_a_foreign_task_is_refused() {
    let world = TestProject::new();
    for session in ["s1", "s2", "s3"] {
        fixtures::add_session(&world, session, "backend", None);
    }
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["--session", "s2", "handoff", "create", "T-1", "--to", "backend", "--summary", "x"]).exits(0);
    world.run(["--session", "s2", "handoff", "accept", "1", "--claim", "--json"]).refuses(4, "already_claimed");
    assert_eq!(world.json(["handoff", "list", "--open"]).as_array().unwrap().len(), 1, "and it stays open");
    world.run(["--session", "s3", "handoff", "accept", "1", "--claim"]).exits(0);
}

/// Handed over and back again: the fence around one's former claim does not keep one from accepting.
#[test]
fn task_can_be_handed_back() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "frontend", None);
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["--session", "s1", "handoff", "create", "T-1", "--to", "frontend", "--summary", "x"]).exits(0);
    world.run(["--session", "s2", "handoff", "accept", "1", "--claim"]).exits(0);
    world.run(["--session", "s2", "handoff", "create", "T-1", "--to", "backend", "--summary", "y"]).exits(0);
    world
        .run(["--session", "s1", "handoff", "accept", "2", "--claim", "--epoch", "1", "--json"])
        .refuses(4, "stale_claim");
    world.run(["--session", "s1", "handoff", "accept", "2", "--claim"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["epoch"], 3);
}

#[test]
fn eight_racing_acceptors_succeed_once() {
    let world = TestProject::new();
    for number in 0..8 {
        fixtures::add_session(&world, &format!("s{number}"), "frontend", None);
    }
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    world.run(["handoff", "create", "T-1", "--to", "frontend", "--summary", "x"]).exits(0);
    let outputs =
        race(8, |number| world.fairway(["--session", &format!("s{number}"), "handoff", "accept", "1", "--claim"]));
    let codes: Vec<_> = outputs.iter().map(|output| output.status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 7, "{codes:?}");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["epoch"], 2);
}

#[test]
fn accepting_claims_unless_told_otherwise() {
    let world = TestProject::new();
    for (session, role) in [("s1", "backend"), ("s2", "writer")] {
        fixtures::add_session(&world, session, role, None);
    }
    let offer = |task: &str| {
        world.run(["--session", "s1", "handoff", "create", task, "--to", "writer", "--summary", "x"]).exits(0);
    };
    // The task is bound to another role than the one that it is handed to.
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "text", "--role", "backend"]).exits(0);
        world.run(["--session", "s1", "--as", "backend", "claim", task]).exits(0);
        offer(task);
    }
    let accepted = world.json(["--session", "s2", "handoff", "accept", "1"]);
    assert_eq!(
        (&accepted["status"], &accepted["claimant"], &accepted["epoch"]),
        (&"accepted".into(), &"s2".into(), &2.into())
    );
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["role"], "writer");

    let kept = world.run(["--session", "s2", "handoff", "accept", "2", "--no-claim"]).exits(0);
    assert_eq!(kept.stdout, "accepted handoff 2 of T-2; T-2 is claimed by s1\n  summary: x\n");
    assert_eq!(world.json(["task", "show", "T-2"])["claim"]["epoch"], 1);
    world.run(["handoff", "accept", "3", "--claim", "--no-claim", "--json"]).refuses(2, "usage");

    // A person without a role accepts in the role that the handoff is for.
    let person = world.json(["handoff", "accept", "3"]);
    assert_eq!(world.json(["task", "show", "T-3"])["claim"]["role"], "writer");
    assert_eq!(person["claimant"], world.json(["task", "show", "T-3"])["claim"]["claimant"]);

    world.run(["--session", "s1", "release", "T-2"]).exits(0);
    offer("T-2");
    let free = world.run(["--session", "s2", "handoff", "accept", "4", "--no-claim"]).exits(0);
    assert_eq!(
        free.stdout,
        "accepted handoff 4 of T-2; T-2 is not claimed; to claim it: fairway claim T-2\n  summary: x\n"
    );
}

#[test]
fn acceptor_who_cannot_claim_accepts_nothing() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "writer", None);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--depends-on", "T-1"]).exits(0);
    world.run(["handoff", "create", "T-2", "--to", "writer", "--summary", "x"]).exits(0);
    let events = || world.run(["events", "--json"]).exits(0).stdout;
    let before = events();
    world.run(["--session", "s2", "handoff", "accept", "1", "--json"]).refuses(5, "deps_open");
    assert_eq!(events(), before);
    assert_eq!(world.json(["handoff", "list", "--open"])[0]["status"], "open");
    world.run(["--session", "s2", "handoff", "accept", "1", "--no-claim"]).exits(0);
}

#[test]
fn task_moves_to_the_lane_that_it_is_handed_to() {
    let world = TestProject::new();
    for (lane, session) in [("api", "s1"), ("ui", "s2")] {
        fixtures::add_lane(&world, lane, None, None);
        fixtures::add_session(&world, session, "dev", Some(lane));
    }
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "api", "the claim put it there");
    world.run(["--session", "s1", "handoff", "create", "T-1", "--to-lane", "ui", "--summary", "the page"]).exits(0);
    world.run(["--session", "s2", "handoff", "accept", "1"]).exits(0);
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["lane"], &task["claim"]["claimant"]), (&"ui".into(), &"s2".into()));
    // It stays there: its claimant put it into the lane, not a claim.
    world.run(["--session", "s2", "release", "T-1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "ui");
}

/// The commits of a task do not move with its claim: it stays in their lane, and the acceptor is told where they are.
#[test]
fn work_that_was_begun_stays_in_its_lane() {
    let world = TestProject::with_git();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    for (lane, session, role) in [("from", "sf", "dev"), ("to", "st", "qa")] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
        fixtures::add_session(&world, session, role, Some(lane));
    }
    let from = world.root().join(".fairway/worktrees/from");
    let offer = |task: &str, to: &[&str]| {
        let words = ["--session", "sf", "handoff", "create", task, "--summary", "test it", "--payload", "as agreed"];
        world.run(words.iter().chain(to)).exits(0);
    };
    // Of T-1 nothing is begun: it moves.
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "t"]).exits(0);
        world.run(["--session", "sf", "claim", task]).exits(0);
    }
    offer("T-1", &["--to", "qa"]);
    let moved = world.json(["--session", "st", "handoff", "accept", "1"]);
    assert_eq!((&moved["work"], &moved["claimant"]), (&serde_json::Value::Null, &"st".into()));
    assert_eq!(world.json(["task", "show", "T-1"])["lane"], "to");
    // A commit, and for the other one a change, stay where they are.
    std::fs::write(from.join("h"), "h\n").unwrap();
    world.git(&from, &["add", "--all"]);
    world.git(&from, &["commit", "--quiet", "--message=h"]);
    offer("T-2", &["--to", "qa"]);
    let shown = world.run(["--session", "st", "handoff", "accept", "2"]).exits(0).stdout;
    let work = format!("\n  summary: test it\n  work: lane from, branch lane/from, 1 commit, in {}\n", from.display());
    assert!(shown.ends_with(&work), "{shown}");
    assert_eq!(world.json(["task", "show", "T-2"])["lane"], "from");
    let again = world.json(["--session", "st", "handoff", "accept", "2"]);
    assert_eq!((&again["work"]["lane"], &again["work"]["commits"]), (&"from".into(), &1.into()));
    let prime = world.run(["--session", "st", "prime", "--task", "T-2"]).exits(0).stdout;
    for text in [
        "sf handed it over to you:",
        "test it",
        "as agreed",
        "Its work is in the lane from, not in yours:",
        "lane/from",
    ] {
        assert!(prime.contains(text), "{text}: {prime}");
    }
    // Gates, evidence and the landing are about that commit.
    let head = world.git(&from, &["rev-parse", "HEAD"]);
    let run = ["--session", "st", "evidence", "run", "T-2", "--json", "--", "cat", "h"];
    let evidence = world.run(run).exits(0).json();
    assert_eq!((&evidence["result"], evidence["commit"].as_str()), (&"pass".into(), Some(head.trim())));
    world.run(["--session", "st", "done", "T-2"]).exits(0);
    std::fs::write(from.join("draft"), "d\n").unwrap();
    offer("T-3", &["--to-lane", "to"]);
    let kept = world.json(["--session", "st", "handoff", "accept", "3"]);
    assert_eq!((&kept["work"]["lane"], &kept["work"]["has_changes"]), (&"from".into(), &true.into()));
    assert_eq!(world.json(["task", "show", "T-3"])["lane"], "from");
}

#[test]
fn task_is_offered_once() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let offer =
        |role: &str| ["--session", "s1", "handoff", "create", "T-1", "--to", role, "--summary", "x"].map(str::to_owned);
    world.run(offer("qa")).exits(0);
    let repeated = world.run(offer("qa")).exits(0).stdout;
    assert_eq!(repeated, "unchanged: handoff 1 of T-1 to role qa is open already\n");
    let error =
        world.run(offer("writer").iter().map(String::as_str).chain(["--json"])).refuses(4, "already_offered").error();
    assert_eq!(error["hint"], "withdraw that one first: fairway handoff withdraw 1");
    let other = ["handoff", "create", "T-1", "--to", "writer", "--summary", "y", "--json"];
    let error = world.run(other).refuses(4, "already_offered").error();
    assert_eq!(error["hint"], "withdraw that one first: fairway handoff withdraw 1 --force --reason TEXT");
    world.run(["--session", "s1", "handoff", "withdraw", "1"]).exits(0);
    world.run(offer("writer")).exits(0);
}
