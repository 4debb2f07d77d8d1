//! `guard check`, `guard test` and `guard log`.

use serde_json::json;

use super::{GUARD, check, check_text, world_with};

#[test]
fn call_is_decided_and_recorded_with_its_rule() {
    let world = world_with(GUARD);
    let denied = check_text(&world, "API_TOKEN=abc123secret git push -f").refuses(5, "guard_denied");
    assert_eq!(denied.json()["allowed"], false);
    assert_eq!(denied.json()["rule"], "no-force-push");
    assert_eq!(denied.json()["reason"], "force push is for people");
    let allowed = check_text(&world, "git push origin main").exits(0);
    assert_eq!(allowed.json()["allowed"], true);
    let log = world.json(["guard", "log"]);
    assert_eq!(log.as_array().unwrap().len(), 2);
    assert_eq!(
        (&log[0]["allowed"], &log[0]["rule"], &log[0]["door"]),
        (&json!(false), &json!("no-force-push"), &json!("cli"))
    );
    assert_eq!((&log[1]["allowed"], &log[1]["session_id"]), (&json!(true), &json!("s1")));
    assert!(!log.to_string().contains("abc123secret"), "{log}");
    assert_eq!(world.json(["guard", "log", "--denied"]).as_array().unwrap().len(), 1);
    assert_eq!(world.json(["guard", "log", "--of-session", "s2"]).as_array().unwrap().len(), 0);
    let events = world.run(["events", "--json"]).exits(0).stdout;
    assert_eq!(events.lines().filter(|line| line.contains("guard.denied")).count(), 1, "{events}");
}

#[test]
fn whole_call_is_read_from_stdin_by_its_run() {
    let world = world_with(GUARD);
    let ask = |document: &str| world.run_with_stdin(["guard", "check", "--json"], document.as_bytes());
    let call = json!({"run_id": "run-s1", "tool": "Bash", "input": {"command": "ls"}});
    assert_eq!(ask(&call.to_string()).exits(0).json()["allowed"], true);
    let call = json!({"run_id": "run-s1", "tool": "run_shell_command", "input": {"command": "git push -f"}});
    ask(&call.to_string()).refuses(5, "guard_denied");
    let call = json!({"run_id": "run-s1", "tool": "x", "input": {"cmd": ["git", "push", "-f"]}, "context": {"also": ["Bash"]}});
    ask(&call.to_string()).refuses(5, "guard_denied");
    let call = json!({"run_id": "run-s1", "tool": "Bash", "input": {"command": "ls"}, "context": {"role": "witness"}});
    assert!(ask(&call.to_string()).refuses(5, "guard_denied").json()["reason"].as_str().unwrap().contains("witness"));
    let call = json!({"run_id": "nobody", "tool": "Bash", "input": {"command": "ls"}});
    assert_eq!(ask(&call.to_string()).refuses(5, "guard_denied").json()["allowed"], false);
    // A call of nobody.
    let call = json!({"tool": "Bash", "input": {"command": "ls"}});
    ask(&call.to_string()).refuses(5, "guard_denied");
}

#[test]
fn test_explains_and_records_nothing() {
    let world = world_with(GUARD);
    let before = world.all_rows();
    let explained = world.json(["guard", "test", "--role", "backend", "--input", "ls && sudo git push -fu origin"]);
    assert_eq!(explained["allowed"], false);
    assert_eq!(explained["commands"], json!(["ls", "sudo git push -fu origin", "git push -fu origin"]));
    assert_eq!(explained["rules"][0]["rule"], "no-force-push");
    assert_eq!(explained["rules"][0]["matched"], true);
    let explained =
        world.json(["guard", "test", "--role", "backend", "--tool", "Write", "--input", r#"{"file_path": "/etc/x"}"#]);
    assert_eq!(explained["rule"], "stay-in-lane");
    let explained = world.json(["guard", "test", "--role", "backend", "--input", "git push $X"]);
    assert_eq!(explained["allowed"], false);
    world.run(["guard", "test", "--input", "ls", "--json"]).refuses(2, "usage");
    assert_eq!(world.all_rows(), before);
}

#[test]
fn tool_names_in_rules_match_every_provider() {
    let world = world_with(GUARD);
    for tool in ["Bash", "bash", "exec_command", "run_shell_command", "shell"] {
        check(&world, tool, &json!({"command": "git push -f"})).refuses(5, "guard_denied");
    }
    check(&world, "Bash", &json!({})).refuses(5, "guard_denied");
    check(&world, "Bash", &json!({"command": 7})).refuses(5, "guard_denied");
    check(&world, "Bash", &json!({"command": ["bash", "-lc", "git push -f"]})).refuses(5, "guard_denied");
    check(&world, "Bash", &json!({"command": ["bash", "-lc", "git push"]})).exits(0);
    check(&world, "Bash", &json!({"command": "ls", "script": "git push -f"})).refuses(5, "guard_denied");
    check(&world, "Read", &json!({"file_path": "/etc/hosts"})).exits(0);
}
