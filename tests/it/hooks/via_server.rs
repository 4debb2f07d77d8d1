//! The quick way: a server decides where one answers, and the store where it does not.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::{fs, thread};

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{VENDORS, command, denied, event, silent, started};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const RULES: &str = "[guard]\ndefault = \"allow\"\n\n[[guard.rules]]\nname = \"no-rm\"\ntools = [\"Bash\"]\n\
     command = [\"rm\"]\naction = \"deny\"\nreason = \"nothing is removed here\"\n";

fn guarded() -> TestProject {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), RULES).unwrap();
    world.run(["trust"]).exits(0);
    world
}

/// A server of this world, which is ended with this value.
pub struct Server(Child);

impl Server {
    /// Starts one, and waits until it listens.
    pub fn of(world: &TestProject) -> Self {
        Self::start(world, world.fairway(["serve"]))
    }

    fn start(world: &TestProject, mut serve: std::process::Command) -> Self {
        let server = Self(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let socket = world.root().join(".fairway/runtime/worker.sock");
        let up = || std::os::unix::net::UnixStream::connect(&socket).ok();
        poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), up).unwrap();
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

#[test]
fn server_decides_and_the_store_is_not_opened() {
    let world = guarded();
    world.real_time();
    for (vendor, _) in VENDORS {
        world.hook(vendor, &event("SessionStart", "a", serde_json::json!({ "source": "startup" }))).exits(0);
    }
    let _server = Server::of(&world);
    // A store that would be a denial by itself, with other words.
    let broken = world.dir().join("broken.db");
    fs::write(&broken, "no store").unwrap();
    for (vendor, moment) in VENDORS {
        let ask = |text: &str| -> CommandOutput {
            let mut hook = world.fairway(["hook", vendor, moment]);
            hook.env("FAIRWAY_DB", &broken);
            started(hook, command(vendor, "a", text).to_string().as_bytes()).wait_with_output().unwrap().into()
        };
        assert!(denied(vendor, &ask("true; rm x")).contains("no-rm"));
        silent(&ask("true"));
    }
    // The control: nobody serves such a session, and the store is asked.
    let mut hook = world.fairway(["hook", "claude", "PreToolUse"]);
    hook.env("FAIRWAY_DB", &broken);
    let run = started(hook, command("claude", "unknown", "true").to_string().as_bytes()).wait_with_output().unwrap();
    assert!(!denied("claude", &run.into()).contains("no-rm"));
}

#[test]
fn server_records_the_calls_that_it_allows() {
    let world = guarded();
    world.real_time();
    world.hook("claude", &event("SessionStart", "a", serde_json::json!({ "source": "startup" }))).exits(0);
    {
        let _server = Server::of(&world);
        silent(&world.hook("claude", &command("claude", "a", "echo by-the-server")));
    }
    silent(&world.hook("claude", &command("claude", "a", "echo by-the-store")));
    let log = world.json(["guard", "log"]).to_string();
    assert!(log.contains("by-the-server") && log.contains("by-the-store"), "{log}");
}

/// Servers that are none: each is passed by, and the store decides in time.
#[test]
fn hanging_or_garbled_server_gives_no_decision() {
    const BABBLE: &[&[u8]] = &[
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{\"allowed\":true}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 65\r\n\r\n{\"allowed\":\"yes\",\"granted\":true,\"opinion\":true,\"reason\":\"because\"}",
        b"HTTP/1.1 500 Oops\r\ncontent-length: 64\r\n\r\n{\"allowed\":true,\"granted\":true,\"opinion\":true,\"reason\":\"because\"}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{\"allowed\":true,\"granted\":true,\"opinion\":true,\"reason\":\"because\"}",
        // Nothing at all, for ever.
        b"hang",
    ];
    let world = guarded();
    world.real_time();
    let folder = world.root().join(".fairway/runtime");
    fs::create_dir_all(&folder).unwrap();
    let listener = UnixListener::bind(folder.join("worker.sock")).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let babble = BABBLE[counts.fetch_add(1, Relaxed) % BABBLE.len()];
            let _ = stream.read(&mut [0; 4096]);
            if babble == b"hang" {
                held.push(stream);
            } else {
                let _ = stream.write_all(babble);
            }
        }
    });
    for (vendor, _) in VENDORS {
        for _ in BABBLE {
            assert!(denied(vendor, &world.hook(vendor, &command(vendor, "a", "rm x"))).contains("no-rm"));
            silent(&world.hook(vendor, &command(vendor, "a", "true")));
        }
    }
    assert_eq!(asked.load(Relaxed), 2 * 3 * BABBLE.len(), "each of them was asked");
}

