//! `fairway land --fetch` and `--push`, with real remotes: what is pushed was checked, a lost race begins anew, and what a remote
//! refuses or does not answer is no fault of the work.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, head, lane_dir, main_commit, project, status, submitted};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// A project whose `main` follows that of a bare repository beside it.
fn world(land: &str) -> TestProject {
    let world = project(&format!("{NO_GATES}[land]\n{land}\n"));
    let remote = remote(&world).display().to_string();
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote]);
    world.git(&world.root(), &["remote", "add", "origin", &remote]);
    world.git(&world.root(), &["push", "--quiet", "--set-upstream", "origin", "main"]);
    world
}

fn remote(world: &TestProject) -> PathBuf {
    world.dir().join("remote.git")
}

/// The commit of `main` at the remote.
fn pushed(world: &TestProject) -> String {
    world.git(&remote(world), &["rev-parse", "main"]).trim().to_owned()
}

/// The subjects at the remote from the newest on, without those of the beginning.
fn subjects(world: &TestProject) -> Vec<String> {
    let log = world.git(&remote(world), &["log", "--first-parent", "--format=%s", "main"]);
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    lines.truncate(lines.len() - 2);
    lines
}

/// Another clone, which somebody else works in.
fn other(world: &TestProject) -> PathBuf {
    let dir = world.dir().join("other");
    if !dir.exists() {
        world.git(world.dir(), &["clone", "--quiet", &remote(world).display().to_string(), &dir.display().to_string()]);
    }
    dir
}

/// Pushes a file from the other clone.
fn push_other(world: &TestProject, file: &str) {
    let dir = other(world);
    world.git(&dir, &["pull", "--quiet", "--ff-only"]);
    fs::write(dir.join(file), "theirs\n").unwrap();
    world.git(&dir, &["add", "--all"]);
    world.git(&dir, &["commit", "--quiet", &format!("--message=theirs {file}")]);
    world.git(&dir, &["push", "--quiet"]);
}

/// A hook at the remote.
fn hook(world: &TestProject, name: &str, script: &str) {
    let file = remote(world).join("hooks").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn refused(world: &TestProject, words: &[&str], code: &str) -> Value {
    world.run([words, &["--json"]].concat()).refuses(5, code).error()
}

/// Nothing has moved, and no work was sent back.
fn assert_untouched(world: &TestProject, task: &str, before: &str) {
    assert_eq!((main_commit(world), status(world, task)), (before.to_owned(), "review".to_owned()));
    assert_eq!(world.value("SELECT count(*) FROM messages"), "0");
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE state = 'sent_back'"), "0");
}

fn assert_nothing_open(world: &TestProject) {
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "0");
    assert_eq!(world.git(&world.root(), &["for-each-ref", "refs/fairway"]), "");
    assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
}

fn wait_for(what: &Path) {
    let end = Instant::now() + Duration::from_secs(30);
    while !what.exists() {
        assert!(Instant::now() < end, "no {}", what.display());
        thread::sleep(Duration::from_millis(20));
    }
}

/// A server of git's own protocol on the loopback.
pub(crate) struct Daemon(Child);

