//! The OpenAPI document against the server: a generator of requests that is not ours, and HTTP's rules for methods and heads.

use super::*;
use crate::common::require;

/// The description without what JSON Schema cannot say: an idempotency key is used once, and texts deep inside of metadata have no
/// control characters.
fn description(world: &TestProject) -> PathBuf {
    let (_, mut document) = get(world, "/openapi.json");
    for operation in document["paths"]
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|path| path.as_object_mut().unwrap().values_mut())
    {
        if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
            parameters.retain(|parameter| parameter["name"] != "Idempotency-Key");
        }
    }
    let prompt = "/paths/~1prompt/post/requestBody/content/application~1json/schema/properties";
    document.pointer_mut(prompt).unwrap().as_object_mut().unwrap().remove("metadata").unwrap();
    let path = world.dir().join("openapi.json");
    fs::write(&path, document.to_string()).unwrap();
    path
}

fn schemathesis(world: &TestProject, server: &Server, args: &[&str]) -> CommandOutput {
    let token = fs::read_to_string(runtime(world).join("worker.token")).unwrap();
    let url = format!("http://127.0.0.1:{}", server.port());
    let bearer = format!("authorization: Bearer {token}");
    let description = description(world);
    let mut command = world.command("schemathesis");
    command.args(["run", description.to_str().unwrap(), "--url", &url, "--header", &bearer]);
    command.args(["--phases", "examples,coverage,fuzzing", "--seed", "1", "--request-timeout", "60", "--no-color"]);
    command.args([
        "--suppress-health-check", "all", "--continue-on-failure", "--exclude-path-regex", "^/(stream|events)$",
    ]);
    command.args(args).output().unwrap().into()
}

/// Runs the generator on a server of its own.
#[track_caller]
fn check(args: &[&str]) {
    if !require::program("schemathesis") {
        return;
    }
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let out = schemathesis(&world, &server, args);
    assert_eq!(out.code, Some(0), "{}", out.stdout);
    assert_eq!(get(&world, "/health").1["status"], "healthy");
}

#[test]
fn server_accepts_and_refuses_what_its_description_says() {
    check(&["--exclude-path", "/exec", "--max-examples", "10"]);
}

#[test]
fn exec_route_refuses_what_its_description_excludes() {
    // The values of a job's fields depend on each other: what is accepted is tested with the jobs.
    check(&["--include-path", "/exec", "--exclude-checks", "positive_data_acceptance", "--max-examples", "10"]);
}

#[test]
fn head_of_a_stream_leaves_the_runtimes_own_stream_open() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    let route = format!("/stream?run_id={run}");
    let mut own = Reader::of(&world, &route, None);
    for route in [route.as_str(), "/events"] {
        let head =
            said(socket(&world), format!("HEAD {route} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes());
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("content-type: text/event-stream"), "{head}");
        assert!(head.ends_with("\r\n\r\n"), "a body: {head}");
    }
    let unknown = said(socket(&world), b"HEAD /stream?run_id=nobody HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
    // A prompt goes to a session whose state is known.
    post(&world, "/lifecycle", &json!({ "run_id": run, "event": "ready" }));
    let sent = post(&world, "/prompt", &json!({ "run_id": run, "content": "still here?" }));
    assert_eq!(own.next().unwrap().data["content"], "still here?", "{sent:?}");
}

#[test]
fn method_that_a_route_does_not_have_is_answered_with_those_that_it_has() {
    let world = world();
    let _server = Server::start(&world, &[]);
    for (method, route, allow) in [
        ("GET", "/prompt", "POST"),
        ("TRACE", "/health", "GET,HEAD,POST"),
        ("POST", "/events", "GET,HEAD"),
        ("DELETE", "/authorize", "POST"),
    ] {
        let answer = said(
            socket(&world),
            format!("{method} {route} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        assert!(answer.contains(&format!("\r\nallow: {allow}\r\n")), "{method} {route}: {answer}");
    }
}

#[test]
fn refused_head_is_a_denial_with_a_reason() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let long = "x".repeat(70_000);
    for (head, status, reason) in [
        ("POST /authorize HTTP/1.1\r\nhost x\r\n\r\n".to_owned(), 400, "the request's head is no HTTP/1.1"),
        (format!("POST /authorize?{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 414, "the URL is too long"),
        (format!("POST /authorize HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(500)), 431, "headers are too long"),
    ] {
        // The second request of a kept connection is refused like the first one.
        for before in ["", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n"] {
            let answers = said(socket(&world), format!("{before}{head}").as_bytes());
            let answer = answers.rsplit("HTTP/1.1 ").next().unwrap();
            let (status_line, body) = (answer.lines().next().unwrap(), answer.rsplit("\r\n\r\n").next().unwrap());
            assert!(status_line.starts_with(&status.to_string()), "{answers}");
            let document: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answers}"));
            assert_eq!(
                (&document["allowed"], &document["error"]["code"]),
                (&json!(false), &json!("usage")),
                "{document}"
            );
            assert!(document["reason"].as_str().unwrap().contains(reason), "{document}");
        }
    }
}
