//! `/stream` and `/ack`: prompts with receipts.

use super::*;

/// Of how many prompts none is lost.
const ALL: usize = 1_000;

fn prompt(world: &TestProject, run: &str, text: &str, priority: &str) -> i64 {
    let body = json!({ "run_id": run, "content": text, "priority": priority });
    let (status, answer) = post(world, "/prompt", &body);
    assert_eq!((status, &answer["accepted"]), (200, &json!(true)), "{answer}");
    answer["message_id"].as_i64().unwrap()
}

fn status(world: &TestProject, id: i64) -> String {
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.query_row("SELECT status FROM messages WHERE id = ?1", [id], |row| row.get(0)).unwrap()
}

#[test]
fn prompt_comes_down_the_stream_and_is_acknowledged() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let waits = prompt(&world, &run, "before", "normal");
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    // It has reported no state: it gets no work, but what is urgent.
    let first = prompt(&world, &run, "first", "urgent");
    assert_eq!(stream.next().unwrap().id, Some(first));
    assert_eq!(status(&world, waits), "queued");
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    let item = stream.next().unwrap();
    assert_eq!((item.id, item.event.as_str(), &item.data["content"]), (Some(waits), "prompt", &json!("before")));
    assert_eq!((status(&world, waits).as_str(), &item.data["interrupt"]), ("offered", &json!(false)));
    let urgent = prompt(&world, &run, "now", "urgent");
    let item = stream.next().unwrap();
    assert_eq!((item.id, &item.data["interrupt"]), (Some(urgent), &json!(true)));
    let (code, answer) = post(&world, "/ack", &json!({ "run_id": run, "message_ids": [waits, urgent, 99] }));
    assert_eq!((code, answer), (200, json!({ "acknowledged": [waits, urgent], "unknown": [99] })));
    assert_eq!((status(&world, waits).as_str(), status(&world, urgent).as_str()), ("acknowledged", "acknowledged"));
    // A busy one is not disturbed.
    post(&world, "/lifecycle", &json!({ "event": "busy", "run_id": run }));
    let later = prompt(&world, &run, "later", "normal");
    let urgent = prompt(&world, &run, "again", "urgent");
    assert_eq!(stream.next().unwrap().id, Some(urgent));
    assert_eq!(status(&world, later), "queued");
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    assert_eq!(stream.next().unwrap().id, Some(later));
    // Its end is the stream's.
    post(&world, "/lifecycle", &json!({ "event": "stopped", "run_id": run }));
    assert_eq!(stream.next(), None);
}

/// `queued` is true only if the agent is busy, or if nothing is connected.
#[test]
fn prompt_to_an_idle_agent_with_a_stream_is_not_queued() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let send = || {
        let (status, answer) = post(&world, "/prompt", &json!({ "run_id": run, "content": "x" }));
        assert_eq!((status, &answer["accepted"]), (200, &json!(true)), "{answer}");
        json!([answer["queued"], answer["position"], answer["reason"]])
    };
    assert_eq!(send(), json!([true, 1, "state_unknown"]));
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    assert_eq!(send(), json!([true, 2, null]), "nothing is connected");
    let mut stream = Reader::of(&world, &format!("/stream?run_id={run}"), None);
    stream.next().unwrap();
    stream.next().unwrap();
    assert_eq!(send(), json!([false, 0, null]), "two are offered, and the third goes at once, too");
    stream.next().unwrap();
    post(&world, "/lifecycle", &json!({ "event": "busy", "run_id": run }));
    assert_eq!(send(), json!([true, 4, "session_busy"]));
    drop(stream);
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    eventually("the stream is gone", || (send()[0] == true).then_some(()));
}

#[test]
fn unacknowledged_prompt_is_resent_to_the_next_stream() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let route = format!("/stream?run_id={run}");
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    let ids = ["a", "b", "c"].map(|text| prompt(&world, &run, text, "normal"));
    let mut first = Reader::of(&world, &route, None);
    assert_eq!(ids.map(|_| first.next().unwrap().id), ids.map(Some));
    post(&world, "/ack", &json!({ "run_id": run, "message_ids": [ids[0]] }));
    // A newer stream ends the older one.
    let mut second = Reader::of(&world, &route, None);
    assert_eq!([second.next().unwrap().id, second.next().unwrap().id], [Some(ids[1]), Some(ids[2])]);
    assert_eq!(first.next(), None);
    drop(second);
    let mut third = Reader::of(&world, &route, Some(ids[1]));
    assert_eq!(third.next().unwrap().id, Some(ids[2]));
}

#[test]
fn thousand_prompts_arrive_once_each() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let route = format!("/stream?run_id={run}");
    post(&world, "/lifecycle", &json!({ "event": "idle", "run_id": run }));
    let world = std::sync::Arc::new(world);
    let senders: Vec<_> = (0..4)
        .map(|sender| {
            let (world, run) = (std::sync::Arc::clone(&world), run.clone());
            thread::spawn(move || {
                let mut link = link(&world);
                for number in 0..ALL / 4 {
                    let body = json!({ "run_id": run, "content": format!("{sender}-{number}") });
                    let reply = link.post("/prompt", body.to_string().as_bytes()).unwrap();
                    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
                }
            })
        })
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    let mut reader = Reader::of(&world, &route, None);
    let mut acks = link(&world);
    while seen.len() < ALL {
        let item = reader.next().unwrap();
        assert!(seen.insert(item.data["content"].as_str().unwrap().to_owned()), "twice: {item:?}");
        let body = json!({ "run_id": run, "message_ids": [item.id] });
        assert_eq!(acks.post("/ack", body.to_string().as_bytes()).unwrap().status, 200);
        // Sometimes the runtime comes anew, with everything acknowledged.
        if seen.len() % 250 == 0 {
            reader = Reader::of(&world, &route, item.id);
        }
    }
    for sender in senders {
        sender.join().unwrap();
    }
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let left: i64 =
        conn.query_row("SELECT count(*) FROM messages WHERE status <> 'acknowledged'", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}
