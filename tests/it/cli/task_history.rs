//! The history of a task: the timeline of `task show`, and single records.

use std::fs;

use serde_json::json;

use crate::common::{TestProject, fixtures};

#[test]
fn task_show_ends_with_a_timeline() {
    let world = TestProject::new();
    fixtures::add_session(&world, "m1", "dev", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-4 'Masked' --quiet",
        "fairway task add T-5 'Later' --depends-on T-4 --quiet",
        "fairway --session m1 claim T-4 --quiet",
        "fairway --session m1 checkpoint record T-4 --state active --summary 'parser done' --quiet",
        "fairway --session m1 evidence add T-4 --result fail --commit 0123456789abcdef --quiet",
        "fairway --session m1 handoff create T-4 --to-role qa --summary 'please test' --quiet",
        "fairway review request T-4 --domain data --quiet",
        "fairway session end m1 --reason 'out of memory' --quiet",
        "fairway task edit T-4 --priority 0 --quiet",
        "fairway claim T-4 --steal --reason 'm1 has ended' --quiet",
        "fairway review record T-4 --domain data --verdict changes --commit 0123456789abcdef --quiet",
        "fairway task show T-4",
    ]), @"
    $ fairway task add T-4 'Masked' --quiet
    T-4
    $ fairway task add T-5 'Later' --depends-on T-4 --quiet
    T-5
    $ fairway --session m1 claim T-4 --quiet
    T-4
    $ fairway --session m1 checkpoint record T-4 --state active --summary 'parser done' --quiet
    1
    $ fairway --session m1 evidence add T-4 --result fail --commit 0123456789abcdef --quiet
    1
    $ fairway --session m1 handoff create T-4 --to-role qa --summary 'please test' --quiet
    1
    $ fairway review request T-4 --domain data --quiet
    1
    $ fairway session end m1 --reason 'out of memory' --quiet
    m1
    $ fairway task edit T-4 --priority 0 --quiet
    T-4
    $ fairway claim T-4 --steal --reason 'm1 has ended' --quiet
    T-4
    $ fairway review record T-4 --domain data --verdict changes --commit 0123456789abcdef --quiet
    1
    $ fairway task show T-4
    T-4  Masked
    status      in_progress
    held by     [user] since 2026-01-01 00:00:11, epoch 2
    ready       no
    priority    0
    needed by   T-5 (todo)
    created     2026-01-01 00:00:02
    updated     2026-01-01 00:00:11
    checkpoint  active (by m1, 8s ago): parser done

    AGO  BY  EVENT
    11s  [user]  added
    9s  m1  claimed, epoch 1
    8s  m1  checkpoint 1, active: parser done
    7s  m1  evidence 1, test fail, commit 0123456789ab
    6s  m1  handoff 1 to role qa: please test
    5s  [user]  requested review 1, data
    4s  [user]  session m1 ended (out of memory)
    3s  [user]  edited: priority
    2s  [user]  claimed, epoch 2, stolen from m1 (m1 has ended)
    1s  [user]  review 1, data: changes, commit 0123456789ab
    ");
    let view = world.json(["task", "show", "T-4"]);
    assert_eq!(view["dependents"], json!([{ "id": "T-5", "status": "todo" }]));
    assert_eq!((&view["checkpoint"]["summary"], &view["checkpoint_by"]), (&json!("parser done"), &json!("m1")));
    let kinds: Vec<_> = view["timeline"].as_array().unwrap().iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(kinds.len(), 10, "{kinds:?}");
    assert!(kinds.contains(&json!("session.ended")), "{kinds:?}");
    let seqs: Vec<_> = view["timeline"].as_array().unwrap().iter().map(|one| one["seq"].as_i64()).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
}

#[test]
fn timeline_shows_the_newest_entries_and_the_command_for_the_rest() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    for number in 1..=25 {
        let summary = format!("step {number}");
        world.run(["checkpoint", "record", "T-1", "--state", "active", "--summary", &summary]).exits(0);
    }
    let shown = world.run(["task", "show", "T-1"]).exits(0).stdout;
    assert!(shown.ends_with("earlier events: fairway events --of-task T-1\n"), "{shown}");
    assert!(shown.contains("step 25") && shown.contains(": step 6\n") && !shown.contains(": step 5\n"), "{shown}");
    assert_eq!(world.json(["task", "show", "T-1"])["timeline"].as_array().unwrap().len(), 20);
    assert_eq!(world.run(["events", "--of-task", "T-1", "--quiet"]).exits(0).stdout.lines().count(), 26);
}

