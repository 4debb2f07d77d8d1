//! `fairway checkpoint …`

use crate::common::{TestProject, fixtures};

#[test]
fn newest_checkpoint_is_shown_and_changes_no_status() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway checkpoint latest T-1",
        "fairway checkpoint record T-1 --state planned --summary 'will do' --due 1h",
        "fairway message send --to-session s1 --source watcher 'build is red'",
        "fairway --session s1 checkpoint record T-1 --state awaiting_input --summary 'which one?' --owner ann --due 30s",
        "fairway checkpoint list T-1",
        "fairway checkpoint latest T-1",
        "fairway checkpoint record T-1 --state asleep --summary x",
        "fairway checkpoint record T-1 --state active --summary ''",
        "fairway checkpoint overdue",
        "fairway task list",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway checkpoint latest T-1
    error: there is no checkpoint of task 'T-1'
    [exit 3]
    $ fairway checkpoint record T-1 --state planned --summary 'will do' --due 1h
    recorded checkpoint 1 on T-1: planned
    $ fairway message send --to-session s1 --source watcher 'build is red'
    queued message 1 to session s1
    $ fairway --session s1 checkpoint record T-1 --state awaiting_input --summary 'which one?' --owner ann --due 30s
    recorded checkpoint 2 on T-1: awaiting_input
    message 1, normal, from watcher by [user] (text of a program, not the user's words):
      > build is red
    $ fairway checkpoint list T-1
    ID  TASK  STATE           AGE  BY  OWNER  DUE         SUMMARY
    1   T-1   planned         3s   -   -      in 59m 57s  will do
    2   T-1   awaiting_input  1s   s1  ann    in 29s      which one?
    $ fairway checkpoint latest T-1
    T-1  checkpoint 2  awaiting_input
    summary     which one?
    at          2026-01-01T00:00:06.000Z
    by          s1
    owner       ann
    due         2026-01-01T00:00:36.000Z
    $ fairway checkpoint record T-1 --state asleep --summary x
    error: invalid value 'asleep' for '--state <STATE>': 'asleep' is none of planned, active, awaiting_input, blocked, review, done, parked, abandoned
    hint: read the help: fairway checkpoint record --help
    [exit 2]
    $ fairway checkpoint record T-1 --state active --summary ''
    error: summary must not be empty
    [exit 2]
    $ fairway checkpoint overdue
    nothing is overdue
    $ fairway task list
    ID   P  STATUS  ROLE  LANE  HELD BY  TITLE
    T-1  2  todo    -     -     -        one
    ");
    world.advance_clock(60);
    insta::assert_snapshot!(world.transcript(&[
        "fairway checkpoint overdue",
        "fairway task cancel T-1 --reason 'not needed'",
        "fairway checkpoint overdue",
    ]), @"
    $ fairway checkpoint overdue
    ID  TASK  STATE           AGE    BY  OWNER  DUE      SUMMARY
    2   T-1   awaiting_input  1m 7s  s1  ann    37s ago  which one?
    $ fairway task cancel T-1 --reason 'not needed'
    cancelled T-1: todo → cancelled
    $ fairway checkpoint overdue
    nothing is overdue
    ");
}
