//! `fairway notify`: items that need a person, at real programs and terminals. `notify-send` is a script: there is no desktop.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;
use serde_json::{Value, json};

use crate::common::terminal::at_terminal;
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, fixtures, require};

/// A project with a running session, a `notify-send` that logs its arguments, and a program that logs its stdin.
fn world(notify: &str) -> TestProject {
    let mut world = TestProject::new();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    let log = world.dir().join("desktop.log");
    script(&bin.join("notify-send"), &format!("printf '%s|' \"$@\" >>'{0}'; echo >>'{0}'", log.display()));
    script(&bin.join("sink.sh"), &format!("cat >>'{}'", world.dir().join("command.log").display()));
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    world.set("PATH", path.unwrap());
    world.add_session("m1");
    configure(&world, notify);
    world
}

fn script(path: &std::path::Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes the section and trusts it.
fn configure(world: &TestProject, notify: &str) {
    fs::write(world.root().join(".fairway.toml"), format!("[notify]\n{notify}\n")).unwrap();
    world.run(["trust", "--yes", "--quiet"]).exits(0);
}

fn log(world: &TestProject, name: &str) -> String {
    fs::read_to_string(world.dir().join(name)).unwrap_or_default()
}

/// The documents that the program got.
fn documents(world: &TestProject) -> Vec<Value> {
    log(world, "command.log").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn approval(world: &TestProject) -> i64 {
    fixtures::add_approval(world, "m1", "Bash", true)
}

/// A server that has the page at these addresses, as its file says.
fn show_page(world: &TestProject, origin: &str, network: &str) {
    let page = json!({ "host": "fairway-1.localhost", "origin": origin, "network": network, "fingerprint": null });
    let runtime = world.root().join(".fairway/runtime");
    fs::create_dir_all(&runtime).unwrap();
    fs::write(runtime.join("worker.page"), page.to_string()).unwrap();
}

/// The state of the only item at the only sink.
fn state(world: &TestProject) -> (String, i64) {
    let state = world.json(["notify"]);
    let items = state["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{state}");
    (items[0]["state"].as_str().unwrap().to_owned(), items[0]["attempts"].as_i64().unwrap())
}

#[test]
fn item_is_sent_once_to_each_sink_and_again_only_as_another_item() {
    let world = world("sinks = ['desktop', 'command']\n[notify.per_sink.command]\ncommand = 'sink.sh'");
    approval(&world);
    let sent = world.run(["notify", "--once"]).exits(0).stdout;
    assert_eq!(sent, "desktop: project: approval (m1): sent\ncommand: project: approval (m1): sent\n");
    assert_eq!(log(&world, "desktop.log"), "--app-name=Fairway|--|project: approval (m1)|Bash: ls|\n");
    let documents = documents(&world);
    let one = &documents[0];
    assert_eq!((documents.len(), &one["version"], &one["type"]), (1, &json!(1), &json!("item")));
    assert_eq!((&one["project"], &one["title"]), (&json!("project"), &json!("project: approval (m1)")));
    assert_eq!(one["items"][0]["id"], "approval:1");
    assert_eq!(one["items"][0]["commands"][0]["command"], "fairway approvals answer 1 allow");
    // It is not sent again; one that follows it is.
    assert_eq!(world.run(["notify", "--once"]).exits(0).stdout, "");
    world.run(["approvals", "answer", "1", "deny"]).exits(0);
    approval(&world);
    assert_eq!(world.run(["notify", "--once", "--quiet"]).exits(0).stdout, "approval:2\napproval:2\n");
    // The receipts of the first are gone with it.
    assert_eq!(world.value("SELECT count(*) FROM notifications"), "2");
}

#[test]
fn another_question_of_the_same_session_is_another_item() {
    let world = world("sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh'\nkinds = ['question']");
    for question in ["which currency?", "which currency?", "which country?"] {
        world.write_rows(&format!(
            "UPDATE agent_sessions SET activity = 'requires_action', activity_source = 'x', activity_at = 1, \
             waiting_for = '{question}' WHERE id = 'm1'"
        ));
        world.run(["notify", "--once"]).exits(0);
    }
    let texts: Vec<Value> = documents(&world).iter().map(|one| one["text"].clone()).collect();
    assert_eq!(texts, ["which currency?", "which country?"]);
}

#[test]
fn eight_senders_at_once_send_each_item_once() {
    let world = world("sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh'");
    for _ in 0..4 {
        approval(&world);
    }
    let senders: Vec<Child> = (0..8)
        .map(|_| world.fairway(["notify", "--once", "--quiet"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    let mut sent = Vec::new();
    for sender in senders {
        let run = CommandOutput::from(sender.wait_with_output().unwrap()).exits(0);
        sent.extend(run.stdout.lines().map(str::to_owned));
    }
    sent.sort();
    assert_eq!(sent, ["approval:1", "approval:2", "approval:3", "approval:4"]);
    assert_eq!(documents(&world).len(), 4);
}

#[test]
fn item_that_is_settled_before_it_is_sent_is_not_sent() {
    // The first delivery answers the second request.
    let world = world(
        "sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh; \"$FAIRWAY_BIN\" approvals answer 2 deny >/dev/null'",
    );
    let mut command = world.fairway(["notify", "--once", "--quiet"]);
    approval(&world);
    approval(&world);
    let run = CommandOutput::from(command.env("FAIRWAY_BIN", FAIRWAY).output().unwrap()).exits(0);
    assert_eq!((run.stdout.as_str(), documents(&world).len()), ("approval:1\n", 1));
}

#[test]
fn failures_are_retried_with_growing_delays_and_end_in_doctor() {
    let world =
        world("sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh; echo secret-address >&2; exit 22'");
    approval(&world);
    for (attempt, delay) in [(1, 10), (2, 30), (3, 90), (4, 270)] {
        let run = world.run(["notify", "--once"]).exits(7);
        assert!(
            run.stdout.starts_with("command: project: approval (m1): not sent: exit code 22; again at "),
            "{run:?}"
        );
        assert_eq!(state(&world), ("retry".to_owned(), attempt));
        // Neither too early, nor for another item meanwhile.
        assert_eq!(world.run(["notify", "--once"]).exits(0).stdout, "");
        world.advance_clock(delay);
    }
    assert!(!world.run(["doctor"]).stdout.contains("notification_failed"));
    let run = world.run(["notify", "--once"]).exits(7);
    assert_eq!(run.stdout, "command: project: approval (m1): not sent: exit code 22\n");
    world.advance_clock(100_000);
    assert_eq!(world.run(["notify", "--once"]).exits(0).stdout, "");
    assert_eq!((state(&world), documents(&world).len()), (("failed".to_owned(), 5), 5));
    let report = world.run(["doctor"]).stdout;
    assert!(report.contains("gave up 1 notification to the sink command; the last attempt: exit code 22"), "{report}");
    assert!(report.contains("fairway notify --test command"), "{report}");
    // The program's output may hold a secret: only a person who tests it sees it.
    assert!(!fs::read(world.store()).unwrap().windows(14).any(|part| part == b"secret-address"));
    let test = world.run(["notify", "--test", "command"]).exits(7);
    assert!(test.stderr.contains("secret-address"), "{test:?}");
    // A settled item leaves nothing behind.
    world.run(["approvals", "answer", "1", "deny"]).exits(0);
    world.run(["notify", "--once"]).exits(0);
    assert!(!world.run(["doctor"]).stdout.contains("given up"));
}

#[test]
fn program_that_hangs_is_ended_at_its_time_limit_and_keeps_other_sinks_free() {
    let world = world("sinks = ['command', 'desktop']\n[notify.per_sink.command]\ncommand = 'sleep 300'");
    for _ in 0..3 {
        approval(&world);
    }
    let run = world.run(["notify", "--once", "--json"]).exits(7);
    let attempts: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The sink that failed once is not asked for the other items.
    let of = |sink: &str| {
        attempts.iter().filter(|one| one["sink"] == sink).map(|one| one["state"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((of("command"), of("desktop")), (vec![json!("retry")], vec![json!("sent"); 3]));
    assert!(run.stdout.contains("took longer than 10 s"), "{run:?}");
}

#[test]
fn sender_that_dies_with_a_claimed_item_leaves_it_to_the_next_one() {
    let world = world("sinks = ['command']\n[notify.per_sink.command]\ncommand = 'cat >/dev/null; kill -9 $PPID'");
    approval(&world);
    assert_eq!(world.run(["notify", "--once"]).code, None);
    assert_eq!(state(&world), ("claimed".to_owned(), 1));
    configure(&world, "sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh'");
    assert_eq!(world.run(["notify", "--once"]).exits(0).stdout, "");
    // The time limits of program and sender, and thirty seconds.
    world.advance_clock(50);
    assert_eq!(world.run(["notify", "--once", "--quiet"]).exits(0).stdout, "approval:1\n");
    assert_eq!((state(&world), documents(&world).len()), (("sent".to_owned(), 2), 1));
}

#[test]
fn quiet_window_holds_items_and_ends_with_a_summary_of_those_that_are_open() {
    // The clock of the tests begins at midnight.
    let world = world(
        "sinks = ['command']\nquiet = '22:00-07:00'\nquiet_kinds = ['blocked']\n[notify.per_sink.command]\ncommand = 'sink.sh'",
    );
    for _ in 0..3 {
        approval(&world);
        let run = world.run(["notify", "--once"]).exits(0);
        assert_eq!(run.stdout, "", "{run:?}");
        assert!(run.stderr.contains("held until the quiet window ends"), "{run:?}");
    }
    world.run(["approvals", "answer", "2", "deny"]).exits(0);
    assert!(world.run(["notify"]).exits(0).stdout.contains("quiet: 22:00-07:00 (now, until 2026-01-01 07:00:00)"));
    assert_eq!(documents(&world).len(), 0);
    // A kind that is sent all the same, with the way to it.
    show_page(&world, "http://fairway-1.localhost:1", "https://10.0.0.1:7431");
    for call in [&["task", "add", "T-1", "t"][..], &["claim", "T-1"], &["task", "block", "T-1", "--reason", "no key"]] {
        world.run(call).exits(0);
    }
    world.run(["notify", "--once"]).exits(0);
    let urgent = documents(&world).remove(0);
    assert_eq!((&urgent["type"], &urgent["link"]), (&json!("item"), &json!("https://10.0.0.1:7431/#blocked%3AT-1")));
    world.advance_clock(7 * 3_600);
    world.run(["notify", "--once"]).exits(0);
    let documents = documents(&world).split_off(1);
    let ids: Vec<&Value> = documents[0]["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!((documents.len(), &documents[0]["type"]), (1, &json!("summary")));
    assert_eq!(ids, ["approval:1", "approval:3"]);
    assert_eq!(documents[0]["title"], "project: 2 items need you");
    assert_eq!(documents[0]["text"], "approval: Bash: ls\napproval: Bash: ls");
}

/// Each sink has its kinds and its actions. A request that the line does not tell whole is allowed by the form alone.
#[test]
fn sinks_have_kinds_and_actions_of_their_own() {
    let world = world(
        "sinks = ['command', 'phone']\n[notify.per_sink.command]\ncommand = 'sink.sh'\nkinds = ['approval', 'blocked']\n\
         [notify.per_sink.phone]\ncommand = 'cat >>phone.log'\nkinds = ['approval']\nactions = true",
    );
    show_page(&world, "http://fairway-1.localhost:1", "https://10.0.0.1:7431");
    for call in [&["task", "add", "T-1", "t"][..], &["claim", "T-1"], &["task", "block", "T-1", "--reason", "no key"]] {
        world.run(call).exits(0);
    }
    for input in ["ls", r"ls\nrm -rf /"] {
        let id = approval(&world);
        world.write_rows(&format!("UPDATE approvals SET input = '{{\"command\":\"{input}\"}}' WHERE id = {id}"));
    }
    let sent = world.run(["notify", "--once"]).exits(0).stdout;
    let of = |sink: &str| sent.lines().filter(|line| line.starts_with(&format!("{sink}: "))).count();
    assert_eq!((of("command"), of("phone")), (3, 2), "{sent}");
    let read = |name: &str| fs::read_to_string(world.root().join(name)).unwrap();
    assert!(documents(&world).iter().all(|one| one["actions"] == json!([])));
    let phone: Vec<Value> = read("phone.log").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [whole, part] = &phone[..] else { panic!("{phone:?}") };
    let names: Vec<&Value> = whole["actions"].as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(names, ["allow", "deny"]);
    let allow = &whole["actions"][0];
    assert_eq!(
        (&allow["url"], &allow["local_url"]),
        (&json!("https://10.0.0.1:7431/answer"), &json!("http://fairway-1.localhost:1/answer"))
    );
    assert!(allow["form"].as_str().unwrap().starts_with("https://10.0.0.1:7431/answer?token="));
    assert_eq!(part["text"], "Bash: ls rm -rf /");
    assert_eq!(part["actions"][0]["body"], Value::Null, "the line hides the line break");
    assert!(part["actions"][0]["form"].is_string() && part["actions"][1]["body"].is_string());
    let state = world.json(["notify"]);
    let own = json!([
        { "sink": "command", "kinds": ["approval", "blocked"], "actions": false },
        { "sink": "phone", "kinds": ["approval"], "actions": true },
    ]);
    assert_eq!(state["per_sink"], own, "{state}");
    world.run(["notify", "--test", "phone"]).exits(0);
    assert!(read("phone.log").ends_with("\"actions\":[]}\n"));
}

#[test]
fn hostile_texts_are_arguments_and_markup_free() {
    let world = world("sinks = ['desktop']");
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    world.run(["task", "block", "T-1", "--reason=--icon=x $(touch no) <b>& API_KEY=abcdef"]).exits(0);
    world.run(["notify", "--once"]).exits(0);
    let sent = log(&world, "desktop.log");
    assert!(sent.ends_with("|--icon=x $(touch no) &lt;b&gt;&amp; API_KEY=•••|\n"), "{sent}");
    assert!(sent.starts_with("--app-name=Fairway|--|"), "{sent}");
}

#[test]
fn untrusted_program_is_not_run() {
    let world = TestProject::new();
    let own = "[notify]\nsinks = ['phone']\n[notify.per_sink.phone]\ncommand = 'touch no'\n";
    fs::write(world.root().join(".fairway.toml"), own).unwrap();
    world.run(["notify", "--once", "--json"]).refuses(9, "untrusted");
    world.run(["notify", "--test", "phone", "--json"]).refuses(9, "untrusted");
    fs::write(
        world.root().join(".fairway.toml"),
        "[notify]\nsinks = ['command']\n[notify.per_sink.command]\ncommand = 'touch no'\n",
    )
    .unwrap();
    for args in [["notify", "--once", "--json"], ["notify", "--follow", "--json"], ["notify", "--test", "--json"]] {
        world.run(args).refuses(9, "untrusted");
    }
    assert!(world.json(["notify"])["untrusted"].as_str().unwrap().contains("has changed since it was trusted"));
    assert!(!world.root().join("no").exists());
    world.run(["trust", "--yes"]).exits(0);
    world.run(["notify", "--test"]).exits(0);
    assert!(world.root().join("no").exists());
    // A script inside the project is trusted with its bytes.
    script(&world.root().join("sink.sh"), "touch yes");
    configure(&world, "sinks = ['command']\n[notify.per_sink.command]\ncommand = './sink.sh'");
    world.run(["notify", "--test"]).exits(0);
    script(&world.root().join("sink.sh"), "touch other");
    world.run(["notify", "--test", "--json"]).refuses(9, "untrusted");
    assert!(world.root().join("yes").exists() && !world.root().join("other").exists());
}

#[test]
fn wrong_calls_and_settings_are_refused_with_a_reason() {
    let world = TestProject::new();
    let refused = |args: &[&str], text: &str| {
        let run = world.run(args).exits(2);
        assert!(run.stderr.contains(text), "{run:?}");
    };
    refused(&["notify", "--once"], "no sink is configured");
    refused(&["notify", "--test"], "no sink is configured");
    refused(&["notify", "--test", "mail"], "bell, osc, desktop");
    refused(&["notify", "--once", "--follow"], "cannot be used with");
    let run = world.run(["notify", "--test", "bell"]).exits(7);
    assert_eq!(run.stdout, "bell: project: test: not sent: there is no terminal\n");
    fs::write(world.root().join(".fairway.toml"), "[notify]\nsinks = ['bell']\n").unwrap();
    refused(&["notify", "--follow"], "the configured sinks need a terminal: bell");
    for (section, key) in [("sinks = ['mail']", "notify.sinks"), ("quiet = 'night'", "notify.quiet")] {
        fs::write(world.root().join(".fairway.toml"), format!("[notify]\n{section}\n")).unwrap();
        let run = world.run(["notify"]);
        assert!(run.stderr.contains(key), "{run:?}");
    }
    // Inside a session it would use up a person's notifications.
    fs::write(world.root().join(".fairway.toml"), "[notify]\nsinks = ['desktop']\n").unwrap();
    world.add_session("m1");
    world.run(["--session", "m1", "notify", "--once", "--json"]).refuses(5, "inside_session");
}

#[test]
fn bell_and_osc_are_written_to_the_terminal_of_the_sender() {
    let world = world("sinks = ['bell', 'osc']");
    approval(&world);
    let run = at_terminal(world.fairway(["notify", "--once", "--quiet"]), &[]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.screen, "\u{7}\u{1b}]9;Fairway project: approval (m1): Bash: ls\u{1b}\\approval:1\napproval:1\n");
    assert_eq!(at_terminal(world.fairway(["notify", "--once"]), &[]).screen, "");
}

/// The lines of a `notify --follow`, which is killed at the end.
struct Follower(Child, std::io::Lines<BufReader<std::process::ChildStdout>>);

impl Follower {
    fn start(world: &TestProject) -> Self {
        let mut child = world
            .fairway(["notify", "--follow", "--quiet"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self(child, lines)
    }

    fn next(&mut self) -> String {
        self.1.next().expect("it ended").unwrap()
    }

    /// The time that it has used of a processor, in ticks.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn follower_sends_on_events_on_deaths_and_on_expired_leases_and_sleeps_between_them() {
    let world = world("sinks = ['command']\n[notify.per_sink.command]\ncommand = 'sink.sh'");
    world.real_time();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["task", "add", "T-2", "t"]).exits(0);
    let mut agent = Command::new("sleep").arg("300").spawn().unwrap();
    let pid = agent.id().to_string();
    world.run(["session", "upsert", "--id", "a1", "--role", "r", "--pid", &pid]).exits(0);
    world.run(["--session", "a1", "claim", "T-1"]).exits(0);
    let mut follower = Follower::start(&world);
    // An event.
    world.run(["claim", "T-2"]).exits(0);
    world.run(["task", "block", "T-2", "--reason", "no"]).exits(0);
    assert_eq!(follower.next(), "blocked:T-2");
    // Nothing happens: no processor time, once what it has sent is behind it.
    let is_calm = || {
        let before = follower.ticks();
        std::thread::sleep(Duration::from_millis(500));
        (follower.ticks() == before).then_some(())
    };
    poll_until::poll_until(Duration::from_secs(60), Duration::ZERO, is_calm).expect("a follower that rests");
    // A death, which nothing reports.
    let since = Instant::now();
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(follower.next(), "dead:a1");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    // A lease, of which no event tells when it ends.
    world.run(["task", "unblock", "T-2"]).exits(0);
    world.run(["release", "T-2"]).exits(0);
    world.run(["claim", "T-2", "--lease", "1s"]).exits(0);
    assert_eq!(follower.next(), "lease:T-2");
    let kinds: Vec<Value> = documents(&world).iter().map(|one| one["items"][0]["kind"].clone()).collect();
    assert_eq!(kinds, ["blocked", "dead", "lease"]);
}

#[test]
fn server_sends_as_well() {
    let world = world("sinks = ['desktop', 'command', 'bell']\n[notify.per_sink.command]\ncommand = 'sink.sh'");
    approval(&world);
    let mut server = world.fairway(["serve"]).stdout(Stdio::null()).spawn().unwrap();
    let since = Instant::now();
    while log(&world, "command.log").is_empty() || log(&world, "desktop.log").is_empty() {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing was sent");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(documents(&world)[0]["items"][0]["id"], "approval:1");
}

/// One request of a client: its head and its body.
fn request(listener: &TcpListener) -> (String, String) {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/notify").join(name)
}

#[test]
fn example_scripts_send_to_a_service_with_the_secret_from_a_file() {
    if !require::program("curl") || !require::program("jq") {
        return;
    }
    let mut world = world("sinks = []");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let secret = world.dir().join("secret");
    fs::write(&secret, format!("url=http://127.0.0.1:{port}/hook/topic\ntoken=t0ken\n")).unwrap();
    for name in ["WEBHOOK", "NTFY", "SLACK"] {
        world.set(&format!("FAIRWAY_{name}_FILE"), &secret);
    }
    show_page(&world, &format!("http://127.0.0.1:{port}"), "https://10.0.0.1:7431");
    // On the desktop the button that a person presses is posted on this machine.
    script(&world.dir().join("bin/notify-send"), "case \"$*\" in *--action=deny=Deny*) echo deny ;; esac");
    let settings = format!(
        "sinks = ['desk']\n[notify.per_sink.desk]\ncommand = '{}'\nactions = true",
        example("desktop.sh").display()
    );
    configure(&world, &settings);
    let id = approval(&world).to_string();
    world.run(["notify", "--once"]).exits(0);
    let (head, body) = request(&listener);
    assert!(head.starts_with("POST /answer HTTP/1.1\r\n") && body.starts_with("token="), "{head}{body}");
    world.run(["approvals", "answer", &id, "deny"]).exits(0);
    for (script, path) in [("webhook.sh", "/hook/topic"), ("ntfy.sh", "/hook"), ("slack.sh", "/hook/topic")] {
        let settings = format!(
            "sinks = ['command']\n[notify.per_sink.command]\ncommand = '{}'\nactions = {}",
            example(script).display(),
            script == "ntfy.sh"
        );
        configure(&world, &settings);
        approval(&world);
        let mut sender = world.fairway(["notify", "--once"]).stdout(Stdio::piped()).spawn().unwrap();
        let (head, body) = request(&listener);
        assert!(sender.wait().unwrap().success(), "{script}");
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{script}: {head}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(head.contains("Authorization: Bearer t0ken"), script != "slack.sh", "{script}: {head}");
        match script {
            "webhook.sh" => {
                assert_eq!((&body["items"][0]["kind"], &body["actions"]), (&json!("approval"), &json!([])));
            }
            "ntfy.sh" => {
                assert_eq!((&body["topic"], &body["message"]), (&json!("topic"), &json!("Bash: ls")));
                let allow = &body["actions"][0];
                assert_eq!((&allow["action"], &allow["method"]), (&json!("http"), &json!("POST")), "{body}");
                assert_eq!((&allow["label"], &allow["url"]), (&json!("Allow"), &json!("https://10.0.0.1:7431/answer")));
                assert!(allow["body"].as_str().unwrap().starts_with("token="), "{body}");
            }
            _ => assert_eq!(body["blocks"][0]["text"]["text"], "project: approval (m1)\nBash: ls"),
        }
    }
    // A service that refuses is a failure.
    drop(listener);
    approval(&world);
    assert!(world.run(["notify", "--once"]).exits(7).stdout.contains("not sent: exit code 7"));
}

#[test]
fn systemd_unit_passes_verification() {
    let world = TestProject::new();
    let unit = fs::read_to_string(example("fairway-notify.service")).unwrap();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    // Its arguments are understood.
    assert!(world.run(&args).exits(2).stderr.contains("no sink is configured"));
    if !require::program("systemd-analyze") {
        return;
    }
    let verify = |text: &str| {
        let file = world.dir().join("fairway-notify.service");
        fs::write(&file, text).unwrap();
        let mut analyze = Command::new("systemd-analyze");
        let run = analyze.arg("verify").arg(&file).env("SYSTEMD_COLORS", "0").output().unwrap();
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        text.lines().filter(|line| line.contains("fairway-notify")).map(str::to_owned).collect::<Vec<_>>()
    };
    let there = unit.replace("/usr/local/bin/fairway", FAIRWAY);
    assert_eq!(verify(&there), Vec::<String>::new());
    assert_ne!(verify(&there.replace("RestartSec", "RestartSecs")), Vec::<String>::new());
}
