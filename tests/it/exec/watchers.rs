//! Watchers: what a program prints becomes an event of its run, and a message to the session that asked.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;
use rusqlite::Connection;
use serde_json::Value;

use crate::common::TestProject;

/// A world with a session, in real time.
pub(super) fn world() -> TestProject {
    let world = TestProject::new();
    world.real_time().add_session("s-1");
    world
}

/// Starts a shell for a session, with these flags; answers its run's id.
#[track_caller]
pub(super) fn spawn(world: &TestProject, session: &str, flags: &[&str], shell: &str) -> String {
    // Nothing of a test that fails stays for good.
    let mut args = vec!["exec", "spawn", "--timeout", "2m", "--notify", session];
    args.extend(flags);
    args.extend(["--shell", shell]);
    world.json(args)["run_id"].as_str().unwrap().to_owned()
}

/// The fields of a job's event.
#[derive(Debug)]
pub(super) struct Event {
    pub seq: i64,
    pub payload: String,
    pub meta: Value,
}

fn output(world: &TestProject) -> Connection {
    Connection::open(world.root().join(".fairway/runs.db")).unwrap()
}

/// A run as its output's rows name it.
fn name(run: &str) -> String {
    run.replace('-', "").to_uppercase()
}

/// The events of a run, in order.
pub(super) fn events(world: &TestProject, run: &str) -> Vec<Event> {
    let conn = output(world);
    let query = "SELECT seq, payload, meta FROM exec_run_items WHERE hex(run) = ?1 AND type = 'event' ORDER BY seq";
    let mut statement = conn.prepare(query).unwrap();
    let read = |row: &rusqlite::Row<'_>| {
        let meta: String = row.get(2)?;
        Ok(Event { seq: row.get(0)?, payload: row.get(1)?, meta: serde_json::from_str(&meta).unwrap() })
    };
    statement.query_map([name(run)], read).unwrap().map(Result::unwrap).collect()
}

/// The number of notifications that are still owed.
pub(super) fn owed(world: &TestProject) -> i64 {
    let query = "SELECT count(*) FROM exec_run_items WHERE owes IS NOT NULL";
    output(world).query_row(query, [], |row| row.get(0)).unwrap()
}

pub(super) fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(20), ask)
        .unwrap_or_else(|| panic!("never: {what}"))
}

/// Waits until a run is final and everything about it was told.
pub(super) fn over(world: &TestProject, run: &str) {
    let conn = Connection::open(world.store()).unwrap();
    let query = "SELECT finished_at IS NOT NULL FROM exec_runs WHERE id = ?1";
    eventually("the end of the run", || {
        let is_final: bool = conn.query_row(query, [run], |row| row.get(0)).unwrap();
        (is_final && owed(world) == 0).then_some(())
    });
}

/// Reads everything that waits for a session.
#[track_caller]
pub(super) fn read(world: &TestProject, session: &str) -> Vec<String> {
    let messages = world.json(["--session", session, "inbox", "--ack"]);
    let text = |message: &Value| {
        assert_eq!(message["source"], "exec", "{message}");
        message["content"].as_str().unwrap().to_owned()
    };
    messages.as_array().unwrap().iter().map(text).collect()
}

fn named<'a>(events: &'a [Event], name: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.meta["event"] == name).collect()
}

#[test]
fn match_is_an_event_after_its_output_and_one_message() {
    let world = world();
    let run = spawn(&world, "s-1", &["--watch", "FAIL(ED)?=error"], "echo fine; echo 'FAIL one' >&2; exit 3");
    over(&world, &run);
    let events = events(&world, &run);
    let [error, end] = &events[..] else { panic!("{events:?}") };
    assert_eq!((error.payload.as_str(), end.payload.as_str()), ("FAIL one", "failed: exit code 3"));
    assert_eq!((&error.meta["event"], &error.meta["stream"]), (&"error".into(), &"stderr".into()));
    let query = "SELECT max(seq) FROM exec_run_items WHERE type = 'stderr' AND hex(run) = ?1";
    let printed: i64 = output(&world).query_row(query, [name(&run)], |row| row.get(0)).unwrap();
    assert!(printed < error.seq && error.seq < end.seq, "{printed} {events:?}");
    let short = &run[run.len() - 8..];
    let told = read(&world, "s-1");
    let [matched, ended] = &told[..] else { panic!("{told:?}") };
    assert!(matched.starts_with(&format!("background job {short} (")), "{matched}");
    assert!(matched.ends_with(") matched \"error\" on stderr:\n> FAIL one"), "{matched}");
    assert!(ended.contains(") ended: failed: exit code 3 after "), "{ended}");
    let (sentence, tail) = ended.split_once('\n').unwrap();
    assert!(sentence.ends_with("; the end of its output:"), "{ended}");
    // Which of two pipes is read first is not told.
    assert!(tail == "> fine\n> FAIL one" || tail == "> FAIL one\n> fine", "{ended}");
    assert!(read(&world, "s-1").is_empty());
}

