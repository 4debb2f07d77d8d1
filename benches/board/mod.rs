//! The board, live: how soon it is there, how soon it answers a key, and what it costs to follow it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use fairway_core::os::notify::notify_all;
use fairway_core::os::pty::{self, Pty};
use fairway_core::os::terminal::Size;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::measure::{Build, median, ms, project, row, store, took};

pub const SESSIONS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(60);
const EVENTS: usize = 1_000;
const EVENTS_PER_SECOND: u32 = 100;

/// A project, and the process of its sessions.
pub struct BusyProject {
    project: TempDir,
    agent: Child,
}

impl Deref for BusyProject {
    type Target = TempDir;

    fn deref(&self) -> &TempDir {
        &self.project
    }
}

impl Drop for BusyProject {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// 10,000 tasks, 200 of them claimed, and 200 sessions, of which one is dead and the others live.
pub fn busy_project(build: &Build) -> BusyProject {
    let project = project(build, 5_000, 5_000);
    // Not this program: its children would be inside the session.
    let agent = Command::new("sleep").arg("3600").spawn().unwrap();
    let upsert = ["session", "upsert", "--id", "first", "--role", "r", "--pid", &agent.id().to_string()];
    took(&mut build.fairway(project.path(), &upsert));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = boot.trim();
    let conn = Connection::open(store(&project)).unwrap();
    conn.execute_batch(&format!(
        "PRAGMA synchronous = OFF; BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SESSIONS})
         INSERT INTO agent_sessions (id, run_id, role, provider, status, activity, host, pid, pid_started, boot_id, started_at)
         SELECT 's-' || i, 'run-' || i, 'r', 'acme', 'running', 'busy', f.host, iif(i = 1, 4194303, f.pid),
                iif(i = 1, 1, f.pid_started), '{boot}', i
         FROM n, (SELECT host, pid, pid_started FROM agent_sessions WHERE id = 'first') f;
         UPDATE tasks SET status = CASE (rowid % 10) WHEN 0 THEN 'review' WHEN 1 THEN 'blocked' ELSE 'in_progress' END,
                blocked_reason = iif(rowid % 10 = 1, 'no key', NULL), claimant = 's-' || (rowid - 5000),
                claim_session = 's-' || (rowid - 5000), epoch = 1, claimed_at = 1
         WHERE rowid > 5000 AND rowid <= 5000 + {SESSIONS};
         INSERT INTO checkpoints (task_id, session_id, state, summary, created_at)
         SELECT id, claimant, 'active', 'as far as that', 1 FROM tasks WHERE claimant IS NOT NULL;
         COMMIT;"
    ))
    .unwrap();
    BusyProject { project, agent }
}

pub fn rows(name: &str, build: &Build, wanted: &impl Fn(&str) -> bool) {
    if wanted("board") {
        first_looks(name, build);
        keys(name, build);
    }
    if wanted("board idle") {
        idle(name, build);
    }
    if wanted("board events") {
        events(name, build);
    }
}

/// `top` at a terminal.
struct Top {
    terminal: Pty,
    child: Child,
    seen: String,
}

impl Top {
    fn start(build: &Build, project: &TempDir) -> Self {
        let (terminal, end) = pty::open(Size { rows: 50, cols: 200 }).unwrap();
        let mut command = build.fairway(project.path(), &["top"]);
        command.env("TERM", "xterm").stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        Self { terminal, child: command.spawn().unwrap(), seen: String::new() }
    }

