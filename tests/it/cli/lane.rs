//! `fairway lane …`

use std::fs;

use serde_json::json;

use crate::common::TestProject;
use crate::common::concurrent_start::race;

#[test]
fn lane_is_added_edited_and_removed() {
    let world = TestProject::new();
    world.add_session("s1");
    insta::assert_snapshot!(world.transcript(&[
        "fairway lane list",
        "fairway lane add platform --role backend --title 'The platform' --wip 1",
        "fairway lane add platform",
        "fairway lane add 'no lane'",
        "fairway lane add x --branch 'a..b'",
        "fairway lane add x --wip many",
        "fairway lane list",
        "fairway task add T-1 one --lane platform",
        "fairway task add T-2 two --lane platform",
        "fairway claim T-1 --session s1",
        "fairway claim T-2 --session s1",
        "fairway lane edit platform --wip 2 --title '' --backend shell",
        "fairway lane edit platform --wip 2",
        "fairway lane edit platform",
        "fairway lane pause platform",
        "fairway lane pause platform",
        "fairway claim T-2 --session s1",
        "fairway lane open platform",
        "fairway claim T-2 --session s1",
        "fairway lane show platform",
        "fairway lane rm platform",
        "fairway lane close platform",
        "fairway lane show nowhere",
        "fairway lane add brief",
        "fairway lane rm brief",
        "fairway lane rm brief",
        "fairway lane list --quiet",
    ]), @"
    $ fairway lane list
    no lanes
    $ fairway lane add platform --role backend --title 'The platform' --wip 1
    added lane platform
    $ fairway lane add platform
    error: lane 'platform' already exists
    [exit 4]
    $ fairway lane add 'no lane'
    error: invalid value 'no lane' for '<NAME>': lane 'no lane' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    hint: read the help: fairway lane add --help
    [exit 2]
    $ fairway lane add x --branch 'a..b'
    error: branch 'a..b' is not a valid branch name
    [exit 2]
    $ fairway lane add x --wip many
    error: wip 'many' is not a number of tasks
    [exit 2]
    $ fairway lane list
    NAME      STATUS  ROLE     HELD  BRANCH  WORKTREE  TITLE
    platform  open    backend  0/1   -       -         The platform
    $ fairway task add T-1 one --lane platform
    added T-1
    $ fairway task add T-2 two --lane platform
    added T-2
    $ fairway claim T-1 --session s1
    claimed T-1: one
    $ fairway claim T-2 --session s1
    error: the lane platform is full: 1 of 1 tasks are claimed
    hint: raise the limit: fairway lane edit platform --wip 2
    [exit 5]
    $ fairway lane edit platform --wip 2 --title '' --backend shell
    edited lane platform: title, wip_limit, backend
    $ fairway lane edit platform --wip 2
    unchanged: lane platform has these values already
    $ fairway lane edit platform
    error: say what to change, such as --wip 2
    [exit 2]
    $ fairway lane pause platform
    lane platform: open → paused
    it keeps 1 claimed task
    $ fairway lane pause platform
    unchanged: lane platform is paused already
    $ fairway claim T-2 --session s1
    error: the lane platform is paused
    hint: open it: fairway lane open platform
    [exit 5]
    $ fairway lane open platform
    lane platform: paused → open
    $ fairway claim T-2 --session s1
    claimed T-2: two
    $ fairway lane show platform
    platform
    status      open
    held        2/2
    role        backend
    backend     shell
    created     2026-01-01 00:00:03

    ID   P  STATUS       ROLE  LANE      HELD BY  TITLE
    T-1  2  in_progress  -     platform  s1       one
    T-2  2  in_progress  -     platform  s1       two
    $ fairway lane rm platform
    error: lane 'platform' is in use: 2 claimed tasks
    hint: to end it: fairway lane close platform
    [exit 4]
    $ fairway lane close platform
    lane platform: open → closed
    it keeps 2 claimed tasks
    $ fairway lane show nowhere
    error: there is no lane 'nowhere'
    hint: list the lanes: fairway lane list
    [exit 3]
    $ fairway lane add brief
    added lane brief
    $ fairway lane rm brief
    removed lane brief
    $ fairway lane rm brief
    error: there is no lane 'brief'
    hint: list the lanes: fairway lane list
    [exit 3]
    $ fairway lane list --quiet
    platform
    ");
}

#[test]
fn lane_shows_its_whole_present() {
    let world = TestProject::new();
    world.run(["lane", "add", "ui"]).exits(0);
    world.run(["task", "add", "T-1", "one", "--lane", "ui"]).exits(0);
    world.run(["task", "add", "T-2", "not held", "--lane", "ui"]).exits(0);
    world.add_session("s1");
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "UPDATE agent_sessions SET lane = 'ui';
         INSERT INTO checkpoints (task_id, state, summary, created_at) VALUES ('T-1', 'planned', 'old', 1);
         INSERT INTO checkpoints (task_id, state, summary, created_at) VALUES ('T-1', 'active', 'new', 1767225600000);
         INSERT INTO checkpoints (task_id, state, summary, created_at, origin) VALUES ('T-1', 'active', 'x', 2, 'launch');
         INSERT INTO handoffs (task_id, from_actor, to_lane, status, summary, epoch, created_at)
           VALUES ('T-2', 'ann@host', 'ui', 'open', 'yours', 0, 3);",
    )
    .unwrap();
    drop(conn);
    world.run(["message", "send", "--to-lane", "ui", "hello"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let shown = world.json(["lane", "show", "ui"]);
    assert_eq!(shown["lane"]["held"], 1);
    assert_eq!(shown["sessions"][0]["id"], "s1");
    assert_eq!(shown["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect::<Vec<_>>(), ["T-1"]);
    assert_eq!(
        shown["checkpoints"],
        json!([{ "id": 2, "task_id": "T-1", "session_id": null, "state": "active", "owner": null, "summary": "new",
            "artifact": null, "due_at": null, "origin": null, "created_at": "2026-01-01T00:00:00.000Z" }])
    );
    assert_eq!(
        shown["handoffs"],
        json!([{ "id": 1, "task_id": "T-2", "from_role": null, "to_role": null, "to_lane": "ui", "status": "open",
            "summary": "yours", "payload": null, "created_at": "1970-01-01T00:00:00.003Z", "answered_at": null,
            "answered_by": null }])
    );
    assert_eq!(shown["messages"], 1);
    insta::assert_snapshot!(world.transcript(&["fairway lane show ui"]), @"
    $ fairway lane show ui
    ui
    status      open
    held        1
    created     2026-01-01 00:00:02
    messages    1

    ID  HOST       STATUS   ACTIVITY  ROLE    LANE  HOLDS  PROVIDER  SEEN  DOING
    s1  elsewhere  running  unknown   worker  ui    T-1    -         2s    -

    ID   P  STATUS       ROLE  LANE  HELD BY  TITLE
    T-1  2  in_progress  -     ui    s1       one

    TASK  STATE   BY  AGO  CHECKPOINT
    T-1   active  -   8s   new

    HANDOFF  TASK  FROM  SUMMARY
    1        T-2   -     yours
    ");
}

#[test]
fn git_makes_a_worktree_and_takes_it_away() {
    let world = TestProject::with_git();
    let transcript = world.transcript(&[
        "fairway lane add ui --create-worktree",
        "fairway lane show ui",
        "fairway lane rm ui",
        "fairway lane add ui --create-worktree --branch topic/ui --base nowhere",
        "fairway lane add ui --create-worktree --branch main",
        "fairway lane add ui --create-worktree --worktree .fairway",
        "fairway lane list",
    ]);
    let commit = world.git(&world.root(), &["rev-parse", "--short=12", "main"]);
    insta::assert_snapshot!(transcript.replace(commit.trim(), "[commit]"), @"
    $ fairway lane add ui --create-worktree
    added lane ui with a worktree at [world]/project/.fairway/worktrees/ui
    $ fairway lane show ui
    ui
    status      open
    held        0
    branch      lane/ui
    base        main
    worktree    [world]/project/.fairway/worktrees/ui
    commit      [commit], 0 ahead of main, 0 behind
    changes     none
    created     2026-01-01 00:00:05
    $ fairway lane rm ui
    removed lane ui, its worktree and its branch lane/ui
    $ fairway lane add ui --create-worktree --branch topic/ui --base nowhere
    error: there is no base branch 'nowhere'
    [exit 3]
    $ fairway lane add ui --create-worktree --branch main
    error: branch 'main' is in use: it is checked out in [world]/project
    [exit 4]
    $ fairway lane add ui --create-worktree --worktree .fairway
    error: directory '[world]/project/.fairway' already exists
    [exit 4]
    $ fairway lane list
    no lanes
    ");
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    let leftovers: Vec<_> = fs::read_dir(world.root().join(".fairway/worktrees")).unwrap().collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    assert_eq!(world.git(&world.root(), &["status", "--porcelain"]), "");
}

/// Work that exists nowhere else is never removed: neither uncommitted changes nor unmerged commits.
#[test]
fn unsaved_work_keeps_a_lane() {
    let world = TestProject::with_git();
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let tree = world.root().join(".fairway/worktrees/ui");
    fs::write(tree.join("code.txt"), "changed\n").unwrap();
    let refused = |what: &str| {
        let error = world.run(["lane", "rm", "ui", "--json"]).refuses(5, "unsaved_work").error();
        assert!(error["message"].as_str().unwrap().contains(what), "{error}");
        assert!(tree.join("code.txt").exists());
        assert_eq!(world.json(["lane", "show", "ui"])["lane"]["status"], "open");
    };
    refused("in no commit");
    world.git(&tree, &["checkout", "--quiet", "code.txt"]);
    fs::write(tree.join("new.txt"), "new\n").unwrap();
    refused("in no commit");
    world.git(&tree, &["add", "."]);
    world.git(&tree, &["commit", "--quiet", "--message=more"]);
    refused("not in main");
    // Moving the worktree to another branch does not hide the commits of its own.
    world.git(&tree, &["checkout", "--quiet", "--detach", "main"]);
    refused("not in main");
    world.git(&world.root(), &["merge", "--quiet", "lane/ui"]);
    world.run(["lane", "rm", "ui"]).exits(0);
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);

    // A worktree that somebody else made is theirs, clean or not.
    let own = world.dir().join("own");
    world.git(&world.root(), &["worktree", "add", "--quiet", "-b", "own", own.to_str().unwrap()]);
    world.run(["lane", "add", "theirs", "--branch", "own", "--worktree", own.to_str().unwrap()]).exits(0);
    world.run(["lane", "rm", "theirs"]).exits(0);
    assert!(own.join("code.txt").exists());
}

/// Whatever fails on the way, there is neither branch nor worktree nor lane after it.
#[test]
fn failed_lane_add_leaves_no_worktree_and_no_row() {
    let mut world = TestProject::with_git();
    let root = world.root();
    let before = (world.branches_and_worktrees(), world.json(["lane", "list"]));
    // A filter that git needs for the checkout and that fails.
    world.git(&root, &["config", "filter.broken.smudge", "false"]);
    world.git(&root, &["config", "filter.broken.required", "true"]);
    fs::write(root.join(".git/info/attributes"), "code.txt filter=broken\n").unwrap();
    world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(5, "filter_not_own");
    assert_eq!((world.branches_and_worktrees(), world.json(["lane", "list"])), before);
    fs::remove_file(root.join(".git/info/attributes")).unwrap();

    // A session that nobody knows may not add lanes, with or without a worktree.
    world.run(["lane", "add", "ui", "--create-worktree", "--session", "ghost", "--json"]).refuses(3, "not_found");
    assert_eq!((world.branches_and_worktrees(), world.json(["lane", "list"])), before);

    // Git itself does not heed variables that point elsewhere.
    world.set("GIT_DIR", "/nowhere").set("GIT_WORK_TREE", "/nowhere");
    let lane = world.json(["lane", "add", "ui", "--create-worktree"]);
    assert_eq!(lane["branch"], "lane/ui");

    let outside = TestProject::new();
    outside.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(7, "git_failed");
    assert_eq!(outside.json(["lane", "list"]), json!([]));
}

/// A command that was cut off after git had done its work left an intention; the next attempt settles it.
#[test]
fn interrupted_add_is_completed_by_the_next() {
    let world = TestProject::with_git();
    world.run(["lane", "add", "other"]).exits(0);
    let tree = world.root().join(".fairway/worktrees/ui");
    world.git(&world.root(), &["worktree", "add", "--quiet", "-b", "lane/ui", tree.to_str().unwrap()]);
    let commit = world.git(&world.root(), &["rev-parse", "main"]);
    let plan = json!({ "branch": "lane/ui", "commit": commit.trim(), "worktree": tree });
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let now = world.now().millis();
    let put = "INSERT INTO requests (id, words, answer, created_at) VALUES ('lane ui', ?1, NULL, ?2)";
    conn.execute(put, (plan.to_string(), now)).unwrap();
    drop(conn);

    // Somebody found it and works in it: it is left alone.
    fs::write(tree.join("new.txt"), "new\n").unwrap();
    world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(7, "git_failed");
    assert!(tree.join("new.txt").exists());
    fs::remove_file(tree.join("new.txt")).unwrap();
    // A worktree that lacks only files of its own commit was cut off while it was filled: it holds no work.
    fs::remove_file(tree.join("code.txt")).unwrap();
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    assert!(tree.join("code.txt").exists());
    world.run(["lane", "rm", "ui"]).exits(0);
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
}

#[test]
fn repeated_request_makes_one_worktree() {
    let world = TestProject::with_git();
    let words = ["lane", "add", "ui", "--create-worktree", "--request-id", "r1"];
    let first = world.json(words);
    assert_eq!(world.json(words), first);
    world.run(["lane", "add", "web", "--create-worktree", "--request-id", "r1", "--json"]).refuses(2, "request_reused");
    let gone = ["lane", "rm", "ui", "--request-id", "r2"];
    let first = world.json(gone);
    assert_eq!(world.json(gone), first);
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    // A request that failed is not remembered: the same words may try again.
    let words = ["lane", "add", "ui", "--create-worktree", "--base", "later", "--request-id", "r3", "--json"];
    world.run(words).refuses(3, "not_found");
    world.git(&world.root(), &["branch", "later"]);
    world.run(words).exits(0);
    // After a week the answer is forgotten with the next request.
    world.advance_clock(8 * 24 * 60 * 60);
    world.run(["lane", "add", "z", "--request-id", "r4"]).exits(0);
    world.run(words).refuses(4, "exists");
}

/// Sixteen at once, five rounds: every one of eighty comes whole, and goes without a trace.
#[test]
fn sixteen_worktrees_made_at_once_all_succeed() {
    let world = TestProject::with_git();
    for round in 0..5 {
        let names: Vec<String> = (0..16).map(|number| format!("w{round}-{number}")).collect();
        let runs = race(16, |number| world.fairway(["lane", "add", &names[number], "--create-worktree"]));
        for run in &runs {
            assert_eq!(run.status.code(), Some(0), "{run:?}");
        }
        assert_eq!(world.branches_and_worktrees().len(), 2 + 2 * 16);
        for name in &names {
            assert!(world.root().join(".fairway/worktrees").join(name).join("code.txt").is_file(), "{name}");
        }
        for run in race(16, |number| world.fairway(["lane", "rm", &names[number]])) {
            assert_eq!(run.status.code(), Some(0), "{run:?}");
        }
        assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    }
    assert_eq!(world.json(["lane", "list"]), json!([]));
}

/// Of several additions of one name at once one succeeds, and the losers take nothing of the winner's away.
#[test]
fn concurrent_adds_of_one_name_make_one_lane() {
    let world = TestProject::with_git();
    let runs = race(8, |_| world.fairway(["lane", "add", "ui", "--create-worktree"]));
    let won = runs.iter().filter(|run| run.status.code() == Some(0)).count();
    let lost = runs.iter().filter(|run| run.status.code() == Some(4)).count();
    assert_eq!((won, lost), (1, 7), "{runs:?}");
    assert!(world.root().join(".fairway/worktrees/ui/code.txt").is_file());
    assert_eq!(world.branches_and_worktrees().len(), 4);
}
