//! `session launch`, `stop` and `peek`.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, process::Command};

use fairway::os::{process::ProcessKey, process_tree};

use serde_json::json;

use super::{Sessions, eventually, marked, text};
use crate::common::test_project::CommandOutput;

#[test]
fn session_is_launched_peeked_and_stopped() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let before = world.queue();
    // One child ignores TERM, one leaves session and group.
    let script = "echo ready; trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300' & sleep 300 & wait; wait";
    let session = world.launch(&["--role", "backend", "--task-id", "T-1", "--name", "s1", "--", "sh", "-c", script]);
    assert_eq!(
        (&session["status"], &session["task_id"], &session["backend"]),
        (&"running".into(), &"T-1".into(), &"shell".into())
    );
    let run = text(&session["run_id"]);
    eventually("the tree has come up", || (marked(&run).unwrap().len() >= 4).then_some(()));
    eventually("it says that it is ready", || {
        (world.run(["session", "peek", "s1"]).exits(0).stdout == "ready\n").then_some(())
    });
    assert_eq!(
        world.rows("SELECT state, session_id FROM checkpoints"),
        [BTreeMap::from([("state".into(), "active".into()), ("session_id".into(), "s1".into())])]
    );

    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(marked(&run).unwrap(), []);
    let row = world.session("s1");
    assert_eq!(row["status"], "ended");
    assert!(row["reason"].starts_with("stopped"), "{row:?}");
    assert_eq!(world.queue(), before, "a launch claims nothing and a stop frees nothing");
    // Again, and after the end.
    let again = world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(again.stdout, "unchanged: s1 has already ended\n");
    assert_eq!(world.run(["session", "peek", "s1", "--lines", "1"]).exits(0).stdout, "ready\n");
    world.run(["session", "stop", "nobody", "--json"]).refuses(3, "not_found");
}

