//! Each gate is closed by one fact alone.

use super::*;

const COMMIT: &str = "1111111";

/// Facts of a task that is ready for everything; a test takes one thing away.
struct Given {
    task: TaskId,
    claimed_at: i64,
    commit: Option<&'static str>,
    evidence: Vec<Evidence>,
    checks: Vec<Check>,
    reviews: Vec<Review>,
    domains: Vec<Label>,
    requested: Vec<Label>,
    holders: Vec<String>,
    open_handoffs: Vec<i64>,
    comments: Vec<OpenComment>,
    question: Option<OpenQuestion>,
    work: WorkFacts,
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn record(id: i64, kind: &str, result: EvidenceResult) -> Evidence {
    Evidence {
        id,
        task: TaskId::parse("T-1").unwrap(),
        session: None,
        kind: kind.into(),
        result,
        command: Some("make".into()),
        check: None,
        exit_code: None,
        duration_ms: None,
        artifact: None,
        sha256: None,
        commit: Some(COMMIT.into()),
        summary: None,
        observed: false,
        created_at: Timestamp::from_millis(id * 10),
    }
}

fn checked(id: i64, result: EvidenceResult) -> Evidence {
    Evidence { check: Some("unit".into()), observed: true, ..record(id, "unit", result) }
}

fn review(id: i64, verdict: Option<Verdict>, actor: &str) -> Review {
    Review {
        id,
        task: TaskId::parse("T-1").unwrap(),
        domain: label("data"),
        verdict,
        commit: Some(COMMIT.into()),
        reviewer: None,
        actor: actor.into(),
        notes: None,
        created_at: Timestamp::from_millis(id * 10),
    }
}

fn given() -> Given {
    Given {
        task: TaskId::parse("T-1").unwrap(),
        claimed_at: 10,
        commit: Some(COMMIT),
        evidence: vec![record(1, "test", EvidenceResult::Pass), checked(2, EvidenceResult::Pass)],
        checks: vec![Check { name: label("unit"), command: "make".into() }],
        reviews: vec![review(1, Some(Verdict::Approve), "reviewer")],
        domains: vec![label("data")],
        requested: Vec::new(),
        holders: vec!["worker".into()],
        open_handoffs: Vec::new(),
        comments: Vec::new(),
        question: None,
        work: WorkFacts {
            worktree: Some("/work/a lane".into()),
            branch: None,
            clean: Some(true),
            based: Some(true),
            base: "main".into(),
            contained: Some(BTreeSet::new()),
            can_land: true,
            runs_later: Some(Vec::new()),
        },
    }
}

fn facts(given: &Given) -> GateFacts<'_> {
    GateFacts {
        task: &given.task,
        claimed_at: Some(Timestamp::from_millis(given.claimed_at)),
        commit: given.commit,
        evidence: &given.evidence,
        checks: &given.checks,
        reviews: &given.reviews,
        domains: &given.domains,
        requested_domains: &given.requested,
        claimants: &given.holders,
        open_handoffs: &given.open_handoffs,
        open_comments: &given.comments,
        question: given.question.as_ref(),
        now: Timestamp::from_millis(1_000),
        work: &given.work,
    }
}

fn codes(given: &Given, required: &[Gate]) -> Vec<&'static str> {
    evaluate(required, &facts(given)).blockers().iter().map(|blocker| blocker.code).collect()
}

#[test]
fn ready_work_has_no_blocker() {
    assert_eq!(codes(&given(), Gate::ALL), [""; 0]);
    let mut reviewed = given();
    reviewed.work.runs_later = Some(vec![".vscode/tasks.json".into()]);
    assert_eq!(codes(&reviewed, Gate::ALL), [""; 0]);
}

