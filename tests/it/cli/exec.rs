//! `fairway exec …`

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// One document in.
fn call(world: &TestProject, document: &Value) -> CommandOutput {
    world.run_with_stdin(["exec", "call"], document.to_string().as_bytes())
}

#[test]
fn background_job_of_a_session_that_has_ended_is_refused() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["session", "end", "s1"]).exits(0);
    let spawn = ["exec", "spawn", "--notify", "s1", "--watch", "hit=h", "--json", "--", "echo", "hit"];
    world.run(spawn).refuses(4, "session_final");
    assert_eq!(world.json(["exec", "list"]), serde_json::json!([]));
    // One that is not registered has its own way to read them.
    world.run(["exec", "spawn", "--notify", "agent:main/7", "--queue", "", "--", "true"]).exits(0);
}

#[test]
fn call_without_an_action_runs_at_once() {
    let world = TestProject::new();
    let ran = |document: Value| call(&world, &document).exits(0).json();
    assert_eq!(
        ran(json!({ "command": "echo one; echo two >&2; echo three" })),
        json!({ "success": true, "output": "one\ntwo\nthree\n", "error": null })
    );
    assert_eq!(
        ran(json!({ "argv": ["sh", "-c", "echo \"$1\"; exit 3", "sh", "a b"] })),
        json!({ "success": false, "output": "a b\n", "error": "exit code 3" })
    );
    std::fs::create_dir(world.root().join("sub")).unwrap();
    assert!(ran(json!({ "command": "pwd", "cwd": "sub" }))["output"].as_str().unwrap().ends_with("/sub\n"));
    assert_eq!(ran(json!({ "command": "kill -9 $$" }))["error"], "ended by signal 9");
    assert!(ran(json!({ "argv": ["no-such"] }))["error"].as_str().unwrap().contains("'no-such' was not found"));
    let late = ran(json!({ "command": "echo begun; sleep 60 & sleep 60", "timeout_secs": 0.3 }));
    assert_eq!(late, json!({ "success": false, "output": "begun\n", "error": "timed out after 300ms" }));
    assert!(!ran(json!({ "command": "echo API_KEY=hunter2" }))["output"].as_str().unwrap().contains("hunter2"));
    // Nothing is recorded.
    assert_eq!(world.run(["events", "--quiet"]).exits(0).stdout, "");
}

