//! `session launch` with the built-in profile of a command line: its arguments, and who wins.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};

use super::{Sessions, text};
use crate::common::test_project::CommandOutput;
use crate::hooks;

const SENTENCE: &str = "Run `fairway prime` and begin.";

/// A project whose PATH has programs of these names, which sleep.
fn with_programs(names: &[&str]) -> Sessions {
    let mut world = Sessions::with_git();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in names {
        world.script(&format!("bin/{name}"), "#!/bin/sh\nexec sleep 300\n");
    }
    let path = std::env::var_os("PATH").unwrap();
    let dirs = std::iter::once(bin).chain(std::env::split_paths(&path));
    world.set("PATH", std::env::join_paths(dirs).unwrap());
    world
}

fn configure(world: &Sessions, text: &str) {
    world.configure(text);
    world.run(["trust"]).exits(0);
}

/// The plan of a launch with these arguments.
fn planned(world: &Sessions, args: &[&str]) -> Value {
    let launch = ["session", "launch", "--dry-run", "--json", "--role", "r"];
    world.run(launch.iter().chain(args)).exits(0).json()
}

fn argv(plan: &Value) -> Vec<String> {
    plan["start"]["argv"].as_array().unwrap().iter().map(text).collect()
}

fn has_note(plan: &Value, part: &str) -> bool {
    plan["notes"].as_array().unwrap().iter().any(|note| text(note).contains(part))
}

#[test]
fn profile_arguments_stand_around_the_users_and_no_profile_leaves_the_words_alone() {
    let world = with_programs(&["claude"]);
    let plan = planned(&world, &["--prompt", "the secret", "--", "claude", "--tools", "A", "B"]);
    assert_eq!(plan["session"]["provider"], "claude");
    let words = argv(&plan);
    let settings = text(&plan["environment"]["FAIRWAY_LAUNCH_HOOKS"]);
    assert_eq!(words, ["claude", "--settings", &settings, "--tools", "A", "B", "--", SENTENCE]);
    assert!(text(&plan["command"]).ends_with(&format!("--tools A B -- '{SENTENCE}'")), "{plan}");
    assert!(!plan.to_string().contains("the secret"), "{plan}");
    // A dry run writes nothing.
    assert!(!std::path::Path::new(&settings).exists());

    let without = planned(&world, &["--", "claude", "--tools", "A"]);
    assert_eq!(argv(&without), ["claude", "--settings", &settings, "--tools", "A"]);
    let plain = planned(&world, &["--no-profile", "--prompt", "typed", "--", "claude", "--tools", "A"]);
    assert_eq!(argv(&plain), ["claude", "--tools", "A"]);
    assert_eq!(plain["start"]["nudge"], "typed");
    // Another program of the same provider is left alone.
    assert_eq!(argv(&planned(&world, &["--provider", "claude", "--", "sleep", "1"])), ["sleep", "1"]);
    // Text that only a shell can read keeps its form.
    let shell = planned(&world, &["--prompt", "typed", "--command", "cd . && claude"]);
    assert_eq!((&shell["start"]["argv"], &shell["start"]["nudge"]), (&Value::Null, &"typed".into()));
}

#[test]
fn own_option_of_the_user_wins_with_a_note() {
    let world = with_programs(&["claude", "codex"]);
    for own in [&["--settings", "x"][..], &["--settings=x"]] {
        let plan = planned(&world, &[&["--prompt", "not typed", "--", "claude"][..], own].concat());
        assert_eq!(argv(&plan)[1..], [own, &["--", SENTENCE]].concat());
        assert!(has_note(&plan, "has its own --settings") && has_note(&plan, "no guard"), "{plan}");
        assert_eq!(
            (&plan["start"]["nudge"], &plan["environment"]["FAIRWAY_LAUNCH_HOOKS"]),
            (&Value::Null, &Value::Null)
        );
    }
    let plan = planned(&world, &["--", "codex", "-c", "hooks.Stop=[]"]);
    assert!(has_note(&plan, "has its own hooks.Stop=[]"), "{plan}");
    assert!(!argv(&plan).iter().any(|word| word.starts_with("hooks.PreToolUse")));
    let plan = planned(&world, &["--", "codex", "-c", "model=x"]);
    assert!(argv(&plan).iter().any(|word| word.starts_with("hooks.PreToolUse")));
    assert_eq!(argv(&plan)[argv(&plan).len() - 2..], ["-c", "model=x"]);
}