/// Every gate, closed in every way, by that one thing alone; and open when it is not asked for.
#[test]
fn missing_fact_closes_its_gate_and_no_other() {
    use EvidenceResult::{Fail, Partial, Pass, Skipped};
    type Change = fn(&mut Given);
    let changes: &[(&str, Gate, &str, Change)] = &[
        ("no evidence", Gate::Evidence, "evidence_missing", |g| g.evidence.clear()),
        ("from before the claim", Gate::Evidence, "evidence_missing", |g| g.claimed_at = 1_000),
        ("only the provider's word", Gate::Evidence, "evidence_missing", |g| {
            g.evidence.iter_mut().for_each(|one| one.kind = PROVIDER_KIND.into());
        }),
        ("neither passed nor failed", Gate::Evidence, "evidence_missing", |g| {
            g.evidence = vec![record(1, "test", Partial), record(2, "lint", Skipped)];
        }),
        ("failed later", Gate::Evidence, "evidence_failing", |g| {
            g.evidence = vec![record(1, "test", Pass), record(2, "test", Fail)];
        }),
        ("at a commit that a rebase dropped", Gate::Evidence, "evidence_outdated", |g| g.commit = Some("2222222")),
        ("no run of the check", Gate::Checks, "check_missing", |g| g.evidence.truncate(1)),
        ("only claimed", Gate::Checks, "check_missing", |g| {
            g.evidence.iter_mut().for_each(|one| one.observed = false);
        }),
        ("failed the last time", Gate::Checks, "check_failing", |g| g.evidence.push(checked(3, Fail))),
        ("with another command", Gate::Checks, "check_changed", |g| {
            g.checks = vec![Check { name: label("unit"), command: "make all".into() }];
        }),
        ("in a dirty tree", Gate::Checks, "check_outdated", |g| {
            g.evidence.iter_mut().for_each(|one| one.commit = None);
        }),
        ("no commit on either side", Gate::Checks, "check_outdated", |g| {
            g.commit = None;
            g.evidence.iter_mut().for_each(|one| one.commit = None);
        }),
        ("at another commit", Gate::Checks, "check_outdated", |g| g.commit = Some("2222222")),
        ("no review", Gate::Reviews, "review_missing", |g| g.reviews.clear()),
        ("only asked for", Gate::Reviews, "review_missing", |g| g.reviews = vec![review(1, None, "worker")]),
        ("of another domain", Gate::Reviews, "review_missing", |g| g.domains = vec![label("security")]),
        ("one's own approval", Gate::Reviews, "review_own", |g| g.holders.push("reviewer".into())),
        ("lapsed", Gate::Reviews, "review_lapsed", |g| g.commit = Some("2222222")),
        ("asked for again", Gate::Reviews, "review_requested", |g| g.reviews.push(review(2, None, "worker"))),
        ("requested and not given", Gate::Reviews, "review_missing", |g| {
            g.requested = vec![label("style")];
            g.reviews.push(Review { domain: label("style"), ..review(2, None, "worker") });
        }),
        ("requested and given by the claimant", Gate::Reviews, "review_own", |g| {
            g.requested = vec![label("style")];
            g.reviews.push(Review { domain: label("style"), ..review(2, Some(Verdict::Approve), "worker") });
        }),
        ("bound to no commit", Gate::Reviews, "review_lapsed", |g| {
            g.commit = None;
            g.reviews.iter_mut().for_each(|one| one.commit = None);
        }),
        ("an open handoff", Gate::HandoffsAccepted, "handoff_open", |g| g.open_handoffs = vec![4]),
        ("a question", Gate::NoOpenQuestions, "open_question", |g| {
            let id = crate::domain::SessionId::parse("s1").unwrap();
            g.question = Some(OpenQuestion::Session { id, waiting_for: None });
        }),
        ("a comment", Gate::Comments, "comment_open", |g| {
            let place = crate::domain::review_comment::LinePlace { path: "a".into(), line: 1 };
            g.comments = vec![OpenComment { id: 3, reviewer: "reviewer".into(), place }];
        }),
        ("dirt", Gate::CleanWorktree, "worktree_dirty", |g| g.work.clean = Some(false)),
        ("dirt unknown", Gate::CleanWorktree, "worktree_dirty", |g| g.work.clean = None),
        ("behind the base", Gate::BasedOn, "not_based", |g| g.work.based = Some(false)),
        ("base unknown", Gate::BasedOn, "not_based", |g| g.work.based = None),
        ("files that run later", Gate::ReviewedExecutables, "executables_unreviewed", |g| {
            g.work.runs_later = Some(vec![".vscode/tasks.json".into()]);
            g.reviews.clear();
        }),
        ("approved by a claimant", Gate::ReviewedExecutables, "executables_unreviewed", |g| {
            g.work.runs_later = Some(vec![".envrc".into(), ".npmrc".into()]);
            g.holders.push("reviewer".into());
        }),
        ("approved at another commit", Gate::ReviewedExecutables, "executables_unreviewed", |g| {
            g.work.runs_later = Some(vec![".envrc".into()]);
            g.commit = Some("2222222");
        }),
        ("unknown files", Gate::ReviewedExecutables, "executables_unreviewed", |g| {
            g.work.runs_later = None;
            g.reviews.clear();
        }),
    ];
    for (what, gate, code, change) in changes {
        let mut given = given();
        change(&mut given);
        assert_eq!(codes(&given, &[*gate]), [*code], "{what}");
        assert_eq!(codes(&given, &[]), [""; 0], "{what}: nothing is asked for");
    }
    for gate in Gate::ALL {
        assert!(changes.iter().any(|(_, closed, ..)| closed == gate), "{gate} is never closed");
    }
}

