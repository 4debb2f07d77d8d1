//! The gates before `done` and before a merge: one function, one report.

use std::collections::BTreeSet;

use crate::domain::actor::is_same_claimant;
pub use crate::domain::blocker::{Blocker, GateReport, JudgedWork};
use crate::domain::evidence::{Evidence, EvidenceResult, LANDING_KIND, PROVIDER_KIND};
use crate::domain::id::Label;
use crate::domain::review::{OpenComment, Review, Verdict};
use crate::domain::rules::open_question::OpenQuestion;
use crate::domain::string_enum::string_enum;
use crate::domain::task::Check;
use crate::domain::{TaskId, age, commit_id, pull_request};
use crate::env::Timestamp;

string_enum! {
    /// A condition that may be required.
    Gate {
        Evidence => "evidence",
        Checks => "checks",
        Reviews => "reviews",
        HandoffsAccepted => "handoffs_accepted",
        NoOpenQuestions => "no_open_questions",
        CleanWorktree => "clean_worktree",
        BasedOn => "based_on",
        Comments => "comments",
        ReviewedExecutables => "reviewed_executables",
    }
}

/// Facts from git about the work, for the gates that need them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkFacts {
    /// The worktree's directory; `None` when it is unknown.
    pub worktree: Option<String>,
    pub branch: Option<String>,
    /// Whether the worktree is clean; `None` when it is unknown.
    pub clean: Option<bool>,
    /// Whether the base branch is an ancestor of the commit; `None` when it is unknown.
    pub based: Option<bool>,
    pub base: String,
    /// The commits of evidence that belong to the work, or contain it; `None` when git was not asked.
    pub contained: Option<BTreeSet<String>>,
    /// Commits of evidence whose files are those of the work.
    pub same_files: BTreeSet<String>,
    /// Whether a landing would merge the work with this base: `fairway land` knows its commit, and takes the same base.
    pub can_land: bool,
    /// Whether another commit is checked out than was submitted. A check that runs there judges that one.
    pub is_behind: bool,
    /// The paths in the work that programs of a person would run or read later; `None` when they are unknown or git was not
    /// asked.
    pub runs_later: Option<Vec<String>>,
}

#[derive(Debug)]
pub struct GateFacts<'a> {
    pub task: &'a TaskId,
    /// When the task was last claimed and not continued; evidence from before does not count.
    pub claimed_at: Option<Timestamp>,
    /// The commit the work is at: the task's, else the worktree's HEAD.
    pub commit: Option<&'a str>,
    pub evidence: &'a [Evidence],
    pub checks: &'a [Check],
    pub reviews: &'a [Review],
    /// The domains that must approve: the task's own and those its paths are routed to.
    pub domains: &'a [Label],
    /// The other domains in which a review was requested: one must be given, and approve.
    pub requested_domains: &'a [Label],
    /// Whether the reader of the report has claimed the task, and so cannot review it.
    pub is_for_claimant: bool,
    /// Claimants of the task since it was last reopened; their approval does not count.
    pub claimants: &'a [String],
    pub open_handoffs: &'a [i64],
    /// The comments of reviewers on lines that are as they were; collected only where the gate is required.
    pub open_comments: &'a [OpenComment],
    /// The question that is still to be answered.
    pub question: Option<&'a OpenQuestion>,
    pub now: Timestamp,
    /// Facts from git; collected only for the merge gates.
    pub work: &'a WorkFacts,
}

