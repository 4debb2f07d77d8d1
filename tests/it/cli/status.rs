//! `fairway status`, and `fairway` alone.

use std::fs;

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

fn needs(world: &TestProject) -> Vec<Value> {
    world.json(["status"])["needs_you"].as_array().unwrap().clone()
}

fn ids(needs: &[Value]) -> Vec<&str> {
    needs.iter().map(|need| need["id"].as_str().unwrap()).collect()
}

#[test]
fn empty_project_has_no_item_for_a_person() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&["fairway status", "fairway", "fairway status --quiet"]), @"
    $ fairway status
    nothing needs you

    0 ready · 0 in progress · 0 done
    $ fairway
    nothing needs you

    0 ready · 0 in progress · 0 done
    $ fairway status --quiet
    ");
}

#[test]
fn fairway_alone_is_the_status_in_a_project_and_names_setup_outside() {
    let world = TestProject::new();
    assert_eq!(world.json([""; 0])["version"], 1);
    let inside: CommandOutput =
        world.fairway([""; 0]).current_dir(world.root().join(".fairway")).output().unwrap().into();
    assert!(inside.exits(0).stdout.starts_with("nothing needs you"));
    let outside: CommandOutput = world.fairway([""; 0]).current_dir(world.dir()).output().unwrap().into();
    let outside = outside.exits(2);
    assert!(
        outside.stdout.contains("\nNo project is here. ") && outside.stdout.contains("fairway setup\n"),
        "{outside:?}"
    );
    assert_eq!(outside.stderr, "");
    let outside: CommandOutput = world.fairway(["--json"]).current_dir(world.dir()).output().unwrap().into();
    outside.refuses(2, "usage");
}

#[test]
fn line_of_a_status_bar_has_the_numbers_that_are_not_zero() {
    let world = TestProject::new();
    let line = |world: &TestProject| world.run(["status", "--line"]).exits(0).stdout;
    assert_eq!(line(&world), "quiet\n");
    for session in ["one", "two", "three"] {
        world.run(["session", "upsert", "--id", session, "--role", "dev"]).exits(0);
        world.run(["session", "heartbeat", session, "--activity", "busy"]).exits(0);
    }
    assert_eq!(line(&world), "3●\n");
    world.run(["session", "heartbeat", "one", "--activity", "requires_action", "--waiting-for", "which?"]).exits(0);
    assert_eq!(line(&world), "1! 2●\n");
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    for report in [
        "INSERT INTO usage_turns (run_id, session_id, role, at, digest, cost_usd)
         SELECT run_id, id, role, started_at, 'x', 4.1 FROM agent_sessions WHERE id = 'two'",
        "INSERT INTO events (at, kind, session_id, run_id, actor, data)
         SELECT started_at, 'usage.reported', id, run_id, id, '{}' FROM agent_sessions WHERE id = 'two'",
    ] {
        conn.execute(report, []).unwrap();
    }
    drop(conn);
    assert_eq!(line(&world), "1! 2● $4.10\n");
    // Of two turns only one says what it costs.
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    for report in [
        "INSERT INTO usage_turns (run_id, session_id, role, at, digest)
         SELECT run_id, id, role, started_at, 'y' FROM agent_sessions WHERE id = 'two'",
        "INSERT INTO events (at, kind, session_id, run_id, actor, data)
         SELECT started_at, 'usage.reported', id, run_id, id, '{}' FROM agent_sessions WHERE id = 'two'",
    ] {
        conn.execute(report, []).unwrap();
    }
    drop(conn);
    assert_eq!(line(&world), "1! 2● $4.10+\n");
    assert_eq!(world.json(["status"])["turns_without_cost"], 1);
    let text = world.run(["status"]).exits(0).stdout;
    assert!(text.contains("· $4.10+ today, 1 turn unknown\n"), "{text}");
    let frame = world.fairway(["top", "--once"]).env("COLUMNS", "80").env("LINES", "24").output().unwrap();
    assert!(String::from_utf8_lossy(&frame.stdout).contains("$4.10+ today"), "{frame:?}");
    assert_eq!(world.json(["status", "--line"])["needs_you"].as_array().unwrap().len(), 1);
    world.run(["status", "--line", "--all"]).exits(2);
}

