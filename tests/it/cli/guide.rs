//! `fairway guide`

use std::fs;

use clap::Command;

use crate::common::TestProject;

const OWN: &str = "Our own way: ask ann first.\n";

#[test]
fn guide_is_the_same_everywhere_in_a_project_and_outside() {
    let world = TestProject::with_git();
    let guide = world.run(["guide"]).exits(0).stdout;
    assert!(guide.starts_with("# Working in this project with Fairway\n"), "{guide}");
    assert!(guide.lines().count() <= 60, "{}", guide.lines().count());
    assert_eq!(fs::read_to_string(world.root().join(".fairway/AGENTS.md")).unwrap(), guide);
    // A lane's worktree has neither the configuration nor the state directory.
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let lane = world.root().join(".fairway/worktrees/api");
    assert!(!lane.join(".fairway").exists());
    let outside = world.dir().join("home");
    for dir in [&lane, &outside] {
        let mut command = world.fairway(["guide"]);
        let output = command.current_dir(dir).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), guide, "{}", dir.display());
    }
    assert_eq!(world.json(["guide"])["file"], serde_json::Value::Null);
    assert_eq!(world.transcript(&["fairway guide --quiet"]), "$ fairway guide --quiet\n");
    fs::write(world.root().join(".fairway.toml"), "[broken\n").unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide, "agents are told also when the configuration is broken");
}

#[test]
fn contract_with_a_persons_changes_is_printed_and_never_overwritten() {
    let world = TestProject::with_git();
    let file = world.root().join(".fairway/AGENTS.md");
    let guide = world.run(["guide"]).exits(0).stdout;
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    fs::write(&file, OWN).unwrap();
    world.run(["init"]).exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), OWN);
    let mut command = world.fairway(["guide"]);
    let output = command.current_dir(world.root().join(".fairway/worktrees/api")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), OWN);
    assert_eq!(world.json(["guide"])["file"], file.display().to_string());
    // Neither a directory nor an empty file is a contract.
    fs::write(&file, "").unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide);
}

#[test]
fn contract_of_an_earlier_version_is_replaced_by_init() {
    let world = TestProject::new();
    let file = world.root().join(".fairway/AGENTS.md");
    let guide = fs::read_to_string(&file).unwrap();
    fs::write(&file, include_str!("../../fixtures/version-0.1/AGENTS.md")).unwrap();
    assert_eq!(world.run(["guide"]).exits(0).stdout, guide, "its exit codes are wrong by now");
    let run = world.run(["init"]).exits(0);
    assert_eq!(world.redacted(&run.stdout), "updated [world]/project: .fairway/AGENTS.md\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), guide);
}

/// Every command and flag that the contract names is one.
#[test]
fn contract_names_only_commands_and_flags_that_exist() {
    let guide = TestProject::uninitialized().run(["guide"]).exits(0).stdout.replace('\n', " ");
    let tree = fairway::cli::command();
    let mut named = 0;
    for span in guide.split('`').skip(1).step_by(2).filter(|span| span.starts_with("fairway ")) {
        let words = shell_words::split(&span.replace('…', "x")).unwrap();
        let mut at: &Command = &tree;
        for word in &words[1..] {
            match at.find_subcommand(word) {
                Some(below) => at = below,
                None if word == "--" => break,
                None => {
                    let flag = word.strip_prefix("--");
                    let known = |flag: &str| {
                        at.get_arguments().any(|arg| {
                            arg.get_long() == Some(flag) || arg.get_all_aliases().is_some_and(|all| all.contains(&flag))
                        })
                    };
                    assert!(flag.is_none_or(|flag| flag == "help" || known(flag)), "{span}: {word}");
                    assert!(flag.is_some() || at.get_name() != "fairway", "{span}: {word} is not a command");
                }
            }
        }
        named += 1;
    }
    assert!(named > 12, "{named}");
    for (text, why) in [
        ("`store_read_only`", "a read-only store is not retried"),
        ("8 the store is busy or the disk is full", "busy is retried"),
        ("Commit each step with git", "an agent must commit"),
        ("fairway handoff accept", "an agent accepts handoffs"),
        ("Never judge yourself", "an agent does not approve itself"),
        ("Stop when `fairway claim` exits with 6", "an agent knows its end"),
    ] {
        assert!(guide.contains(text), "{why}: {guide}");
    }
}
