//! Commands give the same answers on both engines, in words, in JSON and as exit codes.

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// One story through every noun. A line with `--json` is run as it is; another one too.
const STORY: &[&str] = &[
    "task add 'one task' --label b --label a --label c --path 'src/**' --path docs --check 'ok=true' --check 'all=make test'",
    "task add A-10 'another one' --priority 1 --depends-on T-1 --review-domain security --review-domain api",
    "task add A-9 'before it' --priority 1 --parent T-1 --body 'a text with ümlauts, €, 日本語 and \"quotes\"'",
    "task add --id a10 'like another'",
    "task add T-7 'for the lane'",
    "task add T-8 'to remove'",
    "task add T-9 'to cancel'",
    "task dep add T-7 T-9",
    "task dep tree T-7",
    "task dep rm T-7 T-9",
    "task dep add T-1 A-10",
    "task show A10",
    "task show nothing",
    "task rm T-8",
    "task add T-8 'again'",
    "task cancel T-9 --reason 'not needed'",
    "task reopen T-9 --reason 'needed'",
    "task edit T-7 --title 'for the lane ui' --label z --label y",
    "task list --json",
    "task list --all",
    "task export",
    "lane add ui --role worker --wip 2",
    "lane add api --title 'the other one'",
    "task edit T-7 --lane ui",
    "lane list --json",
    "lane show ui",
    "lane pause api",
    "lane open api",
    "ready --json",
    "ready --role worker --lane ui",
    "session upsert --id s1 --role worker --lane ui --provider claude --external-session-id x-1",
    "session upsert --id s2 --role worker --provider claude --external-session-id x-2",
    "session upsert --id s1 --role worker --activity busy",
    "session list --json",
    "session list",
    "claim --session s1",
    "claim T-1 --session s2 --lease 10m",
    "claim T-1 --session s1",
    "claim A-9",
    "claim A-10 --json",
    "status --json",
    "status",
    "checkpoint record T-7 --state active --summary 'half of it' --session s1 --due 2h",
    "checkpoint record T-1 --state awaiting_input --summary 'which one?' --session s2",
    "checkpoint record A-9 --state planned --summary 'by a person' --owner ann",
    "checkpoint list T-7 --json",
    "checkpoint latest T-1",
    "checkpoint show 2",
    "checkpoint overdue",
    "evidence add T-7 --result pass --kind test --summary 'all green' --session s1",
    "evidence add T-1 --result fail --session s2",
    "evidence list T-7 --json",
    "evidence show 1",
    "handoff create T-7 --to qa --summary 'please look' --session s1",
    "handoff list --json",
    "handoff accept 1 --as qa --session s2",
    "handoff create A-9 --to-lane api --summary 'for the other lane'",
    "handoff decline 2 --reason 'no time'",
    "review request T-7 --domain security",
    "review record T-7 --domain security --verdict approve --commit abcdef0 --notes fine",
    "review record T-7 --domain api --verdict changes --commit abcdef0",
    "review request T-1 --domain api",
    "review withdraw 3",
    "review request T-1 --domain api",
    "review list T-7 --json",
    "review list T-1",
    "message send 'hello there' --to-session s1",
    "message send 'to the lane' --to-lane ui --priority urgent",
    "message send 'for every worker' --to-role worker --dedup k",
    "message send 'for every worker' --to-role worker --dedup k",
    "outbox --json",
    "inbox --session s1",
    "inbox --session s1 --ack",
    "inbox --session s2 --json",
    "outbox withdraw 3",
    "outbox --json",
    "note --task A-9 'a note'",
    "task block A-9 --reason rain",
    "task unblock A-9",
    "task submit A-9",
    "task resume A-9",
    "done A-9 --force --reason 'seen by hand'",
    "task show A-10 --json",
    "release A-10",
    "release --dead",
    "task list --held --json",
    "claim --session s1 --json",
    "session show s1 --json",
    "session heartbeat s2",
    "usage --json",
    "search one --json",
    "search hello",
    "search look --task T-7",
    "overlap --json",
    "guard log --json",
    "approvals list --json",
    "exec list --json",
    "explain T-7",
    "prime --session s1",
    "session end s1 --reason finished",
    "session reconcile --dry-run --json",
    "doctor --json",
    "task add U-1 'with a request' --request-id r-1 --json",
    "task add U-1 'with a request' --request-id r-1 --json",
    "task add U-2 'with another one' --request-id r-1 --json",
    "task add --json",
    "events --json",
    "events --of-task T-7 --tail 3",
    "events --kind 'task.*' --json",
    "merge-ready T-7 --json",
    "lane rm api",
    "lane rm ui",
    "lane list",
    "status --json",
];

/// The output without what differs on purpose: where the store is, how it is looked after, and the width of a column in which a
/// person's name has the letters of the machine.
fn comparable(world: &TestProject, output: &CommandOutput) -> String {
    let text = world.redacted(&format!("{:?}\n{}\n{}", output.code, output.stdout, output.stderr));
    let host = |line: &str| !line.contains("same_user");
    let columns = |line: &str| {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        cells.join("  ")
    };
    text.lines().filter(|line| host(line)).map(columns).collect::<Vec<_>>().join("\n")
}

#[test]
fn both_engines_give_the_same_answers() {
    let Some(server) = TestProject::on_postgres() else { return };
    let file = TestProject::new();
    let mut differences = Vec::new();
    let mut misused = 0;
    for line in STORY {
        let words = shell_words::split(line).unwrap();
        let [expected, found] = [&file, &server].map(|world| {
            let output = world.run(&words);
            misused += usize::from(output.code == Some(2));
            comparable(world, &output)
        });
        if expected != found {
            differences.push(format!("$ {line}\n--- file\n{expected}\n--- server\n{found}"));
        }
    }
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), STORY.len(), differences.join("\n\n"));
    // A line that the parser refuses compares little: two are meant to be misused, on each engine.
    assert_eq!(misused, 4);
}