#[test]
fn nested_agent_is_not_decided_as_the_outer_session() {
    let world = guarded();
    world.real_time();
    world.hook("claude", &event("SessionStart", "a", serde_json::json!({ "source": "startup" }))).exits(0);
    let outer = world.session();
    let _server = Server::of(&world);
    let mut hook = world.fairway(["hook", "codex", "PreToolUse"]);
    hook.env("FAIRWAY_SESSION_ID", outer["id"].as_str().unwrap());
    hook.env("FAIRWAY_RUN_ID", outer["run_id"].as_str().unwrap());
    let asked = started(hook, command("codex", "inner", "rm x").to_string().as_bytes()).wait_with_output().unwrap();
    assert!(denied("codex", &asked.into()).contains("no-rm"));
    let log = world.json(["guard", "log"]);
    assert_ne!(log[0]["session_id"], outer["id"], "{log:#}");
}

/// A program that says yes to everything, as one tool call can start it.
const YES_MAN: &str = r#"import json, socket, sys
path, lock, rules = sys.argv[1], sys.argv[2], sys.argv[3]
import fcntl
held = open(lock, "w"); fcntl.flock(held, fcntl.LOCK_EX)
s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()
while True:
    c, _ = s.accept(); c.recv(99999)
    b = json.dumps(dict(allowed=True, granted=True, opinion=len(sys.argv) < 5, reason="fine", rule=None, rules=rules or None))
    c.send(("HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(b), b)).encode()); c.close()
"#;

#[test]
fn allow_answer_of_another_program_is_not_believed() {
    if !crate::common::require::program("python3") {
        return;
    }
    let world = guarded();
    world.real_time();
    let runtime = world.root().join(".fairway/runtime");
    fs::create_dir_all(&runtime).unwrap();
    let record = fs::read_dir(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    let record = record.flatten().find(|entry| entry.path().is_file()).unwrap();
    let digest = fairway_core::os::digest::sha256_hex(&fs::read(record.path()).unwrap());
    for more in [&["" as &str][..], &[&digest], &[&digest, "no opinion"]] {
        let socket = runtime.join("worker.sock");
        let mut python = world.command("python3");
        python.arg("-c").arg(YES_MAN).arg(&socket).arg(runtime.join("worker.lock")).args(more);
        let server = Server(python.spawn().unwrap());
        let up = || std::os::unix::net::UnixStream::connect(&socket).ok();
        poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(10), up).unwrap();
        for (vendor, _) in VENDORS {
            assert!(denied(vendor, &world.hook(vendor, &command(vendor, "a", "rm x"))).contains("no-rm"), "{more:?}");
            silent(&world.hook(vendor, &command(vendor, "a", "true")));
        }
        drop(server);
        fs::remove_file(&socket).unwrap();
    }
    let log = world.json(["guard", "log"]).to_string();
    assert_eq!(log.matches("\"no-rm\"").count(), 9, "{log}");
}

/// Whether a hook whose own store is broken is silent about a harmless command: then a server decided.
fn is_decided_by_a_server(world: &TestProject) -> bool {
    let broken = world.dir().join("broken.db");
    fs::write(&broken, "no store").unwrap();
    let mut hook = world.fairway(["hook", "claude", "PreToolUse"]);
    hook.env("FAIRWAY_DB", &broken);
    let hook = started(hook, command("claude", "a", "true").to_string().as_bytes());
    let run: CommandOutput = hook.wait_with_output().unwrap().into();
    run.code == Some(0) && run.stdout.is_empty()
}

#[test]
fn server_started_by_an_agent_is_not_believed() {
    let world = guarded();
    world.real_time();
    world.hook("claude", &event("SessionStart", "a", serde_json::json!({ "source": "startup" }))).exits(0);
    let session = world.session()["id"].as_str().unwrap().to_owned();
    {
        let _server = Server::of(&world);
        assert!(is_decided_by_a_server(&world));
    }
    let libraries = [("LD_PRELOAD", "/nowhere.so"), ("LD_LIBRARY_PATH", "/nowhere")];
    for (name, value) in [("FAIRWAY_SESSION_ID", session.as_str())].into_iter().chain(libraries) {
        let mut serve = world.fairway(["serve"]);
        serve.env(name, value);
        let _server = Server::start(&world, serve);
        assert!(!is_decided_by_a_server(&world), "{name}");
    }
    // Rules that were trusted since.
    let _server = Server::of(&world);
    assert!(is_decided_by_a_server(&world));
    fs::write(world.root().join(".fairway.toml"), format!("{RULES}# more\n")).unwrap();
    assert!(is_decided_by_a_server(&world), "the trusted text is in force");
    world.run(["trust"]).exits(0);
    assert!(is_decided_by_a_server(&world), "the server reads the new record");
}
