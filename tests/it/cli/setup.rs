//! `fairway setup`

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures, require};
use crate::storm::strace::{self, Point, Reach};

/// A repository, a bare home and two vendors' command lines that do nothing. Returns the world.
fn world() -> TestProject {
    let mut world = TestProject::uninitialized();
    world.real_time();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["claude", "gemini"] {
        fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.set("PATH", format!("{}:/usr/bin:/bin", bin.display())).set("SHELL", "/bin/bash");
    fs::write(world.root().join("CLAUDE.md"), "# Ours\r\n\r\nNo tabs.").unwrap();
    fixtures::init_repository(&world);
    world
}

/// Every file of the world with its mode and bytes, except the store and what git writes for itself.
fn tree(world: &TestProject) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    fn walk(dir: &Path, root: &Path, found: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let below = path.strip_prefix(root).unwrap().to_path_buf();
            let exclude = Path::new("project/.git/info/exclude");
            let is_git = below.starts_with("project/.git") && below != exclude;
            // The record of a store, and the mark that keeps git's cleaners from it, stay with the store.
            let of_store = ["project/.fairway", "project/.git/fairway", "home/.local/state/fairway/stores"];
            let above_memory = Path::new("home/.local/state/fairway").starts_with(&below);
            if of_store.iter().any(|own| below.starts_with(own)) || is_git && !path.is_dir() {
                continue;
            }
            let data = fs::symlink_metadata(&path).unwrap();
            let mut bytes = if data.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if below == exclude {
                bytes = String::from_utf8(bytes).unwrap().replace("/.fairway/\n", "").into_bytes();
            }
            if above_memory && below != Path::new("") && below != Path::new("home") {
                walk(&path, root, found);
                continue;
            }
            found.insert(below, (data.mode(), bytes));
            if data.is_dir() {
                walk(&path, root, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(world.dir(), world.dir(), &mut found);
    found
}

fn statuses(document: &Value) -> Vec<(String, String)> {
    let text = |step: &Value, key: &str| step[key].as_str().unwrap().to_owned();
    document["steps"].as_array().unwrap().iter().map(|step| (text(step, "kind"), text(step, "status"))).collect()
}

#[test]
fn setup_offers_commands_for_the_lock_files_that_it_finds() {
    for lock in ["Cargo.lock", "package-lock.json"] {
        let world = world();
        fs::write(world.root().join(lock), "").unwrap();
        let run = world.run(["setup", "--yes"]).exits(0);
        assert!(run.stdout.contains("guard, and commands that write lock files anew"), "{run:?}");
        let text = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
        assert!(text.contains(&format!("regenerate = {{ \"{lock}\" = ")), "{text}");
        world.run(["setup", "--undo", "--yes"]).exits(0);
        assert!(!world.root().join(".fairway.toml").exists());
    }
    // An own section is left alone.
    let world = world();
    fs::write(world.root().join("package-lock.json"), "").unwrap();
    fs::write(world.root().join(".fairway.toml"), "[land]\nbatch = 1\n[lanes]\nports = 'none'\n").unwrap();
    let run = world.run(["setup", "--dry-run"]).exits(0);
    assert!(!run.stdout.contains("regenerate") && !run.stdout.contains("npm ci"), "{run:?}");
}

#[test]
fn setup_offers_what_makes_lanes_ready() {
    let world = world();
    let root = world.root();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    write("uv.lock", "");
    write(".gitignore", ".env*\nnode_modules\n");
    write("api/.env.local", "TOKEN=1");
    write("node_modules/x/.env", "");
    let copies = |run: &CommandOutput| run.stdout.contains("create .worktreeinclude: new worktrees get copies of");
    let run = world.run(["setup", "--dry-run"]).exits(0);
    assert!(run.stdout.contains("and the setup of new lanes\n"), "{run:?}");
    assert!(run.stdout.contains("copies       create .worktreeinclude: new worktrees get copies of api/.env.local\n"));
    let include = root.join(".worktreeinclude");
    assert!(!include.exists());
    let run = world.run(["setup", "--yes"]).exits(0);
    assert!(copies(&run) && run.stdout.contains("git add .fairway.toml .worktreeinclude AGENTS.md"), "{run:?}");
    let text = fs::read_to_string(root.join(".fairway.toml")).unwrap();
    assert!(text.ends_with("[lanes]\nsetup = [\"uv sync\"]\nsetup_when_changed = [\"uv.lock\"]\n"), "{text}");
    world.run(["config", "check"]).exits(0);
    world.git(&root, &["add", "."]);
    world.git(&root, &["commit", "--quiet", "--message=all"]);
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let lane = root.join(".fairway/worktrees/api");
    assert!(lane.join("api/.env.local").exists() && !lane.join("node_modules").exists());
    world.run(["lane", "rm", "api"]).exits(0);
    assert!(!copies(&world.run(["setup", "--yes"]).exits(0)));
    world.run(["setup", "--undo", "--yes"]).exits(0);
    assert!(!include.exists());
    write(".fairway.toml", "[lanes]\ninclude = ['.env']\n");
    assert!(!copies(&world.run(["setup", "--dry-run"]).exits(0)), "the configuration names copies");
}

#[test]
fn setup_connects_all_and_undo_restores_every_byte() {
    let world = world();
    let before = tree(&world);
    let plan = world.run(["setup", "--dry-run"]).exits(0);
    assert!(plan.stdout.contains("enter the hooks of claude in .claude/settings.local.json"), "{plan:?}");
    assert!(plan.stdout.contains("name = \"no-force-push\""), "what is trusted is shown: {plan:?}");
    assert_eq!(tree(&world), before, "a plan changes nothing");
    world.run(["setup", "--json"]).refuses(2, "usage");
    assert_eq!(tree(&world), before, "without a terminal it needs --yes");

    let done = world.json(["setup", "--yes"]);
    let kinds: Vec<(String, String)> = statuses(&done);
    let kind =
        |kind: &str| kinds.iter().filter(|(of, _)| of == kind).map(|(_, status)| status.as_str()).collect::<Vec<_>>();
    assert_eq!(
        (kind("hooks"), kind("agents"), kind("trust")),
        (vec!["changed"; 2], vec!["changed"; 2], vec!["changed"])
    );
    assert!(kinds.iter().all(|(_, status)| status == "changed"), "{kinds:?}");
    let findings = done["doctor"]["findings"].as_array().unwrap();
    assert_eq!(
        findings.iter().filter(|one| one["code"] == "blocking").count(),
        2,
        "every hook is tested: {findings:?}"
    );
    // A launch brings the hooks of claude to a lane; those of gemini must be the user's.
    let left = done["left"].to_string();
    assert!(left.contains("gemini finds no Fairway hooks in the worktree of a new lane"), "{left}");
    assert!(left.contains("(fairway hook install gemini --user)") && !left.contains("claude"), "{left}");
    let blocks = |label: &str, words: &str| {
        findings.iter().any(|one| one["message"].as_str().unwrap().ends_with(&format!("{label} {words}")))
    };
    assert!(blocks("gemini", "would have blocked it here, and not in a lane"), "{findings:?}");
    assert!(blocks("claude", "would have blocked it"), "{findings:?}");
    assert_eq!(done["next"], "fairway start \"Fix the tax\"");
    let config = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
    assert!(config.contains("own_lane_only = true") && config.contains("[guard]"), "{config}");
    assert_eq!(world.json(["trust", "--show"])["trust"], "trusted");
    let imported = fs::read_to_string(world.root().join("CLAUDE.md")).unwrap();
    assert_eq!(imported, "# Ours\r\n\r\nNo tabs.\r\n\r\n@AGENTS.md\r\n");
    // The hooks name this machine's program: git leaves them alone.
    let untracked = world.git(&world.root(), &["status", "--short"]);
    assert_eq!(untracked, " M CLAUDE.md\n?? .fairway.toml\n?? AGENTS.md\n");
    assert!(world.dir().join("home/.local/share/bash-completion/completions/fairway").is_file());
    for (command, decision) in [
        ("git push --force", "denied"),
        ("git push", "allowed"),
        ("rm -rf target", "allowed"),
        ("rm -rf /etc", "denied"),
    ] {
        let told = world.run(["guard", "test", "--role", "dev", "--input", command]).exits(0).stdout;
        assert!(told.starts_with(decision), "{command}: {told}");
    }
    world.run(["task", "add", "Fix the tax"]).exits(0);

    // A repeat, also without --yes: there is nothing to ask.
    let set_up = tree(&world);
    let again = world.json(["setup"]);
    assert!(statuses(&again).iter().all(|(_, status)| status == "unchanged"), "{again}");
    let told = world.run(["setup"]).exits(0).stdout;
    assert!(told.starts_with(&format!("unchanged: {} is set up\n", world.root().display())), "{told}");
    assert_eq!(tree(&world), set_up);

    world.run(["setup", "--undo", "--json"]).refuses(2, "usage");
    world.run(["setup", "--undo", "--dry-run"]).exits(0);
    assert_eq!(tree(&world), set_up);
    let undone = world.run(["setup", "--undo", "--yes"]).exits(0);
    assert!(undone.stdout.contains("the store stays: "), "{undone:?}");
    let git = world.root().join(".git");
    let shield = format!("{}, a line in {}", git.join("fairway").display(), git.join("info/exclude").display());
    assert!(undone.stdout.ends_with(&format!("git's cleaners from it: {shield}\n")), "{undone:?}");
    assert_eq!(tree(&world), before, "byte for byte");
    let again = world.redacted(&world.run(["setup", "--undo"]).exits(0).stdout);
    assert_eq!(again, "unchanged: setup has changed nothing in [world]/project\n");
    // The store has its task still.
    world.run(["init", "--quiet"]).exits(0);
    assert!(world.run(["task", "list"]).exits(0).stdout.contains("Fix the tax"));
}

#[test]
fn setup_never_touches_what_a_person_changed() {
    let world = world();
    world.run(["setup", "--yes"]).exits(0);
    let agents = world.root().join("AGENTS.md");
    let text = fs::read_to_string(&agents).unwrap();
    let mine = text.replace("Commit your work.", "Ann commits.");
    fs::write(&agents, &mine).unwrap();
    let config = world.root().join(".fairway.toml");
    let own = fs::read_to_string(&config).unwrap() + "\n[tasks]\nprefix = \"SHOP\"\n";
    fs::write(&config, &own).unwrap();
    world.run(["trust"]).exits(0);
    let again = world.json(["setup", "--yes"]);
    let left = again["steps"].as_array().unwrap().iter().find(|step| step["status"] == "left").unwrap();
    assert_eq!((&left["kind"], &left["why"]), (&"agents".into(), &"a person has changed them".into()));
    assert_eq!((fs::read_to_string(&agents).unwrap(), fs::read_to_string(&config).unwrap()), (mine.clone(), own));
    // Undo takes its own lines out of the configuration, and leaves the rest.
    let undone = world.json(["setup", "--undo", "--yes"]);
    let of = |file: &str| {
        let steps = undone["steps"].as_array().unwrap();
        let found = steps.iter().filter(|step| step["file"].as_str().unwrap().ends_with(file));
        found.map(|step| step["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("project/AGENTS.md"), ["left"]);
    assert_eq!(fs::read_to_string(&agents).unwrap(), mine);
    assert_eq!(of(".fairway.toml"), ["changed", "left"]);
    let left = fs::read_to_string(&config).unwrap();
    assert!(!left.contains("[guard]") && left.ends_with("\n[tasks]\nprefix = \"SHOP\"\n"), "{left}");
}

/// The hook answers rightly, and Claude Code would not run it.
#[test]
fn setup_names_the_settings_file_that_turns_the_hooks_off() {
    let world = world();
    for (provider, settings, key) in [
        ("claude", r#"{"disableAllHooks": true}"#, "disableAllHooks"),
        ("gemini", r#"{"hooksConfig": {"enabled": false}}"#, "hooksConfig.enabled"),
    ] {
        let user = world.dir().join(format!("home/.{provider}/settings.json"));
        fs::create_dir_all(user.parent().unwrap()).unwrap();
        fs::write(&user, settings).unwrap();
        let done = world.run(["setup", "--yes", "--provider", provider]);
        assert_eq!(done.code, Some(1), "{done:?}");
        let begin = format!("left for you: {provider} does not run the hook in");
        let left = done.stdout.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{done:?}"));
        let file = format!("home/.{provider}/settings.json");
        assert!(left.contains(&format!("{file} sets {key} (remove {key} from")), "{left}");
        assert!(!done.stdout.contains("would have blocked it"), "{done:?}");
    }
}

#[test]
fn existing_project_keeps_its_rules_and_its_committed_settings() {
    let world = world();
    world.run(["init", "--quiet"]).exits(0);
    let config = world.root().join(".fairway.toml");
    let rules = fs::read_to_string(&config).unwrap() + "\n[guard]\ndefault = \"deny\"\n";
    fs::write(&config, &rules).unwrap();
    fs::create_dir(world.root().join(".gemini")).unwrap();
    let settings = world.root().join(".gemini/settings.json");
    fs::write(&settings, "{ \"theme\": \"dark\" }\n").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message", "settings"]);
    symlink("CLAUDE.md", world.root().join("AGENTS.md")).unwrap();
    let shown = world.run(["setup", "--dry-run"]).exits(0).stdout;
    assert!(shown.contains("guard.default") && shown.contains("deny"), "what is trusted is shown: {shown}");
    let done = world.json(["setup", "--yes"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), rules, "it has a guard");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{ \"theme\": \"dark\" }\n", "git tracks it");
    let steps = done["steps"].as_array().unwrap();
    let left = steps.iter().find(|step| step["status"] == "left").unwrap();
    assert!(left["why"].as_str().unwrap().contains("fairway hook install gemini --user"), "{left}");
    assert_eq!(world.json(["trust", "--show"])["trust"], "trusted");
    // One file behind a link gets the lines once.
    let text = fs::read_to_string(world.root().join("CLAUDE.md")).unwrap();
    assert_eq!(text.matches("fairway setup: begin").count(), 1, "{text}");
    assert!(!text.contains("\n@AGENTS.md"), "{text}");
}

/// A clone has the committed files only, and the undo leaves those alone.
#[test]
fn setup_in_a_clone_makes_its_state_directory_and_undo_keeps_the_committed_files() {
    let world = world();
    let config = world.root().join(".fairway.toml");
    let rules = "[guard]\ndefault = \"deny\"\n";
    fs::write(&config, rules).unwrap();
    world.git(&world.root(), &["add", ".fairway.toml"]);
    world.git(&world.root(), &["commit", "--quiet", "--message", "configuration"]);
    let done = world.json(["setup", "--yes"]);
    assert_eq!(statuses(&done)[0], ("project".into(), "changed".into()));
    world.run(["ready"]).exits(0);
    world.json(["setup", "--undo", "--yes"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), rules);
}

#[test]
fn setup_is_refused_inside_a_session() {
    let world = world();
    let refused = |args: &[&str]| {
        let mut command = world.fairway(args);
        let output = command.env("FAIRWAY_SESSION_ID", "s1").arg("--json").output().unwrap();
        CommandOutput::from(output).refuses(5, "inside_session");
    };
    let before = tree(&world);
    refused(&["setup", "--yes"]);
    refused(&["setup", "--dry-run"]);
    world.run(["init", "--quiet"]).exits(0);
    refused(&["setup", "--undo", "--yes"]);
    fs::remove_file(world.root().join(".fairway.toml")).unwrap();
    fs::remove_dir_all(world.dir().join("home/.local")).unwrap();
    fs::remove_dir_all(world.root().join(".fairway")).unwrap();
    assert_eq!(tree(&world), before);
}

/// At a terminal setup shows the plan and asks; only a yes is one.
#[test]
fn setup_asks_at_a_terminal() {
    if !require::program("script") {
        return;
    }
    let world = world();
    let at_terminal = |answer: &str| {
        let mut script = world.command("script");
        let line = format!("{} setup --provider claude", crate::common::test_project::FAIRWAY);
        script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), answer.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let before = tree(&world);
    let told = at_terminal("\n");
    assert!(told.contains("Do this? [y/N]") && told.contains("nothing was changed"), "{told}");
    assert_eq!(tree(&world), before);
    let told = at_terminal("y\n");
    assert!(told.contains("next: fairway start"), "{told}");
    assert!(world.root().join(".claude/settings.local.json").is_file());
    assert!(!world.root().join(".gemini").exists(), "only the named provider");
}

/// The words of a first look, as they are printed.
#[test]
fn setup_without_agents_and_repository_says_what_is_left() {
    let mut world = TestProject::uninitialized();
    world.set("PATH", "/usr/bin:/bin");
    insta::assert_snapshot!(world.transcript(&["fairway setup --yes --quiet", "fairway setup"]), @r#"
    $ fairway setup --yes --quiet
    $ fairway setup
    unchanged: [world]/project is set up
    left for you: no agent's command line is in PATH (claude, codex, gemini): install one, then repeat
    left for you: this is no git repository, and lanes need one: git init, then a first commit
    next: fairway start "Fix the tax"
    "#);
}

/// A project is a place of its own, with a home: what is left over from one try is not there in the next.
fn in_place(world: &TestProject, place: &Path, words: &[&str]) -> Command {
    let mut command = world.fairway(words);
    command.env("HOME", place.join("home")).current_dir(place);
    command
}

/// Every file of a place, except git's, the store's and the state of Fairway.
fn files_of(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, top: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let below = path.strip_prefix(top).unwrap();
            if [".git", ".fairway", "home/.local/state", "trace"].iter().any(|own| below.starts_with(own)) {
                continue;
            }
            if path.is_dir() {
                walk(&path, top, found);
            } else {
                found.insert(below.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(place, place, &mut found);
    found
}

/// Killed before any change that it makes, setup is repeated or not, and then taken back.
#[test]
fn killed_setup_is_taken_back_byte_by_byte() {
    if !strace::is_possible() {
        return;
    }
    let world = world();
    let (template, place) = (world.dir().join("template"), world.dir().join("place"));
    fs::create_dir_all(template.join("home")).unwrap();
    fs::write(template.join("CLAUDE.md"), "# Ours\n").unwrap();
    world.git(&template, &["init", "--quiet"]);
    let renew = || {
        let _ = fs::remove_dir_all(&place);
        strace::copy(&template, &place)
    };
    let before = files_of(&template);
    renew();
    let setup = in_place(&world, &place, &["setup", "--yes", "--provider", "claude"]);
    let points: Vec<Point> = strace::points(&world, &place, Reach::Process, &setup, ".fairway.toml")
        .into_iter()
        .filter(|point| ["rename", "renameat2", "mkdir", "mkdirat", "linkat"].contains(&point.call.as_str()))
        .collect();
    assert!(points.len() > 10, "{points:?}");
    let config = || fs::read_to_string(place.join(".fairway.toml")).unwrap();
    let whole = config();
    assert!(whole.contains("own_lane_only = true") && whole.contains("no-force-push"), "{whole}");
    // All while the project is made, and some of the rest.
    let step = if std::env::var_os("FAIRWAY_SOAK").is_some() { 1 } else { 6 };
    for (at, point) in points.iter().enumerate().filter(|(at, _)| *at < 10 || at % step == 0) {
        renew();
        let killed = strace::killed_at(&world, &place, Reach::Process, &setup, point);
        assert_eq!(killed.code, None, "{point:?}: {killed:?}");
        let run = |words: &[&str]| CommandOutput::from(in_place(&world, &place, words).output().unwrap());
        if at % 2 == 0 {
            run(&["setup", "--yes", "--provider", "claude"]).exits(0);
            assert_eq!(config(), whole, "{point:?}, the {at}th");
        }
        run(&["setup", "--undo", "--yes"]).exits(0);
        assert_eq!(files_of(&place), before, "{point:?}, the {at}th");
    }
}

#[test]
fn setup_names_the_targets_of_links_and_writes_outside_of_the_repository_only_when_told() {
    let world = world();
    let root = world.root();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let profile = elsewhere.join("profile");
    fs::write(&profile, "alias ll='ls -l'\n").unwrap();
    symlink("../elsewhere/profile", root.join("AGENTS.md")).unwrap();
    let plan = world.run(["setup", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains(&format!("by a link: {}\n", profile.display())), "{plan}");
    let plan = world.json(["setup", "--dry-run"]);
    let targets: Vec<&Value> = plan["steps"].as_array().unwrap().iter().filter_map(|step| step.get("target")).collect();
    assert_eq!(targets, [profile.to_str().unwrap()]);
    let before = tree(&world);
    let refused = world.run(["setup", "--yes", "--json"]).refuses(5, "link_outside");
    assert!(refused.error().to_string().contains(profile.to_str().unwrap()), "{refused:?}");
    assert_eq!(tree(&world), before);
    // A directory for the settings of all projects.
    fs::remove_file(root.join("AGENTS.md")).unwrap();
    symlink(&elsewhere, root.join(".claude")).unwrap();
    world.run(["setup", "--yes", "--json"]).refuses(5, "link_outside");
    world.run(["setup", "--yes", "--provider", "gemini"]).exits(0);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    world.run(["setup", "--yes", "--follow-links"]).exits(0);
    assert!(elsewhere.join("settings.local.json").is_file());
    world.run(["setup", "--undo", "--yes"]).exits(0);
    assert!(!elsewhere.join("settings.local.json").exists());
    // A link inside of the repository needs no word.
    fs::remove_file(root.join(".claude")).unwrap();
    fs::create_dir(root.join("settings")).unwrap();
    symlink("settings", root.join(".claude")).unwrap();
    let plan = world.run(["setup", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains("by a link: ") && plan.contains("project/settings/settings.local.json"), "{plan}");
    world.run(["setup", "--yes"]).exits(0);
    world.run(["setup", "--undo", "--yes"]).exits(0);
    // One that leads nowhere is named before anything is done.
    fs::remove_dir(root.join("settings")).unwrap();
    let before = tree(&world);
    let refused = world.run(["setup", "--yes", "--json"]).refuses(2, "settings_invalid");
    assert!(refused.error().to_string().contains(".claude is a link to settings, which does not exist"), "{refused:?}");
    assert_eq!(tree(&world), before);
}

#[test]
fn limit_of_open_reviews_is_advised_where_several_agents_run() {
    let world = world();
    let is_advised = || {
        let said = world.run(["setup", "--yes"]).exits(0).stderr;
        said.contains("several agents run here: [review] capacity = 4")
    };
    assert!(!is_advised());
    fixtures::add_session(&world, "s1", "dev", None);
    assert!(!is_advised());
    fixtures::add_session(&world, "s2", "dev", None);
    assert!(is_advised());
    let file = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n[review]\ncapacity = 3\n")).unwrap();
    world.run(["trust", "--yes"]).exits(0);
    assert!(!is_advised());
}