#[test]
fn invalid_call_is_refused_in_json() {
    let world = TestProject::new();
    for text in
        ["", "x", "[]", "{}", r#"{"action":"spwan"}"#, r#"{"command":"a","argv":["a"]}"#, r#"{"command":"a","x":1}"#]
    {
        world.run_with_stdin(["exec", "call"], text.as_bytes()).refuses(2, "usage");
    }
    world.run_with_stdin(["exec", "call"], br#"{"command":"a\u0000b"}"#).refuses(2, "usage");
    world.run_with_stdin(["exec", "call"], b"\xff").refuses(2, "invalid_value");
    world.run_with_stdin(["exec", "call"], &vec![b' '; (1 << 20) + 1]).refuses(2, "invalid_value");
    world.run(["exec", "call", "--file", "no-such", "--json"]).refuses(2, "invalid_value");
    insta::assert_snapshot!(world.transcript(&["fairway exec call --file no-such"]), @r#"
    $ fairway exec call --file no-such
    {"error":{"code":"invalid_value","kind":"usage","message":"the document cannot be read from no-such: No such file or directory (os error 2)","hint":"see which files there are: ls [world]/project","retryable":false,"details":null}}
    [exit 2]
    "#);
}

/// The actions that docs/integration/jobs-json.md has no example of, and what they all refuse.
#[test]
fn every_action_answers_with_its_document() {
    let world = TestProject::new();
    world.real_time();
    let done = |document: Value| call(&world, &document).exits(0).json();
    let id = |spawned: &Value| spawned["run_id"].as_str().unwrap().to_owned();

    let first = id(&done(json!({ "action": "spawn", "argv": ["sh", "-c", "cat; echo $A $B"], "stdin": "in\n",
        "env": { "A": "a", "HOME": null }, "session_id": "key-1", "yield_ms": 30_000 })));
    let failed = done(json!({ "action": "spawn", "command": "exit 3", "background": false }));
    assert_eq!((&failed["status"], &failed["exit_code"]), (&json!("failed"), &json!(3)));
    let absent = done(json!({ "action": "spawn", "argv": ["no-such"], "background": false }));
    assert_eq!(absent["status"], "failed");
    assert!(absent["error_message"].as_str().unwrap().contains("No such file"), "{absent}");

    let waited = done(json!({ "action": "wait", "run_ids": [first, id(&failed)], "timeout_secs": 30.5 }));
    assert_eq!((&waited[0]["status"], &waited[1]["status"]), (&json!("succeeded"), &json!("failed")));
    assert_eq!(done(json!({ "action": "wait", "run_id": first })).as_array().unwrap().len(), 1);
    let log = done(json!({ "action": "log", "run_id": first, "stream": "stdout" }));
    let text: String = log["items"].as_array().unwrap().iter().map(|item| item["payload"].as_str().unwrap()).collect();
    assert_eq!(text, "in\na\n");
    let listed = done(json!({ "action": "list", "session_id": "key-1" }));
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["queue"]), (1, &json!("key-1")));
    assert_eq!(done(json!({ "action": "list", "unfinished": true })), json!([]));
    assert_eq!(done(json!({ "action": "list", "limit": 2 })).as_array().unwrap().len(), 2);
    let before = done(json!({ "action": "poll", "run_id": first }));
    let killed = done(json!({ "action": "kill", "run_id": first, "signal": 9 }));
    assert_eq!(killed["finished_at"], before["finished_at"], "a run that has ended stays as it is");
    assert_eq!(done(json!({ "action": "gc", "dry_run": true }))["removed"], json!([]));
    assert_eq!(done(json!({ "action": "rm", "run_id": first }))["removed"], json!([first]));

    let refused = |document: Value| call(&world, &document);
    refused(json!({ "action": "poll", "run_id": first })).refuses(3, "not_found");
    refused(json!({ "action": "send_keys", "run_id": id(&failed), "keys": "x" })).exits(4);
    refused(json!({ "action": "rm", "run_ids": [id(&failed), "nothing"] })).refuses(3, "not_found");
    refused(json!({ "action": "spawn", "command": "true", "watch": [{ "regex": "(" }] })).refuses(2, "usage");
    let many: Vec<Value> = (0..17).map(|_| json!({ "regex": "x" })).collect();
    refused(json!({ "action": "spawn", "command": "true", "watch": many })).refuses(2, "usage");
    refused(json!({ "action": "spawn", "command": "true", "watch": [{ "regex": "x".repeat(257) }] }))
        .refuses(2, "usage");
    let long = done(json!({ "action": "spawn", "command": "sleep 600", "pty": true }));
    let late = json!({ "action": "wait", "run_id": id(&long), "timeout_secs": 0.05 });
    refused(late).refuses(6, "nothing_arrived");
    refused(json!({ "action": "rm", "run_id": id(&long) })).refuses(4, "in_use");
    assert_eq!(done(json!({ "action": "kill", "run_id": id(&long) }))["status"], "canceled");
}

/// A repeated request has one effect and one answer.
#[test]
fn repeated_exec_call_has_one_effect() {
    let world = TestProject::new();
    world.real_time();
    let document = json!({ "action": "spawn", "command": "echo once >>ran", "yield_ms": 30_000 }).to_string();
    let words = ["exec", "call", "--request-id", "r-1"];
    let first = world.run_with_stdin(words, document.as_bytes()).exits(0).json();
    assert_eq!(world.run_with_stdin(words, document.as_bytes()).exits(0).json()["run_id"], first["run_id"]);
    assert_eq!(std::fs::read_to_string(world.root().join("ran")).unwrap(), "once\n");
    let other = json!({ "action": "spawn", "command": "true" }).to_string();
    world.run_with_stdin(words, other.as_bytes()).refuses(2, "request_reused");
}

#[test]
fn job_is_started_polled_and_removed() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway exec list",
        "fairway exec spawn --foreground --shell 'echo out; echo API_KEY=hunter2; sleep 0.2; echo err >&2; exit 3'",
        "fairway exec spawn --wait-for 30s -- printf 'no end of line'",
        "fairway exec spawn -- true",
        "fairway exec wait 00001389 00000bb9",
        "fairway exec list",
        "fairway exec list --quiet --limit 1",
        "fairway exec poll 00000bb9",
        "fairway exec poll 00000bb9 --since-seq 9 --wait 1s --until exit",
        "fairway exec log 00000bb9 --stream stdout",
        "fairway exec log 00000fa1 --follow",
        "fairway exec log 00000fa1 --json",
        "fairway exec rm 00000bb9 0000",
        "fairway exec rm 00000bb9",
        "fairway exec gc --dry-run",
        "fairway exec log 00000bb9",
        "fairway exec worker --until-empty",
    ]), @r#"
    $ fairway exec list
    no jobs
    $ fairway exec spawn --foreground --shell 'echo out; echo API_KEY=hunter2; sleep 0.2; echo err >&2; exit 3'
    out
    API_KEY=•••
    started job 00000bb9: echo out; echo API_KEY=•••; sleep 0.2; echo err >&2; exit 3
    err
    [end] failed: exit code 3
    [exit 7]
    $ fairway exec spawn --wait-for 30s -- printf 'no end of line'
    00000fa1 succeeded after 0s: printf 'no end of line'
    no end of line
    [end] succeeded
    $ fairway exec spawn -- true
    started job 00001389: true
    $ fairway exec wait 00001389 00000bb9
    00001389 succeeded after 0s: true
    00000bb9 failed with exit code 3 after 0s: echo out; echo API_KEY=•••; sleep 0.2; echo err >&2; exit 3
    [exit 7]
    $ fairway exec list
    ID        STATUS     AGE  SESSION  QUEUE  COMMAND
    00001389  succeeded  2s   -        -      true
    00000fa1  succeeded  3s   -        -      printf 'no end of line'
    00000bb9  failed     4s   -        -      echo out; echo API_KEY=•••; sleep 0.2; echo err >&2; exit 3
    $ fairway exec list --quiet --limit 1
    019b76da-bb88-7000-8000-000000001389
    $ fairway exec poll 00000bb9
    00000bb9 failed with exit code 3 after 0s: echo out; echo API_KEY=•••; sleep 0.2; echo err >&2; exit 3
    out
    API_KEY=•••
    err
    [end] failed: exit code 3
    $ fairway exec poll 00000bb9 --since-seq 9 --wait 1s --until exit
    00000bb9 failed with exit code 3 after 0s: echo out; echo API_KEY=•••; sleep 0.2; echo err >&2; exit 3
    $ fairway exec log 00000bb9 --stream stdout
    out
    API_KEY=•••
    $ fairway exec log 00000fa1 --follow
    no end of line[end] succeeded
    $ fairway exec log 00000fa1 --json
    {"run_id":"019b76da-b7a0-7000-8000-000000000fa1","items":[{"seq":1,"type":"stdout","payload":"no end of line","meta":null,"created_at":"2026-01-01T00:00:04.000Z"},{"seq":2,"type":"event","payload":"succeeded","meta":{"event":"end","status":"succeeded","exit_code":0,"signal":null,"attempt":1},"created_at":"2026-01-01T00:00:04.000Z"}],"next_seq":2,"has_more":false}
    $ fairway exec rm 00000bb9 0000
    error: job '0000' is ambiguous: it fits 019b76da-bb88-7000-8000-000000001389, 019b76da-b7a0-7000-8000-000000000fa1, 019b76da-b3b8-7000-8000-000000000bb9
    [exit 3]
    $ fairway exec rm 00000bb9
    removed 1 job
    $ fairway exec gc --dry-run
    unchanged: no job exceeds the limits
    $ fairway exec log 00000bb9
    error: there is no job '00000bb9'
    hint: list the jobs: fairway exec list
    [exit 3]
    $ fairway exec worker --until-empty
    started 0 jobs, recovered 0
    "#);
}

