//! Panes that were there before and were made known: a real tmux server says what becomes of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::Sessions;
use crate::common::test_project::CommandOutput;

const LONG: Duration = Duration::from_secs(20);

/// A tmux server on a socket of its own, gone with its handle.
struct Server {
    socket: PathBuf,
}

impl Server {
    fn start(world: &Sessions) -> Self {
        let this = Self { socket: world.dir().join("tmux.sock") };
        this.again();
        this
    }

    /// Starts the server: once more, where one had ended.
    fn again(&self) {
        let args = [
            "-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep 600", ";", "set", "-g", "remain-on-exit", "on",
        ];
        self.tmux(&args).exits(0);
    }

    fn tmux(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(&self.socket).args(args).stdin(Stdio::null());
        CommandOutput::from(command.output().expect("tmux is installed: tests/run.sh sees to that"))
    }

    fn at(&self) -> &str {
        self.socket.to_str().unwrap()
    }

    fn key(&self) -> ProcessKey {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]).exits(0).stdout;
        ProcessKey::of(pid.trim().parse().unwrap()).unwrap()
    }

    /// A new pane with this command; its id.
    fn pane(&self, command: &str) -> String {
        self.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", command]).exits(0).stdout.trim().to_owned()
    }

    fn kill(&self) {
        let key = self.key();
        key.signal(Signal::SIGKILL).unwrap();
        let gone = || ProcessKey::of(key.pid).is_none().then_some(());
        poll_until::poll_until(LONG, Duration::from_millis(10), gone).expect("the server is gone");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn adopt(world: &Sessions, server: &Server, id: &str, pane: &str) {
    let args =
        ["session", "upsert", "--id", id, "--role", "r", "--backend", "tmux", "--socket", server.at(), "--pane", pane];
    world.run(args).exits(0);
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|finding| finding["session_id"].as_str().unwrap()).collect()
}

fn settle(world: &Sessions) -> Value {
    let before = world.queue();
    let report = world.json(["session", "reconcile"]);
    assert_eq!(world.queue(), before);
    report
}

#[test]
fn pane_lives_until_it_is_dead_or_gone() {
    let world = Sessions::new();
    let server = Server::start(&world);
    let panes: Vec<String> = (0..3).map(|_| server.pane("sleep 600")).collect();
    for (id, pane) in ["stays", "dies", "goes"].iter().zip(&panes) {
        adopt(&world, &server, id, pane);
    }
    let report = settle(&world);
    assert_eq!((ids(&report["stale"]).len(), ids(&report["unknown"]).len()), (0, 0), "{report:#}");
    let pid = server.tmux(&["display-message", "-p", "-t", &panes[1], "#{pane_pid}"]).exits(0).stdout;
    ProcessKey::of(pid.trim().parse().unwrap()).unwrap().signal(Signal::SIGKILL).unwrap();
    let dead = || {
        server.tmux(&["list-panes", "-a", "-F", "#{pane_id}=#{pane_dead}"]).stdout.contains(&format!("{}=1", panes[1]))
    };
    poll_until::poll_until(LONG, Duration::from_millis(20), || dead().then_some(())).expect("the pane is dead");
    server.tmux(&["kill-pane", "-t", &panes[2]]).exits(0);
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]), ["dies", "goes"], "{report:#}");
    assert!(report["stale"][0]["reason"].as_str().unwrap().contains("is dead"));
    assert!(report["stale"][1]["reason"].as_str().unwrap().contains("no pane"));
}

/// A person types this in the pane; `reconcile` is called from elsewhere.
#[test]
fn pane_of_another_server_is_found_by_the_variable_of_tmux() {
    let world = Sessions::new();
    let server = Server::start(&world);
    let pane = server.pane("sleep 600");
    let mut upsert =
        world.fairway(["session", "upsert", "--id", "here", "--role", "r", "--backend", "tmux", "--pane", &pane]);
    upsert.env("TMUX", format!("{},1,0", server.at()));
    CommandOutput::from(upsert.output().unwrap()).exits(0);
    assert_eq!(world.session("here")["socket"], server.at());
    server.tmux(&["kill-pane", "-t", &pane]).exits(0);
    assert_eq!(ids(&settle(&world)["stale"]), ["here"]);
}

#[test]
fn pane_with_a_reused_id_is_another_pane() {
    let world = Sessions::new();
    let server = Server::start(&world);
    let pane = server.pane("sleep 600");
    adopt(&world, &server, "s", &pane);
    server.kill();
    let report = settle(&world);
    assert_eq!(ids(&report["stale"]), ["s"]);
    assert!(report["stale"][0]["reason"].as_str().unwrap().contains("server is gone"), "{report:#}");
    // The control: by its id alone it would live.
    server.again();
    assert_eq!(server.pane("sleep 600"), pane);
    let report = settle(&world);
    assert_eq!(ids(&report["revived"]), Vec::<&str>::new(), "{report:#}");
    world.run(["session", "end", "s"]).exits(0);
    adopt(&world, &server, "t", &pane);
    assert_eq!(ids(&settle(&world)["stale"]), Vec::<&str>::new());
}

#[test]
fn frozen_server_marks_no_session_stale() {
    let world = Sessions::new();
    let server = Server::start(&world);
    for id in ["a", "b", "c", "d"] {
        adopt(&world, &server, id, &server.pane("sleep 600"));
    }
    let key = server.key();
    key.signal(Signal::SIGSTOP).unwrap();
    let began = Instant::now();
    let report = settle(&world);
    let took = began.elapsed();
    key.signal(Signal::SIGCONT).unwrap();
    assert_eq!(ids(&report["unknown"]), ["a", "b", "c", "d"], "{report:#}");
    assert!(report["unknown"][0]["reason"].as_str().unwrap().contains("did not answer"), "{report:#}");
    // Four calls would take eight.
    assert!(took >= Duration::from_secs(2), "{took:?}");
    crate::common::soak::took(took, ..Duration::from_secs(6), "one call");
    assert_eq!(ids(&settle(&world)["unknown"]), Vec::<&str>::new());
}

#[test]
fn server_that_cannot_be_asked_is_not_a_dead_one() {
    let mut world = Sessions::new();
    let server = Server::start(&world);
    let pane = server.pane("sleep 600");
    adopt(&world, &server, "s", &pane);
    // Its socket is gone, and it lives.
    let moved = world.dir().join("moved.sock");
    std::fs::rename(&server.socket, &moved).unwrap();
    assert_eq!(ids(&settle(&world)["unknown"]), ["s"]);
    std::fs::rename(&moved, &server.socket).unwrap();
    // There is no tmux.
    let empty = world.dir().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    world.set("PATH", &empty);
    assert_eq!(ids(&settle(&world)["unknown"]), ["s"]);
    // One that says something else.
    for says in ["echo garbage", "echo no server running >&2; exit 1", "exit 127", "kill -9 $$"] {
        std::fs::remove_file(empty.join("tmux")).ok();
        world.script("empty/tmux", &format!("#!/bin/sh\n{says}\n"));
        let report = settle(&world);
        assert_eq!((ids(&report["unknown"]), ids(&report["stale"]).len()), (vec!["s"], 0), "{says}: {report:#}");
    }
    world.set("PATH", path);
    assert_eq!(ids(&settle(&world)["unknown"]), Vec::<&str>::new());
}