#[test]
fn configured_way_of_the_prompt_and_configured_profile_keys_are_kept() {
    let world = with_programs(&["claude"]);
    configure(&world, "[providers.claude]\nprompt = \"argument\"\n");
    let words = argv(&planned(&world, &["--prompt", "as configured", "--", "claude"]));
    assert_eq!(words[words.len() - 1], "as configured");
    configure(&world, "[roles.r]\nprovider = \"claude\"\n[providers.claude]\nprompt = \"nudge\"\n");
    let plan = planned(&world, &["--prompt", "as configured"]);
    assert_eq!(plan["start"]["nudge"], "as configured");
    assert_eq!(argv(&plan)[..2], ["claude", "--settings"]);
    // A provider of one's own is started by its command, whatever its name.
    configure(&world, "[providers.mine]\ncommand = \"sleep 300\"\nresume_args = [\"x\"]\n");
    assert_eq!(planned(&world, &["--provider", "mine"])["start"]["command"], "sleep 300");
}

#[test]
fn sandbox_directories_are_the_stores_and_those_of_git_in_a_linked_worktree() {
    let world = with_programs(&["codex"]);
    world.run(["lane", "add", "l", "--create-worktree"]).exits(0);
    let roots = |args: &[&str]| {
        let words = argv(&planned(&world, args));
        let list = words.iter().find_map(|word| word.strip_prefix("sandbox_workspace_write.writable_roots="));
        serde_json::from_str::<Vec<String>>(list.unwrap()).unwrap()
    };
    let below = |path: &str| world.root().join(path).display().to_string();
    assert_eq!(roots(&["--", "codex"]), [below(".fairway")]);
    assert_eq!(roots(&["--lane", "l", "--", "codex"]), [below(".fairway"), below(".git"), below(".git/worktrees/l")]);
    // Those of the user's own configuration, which the argument would replace, are kept.
    fs::create_dir_all(world.dir().join("home/.codex")).unwrap();
    fs::write(world.dir().join("home/.codex/config.toml"), "[sandbox_workspace_write]\nwritable_roots = [\"/a\"]\n")
        .unwrap();
    assert_eq!(roots(&["--", "codex"]), ["/a".to_owned(), below(".fairway")]);
    let own = planned(&world, &["--", "codex", "-c", "sandbox_workspace_write.writable_roots=[]"]);
    assert!(has_note(&own, "may refuse to write the store"), "{own}");
}

/// Codex's permission profile keeps git's own files, and comes only where nobody has said what the sandbox allows.
#[test]
fn sandbox_of_a_lane_keeps_gits_own_files_unless_the_user_has_settings_of_the_sandbox() {
    let world = with_programs(&["codex"]);
    world.run(["lane", "add", "l", "--create-worktree"]).exits(0);
    let root = world.root().canonicalize().unwrap();
    let lane = root.join(".fairway/worktrees/l");
    let config = world.dir().join("home/.codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let profile = |settings: &str, args: &[&str]| {
        let trusted = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", root.display().to_string());
        fs::write(&config, settings.replace("TRUSTED", &trusted)).unwrap();
        let words = argv(&planned(&world, &[&["--lane", "l", "--", "codex"], args].concat()));
        assert!(words.iter().any(|word| word.starts_with("sandbox_workspace_write.writable_roots=")), "{words:?}");
        let found = words.iter().find(|word| word.starts_with("permissions.fairway=")).cloned();
        assert_eq!(words.contains(&"default_permissions=\"fairway\"".to_owned()), found.is_some(), "{words:?}");
        found
    };
    let own = "[sandbox_workspace_write]\nwritable_roots = [\"/a\"]\nTRUSTED";
    let read: toml::Table = profile(own, &[]).unwrap().parse().unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["permissions"]["fairway"]["extends"], ":workspace");
    let rules = read["permissions"]["fairway"]["filesystem"].as_object().unwrap();
    let below = |path: &str| world.root().join(path).display().to_string();
    let with = |access: &str| -> Vec<&String> {
        rules.iter().filter(|(_, found)| *found == access).map(|(path, _)| path).collect()
    };
    assert_eq!(with("write"), [&"/a".to_owned(), &below(".fairway"), &below(".git"), &below(".git/worktrees/l")]);
    let kept = ["config", "hooks", "worktrees/l/commondir", "worktrees/l/config.worktree", "worktrees/l/gitdir"];
    let kept = kept.map(|name| below(&format!(".git/{name}")));
    assert_eq!(with("read"), kept.iter().collect::<Vec<_>>());

    for settings in [
        "",
        "sandbox_mode = \"read-only\"\nTRUSTED",
        "default_permissions = \":read-only\"\nTRUSTED",
        "profile = \"mine\"\nTRUSTED",
        "[sandbox_workspace_write]\nnetwork_access = true\nTRUSTED",
        "TRUSTED[projects.\"LANE\"]\ntrust_level = \"untrusted\"\n",
    ] {
        let settings = settings.replace("LANE", lane.to_str().unwrap());
        assert_eq!(profile(&settings, &[]), None, "{settings}");
    }
    for args in [&["--sandbox", "read-only"][..], &["-sread-only"], &["-p", "mine"], &["--full-auto"]] {
        assert_eq!(profile("TRUSTED", args), None, "{args:?}");
    }
    fs::create_dir(lane.join(".codex")).unwrap();
    fs::write(lane.join(".codex/config.toml"), "sandbox_mode = \"read-only\"\n").unwrap();
    assert_eq!(profile("TRUSTED", &[]), None);
}

