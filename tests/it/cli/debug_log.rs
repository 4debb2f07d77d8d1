//! The debug log: `--debug`, `FAIRWAY_LOG` and `FAIRWAY_LOG_FILE`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const TITLE: &str = "the-text-of-a-person";

#[test]
fn command_logs_its_parts_on_stderr_and_no_text_of_a_person() {
    let mut world = TestProject::new();
    let plain = world.run(["task", "add", "T-1", TITLE]).exits(0);
    assert_eq!(plain.stderr, "");
    let run = world.run(["task", "add", "T-2", TITLE, "--debug"]).exits(0);
    assert_eq!(run.stdout, plain.stdout.replace("T-1", "T-2"));
    let writes =
        |text: &str| text.contains("DEBUG command{path=\"task add\"}:write{actor=") && text.contains("time.busy=");
    assert!(writes(&run.stderr) && !run.stderr.contains(TITLE) && !run.stderr.contains("sql="), "{run:?}");
    let run = world.set("FAIRWAY_LOG", "trace").run(["task", "add", "T-3", TITLE]).exits(0);
    assert!(writes(&run.stderr) && run.stderr.contains("INSERT INTO tasks") && !run.stderr.contains(TITLE), "{run:?}");
}

#[test]
fn program_that_is_run_is_logged_with_its_exit_and_without_its_arguments() {
    let world = TestProject::with_git();
    let run = world.run(["lane", "add", "cart", "--create-worktree", "--debug"]).exits(0);
    let is_git = |line: &&str| line.contains(":program{program=") && line.contains("/git pid=");
    let lines: Vec<&str> = run.stderr.lines().filter(is_git).collect();
    assert!(lines.iter().any(|line| line.contains("exit=Code(0)}: fairway_core::os::capture: close")), "{run:?}");
    assert!(!run.stderr.contains("worktree add") && !run.stderr.contains("lane/cart"), "{run:?}");
}

#[test]
fn unknown_amount_is_told_and_changes_nothing_else() {
    let mut world = TestProject::new();
    let run = world.set("FAIRWAY_LOG", "loud").run(["task", "add", "T-1", TITLE]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), "warning: FAIRWAY_LOG is 'loud', and not 'debug' or 'trace'\n")
    );
}

#[test]
fn hook_logs_to_a_file_and_never_on_stderr() {
    let mut world = TestProject::new();
    let log = world.dir().join("fairway.log");
    let payload = json!({
        "session_id": "c-1", "cwd": world.root(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "true" }, "transcript_path": "/nonexistent", "permission_mode": "default",
    });
    let hook = |world: &TestProject| {
        world.run_with_stdin(["hook", "claude", "PreToolUse"], payload.to_string().as_bytes()).exits(0)
    };
    let plain = hook(&world);
    let is_as_plain = |run: &CommandOutput| assert_eq!((&run.stdout, run.stderr.as_str()), (&plain.stdout, ""));
    is_as_plain(&hook(world.set("FAIRWAY_LOG", "debug")));
    is_as_plain(&hook(world.set("FAIRWAY_LOG_FILE", &log)));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("hook{provider=\"claude\" event=\"PreToolUse\"}"), "{text}");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    // A log that cannot be written changes no decision.
    is_as_plain(&hook(world.set("FAIRWAY_LOG_FILE", "/proc/none/log")));
}