/// Judges the required gates in their order. A review that refuses the work is a blocker even if no gate requires reviews.
pub fn evaluate(required: &[Gate], facts: &GateFacts<'_>) -> GateReport {
    let mut blockers: Vec<Blocker> = refusals(facts.reviews).map(|review| refusal_blocker(review, facts)).collect();
    for gate in required {
        match gate {
            Gate::Evidence => blockers.extend(evidence_blocker(facts)),
            Gate::Checks => blockers.extend(facts.checks.iter().filter_map(|check| check_blocker(check, facts))),
            Gate::Reviews => {
                let required = facts.domains.iter().map(|domain| (domain, true));
                let all = required.chain(facts.requested_domains.iter().map(|domain| (domain, false)));
                blockers.extend(all.filter_map(|(domain, is_required)| review_blocker(domain, is_required, facts)));
            }
            Gate::HandoffsAccepted => blockers.extend(facts.open_handoffs.iter().map(|id| Blocker {
                code: "handoff_open",
                message: format!("handoff {id} is not answered"),
                fix: format!("fairway handoff accept {id}"),
            })),
            Gate::NoOpenQuestions => blockers.extend(question_blocker(facts)),
            Gate::CleanWorktree => blockers.extend(worktree_blocker(facts)),
            Gate::BasedOn => blockers.extend(base_blocker(facts)),
            Gate::Comments => blockers.extend(facts.open_comments.iter().map(comment_blocker)),
            Gate::ReviewedExecutables => blockers.extend(executables_blocker(facts)),
        }
    }
    let judged = facts.work.worktree.as_ref().map(|worktree| {
        Box::new(JudgedWork {
            worktree: worktree.clone(),
            branch: facts.work.branch.clone(),
            base: facts.work.base.clone(),
            commit: facts.commit.map(str::to_owned),
        })
    });
    GateReport::new(facts.task.clone(), judged, blockers)
}

/// The evidence, oldest first, that the gate `evidence` counts: what was recorded since `claimed_at`, or at any time when that is
/// `None`. Evidence from providers and landings does not count.
pub fn since_claim(evidence: &[Evidence], claimed_at: Option<Timestamp>) -> impl Iterator<Item = &Evidence> {
    let counts = |record: &Evidence| !matches!(record.kind.as_str(), PROVIDER_KIND | LANDING_KIND);
    let is_since = move |record: &Evidence| claimed_at.is_none_or(|since| record.created_at >= since);
    evidence.iter().filter(move |record| counts(record) && is_since(record))
}

fn evidence_blocker(facts: &GateFacts<'_>) -> Option<Blocker> {
    let task = facts.task;
    let counted = || since_claim(facts.evidence, facts.claimed_at);
    let undone = |pass: &Evidence| {
        counted().find(|later| later.id > pass.id && later.kind == pass.kind && later.result == EvidenceResult::Fail)
    };
    let (mut failing, mut outdated) = (None, None);
    for pass in counted().filter(|record| record.result == EvidenceResult::Pass) {
        match (undone(pass), outdated_commit(pass, facts)) {
            (None, None) => return None,
            (None, Some(commit)) => outdated = Some((pass, commit)),
            (Some(failed), _) => failing = Some(failed),
        }
    }
    Some(match (failing, outdated) {
        (Some(failed), _) => Blocker {
            code: "evidence_failing",
            message: format!("evidence of kind '{}' passed and failed later (evidence {})", failed.kind, failed.id),
            fix: format!("fairway evidence run {task} --kind {} -- COMMAND", failed.kind),
        },
        (None, Some((pass, commit))) => Blocker {
            code: "evidence_outdated",
            message: format!(
                "evidence {} of kind '{}' passed at commit {}, which is no commit of the work{}",
                pass.id,
                pass.kind,
                commit_id::short(commit),
                facts.commit.map(|commit| format!(" at {}", commit_id::short(commit))).unwrap_or_default(),
            ),
            fix: or_submit(
                facts,
                match &pass.check {
                    Some(check) => format!("fairway evidence run {task} --check {check}"),
                    None => format!("fairway evidence run {task} --kind {} -- COMMAND", pass.kind),
                },
            ),
        },
        (None, None) => Blocker {
            code: "evidence_missing",
            message: "no passing evidence since the last claim".into(),
            fix: format!("fairway evidence run {task} -- COMMAND"),
        },
    })
}

/// The commit of evidence that is not about this work: a rebase dropped it, or it is on another branch.
fn outdated_commit<'a>(record: &'a Evidence, facts: &GateFacts<'_>) -> Option<&'a str> {
    let (contained, commit) = (facts.work.contained.as_ref()?, record.commit.as_deref()?);
    (!is_of_commit(Some(commit), facts) && !contained.contains(commit)).then_some(commit)
}