#[test]
fn queued_job_waits_and_is_killed() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway exec spawn --queue q --shell 'echo up; exec sleep 600'",
        "fairway exec spawn --queue q -- echo 'never run'",
        "fairway exec poll 000007d1 --wait 30s --until output",
        "fairway exec list --unfinished",
        "fairway exec rm 000007d1",
        "fairway exec kill 00000bb9",
        "fairway exec kill 000007d1 --signal INT --grace 10s",
        "fairway exec kill 000007d1",
        "fairway exec wait 000007d1 00000bb9 --timeout 10s",
        "fairway exec log 000007d1",
        "fairway exec poll 00000bb9 --json",
    ]), @r#"
    $ fairway exec spawn --queue q --shell 'echo up; exec sleep 600'
    started job 000007d1: echo up; exec sleep 600
    $ fairway exec spawn --queue q -- echo 'never run'
    queued job 00000bb9: echo 'never run'
    $ fairway exec poll 000007d1 --wait 30s --until output
    000007d1 running since 2s: echo up; exec sleep 600
    up
    $ fairway exec list --unfinished
    ID        STATUS   AGE  SESSION  QUEUE  COMMAND
    00000bb9  queued   2s   -        q      echo 'never run'
    000007d1  running  3s   -        q      echo up; exec sleep 600
    $ fairway exec rm 000007d1
    error: job '019b76da-afd0-7000-8000-0000000007d1' is in use: it is running
    hint: to end it: fairway exec kill 019b76da-afd0-7000-8000-0000000007d1
    [exit 4]
    $ fairway exec kill 00000bb9
    ended job 00000bb9: canceled
    $ fairway exec kill 000007d1 --signal INT --grace 10s
    ended job 000007d1: canceled
    $ fairway exec kill 000007d1
    job 000007d1 had already ended: canceled
    $ fairway exec wait 000007d1 00000bb9 --timeout 10s
    000007d1 canceled after 0s (it was killed on request, by SIGINT): echo up; exec sleep 600
    00000bb9 canceled (it was killed on request, before it started): echo 'never run'
    [exit 7]
    $ fairway exec log 000007d1
    up
    [end] canceled: it was killed on request, by SIGINT (signal 2)
    $ fairway exec poll 00000bb9 --json
    {"run_id":"019b76da-b3b8-7000-8000-000000000bb9","session_id":null,"queue":"q","status":"canceled","command":"echo 'never run'","cwd":"[world]/project","background":true,"pty":false,"recovery":"requeue","attempt":1,"pid":null,"exit_code":null,"signal":null,"output_bytes":0,"truncated":false,"error_message":"it was killed on request, before it started","queued_at":"2026-01-01T00:00:03.000Z","started_at":null,"finished_at":"2026-01-01T00:00:07.000Z","updated_at":"2026-01-01T00:00:07.000Z","since_seq":0,"next_seq":1,"snippet":"","items":[{"seq":1,"type":"event","payload":"canceled: it was killed on request, before it started","meta":{"event":"end","status":"canceled","exit_code":null,"signal":null,"attempt":1},"created_at":"2026-01-01T00:00:07.000Z"}]}
    "#);
}