#[test]
fn evidence_show_prints_the_record_with_its_output() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one", "--check", "unit=seq 1 50; exit 3"]).exits(0);
    world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(7);
    let shown = world.run(["evidence", "show", "1"]).exits(0).stdout;
    for line in ["T-1  evidence 1  test fail", "how         observed", "check       unit", "exit code   3"] {
        assert!(shown.lines().any(|one| one == line), "{line}: {shown}");
    }
    assert!(shown.contains("command     seq 1 50; exit 3\n") && shown.contains("duration    "), "{shown}");
    let rest = "(10 earlier lines: fairway evidence show 1 --lines 0)\n11\n12\n";
    assert!(shown.contains(rest) && shown.ends_with("\n49\n50\n"), "{shown}");
    let view = world.json(["evidence", "show", "1", "-n", "2"]);
    assert_eq!((&view["check"], &view["exit_code"], &view["task_id"]), (&json!("unit"), &json!(3), &json!("T-1")));
    let output = json!({ "text": "49\n50\n", "lines_left_out": 48, "bytes": 141, "is_unchanged": true });
    assert_eq!(view["output"], output);
    // A file that was changed since, and one that is gone.
    let artifact = view["artifact"].as_str().unwrap();
    fs::write(artifact, "all is well\u{1b}[2J API_TOKEN=sk-ant-REDACTED\n").unwrap();
    let shown = world.run(["evidence", "show", "1"]).exits(0).stdout;
    assert!(shown.contains("the stored output has changed since") && shown.contains("all is well"), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains("0123456789"), "{shown}");
    fs::remove_file(artifact).unwrap();
    let view = world.json(["evidence", "show", "1"]);
    assert!(view["output"].is_null(), "{view}");
    assert!(view["output_error"].as_str().unwrap().starts_with("the output cannot be read: "), "{view}");
    world.run(["evidence", "show", "9", "--json"]).refuses(3, "not_found");
}

/// The artifact of claimed evidence is a path that anybody may write down.
#[test]
fn evidence_show_reads_no_file_of_claimed_evidence() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    fs::write(world.root().join("private.txt"), "nobody asked for this").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway evidence add T-1 --result pass --artifact private.txt --command make --quiet",
        "fairway evidence show 1",
        "fairway evidence show 9",
    ]), @"
    $ fairway evidence add T-1 --result pass --artifact private.txt --command make --quiet
    1
    $ fairway evidence show 1
    T-1  evidence 1  test pass
    how         claimed
    command     make
    at          2026-01-01T00:00:03.000Z (1s ago)
    artifact    private.txt
    sha256      d045f11ead7b91e4f6b1062368fbe1daf8ac36019a903d0643e0d47e89307632
    $ fairway evidence show 9
    error: there is no evidence '9'
    [exit 3]
    ");
    assert!(world.json(["evidence", "show", "1"])["output"].is_null());
}

#[test]
fn checkpoint_show_prints_one_checkpoint() {
    let world = TestProject::new();
    fixtures::add_session(&world, "m1", "dev", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --quiet",
        "fairway --session m1 checkpoint record T-1 --state blocked --summary 'no network' --owner ann --quiet",
        "fairway checkpoint show 1",
        "fairway checkpoint show 7",
    ]), @"
    $ fairway task add T-1 'one' --quiet
    T-1
    $ fairway --session m1 checkpoint record T-1 --state blocked --summary 'no network' --owner ann --quiet
    1
    $ fairway checkpoint show 1
    T-1  checkpoint 1  blocked
    summary     no network
    at          2026-01-01T00:00:03.000Z
    by          m1
    owner       ann
    $ fairway checkpoint show 7
    error: there is no checkpoint '7'
    [exit 3]
    ");
    assert_eq!(world.json(["checkpoint", "show", "1"])["origin"], json!(null));
}

/// A store of an earlier version has no origins: the summaries of its launches tell them.
#[test]
fn launch_checkpoint_of_an_earlier_version_masks_nothing() {
    let world = TestProject::new();
    fixtures::add_session(&world, "m_1", "dev", None);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let record = |summary: &str, state: &str| {
        let args = ["checkpoint", "record", "T-1", "--state", state, "--summary", summary, "--due", "30s"];
        world.run(["--session", "m_1"].iter().chain(&args)).exits(0);
    };
    record("half done", "active");
    record("session m_1 was launched", "active");
    record("session m_1 is stale: its process is gone", "awaiting_input");
    let list = world.json(["checkpoint", "list", "T-1"]);
    let origins: Vec<_> = list.as_array().unwrap().iter().map(|one| one["origin"].clone()).collect();
    assert_eq!(origins, [json!(null), json!("launch"), json!("reconcile")]);
    assert_eq!(world.json(["checkpoint", "latest", "T-1", "--written"])["summary"], "half done");
    let told = world.run(["prime", "--task-id", "T-1"]).exits(0).stdout;
    assert!(told.contains("half done") && !told.contains("m_1 was launched"), "{told}");
    // The promise of the written one is not kept by a launch.
    world.advance_clock(120);
    assert_eq!(world.json(["checkpoint", "overdue"])[0]["summary"], "half done");
    // Another session's words are its own.
    record("session m-1 was launched", "active");
    assert_eq!(world.json(["checkpoint", "latest", "T-1", "--written"])["summary"], "session m-1 was launched");
}
