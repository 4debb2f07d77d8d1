//! The stream of the page's changes.

use std::time::Instant;

use fairway_core::os::lock::SharedLock;
use nix::sys::socket::{setsockopt, sockopt};

use super::page_client::open;
use super::*;
use crate::common::fixtures::{add_lane, discard_store};
use crate::sessions::marked;

#[test]
fn stream_has_what_changed_and_goes_on_where_the_client_was() {
    let world = world();
    add_lane(&world, "quiet", None, None);
    let (_server, client) = open(&world, &[]);
    let page = client.get("/").body;
    let since = page.split("data-since=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let mut events = client.events(&since);
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let seen = events.until("session:s1");
    let (id, parts) = seen.last().unwrap();
    let names: Vec<&str> = parts.as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"work") && !names.contains(&"free") && !names.contains(&"needs"), "{parts}");
    drop(events);
    // A client that was away gets what it missed, and one of another server gets everything.
    world.run(["--session", "s1", "task", "block", "T-1", "--reason", "no key"]).exits(0);
    let (_, missed) = client.events(id).until("no key").pop().unwrap();
    assert!(!missed.to_string().contains("\"free\""), "{missed}");
    let (_, whole) = client.events("00000000-7").next();
    assert_eq!(whole.as_array().unwrap().len(), 7, "{whole}");
    // A task that waits changes a number and adds its row, alone.
    let mut events = client.events("");
    let (_, before) = events.next();
    world.run(["task", "add", "T-2", "Later"]).exits(0);
    let (_, parts) = events.next();
    assert_eq!(parts[0]["name"], "counts", "{before} {parts}");
    assert_eq!((&parts[1]["order"], parts.as_array().unwrap().len()), (&json!(["ready:T-2"]), 2), "{parts}");
}

#[test]
fn open_page_sees_a_death_and_costs_nothing_while_nothing_happens() {
    let world = world();
    add_lane(&world, "api", None, None);
    let launch =
        ["session", "launch", "--json", "--role", "dev", "--lane", "api", "--name", "d1", "--", "sleep", "300"];
    let launched = world.run(launch).exits(0).json();
    let pid = i32::try_from(launched["pid"].as_i64().unwrap()).unwrap();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "d1", "claim", "T-1"]).exits(0);
    let (server, client) = open(&world, &[]);
    let mut events = client.events("");
    events.until("Fix the total");
    let switches = || -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
        let of = |path: PathBuf| fs::read_to_string(path.join("status")).unwrap_or_default();
        let count = |text: String| -> u64 {
            text.lines()
                .filter_map(|line| line.split_once("voluntary_ctxt_switches:"))
                .map(|(_, n)| n.trim().parse::<u64>().unwrap())
                .sum()
        };
        threads.map(|thread| count(of(thread.path()))).sum()
    };
    // Once nothing moves any more, no thread runs: nothing is polled.
    let mut last = switches();
    eventually("an idle server", || {
        thread::sleep(Duration::from_millis(300));
        let now = switches();
        (std::mem::replace(&mut last, now) == now).then_some(())
    });
    // A page counts as a person who watches.
    let is_watched = || SharedLock::is_locked(&runtime(&world).join("attended/approvals")).unwrap();
    assert!(is_watched(), "the page does not count");
    let start = Instant::now();
    // Its supervisor first, which would record the end.
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    for left in marked(launched["run_id"].as_str().unwrap()).unwrap() {
        let _ = left.signal(Signal::SIGKILL);
    }
    let seen = events.until("dead");
    // A second, and what a busy machine may take besides.
    assert!(!seen.is_empty() && start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // The first item says who, why, since when and what to do, once nothing of the session is left.
    let parts = [
        "dead",
        "d1",
        "T-1: process ",
        "Fix the total",
        "<time datetime=\"20",
        "fairway release T-1 --force --reason TEXT",
    ];
    eventually("a first item with each of its parts", || {
        let page = client.get("/").body;
        let first = page.split("<li data-key=\"dead:d1\" id=").nth(1)?;
        parts.iter().all(|part| first.contains(part)).then_some(())
    });
    drop(events);
    eventually("the end of the watch", || (!is_watched()).then_some(()));
}