#[test]
fn job_receives_keys() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway exec spawn --pty -- cat",
        "fairway exec send-keys 000007d1 Entr",
        "fairway exec send-keys 000007d1",
        "fairway exec send-keys 000007d1 -l 'hi there' Enter --eof",
        "fairway exec wait 000007d1",
        "fairway exec log 000007d1",
        "fairway exec send-keys 000007d1 Enter",
    ]), @r"
    $ fairway exec spawn --pty -- cat
    started job 000007d1: cat
    $ fairway exec send-keys 000007d1 Entr
    error: 'Entr' is not a key; use tmux key names such as Enter, C-c, M-x, S-Up or F5
    hint: type it as text: fairway exec send-keys JOB -l Entr
    [exit 2]
    $ fairway exec send-keys 000007d1
    error: nothing to type: name keys, or give a text
    [exit 2]
    $ fairway exec send-keys 000007d1 -l 'hi there' Enter --eof
    typed 10 bytes into job 000007d1
    $ fairway exec wait 000007d1
    000007d1 succeeded after 0s: cat
    $ fairway exec log 000007d1
    hi there
    hi there
    [end] succeeded
    $ fairway exec send-keys 000007d1 Enter
    error: job 019b76da-afd0-7000-8000-0000000007d1 has ended (succeeded)
    hint: to see what it printed: fairway exec log 019b76da-afd0-7000-8000-0000000007d1
    [exit 4]
    ");
}

