//! Each route: what it does, what it refuses, and that it is described.

use super::*;

#[test]
fn described_routes_equal_served_routes() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let (status, document) = get(&world, "/openapi.json");
    assert_eq!(status, 200);
    let checked_in = include_str!("../../../docs/reference/openapi.json");
    assert_eq!(document, serde_json::from_str::<Value>(checked_in).unwrap());
    let routes: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    insta::assert_snapshot!(routes.iter().map(|route| route.as_str()).collect::<Vec<_>>().join(" "), @"/lifecycle /prompt /context /authorize /telemetry /identity /health /exec /events /stream /ack /approvals /approvals/{id} /openapi.json");
    for (route, methods) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "delete"] {
            let head = format!(
                "{} {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}",
                method.to_uppercase(),
                route.replace("{id}", "7")
            );
            // A stream of everything would not end: it is cut where its head is.
            if method == "get" && route == "/events" {
                continue;
            }
            let answer = said(socket(&world), head.as_bytes());
            let is_none = answer.starts_with("HTTP/1.1 405");
            assert_eq!(is_none, methods[method].is_null(), "{method} {route}: {answer}");
            assert!(!answer.contains("unknown route"), "{method} {route}: {answer}");
        }
    }
}

#[test]
fn invalid_requests_get_the_error_document() {
    let world = world();
    let _server = Server::start(&world, &[]);
    assert_eq!(code(&get(&world, "/nowhere")), (404, "not_found"));
    assert_eq!(code(&post(&world, "/events", &json!({}))), (405, "usage"));
    for route in ["/lifecycle", "/prompt", "/context", "/authorize", "/telemetry", "/identity", "/health", "/ack"] {
        for body in ["", "x", "[", "[]", "7", "null", "\"\\ud800\"", "{\"run_id\":7}", "{"] {
            let reply = link(&world).post(route, body.as_bytes()).unwrap();
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            assert_eq!(reply.status, 400, "{route} {body}: {text}");
            let error: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(error["error"]["kind"], "usage", "{route} {body}: {text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(link(&world).post(route, deep.as_bytes()).unwrap().status, 400, "{route}");
    }
    let missing = post(&world, "/prompt", &json!({ "run_id": "x" }));
    assert_eq!(missing.1["error"]["message"], "missing field `content`");
    for (route, body, message) in [
        (
            "/identity",
            json!({ "run_id": "x", "credentials": { "type": "password", "value": "v" } }),
            "invalid credentials.type: must be one of `api_key`, `oauth`, `token`",
        ),
        ("/identity", json!({ "run_id": "x", "env": 7 }), "invalid env: must be a map"),
        ("/ack", json!({ "run_id": "x", "message_ids": ["a"] }), "invalid message_ids"),
        ("/prompt", json!({ "run_id": "x", "content": 7 }), "invalid content: must be a string"),
        ("/prompt", json!(7), "invalid request body: must be struct Body"),
    ] {
        let refused = post(&world, route, &body);
        assert_eq!((refused.0, &refused.1["error"]["message"]), (400, &json!(message)), "{route}");
    }
    let missing = get(&world, "/context");
    assert_eq!((missing.0, &missing.1["error"]["message"]), (400, &json!("missing field `run_id`")));
    let unknown = json!({ "run_id": "nobody", "content": "x", "event": "busy", "events": [], "message_ids": [],
        "sections": [{ "type": "work", "content": "x" }] });
    for route in ["/lifecycle", "/prompt", "/telemetry", "/identity", "/health", "/ack", "/context"] {
        assert_eq!(code(&post(&world, route, &unknown)), (404, "not_found"), "{route}");
    }
    for route in ["/context", "/identity", "/health", "/stream"] {
        assert_eq!(code(&get(&world, &format!("{route}?run_id=nobody"))), (404, "not_found"), "{route}");
    }
}

#[test]
fn runtime_reports_its_life_and_its_health() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = "01890000-0000-7000-8000-000000000001";
    let at = |millis: i64| json!(1_700_000_000_000_i64 + millis);
    let started = json!({ "event": "started", "run_id": run, "session_id": "s2", "timestamp": at(0),
        "metadata": { "role": "backend", "provider": "acme", "odd": [1] }, "odd": true });
    assert_eq!(post(&world, "/lifecycle", &started).0, 200);
    // What registers an unknown run is said, whatever is reported of it.
    for event in ["started", "idle"] {
        let body = json!({ "event": event, "run_id": "uuid", "metadata": {} });
        let (status, answer) = post(&world, "/lifecycle", &body);
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")), "{answer}");
        assert!(
            answer["error"]["hint"].as_str().unwrap().contains("\"metadata\": {\"role\": \"backend\"}"),
            "{answer}"
        );
    }
    let life = |event: &str, millis: i64| {
        let (status, answer) =
            post(&world, "/lifecycle", &json!({ "event": event, "run_id": run, "timestamp": at(millis) }));
        assert_eq!(status, 200, "{answer}");
        (answer["status"].as_str().unwrap().to_owned(), answer["activity"].as_str().unwrap().to_owned())
    };
    let is = |status: &str, activity: &str| (status.to_owned(), activity.to_owned());
    assert_eq!(life("busy", 2_000), is("running", "busy"));
    assert_eq!(life("idle", 1_000), is("running", "busy"));
    assert_eq!(life("idle", 3_000), is("running", "idle"));
    let rfc = json!({ "event": "busy", "run_id": run, "timestamp": "2026-01-01T00:00:00+02:00" });
    assert_eq!(post(&world, "/lifecycle", &rfc).1["activity"], "busy");
    let odd = json!({ "event": "busy", "run_id": run, "timestamp": "yesterday" });
    assert_eq!(post(&world, "/lifecycle", &odd).0, 400);

    let health = json!({ "run_id": run, "current_state": "idle", "context_usage": 0.9 });
    let (status, answer) = post(&world, "/health", &health);
    assert_eq!((status, &answer["current_state"], &answer["pressed"]), (200, &json!("idle"), &json!(true)));
    let (_, answer) = get(&world, &format!("/health?run_id={run}"));
    assert_eq!(answer["context_usage"], 0.9);
    let (_, own) = get(&world, "/health");
    assert_eq!((&own["status"], &own["run_id"]), (&json!("healthy"), &json!(null)));

    let over = json!({ "event": "stopped", "run_id": run, "metadata": { "exit_code": 3 } });
    assert_eq!(post(&world, "/lifecycle", &over).1["status"], "failed");
    assert_eq!(code(&post(&world, "/lifecycle", &json!({ "event": "busy", "run_id": run }))), (409, "session_final"));
    // The reports stand under the name of the session that they are about.
    let events = world.run(["events", "--json"]).exits(0).stdout;
    let ended = events.lines().find(|line| line.contains("session.failed")).unwrap_or_else(|| panic!("{events}"));
    assert!(ended.contains("\"actor\":\"s2\""), "{ended}");
}

#[test]
fn repeated_telemetry_counts_once() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let report = json!({ "run_id": run_of(&world, "s1"), "events": [{
        "type": "turn_complete", "timestamp": 1_700_000_000_000_i64,
        "usage": { "input_tokens": 10, "output_tokens": 5, "model": "m" },
        "tools_called": [{ "name": "Bash", "success": true, "duration_ms": 7 }],
    }]});
    let (status, counts) = post(&world, "/telemetry", &report);
    assert_eq!((status, &counts["turns"], &counts["tools"]), (200, &json!(1), &json!(1)), "{counts}");
    let (_, counts) = post(&world, "/telemetry", &report);
    assert_eq!((&counts["turns"], &counts["turns_known"]), (&json!(0), &json!(1)), "{counts}");
    let wrong = json!({ "run_id": run_of(&world, "s1"), "events": [{ "type": "turn_complete" }] });
    assert_eq!(post(&world, "/telemetry", &wrong).0, 400);
}

