//! Frames, by `--once`.

use crate::common::TestProject;

/// A project in which something of everything goes on.
pub fn busy() -> TestProject {
    let mut world = TestProject::new();
    world.set("NO_COLOR", "1");
    for (id, title) in [
        ("T-1", "Fix the total"),
        ("T-2", "Print invoices"),
        ("T-3", "Import old orders"),
        ("T-4", "Refunds"),
        ("T-6", "Not started"),
    ] {
        world.run(["task", "add", id, title]).exits(0);
    }
    world.run(["lane", "add", "cart"]).exits(0);
    world.run(["lane", "add", "docs"]).exits(0);
    for (session, lane, task) in [("ada", "cart", "T-1"), ("bob", "cart", "T-2"), ("cleo", "docs", "T-3")] {
        let upsert = ["session", "upsert", "--id", session, "--role", "dev", "--lane", lane, "--provider", "acme"];
        world.run(upsert).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    world.run(["session", "upsert", "--id", "dan", "--role", "dev"]).exits(0);
    world.run(["--session", "dan", "claim", "T-4"]).exits(0);
    world.run(["--session", "dan", "task", "submit", "T-4"]).exits(0);
    let waiting = ["--activity", "requires_action", "--waiting-for", "which currency for refunds?"];
    world.run([&["session", "heartbeat", "ada"], &waiting[..]].concat()).exits(0);
    world.run(["--session", "cleo", "task", "block", "T-3", "--reason", "no access to the archive"]).exits(0);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let now = world.now().millis();
    // An agent with a terminal, into which an answer can be typed.
    let launched = "UPDATE agent_sessions SET adapter_script = '/backend', adapter_state = '/state' WHERE id = 'ada'";
    conn.execute(launched, []).unwrap();
    conn.execute(
        "INSERT INTO usage_turns (run_id, session_id, role, lane, at, digest, input_tokens, output_tokens, \
         cache_read_tokens, cache_creation_tokens, cost_usd) SELECT run_id, id, role, lane, ?1, 'd-' || id, 1, 1, 0, 0, 0.4 \
         FROM agent_sessions WHERE id IN ('ada', 'bob', 'dan')",
        [now],
    )
    .unwrap();
    conn.execute(
        "INSERT INTO events (at, kind, session_id, run_id, actor, data) SELECT ?1, 'usage.reported', id, run_id, id, '{}' \
         FROM agent_sessions WHERE id IN ('ada', 'bob', 'dan')",
        [now],
    )
    .unwrap();
    world.advance_clock(600);
    world
}

/// The lines of a frame of this size.
pub fn frame(world: &TestProject, cols: u16, rows: u16) -> String {
    let mut command = world.fairway(["top", "--once"]);
    command.env("COLUMNS", cols.to_string()).env("LINES", rows.to_string());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    world.redacted(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn frame_of_80_by_24_is_usable() {
    insta::assert_snapshot!(frame(&busy(), 80, 24));
}

#[test]
fn frame_of_120_by_40_shows_everything() {
    insta::assert_snapshot!(frame(&busy(), 120, 40));
}

#[test]
fn frame_of_200_by_50_shows_everything() {
    let world = busy();
    let frame = frame(&world, 200, 50);
    // The first item has agent, reason and age on its line.
    let first = frame.lines().skip_while(|line| !line.starts_with("NEEDS YOU")).nth(1).unwrap();
    for part in ["ada", "which currency for refunds?", "10m"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // Nothing is a command to be typed, no source stands in brackets, and nothing is cut, however narrow it is.
    for cols in [60, 80, 120, 160, 200] {
        let frame = self::frame(&world, cols, 50);
        assert!(!frame.contains("fairway ") && !frame.contains("(heartbeat)") && !frame.contains('…'), "{frame}");
    }
    insta::assert_snapshot!(frame);
}

#[test]
fn items_take_half_of_the_rows_at_most_and_the_rest_stays_in_sight() {
    let mut world = TestProject::new();
    world.set("NO_COLOR", "1");
    world.run(["session", "upsert", "--id", "calm", "--role", "dev"]).exits(0);
    for number in 1..=20 {
        let (id, lane) = (format!("q{number}"), format!("lane-{}", number % 3));
        if number <= 3 {
            world.run(["lane", "add", &lane]).exits(0);
        }
        world.run(["session", "upsert", "--id", &id, "--role", "dev", "--lane", &lane]).exits(0);
        let asks = ["--activity", "requires_action", "--waiting-for", "which currency?"];
        world.run([&["session", "heartbeat", &id], &asks[..]].concat()).exits(0);
    }
    for (cols, rows) in [(80, 24), (120, 20), (60, 20)] {
        let frame = frame(&world, cols, rows);
        let at = |text: &str| frame.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{frame}"));
        assert!(at("NEEDS YOU (20)") < at("AT WORK (1)") && at("AT WORK (1)") <= usize::from(rows / 2), "{frame}");
        // The most urgent one is in sight, and how many are not.
        assert!(frame.lines().nth(at("NEEDS YOU") + 1).unwrap().contains("which currency?"), "{frame}");
        assert!(frame.contains("↓"), "{frame}");
    }
    // With room for all nothing is folded.
    let whole = frame(&world, 120, 100);
    assert_eq!(whole.matches("question · q").count(), 20, "{whole}");
}

#[test]
fn frame_of_any_size_is_drawn() {
    let world = busy();
    for (cols, rows) in [(1, 1), (3, 2), (20, 5), (40, 10), (79, 15), (250, 100)] {
        let frame = frame(&world, cols, rows);
        assert_eq!(frame.lines().count(), usize::from(rows), "{cols} × {rows}: {frame}");
    }
}

#[test]
fn hostile_texts_stay_in_their_cells() {
    let world = TestProject::new();
    let text = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{202e}txt\nsecond\t日本語\u{200b}";
    world.run(["task", "add", "T-1", "title"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "dev"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["session", "heartbeat", "s1", "--activity", "requires_action", "--waiting-for", "text"]).exits(0);
    // The commands refuse such a text; the store may have it all the same.
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute("UPDATE tasks SET title = ?1", [text]).unwrap();
    conn.execute("UPDATE agent_sessions SET waiting_for = ?1", [text]).unwrap();
    for cols in [40, 80, 200] {
        let frame = frame(&world, cols, 24);
        assert_eq!(frame.lines().count(), 24, "{frame}");
        assert!(!frame.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}', '\t']), "{frame:?}");
        assert!(frame.contains("s1"), "{frame}");
    }
}

#[test]
fn costs_of_today_are_on_the_board_and_those_of_yesterday_are_not() {
    let world = busy();
    let costs = |world: &TestProject| {
        let board = world.json(["status"]);
        let lanes: Vec<_> = board["lanes"].as_array().unwrap().iter().map(|lane| lane["cost_usd"].as_f64()).collect();
        (board["cost_usd"].as_f64(), lanes)
    };
    let (all, lanes) = costs(&world);
    assert!((all.unwrap() - 1.2).abs() < 1e-9, "{all:?}");
    assert_eq!((lanes[0].map(|cost| (cost * 100.0).round()), lanes[1]), (Some(80.0), None));
    assert!(world.run(["status"]).exits(0).stdout.contains(" · $1.20 today"));
    world.advance_clock(24 * 60 * 60);
    assert_eq!(costs(&world), (None, vec![None, None]));
}

/// A number that is cut is another number.
#[test]
fn head_line_leaves_out_whole_numbers_where_it_is_narrow() {
    let world = busy();
    for cols in (62..=120).step_by(6) {
        let head = frame(&world, cols, 24).lines().next().unwrap().to_owned();
        assert!(head.contains("1 blocked") && !head.contains('…'), "{cols}: {head}");
        assert_eq!(head.contains('$'), head.contains("$1.20 today"), "{cols}: {head}");
        assert!(head.contains("today") || !head.contains("done"), "{cols}: {head}");
    }
}
