//! `doctor hooks`: what a hook does is judged as its vendor would judge it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

const DENIES: &str = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"fairway-canary"}}'"#;

fn script(path: &PathBuf, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn file_of(world: &TestProject, provider: &str) -> PathBuf {
    let folder = world.root().join(format!(".{provider}"));
    folder.join(if provider == "codex" { "hooks.json" } else { "settings.json" })
}

/// Hooks of a provider whose program does this instead.
fn installed(world: &TestProject, provider: &str, body: &str) {
    let program = world.dir().join("it's here/fairway");
    script(&program, body);
    // A person installs hooks, also where the world's commands are those of a session.
    let mut install = world.fairway(["hook", "install", provider]);
    CommandOutput::from(install.env_remove("FAIRWAY_SESSION_ID").output().unwrap()).exits(0);
    let path = file_of(world, provider);
    let text = fs::read_to_string(&path).unwrap();
    let named = if provider == "claude" {
        program.display().to_string()
    } else {
        format!("'{}'", program.display().to_string().replace('\'', "'\\\\''"))
    };
    fs::write(&path, text.replace(FAIRWAY, &named)).unwrap();
}

/// The codes and sentences that matter, and whether all is well.
fn found(world: &TestProject, provider: &str) -> (Vec<(String, String)>, bool) {
    let run = world.run(["doctor", "hooks", provider, "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {run:?}"));
    assert_eq!(run.code, Some(i32::from(document["ok"] == false)), "{run:?}");
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let findings = document["findings"].as_array().unwrap();
    let told = findings.iter().map(|one| (text(one, "code"), text(one, "message"))).collect();
    (told, document["ok"] == true)
}

#[track_caller]
fn judged(world: &TestProject, provider: &str, code: &str, words: &str) {
    let (findings, is_well) = found(world, provider);
    let one = findings.iter().find(|(known, _)| known == code).unwrap_or_else(|| panic!("{code}: {findings:?}"));
    assert!(one.1.contains(words), "{one:?}");
    assert_eq!(is_well, code == "blocking", "{findings:?}");
    let says_that_it_blocks = findings.iter().any(|(known, _)| known == "blocking");
    assert!(!says_that_it_blocks || ["blocking", "outdated"].contains(&code), "{findings:?}");
}

#[test]
fn real_denial_is_distinguished_from_a_lookalike() {
    let mut world = TestProject::new();
    // Nobody is asked whether it trusts anything.
    world.set("PATH", "/usr/bin:/bin");
    let block = r#"echo '{"decision":"block","reason":"fairway-canary"}'"#;
    for (provider, body, code, words) in [
        ("claude", DENIES, "blocking", "claude would have blocked it"),
        ("codex", DENIES, "blocking", "codex would have blocked it"),
        ("gemini", DENIES, "not_blocking", "the reply is not a denial"),
        ("gemini", block, "blocking", "gemini would have blocked it"),
        ("claude", "exit 0", "not_blocking", "no output"),
        ("codex", &format!("echo starting; {DENIES}"), "not_blocking", "not exactly one JSON object"),
        ("claude", &format!("echo starting; {DENIES}"), "not_blocking", "stdout has text before"),
        ("codex", "exit 2", "not_blocking", "without text on stderr"),
        ("codex", "echo fairway-canary >&2; exit 2", "blocking", "codex"),
        ("gemini", "exit 7", "not_blocking", "exit code 7"),
        // The vendor blocks what fails, because the entry says so: but then it blocks everything.
        (
            "claude",
            "echo boom sk-canary0123456789abcdef >&2; exit 7",
            "not_blocking",
            "fails, which blocks every tool call (output: boom •••)",
        ),
    ] {
        installed(&world, provider, body);
        judged(&world, provider, code, words);
        world.run(["hook", "uninstall", provider]).exits(0);
    }
}

#[test]
fn hook_gets_what_its_vendor_would_give_it() {
    let mut world = TestProject::new();
    world.set("SHELL", "/bin/sh").set("FAIRWAY_SESSION_ID", "s1");
    let seen = world.dir().join("seen");
    let body = format!("{{ echo \"$@\"; pwd; env; cat; }} >'{}'; {DENIES}", seen.display());
    for (provider, arguments, event, variable) in [
        ("claude", "hook claude PreToolUse", "PreToolUse", "CLAUDE_PROJECT_DIR="),
        ("gemini", "hook gemini BeforeTool", "BeforeTool", "GEMINI_SESSION_ID=fairway-canary"),
    ] {
        installed(&world, provider, &body);
        found(&world, provider);
        let told = fs::read_to_string(&seen).unwrap();
        let mut lines = told.lines();
        assert_eq!(lines.next(), Some(arguments));
        assert_eq!(lines.next(), Some(&*world.root().display().to_string()));
        assert!(told.contains(variable) && !told.contains("FAIRWAY_SESSION_ID"), "{told}");
        let payload: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
        assert_eq!((&payload["hook_event_name"], &payload["tool_name"]), (&event.into(), &"fairway-canary".into()));
    }
}

#[test]
fn unrunnable_hooks_are_found() {
    let mut world = TestProject::new();
    world.set("PATH", "/usr/bin:/bin");
    world.run(["doctor", "hooks"]).exits(0);
    judged(&world, "claude", "not_installed", "no Fairway hooks");
    installed(&world, "claude", DENIES);
    let path = file_of(&world, "claude");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("// mine\n{good}")).unwrap();
    judged(&world, "claude", "not_loaded", "comments");
    fs::write(&path, good.replace("\"PreToolUse\": [", "\"Other\": [")).unwrap();
    judged(&world, "claude", "not_blocking", "no hook");
    fs::write(&path, good.replace("\"timeout\": 10", "\"timeout\": 9")).unwrap();
    judged(&world, "claude", "outdated", "differ from those of this version");
    fs::write(&path, "{").unwrap();
    judged(&world, "claude", "not_loaded", "is not valid JSON");
    fs::write(&path, good).unwrap();
    judged(&world, "claude", "blocking", "");
    fs::remove_file(world.dir().join("it's here/fairway")).unwrap();
    judged(&world, "claude", "stale_path", "does not exist");
}

