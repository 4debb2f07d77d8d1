//! The help of every verb, in one file: what scripts and people hold us to.

use crate::common::{TestProject, command_table::parsed_commands};

#[test]
fn the_help_of_every_verb() {
    let world = TestProject::uninitialized();
    let mut verbs = parsed_commands();
    // And the nouns, which list their verbs.
    for verb in verbs.clone() {
        for (end, _) in verb.match_indices(' ') {
            let at = verbs.iter().position(|known| known == &verb).unwrap();
            if !verbs.contains(&verb[..end].to_owned()) {
                verbs.insert(at, verb[..end].to_owned());
            }
        }
    }
    verbs.insert(0, String::new());
    let mut help = String::new();
    for verb in &verbs {
        let words: Vec<&str> = verb.split(' ').filter(|word| !word.is_empty()).chain(["--help"]).collect();
        let run = world.run(&words).exits(0);
        assert_eq!(run.stderr, "");
        let listed =
            run.stdout.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
        for line in listed.lines().filter(|line| !line.starts_with("   ")) {
            assert!(line.split_whitespace().count() > 1, "no word about it: {line}");
        }
        help.push_str(&format!("$ fairway {}\n{}\n", words.join(" "), run.stdout));
    }
    // The flags that every verb takes are told once.
    let (first, rest) = help.split_once("\n$ fairway ").unwrap();
    let global =
        rest.find("Global options:").map(|at| &rest[at..]).and_then(|text| text.split("\n\n$ ").next()).unwrap();
    let told = rest.replace(global.trim_end(), "Global options: as above");
    insta::assert_snapshot!("help", format!("{first}\n$ fairway {told}"));
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