/// A project in which something of everything goes on.
fn busy() -> TestProject {
    let world = TestProject::new();
    for (id, title) in [
        ("T-1", "Fix the total"),
        ("T-2", "Print invoices"),
        ("T-3", "Import old orders"),
        ("T-4", "Refunds"),
        ("T-5", "Write the manual"),
        ("T-6", "Not started"),
        ("T-7", "By a person"),
    ] {
        world.run(["task", "add", id, title]).exits(0);
    }
    world.run(["lane", "add", "api"]).exits(0);
    world.run(["lane", "add", "docs"]).exits(0);
    for (session, task) in [("asks", "T-1"), ("waits", "T-2"), ("stuck", "T-3"), ("submits", "T-4"), ("slow", "T-5")] {
        world
            .run(["session", "upsert", "--id", session, "--role", "dev", "--lane", "api", "--provider", "acme"])
            .exits(0);
        let lease = if session == "slow" { &["--lease", "30s"][..] } else { &[] };
        world.run([&["--session", session, "claim", task], lease].concat()).exits(0);
    }
    world.run(["claim", "T-7"]).exits(0);
    let waiting = ["--activity", "requires_action", "--waiting-for", "which currency?"];
    world.run([&["session", "heartbeat", "asks"], &waiting[..]].concat()).exits(0);
    let question = ["--state", "awaiting_input", "--summary", "is the old format still read?"];
    world.run([&["--session", "waits", "checkpoint", "record", "T-2"], &question[..]].concat()).exits(0);
    world.run(["--session", "stuck", "task", "block", "T-3", "--reason", "no access to the archive"]).exits(0);
    world.run(["--session", "submits", "task", "submit", "T-4"]).exits(0);
    world.run(["handoff", "create", "T-7", "--to-role", "qa", "--summary", "ready to test"]).exits(0);
    world.advance_clock(60);
    world
}

#[test]
fn each_question_of_a_coordinator_is_answered_by_one_command() {
    let world = busy();
    let board = world.json(["status"]);
    // An agent's question comes first, then returned work, then stuck work.
    let needs: Vec<(&str, &str)> = board["needs_you"]
        .as_array()
        .unwrap()
        .iter()
        .map(|need| (need["id"].as_str().unwrap(), need["line"].as_str().unwrap()))
        .collect();
    assert_eq!(
        needs,
        [
            ("question:asks:1", "which currency?"),
            ("question:waits:c1", "is the old format still read?"),
            ("lease:T-5", "the lease of slow has expired: Write the manual"),
            ("gate:T-4", "no passing evidence since the last claim: Refunds"),
            ("blocked:T-3", "no access to the archive"),
            ("handoff:1", "to role qa: ready to test"),
        ]
    );
    for need in board["needs_you"].as_array().unwrap() {
        for key in ["since", "evidence", "kind"] {
            assert!(need[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {need}");
        }
        let commands = need["commands"].as_array().unwrap();
        assert!(!commands.is_empty(), "{need}");
        assert!(commands.iter().all(|next| next["command"].as_str().unwrap().starts_with("fairway ")), "{need}");
    }
    // The sessions and their tasks.
    let works: Vec<(&str, &str)> = board["lanes"][0]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].as_str().unwrap(), one["holds"][0]["task_id"].as_str().unwrap()))
        .collect();
    assert_eq!(works, [("asks", "T-1"), ("waits", "T-2"), ("stuck", "T-3"), ("submits", "T-4"), ("slow", "T-5")]);
    assert_eq!((&board["claims"][0]["task_id"], &board["claims"][0]["session_id"]), (&json!("T-7"), &Value::Null));
    let counts = &board["counts"];
    assert_eq!(
        counts,
        &json!({ "ready": 1, "held": 6, "in_progress": 4, "blocked": 1, "review": 1, "open": 7, "done": 0,
                 "sessions": 5, "dead_sessions": 0 })
    );
    // Of a lane without a worktree, and of what comes later, nothing is said.
    for lane in board["lanes"].as_array().unwrap() {
        assert_eq!((&lane["diffstat"], &lane["overlap"], &lane["cost_usd"]), (&Value::Null, &json!([]), &Value::Null));
    }
    let keys: Vec<&String> = board.as_object().unwrap().keys().collect();
    let expected = [
        "at", "claims", "cost_usd", "counts", "inbox", "jobs", "landing", "lanes", "needs_you", "project", "seq",
        "sessions", "turns_without_cost", "version",
    ];
    let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, expected);
}

