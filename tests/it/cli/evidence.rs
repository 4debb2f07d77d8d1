//! `fairway evidence …`

use crate::common::TestProject;

/// A claim names a file: the record says which bytes it meant.
#[test]
fn artifact_is_recorded_with_its_digest() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    std::fs::write(world.root().join("report.txt"), "abc").unwrap();
    let add = |file: &str| world.run(["evidence", "add", "T-1", "--result", "pass", "--artifact", file, "--json"]);
    let record = add("report.txt").exits(0).json();
    assert_eq!(record["artifact"], "report.txt");
    assert_eq!(record["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for absent in ["elsewhere.txt", ".", "/dev/null"] {
        let run = add(absent).exits(0);
        assert!(run.json()["sha256"].is_null() && run.stderr.contains("its digest is not recorded"), "{run:?}");
    }
}

#[test]
fn evidence_without_a_task_is_of_the_only_claimed_one_and_of_several_the_hint_names_one() {
    let world = TestProject::new();
    let refused = |words: &[&str], exit: i32, code: &str| {
        let words = [&["--json", "evidence", "run"], words].concat();
        world.run(words).refuses(exit, code).error()["hint"].as_str().unwrap_or_default().to_owned()
    };
    world.run(["task", "add", "T-1", "one", "--check", "unit=true"]).exits(0);
    world.run(["task", "add", "T-2", "two"]).exits(0);
    refused(&["--check", "unit"], 4, "nothing_claimed");
    world.run(["claim", "T-1"]).exits(0);
    assert_eq!(world.json(["evidence", "run", "--check", "unit"])["task_id"], "T-1");
    assert_eq!(world.run(["--json", "evidence", "run", "--", "true"]).exits(0).json()["task_id"], "T-1");
    world.run(["claim", "T-2"]).exits(0);
    let hint = refused(&["--check", "unit"], 3, "ambiguous");
    assert_eq!(hint, "name one: fairway evidence run T-1 --check unit");
    let hint = refused(&["--", "echo", "a b"], 3, "ambiguous");
    let pasted = hint.strip_prefix("name one: fairway ").unwrap();
    assert_eq!(pasted, "evidence run T-1 -- echo 'a b'");
    world.run(shell_words::split(pasted).unwrap()).exits(0);
}

#[test]
fn program_run_records_its_result() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --check 'unit=exit 0'",
        "fairway evidence run T-1 -- printf 'hello\\n'",
        "fairway evidence run T-1 --kind lint -- false",
        "fairway evidence run T-1 --check unit",
        "fairway evidence run T-1 --check linf",
        "fairway evidence run T-1",
        "fairway evidence run T-1 -- no-such-program",
        "fairway evidence add T-1 --result pass --kind provider --summary 'it says it is done'",
        "fairway evidence add T-1 --result pass --command 'make test' --commit 0123ABCDEF",
        "fairway evidence add T-1 --result maybe",
        "fairway evidence list T-1",
        "fairway evidence list T-2",
    ]), @r"
    $ fairway task add T-1 'one' --check 'unit=exit 0'
    added T-1
    $ fairway evidence run T-1 -- printf 'hello\n'
    hello
    recorded evidence 1 on T-1: test pass, exit 0
    no commit recorded: there is none, or the worktree has changes
    $ fairway evidence run T-1 --kind lint -- false
    recorded evidence 2 on T-1: lint fail, exit 1
    no commit recorded: there is none, or the worktree has changes
    [exit 7]
    $ fairway evidence run T-1 --check unit
    recorded evidence 3 on T-1: test pass, exit 0
    no commit recorded: there is none, or the worktree has changes
    $ fairway evidence run T-1 --check linf
    error: there is no check 'linf'
    hint: did you mean unit?
    [exit 3]
    $ fairway evidence run T-1
    error: the following required arguments were not provided: <CMD>...
    hint: write it as: fairway evidence run <TASK> -- <CMD>...
    [exit 2]
    $ fairway evidence run T-1 -- no-such-program
    error: the program 'no-such-program' was not found; nothing was run and nothing recorded
    [exit 7]
    $ fairway evidence add T-1 --result pass --kind provider --summary 'it says it is done'
    recorded evidence 4 on T-1: provider pass, as claimed
    evidence of the kind 'provider' counts for no gate
    $ fairway evidence add T-1 --result pass --command 'make test' --commit 0123ABCDEF
    recorded evidence 5 on T-1: test pass, as claimed
    $ fairway evidence add T-1 --result maybe
    error: invalid value 'maybe' for '--result <RESULT>': 'maybe' is none of pass, fail, partial, skipped, blocked
    hint: read the help: fairway evidence add --help
    [exit 2]
    $ fairway evidence list T-1
    ID  KIND      RESULT  HOW       EXIT  COMMIT      AGE  WHAT
    1   test      pass    observed  0     -           9s   printf 'hello\n'
    2   lint      fail    observed  1     -           8s   false
    3   test      pass    observed  0     -           7s   exit 0
    4   provider  pass    claimed   -     -           3s   it says it is done
    5   test      pass    claimed   -     0123abcdef  2s   make test
    $ fairway evidence list T-2
    error: there is no task 'T-2'
    hint: did you mean T-1: fairway task show T-1
    [exit 3]
    ");
}
