//! `fairway done` and `fairway merge-ready`: one report.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{TestProject, fixtures};

#[test]
fn done_lists_every_blocker() {
    let world = TestProject::new();
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    let gates = "[gates.done]\nrequire = [\"evidence\", \"checks\", \"no_open_questions\", \"handoffs_accepted\"]\n";
    fs::write(&config, format!("{text}\n{gates}")).unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --check 'unit=true'",
        "fairway done T-1",
        "fairway claim",
        "fairway checkpoint record T-1 --state awaiting_input --summary 'which one?'",
        "fairway handoff create T-1 --to review --summary 'look at it'",
        "fairway task done T-1",
    ]), @"
    $ fairway task add T-1 'one' --check 'unit=true'
    added T-1
    $ fairway done T-1
    error: T-1 is todo and cannot be marked done
    hint: claim it first: fairway claim T-1
    [exit 4]
    $ fairway claim
    claimed T-1: one
    $ fairway checkpoint record T-1 --state awaiting_input --summary 'which one?'
    recorded checkpoint 1 on T-1: awaiting_input
    $ fairway handoff create T-1 --to review --summary 'look at it'
    created handoff 1 of T-1 to role review
    $ fairway task done T-1
    error: T-1 is not ready: no passing evidence since the last claim; the check 'unit' has not been run; the newest checkpoint awaits input (checkpoint 1, 2s ago); handoff 1 is not answered
    hint: fairway evidence run T-1 -- COMMAND
    hint: fairway evidence run T-1 --check unit
    hint: fairway checkpoint record T-1 --state active --summary TEXT
    hint: fairway handoff accept 1
    [exit 5]
    ");
    let report = world.run(["done", "T-1", "--json"]).refuses(5, "gate_blocked").error()["details"].clone();
    let codes: Vec<_> = report["blockers"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["evidence_missing", "check_missing", "open_question", "handoff_open"]);
    assert_eq!((report["task_id"].as_str(), report["ready"].as_bool()), (Some("T-1"), Some(false)));
    // Standing in for the claimant is not standing in for the gates.
    world.run(["done", "T-1", "--force", "--reason", "hurry", "--json"]).refuses(5, "gate_blocked");
}

#[test]
fn done_needs_fresh_evidence_and_the_claimant() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway claim",
        "fairway evidence add T-1 --result pass",
        "fairway release T-1",
        "fairway claim",
        "fairway done T-1",
        "fairway evidence add T-1 --result pass",
        "fairway --session s1 done T-1",
        "fairway done T-1 --commit 0123456789abcdef",
        "fairway done T-1",
        "fairway task show T-1",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway claim
    claimed T-1: one
    $ fairway evidence add T-1 --result pass
    recorded evidence 1 on T-1: test pass, as claimed
    $ fairway release T-1
    released T-1: in_progress → todo
    $ fairway claim
    claimed T-1: one
    $ fairway done T-1
    error: T-1 is not ready: no passing evidence since the last claim
    hint: fairway evidence run T-1 -- COMMAND
    [exit 5]
    $ fairway evidence add T-1 --result pass
    recorded evidence 2 on T-1: test pass, as claimed
    $ fairway --session s1 done T-1
    error: T-1 is claimed by [user], not by you (s1)
    hint: to stand in for the holder of T-1: fairway --session s1 done T-1 --force --reason TEXT
    [exit 4]
    $ fairway done T-1 --commit 0123456789abcdef
    done T-1: in_progress → done
    $ fairway done T-1
    unchanged: T-1 is done already
    $ fairway task show T-1
    T-1  one
    status      done
    ready       no
    priority    2
    commit      0123456789abcdef
    created     2026-01-01 00:00:02
    updated     2026-01-01 00:00:10
    closed      2026-01-01 00:00:10

    AGO  BY  EVENT
    10s  [user]  added
    9s  [user]  claimed, epoch 1
    8s  [user]  evidence 1, test pass
    7s  [user]  released: in_progress → todo
    6s  [user]  claimed, epoch 2
    4s  [user]  evidence 2, test pass
    2s  [user]  done: in_progress → done
    ");
    world.run(["task", "add", "T-2", "two"]).exits(0);
    world.run(["claim", "T-2"]).exits(0);
    world.run(["evidence", "add", "T-2", "--result", "pass"]).exits(0);
    world.run(["--session", "s1", "done", "T-2", "--force", "--reason", "holder is away"]).exits(0);
}

