//! `fairway review …`

use std::fs;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

#[test]
fn review_is_asked_for_and_given_in_a_domain() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "security", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --review-domain data --review-domain security",
        "fairway --session s1 claim T-1",
        "fairway --session s1 review record T-1 --verdict approve",
        "fairway review request T-1 --domain security --reviewer s2",
        "fairway review request T-1 --domain security",
        "fairway --session s2 review record T-1 --verdict changes --notes 'tokens in the log'",
        "fairway --session s2 review record T-1 --verdict approve --domain security --commit 0123456789abcdef",
        "fairway --session s1 review record T-1 --verdict approve --domain data",
        "fairway review list T-1",
        "fairway task add T-2 'two'",
        "fairway review record T-2 --verdict approve",
        "fairway review record T-2 --verdict perhaps --domain x",
    ]), @"
    $ fairway task add T-1 'one' --review-domain data --review-domain security
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 review record T-1 --verdict approve
    error: which domain? --domain data or --domain security
    [exit 2]
    $ fairway review request T-1 --domain security --reviewer s2
    requested review 1 of T-1 in the domain 'security'
    $ fairway review request T-1 --domain security
    unchanged: review 1 in the domain 'security' is requested already
    $ fairway --session s2 review record T-1 --verdict changes --notes 'tokens in the log'
    recorded review 1 of T-1: changes in the domain 'security'
    $ fairway --session s2 review record T-1 --verdict approve --domain security --commit 0123456789abcdef
    recorded review 2 of T-1: approve in the domain 'security'
    $ fairway --session s1 review record T-1 --verdict approve --domain data
    recorded review 3 of T-1: approve in the domain 'data'
    an approval by s1, who has claimed T-1 before, may not count
    $ fairway review list T-1
    ID  DOMAIN    STATUS    VERDICT  COMMIT            REVIEWER  AGE
    1   security  recorded  changes  -                 s2        3s
    2   security  recorded  approve  0123456789abcdef  s2        2s
    3   data      recorded  approve  -                 s1        1s
    $ fairway task add T-2 'two'
    added T-2
    $ fairway review record T-2 --verdict approve
    recorded review 4 of T-2: approve in the domain 'general'
    the approval names no commit, so it cannot count: --commit SHA
    $ fairway review record T-2 --verdict perhaps --domain x
    error: invalid value 'perhaps' for '--verdict <VERDICT>': 'perhaps' is none of approve, changes, reject
    hint: read the help: fairway review record --help
    [exit 2]
    ");
}

#[test]
fn domain_defaults_to_the_only_one_else_to_general() {
    let world = TestProject::new();
    let domain = |args: &[&str]| {
        let review = ["review"];
        world.json(review.iter().chain(args).copied().collect::<Vec<_>>())["domain"].clone()
    };
    world.run(["task", "add", "T-1", "one"]).exits(0);
    assert_eq!(domain(&["request", "T-1"]), "general");
    assert_eq!(domain(&["record", "T-1", "--verdict", "changes"]), "general");
    // A request that was answered is what the next one is about.
    world.run(["task", "add", "T-2", "two"]).exits(0);
    world.run(["review", "request", "T-2", "--domain", "code"]).exits(0);
    assert_eq!(domain(&["record", "T-2", "--verdict", "changes"]), "code");
    assert_eq!(domain(&["request", "T-2"]), "code");
    world.run(["task", "add", "T-3", "three", "--review-domain", "data"]).exits(0);
    assert_eq!(domain(&["request", "T-3"]), "data");
    world.run(["task", "add", "T-4", "four", "--review-domain", "data", "--review-domain", "code"]).exits(0);
    let error = world.run(["review", "request", "T-4", "--json"]).refuses(2, "usage").error();
    assert_eq!(error["message"], "which domain? --domain code or --domain data");
}

