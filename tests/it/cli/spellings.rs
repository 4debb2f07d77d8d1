//! Spellings that help shows, and the earlier ones that go on working.

use crate::common::TestProject;

/// A path, or the time at which the store was made.
fn is_of_its_project(cell: &str) -> bool {
    cell.contains('/') || (cell.len() > 24 && cell.starts_with("20"))
}

/// Both spellings leave the same content behind, apart from each other's project.
fn assert_same(before: &[&str], earlier: &str, shown: &str) {
    let run = |line: &str| {
        let world = TestProject::new();
        world.add_session("s1");
        world.run(["task", "add", "T-1", "one"]).exits(0);
        for call in before {
            world.run(call.split(' ')).exits(0);
        }
        let run = world.run(line.split(' ').chain(["--json"]));
        (
            run.code,
            world.redacted(&run.stdout),
            run.stderr,
            world.all_rows().into_iter().filter(|cell| !is_of_its_project(cell)).collect::<Vec<_>>(),
        )
    };
    let (earlier, shown) = (run(earlier), run(shown));
    assert!(matches!(earlier.0, Some(0 | 5)), "{earlier:?}");
    assert_eq!(earlier, shown);
}

#[test]
fn commands_have_two_spellings() {
    for (before, earlier, shown) in [
        (&[][..], "claim T-1", "task claim T-1"),
        (&["claim T-1"], "release T-1", "task release T-1"),
        (&[], "merge-ready T-1", "task merge-check T-1"),
        (&[], "exec list", "job list"),
        (&[], "approvals list", "approval list"),
        (&[], "events --since 1", "event --since 1"),
        (&[], "prime --mode compact", "context --mode compact"),
        (&[], "adapter list", "backend list"),
    ] {
        assert_same(before, earlier, shown);
    }
}

#[test]
fn flags_have_two_spellings() {
    let world = TestProject::new();
    std::fs::write(world.root().join("text"), "hello").unwrap();
    for (before, earlier, shown) in [
        (&[][..], "events --task T-1", "events --of-task T-1"),
        (&[], "session upsert --id s1 --name n", "session upsert --id s1 --backend-name n"),
        (&[], "session upsert --id s1 --task-id T-1", "session upsert --id s1 --task T-1"),
        (&[], "handoff create T-1 --to qa --summary s", "handoff create T-1 --to-role qa --summary s"),
        (&["handoff create T-1 --to qa --summary s"], "handoff list --to qa", "handoff list --to-role qa"),
        (&["message send hi --to-session s1"], "outbox list --to s1", "outbox list --to-session s1"),
        (&[], "prime --task-id T-1", "prime --task T-1"),
        (&[], "prompt s1 --body-file .fairway.toml", "prompt s1 --text-file .fairway.toml"),
    ] {
        assert_same(before, earlier, shown);
    }
    // These start something: the words are read, and that is enough.
    for line in [
        "exec spawn --notify s1 --wait-for 1s -- true",
        "session launch --role r --name x --task-id T-1 --dry-run",
        "session launch --role r --id x --task T-1 --dry-run",
    ] {
        let command = fairway::cli::command();
        command.try_get_matches_from(["fairway"].into_iter().chain(line.split(' '))).unwrap();
    }
    for line in ["serve --for 1s", "serve --exit-after 1s"] {
        let command = fairway::cli::command();
        command.try_get_matches_from(["fairway"].into_iter().chain(line.split(' '))).unwrap();
    }
}

/// Old words are not shown.
#[test]
fn help_shows_the_new_spelling_only() {
    let world = TestProject::uninitialized();
    for (page, shown, hidden) in [
        ("serve", "--exit-after", "--for "),
        ("session launch", "--task ", "--task-id"),
        ("handoff create", "--to-role", "--to "),
        ("prompt", "--text-file", "--body-file"),
    ] {
        let text = world.run(page.split(' ').chain(["--help"])).exits(0).stdout;
        assert!(text.contains(shown) && !text.contains(hidden), "{text}");
    }
}

