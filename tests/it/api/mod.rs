//! The worker API, over its socket and its port, by our own client, by raw bytes and by curl.

mod answer_tokens;
mod auth;
mod authorize;
mod axe;
mod curl;
mod devices;
mod exec;
mod further_fields;
mod identity;
mod limits;
mod openapi;
mod page_access;
mod page_behind_nginx;
mod page_changes;
pub(crate) mod page_client;
mod page_in_chromium;
mod page_not_live;
mod page_stream;
mod pages;
mod pages_in_chromium;
mod pairing_in_chromium;
mod routes;

mod server_lifecycle;
mod socket_path;
mod stream;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use fairway_core::api_client::ApiClient;
use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), look).unwrap_or_else(|| panic!("never: {what}"))
}

/// A world in real time with a running session `s1` of the role `worker`.
fn world() -> TestProject {
    let world = TestProject::new();
    world.real_time();
    world.run(["session", "upsert", "--id", "s1", "--role", "worker", "--status", "running"]).exits(0);
    world
}

pub(crate) fn run_of(world: &TestProject, session: &str) -> String {
    world.json(["session", "show", session])["run_id"].as_str().unwrap().to_owned()
}

/// Adds to the configuration and trusts it.
fn configure(world: &TestProject, text: &str) {
    let path = world.root().join(".fairway.toml");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{before}\n{text}\n")).unwrap();
    world.run(["trust"]).exits(0);
}

/// A server, which ends with this value.
pub(crate) struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The line that it printed when it listened.
    pub(crate) at: Value,
}

impl Server {
    pub(crate) fn start(world: &TestProject, args: &[&str]) -> Self {
        let mut command = world.fairway([&["serve", "--json"], args].concat());
        Self::of(&mut command)
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let at = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("{error}: {line:?} {said}")
        });
        Self { child, out, at }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    fn port(&self) -> u16 {
        u16::try_from(self.at["port"].as_u64().unwrap()).unwrap()
    }

    /// Ends it; what it said, and how it ended.
    fn end(mut self) -> CommandOutput {
        self.signal(Signal::SIGTERM);
        self.ended()
    }

    fn ended(&mut self) -> CommandOutput {
        let status = self.child.wait().unwrap();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.out.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        CommandOutput { code: status.code(), stdout, stderr }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn runtime(world: &TestProject) -> PathBuf {
    world.root().join(".fairway/runtime")
}

fn link(world: &TestProject) -> ApiClient {
    ApiClient::connect(&runtime(world), WAIT_TIMEOUT).expect("nobody serves")
}

/// Posts a document; the status and the document that came back.
fn post(world: &TestProject, route: &str, document: &Value) -> (u16, Value) {
    let reply = link(world).post(route, document.to_string().as_bytes()).unwrap();
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {reply:?}")))
}

fn get(world: &TestProject, route: &str) -> (u16, Value) {
    let reply = link(world).get(route).unwrap();
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {reply:?}")))
}

/// The code of an error document.
fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or_else(|| panic!("no error: {answer:?}")))
}

fn socket(world: &TestProject) -> UnixStream {
    let stream = UnixStream::connect(runtime(world).join("worker.sock")).unwrap();
    stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream
}

/// Says something, and hears everything until the other end hangs up.
fn said(mut stream: impl Read + Write, text: &[u8]) -> String {
    // A server that refuses early may close before the whole request was sent.
    let _ = stream.write_all(text);
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    String::from_utf8_lossy(&heard).into_owned()
}

fn local(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream
}

/// A reader of server-sent events.
pub(crate) struct Reader {
    lines: BufReader<UnixStream>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Item {
    id: Option<i64>,
    event: String,
    pub(crate) data: Value,
}

impl Reader {
    pub(crate) fn of(world: &TestProject, route: &str, last: Option<i64>) -> Self {
        let mut stream = socket(world);
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        stream.write_all(format!("GET {route} HTTP/1.1\r\nhost: x\r\n{last}\r\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while lines.read_line(&mut status).unwrap() > 2 {}
        Self { lines }
    }

    /// The next item; `None` when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Item> {
        let (mut id, mut event, mut data) = (None, String::new(), Value::Null);
        loop {
            let mut line = String::new();
            match self.lines.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
            let line = line.trim_end();
            if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse().unwrap());
            } else if let Some(text) = line.strip_prefix("event: ") {
                text.clone_into(&mut event);
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).unwrap();
            } else if line.is_empty() && !event.is_empty() {
                return Some(Item { id, event, data });
            } else if line == "0" && event.is_empty() {
                // The last chunk.
                return None;
            }
        }
    }
}