impl Daemon {
    pub(crate) fn start(world: &TestProject) -> (Self, String) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = world.command("git");
        command.args(["daemon", "--reuseaddr", "--listen=127.0.0.1", "--export-all", "--enable=receive-pack"]);
        command.arg(format!("--port={port}")).arg(format!("--base-path={}", world.dir().display()));
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "git daemon does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        (server, format!("git://127.0.0.1:{port}/remote.git"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn checked_commit_is_pushed_before_it_counts_as_landed() {
    let world = world("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let run = world.run(["land", &task, "--push"]).exits(0);
    assert!(run.stdout.contains(", pushed to origin/main\n"), "{run:?}");
    assert_eq!((pushed(&world), status(&world, &task)), (main_commit(&world), "done".to_owned()));
    assert_eq!(world.value("SELECT push_to FROM landings"), "origin/main");
    assert!(!lane_dir(&world, "ui").exists());
    assert_nothing_open(&world);

    // Landed here alone, and pushed by the next call.
    let next = submitted(&world, "next", &[("next.txt", "next\n")]);
    world.run(["land", &next]).exits(0);
    assert_ne!(pushed(&world), main_commit(&world));
    let again = world.json(["land", &next, "--push"]);
    let landing = &again["landings"][0];
    assert_eq!((&landing["state"], &landing["pushed"]), (&json!("unchanged"), &json!("origin/main")), "{again:#}");
    assert_eq!(pushed(&world), main_commit(&world));
    world.run(["land", &next, "--push", "--dry-run"]).exits(2);
}

#[test]
fn fetched_base_goes_to_its_upstream_and_lanes_that_conflict_are_told() {
    let world = world("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["lane", "add", "tax", "--create-worktree"]).exits(0);
    commit(&world, "tax", &[("theirs.txt", "mine\n")]);
    push_other(&world, "theirs.txt");
    let landed = world.json(["land", &task, "--fetch"]);
    let landing = &landed["landings"][0];
    let upstream = json!(pushed(&world));
    assert_eq!((&landing["base_before"], &landing["pushed"]), (&upstream, &Value::Null), "{landed:#}");
    assert!(world.root().join("theirs.txt").exists() && world.root().join("ui.txt").exists());
    let told = world.value("SELECT content FROM messages WHERE to_lane = 'tax'");
    assert!(
        told.starts_with("origin/main landed in main, and your lane tax conflicts with it in theirs.txt"),
        "{told}"
    );
    assert_nothing_open(&world);

    // Both have gone on: no command that would rebase is named.
    push_other(&world, "more.txt");
    let next = submitted(&world, "next", &[("next.txt", "next\n")]);
    let before = main_commit(&world);
    for flag in ["--fetch", "--push"] {
        let error = refused(&world, &["land", &next, flag], "base_behind");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("merge --no-edit origin/main") && !hint.contains("rebase"), "{hint}");
    }
    assert_eq!((main_commit(&world), status(&world, &next)), (before, "review".to_owned()));
}

#[test]
fn base_with_changed_checkout_does_not_follow_its_upstream() {
    let world = world("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let before = main_commit(&world);
    push_other(&world, "theirs.txt");
    let file = world.root().join("theirs.txt");
    fs::write(&file, "mine\n").unwrap();
    refused(&world, &["land", &task, "--fetch"], "checkout_changed");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    fs::remove_file(&file).unwrap();
    fs::write(world.root().join("code.txt"), "edited\n").unwrap();
    refused(&world, &["land", &task, "--fetch"], "checkout_changed");
    assert_untouched(&world, &task, &before);
    assert_eq!(fs::read_to_string(world.root().join("code.txt")).unwrap(), "edited\n");
}

/// A check that lets the other clone push while it runs, so many times.
fn racing(world: &TestProject, times: usize) {
    let (counter, script) = (world.dir().join("count"), world.dir().join("race.sh"));
    let other = other(world).display().to_string();
    let text = format!(
        "n=$(cat '{0}' 2>/dev/null || echo 0)\ntest -e ui.txt || exit 0\necho $((n + 1)) >'{0}'\ntest \"$n\" -lt {times} || exit 0\n\
         unset GIT_DIR\ncd '{other}' && git pull --quiet --ff-only && echo $n >\"race$n.txt\" && git add . &&\n\
         git -c user.name=b -c user.email=b@c commit --quiet -m \"race $n\" && git push --quiet\n",
        counter.display()
    );
    fs::write(&script, text).unwrap();
    let file = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[land]\n", &format!("[land]\nchecks = [\"sh '{}'\"]\n", script.display()))).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=check"]);
    world.git(&world.root(), &["push", "--quiet"]);
    world.run(["trust"]).exits(0);
}

#[test]
fn push_that_loses_races_begins_anew_on_the_new_upstream_over_a_network() {
    let world = world("");
    let (_server, url) = Daemon::start(&world);
    world.git(&world.root(), &["remote", "set-url", "origin", &url]);
    racing(&world, 2);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let run = world.run(["land", &task, "--push", "--json"]).exits(0);
    let expected = [&*format!("{task}: Work on ui"), "race 1", "race 0", "check"];
    assert_eq!(subjects(&world), expected, "{run:?}");
    assert_eq!((pushed(&world), status(&world, &task)), (main_commit(&world), "done".to_owned()));
    // What was pushed is what was checked last.
    let checked = world.json(["evidence", "list", &task]);
    assert_eq!(checked.as_array().unwrap().last().unwrap()["commit"], json!(pushed(&world)), "{checked:#}");
    assert_eq!(world.value("SELECT count(*) FROM landings WHERE state = 'sent_back'"), "0");
    assert_nothing_open(&world);
}

