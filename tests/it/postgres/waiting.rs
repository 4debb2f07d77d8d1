//! Waiting across hosts: each has its own checkout, and hears of the others' changes by the server alone.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{host_at, wait_for};
use crate::api::{Reader, Server, run_of};
use crate::common::TestProject;
use crate::common::postgres_server::{self, PostgresServer};

fn another_host(world: &TestProject) -> TestProject {
    let (server, schema) = world.on_server.as_ref().unwrap();
    host_at(&server.address(schema))
}

/// A command that prints while it runs, by its lines. It is killed when this is dropped.
pub(super) struct Printing(Child, Receiver<String>);

impl Printing {
    pub(super) fn start(world: &TestProject, args: &[&str], address: Option<String>) -> Self {
        let mut command = world.fairway(args);
        if let Some(address) = address {
            command.env("FAIRWAY_STORE_URL", address);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let stdout: Box<dyn Read + Send> = Box::new(child.stdout.take().unwrap());
        for output in [stdout, Box::new(child.stderr.take().unwrap())] {
            let send = send.clone();
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Self(child, lines)
    }

    /// Waits for the end; returns the exit code.
    pub(super) fn end(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }

    /// Waits for a line with this text; returns how long that took.
    #[track_caller]
    pub(super) fn line(&self, text: &str) -> Duration {
        let start = Instant::now();
        let deadline = Duration::from_secs(20);
        while let Ok(line) = self.1.recv_timeout(deadline.saturating_sub(start.elapsed())) {
            if line.contains(text) {
                return start.elapsed();
            }
        }
        panic!("no line with '{text}'");
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many connections of this name listen.
pub(super) fn listeners(server: &PostgresServer, schema: &str, name: &str) -> String {
    let query = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' AND state = 'idle' \
         AND query LIKE 'SELECT pg_notify%'"
    );
    server.query(schema, &query).remove(0)
}

/// An address whose connections the test can tell from others.
pub(super) fn named(server: &PostgresServer, schema: &str) -> (String, String) {
    let name = format!("waiter-{schema}");
    (format!("{}&application_name={name}", server.address(schema)), name)
}

#[test]
fn a_follower_on_one_host_sees_the_events_of_another_at_once() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let other = another_host(&world);
    let (address, name) = named(server, schema);
    let follower = Printing::start(&other, &["events", "--follow"], Some(address));
    wait_for(|| (listeners(server, schema, &name) == "1").then_some(()));
    for title in ["first", "second"] {
        world.run(["task", "add", title]).exits(0);
        let waited = follower.line("task.added");
        assert!(waited < Duration::from_secs(5), "{waited:?}");
    }
    // The connections say nothing between: no polling.
    let query = format!("SELECT count(*), max(query_start) FROM pg_stat_activity WHERE application_name = '{name}'");
    let quiet = server.query(schema, &query);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.query(schema, &query), quiet);
    assert!(quiet[0].starts_with("2|"), "{quiet:?}");
}

#[test]
fn an_inbox_on_one_host_wakes_for_a_message_from_another() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let other = another_host(&world);
    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    let (address, name) = named(server, schema);
    let inbox = Printing::start(&other, &["inbox", "--session", "s1", "--wait", "60s"], Some(address));
    wait_for(|| (listeners(server, schema, &name) == "1").then_some(()));
    world.run(["message", "send", "come-and-see", "--to-session", "s1"]).exits(0);
    inbox.line("come-and-see");
}

/// A server of the worker API asks the store from the thread that serves, which drives a runtime of its own.
#[test]
fn a_prompt_from_one_host_comes_down_the_stream_of_another() {
    let Some(world) = TestProject::on_postgres() else { return };
    let mut other = another_host(&world);
    other.real_time();
    world.real_time();
    world.run(["session", "upsert", "--id", "s1", "--role", "worker", "--status", "running"]).exits(0);
    let (server, schema) = world.on_server.as_ref().unwrap();
    other.set("FAIRWAY_STORE_URL", named(server, schema).0);
    let _serving = Server::start(&other, &[]);
    let run = run_of(&world, "s1");
    let mut stream = Reader::of(&other, &format!("/stream?run_id={run}"), None);
    world.run(["message", "send", "come-and-see", "--to-session", "s1", "--priority", "urgent"]).exits(0);
    assert_eq!(stream.next().unwrap().data["content"], "come-and-see");
    // Its connections end, and it goes on.
    let end = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = $1";
    server.query(schema, &end.replace("$1", &format!("'{}'", named(server, schema).1)));
    world.run(["message", "send", "once-more", "--to-session", "s1", "--priority", "urgent"]).exits(0);
    assert_eq!(stream.next().unwrap().data["content"], "once-more");
}

/// A follower survives the end of its connections, and of its server; what came meanwhile is not missed.
#[test]
fn a_follower_goes_on_after_its_connections_and_its_server_ended() {
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    let (server, schema) = world.on_server.as_ref().unwrap();
    let (address, name) = named(server, schema);
    let follower = Printing::start(&world, &["events", "--follow"], Some(address));
    wait_for(|| (listeners(server, schema, &name) == "1").then_some(()));
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'");
    assert_eq!(server.query(schema, &end), ["t", "t"]);
    world.run(["task", "add", "first"]).exits(0);
    follower.line("T-1");
    wait_for(|| (listeners(server, schema, &name) == "1").then_some(()));
    server.crash_and_restart();
    world.run(["task", "add", "second"]).exits(0);
    follower.line("T-2");
}