#[test]
fn item_disappears_when_it_is_settled_and_the_others_stay_in_place() {
    let world = busy();
    let all = needs(&world);
    let mut left: Vec<String> = ids(&all).into_iter().map(str::to_owned).collect();
    let answer = ["checkpoint", "record", "T-2", "--state", "active", "--summary", "yes, it is"];
    for (id, words) in [
        ("question:asks:1", &["session", "heartbeat", "asks", "--activity", "busy"][..]),
        ("question:waits:c1", &[&["--session", "waits"], &answer[..]].concat()),
        ("lease:T-5", &["--session", "slow", "session", "heartbeat", "slow"]),
        ("gate:T-4", &["--session", "submits", "task", "resume", "T-4"]),
        ("blocked:T-3", &["--session", "stuck", "task", "unblock", "T-3"]),
        ("handoff:1", &["handoff", "withdraw", "1"]),
    ] {
        world.run(words).exits(0);
        left.retain(|other| other != id);
        assert_eq!(ids(&needs(&world)), left, "after {words:?}");
    }
    assert!(left.is_empty());
}

#[test]
fn submitted_task_waits_for_its_gates_and_then_for_its_end() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "Refunds"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    world.run(["task", "submit", "T-1"]).exits(0);
    assert_eq!(ids(&needs(&world)), ["gate:T-1"]);
    world.run(["evidence", "add", "T-1", "--kind", "test", "--result", "pass"]).exits(0);
    let needs_now = needs(&world);
    assert_eq!(ids(&needs_now), ["review:T-1"]);
    // What decides comes before what overrules.
    let commands = needs_now[0]["commands"].as_array().unwrap().iter();
    assert_eq!(
        commands.map(|next| next["command"].as_str().unwrap()).collect::<Vec<_>>(),
        [
            "fairway review next --task T-1",
            "fairway review record T-1 --verdict approve --notes TEXT",
            "fairway land T-1",
            "fairway merge-ready T-1",
            "fairway done T-1 --force --reason TEXT"
        ]
    );
    world.run(["done", "T-1"]).exits(0);
    assert!(needs(&world).is_empty());
}

