//! Help pages: their form, and what must stand on them. Their texts are in `docs/reference/cli.md`, which a test compares.

use crate::common::TestProject;
use crate::common::command_table::parsed_commands;

/// A page is read on a terminal of 80 columns and 24 to 60 lines. The list of all commands is longer.
#[test]
fn help_pages_fit_a_terminal() {
    let world = TestProject::uninitialized();
    for (words, most) in [
        (&["--help"][..], 24),
        (&["-h"], 24),
        (&["help", "--all"], 75),
        (&["claim", "--help"], 30),
        (&["task", "--help"], 35),
    ] {
        let text = world.run(words).exits(0).stdout;
        assert!(text.lines().count() <= most, "{words:?} has {} lines", text.lines().count());
    }
    for words in
        [&["--help"][..], &["help", "--all"], &["help", "options"], &["help", "glossary"], &["help", "environment"]]
    {
        let text = world.run(words).exits(0).stdout;
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

/// The words that a reader of the seeds looks for lead to a command from the first pages.
#[test]
fn first_pages_name_dry_run_watchers_and_the_worker_api() {
    let help = TestProject::uninitialized().run(["help", "--all"]).exits(0).stdout;
    assert!(help.contains("serve (worker API)"), "{help}");
    let readme = include_str!("../../README.md");
    for words in ["`fairway session launch --role backend --dry-run`", "`fairway exec spawn --watch ", "[worker API]"] {
        assert!(readme.contains(words), "{words}");
    }
}

/// Global options stand on one page and on no other. A page has its purpose, five lines more, and two examples at most.
#[test]
fn pages_of_commands_are_short() {
    let world = TestProject::uninitialized();
    let options = world.run(["help", "options"]).exits(0).stdout;
    for arg in fairway::cli::command().get_arguments() {
        assert!(options.contains(&format!("--{}", arg.get_long().unwrap())), "{arg}");
    }
    for verb in parsed_commands() {
        let text = world.run(verb.split(' ').chain(["--help"])).exits(0).stdout;
        assert!(!text.contains("--request-id"), "{verb}");
        assert!(text.contains("fairway help options"), "{verb}");
        let (before, _) = text.split_once("\nUsage: ").unwrap();
        assert!(
            before.lines().filter(|line| !line.is_empty()).count() <= 6,
            "long explanations belong to guides: {before}"
        );
        let (_, examples) = text.split_once("Examples:\n  fairway ").unwrap_or_else(|| panic!("{verb}"));
        assert!(examples.lines().take_while(|line| !line.is_empty()).count() <= 2, "{examples}");
    }
}

#[test]
fn help_of_a_command_or_topic_is_its_page() {
    let world = TestProject::uninitialized();
    let page = world.run(["help", "task", "add"]).exits(0).stdout;
    assert_eq!(page, world.run(["task", "add", "--help"]).exits(0).stdout);
    assert_eq!(world.run(["help"]).exits(0).stdout, world.run(["--help"]).exits(0).stdout);
    assert_eq!(
        world.run(["help", "job", "spawn"]).exits(0).stdout,
        world.run(["exec", "spawn", "--help"]).exits(0).stdout
    );
    world.run(["help", "nothing", "--json"]).refuses(3, "not_found");
    // Topics are true: they name what the codes and the configuration know.
    let codes = world.run(["help", "exit-codes"]).exits(0).stdout;
    assert_eq!(codes.lines().filter(|line| line.starts_with("  ") && line.as_bytes()[2].is_ascii_digit()).count(), 10);
    let gates = world.run(["help", "gates"]).exits(0).stdout;
    for gate in fairway_core::domain::rules::gate::Gate::ALL {
        assert!(gates.contains(&format!("\n  {gate} ")), "{gate}");
    }
    let environment = world.run(["help", "environment"]).exits(0).stdout;
    let vars = include_str!("../../crates/fairway-core/src/env/vars.rs");
    for word in environment.split([' ', ',', '\n']).filter(|word| word.starts_with("FAIRWAY_")) {
        assert!(vars.contains(&format!("\"{word}\"")), "{word}");
    }
}

/// A first line is a sentence of at most 60 characters that begins with a capital letter and ends without a full stop.
#[test]
fn first_lines_of_help_are_short() {
    fn walk(command: &clap::Command, path: &str, wrong: &mut Vec<String>) {
        let mut check = |of: String, help: Option<&clap::builder::StyledStr>| {
            let text = help.map(ToString::to_string).unwrap_or_default();
            let begins_well =
                text.chars().next().is_some_and(|letter| !letter.is_lowercase()) || of.ends_with("decision");
            if text.chars().count() > 60 || text.ends_with('.') || !begins_well {
                wrong.push(format!("{of}: {text}"));
            }
        };
        for below in command.get_subcommands() {
            check(format!("{path} {}", below.get_name()), below.get_about());
        }
        for arg in command.get_arguments() {
            check(format!("{path} {}", arg.get_id()), arg.get_help());
        }
        for below in command.get_subcommands() {
            walk(below, &format!("{path} {}", below.get_name()), wrong);
        }
    }
    let mut wrong = Vec::new();
    walk(&fairway::cli::command(), "fairway", &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every verb says in one line what it does, and every flag and argument too.
#[test]
fn every_argument_has_help() {
    fn walk(command: &clap::Command, path: &str, silent: &mut Vec<String>) {
        if command.get_about().is_none() {
            silent.push(path.to_owned());
        }
        for arg in command.get_arguments() {
            if arg.get_help().is_none() {
                silent.push(format!("{path}: {}", arg.get_id()));
            }
        }
        for below in command.get_subcommands() {
            walk(below, &format!("{path} {}", below.get_name()), silent);
        }
    }
    let mut silent = Vec::new();
    walk(&fairway::cli::command(), "fairway", &mut silent);
    assert!(silent.is_empty(), "{silent:#?}");
}
