//! What people type first, by habit or from upstream's pages: each is done, or answered with the command that does it.

use std::fs;

use crate::common::TestProject;

/// The hint of a refused line.
#[track_caller]
fn hint(world: &TestProject, line: &str) -> String {
    let refused = world.run(shell_words::split(line).unwrap().iter().map(String::as_str).chain(["--json"]));
    refused.error()["hint"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn familiar_names_lead_to_commands() {
    let world = TestProject::new();
    for (line, command) in [
        ("dashboard", "watch the board: fairway top"),
        ("tui", "watch the board: fairway top"),
        ("import issues.jsonl", "import tasks: fairway task import issues.jsonl"),
        ("record evidence T-1", "run a check, and record it as evidence: fairway evidence run T-1 -- COMMAND"),
        ("record handoff T-1", "offer a task to a role: fairway handoff create T-1 --to-role ROLE --summary TEXT"),
        ("record review T-1", "record a review: fairway review record T-1 --verdict VERDICT"),
        ("set-status T-1 done", "finish a task: fairway done T-1"),
        ("config validate", "check the configuration: fairway config check"),
        ("agent-guide", "print how an agent works: fairway guide"),
        ("db backup", "back up the store: fairway backup FILE"),
        ("version", "print the version: fairway --version"),
        ("T-1", "show the task: fairway task show T-1"),
        ("undo", "take your newest change back: fairway task undo TASK"),
        ("rename T-1 a b", "edit a task: fairway task edit T-1 --title 'a b'"),
        ("task comment T-1 is slow", "record a note on a task: fairway note 'is slow' --task T-1"),
        ("task comment slow", "record a note on a task: fairway note slow --task TASK"),
        ("questions", "show what needs you: fairway status"),
        ("whoami", "print your identity and tasks: fairway prime"),
    ] {
        assert_eq!(hint(&world, line), command, "{line}");
    }
    assert!(world.run(["--version"]).exits(0).stdout.starts_with("fairway "));
}

#[test]
fn refusals_name_the_next_command() {
    let world = TestProject::new();
    world.run(["task", "add", "--id", "T-1", "one"]).exits(0);
    fs::create_dir(world.root().join("data")).unwrap();
    let root = world.root().display().to_string();
    for (line, expected) in [
        ("approvals answer 7 allow", "list the open approvals: fairway approvals list".to_owned()),
        ("task import data/none.jsonl", format!("see which files there are: ls {root}/data")),
        ("backup none/store.db", format!("make it: mkdir -p {root}/none")),
        ("session launch --role r --provider claud --dry-run", "did you mean claude?".to_owned()),
        ("task cancel T-1", "say why: fairway task cancel T-1 --reason TEXT".to_owned()),
        ("task show T1", "did you mean T-1: fairway task show T-1".to_owned()),
        ("task show t-1", "did you mean T-1: fairway task show T-1".to_owned()),
        ("guard test --input 'git push'", "name one: fairway guard test --role ROLE --input 'git push'".to_owned()),
    ] {
        assert_eq!(hint(&world, line), expected, "{line}");
    }
}

#[test]
fn submit_and_done_without_an_id_take_the_only_claimed_task() {
    let world = TestProject::new();
    for id in ["T-1", "T-2"] {
        world.run(["task", "add", "--id", id, "one"]).exits(0);
    }
    let error = world.run(["done", "--json"]).refuses(4, "nothing_claimed").error();
    assert_eq!(error["hint"], "claim one: fairway claim");
    world.run(["claim", "T-1"]).exits(0);
    assert_eq!(world.json(["task", "submit", "--request-id", "R-1"])["id"], "T-1");
    world.run(["task", "resume", "T-1"]).exits(0);
    world.run(["claim", "T-2"]).exits(0);
    for (line, form) in [(&["done"][..], "fairway done"), (&["task", "submit"], "fairway task submit")] {
        let error = world.run(line.iter().chain(&["--json"])).refuses(3, "ambiguous").error();
        assert_eq!(error["hint"], format!("name one: {form} T-1"));
    }
    world.run(["release", "T-2"]).exits(0);
    world.run(["evidence", "run", "T-1", "--", "true"]).exits(0);
    let done = world.json(["done", "--request-id", "R-2"]);
    assert_eq!((&done["id"], &done["status"]), (&"T-1".into(), &"done".into()));
    // A repeat gets the first answer, although nothing is claimed any more.
    assert_eq!(world.json(["done", "--request-id", "R-2"]), done);
}

/// The first words of help and of a dry run: one thing has one name.
#[test]
fn texts_say_backend_and_job() {
    let world = TestProject::new();
    let plan = world.run(["session", "launch", "--role", "r", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains("\nbackend     shell (") && !plan.contains("\nadapter"), "{plan}");
    assert_eq!(world.json(["session", "launch", "--role", "r", "--dry-run"])["adapter"], "shell");
    for command in ["poll", "log", "kill", "send-keys", "wait", "rm"] {
        let help = world.run(["exec", command, "--help"]).exits(0).stdout;
        assert!(help.contains("<JOB>") && !help.contains("<RUN>"), "{help}");
    }
    let unknown = world.run(["exec", "poll", "0badc0de"]).exits(3).stderr;
    assert_eq!(unknown, "error: there is no job '0badc0de'\nhint: list the jobs: fairway exec list\n");
    // The word in the details is a promise.
    let details = world.run(["exec", "poll", "0badc0de", "--json"]).refuses(3, "not_found").error()["details"].clone();
    assert_eq!(details["noun"], "run");
    for (verb, purpose) in [
        ("block", "Block a claimed task; the claim stays"),
        ("unblock", "Unblock a task"),
        ("resume", "Resume a submitted task"),
    ] {
        assert_eq!(world.run(["task", verb, "--help"]).exits(0).stdout.lines().next(), Some(purpose));
    }
}

/// The comment that setup writes into the configuration is a command that works.
#[test]
fn setup_without_git_says_so_first_and_its_comment_can_be_pasted() {
    let world = TestProject::uninitialized();
    let plan = world.run(["setup", "--dry-run"]).exits(0).stdout;
    let first = plan.lines().nth(1).unwrap();
    assert_eq!(
        first.trim(),
        "first        this is no git repository, and lanes need one: git init, then a first commit"
    );
    world.run(["setup", "--yes"]).exits(0);
    let config = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
    let comment = config.lines().find(|line| line.contains("Try a rule: ")).unwrap();
    let command = comment.split("Try a rule: ").nth(1).unwrap().split(". After").next().unwrap();
    let words = shell_words::split(command).unwrap();
    let judged = world.run(&words[1..]);
    assert!(judged.stdout.contains("a force push is for people"), "{judged:?}");
}