#[test]
fn the_environment_is_exactly_ours_over_the_callers() {
    let mut world = Sessions::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    // The surrounding session's own, and a store moved away.
    for (name, value) in [
        ("FAIRWAY_LANE", "outer"),
        ("FAIRWAY_BRANCH", "outer"),
        ("FAIRWAY_RUN_ID", "outer"),
        ("FAIRWAY_TRANSCRIPT", "/outer"),
        ("FAIRWAY_CLAIMS_LEASE", "30m"),
        ("OUTSIDE", "stays"),
        ("GONE", "soon"),
    ] {
        world.set(name, value);
    }
    let session = world.launch(&[
        "--role",
        "backend",
        "--task-id",
        "T-1",
        "--name",
        "s1",
        "--branch",
        "b/1",
        "--env",
        "MINE=a b\n'\"$(x)",
        "--env",
        "GONE=",
        "--",
        "sh",
        "-c",
        "env -0 > env.bin; mv env.bin env; sleep 300",
    ]);
    let path = world.root().join("env");
    let seen = eventually("the program has written its environment", || fs::read(&path).ok());
    let seen: BTreeMap<String, String> = seen
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| String::from_utf8(entry.to_vec()).unwrap())
        .map(|entry| entry.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap())
        .filter(|(name, _)| name.starts_with("FAIRWAY_") || name.contains("STATE") || name.len() < 8)
        .filter(|(name, _)| {
            !["PWD", "OLDPWD", "SHLVL", "_", "HOME", "LANG", "TMPDIR", "TZ", "PATH"].contains(&name.as_str())
        })
        .collect();
    let root = world.root().display().to_string();
    let expected: BTreeMap<String, String> = [
        ("FAIRWAY_BIN", crate::common::test_project::FAIRWAY.to_owned()),
        ("FAIRWAY_ROOT", root.clone()),
        ("FAIRWAY_SESSION_ID", "s1".into()),
        ("FAIRWAY_RUN_ID", text(&session["run_id"])),
        ("FAIRWAY_ROLE", "backend".into()),
        ("FAIRWAY_TASK_ID", "T-1".into()),
        ("FAIRWAY_PROVIDER", "shell".into()),
        ("FAIRWAY_BACKEND", "shell".into()),
        ("FAIRWAY_WORKTREE", root.clone()),
        ("FAIRWAY_BRANCH", "b/1".into()),
        ("FAIRWAY_TRANSCRIPT", format!("{root}/.fairway/transcripts/s1.log")),
        ("FAIRWAY_SOCKET", format!("{root}/.fairway/runtime/worker.sock")),
        ("FAIRWAY_PORT_FILE", format!("{root}/.fairway/runtime/worker.port")),
        ("FAIRWAY_TOKEN_FILE", format!("{root}/.fairway/runtime/worker.token")),
        ("MINE", "a b\n'\"$(x)".into()),
        ("OUTSIDE", "stays".into()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    assert_eq!(seen, expected);
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn the_exit_code_ends_the_session() {
    let world = Sessions::new();
    for (name, code, status) in [("zero", "0", "ended"), ("three", "3", "failed")] {
        world.launch(&["--role", "r", "--name", name, "--", "sh", "-c", &format!("read line; exit {code}")]);
        let input = eventually("the input is there", || {
            fs::OpenOptions::new().write(true).open(world.backend_dir(name).join("input")).ok()
        });
        std::io::Write::write_all(&mut { input }, b"go\n").unwrap();
        let row =
            eventually("the end is recorded", || Some(world.session(name)).filter(|row| !row["ended_at"].is_empty()));
        assert_eq!((row["status"].as_str(), row["exit_code"].as_str()), (status, code));
    }
    let kinds: Vec<String> = world
        .rows("SELECT kind FROM events WHERE session_id = 'three' ORDER BY seq")
        .into_iter()
        .map(|mut row| row.remove("kind").unwrap())
        .collect();
    assert_eq!(kinds, ["session.starting", "session.running", "session.failed"]);
    // Nothing of a session is left behind that ended by itself.
    let adapters = world.dir().join("home/.local/state/fairway/adapters");
    eventually("the folders are gone", || {
        let left: Vec<_> = fs::read_dir(&adapters).unwrap().flatten().map(|entry| entry.file_name()).collect();
        (left == [".lock"]).then_some(())
    });
}

#[test]
fn a_program_that_ends_at_once_is_the_answer() {
    let world = Sessions::new();
    let ended = world.launch(&["--role", "r", "--name", "good", "--", "true"]);
    assert_eq!((&ended["status"], &ended["exit_code"]), (&"ended".into(), &0.into()));
    for backend in ["shell", "tmux"] {
        let name = format!("bad-{backend}");
        let words = ["--role", "r", "--name", &name, "--backend", backend, "--", "sh", "-c", "echo no; exit 9"];
        let error =
            world.run(["session", "launch", "--json"].iter().chain(&words)).refuses(7, "program_failed").error();
        let message = format!("{name} was started, but its program ended with exit code 9; it last showed: no");
        assert_eq!((&error["message"], &error["details"]["screen"]), (&message.into(), &"no".into()));
        // What it showed stays out of the store.
        assert_eq!(world.session(&name)["reason"], "its program ended with exit code 9");
    }
    assert_eq!(world.session("bad-shell")["status"], "failed");
    assert_eq!(world.run(["session", "peek", "bad-shell"]).exits(0).stdout, "no\n");
}

#[test]
fn leftover_processes_end_with_the_program() {
    let world = Sessions::new();
    let script = "setsid sleep 300 & sleep 300 & sleep 0.3";
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", script]);
    let run = text(&session["run_id"]);
    eventually("the leftovers are ended", || marked(&run).unwrap().is_empty().then_some(()));
    eventually("its end is recorded", || (world.session("s1")["status"] == "ended").then_some(()));
}

#[test]
fn the_transcript_is_private_and_holds_what_was_printed() {
    let world = Sessions::new();
    let mut command = Command::new("sh");
    let fairway = world.fairway([
        "session",
        "launch",
        "--role",
        "r",
        "--name",
        "s1",
        "--transcript",
        "logs/a.log",
        "--",
        "sh",
        "-c",
        "printf 'out\\n'; printf 'err\\033[31m\\n' >&2; printf 'API_TOKEN=hunter22\\n'; sleep 300",
    ]);
    // Whatever the umask.
    command.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(fairway.get_program()).args(fairway.get_args());
    command
        .env_clear()
        .envs(fairway.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(world.root());
    assert!(command.output().unwrap().status.success());
    let path = world.root().join("logs/a.log");
    let whole = "out\nerr\u{1b}[31m\nAPI_TOKEN=hunter22\n";
    eventually("everything is in the transcript", || (fs::read_to_string(&path).ok()? == whole).then_some(()));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    for entry in fs::read_dir(world.backend_dir("s1")).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o077, 0, "{entry:?}");
    }
    let peeked = || {
        let raw = world.run(["session", "peek", "s1", "--raw"]).exits(0).stdout;
        assert_eq!(raw, "out\nerr\\u{1b}[31m\nAPI_TOKEN=•••\n");
        assert_eq!(world.run(["session", "peek", "s1"]).exits(0).stdout, "out\nerr\nAPI_TOKEN=•••\n");
    };
    peeked();
    world.run(["session", "stop", "s1"]).exits(0);
    peeked();
    // A link in its place is not followed.
    std::os::unix::fs::symlink("/dev/null", world.root().join("logs/link")).unwrap();
    let planted = world.run(["session", "launch", "--json", "--role", "r", "--transcript", "logs/link", "--", "true"]);
    planted.refuses(2, "invalid_value");
}

/// A second lane of the same role is nothing special.
#[test]
fn lanes_of_one_role_run_side_by_side() {
    let world = Sessions::new();
    for lane in ["left", "right"] {
        let folder = world.root().join(lane);
        fs::create_dir(&folder).unwrap();
        world.run(["lane", "add", lane, "--role", "backend", "--worktree", &folder.display().to_string()]).exits(0);
    }
    let script = "pwd >place; echo \"$FAIRWAY_LANE\" >>place; sleep 300";
    let launches = ["left", "right"].map(|lane| {
        let args = ["session", "launch", "--json", "--role", "backend", "--lane", lane, "--", "sh", "-c", script];
        world.fairway(args).stdout(std::process::Stdio::piped()).spawn().unwrap()
    });
    let launched = launches.map(|launch| CommandOutput::from(launch.wait_with_output().unwrap()).exits(0).json());
    assert_ne!(launched[0]["id"], launched[1]["id"]);
    for (session, lane) in launched.iter().zip(["left", "right"]) {
        let folder = world.root().join(lane);
        let told = format!("{}\n{lane}\n", folder.display());
        eventually(lane, || (fs::read_to_string(folder.join("place")).ok()? == told).then_some(()));
        assert_eq!((&session["status"], &session["lane"]), (&"running".into(), &lane.into()));
        world.run(["session", "stop", &text(&session["id"])]).exits(0);
    }
}

/// The state that a failed launch must leave as it was.
#[track_caller]
fn fails(world: &Sessions, script: &str, exit: i32, code: &str) -> serde_json::Value {
    let before = world.queue();
    let path = world.script("backend.sh", &format!("#!/bin/sh\necho \"$1\" >>\"${{0%/*}}/calls\"\n{script}\n"));
    let calls = world.dir().join("calls");
    let _ = fs::remove_file(&calls);
    let backend = format!("exec:{}", path.display());
    let run = world.run([
        "session",
        "launch",
        "--json",
        "--role",
        "r",
        "--task-id",
        "T-1",
        "--backend",
        &backend,
        "--",
        "sleep",
        "300",
    ]);
    let error = run.refuses(exit, code).error();
    let session = world.rows("SELECT * FROM agent_sessions ORDER BY rowid DESC LIMIT 1").pop().unwrap();
    assert_eq!(session["status"], "failed", "{session:?}");
    assert!(!session["reason"].is_empty());
    assert_eq!(marked(&session["run_id"]).unwrap(), []);
    assert_eq!(world.queue(), before);
    assert!(world.rows("SELECT id FROM checkpoints").is_empty());
    let mut error = error;
    error["calls"] = fs::read_to_string(calls).unwrap().split_whitespace().collect::<Vec<_>>().into();
    error
}

#[test]
fn a_failed_launch_leaves_everything_as_it_was() {
    let mut world = Sessions::new();
    world.set("FAIRWAY_SESSIONS_LAUNCH_TIMEOUT", "1s");
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    // A script that says so, and leaves a child in its group.
    let error = fails(
        &world,
        "[ \"$1\" = start ] || exit 0; sleep 300 & echo $! >\"${0%/*}/child\"; echo 'no room; API_KEY=abc' >&2; exit 1",
        7,
        "adapter_failed",
    );
    assert!(text(&error["message"]).ends_with("failed at start: no room; API_KEY=•••"), "{error}");
    assert_eq!(error["calls"], serde_json::json!(["start", "get-meta", "stop"]));
    let child: i32 = fs::read_to_string(world.dir().join("child")).unwrap().trim().parse().unwrap();
    assert_eq!(ProcessKey::of(child), None);
    // One that started the program, in a session of its own, and then failed; `stop` knows nothing of it.
    let start = "[ \"$1\" = start ] || exit 0; run=$(tr ',' '\\n' | sed -n 's/.*\"run_id\":\"\\([^\"]*\\)\".*/\\1/p'); \
        up=\"${0%/*}/up\"; FAIRWAY_RUN_ID=$run setsid sh -c 'touch \"$1\"; sleep 300' sh \"$up\" </dev/null >/dev/null 2>&1 & \
        until [ -e \"$up\" ]; do :; done; exit 1";
    fails(&world, start, 7, "adapter_failed");
    // One that leaves a child of its own in another session.
    let start = "[ \"$1\" = start ] || exit 0; out=\"${0%/*}/out\"; setsid sh -c 'echo $$ >\"$1\"; exec sleep 300' sh \"$out\" & \
        until [ -s \"$out\" ]; do :; done; exit 1";
    fails(&world, start, 7, "adapter_failed");
    let child: i32 = fs::read_to_string(world.dir().join("out")).unwrap().trim().parse().unwrap();
    assert_eq!(ProcessKey::of(child), None);
    // Busy: to be tried again; nothing of ours can be there.
    let error = fails(&world, "[ \"$1\" = start ] || exit 0; exit 75", 7, "adapter_busy");
    assert_eq!((&error["retryable"], &error["calls"]), (&true.into(), &serde_json::json!(["start"])));
    // Unknown operation, another's session, too slow, killed, gone at once.
    let error = fails(&world, "[ \"$1\" = start ] || exit 0; exit 2", 7, "adapter_unsupported");
    assert_eq!(error["calls"], serde_json::json!(["start"]));
    let error = fails(
        &world,
        "[ \"$1\" = start ] || exit 0; echo \"session '$2' already exists\" >&2; exit 1",
        7,
        "session_exists",
    );
    assert_eq!(error["calls"], serde_json::json!(["start"]));
    fails(&world, "[ \"$1\" = start ] || exit 0; sleep 300 & wait", 7, "adapter_timeout");
    fails(&world, "[ \"$1\" = start ] || exit 0; kill -9 $$", 7, "adapter_failed");
    let error = fails(
        &world,
        "[ \"$1\" = get-meta ] && echo another; [ \"$1\" = start ] || exit 0; exit 1",
        7,
        "adapter_failed",
    );
    assert_eq!(error["calls"], serde_json::json!(["start", "get-meta"]), "a session of another run is not stopped");
    fails(&world, "case $1 in start) exit 0 ;; is-running) echo false ;; *) exit 2 ;; esac", 7, "program_failed");
}

#[test]
fn minimal_third_party_script_works_as_backend() {
    let world = Sessions::new();
    let script = world.script(
        "minimal",
        "#!/bin/sh\nd=$GC_EXEC_STATE_DIR\n[ \"$d\" = \"$FAIRWAY_ADAPTER_STATE\" ] || exit 1\ncase $1 in\n\
         start) sleep 300 </dev/null >/dev/null 2>&1 & echo $! >\"$d/$2.pid\" ;;\n\
         stop) [ -f \"$d/$2.pid\" ] && kill \"$(cat \"$d/$2.pid\")\"; rm -f \"$d/$2.pid\" ;;\n\
         is-running) if [ -f \"$d/$2.pid\" ]; then echo true; else echo false; fi ;;\n*) exit 2 ;;\nesac\n",
    );
    // Relative to where it was typed.
    assert!(script.is_file());
    let session = world.launch(&["--role", "r", "--name", "s1", "--backend", "exec:../minimal", "--", "true"]);
    assert_eq!((&session["status"], &session["pid"]), (&"running".into(), &serde_json::Value::Null));
    assert_eq!(session["backend"], format!("exec:{}", script.display()));
    world.run(["session", "peek", "s1"]).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(world.session("s1")["status"], "ended");
}

#[test]
fn garbled_answer_is_unknown_not_dead() {
    let world = Sessions::new();
    let script = world.script(
        "odd",
        "#!/bin/sh\ncase $1 in start | stop) exit 0 ;; is-running) printf '\\377yes' ;; *) exit 2 ;; esac\n",
    );
    let backend = format!("exec:{}", script.display());
    let run =
        world.run(["session", "launch", "--role", "r", "--name", "s1", "--backend", &backend, "--", "true"]).exits(0);
    assert!(run.stderr.contains("neither true nor false"), "{run:?}");
    assert_eq!(world.session("s1")["status"], "starting");
}

#[test]
fn a_repeated_request_starts_nothing_twice() {
    let world = Sessions::new();
    let launch = |id: &str, words: &[&str]| {
        let flags = ["session", "launch", "--json", "--request-id", id, "--role", "r", "--"];
        world.run(flags.iter().chain(words))
    };
    let first = launch("a", &["sleep", "300"]).exits(0).json();
    let again = launch("a", &["sleep", "300"]).exits(0).json();
    assert_eq!(first, again);
    launch("a", &["sleep", "301"]).refuses(2, "request_reused");
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 1);
    world.run(["session", "stop", &text(&first["id"])]).exits(0);
    // One that is known to have failed may be tried again.
    launch("b", &["false"]).refuses(7, "program_failed");
    launch("b", &["false"]).refuses(7, "program_failed");
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 3);
    // One that was cut off is not.
    let id = text(&launch("c", &["sleep", "300"]).exits(0).json()["id"]);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute("UPDATE agent_sessions SET status = 'starting' WHERE id = ?1", [&id]).unwrap();
    conn.execute("UPDATE requests SET answer = json_set(answer, '$.line', 'intended') WHERE id = 'c'", []).unwrap();
    drop(conn);
    let cut = launch("c", &["sleep", "300"]).refuses(7, "launch_failed").error();
    assert_eq!(cut["retryable"], true);
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 4);
    world.run(["session", "stop", &id]).exits(0);
}

