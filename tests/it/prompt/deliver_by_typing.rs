//! The last way: what is typed into a session's terminal, and what confirms it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use fairway_actions::sessions::prompt::listener::{self, ListenerKind};
use fairway_core::env::Env;
use fairway_core::os::poll_until;

use super::{app_at, column, id, set_activity, set_hooked, status};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// A session that keeps each line it reads in a file, and how often it was interrupted in another.
pub(super) struct Typist(pub(super) TestProject);

impl Typist {
    /// A session that is idle.
    pub(super) fn new() -> Self {
        let typist = Self::of_unknown_state();
        typist.0.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
        typist
    }

    /// A session that has reported nothing.
    fn of_unknown_state() -> Self {
        let world = TestProject::new();
        world.real_time();
        let script = "trap 'echo interrupted >>\"$0.int\"' INT; \
             while :; do while IFS= read -r line; do printf '%s\\n' \"$line\" >>\"$0\"; done; done";
        let words = ["session", "launch", "--role", "r", "--name", "s1", "--", "sh", "-c", script, "../got"];
        world.run(words).exits(0);
        Self(world)
    }

    fn prompt(&self, words: &[&str]) -> CommandOutput {
        self.0.run(["prompt", "s1"].iter().chain(words)).exits(0)
    }

    pub(super) fn got(&self) -> String {
        fs::read_to_string(self.0.dir().join("got")).unwrap_or_default()
    }

    #[track_caller]
    pub(super) fn gets(&self, text: &str) {
        let got = || (self.got() == text).then_some(());
        poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), got)
            .unwrap_or_else(|| panic!("never: {text:?}; it got {:?}", self.got()));
    }

    fn events(&self, kind: &str) -> i64 {
        let conn = rusqlite::Connection::open(self.0.store()).unwrap();
        conn.query_row("SELECT count(*) FROM events WHERE kind = ?1", [kind], |row| row.get(0)).unwrap()
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        let _ = self.0.fairway(["session", "stop", "s1"]).output();
    }
}

#[test]
fn user_prompt_is_typed_verbatim_and_confirmed() {
    let typist = Typist::new();
    let world = &typist.0;
    let sent = typist.prompt(&["/compact \"now\"; $(touch canary)", "--json"]).json();
    assert_eq!(sent["queued"], true);
    typist.gets("/compact \"now\"; $(touch canary)\n");
    assert_eq!((status(world, 1).as_str(), column(world, "channel", 1).as_str()), ("offered", "nudge"));
    // A look is no event of the session, and neither is what others do.
    world.run(["session", "status", "s1"]).exits(0);
    world.run(["session", "heartbeat", "s1"]).exits(0);
    assert_eq!(status(world, 1), "offered");
    assert!(world.run(["outbox"]).exits(0).stdout.contains("offered  nudge"));
    world.run(["session", "heartbeat", "s1", "--activity", "busy"]).exits(0);
    assert_eq!(status(world, 1), "acknowledged");
    assert!(!world.root().join("canary").exists());
}

#[test]
fn session_of_unknown_state_is_typed_to_only_now() {
    let typist = Typist::of_unknown_state();
    let world = &typist.0;
    let waits = typist.prompt(&["later"]);
    assert_eq!(waits.stdout, "queued prompt 1 to session s1\n");
    assert_eq!(
        waits.stderr,
        "prompt 1 waits: s1 has not reported its state; say it at once: fairway send s1 TEXT --now\n"
    );
    let sent = world.json(["send", "s1", "later too"]);
    let hint = "say it at once: fairway send s1 TEXT --now";
    assert_eq!(
        (&sent[0]["queued"], &sent[0]["reason"], &sent[0]["hint"]),
        (&true.into(), &"state_unknown".into(), &hint.into())
    );
    let outbox = world.json(["outbox"]);
    assert!(
        outbox.as_array().unwrap().iter().all(|one| one["reason"] == "state_unknown" && one["hint"] == hint),
        "{outbox}"
    );
    let table = world.run(["outbox"]).exits(0).stdout;
    assert!(
        table.contains("REASON") && table.contains("state_unknown") && table.ends_with(&format!("{hint}\n")),
        "{table}"
    );
    // One that goes now takes no other along.
    let now = typist.prompt(&["now", "--now"]);
    assert_eq!(now.stderr, "");
    typist.gets("now\n");
    world.run(["send", "s1", "now too", "--now"]).exits(0);
    typist.gets("now\nnow too\n");
    typist.prompt(&["stop", "--priority", "urgent"]);
    typist.gets("now\nnow too\nstop\n");
    assert_eq!([1, 2].map(|id| status(world, id)), ["queued", "queued"]);
    assert_eq!(world.run(["session", "nudge", "s1", "--queued"]).exits(0).stdout, "typed 2 queued messages into s1\n");
    typist.gets("now\nnow too\nstop\nlater\nlater too\n");
    assert_eq!(
        world.run(["session", "nudge", "s1", "--queued"]).exits(0).stdout,
        "unchanged: no messages are queued for s1\n"
    );
}

