//! `fairway guard …`.

use crate::common::TestProject;
use crate::guard::world_with;

const GUARD: &str = r#"
[guard.roles.witness]
allow = ["Read", "Grep"]

[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f"]
action = "deny"
reason = "force push is for people"
"#;

#[test]
fn calls_are_decided_explained_and_looked_up() {
    let world: TestProject = world_with(GUARD);
    insta::assert_snapshot!(world.transcript(&[
        "fairway guard check --session s1 --tool Bash --input '{\"command\": \"cd x && sudo git push -fu origin\"}'",
        "fairway guard check --session s1 --tool Bash --input '{\"command\": \"git push origin main\"}'",
        "fairway guard test --role backend --input 'ls | xargs git push'",
        "fairway guard test --role witness --tool Bash --input ls",
        "fairway guard log --denied",
    ]), @r#"
    $ fairway guard check --session s1 --tool Bash --input '{"command": "cd x && sudo git push -fu origin"}'
    error: no-force-push: force push is for people
    hint: why: fairway guard test --role ROLE --tool TOOL --input JSON
    [exit 5]
    $ fairway guard check --session s1 --tool Bash --input '{"command": "git push origin main"}'
    allowed: no rule denies it
    $ fairway guard test --role backend --input 'ls | xargs git push'
    denied: no-force-push: force push is for people; cannot determine whether the rule applies: in 'git push …' '…' is an expansion and may be one of the flags; write the command out in full
    command   ls
    command   xargs git push
    command   git push …
    rule      no-force-push matches: unresolved: in 'git push …' '…' is an expansion and may be one of the flags
    $ fairway guard test --role witness --tool Bash --input ls
    denied: roles.witness: the role witness may use only Read, Grep
    $ fairway guard log --denied
    ID  AGE  SESSION  TOOL  VERDICT  RULE           REASON                    INPUT
    1   4s   s1       Bash  denied   no-force-push  force push is for people  cd x && sudo git push -fu origin
    "#);
}

#[test]
fn tested_command_is_shown_with_its_quotes() {
    let world: TestProject = world_with(GUARD);
    let input = "sh -c 'git push -fu origin main'";
    let shown = world.run(["guard", "test", "--role", "backend", "--input", input]).exits(0).stdout;
    assert!(shown.contains("\ncommand   sh -c 'git push -fu origin main'\n"), "{shown}");
    let plain =
        world.run(["guard", "test", "--role", "backend", "--input", "git log --format=%h:%s src/*.rs"]).exits(0).stdout;
    assert!(plain.contains("\ncommand   git log --format=%h:%s "), "{plain}");
}
