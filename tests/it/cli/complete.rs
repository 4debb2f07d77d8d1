//! Completion in a shell: commands and flags from the script, ids and names from the store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

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
        ("start T-1 --provider c", "claude cline codex copilot"),
        ("start T-1 --lane ", "api"),
        ("session relaunch ", "s1"),
        ("approvals answer 1 ", "allow deny"),
        ("evidence run T-1 -- ", ""),
        ("notify --test ", "bell desktop osc"),
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

/// Words of a line, of which the last one is being typed, and the candidates in every shell.
const CASES: &[(&[&str], &[&str])] = &[
    (&["fairway", "claim", ""], &["T-1", "T-2"]),
    (&["fairway", "session", "attach", ""], &["s1"]),
    (&["fairway", "task", "add", "x", "--lane", ""], &["api"]),
    (&["fairway", "checkpoint", "record", "T-1", "--state", "pl"], &["planned"]),
    (&["fairway", "merge-"], &["merge-ready"]),
    (&["fairway", "lane", "cl"], &["close"]),
    (&["fairway", "lane", "add", "x", "--create-w"], &["--create-worktree"]),
];

#[test]
fn bash_completes_commands_flags_and_values() {
    let world = project();
    let script = script(&world, "bash");
    let split: (&[&str], &[&str]) = (&["fairway", "task", "add", "x", "--lane", "=", "a"], &["api"]);
    for (words, expected) in CASES.iter().chain([&split]) {
        assert_eq!(offered_by_bash(&world, &script, words), *expected, "{words:?}");
    }
}

/// The completion script of a shell, in a file.
fn script(world: &TestProject, shell: &str) -> PathBuf {
    let script = world.dir().join(format!("completions.{shell}"));
    fs::write(&script, world.run(["completions", shell]).exits(0).stdout).unwrap();
    script
}

/// The candidates of a shell for each line, which a driver prints behind `LINE`.
fn offered(world: &TestProject, shell: &[&str], driver: &str, script: &Path) -> Vec<Vec<String>> {
    let binary = Path::new(FAIRWAY).parent().unwrap().display().to_string();
    let mut command = world.command(shell[0]);
    let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
    let file = world.dir().join("driver");
    fs::write(&file, driver).unwrap();
    let lines = CASES.iter().map(|(words, _)| words.join(" "));
    command.env("PATH", path).args(&shell[1..]).arg(file).arg(script).args(lines);
    let done: CommandOutput = command.output().unwrap().into();
    let text = done.exits(0).stdout;
    let found = text.split("LINE\n").skip(1).map(|part| {
        let mut found: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
        found.sort();
        found
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), CASES.len(), "{text}");
    found
}

#[test]
fn fish_completes_commands_flags_and_values() {
    // A candidate stands before its description.
    const DRIVER: &str = "source $argv[1]
for line in $argv[2..]
    echo LINE
    complete -C $line | string split -f1 \\t
end
";
    if !require::program("fish") {
        return;
    }
    let world = project();
    let script = script(&world, "fish");
    for (found, (words, expected)) in offered(&world, &["fish", "--no-config"], DRIVER, &script).iter().zip(CASES) {
        assert_eq!(found, expected, "{words:?}");
    }
}

#[test]
fn zsh_completes_commands_flags_and_values() {
    // An interactive shell in a terminal of its own, whose candidates are printed where its functions add them. A line is
    // typed at the prompt: before it, the terminal would take Ctrl-U itself.
    const DRIVER: &str = r#"
zmodload zsh/zpty || exit 1
script=$1; shift
zpty shell zsh -f -i
zpty -w shell "PROMPT='ASK''>' PS2=; unsetopt prompt_cr prompt_sp zle_bracketed_paste; autoload -Uz compinit; compinit -u -D"
zpty -w shell "source $script"
zpty -w shell 'compadd() { [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || { local -a hits; builtin compadd -A hits "$@"; (( $#hits )) && print -rl -- "<"${^hits}">"; }; builtin compadd "$@"; }'
zpty -w shell 'bindkey "^I" complete-word; print "READY-"SET'
zpty -r shell seen '*READY-SET*ASK>*'
for line in "$@"; do
    zpty -w -n shell "$line"$'\t'
    zpty -w -n shell $'\C-u'"print END-OF"$'"-LINE"\n'
    zpty -r shell seen '*END-OF-LINE*ASK>*'
    print LINE
    print -r -- "$seen" | tr -d '\r' | sed -n 's/.*<\([^<>]*\)>.*/\1/p'
done
zpty -d shell
"#;
    if !require::program("zsh") {
        return;
    }
    let world = project();
    let script = script(&world, "zsh");
    for (found, (words, expected)) in offered(&world, &["zsh", "-f"], DRIVER, &script).iter().zip(CASES) {
        assert_eq!(found, expected, "{words:?}");
    }
}
