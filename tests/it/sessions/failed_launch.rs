//! `session launch` that fails: it leaves nothing behind, and no secret of the script.

use std::fs;

use fairway_core::os::process::ProcessKey;

use super::{Sessions, eventually, marked, text};

/// The state that a failed launch must leave as it was.
#[track_caller]
fn fails(world: &Sessions, script: &str, exit: i32, code: &str) -> serde_json::Value {
    let before = world.queue();
    let path = world.script("backend.sh", &format!("#!/bin/sh\necho \"$1\" >>\"${{0%/*}}/calls\"\n{script}\n"));
    let calls = world.dir().join("calls");
    let _ = fs::remove_file(&calls);
    let backend = format!("exec:{}", path.display());
    let run = world.run([
        "session", "launch", "--json", "--role", "r", "--task-id", "T-1", "--backend", &backend, "--", "sleep", "300",
    ]);
    let error = run.refuses(exit, code).error();
    let session = world.rows("SELECT * FROM agent_sessions ORDER BY started_at DESC LIMIT 1").pop().unwrap();
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
fn failed_launch_leaves_everything_as_it_was() {
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
fn program_that_ends_at_once_is_reported_by_the_launch() {
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
        // The shown text stays out of the store.
        assert_eq!(world.session(&name)["reason"], "its program ended with exit code 9");
    }
    assert_eq!(world.session("bad-shell")["status"], "failed");
    assert_eq!(world.run(["session", "peek", "bad-shell"]).exits(0).stdout, "no\n");
}

#[test]
fn secret_printed_by_a_script_is_kept_nowhere() {
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
