//! How often the guard is wrong on lines of every day, and how often a write outside passes. One half of each list was looked at
//! while the rules were written, the other was not: both must hold. The lists `later_…` were written after the rules, and `third_…`
//! after those.

use std::path::{Component, Path, PathBuf};

use fairway_core::domain::Role;
use fairway_core::guard::{PathLocation, Paths, Rule, Rules, ShellInput, ToolCallFacts, evaluate};

use super::{cases, no_force_push};

const INSIDE: &str = include_str!("../../data/guard/inside_writes.txt");
const EVERYDAY: &str = include_str!("../../data/guard/everyday_lines.txt");
const OUTSIDE: &str = include_str!("../../data/guard/outside_writes.txt");
const HARMLESS: &str = include_str!("../../data/guard/harmless.txt");
const LATER_INSIDE: &str = include_str!("../../data/guard/later_inside.txt");
const LATER_EVERYDAY: &str = include_str!("../../data/guard/later_everyday.txt");
const LATER_OUTSIDE: &str = include_str!("../../data/guard/later_outside.txt");
const LATER_FORCED: &str = include_str!("../../data/guard/later_forced.txt");
const THIRD_INSIDE: &str = include_str!("../../data/guard/third_inside.txt");
const THIRD_EVERYDAY: &str = include_str!("../../data/guard/third_everyday.txt");
const THIRD_OUTSIDE: &str = include_str!("../../data/guard/third_outside.txt");
const THIRD_FORCED: &str = include_str!("../../data/guard/third_forced.txt");

const WORKTREE: &str = "/work/tree";

/// Both kinds of rules: forced pushes, `rm -rf` outside, and every write outside.
fn all_rules() -> Rules {
    let mut rules = no_force_push();
    let push = rules.rules[0].clone();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let outside = Rule { name: "stay".into(), command: Vec::new(), flags: Vec::new(), outside: true, ..push };
    let remove = Rule { name: "rm".into(), command: words(&["rm"]), flags: words(&["-rf"]), ..outside.clone() };
    rules.rules.extend([outside, remove]);
    rules
}

/// Where a path leads by its text, in a directory without links.
fn locate(path: &str, below: &[String]) -> PathLocation {
    if path.is_empty() || path.starts_with(['~', '$', '%']) || path.contains("://") || path.contains('\n') {
        return PathLocation::Unknown("it is no path".into());
    }
    if ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"].contains(&path) {
        return PathLocation::Inside(String::new());
    }
    let mut real = PathBuf::from("/");
    let written: PathBuf = [WORKTREE].into_iter().chain(below.iter().map(String::as_str)).chain([path]).collect();
    for part in written.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => real.push(name),
            _ => {}
        }
    }
    match real.strip_prefix(Path::new(WORKTREE)) {
        Ok(inside) if inside.starts_with(".git") => {
            PathLocation::Protected { inside: inside.display().to_string(), real: real.display().to_string() }
        }
        Ok(inside) => PathLocation::Inside(inside.display().to_string()),
        Err(_) => PathLocation::Outside(real.display().to_string()),
    }
}

fn is_allowed(rules: &Rules, text: &str) -> bool {
    let call = ToolCallFacts {
        is_own_verb: false,
        names: vec!["Bash".into()],
        role: Role::parse("backend").unwrap(),
        shell_inputs: vec![ShellInput::Text(text.to_owned())],
        paths: Paths::Known(Vec::new()),
    };
    evaluate(rules, &call, &locate).allowed
}

/// The lines of each half of a list that are judged so: those that were looked at, and those that were not.
fn judged_so(rules: &Rules, list: &str, allowed: bool) -> [(Vec<String>, usize); 2] {
    let lines = cases(list);
    [0, 1].map(|half| {
        let half: Vec<&String> = lines.iter().skip(half).step_by(2).collect();
        let found = half.iter().filter(|line| is_allowed(rules, line) == allowed).map(|line| (*line).clone());
        (found.collect(), half.len())
    })
}

/// Asserts that at most so many of a thousand lines of each half are judged so.
#[track_caller]
fn at_most(per_mille: usize, rules: &Rules, list: &str, allowed: bool) {
    for (half, (found, all)) in judged_so(rules, list, allowed).into_iter().enumerate() {
        println!("half {half}: {} of {all}", found.len());
        assert!(found.len() * 1_000 <= all * per_mille, "half {half}: {} of {all}: {found:#?}", found.len());
    }
}

#[test]
fn everyday_writes_inside_are_allowed() {
    assert!(cases(INSIDE).len() >= 140);
    at_most(80, &all_rules(), INSIDE, false);
    at_most(80, &all_rules(), LATER_INSIDE, false);
    at_most(80, &all_rules(), THIRD_INSIDE, false);
}