    /// Reads what there is; whether there was something.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 16_384];
        match self.terminal.read(&mut buffer) {
            Ok(length) => {
                self.seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
                length > 0
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn shows(&mut self, text: &str) {
        let since = Instant::now();
        while !self.seen.contains(text) {
            if !self.read() {
                thread::sleep(Duration::from_micros(50));
            }
            assert!(since.elapsed() < PATIENCE, "top never shows {text}: {}", self.seen);
        }
    }

    fn press(&mut self, key: &str) {
        self.seen.clear();
        assert_eq!(self.terminal.write(key.as_bytes()).unwrap(), key.len());
    }

    /// From a key to the first byte of its frame.
    fn answer(&mut self, key: &str) -> Duration {
        while self.read() {}
        let since = Instant::now();
        self.press(key);
        while !self.read() {
            assert!(since.elapsed() < PATIENCE, "no frame");
        }
        since.elapsed()
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with the page, and a browser's cookie.
struct Page {
    child: Child,
    _out: BufReader<ChildStdout>,
    port: u16,
    host: String,
    cookie: String,
}

impl Page {
    fn start(build: &Build, project: &TempDir) -> Self {
        let mut child = build
            .fairway(project.path(), &["serve", "--json", "--http", "--open"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let at: Value = serde_json::from_str(&line).unwrap();
        let host = at["page"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let port = u16::try_from(at["port"].as_u64().unwrap()).unwrap();
        let mut page = Self { child, _out: out, port, host, cookie: String::new() };
        let path = at["open_url"].as_str().unwrap().splitn(4, '/').nth(3).unwrap();
        let mut answer = String::new();
        page.get(&format!("/{path}"), "connection: close\r\n").read_to_string(&mut answer).unwrap();
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        cookie.split(';').next().unwrap().clone_into(&mut page.cookie);
        page
    }

    fn get(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\n{headers}\r\n", self.host, self.cookie);
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Counts the bytes of the stream as a browser asks for it, from now on.
    fn sent_bytes(&self) -> Arc<AtomicUsize> {
        let mut stream = self.get("/events?since=", "accept-encoding: gzip\r\n");
        let count = Arc::new(AtomicUsize::new(0));
        let total = Arc::clone(&count);
        thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(length @ 1..) = stream.read(&mut bytes) {
                total.fetch_add(length, Ordering::Relaxed);
            }
        });
        count
    }

    /// From a request to the first byte of the page.
    fn first_byte(&self) -> Duration {
        let since = Instant::now();
        let mut stream = self.get("/", "connection: close\r\n");
        stream.read_exact(&mut [0]).unwrap();
        let took = since.elapsed();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("no key"), "{rest}");
        took
    }

    /// The changes that a browser gets.
    fn changes(&self) -> Receiver<Value> {
        let (sender, changes) = channel();
        let mut lines = BufReader::new(self.get("/events", "")).lines();
        thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                let Some(data) = line.strip_prefix("data: ") else { continue };
                if sender.send(serde_json::from_str(data).unwrap()).is_err() {
                    return;
                }
            }
        });
        changes
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first_looks(name: &str, build: &Build) {
    let project = busy_project(build);
    let (mut frames, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let since = Instant::now();
        let mut top = Top::start(build, &project);
        top.shows("q quit");
        frames.push(since.elapsed());
        pages.push(Page::start(build, &project).first_byte());
    }
    let of = "of 10,000 tasks and 200 sessions";
    row(&format!("first frame of `top` {of}, {name}"), &format!("{:.1} ms", ms(median(frames))), "≤ 100 ms");
    row(&format!("first byte of the page {of}, {name}"), &format!("{:.1} ms", ms(median(pages))), "≤ 100 ms");
}

fn keys(name: &str, build: &Build) {
    let project = busy_project(build);
    let mut top = Top::start(build, &project);
    top.shows("q quit");
    let mut spans: Vec<Duration> =
        (0..500).map(|number| top.answer(if number % 40 < 20 { "j" } else { "k" })).collect();
    spans.sort_unstable();
    let p95 = spans[spans.len() * 95 / 100];
    row(&format!("key to frame in `top`, 95 of 100, {name}"), &format!("{:.2} ms", ms(p95)), "≤ 16 ms");
}

/// The time that a process has used of a processor, that of its ended threads included.
fn processor_time(pid: u32) -> Duration {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    clock_getcpuclockid(pid).unwrap().now().unwrap().into()
}

fn idle(name: &str, build: &Build) {
    let project = busy_project(build);
    let mut top = Top::start(build, &project);
    top.shows("q quit");
    let page = Page::start(build, &project);
    let changes = page.changes();
    changes.recv_timeout(PATIENCE).unwrap();
    // The begin of a watch is a change that both show.
    thread::sleep(Duration::from_secs(3));
    let pids = [top.child.id(), page.child.id()];
    let before = pids.map(processor_time);
    thread::sleep(Duration::from_secs(60));
    for ((what, pid), before) in ["`top`", "`serve` with an open page"].iter().zip(pids).zip(before) {
        row(
            &format!("{what}, a minute in which nothing happens, {name}"),
            &format!("{:.1} ms", ms(processor_time(pid).saturating_sub(before))),
            "< 10 ms, a tick",
        );
    }
}

/// Changes the question of one session after the other, so many times a second, and tells those who wait, as each command does.
fn ask(project: &TempDir, mut meanwhile: impl FnMut()) {
    let conn = Connection::open(store(project)).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let wake = project.path().join(".fairway/runtime/wake");
    let begin = Instant::now();
    for number in 0..EVENTS {
        let id = format!("s-{}", number % (SESSIONS - 1) + 2);
        let now = i64::try_from(number).unwrap();
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        let update = "UPDATE agent_sessions SET activity = 'requires_action', activity_source = 'hook', activity_at = ?2, \
             waiting_for = 'question ' || ?2, version = version + 1 WHERE id = ?1";
        conn.execute(update, (&id, now)).unwrap();
        let insert = "INSERT INTO events (at, kind, session_id, run_id, actor, data) \
             SELECT ?2, 'session.activity', id, run_id, id, '{}' FROM agent_sessions WHERE id = ?1";
        conn.execute(insert, (&id, now)).unwrap();
        conn.execute_batch("COMMIT").unwrap();
        notify_all(&wake);
        let next = begin + Duration::from_secs(1) / EVENTS_PER_SECOND * u32::try_from(number + 1).unwrap();
        while Instant::now() < next {
            meanwhile();
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Puts what a browser was sent into its items.
fn take(items: &mut BTreeMap<String, String>, change: &Value) {
    for part in change["parts"].as_array().unwrap() {
        for (key, html) in part["items"].as_object().unwrap() {
            items.insert(format!("{} {key}", part["name"]), html.as_str().unwrap().to_owned());
        }
    }
}

fn events(name: &str, build: &Build) {
    let project = busy_project(build);
    let mut top = Top::start(build, &project);
    top.shows("q quit");
    let page = Page::start(build, &project);
    let changes = page.changes();
    let mut items = BTreeMap::new();
    take(&mut items, &changes.recv_timeout(PATIENCE).unwrap());
    let sent = page.sent_bytes();
    thread::sleep(Duration::from_secs(1));
    let first = sent.load(Ordering::Relaxed);
    assert!(first > 0, "the stream is empty");
    let pids = [top.child.id(), page.child.id()];
    let (before, since) = (pids.map(processor_time), Instant::now());
    ask(&project, || {
        top.read();
        for change in changes.try_iter() {
            take(&mut items, &change);
        }
    });
    let last = Instant::now();
    let bytes = sent.load(Ordering::Relaxed) - first;
    let used = pids.map(processor_time);
    let seconds = since.elapsed().as_secs_f64();
    // Every session's last question, and nothing else, is on the page; top begins with the oldest of them.
    let expected = |number: usize| format!("question {number}<");
    let is_whole = |items: &BTreeMap<String, String>| {
        (EVENTS - SESSIONS + 1..EVENTS).all(|number| {
            let key = format!("\"needs\" question:s-{}", number % (SESSIONS - 1) + 2);
            items.get(&key).is_some_and(|html| html.contains(&expected(number)))
        })
    };
    while !is_whole(&items) {
        let change = changes.recv_timeout(Duration::from_secs(5));
        let change = change.unwrap_or_else(|_| panic!("the page has missed events: {items:?}"));
        take(&mut items, &change);
    }
    let late = last.elapsed();
    thread::sleep(Duration::from_secs(1).saturating_sub(late));
    while top.read() {}
    top.press("g\x0c");
    top.shows("q quit");
    top.shows(&format!("question {}", EVENTS - SESSIONS + 1));
    for ((what, used), before) in ["`top`", "`serve` with an open page"].iter().zip(used).zip(before) {
        let share = used.saturating_sub(before).as_secs_f64() / seconds * 100.0;
        row(&format!("{what}, following 100 events a second, of a core, {name}"), &format!("{share:.1} %"), "≤ 5 %");
    }
    #[expect(clippy::cast_precision_loss, reason = "megabytes of a minute")]
    let megabytes = bytes as f64 / seconds * 60.0 / 1e6;
    row(&format!("sent to the page in a minute of them, {name}"), &format!("{megabytes:.1} MB"), "≤ 2 MB");
    row(&format!("the last of them on the page, {name}"), &format!("{:.0} ms", ms(late)), "≤ 1000 ms");
}
