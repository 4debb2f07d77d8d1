//! Changes that the page makes, and the texts that it shows.

use super::page_client::{open, request};
use super::*;
use crate::common::fixtures::{add_approval, add_lane, add_session};

#[test]
fn change_wants_full_access_and_the_pages_own_origin() {
    let world = world();
    let id = add_approval(&world, "s1", "Bash", true);
    let (_server, client) = open(&world, &[]);
    let item = format!("approval:{id}");
    let command = format!("fairway approvals answer {id} allow");
    let fields = [("item", item.as_str()), ("command", command.as_str())];
    let own = format!("origin: {}\r\n", client.origin);
    let port = client.port;
    for headers in [
        String::new(),
        "origin: null\r\n".to_owned(),
        format!("origin: http://127.0.0.1:{port}\r\n"),
        format!("origin: http://localhost:{port}\r\n"),
        "origin: http://evil.example\r\n".to_owned(),
        format!("{own}{own}"),
        format!("{own}sec-fetch-site: cross-site\r\n"),
        format!("{own}sec-fetch-site: same-site\r\n"),
        "sec-fetch-site: same-origin\r\n".to_owned(),
    ] {
        assert_eq!(client.post_with("/act", &headers, &fields).status, 403, "{headers}");
    }
    let no_form = request(port, "POST", "/act", &format!("{}{own}content-type: text/plain\r\n", client.headers()), "");
    assert_eq!(no_form.status, 400);
    assert_eq!(request(port, "GET", "/act", &client.headers(), "").status, 405);
    // Another device may only look, and nothing on its page changes anything.
    let reader = client.pair("read-only");
    let page = reader.get("/");
    assert!(page.body.contains(&format!("<code>{command}</code>")), "{}", page.body);
    assert!(!page.body.contains("method=\"post\"") && !page.body.contains("<button"), "{}", page.body);
    assert_eq!(reader.act(&fields).code(), (403, "not_admitted".into()));
    assert_eq!(reader.post_with("/device", &own, &[("access", "full")]).status, 403);
    assert_eq!(world.json(["approvals", "list"])[0]["status"], "pending");
    // A form works without the script too, and the answer is the person's.
    let done = client.post_with("/act", &own, &fields);
    assert!(done.status == 200 && done.body.contains("allowed Bash of s1"), "{}", done.body);
    let approval = &world.json(["approvals", "list", "--all"])[0];
    let person = format!("{}@{}", fairway_core::os::user::name(), fairway_core::os::host::name());
    assert_eq!((&approval["status"], &approval["answered_by"]), (&json!("allowed"), &json!(person)));
}