#[test]
fn races_that_never_end_are_given_up_and_sent_back_to_no_one() {
    let world = world("");
    racing(&world, 100);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let error = world.run(["land", &task, "--push", "--json"]).refuses(4, "push_raced").error();
    assert_eq!(
        (&error["details"]["tries"], &error["details"]["upstream"]),
        (&json!(5), &json!("origin/main")),
        "{error}"
    );
    assert_eq!(subjects(&world).len(), 6);
    let before = main_commit(&world);
    assert_untouched(&world, &task, &before);
    assert_nothing_open(&world);
}

#[test]
fn two_clones_that_land_at_once_lose_nothing() {
    let world = world("");
    let (_server, url) = Daemon::start(&world);
    world.git(&world.root(), &["remote", "set-url", "origin", &url]);
    let second = TestProject::uninitialized();
    second.git(&second.root(), &["clone", "--quiet", &url, "."]);
    for (key, value) in [("user.name", "Bob"), ("user.email", "bob@example.com")] {
        second.git(&second.root(), &["config", key, value]);
    }
    second.run(["init", "--quiet"]).exits(0);
    let both = [&world, &second];
    for (number, world) in both.into_iter().enumerate() {
        for name in ["a", "b", "c"] {
            submitted(world, name, &[(&format!("{name}{number}.txt"), "x\n")]);
        }
    }
    thread::scope(|scope| {
        for world in both {
            scope.spawn(|| {
                for what in ["T-1", "--all"] {
                    // A clone that was always slower is told so, and comes again.
                    while world.run(["land", what, "--push"]).code != Some(0) {}
                }
            });
        }
    });
    let files = world.git(&remote(&world), &["ls-tree", "--name-only", "main"]);
    for name in ["a0.txt", "b0.txt", "c0.txt", "a1.txt", "b1.txt", "c1.txt"] {
        assert!(files.lines().any(|line| line == name), "{name} is lost: {files}");
    }
    let landed: Vec<String> = subjects(&world);
    assert_eq!(landed.len(), 6, "{landed:?}");
    for world in both {
        assert_eq!(world.value("SELECT group_concat(DISTINCT status) FROM tasks"), "done");
        assert_eq!(world.value("SELECT count(*) FROM landings WHERE state = 'sent_back'"), "0");
        assert_nothing_open(world);
    }
}