#[test]
fn requested_review_blocks_a_merge_until_it_is_given() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "tester", None);
    fixtures::init_repository(&world);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let codes = || -> Vec<String> {
        let report = CommandOutput::from(world.fairway(["merge-ready", "T-1", "--json"]).output().unwrap()).json();
        let blockers = report["blockers"].as_array().unwrap().clone();
        blockers
            .iter()
            .filter(|one| one["code"].as_str().unwrap().starts_with("review_"))
            .map(|one| {
                format!(
                    "{}: {} | {}",
                    one["code"].as_str().unwrap(),
                    one["message"].as_str().unwrap(),
                    one["fix"].as_str().unwrap()
                )
            })
            .collect()
    };
    assert_eq!(codes(), [""; 0]);
    // An approval that was not asked for is not a gate.
    world.run(["--session", "s2", "review", "record", "T-1", "--domain", "style", "--verdict", "approve"]).exits(0);
    assert_eq!(codes(), [""; 0]);
    let look = "fairway review next --task T-1";
    world.run(["--session", "s1", "review", "request", "T-1", "--domain", "code"]).exits(0);
    assert_eq!(codes(), [format!("review_missing: the requested review in the domain 'code' is not given | {look}")]);
    world.run(["--session", "s1", "review", "withdraw", "2"]).exits(0);
    assert_eq!(codes(), [""; 0]);
    world.run(["--session", "s1", "review", "request", "T-1", "--domain", "code"]).exits(0);
    world.run(["--session", "s2", "review", "record", "T-1", "--domain", "code", "--verdict", "changes"]).exits(0);
    let negative = "review_negative: s2 asks for changes in the domain 'code' (review 3)";
    assert_eq!(codes(), [format!("{negative} | {look}")]);
    world.run(["--session", "s1", "review", "request", "T-1", "--domain", "code"]).exits(0);
    assert_eq!(codes(), [format!("{negative} | {look}")]);
    world.run(["--session", "s2", "review", "record", "T-1", "--domain", "code", "--verdict", "approve"]).exits(0);
    assert_eq!(codes(), [""; 0]);
    world.run(["--session", "s1", "review", "request", "T-1", "--domain", "code"]).exits(0);
    assert_eq!(
        codes(),
        [format!("review_requested: another review in the domain 'code' is requested (review 5) | {look}")]
    );
}

/// Whatever the gates are, what one command refuses the others refuse.
#[test]
fn refused_work_is_neither_ready_nor_done_nor_landed() {
    let world = TestProject::with_git();
    for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
        world.git(&world.root(), &["config", key, value]);
    }
    fs::write(world.root().join(".fairway.toml"), "[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n").unwrap();
    world.git(&world.root(), &["add", ".fairway.toml"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=rules"]);
    world.run(["trust"]).exits(0);
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let tree = world.root().join(".fairway/worktrees/ui");
    fs::write(tree.join("work.txt"), "work\n").unwrap();
    world.git(&tree, &["add", "--all"]);
    world.git(&tree, &["commit", "--quiet", "--message=work"]);
    for session in ["author", "ann", "bob"] {
        fixtures::add_session(&world, session, "dev", None);
    }
    world.run(["task", "add", "T-1", "one", "--lane", "ui"]).exits(0);
    world.run(["--session", "author", "claim", "T-1"]).exits(0);
    world.run(["--session", "author", "task", "submit", "T-1"]).exits(0);
    let record = |session: &str, verdict: &str, notes: &str| {
        let words = ["--session", session, "review", "record", "T-1", "--verdict", verdict, "--notes", notes];
        world.run(words).exits(0);
    };
    let is_refused = || {
        for words in [
            &["merge-ready", "T-1"][..],
            &["--session", "author", "done", "T-1"],
            &["land", "T-1", "--dry-run"],
            &["land", "T-1"],
        ] {
            let run = world.run(words);
            assert_eq!(run.code, Some(5), "{words:?}: {run:?}");
            assert!(format!("{run:?}").contains("asks for changes in the domain 'general'"), "{words:?}: {run:?}");
        }
    };
    record("ann", "changes", "the total is wrong");
    is_refused();
    // The task is its author's again, who is told.
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "in_progress");
    let inbox = world.run(["--session", "author", "inbox"]).exits(0).stdout;
    assert!(
        inbox.contains("T-1: ann asks for changes in the domain 'general' (review 1): the total is wrong"),
        "{inbox}"
    );
    world.run(["--session", "author", "task", "resume", "T-1"]).exits(0);
    record("bob", "approve", "fine");
    is_refused();
    // The author cannot take it back, and a stranger needs a reason.
    for words in [
        &["--session", "author", "review", "withdraw", "1", "--json"][..],
        &["--session", "author", "review", "withdraw", "1", "--force", "--reason", "no", "--json"],
        &["--session", "bob", "review", "withdraw", "1", "--json"],
    ] {
        world.run(words).refuses(4, "not_creator");
    }
    world.run(["--session", "ann", "review", "withdraw", "1"]).exits(0);
    world.run(["merge-ready", "T-1"]).exits(0);
    record("ann", "reject", "no");
    world.run(["merge-ready", "T-1"]).exits(5);
    record("ann", "approve", "yes");
    world.run(["land", "T-1"]).exits(0);
}