#[test]
fn merge_ready_wants_everything_at_one_commit() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "data", None);
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap().replace("base_branch = \"master\"", "base_branch = \"main\"");
    let route = "[[review_routes]]\npaths = [\"migrations/**\"]\ndomain = \"data\"\n";
    fs::write(&config, format!("{text}\n{route}")).unwrap();
    fixtures::init_repository(&world);
    fixtures::git(&world, &world.root(), &["switch", "--quiet", "--create", "work"]);
    let commit = fixtures::commit(&world, "begun");
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --path migrations/V2.sql --check unit=true",
        "fairway --session s1 claim T-1",
        "fairway merge-ready T-1",
        "fairway --session s1 evidence run T-1 --check unit --quiet",
        "fairway --session s1 review record T-1 --verdict approve --quiet",
        "fairway merge-ready T-1",
        "fairway --session s2 review record T-1 --verdict approve --notes 'as agreed' --quiet",
        "fairway merge-ready T-1",
        "fairway merge-ready T-1 --base no-such-branch",
    ]).replace(&commit[..12], "[commit]"), @"
    $ fairway task add T-1 'one' --path migrations/V2.sql --check unit=true
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway merge-ready T-1
    T-1 is not ready to be merged:
      judged: [world]/project (branch work, commit [commit], base main)
      evidence_missing: no passing evidence since the last claim
          fairway evidence run T-1 -- COMMAND
      check_missing: the check 'unit' has not been run
          fairway evidence run T-1 --check unit
      review_missing: no review in the domain 'data'
          fairway review next --task T-1
    [exit 5]
    $ fairway --session s1 evidence run T-1 --check unit --quiet
    1
    $ fairway --session s1 review record T-1 --verdict approve --quiet
    1
    $ fairway merge-ready T-1
    T-1 is not ready to be merged:
      judged: [world]/project (branch work, commit [commit], base main)
      review_own: review 1 in the domain 'data' is by s1, who has claimed the task
          fairway review next --task T-1
    [exit 5]
    $ fairway --session s2 review record T-1 --verdict approve --notes 'as agreed' --quiet
    2
    $ fairway merge-ready T-1
    T-1 is ready to be merged
      judged: [world]/project (branch work, commit [commit], base main)
    $ fairway merge-ready T-1 --base no-such-branch
    T-1 is not ready to be merged:
      judged: [world]/project (branch work, commit [commit], base no-such-branch)
      not_based: cannot determine whether the work contains 'no-such-branch'
          git -C [world]/project rev-parse --verify no-such-branch
    [exit 5]
    ");

    // Another commit: check and approval speak of the one before.
    fixtures::commit(&world, "second");
    fixtures::git(&world, &world.root(), &["branch", "ahead"]);
    fixtures::git(&world, &world.root(), &["reset", "-q", "--hard", "HEAD~1"]);
    fixtures::commit(&world, "third");
    fs::write(world.root().join("dirt"), "").unwrap();
    let report = world.run(["merge-ready", "T-1", "--base", "ahead", "--json"]).exits(5).json();
    let codes: Vec<_> = report["blockers"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["evidence_outdated", "check_outdated", "review_lapsed", "worktree_dirty", "not_based"]);
}

#[test]
fn submitted_task_is_resumed_by_claimant_or_reviewer() {
    let world = TestProject::new();
    for session in ["s1", "s2", "s3"] {
        fixtures::add_session(&world, session, "backend", None);
    }
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway --session s1 claim T-1",
        "fairway --session s1 task resume T-1",
        "fairway --session s1 task submit T-1",
        "fairway --session s3 task resume T-1",
        "fairway --session s2 review record T-1 --domain code --verdict changes",
        "fairway --session s1 task resume T-1",
        "fairway --session s1 task submit T-1",
        "fairway --session s2 task resume T-1",
        "fairway --session s1 task submit T-1",
        "fairway --session s1 task resume T-1",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 task resume T-1
    error: T-1 is in_progress and cannot be resumed
    hint: submit it first: fairway task submit T-1
    [exit 4]
    $ fairway --session s1 task submit T-1
    submitted T-1: in_progress → review
    $ fairway --session s3 task resume T-1
    error: T-1 is claimed by s1, not by you (s3)
    hint: to stand in for the holder of T-1: fairway --session s3 task resume T-1 --force --reason TEXT
    [exit 4]
    $ fairway --session s2 review record T-1 --domain code --verdict changes
    recorded review 1 of T-1: changes in the domain 'code'
    $ fairway --session s1 task resume T-1
    unchanged: T-1 is in_progress already
    $ fairway --session s1 task submit T-1
    submitted T-1: in_progress → review
    $ fairway --session s2 task resume T-1
    resumed T-1: review → in_progress
    $ fairway --session s1 task submit T-1
    submitted T-1: in_progress → review
    $ fairway --session s1 task resume T-1
    resumed T-1: review → in_progress
    ");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["claimant"], "s1");
}