#[test]
fn what_the_remote_refuses_is_sent_back_to_no_one_and_stops_the_queue() {
    let world = world("batch = 1");
    let [one, two] = ["one", "two"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
    hook(&world, "pre-receive", "echo 'no pushes on Friday' >&2; exit 1");
    let (before, there) = (main_commit(&world), pushed(&world));
    let run = world.run(["land", "--all", "--push", "--json"]).exits(5);
    let document = run.json();
    let error = &document["landings"][0]["error"];
    assert_eq!(error["code"], "push_failed", "{run:?}");
    assert!(error["message"].as_str().unwrap().contains("pre-receive hook declined: no pushes on Friday"), "{error}");
    assert_eq!(document["landings"].as_array().unwrap().len(), 1);
    assert!(run.stderr.contains(&format!("not tried: {two}")), "{run:?}");
    assert_untouched(&world, &one, &before);
    assert_eq!((status(&world, &two), pushed(&world)), ("review".to_owned(), there));
    assert_nothing_open(&world);
    // It is not taken for work that was tried before.
    fs::remove_file(remote(&world).join("hooks/pre-receive")).unwrap();
    world.run(["land", "--all", "--push"]).exits(0);
    assert_eq!((pushed(&world), status(&world, &one)), (main_commit(&world), "done".to_owned()));
}

#[test]
fn remote_that_is_not_there_or_does_not_answer_is_named() {
    let world = world("timeout = \"1s\"");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    let (root, before) = (world.root(), main_commit(&world));
    let url = |url: &str| world.git(&root, &["remote", "set-url", "origin", url]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    url(&format!("git://{}/remote.git", silent.local_addr().unwrap()));
    let error = refused(&world, &["land", &task, "--push"], "fetch_failed");
    assert_eq!(error["message"], "origin/main cannot be fetched: timed out after 1 s");
    url(&world.dir().join("nowhere.git").display().to_string());
    let error = refused(&world, &["land", &task, "--fetch"], "fetch_failed");
    assert!(error["message"].as_str().unwrap().contains("does not appear to be a git repository"), "{error}");
    url(&remote(&world).display().to_string());
    world.git(&root, &["config", "branch.main.merge", "refs/heads/gone"]);
    let error = refused(&world, &["land", &task, "--push"], "no_upstream");
    assert!(error["message"].as_str().unwrap().ends_with("origin has no branch gone"), "{error}");
    world.git(&root, &["branch", "--quiet", "--unset-upstream", "main"]);
    let error = refused(&world, &["land", &task, "--push"], "no_upstream");
    assert!(error["hint"].as_str().unwrap().contains("branch --set-upstream-to REMOTE/main main"), "{error}");
    world.git(&root, &["branch", "--quiet", "local"]);
    world.git(&root, &["branch", "--quiet", "--set-upstream-to", "local", "main"]);
    refused(&world, &["land", &task, "--fetch"], "no_upstream");
    assert_untouched(&world, &task, &before);
    assert_nothing_open(&world);
}

#[test]
fn push_whose_answer_is_lost_counts_when_the_remote_has_it() {
    let world = world("timeout = \"2s\"");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    // The branch has moved by then.
    hook(&world, "post-receive", "exec sleep 60");
    world.run(["land", &task, "--push"]).exits(0);
    assert_eq!((pushed(&world), status(&world, &task)), (main_commit(&world), "done".to_owned()));
    assert_nothing_open(&world);
}

#[test]
fn push_of_which_nothing_is_known_stays_open_until_the_remote_answers() {
    for style in ["merge", "squash"] {
        let world = world(&format!("timeout = \"2s\"\nstyle = \"{style}\""));
        let [task, other] = ["ui", "other"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
        let (before, away) = (main_commit(&world), world.dir().join("away.git"));
        hook(
            &world,
            "post-receive",
            &format!("cd / && mv '{}' '{}'\nexec sleep 60", remote(&world).display(), away.display()),
        );
        refused(&world, &["land", &task, "--push"], "push_unknown");
        assert_untouched(&world, &task, &before);
        // Neither is landed nor given up, and nothing else lands meanwhile.
        assert_eq!(world.value("SELECT count(*) FROM landings WHERE ended_at IS NULL"), "1");
        refused(&world, &["land", &other], "push_unknown");
        let found = world.run(["doctor", "--json"]).json();
        let codes: Vec<&Value> = found["findings"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
        assert!(codes.contains(&&json!("landing_unfinished")), "{found:#}");

        fs::rename(&away, remote(&world)).unwrap();
        fs::remove_file(remote(&world).join("hooks/post-receive")).unwrap();
        let run = world.run(["land", &other, "--push"]).exits(0);
        assert!(run.stderr.contains("completing landing"), "{run:?}");
        assert_eq!((status(&world, &task), status(&world, &other)), ("done".to_owned(), "done".to_owned()));
        let expected = [format!("{other}: Work on other"), format!("{task}: Work on ui")];
        assert_eq!((subjects(&world), pushed(&world)), (expected.to_vec(), main_commit(&world)));
        assert_eq!(world.run(["events", "--kind", "task.landed", "--json"]).exits(0).stdout.lines().count(), 2);
        assert_nothing_open(&world);
    }
}

#[test]
fn landing_that_is_killed_after_its_push_is_completed_by_the_next() {
    for style in ["merge", "squash"] {
        let world = world(&format!("style = \"{style}\""));
        let [task, other] = ["ui", "other"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
        let [pid, killed] = ["pid", "killed"].map(|name| world.dir().join(name));
        // The push itself ends later, without the process that waits for it.
        hook(
            &world,
            "post-receive",
            &format!(
                "test ! -e '{1}' || exit 0\nwhile ! test -s '{0}'; do sleep 0.05; done\nkill -9 \"$(cat '{0}')\"\ntouch '{1}'",
                pid.display(),
                killed.display()
            ),
        );
        let mut child = world.fairway(["land", &task, &other, "--push"]).spawn().unwrap();
        fs::write(&pid, child.id().to_string()).unwrap();
        child.wait().unwrap();
        wait_for(&killed);
        let there = pushed(&world);
        assert_eq!(status(&world, &task), "review");
        let run: CommandOutput = world.run(["land", "--all", "--push"]).exits(0);
        assert!(run.stderr.contains("completing landing"), "{run:?}");
        assert_eq!((pushed(&world), main_commit(&world)), (there.clone(), there));
        for task in [&task, &other] {
            assert_eq!(status(&world, task), "done");
        }
        assert_eq!(world.run(["events", "--kind", "task.landed", "--json"]).exits(0).stdout.lines().count(), 2);
        assert_eq!(world.value("SELECT count(*) FROM landings WHERE state = 'landed'"), "2");
        assert_nothing_open(&world);
    }
}

#[test]
fn pushed_work_has_landed_also_where_the_checkout_cannot_follow() {
    let world = world("");
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    // Somebody edits while the push is on its way.
    let file = world.root().join("ui.txt");
    hook(&world, "post-receive", &format!("echo mine >'{}'", file.display()));
    let before = main_commit(&world);
    let run = world.run(["land", &task, "--push"]).exits(0);
    assert!(run.stderr.contains("main stays behind origin/main: "), "{run:?}");
    assert_eq!((status(&world, &task), main_commit(&world)), ("done".to_owned(), before));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    assert!(lane_dir(&world, "ui").exists());
    assert_eq!(world.json(["task", "show", &task])["landed_commit"], json!(pushed(&world)));
    // The next one follows, and ends the lane.
    fs::remove_file(&file).unwrap();
    fs::remove_file(remote(&world).join("hooks/post-receive")).unwrap();
    world.run(["land", &task, "--push"]).exits(0);
    assert_eq!(main_commit(&world), pushed(&world));
    assert!(!lane_dir(&world, "ui").exists());
    assert_nothing_open(&world);
}

#[test]
fn no_program_of_the_repository_runs_on_the_way_to_a_remote() {
    let world = world("timeout = \"5s\"");
    let root = world.root();
    let (ran, script) = (world.dir().join("ran"), world.dir().join("evil.sh"));
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\nexit 1\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.display().to_string();
    let own = remote(&world).display().to_string();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::copy(&script, root.join(".git/hooks/pre-push")).unwrap();
    fs::write(root.join(".git/objects/info/alternates"), format!("{own}/objects\n")).unwrap();
    let nothing = "git://127.0.0.1:1/remote.git";
    // What is set, the address, the command of git that runs the program, and whether the landing succeeds without it.
    let plants: [(&str, &str, String, &str, bool); 8] = [
        ("core.hooksPath", &evil, own.clone(), "push", true),
        ("core.alternateRefsCommand", &evil, own.clone(), "fetch", true),
        ("remote.origin.uploadpack", &evil, own.clone(), "fetch", true),
        ("remote.origin.receivepack", &evil, own.clone(), "push", true),
        ("core.sshCommand", &evil, "ssh://127.0.0.1:1/remote.git".to_owned(), "fetch", false),
        ("core.gitProxy", &evil, nothing.to_owned(), "fetch", false),
        ("protocol.ext.allow", "always", format!("ext::{evil} x"), "fetch", false),
        ("protocol.allow", "always", format!("ext::{evil} x"), "fetch", false),
    ];
    for (number, (key, value, url, verb, lands)) in plants.into_iter().enumerate() {
        let task = submitted(&world, &format!("l{number}"), &[(&format!("f{number}.txt"), "x\n")]);
        if key != "core.hooksPath" {
            world.git(&root, &["config", key, value]);
        }
        world.git(&root, &["config", "remote.origin.url", &url]);
        // Git by itself runs it.
        let mut git = world.command("git");
        let words: &[&str] =
            if verb == "push" { &["push", "origin", "main:refs/heads/try"] } else { &["fetch", "origin"] };
        let _ = git.args(words).output().unwrap();
        assert!(ran.exists(), "git does not run {key}");
        fs::remove_file(&ran).unwrap();
        let run = world.run(["land", &task, "--push"]);
        assert!(!ran.exists(), "{key} ran: {}", fs::read_to_string(&ran).unwrap());
        assert_eq!(run.code == Some(0), lands, "{key}: {run:?}");
        if key == "core.hooksPath" {
            fs::remove_file(root.join(".git/hooks/pre-push")).unwrap();
        } else {
            world.git(&root, &["config", "--unset", key]);
        }
    }
}

#[test]
fn rule_about_pushes_holds_for_the_pushes_of_a_landing_session() {
    let rule = "[guard]\n[[guard.rules]]\nname = \"no-push\"\ncommand = [\"git\", \"push\"]\naction = \"deny\"\nreason = \"pushes are for \
                people\"\n";
    let mut world = world(&format!("[roles.integrator]\nmay = [\"land\"]\n{rule}"));
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["trust"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "integrator"]).exits(0);
    let (before, there) = (main_commit(&world), pushed(&world));
    world.set("FAIRWAY_SESSION_ID", "s1");
    let error = refused(&world, &["land", &task, "--push"], "guard_denied");
    assert!(error["message"].as_str().unwrap().contains("pushes are for people"), "{error}");
    assert_untouched(&world, &task, &before);
    assert_eq!(pushed(&world), there);
    world.run(["land", &task]).exits(0);
    assert_eq!(head(&world, &world.root()), main_commit(&world));
}