/// Whatever reports the state, what waits for it goes.
#[test]
fn prompt_goes_when_the_state_becomes_known() {
    let typist = Typist::of_unknown_state();
    let world = &typist.0;
    typist.prompt(&["later", "--dedup", "k"]);
    world.run(["session", "upsert", "--id", "s1", "--activity", "busy"]).exits(0);
    assert_eq!((world.json(["outbox"])[0]["reason"].as_str(), typist.got().as_str()), (Some("session_busy"), ""));
    world.run(["session", "upsert", "--id", "s1", "--activity", "idle"]).exits(0);
    typist.gets("later\n");
    // A repeat under its key that goes now takes the waiting one along.
    world.run(["session", "heartbeat", "s1", "--activity", "unknown"]).exits(0);
    typist.prompt(&["again", "--dedup", "a"]);
    assert_eq!(typist.got(), "later\n");
    typist.prompt(&["again", "--dedup", "a", "--now"]);
    typist.gets("later\nagain\n");
}

#[test]
fn session_activity_confirms_a_typed_prompt() {
    let typist = Typist::new();
    let world = &typist.0;
    typist.prompt(&["one"]);
    typist.gets("one\n");
    world.run(["task", "add", "T-1", "one", "--session", "s1"]).exits(0);
    assert_eq!(status(world, 1), "acknowledged");
}

#[test]
fn busy_session_is_typed_to_only_when_urgent() {
    let typist = Typist::new();
    let world = &typist.0;
    world.run(["session", "heartbeat", "s1", "--activity", "busy"]).exits(0);
    typist.prompt(&["later"]);
    world.run(["prompt", "s1", "from an agent", "--source", "watcher"]).exits(0);
    assert_eq!((status(world, 1).as_str(), typist.got().as_str()), ("queued", ""));
    typist.prompt(&["stop that", "--priority", "urgent"]);
    typist.gets("stop that\n");
    assert_eq!((typist.events("session.interrupted"), status(world, 1).as_str()), (1, "queued"));
    // A question on the screen is not answered by what is typed.
    world.run(["session", "heartbeat", "s1", "--activity", "requires_action"]).exits(0);
    typist.prompt(&["answer", "--priority", "urgent"]);
    assert_eq!(status(world, 4), "queued");
    world.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
    let watcher =
        "message 2, normal, from watcher by USER (text of a program, not the user's words):\n  > from an agent\n";
    let user = world.redacted(&format!("{}@{}", fairway_core::os::user::name(), fairway_core::os::host::name()));
    assert_eq!(user, "[user]");
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), || {
        let got = world.redacted(&typist.got()).replace("[user]", "USER");
        (got == format!("stop that\nanswer\nlater\n{watcher}")).then_some(())
    })
    .unwrap_or_else(|| panic!("{:?}", typist.got()));
    assert_eq!(typist.events("session.interrupted"), 1, "an idle one is not interrupted");
    assert_eq!([1, 2, 3, 4].map(|id| status(world, id)), ["offered", "offered", "acknowledged", "offered"]);
}

#[test]
fn prompt_with_hook_or_listener_is_not_typed() {
    let typist = Typist::new();
    let world = &typist.0;
    set_hooked(world, "s1");
    for activity in ["unknown", "busy"] {
        set_activity(world, "s1", activity);
        typist.prompt(&["for the hooks"]);
    }
    typist.prompt(&["for the next tool", "--priority", "urgent"]);
    assert_eq!([1, 2, 3].map(|id| status(world, id)), ["queued", "queued", "queued"]);
    set_activity(world, "s1", "idle");
    let app = app_at(&world.root(), "s1", Env::from_process().now());
    let listener = listener::listen(&app, &id("s1"), ListenerKind::WakeHook).unwrap();
    typist.prompt(&["for who listens"]);
    assert_eq!((typist.got().as_str(), status(world, 4).as_str()), ("", "queued"));
    drop(listener);
    // Nobody is there any more, and no hook comes by while it is idle.
    for _ in 0..2 {
        world.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
        typist.gets("for the next tool\nfor the hooks\nfor the hooks\nfor who listens\n");
    }
}

