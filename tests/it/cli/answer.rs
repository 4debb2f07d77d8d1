//! `fairway answer`.

use crate::common::{TestProject, fixtures};

#[test]
fn answer_names_its_question_and_reaches_no_other() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    world.run(["task", "add", "T-1", "Refunds"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    fixtures::ask_by_checkpoint(&world, "s1", "T-1", "net or gross?");
    insta::assert_snapshot!(world.transcript(&[
        "fairway status",
        "fairway answer question:s1:c9 net",
        "fairway --session s1 answer question:s1:c1 net",
        "fairway answer question:s1:c1 gross",
        "fairway status",
        "fairway answer question:s1:c1 net",
        "fairway --session s1 inbox --ack",
        "fairway checkpoint list T-1",
        "fairway session heartbeat s1 --activity requires_action --waiting-for 'may I drop the table?'",
        "fairway status",
        "fairway answer question:s1:1 no",
        "fairway answer question:s1:2 no",
        "fairway answer question:s1:c1 no",
        "fairway answer approval:3 allow",
        "fairway answer s1 no",
        "fairway answer question:s2:1 no",
        "fairway answer question:s1:1 ''",
        "fairway answer question:s1:1",
    ]), @r#"
    $ fairway status
    NEEDS YOU (1)
    ? question  s1 T-1             1s  net or gross?
        answer it: fairway answer question:s1:c1 TEXT

    0 ready · 1 in progress · 0 done

    SESSIONS WITHOUT A LANE (1)
    SESSION            TASK  PROVIDER  ACTIVITY                DOING
    · s1 on elsewhere  T-1   -         running 1s (heartbeat)  net or gross?
    $ fairway answer question:s1:c9 net
    error: there is no question 'question:s1:c9': it is settled, or was never asked
    hint: see what is asked now: fairway status
    [exit 3]
    $ fairway --session s1 answer question:s1:c1 net
    error: the session s1 cannot answer its own question
    [exit 2]
    $ fairway answer question:s1:c1 gross
    answered question:s1:c1: message 1 to s1
    $ fairway status
    nothing needs you

    0 ready · 1 in progress · 0 done

    SESSIONS WITHOUT A LANE (1)
    SESSION            TASK  PROVIDER  ACTIVITY                DOING
    · s1 on elsewhere  T-1   -         running 5s (heartbeat)  net or gross?
    $ fairway answer question:s1:c1 net
    error: there is no question 'question:s1:c1': it is settled, or was never asked
    hint: see what is asked now: fairway status
    [exit 3]
    $ fairway --session s1 inbox --ack
    message 1, urgent, from nudge by [user]:
      | to your question: net or gross?
      | gross
    $ fairway checkpoint list T-1
    ID  TASK  STATE           AGE  BY  OWNER  DUE  SUMMARY
    1   T-1   awaiting_input  8s   s1  -      -    net or gross?
    2   T-1   active          4s   -   s1     -    the answer to checkpoint 1: gross
    $ fairway session heartbeat s1 --activity requires_action --waiting-for 'may I drop the table?'
    heartbeat: s1, requires_action, waiting for: may I drop the table?
    $ fairway status
    NEEDS YOU (1)
    ? question  s1 T-1             1s  may I drop the table?
        see where it runs, and answer it there: fairway session show s1

    0 ready · 1 in progress · 0 done

    SESSIONS WITHOUT A LANE (1)
    SESSION            TASK  PROVIDER  ACTIVITY              DOING
    ? s1 on elsewhere  T-1   -         waits 1s (heartbeat)  may I drop the table?
    $ fairway answer question:s1:1 no
    error: question:s1:1 cannot be answered now: the session has no terminal of a backend, and no stream is connected
    hint: see where it runs, and answer it there: fairway session show s1
    [exit 5]
    $ fairway answer question:s1:2 no
    error: there is no question 'question:s1:2': the session asks another one now, question:s1:1: may I drop the table?
    hint: see what is asked now: fairway status
    [exit 3]
    $ fairway answer question:s1:c1 no
    error: there is no question 'question:s1:c1': the session asks another one now, question:s1:1: may I drop the table?
    hint: see what is asked now: fairway status
    [exit 3]
    $ fairway answer approval:3 allow
    error: invalid value 'approval:3' for '<QUESTION>': question 'approval:3' is a permission request; answer it so: fairway approvals answer 3 allow
    hint: see what is asked: fairway status
    [exit 2]
    $ fairway answer s1 no
    error: invalid value 's1' for '<QUESTION>': question 's1' must be question:SESSION:N, as fairway status --json names it
    hint: see what is asked: fairway status
    [exit 2]
    $ fairway answer question:s2:1 no
    error: there is no session 's2'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway answer question:s1:1 ''
    error: answer must not be empty
    [exit 2]
    $ fairway answer question:s1:1
    error: the following required arguments were not provided: <TEXT>
    hint: write it as: fairway answer <QUESTION> <TEXT>
    [exit 2]
    "#);
}
