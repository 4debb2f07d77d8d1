//! `fairway session event`

use crate::common::TestProject;

#[test]
fn provider_events_form_a_session() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'first task' --quiet",
        "fairway session event --provider acme --external-session-id x1 --state started",
        "fairway session event --provider acme --external-session-id x1 --state started --role backend --task-id T-1 --dry-run",
        "fairway session event --provider acme --external-session-id x1 --state started --role backend --task-id T-1 --backend acme-cloud --transcript t.log",
        "fairway session event --provider acme --external-session-id x1 --state inProgress --summary 'reads'",
        "fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r build' --event-id e1",
        "fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r build' --event-id e1",
        "fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r src' --event-id e1",
        "fairway session list",
        "fairway session event --provider acme --external-session-id x1 --state stale",
        "fairway session event --provider acme --external-session-id x1 --state running --quiet",
        "fairway session event --provider acme --external-session-id x1 --state completed --summary 'all is done' --handoff-to qa",
        "fairway session event --provider acme --external-session-id x1 --state running",
        "fairway session event --provider acme --external-session-id x1 --state finished",
        "fairway checkpoint list T-1",
        "fairway handoff list",
        "fairway session list --all",
    ]), @"
    $ fairway task add T-1 'first task' --quiet
    T-1
    $ fairway session event --provider acme --external-session-id x1 --state started
    error: a new session requires --role
    [exit 2]
    $ fairway session event --provider acme --external-session-id x1 --state started --role backend --task-id T-1 --dry-run
    would record started: new session backend-acme-xxfaa: running; checkpoint active on T-1
    $ fairway session event --provider acme --external-session-id x1 --state started --role backend --task-id T-1 --backend acme-cloud --transcript t.log
    recorded started: new session backend-acme-jkhaa: running; checkpoint active on T-1
    $ fairway session event --provider acme --external-session-id x1 --state inProgress --summary 'reads'
    recorded running: session backend-acme-jkhaa: running
    state running records no checkpoint; summary and artifact are discarded
    $ fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r build' --event-id e1
    recorded waiting_on_approval: session backend-acme-jkhaa: running, waiting for approval; checkpoint awaiting_input on T-1
    $ fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r build' --event-id e1
    recorded waiting_on_approval: session backend-acme-jkhaa: running, waiting for approval; checkpoint awaiting_input on T-1
    $ fairway session event --provider acme --external-session-id x1 --state waitingOnApproval --summary 'rm -r src' --event-id e1
    error: the event id 'e1' was used for another event of this session
    hint: another event needs another --event-id
    [exit 2]
    $ fairway session list
    ID                  STATUS   ACTIVITY         ROLE     LANE  HOLDS  PROVIDER  SEEN  DOING
    backend-acme-jkhaa  running  requires_action  backend  -     -      acme      3s    approval: rm -r build
    $ fairway session event --provider acme --external-session-id x1 --state stale
    recorded stale: session backend-acme-jkhaa: stale; checkpoint awaiting_input on T-1
    $ fairway session event --provider acme --external-session-id x1 --state running --quiet
    backend-acme-jkhaa
    $ fairway session event --provider acme --external-session-id x1 --state completed --summary 'all is done' --handoff-to qa
    recorded completed: session backend-acme-jkhaa: ended; checkpoint done on T-1; handoff of T-1 to role qa
    $ fairway session event --provider acme --external-session-id x1 --state running
    error: the session backend-acme-jkhaa has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session event --provider acme --external-session-id x1 --state finished
    error: invalid value 'finished' for '--state <STATE>': 'finished' is none of started, running, waiting_on_approval, waiting_on_input, completed, failed, no_progress, stale
    hint: read the help: fairway session event --help
    [exit 2]
    $ fairway checkpoint list T-1
    ID  TASK  STATE           AGE  BY                             OWNER  DUE  SUMMARY
    1   T-1   active          11s  backend-acme-jkhaa (provider)  -      -    started; acme session x1, transcript [world]/project/t.log
    2   T-1   awaiting_input  9s   backend-acme-jkhaa (provider)  -      -    rm -r build
    3   T-1   awaiting_input  5s   backend-acme-jkhaa (provider)  -      -    gives no sign of life
    4   T-1   done            3s   backend-acme-jkhaa (provider)  -      -    all is done
    $ fairway handoff list
    ID  TASK  STATUS  FROM     TO       AGE  SUMMARY
    1   T-1   open    backend  role qa  4s   all is done
    $ fairway session list --all
    ID                  STATUS  ACTIVITY  ROLE     LANE  HOLDS  PROVIDER  SEEN  DOING
    backend-acme-jkhaa  ended   -         backend  -     -      acme      6s    launched for T-1, which it has not claimed
    ");
}
