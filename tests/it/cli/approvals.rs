//! `fairway approvals …`

use std::fs;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

#[test]
fn approvals_are_listed_and_answered() {
    let world = TestProject::new();
    world.add_session("s1");
    world.add_session("s2");
    fixtures::add_approval(&world, "s1", "Bash", true);
    fixtures::add_approval(&world, "s2", "Edit", false);
    fixtures::add_approval(&world, "s2", "Bash", true);
    insta::assert_snapshot!(world.transcript(&[
        "fairway approvals list",
        "fairway approvals list --quiet",
        "fairway approvals watch --for 10ms",
        "fairway --session s1 approvals answer 1 allow",
        "fairway --session s2 approvals answer 1 deny --reason 'not on a Friday'",
        "fairway approvals answer 1 deny",
        "fairway approvals answer 1 allow",
        "fairway approvals answer 2 allow",
        "fairway approvals answer 9 allow",
        "fairway approvals answer 3 maybe",
        "fairway session end s2",
        "fairway approvals answer 3 allow",
        "fairway approvals list",
        "fairway approvals list --all",
    ]), @"
    $ fairway approvals list
    ID  SESSION  PROVIDER  TOOL  STATUS   HERE  AGE  INPUT
    1   s1       acme      Bash  pending  yes   1s   ls
    2   s2       acme      Edit  pending  no    1s   ls
    3   s2       acme      Bash  pending  yes   1s   ls
    $ fairway approvals list --quiet
    1
    2
    3
    $ fairway approvals watch --for 10ms
    approval 1: s1 asks for Bash: ls
      fairway approvals answer 1 allow    (or deny)
    approval 2: s2 asks for Edit: ls
      answer in its window: fairway session attach s2
    approval 3: s2 asks for Bash: ls
      fairway approvals answer 3 allow    (or deny)
    watching for permission requests; Ctrl-C ends
    $ fairway --session s1 approvals answer 1 allow
    error: session s1 cannot answer its own approval request 1
    [exit 5]
    $ fairway --session s2 approvals answer 1 deny --reason 'not on a Friday'
    denied Bash of s1
    $ fairway approvals answer 1 deny
    unchanged: approval 1 is denied already
    $ fairway approvals answer 1 allow
    error: approval 1 is already denied
    [exit 4]
    $ fairway approvals answer 2 allow
    error: approval 2 cannot be answered from here: acme asks in its own window
    hint: answer in its terminal: fairway session attach s2
    [exit 5]
    $ fairway approvals answer 9 allow
    error: there is no approval '9'
    hint: list the open approvals: fairway approvals list
    [exit 3]
    $ fairway approvals answer 3 maybe
    error: invalid value 'maybe' for '<ANSWER>': 'maybe' is none of allow, deny
    hint: read the help: fairway approvals answer --help
    [exit 2]
    $ fairway session end s2
    s2 has ended
    $ fairway approvals answer 3 allow
    error: approval 3 is no longer pending: the session is over
    hint: list the approvals: fairway approvals list
    [exit 4]
    $ fairway approvals list
    no approvals
    $ fairway approvals list --all
    ID  SESSION  PROVIDER  TOOL  STATUS  HERE  AGE  INPUT
    1   s1       acme      Bash  denied  yes   14s  ls
    2   s2       acme      Edit  lapsed  no    14s  ls
    3   s2       acme      Bash  lapsed  yes   14s  ls
    ");
}

#[test]
fn session_answers_only_in_a_trusted_role_and_never_itself() {
    let world = TestProject::new();
    for session in ["s1", "s2", "s3"] {
        world.add_session(session);
    }
    world.write_rows("UPDATE agent_sessions SET role = 'lead' WHERE id <> 's3'");
    for _ in 0..2 {
        fixtures::add_approval(&world, "s1", "Bash", true);
    }
    let inside = |session: &str, words: &[&str]| {
        let mut command = world.fairway(["approvals", "answer"].iter().chain(words).chain(&["--json"]));
        command.env("FAIRWAY_SESSION_ID", session).env("FAIRWAY_ROLE", "lead");
        CommandOutput::from(command.output().unwrap())
    };
    inside("s2", &["1", "allow"]).refuses(5, "inside_session");
    let config = world.root().join(".fairway.toml");
    fs::write(&config, "[roles.lead]\nmay = [\"answer\"]\n").unwrap();
    inside("s2", &["1", "allow"]).refuses(5, "inside_session");
    world.run(["trust"]).exits(0);
    inside("s1", &["1", "allow"]).refuses(5, "own_approval");
    // The role of the session's record counts, and nobody acts as another session.
    inside("s3", &["1", "allow"]).refuses(5, "inside_session");
    inside("s3", &["1", "allow", "--session", "s2"]).refuses(5, "inside_session");
    inside("s1", &["1", "allow", "--session", "s2"]).refuses(5, "own_approval");
    inside("s2", &["1", "allow"]).exits(0);
    // An agent that edits the roles gains nothing.
    fs::write(&config, "[roles.lead]\nmay = [\"answer\"]\n[roles.worker]\nmay = [\"answer\"]\n").unwrap();
    inside("s3", &["2", "allow"]).refuses(5, "inside_session");
    inside("s2", &["2", "deny"]).exits(0);
}