/// Typed, it would be lost in a question that comes first, or at the restart of an agent that was trusted.
#[test]
fn agent_without_hooks_reads_its_first_prompt_in_its_inbox() {
    let world = with_programs(&["gemini"]);
    let plan = planned(&world, &["--prompt", "the word", "--", "gemini"]);
    assert!(has_note(&plan, "cannot bring them") && has_note(&plan, "fairway hook install gemini --user"), "{plan}");
    let words = ["gemini", "--prompt-interactive", SENTENCE].map(str::to_owned).to_vec();
    assert_eq!((argv(&plan), &plan["start"]["nudge"]), (words.clone(), &Value::Null));
    let launch = ["session", "launch", "--role", "r", "--id", "s", "--prompt", "the word", "--", "gemini"];
    world.run(launch).exits(0);
    assert!(world.run(["--session", "s", "prime"]).exits(0).stdout.contains("your inbox has 1 message: fairway inbox"));
    assert!(world.run(["--session", "s", "inbox", "--ack"]).exits(0).stdout.contains("  | the word\n"));
    assert_eq!(world.run(["outbox"]).exits(0).stdout, "no messages\n");
    world.run(["session", "stop", "s"]).exits(0);
    world.run(["hook", "install", "gemini", "--user"]).exits(0);
    let plan = planned(&world, &["--prompt", "by hook", "--", "gemini"]);
    assert_eq!((argv(&plan), &plan["notes"]), (words, &json!([])));

    // They are there, and a setting turns them off: the launch and the board name its file.
    configure(&world, "[guard]\ndefault = \"allow\"\n");
    let file = world.dir().join("home/.gemini/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{\"hooksConfig\": {\"enabled\": false},", 1)).unwrap();
    let told = format!("gemini runs no hooks: {} sets hooksConfig.enabled", file.display());
    let launched =
        world.json(["session", "launch", "--role", "r", "--id", "off", "--provider", "gemini", "--command", "gemini"]);
    assert!(has_note(&launched, &format!("{told}: in this session it has no guard")), "{launched}");
    let needs = world.json(["status"])["needs_you"].to_string();
    assert!(needs.contains(&format!("it is not guarded: {told}")), "{needs}");
    world.run(["session", "stop", "off"]).exits(0);
}

/// Codex's hooks of a launch and installed ones would both act: a launch brings none where they are installed.
#[test]
fn launch_brings_no_hooks_of_codex_where_they_are_installed_and_loadable() {
    let world = with_programs(&["codex"]);
    let brings = || argv(&planned(&world, &["--", "codex"])).iter().any(|word| word.starts_with("hooks."));
    assert!(brings());
    world.run(["hook", "install", "codex"]).exits(0);
    assert!(!brings());
    world.run(["lane", "add", "l", "--create-worktree"]).exits(0);
    let in_lane = argv(&planned(&world, &["--lane", "l", "--", "codex"]));
    assert!(in_lane.iter().any(|word| word.starts_with("hooks.")), "the file is not committed: {in_lane:?}");
    let file = world.root().join(".codex/hooks.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{ \"unknown\": 1,", 1)).unwrap();
    assert!(brings(), "Codex does not load a file with an unknown key");
}

#[test]
fn first_prompt_is_the_first_message_and_nothing_types_it_before_the_first_turn() {
    let world = with_programs(&["claude"]);
    let long = "word ".repeat(40_000) + "end";
    let launch = ["session", "launch", "--json", "--role", "r", "--id", "s", "--prompt-file", "-", "--", "claude"];
    let session = world.run_with_stdin(launch, long.as_bytes()).exits(0).json();
    let row = || world.rows("SELECT m.* FROM messages m JOIN agent_sessions s ON s.first_prompt = m.id").pop().unwrap();
    assert_eq!((row()["content"].as_str(), row()["to_session"].as_str()), (long.as_str(), "s"));
    let settings = text(&planned(&world, &["--", "claude"])["environment"]["FAIRWAY_LAUNCH_HOOKS"]);
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o600);
    // `session reconcile` types nothing into a session whose first turn has not begun.
    world.run(["session", "reconcile"]).exits(0);
    world.hook_inside("s", "claude", &hooks::event("SessionStart", "c", json!({ "source": "startup" }))).exits(0);
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(row()["status"], "queued");
    let began = world.hook_inside("s", "claude", &hooks::event("UserPromptSubmit", "c", json!({ "prompt": SENTENCE })));
    assert!(began.exits(0).stdout.contains("too long to show here"), "it is announced");
    let read = world.run(["inbox", "--session", "s"]).exits(0).stdout;
    assert!(read.contains("word word"), "{read}");
    assert_eq!(session["status"], "running");
    world.run(["session", "stop", "s"]).exits(0);
}

