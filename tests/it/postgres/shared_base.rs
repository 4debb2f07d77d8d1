//! The base of several hosts: what one of them lands is at the remote, and what depends on it opens where it has arrived.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;

use crate::cli::land::{NO_GATES, commit, status};
use crate::cli::land_upstream::Daemon;
use crate::common::{TestProject, soak};

/// Two hosts with a clone each, and a remote behind git's own protocol.
struct TwoHosts {
    _server: Daemon,
    remote: PathBuf,
    a: TestProject,
    b: TestProject,
}

impl TwoHosts {
    /// `main` of the first has an upstream only when `is_followed`.
    fn start(is_followed: bool) -> Option<Self> {
        let a = TestProject::on_postgres()?;
        let remote = a.dir().join("remote.git");
        a.git(a.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote.display().to_string()]);
        let (server, url) = Daemon::start(&a);
        let root = a.root();
        a.git(&root, &["init", "--quiet", "--initial-branch=main"]);
        identify(&a);
        let config = root.join(".fairway.toml");
        fs::write(&config, format!("{}{NO_GATES}", fs::read_to_string(&config).unwrap())).unwrap();
        a.git(&root, &["add", "--all"]);
        a.git(&root, &["commit", "--quiet", "--message=configuration"]);
        a.git(&root, &["remote", "add", "origin", &url]);
        let push: &[&str] = if is_followed { &["push", "--quiet", "-u"] } else { &["push", "--quiet"] };
        a.git(&root, &[push, &["origin", "main"]].concat());