/// Whether evidence at `commit` was about the files of the work.
fn is_of_commit(commit: Option<&str>, facts: &GateFacts<'_>) -> bool {
    commit.is_some_and(|commit| facts.commit == Some(commit) || facts.work.same_files.contains(commit))
}

/// The command that clears a blocker about another commit. A check or review of the commit that is checked out would not, when
/// another one was submitted.
fn or_submit(facts: &GateFacts<'_>, fix: String) -> String {
    if facts.work.is_behind { format!("fairway task submit {}", facts.task) } else { fix }
}

fn check_blocker(check: &Check, facts: &GateFacts<'_>) -> Option<Blocker> {
    let name = &check.name;
    // On the tree of a landing the check may fail through what others have changed.
    let is_run = |record: &&Evidence| {
        record.observed && record.kind != LANDING_KIND && record.check.as_deref() == Some(name.as_str())
    };
    let newest = facts.evidence.iter().rev().find(is_run);
    let fix = or_submit(facts, format!("fairway evidence run {} --check {name}", facts.task));
    let (code, message) = match newest {
        None => ("check_missing", format!("the check '{name}' has not been run")),
        Some(record) if record.command.as_deref() != Some(check.command.as_str()) => {
            ("check_changed", format!("the check '{name}' was run with another command"))
        }
        Some(record) if record.result != EvidenceResult::Pass => {
            ("check_failing", format!("the check '{name}' fails (evidence {})", record.id))
        }
        // Without a commit on either side nothing shows that the check ran on this work.
        Some(record) if !is_of_commit(record.commit.as_deref(), facts) => {
            ("check_outdated", format!("the check '{name}' passed, but not at the current commit"))
        }
        Some(_) => return None,
    };
    Some(Blocker { code, message, fix })
}

/// The reviews that refuse the work: of each reviewer in each domain the newest verdict, when it is no approval.
fn refusals(reviews: &[Review]) -> impl Iterator<Item = &Review> {
    let is_same = |one: &Review, other: &Review| {
        one.domain == other.domain
            && one.reviewer == other.reviewer
            && is_same_claimant(&one.actor, &other.actor)
            && other.verdict.is_some()
    };
    let is_newest =
        move |(at, review): &(usize, &Review)| !reviews.iter().skip(at + 1).any(|later| is_same(review, later));
    let refuses = |review: &&Review| review.verdict.is_some_and(|verdict| verdict != Verdict::Approve);
    reviews.iter().enumerate().filter(is_newest).map(|(_, review)| review).filter(refuses)
}

fn refusal_blocker(review: &Review, facts: &GateFacts<'_>) -> Blocker {
    let domain = &review.domain;
    let reviewer = review.reviewer.as_deref().unwrap_or(&review.actor);
    let what = if review.verdict == Some(Verdict::Reject) { "rejects it" } else { "asks for changes" };
    if let Some(login) = pull_request::login(&review.actor) {
        let message = format!("{login} asks for changes on its pull request (review {})", review.id);
        // Who asked sees the rework there.
        return Blocker { code: "pull_request_changes", message, fix: format!("fairway land {}", facts.task) };
    }
    let is_requested = facts.reviews.iter().any(|other| other.verdict.is_none() && other.domain == *domain);
    let message = format!("{reviewer} {what} in the domain '{domain}' (review {})", review.id);
    Blocker { code: "review_negative", message, fix: way_to_review(Some(domain).filter(|_| !is_requested), facts) }
}

/// The way to a review. A claimant must not be led to an approval of its own work: it asks for a review in the domain
/// `unrequested`, or waits for one.
fn way_to_review(unrequested: Option<&Label>, facts: &GateFacts<'_>) -> String {
    let task = facts.task;
    match (facts.is_for_claimant, unrequested) {
        (false, _) => format!("fairway review next --task {task}"),
        (true, Some(domain)) => format!("fairway review request {task} --domain {domain}"),
        (true, None) => format!("by a reviewer who never claimed {task}: fairway review next --task {task}"),
    }
}

