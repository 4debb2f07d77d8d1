//! Rules that nobody trusted, and rules that are gone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{GUARD, check, check_text, world_with};
use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// The trust record of the world's project.
fn record(world: &TestProject) -> PathBuf {
    let dir = world.dir().join("home/.local/state/fairway/trust");
    fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).find(|path| path.is_file()).unwrap()
}

#[track_caller]
fn config(world: &TestProject) -> (PathBuf, String) {
    let path = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

#[test]
fn rules_that_nobody_trusted_deny_every_call() {
    let world = world_with(GUARD);
    fs::remove_file(record(&world)).unwrap();
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    let reason = denied.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("was never trusted") && !reason.contains("fairway trust"), "{reason}");
}

#[test]
fn last_trusted_rules_stay_in_force_when_the_file_changes() {
    let world = world_with(GUARD);
    let (path, text) = config(&world);
    let local = world.root().join(".fairway/local.toml");
    let changes = [
        format!("{text}\n# changed\n"),
        text.replace("\"deny\"", "\"allow\""),
        text.split("\n[guard]").next().unwrap().to_owned(),
        String::new(),
        format!("{text}[guard"),
        format!("{text}\n[gaurd]\nx = 1\n"),
        text.replace("default = \"allow\"", "default = \"maybe\""),
        "\u{0}".to_owned(),
    ];
    for changed in &changes {
        fs::write(&path, changed).unwrap();
        check_text(&world, "ls").exits(0);
        check_text(&world, "git push -f").refuses(5, "guard_denied");
    }
    fs::write(&path, &text).unwrap();
    fs::write(&local, "[guard]\nrules = []\n").unwrap();
    check_text(&world, "git push -f").refuses(5, "guard_denied");
    check_text(&world, "ls").exits(0);
    fs::remove_file(&local).unwrap();
    check_text(&world, "ls").exits(0);
    // Once a person has trusted the new text, it counts.
    fs::write(&path, text.split("\n[guard]").next().unwrap()).unwrap();
    world.run(["trust"]).exits(0);
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("[guard]"), "{denied:?}");
}

#[test]
fn deny_rules_of_an_untrusted_text_count_besides() {
    let world = world_with(GUARD);
    let (path, text) = config(&world);
    let more = "\n[guard.roles.worker]\ndeny = [\"WebFetch\"]\n\n[[guard.rules]]\nname = \"no-rm\"\ncommand = [\"rm\"]\naction = \"deny\"\n\n\
                [[guard.rules]]\nname = \"push\"\ncommand = [\"git\"]\naction = \"allow\"\n";
    fs::write(&path, format!("{text}{more}")).unwrap();
    let denied = check_text(&world, "rm x").refuses(5, "guard_denied");
    assert_eq!(denied.json()["rule"], "no-rm");
    check(&world, "WebFetch", &json!({})).refuses(5, "guard_denied");
    check_text(&world, "git push -f").refuses(5, "guard_denied");
    // A rule that the new text allows does not.
    let allowed = check_text(&world, "git status").exits(0);
    assert_eq!(allowed.json()["rule"], json!(null));
}

#[test]
fn removed_files_and_unreadable_records_deny() {
    let world = world_with(GUARD);
    let local = world.root().join(".fairway/local.toml");
    fs::write(&local, "[claims]\nlease = \"1h\"\n").unwrap();
    world.run(["trust"]).exits(0);
    check_text(&world, "ls").exits(0);
    fs::remove_file(&local).unwrap();
    let denied = check_text(&world, "ls").refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("local.toml has changed"), "{denied:?}");
    world.run(["trust"]).exits(0);
    check_text(&world, "ls").exits(0);
    let record = record(&world);
    let kept = fs::read(&record).unwrap();
    fs::write(&record, "{").unwrap();
    check_text(&world, "ls").refuses(5, "guard_denied");
    fs::write(&record, &kept).unwrap();
    fs::set_permissions(&record, fs::Permissions::from_mode(0o666)).unwrap();
    check_text(&world, "ls").refuses(5, "guard_denied");
    fs::set_permissions(&record, fs::Permissions::from_mode(0o600)).unwrap();
    check_text(&world, "ls").exits(0);
}