/// What a person is told to type leads on, until the work has landed or is sent back.
#[test]
fn task_that_lacks_a_review_leads_the_person_to_its_card_and_the_card_to_its_end() {
    let world = super::land::project("\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"reviews\"]\n");
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-1", "Refunds", "--lane", "api", "--review-domain", "code"]).exits(0);
    world.add_session("s1");
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let submit = |text: &str| {
        super::land::commit(&world, "api", &[("a.txt", text)]);
        world.run(["--session", "s1", "task", "submit", "T-1"]).exits(0);
    };
    let paste = |command: &Value, text: &str| {
        let words = shell_words::split(&command.as_str().unwrap().replace("TEXT", text)).unwrap();
        assert_eq!(words[0], "fairway", "{command}");
        world.run([&words[1..], &["--json".to_owned()]].concat()).exits(0).json()
    };
    let item = || {
        // What the author has not read yet is an item of its own.
        let mut all = needs(&world);
        all.retain(|need| need["kind"] != "decision");
        let [need] = all.try_into().unwrap();
        assert_eq!((&need["id"], &need["kind"]), (&json!("review:T-1"), &json!("review")), "{need}");
        need
    };
    let on_card = |purpose: &str| {
        let card = paste(&item()["commands"][0]["command"], "");
        let commands = card["card"]["commands"].as_array().unwrap();
        commands.iter().find(|one| one["purpose"] == purpose).unwrap()["command"].clone()
    };
    submit("one\n");
    assert_eq!(item()["line"], "no review in the domain 'code': Refunds");
    let text = world.run(["status"]).exits(0).stdout;
    assert!(text.starts_with("NEEDS YOU (1)\n? review "), "{text}");
    paste(&on_card("ask for changes"), "'see line 1'");
    assert!(!ids(&needs(&world)).contains(&"review:T-1"), "it is the author's turn");
    // Reworked after the verdict: the old one still refuses, and the card is the way on.
    submit("two\n");
    assert!(item()["line"].as_str().unwrap().contains("asks for changes in the domain 'code'"), "{}", item());
    paste(&on_card("approve"), "");
    assert!(item()["line"].as_str().unwrap().starts_with("submitted: "), "{}", item());
    // Another reviewer is asked for, who sees the same.
    world.run(["--session", "s1", "review", "request", "T-1", "--domain", "code"]).exits(0);
    paste(&on_card("approve"), "");
    paste(&on_card("land it"), "");
    assert!(!ids(&needs(&world)).contains(&"review:T-1"));
    // The author is not led to an approval of its own.
    world.run(["task", "add", "T-2", "More", "--review-domain", "code"]).exits(0);
    world.run(["--session", "s1", "claim", "T-2"]).exits(0);
    let fix = |session: &[&str]| {
        let report = world.run([session, &["merge-ready", "T-2", "--json"]].concat()).exits(5).json();
        let blockers = report["blockers"].as_array().unwrap();
        blockers.iter().find(|one| one["code"] == "review_missing").unwrap()["fix"].as_str().unwrap().to_owned()
    };
    assert_eq!(fix(&["--session", "s1"]), "fairway review request T-2 --domain code");
    assert_eq!(fix(&[]), "fairway review next --task T-2");
}

#[test]
fn item_has_two_lines_and_all_shows_its_evidence_and_each_command() {
    let world = busy();
    let section = |all: &[&str]| -> Vec<String> {
        let text = world.run([&["status"], all].concat()).exits(0).stdout;
        text.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let count = needs(&world).len();
    let short = section(&[]);
    assert_eq!(short.len(), 1 + 2 * count, "{short:#?}");
    assert!(short.iter().any(|line| line.matches("  ·  fairway").count() == 0 && line.contains("  ·  ")), "{short:#?}");
    assert!(!short.iter().any(|line| line.contains("evidence: ")));
    let all = section(&["--all"]);
    assert_eq!(all.iter().filter(|line| line.starts_with("    evidence: ")).count(), count, "{all:#?}");
    let commands: usize = needs(&world).iter().map(|need| need["commands"].as_array().unwrap().len()).sum();
    assert_eq!(all.len(), 1 + 2 * count + commands, "{all:#?}");
}

#[test]
fn submitted_task_outlives_its_session() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "Refunds"]).exits(0);
    world.run(["task", "add", "T-2", "Not submitted"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    for task in ["T-1", "T-2"] {
        world.run(["--session", "s1", "claim", task]).exits(0);
    }
    world.run(["--session", "s1", "task", "submit", "T-1"]).exits(0);
    world.run(["session", "end", "s1"]).exits(0);
    let needs = needs(&world);
    assert_eq!(ids(&needs), ["dead:s1", "gate:T-1"]);
    let commands: Vec<&Value> = needs[0]["commands"].as_array().unwrap().iter().map(|next| &next["command"]).collect();
    assert_eq!(commands, ["fairway release T-2 --force --reason TEXT"]);
    let listed = world.run(["task", "list"]).exits(0).stdout;
    assert_eq!(listed.matches("s1 (ended)").count(), 2, "{listed}");
    let shown = world.run(["task", "show", "T-1"]).exits(0).stdout;
    assert!(shown.contains("s1 has ended") && !shown.contains("release"), "{shown}");
}

#[test]
fn message_that_was_not_delivered_needs_its_sender() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    world.run(["message", "send", "please hurry", "--to-session", "s1", "--ttl", "10s"]).exits(0);
    assert!(needs(&world).is_empty());
    world.advance_clock(60);
    let waiting = needs(&world);
    assert_eq!(ids(&waiting), ["prompt:1"]);
    let withdraw = waiting[0]["commands"][0]["command"].as_str().unwrap().to_owned();
    assert_eq!(withdraw, "fairway outbox withdraw 1");
    world.run(withdraw.split(' ').skip(1)).exits(0);
    assert!(needs(&world).is_empty());
}