#[test]
fn unknown_words_have_a_command_as_their_hint() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway statsu",
        "fairway ps",
        "fairway taks",
        "fairway deploy",
        "fairway session restart",
        "fairway session sho",
        "fairway exec logs",
        "fairway task help",
        "fairway task",
        "fairway claim --epcoh 2",
        "fairway claim --search x",
        "fairway task add x --priority high",
        "fairway help nothing",
        "fairway help exit-codes",
        "fairway task claim T-9",
        "fairway task release T-9",
        "fairway task merge-check T-9",
        "fairway message prompt s9 x",
        "fairway message list",
    ]), @"
    $ fairway statsu
    error: unknown command 'statsu'
    hint: did you mean status: fairway status --help
    [exit 2]
    $ fairway ps
    error: unknown command 'ps'
    hint: list the agents: fairway agents
    [exit 2]
    $ fairway taks
    error: unknown command 'taks'
    hint: did you mean task: fairway task --help
    [exit 2]
    $ fairway deploy
    error: unknown command 'deploy'
    hint: land finished work: fairway land TASK
    [exit 2]
    $ fairway session restart
    error: unknown command 'restart'
    hint: relaunch a session: fairway relaunch SESSION
    [exit 2]
    $ fairway session sho
    error: unknown command 'sho'
    hint: did you mean show: fairway session show --help
    [exit 2]
    $ fairway exec logs
    error: unknown command 'logs'
    hint: print a job's output: fairway exec log JOB
    [exit 2]
    $ fairway task help
    error: unknown command 'help'
    hint: list the commands: fairway task --help
    [exit 2]
    $ fairway task
    error: a command is missing
    hint: list the commands: fairway task --help
    [exit 2]
    $ fairway claim --epcoh 2
    error: unexpected argument '--epcoh' found
    hint: did you mean --epoch: fairway claim --help
    [exit 2]
    $ fairway claim --search x
    error: unexpected argument '--search' found
    hint: read the help: fairway claim --help
    [exit 2]
    $ fairway task add x --priority high
    error: invalid value 'high' for '--priority <0-4>': must be a number from 0 (first) to 4 (last)
    hint: read the help: fairway task add --help
    [exit 2]
    $ fairway help nothing
    error: there is no command or topic 'nothing'
    [exit 3]
    $ fairway help exit-codes
    Exit codes. With --json an error is one JSON object on stderr; its `code`
    says more (docs/reference/codes.md).

      0  ok         Done, already done, or the reader closed the pipe
      1  failure    Any other error
      2  usage      Invalid arguments or values
      3  not found  No such thing, or an ambiguous name
      4  conflict   Already claimed, stale claim, or illegal transition
      5  refused    A rule or gate refuses
      6  empty      Nothing to claim, or nothing arrived in time
      7  external   A program or backend failed or timed out
      8  busy       The store is locked or not writable; try again
      9  untrusted  The configuration is not trusted: fairway trust
    $ fairway task claim T-9
    error: there is no task 'T-9'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway task release T-9
    error: there is no task 'T-9'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway task merge-check T-9
    error: there is no task 'T-9'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway message prompt s9 x
    error: unknown command 'prompt'
    hint: send text to an agent: fairway send s9 x
    [exit 2]
    $ fairway message list
    error: unknown command 'list'
    hint: list what is not delivered: fairway outbox
    [exit 2]
    ");
}

/// A list item is a text. A flag that does not exist is none.
#[test]
fn texts_may_begin_with_a_hyphen() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "-f is ignored", "--body", "- first\n- second"]).exits(0);
    world.run(["task", "add", "- an item"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["--session", "s1", "note", "- done: --force is refused"]).exits(0);
    world.run(["--session", "s1", "task", "block", "T-1", "--reason", "-u needs a user"]).exits(0);
    world.run(["send", "s1", "--no-wait is slow"]).exits(0);
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!(task["title"], "-f is ignored");
    assert_eq!(task["body"], "- first\n- second");
    let events = world.run(["events"]).exits(0).stdout;
    for text in ["-u needs a user", "- done: --force is refused"] {
        assert!(events.contains(text), "{text}: {events}");
    }
    for words in [&["task", "add", "T-3", "title", "--bdoy", "x"][..], &["note", "--tsak", "T-1"], &["note", "-x"]] {
        let run = world.run(words).exits(2);
        assert!(run.stderr.contains("unexpected argument"), "{words:?}: {run:?}");
    }
}