#[test]
fn another_settings_file_that_turns_hooks_off_is_named() {
    let world = TestProject::new();
    installed(&world, "claude", DENIES);
    judged(&world, "claude", "blocking", "");
    let user = world.dir().join("home/.claude/settings.json");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "{\"disableAllHooks\": true}").unwrap();
    judged(&world, "claude", "not_blocking", "home/.claude/settings.json sets disableAllHooks");
    let local = world.root().join(".claude/settings.local.json");
    fs::write(&local, "{\"disableAllHooks\": false}").unwrap();
    judged(&world, "claude", "blocking", "");
    fs::remove_file(&user).unwrap();
    fs::write(&local, "{\"disableAllHooks\": true}").unwrap();
    judged(&world, "claude", "not_blocking", "settings.local.json sets disableAllHooks");

    installed(&world, "gemini", r#"echo '{"decision":"block","reason":"fairway-canary"}'"#);
    let user = world.dir().join("home/.gemini/settings.json");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    for (settings, code, words) in [
        (r#"{"hooksConfig": {"disabled": ["other"]}}"#, "blocking", ""),
        (
            r#"{"hooksConfig": {"enabled": false}} // mine"#,
            "not_blocking",
            "home/.gemini/settings.json sets hooksConfig.enabled",
        ),
        (r#"{"hooksConfig": {"disabled": ["fairway"]}}"#, "not_blocking", "sets 'fairway' in hooksConfig.disabled"),
    ] {
        fs::write(&user, settings).unwrap();
        judged(&world, "gemini", code, words);
    }
    // Of the switch the project's file decides; the lists of both are one.
    let project = file_of(&world, "gemini");
    let text = fs::read_to_string(&project).unwrap();
    fs::write(&project, text.replacen('{', "{\"hooksConfig\": {\"enabled\": true},", 1)).unwrap();
    judged(&world, "gemini", "not_blocking", "home/.gemini/settings.json sets 'fairway'");
    fs::write(&user, r#"{"hooksConfig": {"enabled": false}}"#).unwrap();
    judged(&world, "gemini", "blocking", "");
}

#[test]
fn hooks_that_the_vendor_skips_in_silence_are_found() {
    let mut world = TestProject::new();
    let bin = world.dir().join("bin");
    world.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    // It was started before: without its home it trusts nothing, and is not asked.
    fs::create_dir(world.dir().join("home/.codex")).unwrap();
    installed(&world, "codex", DENIES);
    let path = file_of(&world, "codex");
    let hooks: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let answer = |trust: &str, most: usize| {
        let events = hooks["hooks"].as_object().unwrap().values();
        let one = |event: &Value| {
            let command = event[0]["hooks"][0]["command"].clone();
            serde_json::json!({ "sourcePath": path, "command": command, "enabled": true, "trustStatus": trust })
        };
        let listed: Vec<Value> = events.map(one).take(most).collect();
        let answer =
            serde_json::json!({ "id": 2, "result": { "data": [{ "hooks": listed, "warnings": [], "errors": [] }] } });
        let file = world.dir().join("answer.json");
        fs::write(&file, format!("{answer}\n")).unwrap();
        // It answers as long as its stdin is open.
        script(
            &bin.join("codex"),
            &format!(
                "read -r a; echo '{{\"id\":1}}'; read -r b; read -r c; echo '{{\"method\":\"x\"}}'; cat '{}'; cat >/dev/null",
                file.display()
            ),
        );
    };
    answer("trusted", 99);
    judged(&world, "codex", "blocking", "codex");
    answer("untrusted", 99);
    judged(&world, "codex", "untrusted", "skips the hooks");
    answer("modified", 99);
    judged(&world, "codex", "untrusted", "modified");
    answer("trusted", 3);
    judged(&world, "codex", "not_loaded", "the project is not trusted");
    script(&bin.join("codex"), "exit 1");
    let (findings, is_well) = found(&world, "codex");
    assert!(is_well && findings.iter().any(|(code, _)| code == "trust_unknown"), "{findings:?}");
}

/// Our own hooks hold, whatever the project's rules say, and the canary leaves nothing behind.
#[test]
fn hooks_that_are_installed_deny_what_must_be_denied() {
    let mut world = TestProject::new();
    world.set("PATH", "/usr/bin:/bin");
    let before = world.all_rows();
    for provider in ["claude", "codex", "gemini"] {
        world.run(["hook", "install", provider]).exits(0);
        world.run(["hook", "install", provider, "--user"]).exits(0);
        let (findings, is_well) = found(&world, provider);
        let holds = findings.iter().filter(|(code, _)| code == "blocking").count();
        assert!(is_well && holds == 2, "{findings:?}");
    }
    world.run(["doctor", "hooks"]).exits(0);
    assert_eq!(world.all_rows(), before);
    let (findings, _) = found_outside(&world, "claude");
    assert!(findings.iter().any(|(code, _)| code == "blocking"), "{findings:?}");
}

/// The findings in a directory that is in no project.
fn found_outside(world: &TestProject, provider: &str) -> (Vec<(String, String)>, bool) {
    let mut command = world.fairway(["doctor", "hooks", provider, "--json"]);
    let run: CommandOutput = command.current_dir(world.dir()).output().unwrap().into();
    let document = run.exits(0).json();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    let findings = document["findings"].as_array().unwrap();
    (findings.iter().map(|one| (text(one, "code"), text(one, "message"))).collect(), document["ok"] == true)
}