#[test]
fn guard_rules_that_are_not_trusted_need_a_person() {
    let world = TestProject::new();
    let file = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    let rule = "\n[[guard.rules]]\nname = \"no-push\"\ncommand = [\"git\", \"push\"]\naction = \"deny\"\nreason = \"not from here\"\n";
    fs::write(&file, text + rule).unwrap();
    let shown = needs(&world);
    assert_eq!(ids(&shown), ["guard:trust"]);
    assert_eq!(shown[0]["commands"][1]["command"], "fairway trust");
    world.run(["trust"]).exits(0);
    assert!(needs(&world).is_empty());

    // Under rules, an agent of a provider with hooks calls one when it starts.
    let provider = fairway::hooks::Provider::ALL[0].label();
    world.run(["session", "upsert", "--id", "s1", "--role", "dev", "--provider", provider]).exits(0);
    world.run(["session", "upsert", "--id", "s2", "--role", "dev", "--provider", "acme"]).exits(0);
    assert!(needs(&world).is_empty());
    world.advance_clock(120);
    let shown = needs(&world);
    assert_eq!(ids(&shown), ["guard:s1"]);
    assert_eq!(shown[0]["commands"][0]["command"], format!("fairway doctor hooks {provider}"));
    world.run(["session", "end", "s1"]).exits(0);
    assert!(needs(&world).is_empty());
}

#[test]
fn jobs_are_shown_with_their_last_line_and_failures_for_a_day() {
    let world = TestProject::new();
    world.real_time();
    let shell = "echo compiling; echo 'half \u{1b}[31mway'; sleep 600";
    world.run(["exec", "spawn", "--shell", shell]).exits(0);
    world.run(["exec", "spawn", "--foreground", "--shell", "echo broken; exit 3"]);
    crate::sessions::eventually("both jobs", || {
        let jobs = world.json(["status"])["jobs"].clone();
        let is_there = jobs["active"][0]["last_line"] == "half way" && jobs["failed"][0]["exit_code"] == 3;
        is_there.then_some(())
    });
    let shown = world.run(["status"]).exits(0).stdout;
    assert!(shown.contains("JOBS (1)") && shown.contains("half way") && shown.contains("FAILED JOBS (1)"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    // A failure needs a person, with the last line of its output, until it is dismissed or mended.
    let failed = needs(&world);
    let id = world.json(["status"])["jobs"]["failed"][0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(ids(&failed), [format!("job:{id}")]);
    assert!(failed[0]["line"].as_str().unwrap().ends_with(" failed with exit code 3: broken"), "{failed:?}");
    assert_eq!(world.json(["status"])["jobs"]["failed"][0]["last_line"], "broken");
    let dismiss = failed[0]["commands"][1]["command"].as_str().unwrap().to_owned();
    world.run(dismiss.split(' ').skip(1)).exits(0);
    assert!(needs(&world).is_empty());
    let flaky = "test -f mended || { echo not yet; exit 1; }";
    assert_ne!(world.run(["exec", "spawn", "--foreground", "--shell", flaky]).code, Some(0));
    assert_eq!(needs(&world).len(), 1);
    fs::write(world.root().join("mended"), "").unwrap();
    world.run(["exec", "spawn", "--foreground", "--shell", flaky]).exits(0);
    assert!(needs(&world).is_empty());
}

#[test]
fn silent_session_is_stale_for_every_reader_before_anybody_reconciles() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    for session in ["a", "b", "c", "d"] {
        world.run(["session", "upsert", "--id", session, "--role", "dev"]).exits(0);
    }
    world.run(["--session", "a", "claim", "T-1"]).exits(0);
    world.advance_clock(31 * 60);
    for session in ["b", "c", "d"] {
        world.run(["session", "heartbeat", session]).exits(0);
    }
    let silent = needs(&world);
    assert_eq!(ids(&silent), ["stale:a"]);
    assert_eq!(silent[0]["line"], "T-1: no heartbeat for more than 30m; Fix the total");
    assert!(world.run(["status"]).exits(0).stdout.contains("✗ a"), "{silent:?}");
    assert!(world.run(["session", "list"]).exits(0).stdout.contains("a   stale"), "{silent:?}");
    let listed = world.json(["session", "list"]);
    assert_eq!((&listed[0]["status"], &listed[1]["silence"]), (&json!("running"), &Value::Null));
    assert_eq!(listed[0]["silence"], "no heartbeat for more than 30m");
    // The reconcile writes what was shown.
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(ids(&needs(&world)), ["stale:a"]);
    assert_eq!(world.json(["session", "list"])[0]["status"], "stale");
    // So many silent ones tell of a wrong clock, for a reader too.
    world.advance_clock(31 * 60);
    assert_eq!(ids(&needs(&world)), ["stale:a"]);
}

#[test]
fn state_begins_with_its_last_change() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "a", "--role", "dev"]).exits(0);
    let since = || world.json(["session", "show", "a"])["activity_at"].as_str().unwrap().to_owned();
    world.run(["session", "heartbeat", "a", "--activity", "busy"]).exits(0);
    let busy = since();
    world.advance_clock(60);
    world.run(["session", "heartbeat", "a", "--activity", "busy"]).exits(0);
    assert_eq!(since(), busy);
    world.run(["session", "heartbeat", "a", "--activity", "idle"]).exits(0);
    assert!(since() > busy);
}