#[test]
fn names_are_unique_for_good() {
    let world = Sessions::new();
    let launch = |name: &str, words: &[&str]| {
        world.run(["session", "launch", "--json", "--role", "r", "--name", name, "--"].iter().chain(words))
    };
    launch("s1", &["true"]).exits(0);
    // The id of an ended session is history: the next one gets a number.
    let second = launch("s1", &["sleep", "300"]).exits(0);
    let note = "session s1 has ended; the new session is s1-2";
    assert_eq!(second.stderr, format!("{note}\n"));
    let second = second.json();
    assert_eq!(
        (&second["id"], &second["requested_id"], &second["notes"]),
        (&"s1-2".into(), &"s1".into(), &json!([note]))
    );
    assert_eq!(world.json(["session", "launch", "--role", "r", "--name", "s1", "--dry-run"])["session"]["id"], "s1-3");
    assert_eq!(world.session("s1")["status"], "ended");
    launch("s1-2", &["true"]).refuses(4, "exists");
    assert_eq!(world.launch(&["--role", "r", "--name", "s1-3", "--", "true"])["requested_id"], serde_json::Value::Null);
    assert_eq!(launch("s1", &["true"]).exits(0).json()["id"], "s1-4");
    world.run(["session", "stop", "s1-2"]).exits(0);
    let (one, two) = (world.launch(&["--role", "r", "--", "true"]), world.launch(&["--role", "r", "--", "true"]));
    assert_ne!(one["id"], two["id"]);
    assert!(text(&one["id"]).starts_with("r-shell-"), "{one}");
}