#[test]
fn version_that_is_not_the_proven_one_is_said() {
    let world = with_programs(&["claude"]);
    let says = |version: &str| {
        fs::write(
            world.dir().join("package.json"),
            json!({ "version": version, "bin": { "claude": "x" } }).to_string(),
        )
        .unwrap();
        has_note(&planned(&world, &["--", "claude"]), "is unproven: its profile was tried with 2.1.329")
    };
    assert!(says("2.1.330") && !says("2.1.329"));
    assert!(says("2.1.330"));
    let checked = world.run(["doctor", "hooks", "claude"]).stdout;
    assert!(checked.contains("unproven_version") && checked.contains("claude 2.1.330 is unproven"), "{checked}");
    fs::remove_file(world.dir().join("package.json")).unwrap();
    world.script("bin/claude", "#!/bin/sh\necho '2.1.329 (an agent)'\n");
    assert!(!world.run(["doctor", "hooks", "claude"]).stdout.contains("unproven_version"));
}

#[test]
fn built_in_profile_is_shown_with_its_source_and_an_override_with_the_file() {
    let world = Sessions::new();
    world.configure("[providers.codex]\nresume_args = [\"mine\"]\n");
    let shown = world.json(["config", "show"]);
    let of = |key: &str| shown.as_array().unwrap().iter().find(|one| one["key"] == key).unwrap().clone();
    let built_in = of("providers.claude.resume_args");
    assert_eq!((&built_in["value"], &built_in["source"]), (&json!(["--resume", "{conversation}"]), &"built in".into()));
    let own = of("providers.codex.resume_args");
    assert_eq!(own["value"], json!(["mine"]));
    assert!(text(&own["source"]).ends_with("/.fairway.toml"), "{own}");
}

/// The environment of the session that a launch with hooks starts.
fn launched(world: &Sessions) -> Vec<(String, String)> {
    world.launch(&["--role", "r", "--id", "s", "--", "claude"]);
    let row = world.session("s");
    let settings = text(&planned(world, &["--", "claude"])["environment"]["FAIRWAY_LAUNCH_HOOKS"]);
    [
        ("FAIRWAY_SESSION_ID", "s"),
        ("FAIRWAY_RUN_ID", row["run_id"].as_str()),
        ("FAIRWAY_PROVIDER", "claude"),
        ("FAIRWAY_LAUNCH_HOOKS", settings.as_str()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The hook of the provider's other settings is silent only in the conversation in which that of the launch acts.
#[test]
fn installed_hook_is_silent_only_where_the_hook_of_the_launch_acts() {
    let world = with_programs(&["claude"]);
    configure(
        &world,
        "[guard]\ndefault = \"allow\"\n[[guard.rules]]\nname = \"no\"\ntools = [\"Bash\"]\ncommand = [\"touch\"]\naction = \"deny\"\n",
    );
    let env = launched(&world);
    let call = |conversation: &str, vendor: &str, by_launch: bool| -> CommandOutput {
        let mut hook = world.fairway(["hook", vendor, "PreToolUse"].iter().chain(by_launch.then_some(&"--launch")));
        hook.envs(env.iter().cloned());
        let payload = hooks::command(vendor, conversation, "touch x").to_string();
        let output: Output = hooks::started(hook, payload.as_bytes()).wait_with_output().unwrap();
        output.into()
    };
    // Before any sign, both deny.
    hooks::denied("claude", &call("c", "claude", false));
    hooks::denied("claude", &call("c", "claude", true));
    hooks::silent(&call("c", "claude", false));
    // Another conversation, of an agent inside the session, and another provider's.
    hooks::denied("claude", &call("inner", "claude", false));
    hooks::denied("codex", &call("c", "codex", false));
    // The settings file is gone, or another one.
    let settings = &env[3].1;
    let text = fs::read_to_string(settings).unwrap();
    fs::write(settings, "{}").unwrap();
    hooks::denied("claude", &call("c", "claude", false));
    fs::write(settings, text).unwrap();
    hooks::silent(&call("c", "claude", false));
    fs::remove_file(settings).unwrap();
    hooks::denied("claude", &call("c", "claude", false));
    world.run(["session", "stop", "s"]).exits(0);
}