#[test]
fn claims_of_a_person_that_wait_are_not_shown_as_busy() {
    let world = TestProject::new();
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "x"]).exits(0);
        world.run(["claim", task]).exits(0);
    }
    world.run(["task", "block", "T-2", "--reason", "no key"]).exits(0);
    world.run(["task", "submit", "T-3"]).exits(0);
    let shown = world.run(["status"]).exits(0).stdout;
    let top = world.run(["top", "--once"]).exits(0).stdout;
    // In `top` a claim is not below the item that is about it: here an unmet gate.
    for (text, submitted) in [(&shown, '?'), (&top, '!')] {
        let shape = |task: &str| {
            // A row may have a second line.
            let (mut begin, mut found) = (None, None);
            for line in text.lines() {
                let first = line.trim_start_matches(['›', ' ']).chars().next();
                begin = first.filter(|shape| "●!?".contains(*shape)).or(begin);
                found = begin.filter(|_| line.split(' ').any(|word| word == task)).or(found);
            }
            found.unwrap()
        };
        assert_eq!((shape("T-1"), shape("T-2"), shape("T-3")), ('●', '!', submitted), "{text}");
    }
}

#[test]
fn status_writes_nothing() {
    let world = busy();
    let before = (fs::read(world.store()).unwrap(), world.run(["events", "--json"]).stdout);
    world.run(["status"]).exits(0);
    world.run(["status", "--json"]).exits(0);
    assert_eq!((fs::read(world.store()).unwrap(), world.run(["events", "--json"]).stdout), before);
}