/// A record of an earlier version has digests and no texts.
#[test]
fn record_without_texts_trusts_only_the_same_text() {
    let world = world_with(GUARD);
    let record = record(&world);
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    document.as_object_mut().unwrap().remove("texts").unwrap();
    fs::write(&record, document.to_string()).unwrap();
    check_text(&world, "ls").exits(0);
    let (path, text) = config(&world);
    fs::write(&path, format!("{text}# changed\n")).unwrap();
    check_text(&world, "ls").refuses(5, "guard_denied");
    fs::write(&path, &text).unwrap();
    // Trusting it again keeps its text.
    world.run(["trust"]).exits(0);
    fs::write(&path, format!("{text}# changed\n")).unwrap();
    check_text(&world, "ls").exits(0);
}

#[test]
fn commands_run_by_the_last_trusted_text_and_say_so() {
    let world = world_with(&format!("[claims]\nlease = \"1h\"\n{GUARD}"));
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let (path, text) = config(&world);
    fs::write(&path, format!("[gates.done]\nrequire = []\n{}", text.replace("lease", "leese"))).unwrap();
    let claimed = world.run(["claim", "T-1", "--json", "--as", "backend"]).exits(0);
    assert_ne!(claimed.json()["task"]["claim"]["lease_until"], json!(null), "{claimed:?}");
    assert_eq!(claimed.stderr.matches("the last trusted text is in force").count(), 1, "{claimed:?}");
    assert!(claimed.stderr.contains("leese") && claimed.stderr.contains("fairway config edit"), "{claimed:?}");
    // Gates too, also when the text could be used.
    fs::write(&path, format!("[gates.done]\nrequire = []\n{text}")).unwrap();
    let refused = world.run(["done", "T-1", "--json"]).refuses(5, "gate_blocked");
    assert!(
        refused.stderr.contains("has changed since it was trusted; the last trusted text is in force"),
        "{refused:?}"
    );
    let mut inside = world.fairway(["ready"]);
    let said = CommandOutput::from(inside.env("FAIRWAY_SESSION_ID", "s1").output().unwrap()).stderr;
    assert!(said.contains("in force") && !said.contains("fairway trust"), "{said}");
    assert_eq!(world.run(["ready", "--quiet"]).exits(0).stderr, "");
    // A command that runs programs is refused, as before.
    world.run(["session", "launch", "--json", "--role", "r", "--", "true"]).refuses(9, "untrusted");
    let checked = world.json(["config", "check"]);
    assert_eq!((&checked["valid"], &checked["trust"]), (&json!(true), &json!("untrusted")));
    world.run(["trust"]).exits(0);
    assert_eq!(world.json(["config", "check"])["trust"], "trusted");
    assert_eq!(world.run(["done", "T-1"]).exits(0).stderr, "");
}

#[test]
fn call_without_rules_is_denied() {
    let world = TestProject::new();
    world.add_session("s1");
    let denied = check(&world, "Read", &json!({})).refuses(5, "guard_denied");
    assert!(denied.json()["reason"].as_str().unwrap().contains("no [guard] section"), "{denied:?}");
}