#[test]
fn list_without_a_task_has_the_reviews_that_wait_for_the_actor() {
    let world = TestProject::new();
    for (session, role) in [("s1", "backend"), ("s2", "tester"), ("rosa", "tester")] {
        fixtures::add_session(&world, session, role, None);
    }
    for task in ["T-1", "T-2", "T-3", "T-4"] {
        world.run(["task", "add", task, "t"]).exits(0);
    }
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    world.run(["review", "request", "T-1", "--domain", "code"]).exits(0);
    world.run(["review", "request", "T-2", "--domain", "code", "--reviewer", "rosa"]).exits(0);
    world.run(["review", "request", "T-3", "--domain", "code", "--reviewer", "tester"]).exits(0);
    world.run(["review", "request", "T-4", "--domain", "code"]).exits(0);
    world.run(["task", "cancel", "T-4", "--reason", "x"]).exits(0);
    let waiting = |session: &str| -> Vec<i64> {
        let list = world.json(["--session", session, "review", "list"]);
        list.as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(waiting("s1"), [0; 0], "the claimant does not review their own work");
    assert_eq!(waiting("s2"), [1, 3]);
    assert_eq!(waiting("rosa"), [1, 2, 3]);
    let all = world.json(["--session", "s1", "review", "list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 3);
    insta::assert_snapshot!(world.transcript(&["fairway --session s2 review list", "fairway --session s1 review list"]), @"
    $ fairway --session s2 review list
    ID  TASK  DOMAIN  REVIEWER  AT
    1   T-1   code    -         2026-01-01T00:00:07.000Z
    3   T-3   code    tester    2026-01-01T00:00:09.000Z
    not shown: 1 review requested of others: fairway review list --all
    $ fairway --session s1 review list
    no reviews wait
    not shown: 3 reviews requested of others: fairway review list --all
    ");
    world.run(["--session", "s2", "review", "record", "T-1", "--verdict", "approve"]).exits(0);
    assert_eq!(waiting("s2"), [3]);
}

#[test]
fn request_is_withdrawn_by_its_requester_or_by_force() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one'",
        "fairway --session s1 review request T-1 --domain code",
        "fairway review withdraw 1",
        "fairway review withdraw 1 --force --reason 'superseded'",
        "fairway review withdraw 1",
        "fairway review list T-1",
        "fairway review request T-1 --domain code",
        "fairway review record T-1 --verdict approve",
        "fairway review withdraw 2",
    ]), @"
    $ fairway task add T-1 'one'
    added T-1
    $ fairway --session s1 review request T-1 --domain code
    requested review 1 of T-1 in the domain 'code'
    $ fairway review withdraw 1
    error: review 1 was created by s1, not by you ([user])
    hint: to stand in for its creator: fairway review withdraw 1 --force --reason TEXT
    [exit 4]
    $ fairway review withdraw 1 --force --reason 'superseded'
    withdrew review 1 of T-1 in the domain 'code'
    $ fairway review withdraw 1
    error: there is no review '1'
    [exit 3]
    $ fairway review list T-1
    no reviews
    $ fairway review request T-1 --domain code
    requested review 2 of T-1 in the domain 'code'
    $ fairway review record T-1 --verdict approve
    recorded review 2 of T-1: approve in the domain 'code'
    the approval names no commit, so it cannot count: --commit SHA
    $ fairway review withdraw 2
    error: review 2 is already recorded
    [exit 4]
    ");
    let events = world.run(["events"]).exits(0).stdout;
    assert!(events.contains("review.withdrawn"), "{events}");
    world.run(["review", "request", "T-1"]).exits(0);
    let withdrawn = world.json(["review", "withdraw", "3"]);
    assert_eq!((&withdrawn["status"], &withdrawn["domain"]), (&"withdrawn".into(), &"code".into()));
}