#[test]
fn repaired_fact_opens_its_gate_again() {
    use EvidenceResult::{Fail, Pass};
    let mut failed_in_another_kind = given();
    failed_in_another_kind.evidence.push(record(3, "lint", Fail));
    assert_eq!(codes(&failed_in_another_kind, &[Gate::Evidence]), [""; 0]);

    let mut fixed = given();
    fixed.evidence = vec![record(1, "test", Fail), record(2, "test", Pass), checked(3, Fail), checked(4, Pass)];
    assert_eq!(codes(&fixed, &[Gate::Evidence, Gate::Checks]), [""; 0]);

    let mut requested_and_given = given();
    requested_and_given.requested = vec![label("style")];
    let at_another_commit = Review { commit: None, ..review(2, Some(Verdict::Approve), "reviewer") };
    requested_and_given.reviews.push(Review { domain: label("style"), ..at_another_commit });
    assert_eq!(codes(&requested_and_given, &[Gate::Reviews]), [""; 0]);

    let mut approved_again = given();
    approved_again.reviews =
        vec![review(1, Some(Verdict::Reject), "reviewer"), review(2, Some(Verdict::Approve), "reviewer")];
    assert_eq!(codes(&approved_again, &[Gate::Reviews]), [""; 0]);
}

#[test]
fn evidence_at_a_commit_that_the_work_does_not_contain_is_outdated() {
    use EvidenceResult::{Fail, Pass};
    let at =
        |id, result, commit: Option<&str>| Evidence { commit: commit.map(str::to_owned), ..record(id, "test", result) };
    let report = |evidence: Vec<Evidence>, contained: Option<&[&str]>| {
        let contained = contained.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
        let work = WorkFacts { contained, ..given().work };
        let given = Given { evidence, work, commit: Some("2222222222222222"), ..given() };
        evaluate(&[Gate::Evidence], &facts(&given)).into_blockers().pop()
    };
    let outdated = report(vec![at(1, Pass, Some(COMMIT))], Some(&[])).unwrap();
    assert_eq!(outdated.code, "evidence_outdated");
    assert_eq!(
        outdated.message,
        "evidence 1 of kind 'test' passed at commit 1111111, and the work at 222222222222 does not contain that commit"
    );
    assert_eq!(outdated.fix, "fairway evidence run T-1 --kind test -- COMMAND");
    let of_check = Evidence { check: Some("unit".into()), ..at(1, Pass, Some(COMMIT)) };
    assert_eq!(report(vec![of_check], Some(&[])).unwrap().fix, "fairway evidence run T-1 --check unit");
    // At the commit itself, at one that the work contains, in a dirty tree, and where git was not asked.
    assert_eq!(report(vec![at(1, Pass, Some("2222222222222222"))], Some(&[])), None);
    assert_eq!(report(vec![at(1, Pass, Some(COMMIT))], Some(&[COMMIT])), None);
    assert_eq!(report(vec![at(1, Pass, None)], Some(&[])), None);
    assert_eq!(report(vec![at(1, Pass, Some(COMMIT))], None), None);
    // One that counts is enough; a failure undoes what still counts.
    assert_eq!(report(vec![at(1, Pass, Some("3333333")), at(2, Pass, Some(COMMIT))], Some(&[COMMIT])), None);
    let failed = report(vec![at(1, Pass, Some(COMMIT)), at(2, Fail, Some("3333333"))], Some(&[COMMIT]));
    assert_eq!(failed.unwrap().code, "evidence_failing");
}