#[test]
fn session_becomes_stale_on_an_open_page_by_its_silence_alone() {
    let world = world();
    configure(&world, "[sessions]\nstale_after = \"3s\"");
    for (session, task) in [("a", "T-1"), ("b", "T-2"), ("c", "T-3")] {
        world.run(["session", "upsert", "--id", session, "--role", "worker"]).exits(0);
        world.run(["task", "add", task, "Fix the total"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    // The others wait for a person, who may take as long as he likes.
    for session in ["s1", "b", "c"] {
        world.run(["session", "heartbeat", session, "--activity", "requires_action"]).exits(0);
    }
    let (_server, client) = open(&world, &[]);
    let mut events = client.events("");
    let before = world.value("SELECT max(seq) FROM events");
    let seen = events.until("no heartbeat for more than 3s");
    assert!(seen.last().unwrap().1.to_string().contains("stale:a"), "{seen:?}");
    // Nothing has written that.
    assert_eq!(world.value("SELECT max(seq) FROM events"), before);
    assert_eq!(world.value("SELECT status FROM agent_sessions WHERE id = 'a'"), "running");
}

#[test]
fn stream_has_a_beat_at_once_and_again_while_nothing_happens() {
    let world = world();
    let (_server, client) = open(&world, &[]);
    let mut events = client.events("");
    let first = events.beat();
    assert_eq!(first["lost"], Value::Null);
    let start = Instant::now();
    assert_eq!(events.beat()["lost"], Value::Null);
    assert!(start.elapsed() < Duration::from_secs(18), "{:?}", start.elapsed());
    // A client that comes later learns how old the proof is.
    assert!(client.events("").beat()["age_ms"].as_u64().unwrap() < 15_000);
    fs::rename(world.root().join(".fairway"), world.root().join("gone")).unwrap();
    let lost = eventually("the loss is told", || events.beat()["lost"].as_str().map(str::to_owned));
    assert!(!lost.is_empty());
    fs::rename(world.root().join("gone"), world.root().join(".fairway")).unwrap();
}

#[test]
fn browser_that_reads_nothing_delays_nothing_else_and_is_current_once_it_reads() {
    let world = world();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, claimant, epoch, claimed_at, blocked_reason)
         SELECT 'B-' || i, 'blocked', 'blocked', 2, i, i, 'me', 1, i, 'why' FROM n;
         INSERT INTO claims (task_id, epoch, claimant, claimed_at) SELECT id, 1, 'me', 1 FROM tasks;",
    )
    .unwrap();
    let (server, client) = open(&world, &[]);
    let mut hung = client.events("");
    let (id, _) = hung.next();
    setsockopt(hung.lines.get_ref(), sockopt::RcvBuf, &8_192).unwrap();
    let mut vanished = client.events("");
    vanished.next();
    let mut other = client.events("");
    other.next();
    drop(vanished);
    let change = |text: &str, which: &str| {
        let update = format!("UPDATE tasks SET blocked_reason = ?1 WHERE status = 'blocked' AND id LIKE '{which}'");
        conn.execute(&update, [text]).unwrap();
        world.run(["session", "heartbeat", "s1"]).exits(0);
    };
    // More than a connection takes unread, and then small changes.
    change(&"long ".repeat(10_000), "%");
    other.until("long long");
    change("short", "%");
    other.until("short");
    let start = Instant::now();
    for number in 0..5 {
        let text = format!("round {number}.");
        change(&text, "B-1");
        other.until(&text);
    }
    assert_eq!(get(&world, "/health").0, 200);
    assert_eq!(client.get("/").status, 200);
    assert!(start.elapsed() < WAIT_TIMEOUT, "{:?}", start.elapsed());
    // The one that was away comes back, skips versions and misses nothing.
    drop(hung);
    let (_, parts) = client.events(&id).next();
    let parts = parts.to_string();
    assert!(parts.contains("round 4.") && parts.contains("short") && !parts.contains("round 3."), "{parts:.500}");
    assert_eq!(server.end().code, Some(0));
    discard_store(&world);
}
