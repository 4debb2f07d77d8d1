//! A day over two machines, with `FAIRWAY_SOAK=1` and as root: each has a network, processes, a host name, a machine id and a home of its
//! own, and reaches the server and git's remote by HTTP over its own address alone.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::{fs, thread};

use serde_json::Value;

use super::wait_for;
use crate::cli::land::{NO_GATES, commit};
use crate::common::postgres_server::PostgresServer;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, git_http, require, soak};

/// A machine: the first of its processes ends all others with it.
struct Machine {
    world: TestProject,
    holder: Child,
    /// The first process.
    first: String,
    link: String,
    address: String,
}

impl Machine {
    fn start(world: TestProject, number: u32, name: &str) -> Self {
        let holder = Command::new("unshare")
            .args(["--net", "--uts", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "sleep", "infinity"])
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let first = wait_for(|| {
            let first = fs::read_to_string(&children).unwrap().trim().to_owned();
            let is_ready = fs::read_to_string(format!("/proc/{first}/comm")).is_ok_and(|name| name == "sleep\n");
            is_ready.then_some(first)
        });
        let (link, address) = (format!("fw{}x{number}", std::process::id()), format!("10.77.{number}.1"));
        let machine = Self { world, holder, first, link, address };
        // What is changed below is its own, not this machine's.
        let namespace = |process: &str, name: &str| fs::read_link(format!("/proc/{process}/ns/{name}")).unwrap();
        for kind in ["net", "uts", "pid", "mnt"] {
            assert_ne!(namespace(&machine.first, kind), namespace("self", kind));
        }
        let link = &machine.link;
        ip(&format!("link add {link} type veth peer name eth0 netns {}", machine.first));
        ip(&format!("addr add {}/24 dev {link}", machine.address));
        ip(&format!("link set {link} up"));
        let id = machine.world.dir().join("machine-id");
        fs::write(&id, format!("{number:032x}\n")).unwrap();
        let script = format!(
            "ip link set lo up && ip addr add 10.77.{number}.2/24 dev eth0 && ip link set eth0 up && hostname {name} \
             && {{ [ ! -e /etc/machine-id ] || mount --bind {} /etc/machine-id; }}",
            id.display()
        );
        let mut setup = machine.world.command("sh");
        setup.args(["-c", &script]);
        CommandOutput::from(machine.inside(&setup).output().unwrap()).exits(0);
        machine
    }

    /// A command, on this machine.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.args(["--target", &self.first, "--net", "--uts", "--pid", "--mount", "--"]);
        inside.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]);
        inside.arg(command.get_current_dir().unwrap()).arg(command.get_program()).args(command.get_args());
        inside.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.stdin(std::process::Stdio::null());
        inside
    }

    fn run(&self, line: &[&str]) -> CommandOutput {
        self.inside(&self.world.fairway(line)).output().unwrap().into()
    }

    fn json(&self, line: &[&str]) -> Value {
        self.run(&[line, &["--json"]].concat()).exits(0).json()
    }

    fn git(&self, dir: &Path, line: &[&str]) {
        let mut git = self.world.command("git");
        git.current_dir(dir).args(line);
        CommandOutput::from(self.inside(&git).output().unwrap()).exits(0);
    }

    fn identify(&self) {
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            self.git(&self.world.root(), &["config", key, value]);
        }
    }

    /// A task in a lane of its own, worked on and in review.
    fn submitted(&self, task: &str) {
        self.run(&["lane", "add", task, "--create-worktree"]).exits(0);
        self.run(&["task", "edit", task, "--lane", task]).exits(0);
        self.run(&["claim", task]).exits(0);
        let commit = commit(&self.world, task, &[(&format!("{task}.txt"), "work\n")]);
        self.run(&["task", "submit", task, "--commit", &commit]).exits(0);
    }

    /// All of its processes end at once.
    fn die(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let first = format!("/proc/{}", self.first);
        wait_for(|| (!Path::new(&first).exists()).then_some(()));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let _ = Command::new("ip").args(["link", "del", &self.link]).stderr(std::process::Stdio::null()).status();
    }
}

