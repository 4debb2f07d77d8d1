//! An agent's own commands of Fairway need no person.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use fairway::cli;
use fairway_core::guard::OWN_VERBS;
use serde_json::json;

use super::via_server::Server;
use super::{VENDORS, command, denied, event, silent};
use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// A world in whose `PATH` the name `fairway` leads to the binary.
fn installed() -> TestProject {
    let mut world = TestProject::new();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(FAIRWAY, bin.join("fairway")).unwrap();
    set_path(&mut world, &bin);
    world
}

fn set_path(world: &mut TestProject, dirs: impl AsRef<Path>) {
    world.set("PATH", format!("{}:/usr/bin:/bin", dirs.as_ref().display()));
}

fn configure(world: &TestProject, text: &str) {
    fs::write(world.root().join(".fairway.toml"), text).unwrap();
    world.run(["trust"]).exits(0);
}

fn ask(world: &TestProject, text: &str) -> CommandOutput {
    world.hook("claude", &command("claude", "a", text))
}

#[track_caller]
fn allowed(run: &CommandOutput) {
    assert_eq!(run.json()["hookSpecificOutput"]["permissionDecision"], "allow", "{run:#?}");
}

#[test]
fn own_verbs_are_allowed_in_each_providers_form_and_nothing_else_is() {
    let world = installed();
    for rules in ["", "[guard]\ndefault = \"allow\"\n"] {
        configure(&world, rules);
        for (vendor, _) in VENDORS {
            let run = world.hook(vendor, &command(vendor, vendor, "fairway claim && fairway note 'on it'"));
            match vendor {
                "claude" => allowed(&run),
                "gemini" => assert_eq!(run.json(), json!({ "decision": "allow" })),
                _ => {
                    silent(&run);
                    let mut payload = command(vendor, vendor, "fairway claim");
                    payload["hook_event_name"] = "PermissionRequest".into();
                    let decision = world.hook(vendor, &payload).json()["hookSpecificOutput"]["decision"].clone();
                    assert_eq!(decision, json!({ "behavior": "allow" }));
                }
            }
            for text in ["fairway trust", "fairway prime; ls", "fairway note \"$(ls)\"", "fairway claim --session x"] {
                silent(&world.hook(vendor, &command(vendor, vendor, text)));
            }
        }
    }
    // No permission question was left for a person.
    assert_eq!(world.json(["approvals", "list", "--all"]), json!([]));
}

#[test]
fn program_of_the_same_name_is_not_allowed() {
    let mut world = installed();
    allowed(&ask(&world, "fairway prime"));
    let shims = world.root().join("shims");
    fs::create_dir(&shims).unwrap();
    fs::write(shims.join("fairway"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(shims.join("fairway"), fs::Permissions::from_mode(0o755)).unwrap();
    let bin = world.dir().join("bin");
    silent(&ask(&world, &format!("{}/fairway prime", shims.display())));
    silent(&ask(&world, &format!("{}/fairway prime", bin.display())));
    allowed(&ask(&world, &format!("{FAIRWAY} prime")));
    let both = format!("{}:{}", shims.display(), bin.display());
    set_path(&mut world, &both);
    silent(&ask(&world, "fairway prime"));
    // A directory that depends on where the command is run.
    for relative in ["shims", ".", ""] {
        let both = format!("{relative}:{}", bin.display());
        set_path(&mut world, &both);
        silent(&ask(&world, "fairway prime"));
    }
    set_path(&mut world, "/nowhere");
    silent(&ask(&world, "fairway prime"));
}

#[test]
fn own_verb_is_allowed_only_to_a_shell_tool_with_a_command_alone() {
    let world = installed();
    let tool = |name: &str, input: serde_json::Value| {
        world.hook("claude", &event("PreToolUse", "a", json!({ "tool_name": name, "tool_input": input })))
    };
    allowed(&tool("Bash", json!({ "command": "fairway prime", "description": "look", "timeout": 1000 })));
    for (name, input) in [
        ("Bash", json!({ "command": "fairway prime", "dangerouslyDisableSandbox": true })),
        ("Bash", json!({ "command": "fairway prime", "env": { "PATH": "/x" } })),
        ("Bash", json!({ "command": "fairway prime", "cmd": "rm x" })),
        ("Bash", json!({ "command": ["fairway", "prime"] })),
        ("Bash", json!({ "script": "fairway prime" })),
        ("mcp__x__Bash", json!({ "command": "fairway prime" })),
        ("write_stdin", json!({ "command": "fairway prime" })),
        ("Write", json!({ "command": "fairway prime" })),
    ] {
        silent(&tool(name, input));
    }
}

#[test]
fn deny_rules_allow_lists_and_unknown_rules_win() {
    let world = installed();
    let claim = "[[guard.rules]]\nname = \"no-claims\"\ntools = [\"Bash\"]\ncommand = [\"fairway\", \"claim\"]\naction = \"deny\"\n";
    configure(&world, &format!("[guard]\ndefault = \"deny\"\n{claim}"));
    allowed(&ask(&world, "fairway prime"));
    assert!(denied("claude", &ask(&world, "fairway claim")).contains("no-claims"));
    assert!(denied("claude", &ask(&world, "ls")).contains("no rule allows it"));
    configure(&world, "[guard]\n[guard.roles.person]\nallow = [\"Read\"]\n");
    assert!(denied("claude", &ask(&world, "fairway prime")).contains("may use only Read"));
    fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    denied("claude", &ask(&world, "fairway prime"));
    fs::write(world.root().join(".fairway.toml"), "[guard").unwrap();
    denied("claude", &ask(&world, "fairway prime"));
}

#[test]
fn server_allows_own_verbs_of_the_hooks_program() {
    let world = installed();
    world.real_time();
    configure(&world, "[guard]\ndefault = \"deny\"\n");
    world.hook("claude", &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
    let _server = Server::of(&world);
    let broken = world.dir().join("broken.db");
    fs::write(&broken, "no store").unwrap();
    let ask = |text: &str, path: Option<&str>| -> CommandOutput {
        let mut hook = world.fairway(["hook", "claude", "PreToolUse"]);
        hook.env("FAIRWAY_DB", &broken);
        if let Some(path) = path {
            hook.env("PATH", path);
        }
        super::started(hook, command("claude", "a", text).to_string().as_bytes()).wait_with_output().unwrap().into()
    };
    allowed(&ask("fairway prime", None));
    assert!(denied("claude", &ask("fairway trust", None)).contains("no rule allows it"));
    assert!(denied("claude", &ask("fairway prime", Some("/nowhere"))).contains("no rule allows it"));
}

/// The list names verbs and flags that exist.
#[test]
fn own_verbs_and_their_flags_exist() {
    for verb in OWN_VERBS {
        let mut command = cli::command();
        for name in verb.path {
            let found = command.find_subcommand(name).cloned();
            command = found.unwrap_or_else(|| panic!("there is no command {:?}", verb.path));
        }
        for (flags, takes_value) in [(verb.switches, false), (verb.options, true)] {
            for flag in flags {
                let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag.trim_start_matches('-')));
                let arg = arg.unwrap_or_else(|| panic!("{:?} has no {flag}", verb.path));
                assert_eq!(arg.get_action().takes_values(), takes_value, "{flag}");
            }
        }
    }
}
