//! `/authorize`: a yes only for what is recorded, and a no for everything else.

use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;

use super::*;
use crate::common::mount::Mount;

const RULES: &str = r#"
[guard]
default = "allow"

[guard.roles.witness]
allow = ["Read"]

[[guard.rules]]
name = "no-fetch"
tools = ["WebFetch"]
action = "deny"
reason = "nothing is fetched"
"#;

const PUSH_RULE: &str = r#"
[guard]
default = "allow"

[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force"]
action = "deny"
"#;

fn ask(world: &TestProject, tool: &str) -> (u16, Value) {
    post(world, "/authorize", &json!({ "run_id": run_of(world, "s1"), "tool": tool, "input": { "a": 1 } }))
}

/// How often each tool is recorded as allowed, and as denied.
fn recorded(world: &TestProject, tool: &str) -> (i64, i64) {
    let conn = Connection::open(world.store()).unwrap();
    let count = "SELECT count(*) FILTER (WHERE allowed), count(*) FILTER (WHERE NOT allowed) FROM guard_decisions \
                 WHERE tool = ?1 AND entry_point = 'api'";
    conn.query_row(count, [tool], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[track_caller]
fn denied(answer: &(u16, Value), status: u16) {
    let (found, document) = answer;
    assert_eq!((*found, &document["allowed"], &document["rule"]), (status, &json!(false), &json!(null)), "{document}");
    assert!(!document["reason"].as_str().unwrap().is_empty(), "{document}");
}

#[test]
fn call_is_decided_by_the_rules_and_recorded() {
    let world = world();
    configure(&world, RULES);
    let _server = Server::start(&world, &[]);
    for _ in 0..20 {
        let (status, answer) = ask(&world, "Read");
        assert_eq!((status, &answer["allowed"], &answer["opinion"]), (200, &json!(true), &json!(true)), "{answer}");
    }
    let (status, answer) = ask(&world, "WebFetch");
    assert_eq!((status, &answer["allowed"], &answer["rule"]), (200, &json!(false), &json!("no-fetch")), "{answer}");
    eventually("all are recorded", || {
        (recorded(&world, "Read") == (20, 0) && recorded(&world, "WebFetch") == (0, 1)).then_some(())
    });
    // A longer call is judged apart from the others, with the same result.
    let long = json!({ "run_id": run_of(&world, "s1"), "tool": "Long", "input": { "text": "x".repeat(100_000) } });
    assert_eq!(post(&world, "/authorize", &long).1["allowed"], true);
    eventually("it is recorded", || (recorded(&world, "Long") == (1, 0)).then_some(()));
}

#[test]
fn changed_rule_is_in_force_only_when_it_is_trusted() {
    let world = world();
    configure(&world, RULES);
    let _server = Server::start(&world, &[]);
    assert_eq!(ask(&world, "Read").1["allowed"], true);
    let path = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("WebFetch", "Read")).unwrap();
    // A new denial counts at once, a removed one does not.
    assert_eq!(ask(&world, "Edit").1["allowed"], true);
    assert_eq!(ask(&world, "Read").1["rule"], "no-fetch");
    assert_eq!(ask(&world, "WebFetch").1["rule"], "no-fetch");
    world.run(["trust"]).exits(0);
    assert_eq!(ask(&world, "Edit").1["allowed"], true);
    assert_eq!(ask(&world, "Read").1["rule"], "no-fetch");
    assert_eq!(ask(&world, "WebFetch").1["allowed"], true);
}

#[test]
fn unresolvable_calls_are_denied() {
    let world = world();
    world.run(["session", "upsert", "--id", "w1", "--role", "witness", "--status", "running"]).exits(0);
    let _server = Server::start(&world, &[]);
    denied(&ask(&world, "Read"), 200);
    configure(&world, RULES);
    assert_eq!(ask(&world, "Read").1["allowed"], true);
    let run = run_of(&world, "s1");
    for (body, status) in [
        (json!({ "run_id": "nobody", "tool": "Read" }), 404),
        (json!({ "tool": "Read" }), 400),
        (json!({ "run_id": run }), 400),
        (json!({ "run_id": run, "tool": "" }), 200),
        (json!({ "run_id": run, "tool": "Read", "input": {}, "context": { "role": "witness" } }), 200),
        (json!({ "run_id": run, "tool": "Read", "input": {}, "context": 7 }), 400),
        (json!({ "run_id": run, "tool": "Read" }), 200),
        (json!({ "run_id": run, "tool": "Read", "input": null }), 200),
        (json!({ "run_id": run, "tool": "Read", "input": "{\"no json" }), 200),
        (json!({ "run_id": run, "tool": "Read", "input": [1] }), 200),
        (json!({ "tool": "Read", "context": { "provider": "acme", "external_session_id": "x" } }), 404),
        (json!({ "run_id": run, "tool": ["Read"] }), 400),
    ] {
        denied(&post(&world, "/authorize", &body), status);
    }
    let role = json!({ "run_id": run_of(&world, "w1"), "tool": "Edit", "input": {} });
    assert_eq!(post(&world, "/authorize", &role).1["allowed"], false);
    for garbage in [&b""[..], b"\0", b"{", b"\xff\xfe", b"null"] {
        let reply = link(&world).post("/authorize", garbage).unwrap();
        denied(&(reply.status, serde_json::from_slice(&reply.body).unwrap()), 400);
    }
    denied(&post(&world, "/authorize", &json!({ "run_id": run, "tool": "Read", "input": "x".repeat(2 << 20) })), 413);
    denied(&get(&world, "/authorize"), 405);
    // A session that has ended may do nothing more.
    world.run(["session", "end", "w1"]).exits(0);
    let ended = json!({ "run_id": run_of(&world, "w1"), "tool": "Read", "input": {} });
    denied(&post(&world, "/authorize", &ended), 200);
    fs::write(world.root().join(".fairway.toml"), "[guard]\ndefault = 7\n").unwrap();
    fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    denied(&ask_of(&world, &run), 400);
}

fn ask_of(world: &TestProject, run: &str) -> (u16, Value) {
    post(world, "/authorize", &json!({ "run_id": run, "tool": "Read", "input": {} }))
}

#[test]
fn call_without_rules_gives_hooks_no_opinion() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let hook = json!({ "run_id": run_of(&world, "s1"), "tool": "Read", "context": { "door": "hook" } });
    let (status, answer) = post(&world, "/authorize", &hook);
    assert_eq!((status, &answer["opinion"], &answer["allowed"]), (200, &json!(false), &json!(false)), "{answer}");
    // Another caller gets a denial, which is no opinion of the project either.
    let (status, answer) = ask(&world, "Read");
    assert_eq!((status, &answer["opinion"], &answer["allowed"]), (200, &json!(false), &json!(false)), "{answer}");
    eventually("it is recorded", || (recorded(&world, "Read") == (0, 1)).then_some(()));
    assert_eq!(post(&world, "/authorize", &json!({ "run_id": "nobody", "tool": "Read" })).1["opinion"], true);
}

#[test]
fn locked_store_is_denied_until_it_is_free() {
    let world = world();
    configure(&world, RULES);
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    assert_eq!(ask_of(&world, &run).1["allowed"], true);
    let conn = Connection::open(world.store()).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = ask_of(&world, &run);
    denied(&answer, 503);
    conn.execute_batch("ROLLBACK").unwrap();
    eventually("it is a yes again", || (ask_of(&world, &run).1["allowed"] == true).then_some(()));
    // A call that was denied in the end is not recorded as allowed.
    let allowed = || recorded(&world, "Read").0;
    eventually("both are recorded", || (allowed() >= 2).then_some(()));
    assert!(allowed() <= 3, "{}", allowed());
}

#[test]
fn full_or_unwritable_disk_is_denied() {
    let world = TestProject::uninitialized();
    world.real_time();
    let folder = world.root().join(".fairway");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let Some(mount) = Mount::tmpfs(&folder, 4_096) else { return };
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    world.run(["init", "--quiet"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "worker", "--status", "running"]).exits(0);
    configure(&world, RULES);
    let server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    assert_eq!(ask_of(&world, &run).1["allowed"], true);
    let filler = folder.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write(&[0; 4_096]).is_ok() {}
    let mut last = (0, Value::Null);
    // The rest of a file's last block may still take a few.
    for _ in 0..200 {
        last = ask_of(&world, &run);
        if last.1["allowed"] == false {
            break;
        }
    }
    denied(&last, 503);
    drop(file);
    fs::remove_file(&filler).unwrap();
    eventually("it is a yes again", || (ask_of(&world, &run).1["allowed"] == true).then_some(()));
    assert_eq!(server.end().code, Some(0));
    drop(mount);
}

#[test]
fn panic_is_denied_and_the_server_continues() {
    let world = world();
    configure(&world, RULES);
    let mut command = world.fairway(["serve", "--json"]);
    let _server = Server::of(command.env("FAIRWAY_TEST_FAULT", "panic"));
    for _ in 0..2 {
        denied(&ask(&world, "Read"), 500);
    }
    assert_eq!(recorded(&world, "Read"), (0, 0));
    assert_eq!(get(&world, "/health").0, 200);
}

#[test]
fn complex_texts_are_denied_while_the_server_answers_and_ends() {
    let world = world();
    configure(&world, PUSH_RULE);
    let mut server = Server::start(&world, &[]);
    let texts = [
        format!("{}git push -f", "find . -exec ".repeat(40)),
        format!("{}git push -f", "coproc ".repeat(1_142)),
        format!("{}git push -f", "(( (".repeat(500)),
        "echo a; ".repeat(8_000),
    ];
    let run = run_of(&world, "s1");
    let call = |text: &String| json!({ "run_id": run, "tool": "Bash", "input": { "command": text } });
    thread::scope(|scope| {
        let asked: Vec<_> =
            texts.iter().map(|text| scope.spawn(|| post(&world, "/authorize", &call(text)).1)).collect();
        assert_eq!(get(&world, "/health").0, 200);
        for (asked, text) in asked.into_iter().zip(&texts) {
            assert_eq!(asked.join().unwrap()["allowed"], false, "{}", &text[..40]);
        }
    });
    assert_eq!(get(&world, "/health").0, 200);
    // A text that is being judged does not hold up the end.
    let mut open = Vec::new();
    for text in &texts {
        let mut stream = socket(&world);
        let body = call(text).to_string();
        let head = format!("POST /authorize HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        open.push(stream);
    }
    server.signal(Signal::SIGTERM);
    assert_eq!(server.ended().code, Some(0));
}