#[test]
fn hostile_text_is_data() {
    let world = Sessions::new();
    let canary = world.dir().join("canary");
    let hostile = format!("; touch {0} #$(touch {0})`touch {0}`\n\"'\u{1b}[31m", canary.display());
    for flags in [
        ["--role", hostile.as_str()],
        ["--name", hostile.as_str()],
        ["--lane", hostile.as_str()],
        ["--provider", hostile.as_str()],
        ["--branch", hostile.as_str()],
    ] {
        let mut words = vec!["session", "launch", "--json", "--role", "r"];
        if flags[0] == "--role" {
            words.truncate(3);
        }
        world.run(words.iter().chain(&flags).chain(&["--", "true"])).exits(2);
    }
    let run = world.run(["session", "launch", "--json", "--role", "r", "--backend", &hostile, "--", "true"]);
    run.refuses(3, "not_found");
    world.run(["session", "launch", "--json", "--role", "r", "--env", &format!("{hostile}=x"), "--", "true"]).exits(2);
    let own = world.run(["session", "launch", "--json", "--role", "r", "--env", "FAIRWAY_SESSION_ID=x", "--", "true"]);
    own.refuses(2, "usage");
    // As an argument it arrives as it is.
    world.launch(&["--role", "r", "--name", "s1", "--", "printf", "%s", &hostile]);
    let transcript = world.root().join(".fairway/transcripts/s1.log");
    eventually("it has printed", || (fs::read_to_string(&transcript).ok()? == hostile).then_some(()));
    assert!(!canary.exists());
}

