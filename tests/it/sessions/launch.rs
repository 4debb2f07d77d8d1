//! `session launch` that succeeds: its environment, its transcript, its settings.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

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
fn environment_is_the_callers_with_ours_over_it() {
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
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,fairway.session=outer"),
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
        .filter(|(name, _)| {
            name.starts_with("FAIRWAY_") || name.starts_with("OTEL_") || name.contains("STATE") || name.len() < 8
        })
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
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,fairway.task=T-1,fairway.session=s1".into()),
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
fn transcript_is_private_and_holds_the_output() {
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
fn hostile_text_in_a_launch_is_data() {
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
fn moved_store_is_used_by_the_session_too() {
    let mut world = Sessions::new();
    let moved = world.dir().join("moved/fairway.db");
    world.set("FAIRWAY_DB", &moved);
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "true"]);
    assert_eq!((&session["status"], &session["exit_code"]), (&"ended".into(), &0.into()));
    let conn = rusqlite::Connection::open(&moved).unwrap();
    let status: String = conn.query_row("SELECT status FROM agent_sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(status, "ended");
}