#[test]
fn refusal_of_a_reviewer_holds_until_that_reviewer_approves() {
    let domain = |name: &str, review: Review| Review { domain: label(name), ..review };
    let refusing = |reviews: Vec<Review>| {
        let given = Given { reviews, ..given() };
        let report = evaluate(&[], &facts(&given));
        assert!(report.blockers().iter().all(|blocker| blocker.code == "review_negative"), "{report:?}");
        report.into_blockers().into_iter().map(|blocker| blocker.message).collect::<Vec<_>>()
    };
    let changes = |id, actor| review(id, Some(Verdict::Changes), actor);
    let approval = |id, actor| review(id, Some(Verdict::Approve), actor);
    let by = |actor: &str, id: i64| format!("{actor} asks for changes in the domain 'data' (review {id})");
    assert_eq!(refusing(vec![changes(1, "ann")]), [by("ann", 1)]);
    assert_eq!(refusing(vec![changes(1, "ann"), approval(2, "bob")]), [by("ann", 1)]);
    assert_eq!(refusing(vec![changes(1, "ann"), domain("style", approval(2, "ann"))]), [by("ann", 1)]);
    assert_eq!(refusing(vec![changes(1, "ann"), review(2, None, "ann")]), [by("ann", 1)]);
    let for_another = Review { reviewer: Some("carl".into()), ..approval(2, "ann") };
    assert_eq!(refusing(vec![changes(1, "ann"), for_another]), [by("ann", 1)]);
    assert_eq!(refusing(vec![changes(1, "ann"), changes(2, "bob"), approval(3, "ann")]), [by("bob", 2)]);
    let rejected = review(1, Some(Verdict::Reject), "ann");
    assert_eq!(refusing(vec![rejected.clone()]), ["ann rejects it in the domain 'data' (review 1)"]);
    assert_eq!(refusing(vec![rejected, approval(2, "ann")]), [""; 0]);
    assert_eq!(refusing(vec![changes(1, "ann@host"), approval(2, "ann@host#1f3a")]), [""; 0]);
}

#[test]
fn fix_of_a_review_never_leads_to_an_approval_of_ones_own_work() {
    let fix = |reviews: Vec<Review>| {
        let given = Given { reviews, ..given() };
        let facts = facts(&given);
        evaluate(&[Gate::Reviews], &facts).into_blockers().remove(0).fix
    };
    let request = "fairway review request T-1 --domain data";
    assert_eq!(fix(Vec::new()), request);
    assert_eq!(fix(vec![review(1, Some(Verdict::Changes), "reviewer")]), request);
    assert_eq!(fix(vec![review(1, Some(Verdict::Approve), "worker")]), request);
    assert_eq!(
        fix(vec![review(1, Some(Verdict::Changes), "reviewer"), review(2, None, "worker")]),
        "by reviewer: fairway review record T-1 --domain data --verdict VERDICT"
    );
}

#[test]
fn report_names_every_blocker_in_the_order_of_the_gates() {
    let mut given = given();
    given.evidence.clear();
    given.open_handoffs = vec![4, 7];
    let gates = [Gate::HandoffsAccepted, Gate::Evidence];
    assert_eq!(codes(&given, &gates), ["handoff_open", "handoff_open", "evidence_missing"]);
}
