//! `session launch --dry-run`: everything is checked, nothing is written or started.

use super::Sessions;

#[test]
fn dry_run_leaves_every_byte_as_it_was() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let before = world.everything();
    let document = world.json(["session", "launch", "--role", "backend", "--task-id", "T-1", "--dry-run"]);
    world.run(["session", "launch", "--role", "backend", "--dry-run", "--request-id", "x"]).exits(0);
    assert_eq!(world.everything(), before);
    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, ["dry_run", "session", "requested_id", "notes", "adapter", "command", "environment", "start"]);
    assert_eq!((&document["adapter"], &document["dry_run"]), (&"shell".into(), &true.into()));
    assert_eq!(document["session"]["status"], "starting");
    assert_eq!(document["environment"]["FAIRWAY_TASK_ID"], "T-1");
    assert_eq!(document["start"]["session_id"], document["session"]["id"]);
}

#[test]
fn dry_run_works_right_after_init_and_masks_secrets() {
    let world = Sessions::new();
    let run = world.run([
        "session",
        "launch",
        "--role",
        "backend",
        "--name",
        "s1",
        "--dry-run",
        "--env",
        "API_TOKEN=hunter22",
        "--",
        "sh",
        "-c",
        "curl -H 'Authorization: Bearer abcdefghijklmnop'",
    ]);
    let run = run.exits(0);
    assert!(!run.stdout.contains("hunter22") && !run.stdout.contains("abcdefghijklmnop"), "{run:?}");
    let shown: Vec<&str> =
        run.stdout.lines().filter(|line| !line.contains("FAIRWAY_") && !line.starts_with("backend")).collect();
    insta::assert_snapshot!(world.redacted(&shown.join("\n")), @r"
    dry run: nothing was written or started
    session     s1
    command     sh -c 'curl -H '\''Authorization: Bearer •••'\'''
    role        backend
    provider    shell
    worktree    [world]/project
    transcript  [world]/project/.fairway/transcripts/s1.log
    environment API_TOKEN=•••
    environment OTEL_RESOURCE_ATTRIBUTES=fairway.session=s1
    ");
}

#[test]
fn dry_run_finds_what_is_missing() {
    let world = Sessions::new();
    let dry = |args: &[&str]| world.run(["session", "launch", "--json", "--role", "r", "--dry-run"].iter().chain(args));
    let before = world.everything();
    let missing = |args: &[&str], noun: &str| {
        let error = dry(args).refuses(3, "not_found").error();
        assert_eq!(error["details"]["noun"], noun, "{error}");
    };
    missing(&["--task-id", "T-9"], "task");
    missing(&["--lane", "nowhere"], "lane");
    missing(&["--worktree", "nowhere"], "worktree");
    missing(&["--", "no-such-program"], "program");
    missing(&["--command", "no-such-program --x"], "program");
    missing(&["--provider", "no-such-provider"], "program");
    missing(&["--backend", "nowhere"], "backend");
    missing(&["--backend", "exec:/no/such/script"], "backend");
    dry(&["--transcript", "/etc/passwd/y"]).refuses(2, "invalid_value");
    dry(&["--command", " "]).refuses(2, "invalid_value");
    // Text that only the shell can read is taken, with a remark.
    let run = dry(&["--command", "A=1 no-such-program"]).exits(0);
    assert!(run.stderr.contains("not checked"), "{run:?}");
    world.run(["session", "launch", "--dry-run", "--json"]).refuses(2, "usage");
    assert_eq!(world.everything(), before);
}
