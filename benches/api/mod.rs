//! The worker API: a tool call that is authorised on a kept connection, against the least server that answers anything; and a
//! whole hook process, against an empty `main`.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::measure::{Build, median, project, row, store, took};

const ROUNDS: usize = 300;
/// Requests in a round.
const EACH: u32 = 20;
const RUN: &str = "01890000-0000-7000-8000-000000000001";
const RULES: &str = r#"
[guard]
default = "allow"

[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f"]
action = "deny"
reason = "force push is for people"
"#;

/// The rows whose names are wanted.
pub fn rows(build: &Build, wanted: &dyn Fn(&str) -> bool) {
    if wanted("api authorize") {
        authorizes(build);
    }
    if wanted("api hook") {
        hooks(build);
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A project with rules, a session and a server.
fn served(build: &Build) -> (TempDir, Ended) {
    let project = project(build, 0, 1);
    let config = project.path().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}{RULES}")).unwrap();
    took(&mut build.fairway(project.path(), &["trust", "--quiet"]));
    let words = ["session", "upsert", "--id", "s1", "--role", "worker", "--run-id", RUN, "--status", "running"];
    took(&mut build.fairway(project.path(), &words));
    let mut command = build.fairway(project.path(), &["serve", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    (project, Ended(child))
}

/// One request on a kept connection.
fn ask(stream: &mut UnixStream, request: &[u8], buffer: &mut [u8]) -> usize {
    stream.write_all(request).unwrap();
    let mut held = 0;
    loop {
        held += stream.read(&mut buffer[held..]).unwrap();
        // Either answer ends with its body, and has no other brace at its end.
        if buffer[..held].ends_with(b"}") {
            return held;
        }
    }
}

fn authorizes(build: &Build) {
    let (project, _server) = served(build);
    let raw = project.path().join("raw.sock");
    let mut command = build.example("bench_raw", project.path(), &[raw.to_str().unwrap()]);
    let _raw = Ended(command.spawn().unwrap());
    let connect = |path: &Path| {
        let start = Instant::now();
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => return stream,
                Err(error) => assert!(start.elapsed() < Duration::from_secs(10), "{error}"),
            }
        }
    };
    let mut streams = [connect(&project.path().join(".fairway/runtime/worker.sock")), connect(&raw)];
    let body = format!(r#"{{"run_id":"{RUN}","tool":"Bash","input":{{"command":"cargo test --locked"}}}}"#);
    let request = format!("POST /authorize HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let mut buffer = [0; 4_096];
    for stream in &mut streams {
        for _ in 0..EACH {
            let held = ask(stream, request.as_bytes(), &mut buffer);
            let said = String::from_utf8_lossy(&buffer[..held]).into_owned();
            assert!(said.contains("\"allowed\":true"), "{said}");
        }
    }
    let mut spans: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (stream, spans) in streams.iter_mut().zip(&mut spans) {
            for _ in 0..EACH {
                let start = Instant::now();
                ask(stream, request.as_bytes(), &mut buffer);
                spans.push(start.elapsed());
            }
        }
    }
    let [ours, least] = spans.map(median);
    let micros = |span: Duration| span.as_secs_f64() * 1e6;
    let figure = format!(
        "{:.2} × ({:.0} µs against {:.0} µs)",
        ours.as_secs_f64() / least.as_secs_f64(),
        micros(ours),
        micros(least)
    );
    row("`POST /authorize` on a kept connection, against a raw blocking server", &figure, "≤ 1.5 ×");
    let conn = Connection::open(store(&project)).unwrap();
    // The last batch may still be on its way.
    let recorded: i64 = conn.query_row("SELECT count(*) FROM guard_decisions", [], |row| row.get(0)).unwrap();
    assert!(recorded > 0, "nothing was recorded");
}

fn hooks(build: &Build) {
    let (project, _server) = served(build);
    let payload = project.path().join("payload.json");
    let text = format!(
        r#"{{"session_id":"x","transcript_path":null,"cwd":"{}","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"cargo test --locked"}},"tool_use_id":"t"}}"#,
        project.path().display()
    );
    fs::write(&payload, text).unwrap();
    let mut spans: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let mut ours = build.fairway(project.path(), &["hook", "claude", "PreToolUse"]);
        ours.env("FAIRWAY_ROOT", project.path()).env("FAIRWAY_SESSION_ID", "s1").env("FAIRWAY_RUN_ID", RUN);
        ours.stdin(File::open(&payload).unwrap());
        let mut empty = build.example("bench_empty", project.path(), &[]);
        empty.stdin(File::open(&payload).unwrap());
        spans[0].push(took(&mut ours));
        spans[1].push(took(&mut empty));
    }
    let [ours, empty] = spans.map(median);
    crate::measure::against("a whole hook process through the socket, against an empty `main`", ours, empty, "≤ 1.8 ×");
}