#[test]
fn untypable_prompt_waits_and_is_reported() {
    let typist = Typist::new();
    let world = &typist.0;
    let script = world.dir().join("refuses");
    let text = "#!/bin/sh\ncase $1 in is-running) echo true ;; nudge) echo 'no keyboard here' >&2; exit 1 ;; esac\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let was: String = conn.query_row("SELECT adapter_script FROM agent_sessions", [], |row| row.get(0)).unwrap();
    let set = |script: &str| conn.execute("UPDATE agent_sessions SET adapter_script = ?1", [script]).unwrap();
    set(&script.to_string_lossy());
    world.run(["trust"]).exits(0);
    let sent = typist.prompt(&["hello"]);
    assert!(sent.stdout.starts_with("queued prompt 1"), "{sent:?}");
    assert!(sent.stderr.contains("typing them failed") && sent.stderr.contains("no keyboard here"), "{sent:?}");
    assert_eq!((status(world, 1).as_str(), column(world, "offered_to", 1).as_str()), ("queued", "-"));
    set(&was);
    // Its turn comes with the next one.
    typist.prompt(&["and this"]);
    typist.gets("hello\nand this\n");
}

#[test]
fn prompt_repeated_under_its_key_is_typed_again() {
    let typist = Typist::new();
    let world = &typist.0;
    for times in ["once\n", "once\nonce\n"] {
        typist.prompt(&["once", "--dedup", "k"]);
        typist.gets(times);
    }
    assert_eq!((status(world, 1).as_str(), column(world, "CAST(count AS TEXT)", 1).as_str()), ("offered", "2"));
    world.run(["session", "heartbeat", "s1", "--activity", "busy"]).exits(0);
    typist.prompt(&["once", "--dedup", "k"]);
    assert_eq!((status(world, 1).as_str(), typist.got().as_str()), ("acknowledged", "once\nonce\n"));
}

#[test]
fn concurrent_typists_type_each_prompt_once() {
    let typist = Typist::new();
    let world = &typist.0;
    let begun = Instant::now();
    let outputs =
        crate::common::concurrent_start::race(8, |number| world.fairway(["prompt", "s1", &format!("prompt {number}")]));
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    let lines = || {
        let got = typist.got();
        let mut lines: Vec<String> = got.lines().map(str::to_owned).collect();
        lines.sort();
        (lines.len() >= 8).then_some(lines)
    };
    let lines = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), lines).expect("all of them");
    assert_eq!(lines, (0..8).map(|number| format!("prompt {number}")).collect::<Vec<_>>());
    assert!(begun.elapsed() < Duration::from_secs(60), "offers have lapsed meanwhile");
    world.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
    let left = (1..=8).filter(|id| status(world, *id) != "acknowledged").count();
    assert_eq!((left, typist.got().lines().count()), (0, 8));
}

#[test]
fn session_start_does_not_confirm_a_prompt() {
    let typist = Typist::new();
    let world = &typist.0;
    typist.prompt(&["hello"]);
    typist.gets("hello\n");
    let says = |event: &str, more: serde_json::Value| {
        world.hook_inside("s1", "claude", &crate::hooks::event(event, "e", more)).exits(0);
    };
    says("SessionStart", serde_json::json!({ "source": "startup" }));
    assert_eq!((status(world, 1).as_str(), column(world, "channel", 1).as_str()), ("offered", "nudge"));
    says("UserPromptSubmit", serde_json::json!({ "prompt": "hello" }));
    assert_eq!(status(world, 1), "acknowledged");
}

/// Nothing else happens in the project meanwhile: the supervisor of the job has it typed.
#[test]
fn match_of_a_watcher_is_typed_into_an_idle_terminal() {
    let typist = Typist::new();
    let job = ["exec", "spawn", "--notify", "s1", "--watch", "hit=needle", "--", "echo", "a needle"];
    typist.0.run(job).exits(0);
    let got = || typist.got().contains("a needle").then_some(());
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), got)
        .unwrap_or_else(|| panic!("never typed: {:?} {:?}", typist.got(), typist.0.run(["outbox"])));
    typist.0.kill_jobs();
}