/// The blocker of a domain. An approval counts for its commit. One that names none counts only where none is required.
fn review_blocker(domain: &Label, is_required: bool, facts: &GateFacts<'_>) -> Option<Blocker> {
    let mut of_domain = facts.reviews.iter().rev().filter(|review| review.domain == *domain);
    let requested = of_domain.clone().find(|review| review.verdict.is_none());
    let newest = of_domain.find(|review| review.verdict.is_some());
    let fix = way_to_review(Some(domain).filter(|_| requested.is_none()), facts);
    let (code, message) = match newest {
        None if requested.is_some() => {
            ("review_missing", format!("the requested review in the domain '{domain}' is not given"))
        }
        None => ("review_missing", format!("no review in the domain '{domain}'")),
        // It is a blocker by itself.
        Some(review) if review.verdict != Some(Verdict::Approve) => return None,
        Some(review) if facts.claimants.iter().any(|claimant| is_same_claimant(claimant, &review.actor)) => (
            "review_own",
            format!("review {} in the domain '{domain}' is by {}, who has claimed the task", review.id, review.actor),
        ),
        Some(review) if review.commit.as_deref().map_or(is_required, |commit| facts.commit != Some(commit)) => {
            let message = format!("the approval in the domain '{domain}' is for another commit (review {})", review.id);
            return Some(Blocker { code: "review_lapsed", message, fix: or_submit(facts, fix) });
        }
        Some(review) => match requested.filter(|requested| requested.id > review.id) {
            Some(again) => (
                "review_requested",
                format!("another review in the domain '{domain}' is requested (review {})", again.id),
            ),
            None => return None,
        },
    };
    Some(Blocker { code, message, fix })
}

fn comment_blocker(comment: &OpenComment) -> Blocker {
    let OpenComment { id, reviewer, place } = comment;
    if let Some(login) = pull_request::login(reviewer) {
        let message = format!("comment {id} by {login} on its pull request is open: {}:{}", place.path, place.line);
        let fix = "change the line, or resolve the conversation there, then: fairway pr sync".to_owned();
        return Blocker { code: "pull_request_comment", message, fix };
    }
    let message = format!("comment {id} by {reviewer} is open: {}:{}", place.path, place.line);
    Blocker {
        code: "comment_open",
        message,
        fix: format!("change the line, or by {reviewer}: fairway review resolve {id}"),
    }
}

/// The gate is passed by a review, in any domain, that approves the present commit and that no claimant gave.
fn executables_blocker(facts: &GateFacts<'_>) -> Option<Blocker> {
    let is_own = |review: &Review| facts.claimants.iter().any(|claimant| is_same_claimant(claimant, &review.actor));
    let is_approval = |review: &&Review| {
        review.verdict == Some(Verdict::Approve)
            && review.commit.is_some()
            && review.commit.as_deref() == facts.commit
            && !is_own(review)
    };
    let message = match facts.work.runs_later.as_deref() {
        Some([]) => return None,
        _ if facts.reviews.iter().any(|review| is_approval(&review)) => return None,
        Some([path]) => format!("{path} would run on a person's machine, and no review approves this commit"),
        Some([path, rest @ ..]) => format!(
            "{path} and {} more would run on a person's machine, and no review approves this commit",
            rest.len()
        ),
        None => "cannot determine which files of the work would run on a person's machine".to_owned(),
    };
    Some(Blocker { code: "executables_unreviewed", message, fix: way_to_review(None, facts) })
}

fn question_blocker(facts: &GateFacts<'_>) -> Option<Blocker> {
    let (message, fix) = match facts.question? {
        OpenQuestion::Checkpoint(newest) => {
            let by = newest.session.as_ref().map(|session| format!(" by {session}")).unwrap_or_default();
            let ago = age::rough(facts.now.since(newest.created_at));
            (
                format!("the newest checkpoint awaits input (checkpoint {}{by}, {ago} ago)", newest.id),
                format!("fairway checkpoint record {} --state active --summary TEXT", facts.task),
            )
        }
        OpenQuestion::Session { id, waiting_for } => {
            let waiting_for = waiting_for.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            (format!("the session {id} waits for a person{waiting_for}"), format!("fairway session attach {id}"))
        }
    };
    Some(Blocker { code: "open_question", message, fix })
}