#[test]
fn trust_prompt_shows_the_rules() {
    let world = world_with(GUARD);
    let shown = world.run(["trust", "--show"]).exits(0).stdout;
    for part in ["guard.rules.no-force-push", "command [git, push]", "guard.roles.witness", "outside the worktree"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// What a provider's hook answers to a tool call; the second value is whether it denies it.
fn hook(world: &TestProject, provider: &str, event: &str, command: &str) -> (String, bool) {
    let payload = json!({
        "hook_event_name": event, "session_id": "x", "cwd": world.root(), "tool_name": "Bash", "tool_input": {"command": command},
    });
    let run = world.run_with_stdin(["hook", provider, event], payload.to_string().as_bytes());
    let text = format!("{}{}", run.stdout, run.stderr);
    (text.clone(), run.code == Some(2) || text.contains("\"deny\"") || text.contains("\"block\""))
}

/// `git clean -fd`, `git stash -u` and `mv` take the file away. A person who follows the hint has the same rules again.
#[test]
fn guard_outlives_the_loss_of_its_file() {
    let takers: [fn(&TestProject); 3] = [
        |world| drop(world.git(&world.root(), &["clean", "--quiet", "-fd"])),
        |world| drop(world.git(&world.root(), &["stash", "--quiet", "--include-untracked"])),
        |world| fs::rename(world.root().join(".fairway.toml"), world.root().join("old.toml")).unwrap(),
    ];
    for take in takers {
        let world = world_with(GUARD);
        let root = world.root();
        world.git(&root, &["init", "--quiet"]);
        world.git(&root, &["commit", "--quiet", "--allow-empty", "--message=begin"]);
        let (path, text) = config(&world);
        take(&world);
        assert!(!path.exists());
        for (provider, event) in [("claude", "PreToolUse"), ("codex", "PreToolUse"), ("gemini", "BeforeTool")] {
            let (said, denies) = hook(&world, provider, event, "git push -f");
            assert!(denies && said.contains(".fairway.toml is missing"), "{provider}: {said}");
        }
        // Every command says what the hook says.
        let hint = format!(
            "write its trusted text again, as a person: fairway --root {0} init\n\
             or set the project up anew, as after an undo: fairway --root {0} setup",
            root.display()
        );
        for words in [&["task", "list"][..], &["status"], &["doctor"], &["doctor", "hooks"], &["trust"]] {
            let error = world.run(words.iter().copied().chain(["--json"])).refuses(3, "no_project").error();
            assert_eq!(error["hint"], hint, "{words:?}");
        }
        let run = world.run(["--root", root.to_str().unwrap(), "init"]).exits(0);
        assert!(run.stderr.contains(".fairway.toml has the text again that you trusted last"), "{run:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(hook(&world, "claude", "PreToolUse", "git push -f").1);
        check_text(&world, "ls").exits(0);
    }
}

/// A session has no way to a configuration of its own where a project was.
#[test]
fn init_inside_a_session_does_not_replace_a_project() {
    let world = world_with(GUARD);
    let (path, _) = config(&world);
    let root = world.root();
    fs::rename(&path, root.join("old.toml")).unwrap();
    let init = |root: &Path, more: &[&str], vars: &[(&str, &str)]| -> CommandOutput {
        let mut command = world.fairway(["--root", root.to_str().unwrap(), "init", "--json"]);
        command.args(more).env("FAIRWAY_SESSION_ID", "s1").envs(vars.iter().copied());
        command.output().unwrap().into()
    };
    init(&root, &[], &[]).refuses(5, "inside_session");
    init(&root, &["--new"], &[]).refuses(5, "inside_session");
    // Another home knows nothing of the trust, and the project's directory is there all the same.
    let elsewhere = world.dir().join("other").display().to_string();
    init(&root, &[], &[("XDG_STATE_HOME", &elsewhere)]).refuses(5, "inside_session");
    init(&root, &[], &[("XDG_STATE_HOME", &elsewhere), ("FAIRWAY_DB", &elsewhere)]).refuses(5, "inside_session");
    // Without the directory the trust is known.
    fs::rename(root.join(".fairway"), root.join("old")).unwrap();
    init(&root, &[], &[]).refuses(5, "inside_session");
    // A child that hides its session is still below it.
    let hidden = format!("env -u FAIRWAY_SESSION_ID '{FAIRWAY}' --root '{}' init; exit $?", root.display());
    let mut shell = world.command("sh");
    shell.args(["-c", &hidden]).env("FAIRWAY_SESSION_ID", "s1");
    CommandOutput::from(shell.output().unwrap()).exits(5);
    assert!(!path.exists());
    // Without its store, and without a session in the environment, a hook still denies.
    assert!(hook(&world, "claude", "PreToolUse", "git push -f").1);
    // Where no project was, a session may make one.
    let fresh = world.dir().join("fresh");
    fs::create_dir(&fresh).unwrap();
    init(&fresh, &[], &[]).exits(0);
}

#[test]
fn loss_of_records_is_accepted_by_a_person_only() {
    let mut world = world_with(GUARD);
    world.set("FAIRWAY_SESSION_ID", "s1");
    world.run(["doctor", "--accept", "--json"]).refuses(5, "inside_session");
}