#[test]
fn everyday_lines_are_allowed_under_every_kind_of_rule() {
    assert!(cases(EVERYDAY).len() >= 300);
    at_most(10, &all_rules(), EVERYDAY, false);
    at_most(10, &all_rules(), LATER_EVERYDAY, false);
    at_most(10, &no_force_push(), LATER_EVERYDAY, false);
    at_most(80, &all_rules(), THIRD_EVERYDAY, false);
    at_most(50, &no_force_push(), THIRD_EVERYDAY, false);
    at_most(10, &no_force_push(), EVERYDAY, false);
    at_most(10, &no_force_push(), HARMLESS, false);
}

#[test]
fn writes_outside_are_denied() {
    assert!(cases(OUTSIDE).len() >= 240);
    at_most(100, &all_rules(), OUTSIDE, true);
    at_most(100, &all_rules(), LATER_OUTSIDE, true);
    at_most(0, &all_rules(), THIRD_OUTSIDE, true);
}

#[test]
fn forced_pushes_in_later_spellings_are_denied() {
    at_most(0, &no_force_push(), LATER_FORCED, true);
    at_most(0, &no_force_push(), THIRD_FORCED, true);
}

#[test]
fn writes_outside_are_not_told_from_writes_inside_by_their_programs() {
    // The same programs with paths inside pass: a rule that denied the programs would not.
    let rules = all_rules();
    for (inside, outside) in [
        ("black src", "black ../src"),
        ("touch {a,b}/x", "touch {a,../b}/x"),
        ("cd sub && touch ../x", "cd sub && touch ../../x"),
        ("D=out; touch \"$D/x\"", "D=..; touch \"$D/x\""),
        ("for d in a b; do rm -rf \"$d/x\"; done", "for d in a ..; do rm -rf \"$d/x\"; done"),
        ("ls *.o | xargs rm", "ls ../*.o | xargs -I{} rm ../{}"),
        ("rm -rf build/*", "rm -rf build/../../*"),
        ("rm -rf .cache", "rm -rf .*"),
        ("find . -name x -delete", "find .. -name x -delete"),
        ("tar xzf ../a.tgz", "tar xzf a.tgz -C .."),
        ("docker run -v \"$PWD\":/src alpine true", "docker run -v /:/src alpine true"),
        ("f() { touch x; }; f", "cd ..; f() { touch x; }; f"),
        ("(cd sub && touch x); touch y", "(cd .. && touch x); touch y"),
        ("cd sub || exit 1; touch x; cd ..; touch y", "cd sub; cd ..; touch x"),
        ("cd sub || exit 1; touch ../x", "cd sub || sh -c 'exit 1'; touch ../x"),
        ("set -e; cd sub; touch ../x", "(set -e); cd sub; touch ../x"),
        ("for i in 1 2; do (cd sub && touch x); done", "for i in 1 2; do cd ..; touch x; done"),
        ("OUT=a; mkdir $OUT", "false && OUT=a; mkdir $OUT"),
        ("OUT=a; mkdir $OUT", "mkdir $OUT; OUT=a"),
        ("OUT=a; mkdir $OUT", "OUT=a; read OUT; mkdir $OUT"),
        ("OUT=a; mkdir $OUT", "OUT=a mkdir $OUT"),
        ("OUT=a; mkdir $OUT", "OUT=a; sh -c 'mkdir $OUT'"),
    ] {
        assert!(is_allowed(&rules, inside), "{inside}");
        assert!(!is_allowed(&rules, outside), "{outside}");
    }
}

#[test]
fn written_file_that_names_the_command_counts_as_run() {
    // The same programs run what the text wrote: what is written decides, and that it is written.
    let rules = no_force_push();
    for (harmless, forced) in [
        ("echo 'x = 1' > conftest.py; pytest", "echo 'run(\"git push -f\")' > conftest.py; pytest"),
        ("sed -i s/a/b/ x.sh; sh x.sh", "sed -i 's/a/git push -f/' x.sh; sh x.sh"),
        ("git commit -m 'no git push -f'; cargo test", "echo 'git push -f' > build.rs; cargo test"),
        ("grep -r 'git push -f' . && go test ./...", "grep -r 'git push -f' . > x_test.go && go test ./..."),
        ("echo 'git push -f' >> README.md; git commit -am x", "echo 'git push -f' > .husky/pre-push; git commit -am x"),
        ("echo 'git push -f' >> README.md; ls", "echo 'git push -f' > Rakefile; rake"),
        ("echo 'git push' > task.rb; rake", "echo 'git push --force' > task.rb; rake"),
    ] {
        assert!(is_allowed(&rules, harmless), "{harmless}");
        assert!(!is_allowed(&rules, forced), "{forced}");
    }
}