fn worktree_blocker(facts: &GateFacts<'_>) -> Option<Blocker> {
    let message = match facts.work.clean {
        Some(true) => return None,
        Some(false) => "the worktree has changes that are not committed",
        None => "cannot determine whether the worktree is clean",
    };
    Some(Blocker { code: "worktree_dirty", message: message.into(), fix: git_in(facts, "status") })
}

/// No hint advises a rebase: it would replace the commits that were checked and reviewed.
fn base_blocker(facts: &GateFacts<'_>) -> Option<Blocker> {
    let base = &facts.work.base;
    let quoted = shell_words::quote(base);
    let (message, fix) = match facts.work.based {
        Some(true) => return None,
        Some(false) if facts.work.can_land => (
            format!("the work does not contain the current '{base}'; a landing merges and checks both"),
            format!("fairway land {}", facts.task),
        ),
        Some(false) => {
            (format!("the work does not contain the current '{base}'"), git_in(facts, &format!("merge {quoted}")))
        }
        None => (
            format!("cannot determine whether the work contains '{base}'"),
            git_in(facts, &format!("rev-parse --verify {quoted}")),
        ),
    };
    Some(Blocker { code: "not_based", message, fix })
}

/// A git command for the judged worktree, wherever the reader is.
fn git_in(facts: &GateFacts<'_>, command: &str) -> String {
    match &facts.work.worktree {
        Some(dir) => format!("git -C {} {command}", shell_words::quote(dir)),
        None => format!("git {command}"),
    }
}

#[cfg(test)]
mod tests {
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
                ..WorkFacts::default()
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
            is_for_claimant: true,
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
                let place = crate::domain::review::LinePlace { path: "a".into(), line: 1 };
                g.comments = vec![OpenComment { id: 3, reviewer: "reviewer".into(), place }];
            }),
            ("a comment at a forge", Gate::Comments, "pull_request_comment", |g| {
                let place = crate::domain::review::LinePlace { path: "a".into(), line: 1 };
                g.comments = vec![OpenComment { id: 3, reviewer: pull_request::reviewer("ann"), place }];
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
        let without_commit = Review { commit: None, ..review(2, Some(Verdict::Approve), "reviewer") };
        requested_and_given.reviews.push(Review { domain: label("style"), ..without_commit.clone() });
        assert_eq!(codes(&requested_and_given, &[Gate::Reviews]), [""; 0]);
        let at_another_commit = Review { id: 3, commit: Some("2222222".into()), ..without_commit };
        requested_and_given.reviews.push(Review { domain: label("style"), ..at_another_commit });
        assert_eq!(codes(&requested_and_given, &[Gate::Reviews]), ["review_lapsed"]);

        let mut approved_again = given();
        approved_again.reviews =
            vec![review(1, Some(Verdict::Reject), "reviewer"), review(2, Some(Verdict::Approve), "reviewer")];
        assert_eq!(codes(&approved_again, &[Gate::Reviews]), [""; 0]);
    }

    #[test]
    fn evidence_at_a_commit_that_is_none_of_the_work_is_outdated() {
        use EvidenceResult::{Fail, Pass};
        let at = |id, result, commit: Option<&str>| Evidence {
            commit: commit.map(str::to_owned),
            ..record(id, "test", result)
        };
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
            "evidence 1 of kind 'test' passed at commit 1111111, which is no commit of the work at 222222222222"
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
            let is_negative = |one: &Blocker| matches!(one.code, "review_negative" | "pull_request_changes");
            assert!(report.blockers().iter().all(is_negative), "{report:?}");
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
        // A person of a forge is another one than a person or session of that name here.
        let of_forge = "ann asks for changes on its pull request (review 1)";
        assert_eq!(refusing(vec![changes(1, "forge:ann"), approval(2, "ann")]), [of_forge]);
        assert_eq!(refusing(vec![changes(1, "forge:ann"), approval(2, "forge:ann")]), [""; 0]);
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
            "by a reviewer who never claimed T-1: fairway review next --task T-1"
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
}