#[test]
fn context_is_what_prime_prints_and_can_be_pushed() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let (status, context) = get(&world, &format!("/context?run_id={run}&mode=compact"));
    assert_eq!(status, 200);
    let prime = world.run(["--session", "s1", "prime", "--mode", "compact"]).exits(0).stdout;
    assert_eq!(context["text"].as_str().unwrap().trim_end(), prime.trim_end());
    assert_eq!(code(&get(&world, &format!("/context?run_id={run}&mode=odd"))), (400, "invalid_value"));
    let push = json!({ "run_id": run, "mode": "full", "sections": [{ "type": "directive", "content": "turn left" }] });
    let queued = post(&world, "/context", &push);
    assert_eq!((queued.0, &queued.1["queued"], &queued.1["position"]), (200, &json!(true), &json!(1)), "{queued:?}");
    let item = Reader::of(&world, &format!("/stream?run_id={run}"), None).next().unwrap();
    assert_eq!((item.event.as_str(), item.data["content"].as_str().unwrap().contains("turn left")), ("context", true));
}

#[test]
fn answer_to_an_unknown_approval_is_refused() {
    let world = world();
    let _server = Server::start(&world, &[]);
    assert_eq!(get(&world, "/approvals"), (200, json!([])));
    assert_eq!(code(&post(&world, "/approvals/7", &json!({ "decision": "allow" }))), (404, "not_found"));
    assert_eq!(code(&post(&world, "/approvals/x", &json!({ "decision": "allow" }))), (400, "invalid_value"));
    assert_eq!(code(&post(&world, "/approvals/7", &json!({ "decision": "maybe" }))), (400, "invalid_value"));
}

