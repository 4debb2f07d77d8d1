//! The worker API: a tool call that is authorised on a kept connection, against the least server that answers anything; and a
//! whole hook process, against an empty `main`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::measure::{Build, DISCARD, below, instructions, median, project, row, store, took};

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

/// A process that ends with this value.
pub struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gives a project rules, a session and a server. The words before the server's own are `around`.
pub fn served(build: &Build, project: TempDir, around: &[&str]) -> (TempDir, Ended) {
    let config = project.path().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}{RULES}")).unwrap();
    took(&mut build.fairway(project.path(), &["trust", "--quiet"]));
    let words = ["session", "upsert", "--id", "s1", "--role", "worker", "--run-id", RUN, "--status", "running"];
    took(&mut build.fairway(project.path(), &words));
    let mut command = below(around, &build.fairway(project.path(), &["serve", "--json"]));
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

/// A project's server and a raw server, with a connection to each.
struct Servers {
    project: TempDir,
    server: Ended,
    raw: Ended,
    streams: [UnixStream; 2],
}

impl Servers {
    fn start(build: &Build, around: &[&str]) -> Self {
        let (project, server) = served(build, project(build, 0, 1), around);
        let socket = project.path().join("raw.sock");
        let command = build.example("bench_raw", project.path(), &[socket.to_str().unwrap()]);
        let raw = Ended(below(around, &command).spawn().unwrap());
        let streams = [connect(&project.path().join(".fairway/runtime/worker.sock")), connect(&socket)];
        Self { project, server, raw, streams }
    }
}

fn connect(path: &Path) -> UnixStream {
    let start = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(60), "{error}"),
        }
    }
}

/// A request about a tool call, which either server allows.
fn request() -> String {
    let body = format!(r#"{{"run_id":"{RUN}","tool":"Bash","input":{{"command":"cargo test --locked"}}}}"#);
    format!("POST /authorize HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Asks so many times.
fn ask_often(stream: &mut UnixStream, times: u32) {
    let (request, mut buffer) = (request(), [0; 4_096]);
    for _ in 0..times {
        let held = ask(stream, request.as_bytes(), &mut buffer);
        let said = String::from_utf8_lossy(&buffer[..held]);
        assert!(said.contains("\"allowed\":true"), "{said}");
    }
}

/// Lets a process run on one core alone.
fn pin(pid: u32, core: &str) {
    let pinned = Command::new("taskset").args(["-a", "-c", "-p", core, &pid.to_string()]).output().unwrap();
    assert!(pinned.status.success(), "{pinned:?}");
}

/// Both servers under equal conditions: a core for the client and each server together, or one for the client and another for
/// the servers, of which only one is asked at a time.
fn authorizes(build: &Build) {
    let mut servers = Servers::start(build, &[]);
    for stream in &mut servers.streams {
        ask_often(stream, EACH);
    }
    for (what, core) in [("one core for client and server", "0"), ("a core for each", "1")] {
        pin(std::process::id(), "0");
        pin(servers.server.0.id(), core);
        pin(servers.raw.0.id(), core);
        let (request, mut buffer) = (request(), [0; 4_096]);
        let mut spans: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (stream, spans) in servers.streams.iter_mut().zip(&mut spans) {
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
        row(&format!("`POST /authorize` on a kept connection, {what}, against the raw server"), &figure, "≤ 1.5 ×");
    }
    let conn = Connection::open(store(&servers.project)).unwrap();
    // The last batch may still be on its way.
    let recorded: i64 = conn.query_row("SELECT count(*) FROM guard_decisions", [], |row| row.get(0)).unwrap();
    assert!(recorded > 0, "nothing was recorded");
    let cores = std::thread::available_parallelism().map_or(1, usize::from).max(2) - 1;
    pin(std::process::id(), &format!("0-{cores}"));
}

/// The instructions of one request, in either server: the difference between many requests and few.
pub fn instructions_of_a_request(build: &Build) -> [u64; 2] {
    const FEW: u32 = 100;
    const MANY: u32 = 1_100;
    let counts = [FEW, MANY].map(|times| {
        let logs = TempDir::new().unwrap();
        let log = format!("--log-file={}/%p", logs.path().display());
        let mut servers = Servers::start(build, &["valgrind", &log, "--tool=cachegrind", "--cache-sim=no", DISCARD]);
        for stream in &mut servers.streams {
            ask_often(stream, times);
        }
        let Servers { server, raw, .. } = servers;
        [server, raw].map(|mut server| {
            let id = server.0.id();
            let pid = nix::unistd::Pid::from_raw(id.try_into().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
            server.0.wait().unwrap();
            instructions(&fs::read_to_string(logs.path().join(id.to_string())).unwrap())
        })
    });
    [0, 1].map(|server| (counts[1][server] - counts[0][server]) / u64::from(MANY - FEW))
}

/// A hook process before a tool call, with its payload.
pub fn hook(build: &Build, project: &TempDir) -> Command {
    let mut command = build.fairway(project.path(), &["hook", "claude", "PreToolUse"]);
    command.env("FAIRWAY_ROOT", project.path()).env("FAIRWAY_SESSION_ID", "s1").env("FAIRWAY_RUN_ID", RUN);
    command.stdin(payload(project));
    command
}

fn payload(project: &TempDir) -> File {
    let path = project.path().join("payload.json");
    let text = format!(
        r#"{{"session_id":"x","transcript_path":null,"cwd":"{}","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"cargo test --locked"}},"tool_use_id":"t"}}"#,
        project.path().display()
    );
    fs::write(&path, text).unwrap();
    File::open(path).unwrap()
}

fn hooks(build: &Build) {
    let (project, _server) = served(build, project(build, 0, 1), &[]);
    let mut spans: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let mut empty = build.example("bench_empty", project.path(), &[]);
        empty.stdin(payload(&project));
        spans[0].push(took(&mut hook(build, &project)));
        spans[1].push(took(&mut empty));
    }
    let [ours, empty] = spans.map(median);
    crate::measure::against("a whole hook process through the socket, against an empty `main`", ours, empty, "≤ 1.6 ×");
}