#[test]
fn pattern_that_comes_in_single_bytes_is_found_in_its_scope() {
    let world = world();
    let letters = "for part in B 'A' '\\303' '\\244' D; do printf \"$part\"; printf \"$part\" >&2; sleep 0.03; done; echo; echo >&2";
    let run = spawn(&world, "s-1", &["--watch", "^BAäD$=bad"], letters);
    over(&world, &run);
    let events = events(&world, &run);
    let streams: Vec<&Value> = named(&events, "bad").iter().map(|event| &event.meta["stream"]).collect();
    assert_eq!(streams.len(), 2, "{events:?}");
    assert!(streams.contains(&&"stdout".into()) && streams.contains(&&"stderr".into()), "{streams:?}");
    let call = |scope: &str| {
        let watch = format!("[{{\"regex\":\"x\",\"event\":\"x\",\"scope\":\"{scope}\"}}]");
        let text = format!("{{\"action\":\"spawn\",\"command\":\"echo x\",\"session_id\":\"s-1\",\"watch\":{watch}}}");
        let run = world.run_with_stdin(["exec", "call"], text.as_bytes()).exits(0).json();
        let run = run["run_id"].as_str().unwrap().to_owned();
        over(&world, &run);
        named(&super::watchers::events(&world, &run), "x").len()
    };
    assert_eq!((call("stdout"), call("stderr"), call("both")), (1, 0, 1));
}

#[test]
fn unterminated_prompt_line_matches() {
    let world = world();
    let go = world.dir().join("go");
    let shell = format!("printf 'Password: '; while [ ! -e {} ]; do sleep 0.02; done; echo secret", go.display());
    let run = spawn(&world, "s-1", &["--watch", "[Pp]assword: $=prompt", "--watch", "Password: secret=whole"], &shell);
    let told = world.json(["--session", "s-1", "inbox", "--wait", "30s", "--ack"]);
    assert!(told[0]["content"].as_str().unwrap().ends_with("matched \"prompt\" on stdout:\n> Password: "), "{told}");
    fs::write(go, "").unwrap();
    over(&world, &run);
    let events = events(&world, &run);
    assert_eq!((named(&events, "prompt").len(), named(&events, "whole").len()), (1, 1), "{events:?}");
}

#[test]
fn match_storm_is_summarized_and_counted() {
    let world = world();
    let run =
        spawn(&world, "s-1", &["--watch", "error=error", "--watch-once", "error 7=seven"], "seq -f 'error %g' 5000");
    over(&world, &run);
    let events = events(&world, &run);
    let errors = named(&events, "error");
    let matches: i64 = errors.iter().map(|event| event.meta["matches"].as_i64().unwrap()).sum();
    assert_eq!((matches, named(&events, "seven").len()), (5000, 1));
    // As many as a slow machine needs seconds for it.
    assert!(errors.len() < 200, "{}", errors.len());
    let hits = "SELECT hits FROM exec_watchers WHERE hex(run) = ?1 AND place = 0";
    assert_eq!(output(&world).query_row(hits, [name(&run)], |row| row.get::<_, i64>(0)).unwrap(), 5000);
    let told = read(&world, "s-1");
    assert!((4..20).contains(&told.len()), "{told:#?}");
    assert!(told.iter().any(|text| text.contains(" are not listed:\n> error")), "{told:#?}");
}

#[test]
fn bad_expression_is_refused_by_name_and_nothing_is_begun() {
    let world = world();
    let refused = |watch: &str| {
        let run = world.run(["--json", "exec", "spawn", "--watch", "fine", "--watch", watch, "--", "true"]);
        run.refuses(2, "usage").error()["message"].as_str().unwrap().to_owned()
    };
    assert!(refused("(=x").contains("watcher 2, '(': unclosed group"));
    assert!(refused("\\w{900}\\w{900}=x").contains("too large"));
    assert!(refused(&format!("{}=x", "y".repeat(257))).contains("at most 256"));
    let many: Vec<String> = (0..17).flat_map(|number| ["--watch".into(), format!("x{number}")]).collect();
    let args =
        ["--json", "exec", "spawn"].map(String::from).into_iter().chain(many).chain(["--".into(), "true".into()]);
    world.run(args).refuses(2, "usage");
    let conn = Connection::open(world.store()).unwrap();
    assert_eq!(conn.query_row("SELECT count(*) FROM exec_runs", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