#[test]
fn repeated_key_is_one_request() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let ask = |body: &Value, key: &str| {
        let body = body.to_string();
        let text = format!(
            "POST /prompt HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: {key}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = said(socket(&world), text.as_bytes());
        let (head, document) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse::<u16>().unwrap(), serde_json::from_str::<Value>(document).unwrap())
    };
    let prompt = json!({ "run_id": run_of(&world, "s1"), "content": "once" });
    let first = ask(&prompt, "k1");
    assert_eq!(first.0, 200);
    assert_eq!(ask(&prompt, "k1"), first);
    let other = json!({ "run_id": run_of(&world, "s1"), "content": "twice" });
    assert_eq!(code(&ask(&other, "k1")), (400, "request_reused"));
    assert_eq!(ask(&other, "k2").1["message_id"], 2);
    assert_eq!(ask(&other, &"x".repeat(200)).0, 400);
}

#[test]
fn prompt_to_a_run_that_has_ended_is_not_accepted() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    world.run(["session", "end", "s1"]).exits(0);
    let (status, answer) = post(&world, "/prompt", &json!({ "run_id": run, "content": "x" }));
    assert_eq!((status, &answer["accepted"]), (200, &json!(false)));
    assert!(answer["reason"].as_str().unwrap().contains("ended"), "{answer}");
    assert_eq!(code(&get(&world, &format!("/stream?run_id={run}"))), (409, "session_final"));
}

#[test]
fn changed_settings_take_effect_at_once() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let path = world.root().join(".fairway.toml");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, "[nonsense]\nx = 1\n").unwrap();
    assert_eq!(code(&post(&world, "/prompt", &json!({ "run_id": "x", "content": "x" }))), (400, "config_invalid"));
    assert_eq!(get(&world, "/health").1["status"], "unhealthy");
    fs::write(&path, good).unwrap();
    assert_eq!(get(&world, "/health").1["status"], "healthy");
}

#[test]
fn events_are_a_stream_that_goes_on_and_can_be_taken_up_again() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let mut reader = Reader::of(&world, "/events", None);
    let first = reader.next().unwrap();
    assert_eq!((first.id, first.data["seq"].as_i64()), (Some(1), Some(1)));
    world.run(["task", "add", "T-1", "title"]).exits(0);
    let added = std::iter::from_fn(|| reader.next()).find(|item| item.event == "task.added").unwrap();
    drop(reader);
    world.run(["task", "add", "T-2", "title"]).exits(0);
    let next = Reader::of(&world, "/events?since=0", added.id).next().unwrap();
    assert_eq!((next.id, next.data["task_id"].as_str()), (added.id.map(|id| id + 1), Some("T-2")));
    assert_eq!(code(&get(&world, "/events?since=x")), (400, "invalid_value"));
}
