//! `fairway session …`

use serde_json::Value;

use crate::common::TestProject;

#[test]
fn session_lifecycle_is_printed() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'first task' --quiet",
        "fairway session upsert --id be-1",
        "fairway session upsert --id be-1 --role backend --provider acme --task-id T-1 --status starting",
        "fairway session upsert --id be-1 --branch topic",
        "fairway session upsert --id be-1 --branch topic",
        "fairway session heartbeat be-1",
        "fairway session heartbeat be-1 --activity requires_action --waiting-for 'which port?' --context-usage 0.5",
        "fairway session heartbeat be-1",
        "fairway session status be-1",
        "fairway session list",
        "fairway session upsert --id be-1 --status starting",
        "fairway session end be-1 --exit-code 3 --reason 'out of memory'",
        "fairway session end be-1",
        "fairway session forget be-1",
        "fairway session end be-1 --status ended",
        "fairway session heartbeat be-1",
        "fairway session upsert --id be-1 --status running",
        "fairway session status be-1",
        "fairway session list",
        "fairway session list --all --quiet",
        "fairway session show be-2",
    ]), @"
    $ fairway task add T-1 'first task' --quiet
    T-1
    $ fairway session upsert --id be-1
    error: session be-1 does not exist; a new session requires --role
    [exit 2]
    $ fairway session upsert --id be-1 --role backend --provider acme --task-id T-1 --status starting
    new session be-1: starting
    $ fairway session upsert --id be-1 --branch topic
    updated be-1: branch
    $ fairway session upsert --id be-1 --branch topic
    unchanged: be-1 is starting
    $ fairway session heartbeat be-1
    heartbeat: be-1 is running (was starting)
    $ fairway session heartbeat be-1 --activity requires_action --waiting-for 'which port?' --context-usage 0.5
    heartbeat: be-1, requires_action, waiting for: which port?, context 50 % full
    $ fairway session heartbeat be-1
    heartbeat: be-1
    $ fairway session status be-1
    running, requires_action: which port?
    $ fairway session list
    ID    STATUS   ACTIVITY         ROLE     LANE  HOLDS  PROVIDER  SEEN  DOING
    be-1  running  requires_action  backend  -     -      acme      2s    which port?
    $ fairway session upsert --id be-1 --status starting
    error: the session be-1 is running; it cannot become starting
    [exit 4]
    $ fairway session end be-1 --exit-code 3 --reason 'out of memory'
    be-1 has failed with exit code 3
    $ fairway session end be-1
    unchanged: be-1 has already failed
    $ fairway session forget be-1
    unchanged: be-1 has already failed
    $ fairway session end be-1 --status ended
    error: the session be-1 has failed and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session heartbeat be-1
    error: the session be-1 has failed and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session upsert --id be-1 --status running
    error: the session be-1 has failed and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway session status be-1
    failed with exit code 3: out of memory
    $ fairway session list
    no sessions
    $ fairway session list --all --quiet
    be-1
    $ fairway session show be-2
    error: there is no session 'be-2'
    hint: did you mean be-1: fairway session show be-1
    [exit 3]
    ");
}

#[test]
fn upsert_and_show_print_every_field() {
    let world = TestProject::new();
    let transcript = world.transcript(&[
        "fairway session upsert --id be-1 --role backend --provider acme --backend tmux --socket /run/s --pane %1 --name be",
        "fairway session upsert --backend tmux --socket /run/s --pane %1 --external-session-id x1 --branch topic --status stale",
        "fairway session show be-1",
        "fairway session upsert --id be-1 --provider acme --external-session-id x1 --status running --quiet",
        "fairway session upsert --id be-2 --role backend --provider acme --external-session-id x1",
    ]);
    insta::assert_snapshot!(transcript.replace(&fairway_core::os::host::identity().name, "[host]"), @"
    $ fairway session upsert --id be-1 --role backend --provider acme --backend tmux --socket /run/s --pane %1 --name be
    new session be-1: running
    $ fairway session upsert --backend tmux --socket /run/s --pane %1 --external-session-id x1 --branch topic --status stale
    updated be-1: external_session_id, branch; status stale
    $ fairway session show be-1
    be-1
    status      stale
    alive       unknown: no process is recorded (source: none)
    reason      reported stale
    role        backend
    provider    acme
    external    x1
    backend     tmux
    name        be
    socket      /run/s
    pane        %1
    terminal    tmux -S /run/s attach -t '%1'
    host        [host]
    branch      topic
    run         019b76da-afd0-7000-8000-0000000007d1
    started     2026-01-01 00:00:02
    seen        2s ago (source: heartbeat)
    $ fairway session upsert --id be-1 --provider acme --external-session-id x1 --status running --quiet
    be-1
    $ fairway session upsert --id be-2 --role backend --provider acme --external-session-id x1
    error: acme session 'x1' is registered as be-1, which is running
    [exit 4]
    ");
}

#[test]
fn reconcile_reports_its_changes() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway session reconcile",
        "fairway task add T-1 one --quiet",
        "fairway session upsert --id slow --role backend --status starting --task-id T-1",
        "fairway --session slow claim T-1",
        "fairway session upsert --id slower --role backend --status starting",
        "fairway session reconcile",
    ]), @"
    $ fairway session reconcile
    unchanged: 0 sessions
    $ fairway task add T-1 one --quiet
    T-1
    $ fairway session upsert --id slow --role backend --status starting --task-id T-1
    new session slow: starting
    $ fairway --session slow claim T-1
    claimed T-1: one
    $ fairway session upsert --id slower --role backend --status starting
    new session slower: starting
    $ fairway session reconcile
    unchanged: 2 sessions
    ");
    world.advance_clock(3_600);
    insta::assert_snapshot!(world.transcript(&[
        "fairway session reconcile --dry-run",
        "fairway session reconcile",
        "fairway session reconcile",
        "fairway session heartbeat slow",
        "fairway session reconcile",
        "fairway events --since 6",
    ]), @"
    $ fairway session reconcile --dry-run
    would change 2 of 2 sessions
      stale       slow T-1: no heartbeat for 1h
      stale       slower: the launch was never confirmed in 1h
      unattended  slow T-1: claimed by slow, which is stale
    $ fairway session reconcile
    changed 2 of 2 sessions
      stale       slow T-1: no heartbeat for 1h
      stale       slower: the launch was never confirmed in 1h
      unattended  slow T-1: claimed by slow, which is stale
    $ fairway session reconcile
    unchanged: 2 sessions
      unattended  slow T-1: claimed by slow, which is stale
    $ fairway session heartbeat slow
    heartbeat: slow is running again (was stale)
    $ fairway session reconcile
    unchanged: 2 sessions
    $ fairway events --since 6
    7  2026-01-01 01:00:09  checkpoint.recorded  [user]  T-1 slow  id=1 state=awaiting_input summary=session slow is stale: no heartbeat for 1h origin=reconcile
    8  2026-01-01 01:00:09  session.stale        [user]  slower    from=starting reason=the launch was never confirmed in 1h
    9  2026-01-01 01:00:11  session.revived      [user]  slow      from=stale task_id=T-1 reason=a heartbeat
    ");
}