#[test]
fn session_in_a_linked_worktree_shares_the_store() {
    let world = Sessions::new();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let done = world.command("git").args(identity).args(args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", ".fairway.toml"]);
    git(&["commit", "-q", "-m", "x"]);
    git(&["worktree", "add", "-q", "../linked", "-b", "lane"]);
    let linked = world.dir().join("linked");
    let run = world
        .fairway(["session", "launch", "--json", "--role", "r", "--name", "s1", "--worktree", ".", "--", "pwd"])
        .current_dir(&linked)
        .output()
        .unwrap();
    let session = CommandOutput::from(run).exits(0).json();
    assert_eq!(session["worktree"], linked.display().to_string());
    let transcript = world.root().join(".fairway/transcripts/s1.log");
    let printed = format!("{}\n", linked.display());
    eventually("it has printed", || (fs::read_to_string(&transcript).ok()? == printed).then_some(()));
    eventually("its end is in the one store", || (world.session("s1")["status"] == "ended").then_some(()));
    assert!(!linked.join(".fairway").exists());
}

#[test]
fn launch_settings_precedence_is_flag_role_lane_default() {
    let world = Sessions::new();
    let worktree = world.dir().join("wt");
    fs::create_dir(&worktree).unwrap();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let lane =
        "INSERT INTO lanes (name, status, branch, worktree, provider, created_at) VALUES (?1, 'open', ?2, ?3, ?4, 0)";
    conn.execute(lane, ("slow", "b/slow", worktree.to_str(), "of-lane")).unwrap();
    conn.execute(lane, ("fast", "b/fast", worktree.to_str(), "of-lane")).unwrap();
    drop(conn);
    world.configure(
        "[roles.a]\nlane = \"slow\"\n[roles.b]\nprovider = \"of-role\"\nenv = { X = \"role\", Y = \"role\" }\n\
         [providers.of-lane]\ncommand = \"true of-lane\"\n[providers.of-role]\ncommand = \"true of-role\"\n\
         env = { X = \"provider\", Y = \"provider\", Z = \"provider\" }\n",
    );
    world.run(["trust"]).exits(0);
    let dry = |flags: &[&str]| world.json(["session", "launch", "--dry-run"].iter().chain(flags));
    let seen = dry(&["--role", "a"]);
    assert_eq!(seen["command"], "true of-lane");
    assert_eq!(seen["session"]["lane"], "slow");
    assert_eq!(seen["session"]["branch"], "b/slow");
    assert_eq!(seen["session"]["worktree"], worktree.display().to_string());
    assert_eq!(dry(&["--role", "a", "--lane", "fast"])["environment"]["FAIRWAY_BRANCH"], "b/fast");
    let seen = dry(&["--role", "b", "--lane", "slow", "--branch", "mine", "--env", "X=flag"]);
    assert_eq!(seen["command"], "true of-role");
    assert_eq!(seen["session"]["branch"], "mine");
    let env = |name: &str| text(&seen["environment"][name]);
    assert_eq!((env("X"), env("Y"), env("Z")), ("flag".into(), "role".into(), "provider".into()));
    assert_eq!(dry(&["--role", "b", "--provider", "of-lane"])["command"], "true of-lane");
    assert_eq!(dry(&["--role", "b", "--command", "true x"])["command"], "true x");
}

#[test]
fn a_moved_store_is_the_sessions_too() {
    let mut world = Sessions::new();
    let moved = world.dir().join("moved/fairway.db");
    world.set("FAIRWAY_DB", &moved);
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "true"]);
    assert_eq!((&session["status"], &session["exit_code"]), (&"ended".into(), &0.into()));
    let conn = rusqlite::Connection::open(&moved).unwrap();
    let status: String = conn.query_row("SELECT status FROM agent_sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(status, "ended");
}