fn ip(line: &str) {
    let done = Command::new("ip").args(line.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Leads the connections to this address to the server.
fn lead_to(server: &PostgresServer, listener: TcpListener) {
    let port = server.port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            for (mut from, mut to) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
                thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
}

/// The addresses of the store and of the remote as this machine reaches them.
fn reach(machine: &mut Machine, server: &PostgresServer, schema: &str, remote: &Path) -> String {
    let listen = || TcpListener::bind((machine.address.as_str(), 0)).unwrap();
    let (store, git) = (listen(), listen());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let address = server.network_address(&machine.address, port(&store), schema);
    let address = format!("{address}&sslrootcert={}", server.file("authority.pem").display());
    let url = format!("http://{}:{}/remote.git", machine.address, port(&git));
    lead_to(server, store);
    git_http::serve(git, remote.parent().unwrap());
    machine.world.set("FAIRWAY_STORE_URL", address);
    url
}

#[test]
fn work_of_a_machine_that_dies_goes_on_at_another_one() {
    if !soak::is_on() || !require::root() || !require::program("unshare") || !require::program("ip") {
        return;
    }
    let Some(plain) = TestProject::on_postgres() else { return };
    let (server, schema) = plain.on_server.clone().unwrap();
    let remote = plain.dir().join("remote.git");
    plain.git(plain.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote.display().to_string()]);
    let mut a = Machine::start(TestProject::uninitialized(), 1, "laptop");
    let url = reach(&mut a, &server, &schema, &remote);
    let root = a.world.root();
    a.git(&root, &["init", "--quiet", "--initial-branch=main"]);
    a.identify();
    a.run(&["init", "--quiet"]).exits(0);
    let config = root.join(".fairway.toml");
    fs::write(&config, format!("{}{NO_GATES}", fs::read_to_string(&config).unwrap())).unwrap();
    a.git(&root, &["add", "--all"]);
    a.git(&root, &["commit", "--quiet", "--message=configuration"]);
    a.git(&root, &["remote", "add", "origin", &url]);
    a.git(&root, &["push", "--quiet", "-u", "origin", "main"]);
    let mut b = Machine::start(TestProject::uninitialized(), 2, "build1");
    let url = reach(&mut b, &server, &schema, &remote);
    b.git(b.world.dir(), &["clone", "--quiet", &url, &b.world.root().display().to_string()]);
    b.identify();
    b.run(&["init", "--quiet"]).exits(0);

    // One lands, and the other one sees it after a fetch.
    for (task, on) in [("ui", None), ("api", Some("ui")), ("work", None)] {
        let on: Vec<&str> = on.iter().flat_map(|on| ["--depends-on", *on]).collect();
        a.run(&[&["task", "add", "--id", task, task], &on[..]].concat()).exits(0);
    }
    a.submitted("ui");
    a.run(&["land", "ui"]).exits(0);
    let error = b.run(&["claim", "api", "--json"]).refuses(5, "deps_open").error();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("api has dependencies that are not here: ui is landed on laptop")
    );
    b.git(&b.world.root(), &["fetch", "--quiet"]);
    b.submitted("api");
    b.run(&["land", "api"]).exits(0);

    // One dies amid its work, with what it has pushed at the remote.
    let sleep = ["--", "sleep", "300"];
    let start = [&["start", "work", "--backend", "shell", "--json"], &sleep[..]].concat();
    let started = a.run(&start).exits(0).json();
    let session = started["id"].as_str().unwrap().to_owned();
    commit(&a.world, "work", &[("begun.txt", "begun\n")]);
    a.git(&root.join(".fairway/worktrees/work"), &["push", "--quiet", "origin", "lane/work"]);
    b.run(&["session", "reconcile"]).exits(0);
    assert_eq!(b.json(&["session", "show", &session])["status"], "running");
    let here = |b: &Machine| b.run(&[&["session", "relaunch", &session, "--here", "--json"], &sleep[..]].concat());
    a.die();
    here(&b).refuses(4, "host_alive");
    b.world.advance_clock(3_600);
    let board = b.json(&["status"]);
    let needs = board["needs_you"].as_array().unwrap();
    assert!(needs.iter().any(|need| need["kind"] == "host_silent"), "{board:#}");
    let moved = here(&b).exits(0).json();
    assert_eq!(b.json(&["task", "show", "work"])["claim"]["session_id"], moved["id"]);
    b.run(&["session", "stop", moved["id"].as_str().unwrap()]).exits(0);
    let work = b.world.root().join(".fairway/worktrees/work");
    assert_eq!(fs::read_to_string(work.join("begun.txt")).unwrap(), "begun\n");
    let hosts = b.json(&["host", "list"]);
    // The number of the pid namespace follows.
    let name = |host: &Value| host["name"].as_str().unwrap().split('/').next().unwrap().to_owned();
    let mut names: Vec<String> = hosts.as_array().unwrap().iter().map(name).collect();
    names.sort_unstable();
    assert_eq!(names, ["build1", "laptop"], "{hosts:#}");
    let log = b.world.git(&remote, &["log", "--format=%s", "main"]);
    assert!(log.contains("work of ui") && log.contains("work of api"), "{log}");
}

/// A container that shares the file of the store is another host, and what its processes do is known there alone.
#[test]
fn container_with_the_store_in_a_file_is_given_up_once_it_is_silent() {
    if !soak::is_on() || !require::root() || !require::program("unshare") || !require::program("ip") {
        return;
    }
    let mut container = Machine::start(TestProject::new(), 3, "box");
    container.run(&["session", "upsert", "--id", "inside", "--role", "worker", "--pid", "1"]).exits(0);
    container.run(&["task", "add", "--id", "work", "work"]).exits(0);
    container.run(&["claim", "work", "--session", "inside"]).exits(0);
    let outside = |line: &[&str]| container.world.run([line, &["--json"]].concat());
    let report = outside(&["session", "reconcile"]).exits(0).json();
    assert_eq!(report["skipped"][0]["session_id"], "inside", "{report:#}");
    assert_eq!(outside(&["session", "show", "inside"]).exits(0).json()["status"], "running");
    let hint = outside(&["session", "stop", "inside"]).refuses(4, "session_mismatch").error()["hint"].clone();
    assert!(hint.as_str().unwrap().contains("ssh box fairway session stop inside"), "{hint}");
    let retire = ["host", "retire", "box", "--reason", "it is gone"];
    outside(&retire).refuses(4, "host_alive");
    container.die();
    container.world.advance_clock(3_600);
    let outside = |line: &[&str]| container.world.run([line, &["--json"]].concat());
    let retired = outside(&retire).exits(0).json();
    assert_eq!((&retired["sessions"][0], &retired["released"][0]), (&"inside".into(), &"work".into()), "{retired:#}");
    assert_eq!(outside(&["session", "show", "inside"]).exits(0).json()["status"], "failed");
}