/// The output on a terminal of this width.
fn on_terminal(world: &TestProject, columns: u32, words: &str) -> String {
    let line = format!("stty rows 24 cols {columns}; '{FAIRWAY}' {words}");
    let output = world.command("script").env("NO_COLOR", "1").args(["-qec", &line, "/dev/null"]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn eighty_columns_keep_ids_whole_and_need_no_colour() {
    let world = busy();
    let id = "a-session-with-quite-a-long-name";
    world.run(["session", "upsert", "--id", id, "--role", "backend", "--lane", "api", "--provider", "acme"]).exits(0);
    world
        .run(["task", "add", "INVOICES-1234", "a title that is far too long for what is left of eighty columns"])
        .exits(0);
    world.run(["--session", id, "claim", "INVOICES-1234"]).exits(0);
    world.run(["session", "heartbeat", id, "--activity", "busy"]).exits(0);
    for words in ["status", "session list"] {
        let wide = on_terminal(&world, 200, words);
        assert!(wide.contains("PROVIDER"), "{wide}");
        let narrow = on_terminal(&world, 80, words);
        assert!(!narrow.contains("PROVIDER"), "{narrow}");
        assert!(narrow.contains(id) && narrow.contains("INVOICES-1234"), "{narrow}");
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{line:?}");
        }
        assert!(!narrow.contains('\u{1b}'), "{narrow}");
    }
    let shown = on_terminal(&world, 80, "status");
    for shape in ["? question", "! lease", "! blocked", "● api", "○ docs", "? api"] {
        assert!(shown.contains(shape), "{shape}:\n{shown}");
    }
}

#[test]
fn long_sections_are_cut_unless_all_is_asked_for() {
    let world = TestProject::new();
    for number in 1..=20 {
        let id = format!("T-{number}");
        world.run(["task", "add", &id, "work"]).exits(0);
        world.run(["claim", &id]).exits(0);
        world.run(["task", "block", &id, "--reason", "no key"]).exits(0);
    }
    let shown = world.run(["status"]).exits(0).stdout;
    assert!(shown.contains("NEEDS YOU (20)") && shown.contains("… and 5 more: fairway status --all"), "{shown}");
    let all = world.run(["status", "--all"]).exits(0).stdout;
    assert_eq!(all.matches("! blocked").count(), 20, "{all}");
    assert!(!all.contains("more:"), "{all}");
}

#[test]
fn text_of_agents_is_data() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["session", "heartbeat", "s1", "--activity", "requires_action", "--waiting-for", "what?"]).exits(0);
    // As if a version without checks had written it.
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let hostile = "'a' || char(10) || char(27) || '[31mb' || char(7)";
    conn.execute_batch(&format!(
        "UPDATE tasks SET title = {hostile}; UPDATE agent_sessions SET waiting_for = {hostile};"
    ))
    .unwrap();
    drop(conn);
    let shown = world.run(["status"]).exits(0).stdout;
    assert!(shown.contains("a \\u{1b}[31mb\\u{7}"), "{shown:?}");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
}

/// What a review sent back is in the queue again once its author releases it: a person decides who goes on.
#[test]
fn released_task_that_a_review_sent_back_needs_a_person() {
    let world = TestProject::new();
    for session in ["s1", "s2"] {
        world.run(["session", "upsert", "--id", session, "--role", "backend"]).exits(0);
    }
    world.run(["lane", "add", "api"]).exits(0);
    world.run(["task", "add", "T-1", "Log in", "--lane", "api"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1", "--any-lane"]).exits(0);
    world.run(["--session", "s1", "task", "submit", "T-1"]).exits(0);
    let review = |verdict: &str| {
        let words = ["--session", "s2", "review", "record", "T-1", "--domain", "security", "--verdict", verdict];
        world.run([&words[..], &["--notes", "tokens in the log"]].concat()).exits(0);
    };
    review("changes");
    let item = || {
        let needs = world.json(["status"])["needs_you"].clone();
        needs.as_array().unwrap().iter().find(|need| need["id"] == "review:T-1").cloned()
    };
    // Its author has it.
    assert_eq!(item(), None);
    world.run(["--session", "s1", "release", "T-1"]).exits(0);
    let need = item().unwrap();
    let line = "sent back and unclaimed: changes asked for by s2, tokens in the log";
    assert_eq!((&need["line"], &need["lane"]), (&json!(line), &json!("api")));
    assert_eq!(need["commands"][0]["command"], "fairway start T-1");
    assert_eq!(need["evidence"], "review 1 in the domain 'security'");
    world.run(["--session", "s2", "claim", "T-1", "--any-lane"]).exits(0);
    assert_eq!(item(), None);
    world.run(["--session", "s2", "release", "T-1"]).exits(0);
    review("approve");
    assert_eq!(item(), None);
}