#[test]
fn session_with_a_killed_supervisor_can_be_stopped() {
    let world = Sessions::new();
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", "setsid sleep 300 & sleep 300"]);
    let run = text(&session["run_id"]);
    let key = ProcessKey::of(i32::try_from(session["pid"].as_i64().unwrap()).unwrap()).unwrap();
    assert_eq!(world.session("s1")["pid_started"], key.started.to_string());
    key.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(!marked(&run).unwrap().is_empty());
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(marked(&run).unwrap(), []);
    assert_eq!(world.session("s1")["status"], "ended");
}

#[test]
fn eight_racing_launches_of_one_name_succeed_once() {
    let world = Sessions::new();
    let launch = |_| world.fairway(["session", "launch", "--role", "r", "--name", "s1", "--", "sleep", "300"]);
    let runs = crate::common::concurrent_start::race(8, launch);
    let with = |code| runs.iter().filter(|run| run.status.code() == Some(code)).count();
    assert_eq!((with(0), with(4)), (1, 7), "{runs:#?}");
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn session_launched_elsewhere_is_not_touched() {
    let world = Sessions::new();
    for id in ["elsewhere", "by-hand"] {
        world.run(["session", "upsert", "--id", id, "--role", "r"]).exits(0);
    }
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let moved = "UPDATE agent_sessions SET host = 'another/1', host_id = 'another/1', adapter_script = '/bin/false', adapter_state = '/tmp' \
         WHERE id = 'elsewhere'";
    assert_eq!(conn.execute(moved, []).unwrap(), 1);
    drop(conn);
    for id in ["elsewhere", "by-hand"] {
        world.run(["session", "stop", id, "--json"]).refuses(4, "session_mismatch");
        world.run(["session", "peek", id, "--json"]).refuses(4, "session_mismatch");
        assert_eq!(world.session(id)["activity"], "unknown");
    }
    // Its host is gone: a person gives it up, and nobody else.
    let hint = world.run(["session", "stop", "elsewhere", "--json"]).error()["hint"].clone();
    assert_eq!(hint, "if that host or container is gone: fairway session forget elsewhere");
    world.run(["--session", "by-hand", "session", "forget", "elsewhere", "--json"]).refuses(5, "inside_session");
    world.run(["session", "forget", "by-hand", "--json"]).refuses(4, "session_alive");
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["--session", "elsewhere", "claim", "T-1"]).exits(0);
    let given_up = world.run(["session", "forget", "elsewhere"]).exits(0);
    assert!(given_up.stderr.contains("fairway release T-1 --force --reason TEXT"), "{given_up:?}");
    let row = world.session("elsewhere");
    assert_eq!(row["status"], "failed");
    assert!(row["reason"].contains("another/1, is gone: given up by"), "{row:?}");
    assert_eq!(
        world.run(["session", "forget", "elsewhere"]).exits(0).stdout,
        "unchanged: elsewhere has already failed\n"
    );
}