        let mut b = TestProject::uninitialized();
        let (postgres, schema) = a.on_server.as_ref().unwrap();
        b.set("FAIRWAY_STORE_URL", postgres.address(schema));
        b.git(b.dir(), &["clone", "--quiet", &url, &b.root().display().to_string()]);
        identify(&b);
        b.run(["init", "--quiet"]).exits(0);
        b.run(["host", "renew", "--yes"]).exits(0);
        Some(Self { _server: server, remote, a, b })
    }

    /// Whether `main` at the remote has a commit.
    fn has(&self, commit: &str) -> bool {
        is_in(&self.a, &self.remote, commit, "main")
    }

    fn hook(&self, name: &str, script: &str) {
        let file = self.remote.join("hooks").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn identify(world: &TestProject) {
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
}

fn is_in(world: &TestProject, dir: &Path, commit: &str, branch: &str) -> bool {
    let mut git = world.command("git");
    git.arg("-C").arg(dir).args(["merge-base", "--is-ancestor", commit, branch]).status().unwrap().success()
}

/// A task with a lane of its own on this host, in review.
fn submitted(host: &TestProject, lane: &str, more: &[&str]) -> String {
    host.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    let added = host.json([&["task", "add", lane, "--lane", lane], more].concat());
    let task = added["id"].as_str().unwrap().to_owned();
    host.run(["claim", &task]).exits(0);
    let commit = commit(host, lane, &[(&format!("{lane}.txt"), "work\n")]);
    host.run(["task", "submit", &task, "--commit", &commit]).exits(0);
    task
}

fn landed_commit(host: &TestProject, task: &str) -> String {
    host.json(["task", "show", task])["landed_commit"].as_str().unwrap().to_owned()
}

fn ready(host: &TestProject) -> Vec<String> {
    let ready = host.json(["ready"]);
    ready.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

/// The items of the board of one of these kinds, as kind and line, and the findings of doctor with these codes.
fn told(host: &TestProject) -> (Vec<(String, String)>, Vec<String>) {
    let is_ours = |one: &str| ["landing_elsewhere", "base_diverged"].contains(&one);
    let text = |one: &Value| one.as_str().unwrap().to_owned();
    let board = host.json(["status"]);
    let needs = board["needs_you"].as_array().unwrap().iter();
    let needs = needs.map(|need| (text(&need["kind"]), text(&need["line"]))).filter(|(kind, _)| is_ours(kind));
    let report = host.run(["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap().iter().map(|one| text(&one["code"]));
    (needs.collect(), findings.filter(|code| is_ours(code)).collect())
}

#[test]
fn landing_is_pushed_and_opens_dependents_where_it_has_arrived() {
    let Some(hosts) = TwoHosts::start(false) else { return };
    let (a, b) = (&hosts.a, &hosts.b);
    let ui = submitted(a, "ui", &[]);
    let refused = a.run(["land", &ui, "--json"]).refuses(5, "no_upstream").error();
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("--set-upstream-to REMOTE/main main\nif there is one clone only"), "{hint}");
    assert_eq!(status(a, &ui), "review");
    a.git(&a.root(), &["branch", "--quiet", "--set-upstream-to", "origin/main", "main"]);
    let landed = a.run(["land", &ui]).exits(0).stdout;
    assert!(landed.contains(", pushed to origin/main"), "{landed}");
    let commit_of_ui = landed_commit(a, &ui);
    assert!(hosts.has(&commit_of_ui));
    assert_eq!(a.value("SELECT push_to FROM landings WHERE host_id IS NOT NULL"), "origin/main");

    // The dependent and what comes after it.
    a.run(["task", "add", "--id", "next", "next", "--depends-on", &ui, "--priority", "1"]).exits(0);
    a.run(["task", "add", "--id", "free", "free"]).exits(0);
    assert_eq!((ready(a), ready(b)), (vec!["next".into(), "free".into()], vec!["free".to_owned()]));
    let short = &commit_of_ui[..12];
    let why = b.json(["ready", "--why"]);
    let waiting = &why[0]["waiting_on"][0];
    assert_eq!((&why[0]["id"], &waiting["code"]), (&"next".into(), &"dep_elsewhere".into()), "{why:#}");
    let message = waiting["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("{ui} is landed on ")), "{message}");
    assert!(message.ends_with(&format!(" as {short}, not here; fetch it: git fetch origin")), "{message}");
    for line in [&["claim", "next", "--json"][..], &["start", "next", "--json", "--", "true"]] {
        let error = b.run(line).refuses(5, "deps_open").error();
        assert!(error["message"].as_str().unwrap().ends_with(&format!(" as {short}, not here")), "{error:#}");
        assert_eq!(error["hint"], "fetch it: git fetch origin");
    }
    // What waits for a fetch is not counted as ready.
    let counted = |host: &TestProject| host.json(["status"])["counts"]["ready"].clone();
    assert_eq!((counted(a), counted(b)), (2.into(), 1.into()));
    let explained = b.run(["explain", "next"]).exits(0).stdout;
    assert!(explained.contains("not here"), "{explained}");
    let (needs, findings) = told(b);
    assert_eq!(
        (needs.len(), needs[0].0.as_str(), findings),
        (1, "landing_elsewhere", vec!["landing_elsewhere".into()])
    );
    assert!(needs[0].1.starts_with(&format!("next waits: {ui} is landed on ")), "{needs:?}");
    assert_eq!(told(a), (vec![], vec![]));
    let claimed = b.json(["claim"]);
    assert_eq!(claimed["task"]["id"], "free", "{claimed:#}");

    b.git(&b.root(), &["fetch", "--quiet"]);
    assert_eq!((ready(b), told(b)), (vec!["next".to_owned()], (vec![], vec![])));
    assert_eq!(b.json(["claim"])["task"]["id"], "next");

    // The base here is behind, and the lane has the work all the same.
    assert!(!b.root().join("ui.txt").exists());
    b.run(["lane", "add", "web", "--create-worktree"]).exits(0);
    assert!(b.root().join(".fairway/worktrees/web/ui.txt").exists());
    assert_eq!(b.json(["lane", "diff", "web"])["files"], Value::Array(vec![]));
    let done = commit(b, "web", &[("web.txt", "web\n")]);
    b.run(["task", "submit", "next", "--commit", &done]).exits(0);
    let plan = b.json(["land", "next", "--dry-run"]);
    assert_eq!(plan["landings"][0]["state"], "would_land", "{plan:#}");
    b.run(["land", "next"]).exits(0);
    assert!(b.root().join("ui.txt").exists() && hosts.has(&landed_commit(b, "next")));

    // A lane starts from what the other one has landed, without a command.
    a.run(["lane", "add", "late", "--create-worktree"]).exits(0);
    assert!(a.root().join(".fairway/worktrees/late/web.txt").exists());

    // Landed and not pushed: no fetch would bring it.
    let alone = submitted(b, "alone", &[]);
    let config = fs::read_to_string(b.root().join(".fairway.toml")).unwrap();
    fs::write(b.root().join(".fairway/local.toml"), "[land]\nshared = false\n").unwrap();
    b.run(["land", &alone]).exits(0);
    assert_eq!(fs::read_to_string(b.root().join(".fairway.toml")).unwrap(), config);
    assert!(!hosts.has(&landed_commit(b, &alone)));
    a.run(["task", "add", "--id", "last", "last", "--depends-on", &alone]).exits(0);
    let error = a.run(["claim", "last", "--json"]).refuses(5, "deps_open").error();
    assert_eq!(error["hint"], "push main there, then fetch it: git fetch");
    // Work that was done before it needed that does not land without it.
    let early = submitted(a, "early", &[]);
    a.run(["task", "edit", &early, "--depends-on", &alone]).exits(0);
    let error = a.run(["land", &early, "--json"]).refuses(5, "gate_blocked").error();
    let blocker = &error["details"]["tasks"][0]["blockers"][0];
    assert!(blocker["message"].as_str().unwrap().starts_with(&format!("{alone} is landed on ")), "{error:#}");
    assert_eq!(blocker["fix"], "push main there, then fetch it: git fetch");
    assert_eq!((status(a, &early), a.root().join("early.txt").exists()), ("review".to_owned(), false));

    // Both go on from there.
    fs::remove_file(b.root().join(".fairway/local.toml")).unwrap();
    let more = submitted(a, "more", &[]);
    a.run(["land", &more]).exits(0);
    b.git(&b.root(), &["fetch", "--quiet"]);
    let (needs, findings) = told(b);
    assert_eq!((needs.len(), needs[0].0.as_str(), findings), (1, "base_diverged", vec!["base_diverged".into()]));
    assert_eq!(
        needs[0].1,
        "main and origin/main have gone apart: 2 commits here that it lacks, 2 commits there that main lacks"
    );
}

/// Numbers that look random, the same ones for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What became of one host's part.
#[derive(Debug, Default)]
struct Played {
    claims: usize,
    /// Landings that did not come to their end, by the code of their error.
    failed: BTreeMap<String, usize>,
}

/// One host works until every task is done: it claims, works in a lane of its own, submits and lands.
fn play(hosts: &TwoHosts, host: &TestProject, seed: u64, end: Instant) -> Played {
    let mut random = Random(seed);
    let (mut played, mut mine) = (Played::default(), Vec::<String>::new());
    while hosts.a.value("SELECT count(*) FROM tasks WHERE status <> 'done'") != "0" {
        assert!(Instant::now() < end, "not done in time: {played:?}");
        if random.below(2) == 0 {
            host.git(&host.root(), &["fetch", "--quiet"]);
        }
        let claim = host.run(["claim", "--json"]);
        if claim.code == Some(0) {
            let task = claim.json()["task"]["id"].as_str().unwrap().to_owned();
            played.claims += 1;
            let lane = task.to_lowercase();
            // What was known at the claim, before the lane fetches.
            for needed in claim.json()["task"]["depends_on"].as_array().unwrap() {
                let commit = landed_commit(host, needed.as_str().unwrap());
                let is_here = ["main", "origin/main"].iter().any(|base| is_in(host, &host.root(), &commit, base));
                assert!(is_here, "{task} was claimed, and {needed} is not here");
            }
            host.run(["lane", "add", &lane, "--create-worktree"]).exits(0);
            for needed in claim.json()["task"]["depends_on"].as_array().unwrap() {
                let file = format!(".fairway/worktrees/{lane}/{}.txt", needed.as_str().unwrap());
                assert!(host.root().join(&file).exists(), "{task} works without {needed}");
            }
            let commit = commit(host, &lane, &[(&format!("{task}.txt"), "work\n")]);
            host.run(["task", "submit", &task, "--commit", &commit]).exits(0);
            mine.push(task);
        }
        let Some(task) = mine.first().cloned() else {
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let mut land = host.fairway(["land", &task, "--json"]);
        if random.below(6) == 0 {
            let mut child =
                land.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_millis(100 + random.below(900)));
            let _ = child.kill();
            let _ = child.wait();
            *played.failed.entry("killed".into()).or_default() += 1;
        } else {
            let run: crate::common::test_project::CommandOutput = land.output().unwrap().into();
            if run.code != Some(0) {
                let code = run.error()["code"].as_str().unwrap().to_owned();
                let is_of_remote = ["push_failed", "push_raced", "push_unknown", "fetch_failed", "base_behind"];
                assert!(is_of_remote.contains(&&*code) || code == "in_use", "{run:?}");
                *played.failed.entry(code).or_default() += 1;
            }
        }
        if status(host, &task) == "done" {
            assert!(hosts.has(&landed_commit(host, &task)), "{task} is done, and not at the remote");
            mine.remove(0);
        }
    }
    played
}

/// Pushes are refused, lose their answers, and lose races; landings are killed. A soak run lands 200 tasks; `FAIRWAY_SHARED_LANDINGS` is
/// another number.
#[test]
fn two_hosts_land_at_random_and_no_work_is_done_or_claimed_that_the_remote_lacks() {
    let Some(hosts) = TwoHosts::start(true) else { return };
    let wanted = std::env::var("FAIRWAY_SHARED_LANDINGS").ok().and_then(|text| text.parse().ok());
    let count: u64 = wanted.unwrap_or(if soak::is_on() { 200 } else { 4 });
    hosts.hook("pre-receive", "n=$(od -An -N1 -tu1 /dev/urandom)\n[ $((n % 5)) -ne 0 ]");
    // The receiver dies before it answers; the branch has moved.
    hosts.hook("post-receive", "n=$(od -An -N1 -tu1 /dev/urandom)\n[ $((n % 4)) -ne 0 ] || kill -9 $PPID");
    let mut random = Random(count);
    for number in 1..=count {
        let mut words = vec!["task".to_owned(), "add".into(), "--id".into(), format!("t{number}"), "work".into()];
        for _ in 0..random.below(3).min(number - 1) {
            words.extend(["--depends-on".into(), format!("t{}", 1 + random.below(number - 1))]);
        }
        hosts.a.run(&words).exits(0);
    }
    for host in [&hosts.a, &hosts.b] {
        host.real_time();
    }
    let end = Instant::now() + Duration::from_secs(30 + 20 * count);
    let played = thread::scope(|scope| {
        let a = scope.spawn(|| play(&hosts, &hosts.a, 1, end));
        let b = scope.spawn(|| play(&hosts, &hosts.b, 2, end));
        [a.join().unwrap(), b.join().unwrap()]
    });
    println!("{played:?}");
    let claims: usize = played.iter().map(|one| one.claims).sum();
    assert_eq!(u64::try_from(claims).unwrap(), count);
    for number in 1..=count {
        assert!(hosts.has(&landed_commit(&hosts.a, &format!("t{number}"))), "t{number}");
    }
    for host in [&hosts.a, &hosts.b] {
        host.git(&host.root(), &["fetch", "--quiet"]);
        assert!(is_in(host, &host.root(), "main", "origin/main"), "a base has gone apart");
    }
}

/// The work of a machine that is gone goes on elsewhere by one command.
#[test]
fn relaunch_here_moves_branch_lane_and_claim_from_a_silent_host() {
    let Some(hosts) = TwoHosts::start(true) else { return };
    let (a, b) = (&hosts.a, &hosts.b);
    b.run(["task", "add", "--id", "work", "work"]).exits(0);
    let sleep = ["--", "sleep", "300"];
    let started = b.run([&["start", "work", "--backend", "shell", "--json"], &sleep[..]].concat()).exits(0).json();
    let session = started["id"].as_str().unwrap();
    commit(b, "work", &[("begun.txt", "begun\n")]);
    let line = [&["session", "relaunch", session, "--here", "--json"], &sleep[..]].concat();
    a.run(&line).refuses(4, "host_alive");
    a.advance_clock(3_600);
    let refused = a.run(&line).refuses(5, "work_elsewhere").error();
    assert!(refused["message"].as_str().unwrap().ends_with(": origin has no branch lane/work"), "{refused:#}");
    assert_eq!(a.json(["session", "show", session])["status"], "running");

    b.git(&b.root().join(".fairway/worktrees/work"), &["push", "--quiet", "origin", "lane/work"]);
    let moved = a.run(&line).exits(0).json();
    let next = moved["id"].as_str().unwrap();
    let dir = a.root().join(".fairway/worktrees/work");
    assert_eq!((&moved["relaunch_of"], &moved["worktree"]), (&session.into(), &dir.display().to_string().into()));
    assert_eq!(fs::read_to_string(dir.join("begun.txt")).unwrap(), "begun\n");
    assert_eq!(a.json(["task", "show", "work"])["claim"]["session_id"], next);
    let before = a.json(["session", "show", session]);
    let why = before["reason"].as_str().unwrap();
    assert!(before["status"] == "failed" && why.starts_with("given up by ") && why.contains("last heard 1h"), "{why}");
    assert_eq!(a.json(["lane", "diff", "work"])["files"][0]["path"], "begun.txt");
    b.run(["lane", "diff", "work", "--json"]).refuses(4, "lane_elsewhere");

    let findings = b.run(["doctor", "--json"]).json()["findings"].clone();
    assert!(findings.as_array().unwrap().iter().any(|one| one["code"] == "worktree_left"), "{findings:#}");

    a.run(["session", "stop", next]).exits(0);
    // Back again, over the worktree that the first host still has.
    commit(a, "work", &[("more.txt", "more\n")]);
    a.git(&dir, &["push", "--quiet", "origin", "lane/work"]);
    let line = [&["session", "relaunch", next, "--here", "--json"], &sleep[..]].concat();
    let back = b.run(&line).exits(0).json();
    assert!(b.root().join(".fairway/worktrees/work/more.txt").exists(), "{back:#}");
    for id in [session, back["id"].as_str().unwrap()] {
        b.run(["session", "stop", id]).exits(0);
    }
}