#[test]
fn invalid_spawn_starts_nothing() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway exec spawn",
        "fairway exec spawn --shell true -- true",
        "fairway exec spawn --shell ' '",
        "fairway exec spawn --watch '(=x' -- true",
        "fairway exec spawn --watch 'a=b c' -- true",
        "fairway exec spawn --cwd no-such -- true",
        "fairway exec spawn --size 24x80 -- true",
        "fairway exec spawn --timeout 0s -- true",
        "fairway exec spawn --session unknown -- true",
        "fairway exec poll 000007d1",
        "fairway exec poll 1 --wait 1s --until end",
        "fairway exec log 000007d1 --limit 0",
        "fairway exec kill 000007d1 --signal NONE",
        "fairway exec list",
    ]), @"
    $ fairway exec spawn
    error: the following required arguments were not provided: <--shell <TEXT>|CMD>
    hint: write it as: fairway exec spawn (--shell TEXT | -- CMD...)
    [exit 2]
    $ fairway exec spawn --shell true -- true
    error: the argument '--shell <TEXT>' cannot be used with '[CMD]...'
    hint: write it as: fairway exec spawn (--shell TEXT | -- CMD...)
    [exit 2]
    $ fairway exec spawn --shell ' '
    error: command must not be empty
    [exit 2]
    $ fairway exec spawn --watch '(=x' -- true
    error: watcher 1, '(': unclosed group
    [exit 2]
    $ fairway exec spawn --watch 'a=b c' -- true
    error: invalid value 'a=b c' for '--watch <REGEX=EVENT>': the event's name 'b c' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters; write REGEX=EVENT
    hint: read the help: fairway exec spawn --help
    [exit 2]
    $ fairway exec spawn --cwd no-such -- true
    error: cwd [world]/project/no-such is not a directory
    [exit 2]
    $ fairway exec spawn --size 24x80 -- true
    error: the following required arguments were not provided: --pty
    hint: write it as: fairway exec spawn (--shell TEXT | -- CMD...)
    [exit 2]
    $ fairway exec spawn --timeout 0s -- true
    error: timeout must be greater than zero
    [exit 2]
    $ fairway exec spawn --session unknown -- true
    error: there is no session 'unknown'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway exec poll 000007d1
    error: there is no job '000007d1'
    hint: list the jobs: fairway exec list
    [exit 3]
    $ fairway exec poll 1 --wait 1s --until end
    error: invalid value 'end' for '--until <WHAT>': 'end' is none of exit, output, event
    hint: read the help: fairway exec poll --help
    [exit 2]
    $ fairway exec log 000007d1 --limit 0
    error: there is no job '000007d1'
    hint: list the jobs: fairway exec list
    [exit 3]
    $ fairway exec kill 000007d1 --signal NONE
    error: invalid value 'NONE' for '--signal <SIGNAL>': 'NONE' is no signal: name one as TERM, INT or 9
    hint: read the help: fairway exec kill --help
    [exit 2]
    $ fairway exec list
    no jobs
    ");
    let left = std::fs::read_dir(world.root().join(".fairway/runs"));
    assert!(left.is_err() || left.unwrap().next().is_none());
}

#[test]
fn job_is_found_by_the_beginning_or_the_end_of_its_id() {
    let world = TestProject::new();
    let spawn = || {
        let run = world.run(["exec", "spawn", "--json", "--", "echo", "hi"]).exits(0).json();
        run["run_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (spawn(), spawn());
    let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    for id in [&first, &second] {
        for part in [&id[..=same], &id[..30], &id[id.len() - 8..], &id[id.len() - 12..], id] {
            let found = world.json(["exec", "wait", part]);
            assert!(found.to_string().contains(id.as_str()), "{part}: {found}");
        }
    }
    let refused = world.run(["exec", "log", &first[..6], "--json"]).refuses(3, "ambiguous").error();
    for id in [&first, &second] {
        assert!(refused["message"].as_str().unwrap().contains(id.as_str()), "{refused}");
    }
    world.run(["exec", "log", "ffff0000", "--json"]).refuses(3, "not_found");
}

/// A text for a shell is no program: the job is not started, and the hint has the command that starts it.
#[test]
fn text_for_a_shell_is_told_to_need_one() {
    let world = TestProject::new();
    let run = world.run(["exec", "spawn", "--", "true && false"]).exits(2);
    assert_eq!(
        run.stderr,
        "error: 'true && false' is not a program\nhint: let a shell run it: fairway exec spawn -- sh -c 'true && false'\n"
    );
    assert_eq!(world.json(["exec", "list"]), serde_json::json!([]));
}