#[test]
fn a_name_that_is_another_projects_by_now_is_not_touched() {
    let world = Sessions::new();
    let other = world.dir().join("other").display().to_string();
    fs::create_dir(&other).unwrap();
    let there = |args: &[&str]| CommandOutput::from(world.fairway(args).current_dir(&other).output().unwrap()).exits(0);
    there(&["init"]);
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sleep", "300"]);
    let pid = i32::try_from(session["pid"].as_i64().unwrap()).unwrap();
    // Nobody is left to record the end.
    for key in process_tree::subtree(pid, None).unwrap() {
        key.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    eventually("it is gone", || ProcessKey::of(pid).is_none().then_some(()));
    there(&["session", "launch", "--role", "r", "--name", "s1", "--", "sh", "-c", "echo theirs; sleep 300"]);
    assert_eq!(world.run(["session", "peek", "s1"]).exits(0).stdout, "");
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(world.session("s1")["status"], "ended");
    assert_eq!(there(&["session", "peek", "s1"]).stdout, "theirs\n");
    assert_eq!(there(&["session", "status", "s1"]).stdout, "running\n");
    there(&["session", "stop", "s1"]);
}

#[test]
fn a_stop_that_fails_leaves_the_session_as_it_was() {
    let world = Sessions::new();
    let script = world.script(
        "stuck",
        "#!/bin/sh\ncase $1 in start) exit 0 ;; is-running) echo true ;; stop) echo stuck >&2; exit 1 ;; *) exit 2 ;; esac\n",
    );
    world.launch(&["--role", "r", "--name", "s1", "--backend", &format!("exec:{}", script.display()), "--", "true"]);
    let error = world.run(["session", "stop", "s1", "--json"]).refuses(7, "adapter_failed").error();
    assert!(text(&error["message"]).ends_with("failed at stop: stuck"), "{error}");
    let row = world.session("s1");
    assert_eq!((row["status"].as_str(), row["activity"].as_str()), ("running", "unknown"));
}

#[test]
fn a_secret_that_a_script_prints_is_kept_nowhere() {
    let world = Sessions::new();
    let script = world.script("loud", "#!/bin/sh\n[ \"$1\" = start ] || exit 2\ncat >&2\nexit 1\n");
    let backend = format!("exec:{}", script.display());
    let canary = "plain-looking-canary";
    let secret = format!("APP_SECRET={canary}");
    let run =
        world.run(["session", "launch", "--role", "r", "--backend", &backend, "--env", &secret, "--", "true"]).exits(7);
    assert!(run.stderr.contains("•••") && !run.stderr.contains(canary), "{run:?}");
    world.launch(&["--role", "r", "--name", "s1", "--env", &secret, "--", "true"]);
    let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|part| part == canary.as_bytes());
    eventually("nothing holds it", || world.everything().values().all(|(_, bytes)| !holds(bytes)).then_some(()));
}

