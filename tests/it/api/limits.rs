//! Slow, huge and many: refused, and a healthy client is unharmed.

use std::net::Shutdown;
use std::time::Instant;

use super::*;

fn healthy(world: &TestProject) {
    let start = Instant::now();
    assert_eq!(get(world, "/health").1["status"], "healthy");
    crate::common::soak::took(start.elapsed(), ..Duration::from_secs(2), "/health");
}

#[test]
fn body_above_a_mebibyte_is_refused() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let run = run_of(&world, "s1");
    // JSON with spaces after it, of exactly so many bytes.
    let padded = |size: usize| {
        let prompt = json!({ "run_id": run, "content": "x" }).to_string();
        format!("{prompt}{}", " ".repeat(size - prompt.len()))
    };
    let reply = link(&world).post("/prompt", padded(1 << 20).as_bytes()).unwrap();
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    // A prompt has a smaller limit of its own: this body is read, and its content is refused.
    let content = json!({ "run_id": run, "content": "x".repeat(1_000_000) }).to_string();
    let reply = link(&world).post("/prompt", content.as_bytes()).unwrap();
    let document: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!((reply.status, &document["error"]["code"]), (400, &json!("invalid_value")), "{document}");
    for size in [(1 << 20) + 1, 2 << 20, 8 << 20] {
        let reply = link(&world).post("/prompt", padded(size).as_bytes()).unwrap();
        let text = String::from_utf8(reply.body).unwrap();
        assert_eq!(reply.status, 413, "{text}");
        assert!(text.contains("longer than 1 MiB"), "{text}");
    }
    // A body without a stated length.
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(20);
    let text = format!("POST /prompt HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    let mut stream = socket(&world);
    stream.write_all(text.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(said(stream, b"").starts_with("HTTP/1.1 413"));
    healthy(&world);
}

#[test]
fn oversized_or_invalid_head_is_refused() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let text = format!("GET /health HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "x".repeat(4 << 20));
    let answer = said(socket(&world), text.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    let many: String = (0..2_000).map(|number| format!("h{number}: x\r\n")).collect();
    let answer = said(socket(&world), format!("GET /health HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer:?}");
    let answer = said(socket(&world), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03garbage\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
    healthy(&world);
}

#[test]
fn silent_connections_do_not_block_others() {
    let world = world();
    let server = Server::start(&world, &[]);
    let mut kept = link(&world);
    assert_eq!(kept.get("/health").unwrap().status, 200);
    let silent: Vec<UnixStream> = (0..1_000).map(|_| socket(&world)).collect();
    // Each more than fits makes room by ending one that never asked anything: the one that did stays.
    assert_eq!(kept.get("/health").unwrap().status, 200);
    healthy(&world);
    let open = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(open < 256 + 64, "{open} descriptors");
    drop(silent);
    assert_eq!(kept.get("/health").unwrap().status, 200);
}

#[test]
fn connection_above_the_limit_gets_503() {
    let world = world();
    let _server = Server::start(&world, &[]);
    let followers: Vec<Reader> = (0..256).map(|_| Reader::of(&world, "/events", None)).collect();
    let answer = said(socket(&world), b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["error"]["code"], &body["allowed"]), (&json!("server_busy"), &json!(false)));
    drop(followers);
    eventually("there is room again", || {
        said(socket(&world), b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 200")
            .then_some(())
    });
}

#[test]
fn slow_clients_time_out_and_half_closed_ones_are_answered() {
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let token = fs::read_to_string(runtime(&world).join("worker.token")).unwrap();
    let port = server.port();
    // Its side is closed when everything is said: the answer comes all the same.
    let stream = socket(&world);
    let mut half = stream.try_clone().unwrap();
    half.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert!(said(stream, b"").starts_with("HTTP/1.1 200"));
    // One that sends a head, one that sends a body, a letter at a time, and one that says nothing.
    let body = format!(
        "POST /prompt HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n\
         content-length: 1000\r\n\r\n{{"
    );
    let long = format!(
        "POST /prompt HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n\
         transfer-encoding: chunked\r\n\r\n200000\r\n{}",
        "x".repeat((1 << 20) + 1)
    );
    let slow = [("GET /hea", "head"), (body.as_str(), "body"), (long.as_str(), "long"), ("", "nothing")].map(
        |(text, what)| {
            let mut stream = local(port);
            stream.write_all(text.as_bytes()).unwrap();
            let mut drip = stream.try_clone().unwrap();
            let dripping =
                thread::spawn(move || while drip.write_all(b" ").is_ok() && what != "nothing" && !wait_a_bit() {});
            (stream, dripping, what)
        },
    );
    let start = Instant::now();
    for (stream, dripping, what) in slow {
        let answer = said(stream, b"");
        crate::common::soak::took(start.elapsed(), ..Duration::from_secs(20), what);
        if what == "body" {
            assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        }
        if what == "long" {
            assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        }
        let _ = dripping.join();
        healthy(&world);
    }
}

/// Half a second.
fn wait_a_bit() -> bool {
    poll_until::poll_until(Duration::from_millis(500), Duration::from_millis(500), || None::<()>).is_some()
}
