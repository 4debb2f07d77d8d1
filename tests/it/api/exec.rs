//! `/exec`: the exec document, with the exits of the command line as statuses.

use super::*;

#[test]
fn exec_route_answers_like_exec_call() {
    let world = world();
    let server = Server::start(&world, &[]);
    let (status, answer) = post(&world, "/exec", &json!({ "command": "echo out; exit 3" }));
    assert_eq!((status, &answer["success"], &answer["output"]), (200, &json!(false), &json!("out\n")), "{answer}");
    let run = run_of(&world, "s1");
    let shell = json!({ "action": "spawn", "command": "echo $FAIRWAY_SESSION_ID", "background": true });
    let (status, spawned) = post(&world, &format!("/exec?run_id={run}"), &shell);
    assert_eq!(status, 200, "{spawned}");
    let id = spawned["run_id"].as_str().unwrap_or_else(|| panic!("{spawned}"));
    let (status, over) = post(&world, "/exec", &json!({ "action": "wait", "run_ids": [id] }));
    assert_eq!(status, 200, "{over}");
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let session: Option<String> =
        conn.query_row("SELECT session_id FROM exec_runs WHERE id = ?1", [id], |row| row.get(0)).unwrap();
    assert_eq!(session.as_deref(), Some("s1"));

    assert_eq!(code(&post(&world, "/exec", &json!({ "action": "nonsense" }))), (400, "usage"));
    assert_eq!(post(&world, "/exec", &json!({ "action": "poll", "run_id": "zzzz" })).0, 404);
    assert_eq!(post(&world, "/exec?run_id=nobody", &json!({ "action": "list" })).0, 404);
    assert_eq!(link(&world).post("/exec", b"{").unwrap().status, 400);
    // Nothing that it has started is left in its hands.
    let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid())).unwrap();
    eventually("no child is left", || children().trim().is_empty().then_some(()));
    world.kill_jobs();
}

#[test]
fn idempotency_key_may_begin_with_a_hyphen() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let body = json!({ "action": "list" }).to_string();
    let text = format!(
        "POST /exec HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: --help\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = said(socket(&world), text.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
