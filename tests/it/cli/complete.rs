//! Completion in a shell: commands and flags from the script, ids and names from the store.

use std::{fs, path::Path};

use crate::common::{TestProject, test_project::FAIRWAY};

/// A project with something of each kind.
fn project() -> TestProject {
    let world = TestProject::new();
    world.add_session("s1");
    for call in [
        "task add T-1 one --role backend",
        "task add T-2 two",
        "task add T-3 three",
        "lane add api --role qa",
        "handoff create T-1 --to-role docs --summary s",
        "message send hi --to-role qa",
    ] {
        world.run(call.split(' ')).exits(0);
    }
    world.run(["task", "cancel", "T-3", "--reason", "r"]).exits(0);
    world
}

#[test]
fn values_fit_the_place_of_the_typed_word() {
    let world = project();
    let before = world.all_rows();
    for (line, expected) in [
        ("claim ", "T-1 T-2"),
        ("claim T-2", "T-2"),
        ("--as backend claim ", "T-1 T-2"),
        ("task show ", "T-1 T-2"),
        ("task add ", ""),
        ("task dep add T-1 ", "T-1 T-2"),
        ("task add x --lane ", "api"),
        ("task add x --lane = ", "api"),
        ("task add x --role ", "backend qa worker"),
        ("lane show ", "api"),
        ("lane add ", ""),
        ("session attach ", "s1"),
        ("send ", "lane:api role:worker s1"),
        ("send role", "role:worker"),
        ("explain ", "T-1 T-2 s1"),
        ("prompt ", "s1"),
        ("prompt s1 ", ""),
        ("message prompt ", "s1"),
        ("handoff accept ", "1"),
        ("outbox withdraw ", "1"),
        ("checkpoint record T-1 --state a", "abandoned active awaiting_input"),
        ("review record T-1 --verdict ", "approve changes reject"),
        ("task list --status i", "in_progress"),
        ("task list --status a", "all"),
        ("task rm T-1 ", "T-1 T-2"),
        ("session end s1 --status ", "ended failed"),
        ("session launch --backend s", "screen shell"),
        ("start ", "T-1 T-2"),
        ("start T-1 ", "T-1 T-2"),
        ("start T-1 --provider c", "claude codex"),
        ("start T-1 --lane ", "api"),
        ("session relaunch ", "s1"),
        ("approvals answer 1 ", "allow deny"),
        ("evidence run T-1 -- ", ""),
        ("nothing ", ""),
        ("", ""),
    ] {
        let words = line.split(' ').map(str::to_owned);
        let run = world.run(["complete", "--"].map(str::to_owned).into_iter().chain(words)).exits(0);
        assert_eq!(run.stdout.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{line}");
        assert_eq!(run.stderr, "", "{line}");
    }
    assert_eq!(world.all_rows(), before);
    // Without a project, or with a broken one, there is nothing to offer and nothing to say.
    let bare = TestProject::uninitialized();
    assert_eq!(bare.run(["complete", "--", "claim", ""]).exits(0).stdout, "");
    fs::write(world.root().join(".fairway.toml"), "broken").unwrap();
    let run = world.run(["complete", "--", "claim", ""]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

/// The candidates of bash for these words, of which the last one is being typed.
fn offered_by_bash(world: &TestProject, script: &Path, words: &[&str]) -> Vec<String> {
    const DRIVER: &str = r#"
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
command=$(complete -p fairway | sed 's/.*-F \([^ ]*\).*/\1/')
"$command" fairway "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;
    let binary = Path::new(FAIRWAY).parent().unwrap().display().to_string();
    let mut bash = world.command("bash");
    let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
    let done = bash.env("PATH", path).args(["--norc", "-c", DRIVER, "bash"]).arg(script).args(words).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    let mut offered: Vec<String> =
        String::from_utf8(done.stdout).unwrap().split_whitespace().map(str::to_owned).collect();
    offered.sort();
    offered
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let world = project();
    let script = world.dir().join("completions.bash");
    fs::write(&script, world.run(["completions", "bash"]).exits(0).stdout).unwrap();
    for (words, expected) in [
        (&["fairway", "claim", ""][..], &["T-1", "T-2"][..]),
        (&["fairway", "session", "attach", ""], &["s1"]),
        (&["fairway", "task", "add", "x", "--lane", ""], &["api"]),
        (&["fairway", "task", "add", "x", "--lane", "=", "a"], &["api"]),
        (&["fairway", "checkpoint", "record", "T-1", "--state", "pl"], &["planned"]),
        (&["fairway", "merge-"], &["merge-ready"]),
        (&["fairway", "lane", "cl"], &["close"]),
        (&["fairway", "lane", "add", "x", "--create-w"], &["--create-worktree"]),
    ] {
        assert_eq!(offered_by_bash(&world, &script, words), expected, "{words:?}");
    }
}