/// A program may record its own end and go on; stop ends it all the same.
#[test]
fn process_alive_after_its_recorded_end_can_be_stopped() {
    let world = Sessions::new();
    let words = "\"$FAIRWAY_BIN\" session end \"$FAIRWAY_SESSION_ID\"; exec sleep 600";
    world.run(["session", "launch", "--role", "r", "--name", "s1", "--", "sh", "-c", words]).exits(0);
    let run = world.session("s1")["run_id"].clone();
    eventually("it goes on", || (!marked(&run).unwrap().is_empty()).then_some(()));
    assert_eq!(world.session("s1")["status"], "ended");
    let stopped = world.run(["session", "stop", "s1"]).exits(0);
    assert!(stopped.stdout.contains("stopped the remaining program"), "{stopped:?}");
    assert!(marked(&run).unwrap().is_empty());
    let again = world.run(["session", "stop", "s1"]).exits(0);
    assert!(again.stdout.starts_with("unchanged"), "{again:?}");
}

/// Cut off after its intention, settled by reconcile: the repeat must not say that it was launched.
#[test]
fn a_repeat_of_a_launch_that_was_cut_off_does_not_claim_success() {
    let world = Sessions::new();
    let script = world.script(
        "never",
        "#!/bin/sh\ncase $1 in start) exec sleep 600 ;; is-running) echo false ;; *) exit 2 ;; esac\n",
    );
    let backend = format!("exec:{}", script.display());
    let words = [
        "session",
        "launch",
        "--role",
        "r",
        "--name",
        "s1",
        "--backend",
        &backend,
        "--request-id",
        "R-1",
        "--",
        "true",
    ];
    let mut launch = world.fairway(words).spawn().unwrap();
    eventually("the intention", || (!world.rows("SELECT id FROM agent_sessions").is_empty()).then_some(()));
    launch.kill().unwrap();
    launch.wait().unwrap();
    let run = world.session("s1")["run_id"].clone();
    let late = "UPDATE agent_sessions SET started_at = 0 WHERE id = 's1'";
    rusqlite::Connection::open(world.store()).unwrap().execute(late, []).unwrap();
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.session("s1")["status"], "stale");
    world.run(words[..10].iter().chain(&["--json"]).chain(&words[10..])).refuses(7, "launch_failed");
    let _ = process_tree::terminate(std::time::Duration::ZERO, || {
        process_tree::with_env_entry(&format!("FAIRWAY_LAUNCH={run}"))
    });
}
