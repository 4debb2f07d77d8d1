//! `fairway explain …`

use crate::common::TestProject;

#[test]
fn facts_come_with_their_source_and_age() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'first' --path 'src/**' --quiet",
        "fairway task add T-2 'second' --depends-on T-1 --quiet",
        "fairway task add T-3 'third' --path src/main.rs --quiet",
        "fairway explain task T-1",
        "fairway session upsert --id be-1 --role backend --task-id T-1 --quiet",
        "fairway --session be-1 claim T-1 --lease 10s --quiet",
        "fairway explain task T-2",
        "fairway explain task T-3",
        "fairway session upsert --id be-2 --role backend --quiet",
        "fairway --session be-2 claim T-1 --steal --reason 'it sleeps' --quiet",
        "fairway explain task T-1",
        "fairway explain session be-1",
        "fairway explain task T-9",
    ]), @"
    $ fairway task add T-1 'first' --path 'src/**' --quiet
    T-1
    $ fairway task add T-2 'second' --depends-on T-1 --quiet
    T-2
    $ fairway task add T-3 'third' --path src/main.rs --quiet
    T-3
    $ fairway explain task T-1
    T-1 is todo
    FACT                      SOURCE  AGE
    added, no transition yet  task    3s
    no rule prevents a claim  rules   -
    $ fairway session upsert --id be-1 --role backend --task-id T-1 --quiet
    be-1
    $ fairway --session be-1 claim T-1 --lease 10s --quiet
    T-1
    $ fairway explain task T-2
    T-2 is todo
    FACT                      SOURCE    AGE
    added, no transition yet  task      5s
    T-1 is in_progress        task T-1  1s
    $ fairway explain task T-3
    T-3 is todo
    FACT                                                                         SOURCE  AGE
    added, no transition yet                                                     task    5s
    T-3 touches 'src/main.rs', which overlaps 'src/**' of T-1 (claimed by be-1)  rules   -
    $ fairway session upsert --id be-2 --role backend --quiet
    be-2
    $ fairway --session be-2 claim T-1 --steal --reason 'it sleeps' --quiet
    T-1
    $ fairway explain task T-1
    T-1 is in_progress
    FACT                                                                  SOURCE        AGE
    claimed by be-2, stolen from be-1 (it sleeps)                         event 7       1s
    claimed by be-2 as backend, epoch 2                                   claim 2       1s
    the claimant's session is running                                     session be-2  1s
    was claimed by be-1, epoch 1, until 2026-01-01T00:00:11.000Z: stolen  claim 1       5s
    $ fairway explain session be-1
    be-1 is running
    FACT                                                                                        SOURCE      AGE
    running                                                                                     session     7s
    last heartbeat                                                                              session     6s
    task T-1 is in_progress, claimed by be-2                                                    task T-1    2s
    no process is recorded                                                                      the kernel  0s
    reconcile would not change it: there is nothing to probe, and its last heartbeat is recent  rules       0s
    $ fairway explain task T-9
    error: there is no task 'T-9'
    hint: did you mean T-1, T-2, T-3?
    [exit 3]
    ");
    world.advance_clock(3_600);
    insta::assert_snapshot!(world.transcript(&[
        "fairway session reconcile",
        "fairway explain session be-1",
    ]), @"
    $ fairway session reconcile
    changed 2 of 2 sessions
      stale       be-1 T-1: no heartbeat for 1h
      stale       be-2: no heartbeat for 1h
      unattended  be-2 T-1: claimed by be-2, which is stale
    $ fairway explain session be-1
    be-1 is stale
    FACT                                                SOURCE      AGE
    stale: no heartbeat for 1h                          event 8     1s
    last heartbeat                                      session     1h 9s
    task T-1 is in_progress, claimed by be-2            task T-1    1h 5s
    no process is recorded                              the kernel  0s
    reconcile would find it stale: no heartbeat for 1h  rules       0s
    ");
    let view = world.json(["explain", "session", "be-1"]);
    assert_eq!(view["status"], "stale");
    let fact = &view["facts"][0];
    assert_eq!((fact["code"].as_str(), fact["age_ms"].as_i64()), (Some("status"), Some(2_000)));
}

#[test]
fn id_alone_names_a_task_or_a_session() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.add_session("s1");
    assert_eq!(world.run(["explain", "T-1"]).stdout.lines().next(), Some("T-1 is todo"));
    assert_eq!(world.json(["explain", "s1"])["noun"], "session");
    // An id of both is neither until its kind is named.
    world.run(["task", "add", "--id", "s1", "of the same name"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway explain s1",
        "fairway explain task s1",
        "fairway explain T-2",
        "fairway explain s2",
        "fairway explain 'a b'",
        "fairway explain",
        "fairway explain T-1 task T-1",
    ]), @"
    $ fairway explain s1
    error: id 's1' is ambiguous: it fits task s1, session s1
    hint: name its kind: fairway explain task s1, or fairway explain session s1
    [exit 3]
    $ fairway explain task s1
    s1 is todo
    FACT                      SOURCE  AGE
    added, no transition yet  task    2s
    no rule prevents a claim  rules   -
    $ fairway explain T-2
    error: there is no task or session 'T-2'
    hint: did you mean T-1?
    [exit 3]
    $ fairway explain s2
    error: there is no task or session 's2'
    hint: list the tasks: fairway task list
    [exit 3]
    $ fairway explain 'a b'
    error: id 'a b' is not the id of a task or session
    [exit 2]
    $ fairway explain
    error: the following required arguments were not provided: <ID>
    hint: write it as: fairway explain <ID>
    [exit 2]
    $ fairway explain T-1 task T-1
    error: give one id: explain ID, explain task ID or explain session ID
    [exit 2]
    ");
}