#[test]
fn session_is_one_document_wherever_it_appears() {
    let world = TestProject::new();
    let made = world.json([
        "session",
        "upsert",
        "--id",
        "s",
        "--role",
        "r",
        "--run-id",
        "00000000-0000-7000-8000-000000000001",
    ]);
    let names: Vec<&str> = made.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names.join(" "),
        "id run_id role lane task_id provider backend session_name external_session_id status activity waiting_for host \
         pid socket pane transcript worktree branch started_at last_heartbeat_at last_output_at ended_at exit_code reason context_usage \
         relaunch_of sandbox"
    );
    // A session that is looked at has the same members, and then its screen.
    let listed = world.json(["session", "list"])[0].clone();
    assert_eq!(world.json(["session", "status", "s"]), listed);
    let show = || {
        let mut shown = world.json(["session", "show", "s"]);
        for own in ["attach_command", "protocol"] {
            assert!(shown.as_object_mut().unwrap().remove(own).is_some(), "its own key {own}");
        }
        shown
    };
    assert_eq!(show(), listed);
    let seen = [
        "alive", "alive_source", "alive_reason", "holds", "doing", "seen_at", "seen_by", "activity_source",
        "activity_at", "turn_end", "parked", "silence", "unguarded", "other_host", "stopped_by",
    ];
    let without_seen = |mut shown: Value| {
        for key in seen {
            assert!(shown.as_object_mut().unwrap().remove(key).is_some(), "{key}");
        }
        shown
    };
    assert_eq!(without_seen(listed), made);
    let beat = world.json(["session", "heartbeat", "s"]);
    assert_eq!(without_seen(show()), beat);
    let ended = world.json(["session", "end", "s"]);
    assert_eq!((ended["status"].as_str(), ended["exit_code"].is_null()), (Some("ended"), true));
    assert_eq!(world.json(["session", "list"]), serde_json::json!([]));
}

#[test]
fn report_is_the_documented_document() {
    let world = TestProject::new();
    assert_eq!(
        world.run(["session", "reconcile", "--json"]).exits(0).stdout,
        "{\"dry_run\":false,\"checked\":0,\"stale\":[],\"unknown\":[],\"skipped\":[],\"revived\":[],\"idle\":[],\"unattended\":[],\
         \"runs_recovered\":[]}\n"
    );
}

#[test]
fn session_without_a_task_is_not_reminded() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s", "--role", "r"]).exits(0);
    world.run(["session", "heartbeat", "s", "--activity", "idle"]).exits(0);
    let text = world.transcript(&["fairway session continue s"]);
    assert!(text.contains("the session s has not stopped: it has claimed no task"), "{text}");
    assert!(text.contains("fairway prompt s TEXT"), "{text}");
}

#[test]
fn parking_by_hand_has_a_time_to_come_and_an_end() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s", "--role", "r"]).exits(0);
    let text = world.transcript(&[
        "fairway session park s --for 1h --reason later",
        "fairway session unpark s",
        "fairway session unpark s",
        "fairway session park s --until 2020-01-01T00:00:00Z",
        "fairway session park s --until noon",
    ]);
    for part in [
        "s is parked until ",
        " (later)\n",
        "s is parked no more\n",
        "unchanged: s is not parked\n",
        "2020-01-01T00:00:00.000Z is over",
        "'noon' is no time such as 17:00",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