/// A repository with a lane and its session, and a task without a lane that the session has claimed.
fn lane_with_work() -> (TestProject, PathBuf) {
    let world = TestProject::with_git();
    fs::write(
        world.root().join(".fairway.toml"),
        "[project]\nbase_branch = \"main\"\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"clean_worktree\", \"based_on\"]\n",
    )
    .unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=gates"]);
    world.run(["lane", "add", "a", "--create-worktree"]).exits(0);
    world.run(["session", "upsert", "--id", "s1", "--role", "r", "--lane", "a"]).exits(0);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim", "T-1", "--session", "s1"]).exits(0);
    let lane = world.root().join(".fairway/worktrees/a");
    (world, lane)
}

fn blockers(report: &serde_json::Value) -> Vec<&str> {
    report["blockers"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn merge_ready_judges_the_lane_and_not_the_main_checkout() {
    let (world, lane) = lane_with_work();
    // Unsaved work in the lane, and none in the main checkout.
    fs::write(lane.join("new.py"), "print()").unwrap();
    let report = world.run(["merge-ready", "T-1", "--json"]).exits(5).json();
    assert_eq!(blockers(&report), ["nothing_to_land", "worktree_dirty"]);
    assert_eq!(report["blockers"][1]["fix"], format!("git -C {} status", lane.display()));
    assert_eq!(report["judged"]["worktree"], lane.to_str().unwrap());
    assert_eq!((&report["judged"]["branch"], &report["judged"]["base"]), (&"lane/a".into(), &"main".into()));
    // Clean and committed in the lane, and an unrelated edit in the main checkout.
    world.git(&lane, &["add", "."]);
    world.git(&lane, &["commit", "--quiet", "--message=work"]);
    fs::write(world.root().join("draft.txt"), "draft").unwrap();
    let report = world.run(["merge-ready", "T-1", "--json"]).exits(0).json();
    assert_eq!(report["judged"]["commit"], world.git(&lane, &["rev-parse", "HEAD"]).trim());
    let said = world.run(["merge-ready", "T-1"]).exits(0).stdout;
    assert!(said.contains("judged: ") && said.contains("worktrees/a (branch lane/a, commit "), "{said}");
    // The base has gone on.
    world.git(&world.root(), &["add", "."]);
    world.git(&world.root(), &["commit", "--quiet", "--message=base"]);
    // A landing would merge both; it takes no other base.
    world.run(["merge-ready", "T-1"]).exits(0);
    let given = world.run(["merge-ready", "T-1", "--base", "main", "--json"]).exits(5).json();
    assert_eq!(given["blockers"][0]["fix"], format!("git -C {} merge main", lane.display()));
    // A person who takes over, and a task that is done, are judged there too.
    world.run(["claim", "T-1", "--steal", "--reason", "I merge it"]).exits(0);
    assert_eq!(world.run(["merge-ready", "T-1", "--json"]).json()["judged"]["worktree"], lane.to_str().unwrap());
    world.run(["evidence", "add", "T-1", "--result", "pass"]).exits(0);
    world.run(["done", "T-1"]).exits(0);
    assert_eq!(world.run(["merge-ready", "T-1", "--json"]).json()["judged"]["worktree"], lane.to_str().unwrap());
}

/// Commits a file in the lane; answers with the commit.
fn commit_in(world: &TestProject, lane: &Path, name: &str) -> String {
    fs::write(lane.join(name), name).unwrap();
    world.git(lane, &["add", "."]);
    world.git(lane, &["commit", "--quiet", "--message", name]);
    world.git(lane, &["rev-parse", "HEAD"]).trim().to_owned()
}

#[test]
fn evidence_at_a_commit_that_a_rebase_dropped_is_outdated_for_every_reader() {
    let (world, lane) = lane_with_work();
    let gates = "[project]\nbase_branch = \"main\"\n[gates.done]\nrequire = [\"evidence\"]\n[gates.merge]\nrequire = [\"evidence\"]\n";
    fs::write(world.root().join(".fairway.toml"), gates).unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=gates"]);
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    let dropped = commit_in(&world, &lane, "work");
    world.run(["evidence", "run", "T-1", "--session", "s1", "--", "true"]).exits(0);
    // A commit after the evidence leaves it: the work still contains what was tested.
    let with_more = commit_in(&world, &lane, "more");
    world.run(["merge-ready", "T-1"]).exits(0);
    // So does work that was submitted before the evidence.
    world.run(["evidence", "run", "T-1", "--session", "s1", "--kind", "lint", "--", "true"]).exits(0);
    world.git(&lane, &["reset", "--quiet", "--hard", &dropped]);
    world.run(["merge-ready", "T-1"]).exits(0);
    world.git(&lane, &["reset", "--quiet", "--hard", &with_more]);
    world.git(&lane, &["rebase", "--quiet", "main"]);

    let report = world.run(["merge-ready", "T-1", "--json"]).exits(5).json();
    assert_eq!(blockers(&report), ["evidence_outdated"]);
    assert_eq!(report["blockers"][0]["fix"], "fairway evidence run T-1 --kind lint -- COMMAND");
    let head = world.git(&lane, &["rev-parse", "--short=12", "HEAD"]);
    let message = format!(
        "evidence 2 of kind 'lint' passed at commit {}, which is no commit of the work at {}",
        &with_more[..12],
        head.trim()
    );
    assert_eq!(report["blockers"][0]["message"], message);
    let refused = world.run(["done", "T-1", "--session", "s1", "--json"]).refuses(5, "gate_blocked");
    assert_eq!(refused.error()["details"]["blockers"], report["blockers"]);
    let context = world.run(["prime", "--session", "s1"]).exits(0).stdout;
    assert!(context.contains(&message), "{context}");
    world.run(["task", "submit", "T-1", "--session", "s1"]).exits(0);
    let refused = world.run(["land", "T-1"]).exits(5);
    assert!(refused.stderr.contains(&message), "{refused:?}");

    world.run(["evidence", "run", "T-1", "--session", "s1", "--", "true"]).exits(0);
    world.run(["merge-ready", "T-1"]).exits(0);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "done");
}

/// A hash that git does not know is no commit of the work, also when a branch has its name.
#[test]
fn evidence_at_an_unknown_commit_is_outdated() {
    let (world, lane) = lane_with_work();
    fs::write(world.root().join(".fairway.toml"), "[project]\nbase_branch = \"main\"\n").unwrap();
    commit_in(&world, &lane, "work");
    for hash in ["0123456789abcdef", "abcdef1"] {
        world.run(["evidence", "add", "T-1", "--result", "pass", "--commit", hash]).exits(0);
    }
    world.git(&lane, &["branch", "abcdef1"]);
    let refused = world.run(["done", "T-1", "--session", "s1", "--json"]).refuses(5, "gate_blocked");
    assert_eq!(blockers(&refused.error()["details"]), ["evidence_outdated"]);
    world.run(["evidence", "add", "T-1", "--result", "pass"]).exits(0);
    world.run(["done", "T-1", "--session", "s1"]).exits(0);
}

#[test]
fn claim_without_a_lane_is_judged_where_it_was_made() {
    let (world, _) = lane_with_work();
    let other = world.dir().join("other");
    world.git(&world.root(), &["worktree", "add", "--quiet", other.to_str().unwrap()]);
    world.run(["task", "add", "T-2", "two"]).exits(0);
    let mut claim = world.fairway(["claim", "T-2"]);
    fs::create_dir(other.join("deep")).unwrap();
    assert!(claim.current_dir(other.join("deep")).output().unwrap().status.success());
    fs::write(other.join("new.py"), "print()").unwrap();
    let report = world.run(["merge-ready", "T-2", "--json"]).exits(5).json();
    let judged = (blockers(&report), report["judged"]["worktree"].as_str());
    assert_eq!(judged, (vec!["nothing_to_land", "worktree_dirty"], other.to_str()));
    // A session without a lane has a worktree of its own.
    let upsert = ["session", "upsert", "--id", "s2", "--role", "r", "--worktree", other.to_str().unwrap()];
    world.run(upsert).exits(0);
    world.run(["task", "add", "T-3", "three"]).exits(0);
    world.run(["claim", "T-3", "--session", "s2"]).exits(0);
    let report = world.run(["merge-ready", "T-3", "--json"]).exits(5).json();
    assert_eq!(report["judged"]["worktree"].as_str(), other.to_str());
}

#[test]
fn missing_worktree_is_refused_only_by_a_gate_that_needs_git() {
    let (world, _) = lane_with_work();
    world.run(["session", "upsert", "--id", "s2", "--role", "r", "--worktree", "/no/such/worktree"]).exits(0);
    world.run(["task", "add", "T-2", "two"]).exits(0);
    world.run(["claim", "T-2", "--session", "s2"]).exits(0);
    let refused = world.run(["merge-ready", "T-2", "--json"]).refuses(5, "no_worktree");
    assert!(refused.error()["hint"].as_str().unwrap().contains("fairway task edit T-2 --lane"), "{refused:?}");
    world.run(["evidence", "add", "T-2", "--result", "pass", "--session", "s2"]).exits(0);
    let done = world.run(["done", "T-2", "--session", "s2", "--json"]).exits(0).json();
    assert_eq!(done["judged"], serde_json::Value::Null);
}

/// The runner takes a line that begins with `::` for a command; texts of branches and reviews must not become one.
#[test]
fn merge_ready_for_github_writes_annotations_and_a_summary() {
    let mut world = TestProject::new();
    let config = world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[gates.merge]\nrequire = [\"evidence\", \"no_open_questions\"]\n")).unwrap();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    let question = "which?\n::add-mask::x\n##[error]y | 100% <b>@ann</b>";
    world.run(["checkpoint", "record", "T-1", "--state", "awaiting_input", "--summary", question]).exits(0);
    // Without the variable, nothing but stdout.
    let plain = world.run(["merge-ready", "T-1", "--format", "github"]).exits(5);
    let summary = world.root().join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    world.set("GITHUB_STEP_SUMMARY", &summary);
    let blocked = world.run(["merge-ready", "T-1", "--format", "github"]).exits(5);
    for run in [&plain, &blocked] {
        assert_eq!(run.stderr, "");
        assert!(run.stdout.lines().all(|line| line.starts_with("::error title=Fairway%3A T-1 ")), "{}", run.stdout);
        assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    }
    world.run(["checkpoint", "record", "T-1", "--state", "active", "--summary", "answered"]).exits(0);
    world.run(["evidence", "add", "T-1", "--result", "pass"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway merge-ready T-1 --format github",
        "fairway merge-ready T-1 --format github --quiet",
        "fairway merge-ready T-1 --format github --json",
        "fairway merge-ready T-1 --format gitlab",
    ]), @r#"
    $ fairway merge-ready T-1 --format github
    ::notice title=Fairway%3A T-1::T-1 is ready to be merged
    $ fairway merge-ready T-1 --format github --quiet
    ::notice title=Fairway%3A T-1::T-1 is ready to be merged
    $ fairway merge-ready T-1 --format github --json
    {"error":{"code":"usage","kind":"usage","message":"give --json or --format github, not both","hint":null,"retryable":false,"details":null}}
    [exit 2]
    $ fairway merge-ready T-1 --format gitlab
    error: invalid value 'gitlab' for '--format <FORM>' [possible values: text, github]
    hint: read the help: fairway merge-ready --help
    [exit 2]
    "#);
    insta::assert_snapshot!(blocked.stdout, @"
    ::error title=Fairway%3A T-1 evidence_missing::no passing evidence since the last claim (cleared by: fairway evidence run T-1 -- COMMAND)
    ::error title=Fairway%3A T-1 open_question::the newest checkpoint awaits input (checkpoint 1, 2s ago) (cleared by: fairway checkpoint record T-1 --state active --summary TEXT)
    ");
    insta::assert_snapshot!(world.redacted(&fs::read_to_string(&summary).unwrap()), @"
    before
    ### Fairway: <code>T-1</code> is not ready to be merged

    Judged: <code>[world]/project &#40;no commit&#44; base main&#41;</code>

    | blocker | reason | cleared by |
    |---|---|---|
    | <code>evidence&#95;missing</code> | <code>no passing evidence since the last claim</code> | <code>fairway evidence run T-1 -- COMMAND</code> |
    | <code>open&#95;question</code> | <code>the newest checkpoint awaits input &#40;checkpoint 1&#44; 2s ago&#41;</code> | <code>fairway checkpoint record T-1 --state active --summary TEXT</code> |

    ### Fairway: <code>T-1</code> is ready to be merged

    Judged: <code>[world]/project &#40;no commit&#44; base main&#41;</code>

    ### Fairway: <code>T-1</code> is ready to be merged

    Judged: <code>[world]/project &#40;no commit&#44; base main&#41;</code>
    ");

    // The verdict does not depend on the summary.
    world.set("GITHUB_STEP_SUMMARY", "/nowhere/summary.md");
    let run = world.run(["merge-ready", "T-1", "--format", "github"]).exits(0);
    assert!(run.stderr.starts_with("warning: the summary is not written to /nowhere/summary.md: "), "{run:?}");
    assert!(run.stdout.starts_with("::notice "), "{run:?}");
}