#[test]
fn items_are_settled_by_the_commands_that_the_board_names() {
    let world = world();
    add_lane(&world, "api", None, None);
    for (task, session) in [("T-1", "s1"), ("T-2", "s2")] {
        world.run(["task", "add", task, "Fix it"]).exits(0);
        world.run(["session", "upsert", "--id", session, "--role", "worker", "--lane", "api"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    let id = add_approval(&world, "s2", "Bash", true);
    world.run(["session", "end", "s1", "--status", "failed", "--reason", "gone"]).exits(0);
    let (_server, client) = open(&world, &[]);
    // The board names them, and the page shows the whole command with each.
    let board = world.json(["status"]);
    let page = client.get("/").body;
    for need in board["needs_you"].as_array().unwrap() {
        for next in need["commands"].as_array().unwrap() {
            assert!(page.contains(next["command"].as_str().unwrap()), "{next}: {page}");
        }
    }
    // Controls of one purpose are told apart without seeing where they stand.
    assert!(page.contains("<summary aria-keyshortcuts=\"r\" aria-label=\"release it… s1\">"), "{page}");
    let lane = client.get("/lane?name=api").body;
    assert!(lane.contains(" aria-label=\"send to s2\">"), "{lane}");
    let release = "fairway release T-1 --force --reason TEXT";
    let fields = [("item", "dead:s1"), ("command", release), ("text", "it is dead")];
    assert_eq!(client.act(&fields[..2]).code(), (400, "usage".into()), "no reason");
    assert_eq!(client.act(&fields[1..]).code(), (404, "not_found".into()), "no item");
    let done = client.act(&fields);
    assert_eq!((done.status, &done.json()["line"]), (200, &json!("released T-1: in_progress → todo")), "{}", done.body);
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo");
    // The session is over, so its claim cannot go on; what can be taken back is offered, in words that work.
    assert_eq!(done.json()["undo"], json!(null));
    let stop = [("item", "approval:1"), ("command", "fairway session stop s2")];
    assert_eq!(client.act(&stop).code(), (403, "not_confirmed".into()));
    let blocked = client.act(&[("command", "fairway task block T-2 --force --reason TEXT"), ("text", "rain")]);
    let undo = blocked.json()["undo"].as_str().unwrap().to_owned();
    let back = client.act(&[("command", &undo)]);
    assert_eq!(back.json()["line"], "took back the block of T-2: blocked → in_progress", "{}", back.body);
    assert_eq!(client.act(&[("command", &undo)]).code(), (409, "not_undoable".into()));
    // Settled: the same form of a page that is not current releases nobody's claim.
    world.run(["--session", "s2", "claim", "T-1"]).exits(0);
    assert_eq!(client.act(&fields).code(), (404, "not_found".into()));
    // A refusal of the use case comes with its code and its hint.
    let item = format!("approval:{id}");
    let deny = format!("fairway approvals answer {id} deny");
    assert_eq!(client.act(&[("item", &item), ("command", &deny)]).status, 200);
    let prompt = "fairway prompt s2 TEXT";
    let sent = client.act(&[("command", prompt), ("text", "run <b>the tests\r\nnow")]);
    assert_eq!(sent.status, 200, "{}", sent.body);
    let outbox = world.json(["outbox", "list", "--to-session", "s2"]);
    assert_eq!((&outbox[0]["content"], &outbox[0]["source"]), (&json!("run <b>the tests\nnow"), &json!("nudge")));
    assert_eq!(client.act(&[("command", "fairway prompt nobody TEXT"), ("text", "x")]).code().0, 404);
    for other in ["fairway trust", "fairway session attach s2", "sh -c true", ""] {
        assert_eq!(
            client.act(&[("command", other), ("confirm", "yes")]).code(),
            (400, "invalid_value".into()),
            "{other}"
        );
    }
}

/// The form of an answer shows the whole question and carries its id: a page that is not current answers no other one.
#[test]
fn answer_of_the_page_reaches_the_question_that_it_shows_and_no_other() {
    let world = world();
    let script = "while IFS= read -r line; do printf '%s\\n' \"$line\" >>\"$0\"; done";
    let launch = ["session", "launch", "--role", "dev", "--name", "q1", "--", "sh", "-c", script, "../got"];
    world.run(launch).exits(0);
    let ask = |question: &str| {
        let beat = ["session", "heartbeat", "q1", "--activity", "requires_action", "--waiting-for", question];
        world.run(beat).exits(0);
    };
    ask("may I run the <b>tests</b>?");
    let (_server, client) = open(&world, &[]);
    let page = client.get("/").body;
    assert!(page.contains("<p class=\"asked\">may I run the &lt;b&gt;tests&lt;/b&gt;?</p>"), "{page}");
    let fields =
        |item: &'static str, command: &'static str| [("item", item), ("command", command), ("text", "yes, go on")];
    let first = fields("question:q1:1", "fairway answer question:q1:1 TEXT");
    ask("may I drop the database?");
    assert_eq!(client.act(&first).code(), (404, "not_found".into()));
    // The command of another item.
    assert_eq!(client.act(&fields("question:q1:2", first[1].1)).code(), (404, "not_found".into()));
    let second = fields("question:q1:2", "fairway answer question:q1:2 TEXT");
    let done = client.act(&second);
    assert_eq!((done.status, &done.json()["line"]), (200, &json!("answered question:q1:2: typed 10 bytes into q1")));
    eventually("the answer", || {
        let got = fs::read_to_string(world.dir().join("got")).unwrap_or_default();
        (got == "yes, go on\n").then_some(())
    });
    assert_eq!(client.act(&second).code(), (404, "not_found".into()));
    world.run(["session", "stop", "q1"]).exits(0);
}

/// Texts that a browser must not take for markup, and what a person would not see.
const HOSTILE: &str = "\"'><script src=//evil>canary</script><img src=x onerror=canary()>&lt;\u{202e}\u{200b}";

#[test]
fn hostile_text_of_every_field_is_shown_as_text() {
    let world = world();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    add_lane(&world, "api", None, None);
    for (session, lane) in [("s2", Some("api")), ("s3", None)] {
        add_session(&world, session, "worker", lane);
    }
    for (task, session) in [("T-1", "s2"), ("T-2", "s3"), ("T-3", "s2")] {
        world.run(["task", "add", task, "x"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    world
        .run(["--session", "s2", "checkpoint", "record", "T-1", "--state", "awaiting_input", "--summary", "x"])
        .exits(0);
    world.run(["--session", "s2", "task", "block", "T-3", "--reason", "x"]).exits(0);
    let id = add_approval(&world, "s3", "Bash", true);
    let text = format!("{HOSTILE}'");
    let input = json!({ "command": text, HOSTILE: { "deep": [text] } }).to_string();
    conn.execute("UPDATE approvals SET input = ?1, tool = ?2 WHERE id = ?3", (&input, HOSTILE, id)).unwrap();
    conn.execute("UPDATE tasks SET title = ?1", [HOSTILE]).unwrap();
    conn.execute("UPDATE tasks SET blocked_reason = ?1 WHERE id = 'T-3'", [HOSTILE]).unwrap();
    conn.execute("UPDATE agent_sessions SET waiting_for = ?1, activity = 'requires_action', activity_source = ?1, activity_at = started_at", [HOSTILE]).unwrap();
    conn.execute("UPDATE checkpoints SET summary = ?1", [HOSTILE]).unwrap();
    drop(conn);
    let (_server, client) = open(&world, &[]);
    let page = client.get("/").body;
    assert!(page.matches("&lt;img src=x onerror=canary()&gt;&amp;lt;\\u{202e}\\u{200b}").count() >= 10, "{page}");
    for live in ["<script src=//", "<img", "\u{202e}", "\u{200b}", "'><"] {
        assert!(!page.contains(live), "{live}: {page}");
    }
    let (_, parts) = client.events("").next();
    let events = parts.to_string();
    assert!(events.contains("&lt;img") && !events.contains("<img"), "{events}");
    // An answer names what it is about, as text.
    let done = client
        .act(&[("item", &format!("approval:{id}")), ("command", &format!("fairway approvals answer {id} allow"))]);
    assert_eq!(done.status, 200, "{}", done.body);
    // A command that the page does not show whole is not allowed from the page.
    let long = add_approval(&world, "s3", "Bash", true);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let cut = json!({ "command": format!("{}…", "x".repeat(2_000)) }).to_string();
    conn.execute("UPDATE approvals SET input = ?1 WHERE id = ?2", (&cut, long)).unwrap();
    let page = client.get("/").body;
    assert!(page.contains("longer than what is stored"), "{page}");
    let button = |answer: &str| format!("name=\"command\" value=\"fairway approvals answer {long} {answer}\"");
    assert!(!page.contains(&button("allow")) && page.contains(&button("deny")), "{page}");
}
