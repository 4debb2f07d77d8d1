//! Classification of errors: code, kind, message, hint and details. No other module makes them.

use std::{fmt::Display, path::Path};

use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    adapters::AdapterError,
    config::{ConfigError, project::OUTPUT_FILE},
    domain::{
        LaneName, Refusal, Role, TaskId,
        invalid_value::InvalidValue,
        message::{Channel, MessageStatus},
        task::TaskStatus,
    },
    os::{git::GitError, run_streaming::StreamError},
    render::{OutError, escape_line},
    store::StoreError,
    wire::{Failure, FailureKind, GateReportView, WaitingView},
};

/// The noun of a missing snapshot.
pub const SNAPSHOT: &str = "snapshot of the store";

/// A bug in Fairway: a state that the code excludes.
#[derive(Debug, Error)]
#[error("internal error: {0} (please report this)")]
pub struct InternalError(String);

/// An [`InternalError`] with its reason.
#[must_use]
pub fn internal(why: impl Display) -> anyhow::Error {
    InternalError(why.to_string()).into()
}

/// Classifies any error that a use case or entry point returns.
#[must_use]
pub fn classify(error: &anyhow::Error) -> Failure {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Refusal>().map(refusal) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<InvalidValue>() {
            return refusal(&failure.clone().into());
        }
        if let Some(failure) = cause.downcast_ref::<StoreError>().map(store) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<ConfigError>().map(config) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<StreamError>() {
            let code = match failure {
                StreamError::NotFound { .. } => "program_not_found",
                StreamError::Interrupted { .. } => "interrupted",
                StreamError::NoDir { .. } | StreamError::Start { .. } | StreamError::Watch(_) => "program_failed",
            };
            return plain(code, FailureKind::External, failure.to_string());
        }
        if let Some(failure) = cause.downcast_ref::<GitError>() {
            return plain("git_failed", FailureKind::External, failure.to_string());
        }
        if let Some(failure) = cause.downcast_ref::<AdapterError>().map(adapter) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<OutError>() {
            return plain("output", FailureKind::Failure, failure.to_string());
        }
    }
    plain("failure", FailureKind::Failure, format!("{error:#}"))
}

fn plain(code: &'static str, kind: FailureKind, message: String) -> Failure {
    Failure { code, kind, message, hint: None, retryable: kind == FailureKind::Busy, details: Value::Null }
}

fn refusal(refusal: &Refusal) -> Failure {
    let (kind, hint) = kind_and_hint(refusal);
    Failure { hint, details: details(refusal), ..plain(refusal.code(), kind, refusal.to_string()) }
}

fn kind_and_hint(refusal: &Refusal) -> (FailureKind, Option<String>) {
    use FailureKind::{Busy, Conflict, Empty, NotFound, Refused, Untrusted, Usage};
    match refusal {
        Refusal::Invalid { .. } | Refusal::Line { .. } | Refusal::Usage { .. } => (Usage, None),
        Refusal::NoLaunchRole { lane: Some(lane) } => {
            (Usage, Some(format!("to set the lane's role: fairway lane edit {lane} --role ROLE")))
        }
        Refusal::NoLaunchRole { lane: None } => (Usage, Some("name a role: fairway session launch --role ROLE".into())),
        Refusal::RequestReused { .. } => (Usage, Some("use a new --request-id".into())),
        Refusal::EventReused { .. } => (Usage, Some("another event needs another --event-id".into())),
        Refusal::NotFound { noun, near, .. } => {
            let hint = match (near.as_slice(), *noun) {
                ([], "lane") => Some("list the lanes: fairway lane list".into()),
                ([], "session" | "session with the run") => {
                    Some("list the sessions: fairway session list --all".into())
                }
                ([], "run") => Some("list the jobs: fairway exec list".into()),
                ([], "task" | "task or session") => Some("list the tasks: fairway task list".into()),
                ([], "multiplexer") => Some("install it, or choose another backend: fairway adapter list".into()),
                ([], SNAPSHOT) => {
                    Some("restore a backup: fairway restore FILE; or begin a new store: fairway init --new".into())
                }
                ([], "backend") => Some("list the backends: fairway adapter list".into()),
                ([], _) => None,
                (near, _) => Some(format!("did you mean {}?", near.join(", "))),
            };
            (NotFound, hint)
        }
        Refusal::TaskRemoved { task, .. } => {
            (NotFound, Some(format!("see its history: fairway events --of-task {task}")))
        }
        Refusal::TitleExpected { id, words } => (Usage, Some(title_hint(id.as_ref(), words))),
        Refusal::IdUsed { .. } => (Conflict, Some("let the id be generated: fairway task add 'TITLE'".into())),
        Refusal::TaskInUse { task, is_open: true, .. } => (
            Conflict,
            Some(format!("cancel it, and it stays in the history: fairway task cancel {task} --reason TEXT")),
        ),
        Refusal::TaskInUse { task, .. } => (Conflict, Some(format!("look at its records: fairway task show {task}"))),
        Refusal::UnknownBackend { known, .. } => {
            (NotFound, Some(format!("choose one of {}: fairway adapter list", known.join(", "))))
        }
        Refusal::NoLiveSession { later: Some(flag), .. } => {
            (NotFound, Some(format!("leave a message for the next session: fairway message send TEXT {flag}")))
        }
        Refusal::NoLiveSession { .. } => (NotFound, Some("list the sessions: fairway session list".into())),
        Refusal::NoneFound { noun, .. } => (NotFound, Some(format!("list them: fairway {noun} list"))),
        Refusal::Ambiguous { noun: "id", id, .. } => {
            (NotFound, Some(format!("name its kind: fairway explain task {id}, or fairway explain session {id}")))
        }
        Refusal::Ambiguous { .. } => (NotFound, None),
        Refusal::InUse { noun: "lane", id, .. } => (Conflict, Some(format!("to end it: fairway lane close {id}"))),
        Refusal::InUse { noun: "run", id, .. } => (Conflict, Some(format!("to end it: fairway exec kill {id}"))),
        Refusal::AlreadyExists { noun: "file", .. } => (Conflict, Some("--force replaces it".into())),
        Refusal::AlreadyExists { .. } | Refusal::InUse { .. } => (Conflict, None),
        Refusal::LaneHeld { hint, .. } => (Conflict, Some(hint.clone())),
        Refusal::UnsavedWork { dir: Some(dir), .. } => {
            (Refused, Some(format!("commit or stash the changes: {}", git_in(dir, "stash --include-untracked"))))
        }
        Refusal::UnsavedWork { lane, dir: None, .. } => {
            (Refused, Some(format!("to keep it as it is: fairway lane close {lane}")))
        }
        Refusal::LaneWithoutWorktree { lane } => {
            (Refused, Some(format!("name one: fairway lane edit {lane} --worktree DIR")))
        }
        Refusal::WorktreeMissing { lane, .. } => (NotFound, Some(format!("make it again: fairway lane repair {lane}"))),
        Refusal::BeforeReflog { lane, .. } => {
            (NotFound, Some(format!("compare with a commit: fairway lane diff {lane} --since COMMIT")))
        }
        Refusal::WorktreeNotOwned { dir, .. } => {
            (Refused, Some(format!("remove it yourself: git worktree remove {}", shell_words::quote(dir))))
        }
        Refusal::WrongBranch { wants, dir, .. } => {
            let branch = wants.as_deref().unwrap_or("BRANCH");
            (Refused, Some(format!("check the branch out: {}", git_in(dir, &format!("switch {branch}")))))
        }
        Refusal::MergeCommits { lane } => (Refused, Some(format!("merge instead: fairway lane sync {lane} --merge"))),
        Refusal::SyncConflict { by_hand, .. } => (Refused, Some(format!("resolve it by hand: {by_hand}"))),
        Refusal::NotLandable { reports, .. } => {
            let fixes = reports.iter().flat_map(|report| &report.blockers).map(|blocker| blocker.fix.as_str());
            let mut fixes: Vec<&str> = fixes.collect();
            fixes.dedup();
            (Refused, Some(fixes.join("\n")))
        }
        Refusal::NoTaskCommit {
            task,
            status: TaskStatus::InProgress | TaskStatus::Blocked | TaskStatus::Review,
            ..
        } => (Refused, Some(format!("name it: fairway task submit {task} --commit COMMIT"))),
        Refusal::NoTaskCommit { lane: Some(lane), .. } => {
            (Refused, Some(format!("land its lane: fairway land lane:{lane}")))
        }
        Refusal::NoTaskCommit { task, .. } => (Refused, Some(format!("look at it: fairway task show {task}"))),
        Refusal::OperationUnfinished { dir, .. } => {
            (Refused, Some(format!("finish or abort it: {}", git_in(dir, "status"))))
        }
        Refusal::BaseBehind { ahead: 0, dir, .. } => {
            (Refused, Some(format!("bring it up to date: {}", git_in(dir, "pull --ff-only"))))
        }
        Refusal::BaseBehind { dir, .. } => {
            (Refused, Some(format!("bring both together: {}", git_in(dir, "pull --rebase"))))
        }
        Refusal::BaseInSeveral { base, dirs } => {
            let dir = dirs.last().map_or("DIR", String::as_str);
            (Refused, Some(format!("leave {base} in all but one: {}", git_in(dir, "switch --detach"))))
        }
        Refusal::CheckoutChanged { dir, .. } => {
            (Refused, Some(format!("commit or stash the changes: {}", git_in(dir, "stash --include-untracked"))))
        }
        Refusal::BaseMoved { .. } => (Conflict, Some("look at it, then try again: fairway land --dry-run".into())),
        Refusal::NoIdentity { .. } => {
            (Refused, Some("name yourself: git config user.name NAME && git config user.email EMAIL".into()))
        }
        Refusal::CannotRebase { .. } => (Refused, Some("set [land] style = \"squash\": fairway config edit".into())),
        Refusal::SentBackBefore { lane, base, .. } => (Refused, Some(bring_in(lane.as_ref(), base))),
        Refusal::LandConflict { lane, base, .. } => (Refused, Some(bring_in(lane.as_ref(), base))),
        Refusal::LandCheckFailed(failed) => {
            let output = failed.evidence.map(|number| format!("see its output: fairway evidence show {number}"));
            (Refused, Some(output.unwrap_or_else(|| bring_in(failed.lane.as_ref(), &failed.base))))
        }
        Refusal::NoCommit { .. } => (NotFound, Some("commit first: git add -A && git commit -m 'first commit'".into())),
        Refusal::AlreadyClaimed { task, .. } => {
            (Conflict, Some(format!("to take over: fairway claim {task} --steal --reason TEXT")))
        }
        Refusal::AlreadyClaimedByYou { task, epoch } => {
            (Conflict, Some(format!("to renew its lease: fairway claim {task} --epoch {epoch}")))
        }
        Refusal::StaleClaim { task, by: None, .. } => {
            (Conflict, Some(format!("if it is todo, claim it again: fairway claim {task}")))
        }
        Refusal::StaleClaim { task, .. } | Refusal::StaleHandoff { task, .. } => {
            (Conflict, Some(format!("see who has it: fairway task show {task}")))
        }
        Refusal::NotClaimant { task, .. } => {
            (Conflict, Some(format!("to stand in for the holder of {task}: --force --reason TEXT")))
        }
        Refusal::WrongState { task, status, verb } => (Conflict, Some(next_step(task, *status, verb))),
        Refusal::SessionFinal { .. } => {
            (Conflict, Some("a new launch is a new session: fairway session launch".into()))
        }
        Refusal::SessionAlive { session, .. } => {
            (Conflict, Some(format!("end it first: fairway session stop {session}")))
        }
        Refusal::RelaunchNeeds { session, command, env } => {
            let env: String = env.iter().map(|name| format!(" --env {name}=VALUE")).collect();
            let command = if *command { " -- COMMAND" } else { "" };
            (Usage, Some(format!("give it again: fairway session relaunch {session}{env}{command}")))
        }
        Refusal::NoRepository { .. } => {
            (Refused, Some("make one: git init && git add -A && git commit -m 'first commit'".into()))
        }
        Refusal::NoAgentProgram { .. } => (NotFound, Some("name the program: fairway start TASK -- PROGRAM".into())),
        Refusal::SeveralAgentPrograms { names } => {
            let provider = names.first().map_or("NAME", String::as_str);
            (Usage, Some(format!("choose one: fairway start TASK --provider {provider}")))
        }
        Refusal::SessionExited { .. } => (Conflict, Some("to settle it: fairway session reconcile".into())),
        Refusal::SessionElsewhere { session, .. } => {
            let forget = format!("if that host or container is gone: fairway session forget {session}");
            (Conflict, Some(forget))
        }
        Refusal::SessionMismatch { .. } | Refusal::AlreadyAnswered { .. } => (Conflict, None),
        Refusal::SessionAsks { session, typing, .. } => {
            let answer = format!(
                "list the questions: fairway approvals list\nanswer in its terminal: fairway session attach {session}"
            );
            let force = format!("type it all the same: fairway session nudge {session} --force TEXT");
            (Conflict, Some(if *typing { format!("{answer}\n{force}") } else { answer }))
        }
        Refusal::NothingClaimed { .. } => (Conflict, Some("claim one: fairway claim".into())),
        Refusal::SeveralClaimed { tasks, command } => {
            let task = tasks.first().map_or("ID", TaskId::as_str);
            (NotFound, Some(format!("name one: {command} --task {task}")))
        }
        Refusal::InvalidSettings { .. } => (Usage, None),
        Refusal::ApprovalLapsed { .. } => (Conflict, Some("list the approvals: fairway approvals list".into())),
        Refusal::NotAnswerable { session, .. } => {
            (Refused, Some(format!("answer in its terminal: fairway session attach {session}")))
        }
        Refusal::SelfApproval { .. } => (Refused, None),
        Refusal::NotForYou { wants, is_role: true, .. } => (Refused, Some(format!("--as {wants}"))),
        Refusal::NotForYou { .. } => (Refused, Some("list the open handoffs: fairway handoff list --open".into())),
        Refusal::NotCreator { .. } => (Conflict, Some("override as its creator: --force --reason TEXT".into())),
        Refusal::RequestPending { running: true, .. } => (Conflict, Some("wait for it, then repeat".into())),
        Refusal::RequestPending { .. } => {
            (Conflict, Some("look at what it did; a new --request-id runs it again".into()))
        }
        Refusal::JobFinal { run, .. } => (Conflict, Some(format!("to see what it printed: fairway exec log {run}"))),
        Refusal::JobQueued { run } => (Conflict, Some(format!("to wait for it: fairway exec poll {run} --wait 30s"))),
        Refusal::NoTerminal { .. } => (Conflict, Some("start it with: fairway exec spawn --pty".into())),
        Refusal::InputFull { run, .. } => (Conflict, Some(format!("to see what it does: fairway exec poll {run}"))),
        Refusal::JobUnsupervised { run, is_elsewhere: true } => {
            (Conflict, Some(format!("to give it up, if its host or container is gone: fairway exec rm --force {run}")))
        }
        Refusal::JobUnsupervised { .. } => (Conflict, Some("to settle it: fairway session reconcile".into())),
        Refusal::JobUnresponsive { run } => (Busy, Some(format!("look at it again: fairway exec poll {run}"))),
        Refusal::DepsOpen { task, .. } => {
            (Refused, Some(format!("see what it waits for: fairway task dep tree {task}")))
        }
        Refusal::RoleMismatch { wants, .. } => (Refused, Some(format!("--role {wants}, or --any-role"))),
        Refusal::LaneMismatch { wants, .. } => (Refused, Some(format!("--lane {wants}"))),
        Refusal::LanePaused { lane } | Refusal::LaneClosed { lane } => {
            (Refused, Some(format!("open it: fairway lane open {lane}")))
        }
        Refusal::LaneFull { lane, limit, .. } => {
            (Refused, Some(format!("raise the limit: fairway lane edit {lane} --wip {}", limit + 1)))
        }
        Refusal::PathConflict { other, .. } => {
            (Refused, Some(format!("wait for {other}, or set [claims] path_conflicts = \"warn\"")))
        }
        Refusal::DemoFailed { .. } => (FailureKind::External, Some("look at what it did: fairway demo --keep".into())),
        Refusal::InsideSession { .. } => (Refused, Some("run it in a terminal outside of any session".into())),
        Refusal::NotConfirmed => (Refused, None),
        Refusal::NeedsTerminal { instead, .. } => (Usage, Some((*instead).to_owned())),
        Refusal::NoWorktree { task, .. } => {
            (Refused, Some(format!("name the lane whose worktree has the work: fairway task edit {task} --lane LANE")))
        }
        Refusal::GateBlocked(report) => {
            // One command per line.
            let mut fixes: Vec<&str> = report.blockers.iter().map(|blocker| blocker.fix.as_str()).collect();
            fixes.dedup();
            (Refused, Some(fixes.join("\n")))
        }
        Refusal::Cycle { .. } => (Refused, None),
        Refusal::NothingReady { skipped } => (
            Empty,
            Some(
                if skipped.is_empty() { "see why: fairway ready --why" } else { "list the ready tasks: fairway ready" }
                    .into(),
            ),
        ),
        Refusal::WaitTimedOut { .. } => (Empty, None),
        Refusal::NotAcknowledged { status, waits, .. } => match status {
            MessageStatus::Expired | MessageStatus::Withdrawn => (Empty, None),
            _ => {
                let next = waits.iter().filter_map(|wait| wait.hint.as_ref()).map(|hint| format!("{hint}\n"));
                (Empty, Some(next.chain(["it goes on waiting: fairway outbox".to_owned()]).collect()))
            }
        },
        Refusal::FirstPromptPending { session, question: Some(_), .. } => {
            (Empty, Some(format!("answer it: fairway session attach {session}")))
        }
        Refusal::FirstPromptPending { session, .. } => {
            (Empty, Some(format!("look at its screen: fairway session peek {session}")))
        }
        Refusal::ServeRunning { .. } => (Conflict, Some("it serves this project; end it to start another".into())),
        Refusal::PluginHasHooks { disable, .. } => {
            (Conflict, Some(format!("to use the entries in its place: {disable}")))
        }
        Refusal::NoSession { .. } => {
            (Refused, Some("start the agent with a session: fairway start TASK --provider PROVIDER".into()))
        }
        Refusal::GuardDenied { .. } => {
            (Refused, Some("why: fairway guard test --role ROLE --tool TOOL --input JSON".into()))
        }
        Refusal::Untrusted { .. } => (Untrusted, Some("a person looks at it, then runs: fairway trust".into())),
        Refusal::TrackedByGit { path } => (Untrusted, Some(format!("look at it, then: git rm --cached {path}"))),
    }
}

/// How a base comes into a lane, or into work without one.
fn bring_in(lane: Option<&LaneName>, base: &str) -> String {
    match lane {
        Some(lane) => format!("bring {base} in: fairway lane sync {lane} --rebase"),
        None => format!("bring {base} in: git rebase {base}"),
    }
}

/// The longest title that a hint repeats, in bytes.
const MAX_QUOTED_TITLE: usize = 120;

/// The ways to write `task add` that the arguments may have meant.
fn title_hint(id: Option<&TaskId>, words: &[String]) -> String {
    let quoted = |words: &[String]| match shell_words::quote(&words.join(" ")) {
        text if text.len() <= MAX_QUOTED_TITLE => text.into_owned(),
        _ => "TITLE".to_owned(),
    };
    match (id, words) {
        (Some(id), words) => format!("quote the title: fairway task add --id {id} {}", quoted(words)),
        (None, [word]) => format!(
            "give it a title: fairway task add {word} TITLE\n\
             if it is the title, name an id: fairway task add --id ID {word}"
        ),
        (None, [id, title @ ..]) if TaskId::is_distinct(id) => {
            format!("quote the title: fairway task add {id} {}", quoted(title))
        }
        (None, words) => {
            let quote = format!("quote the title: fairway task add {}", quoted(words));
            match words.split_first() {
                Some((id, title)) if TaskId::parse(id).is_ok() => {
                    format!("{quote}\nor name the id: fairway task add --id {id} {}", quoted(title))
                }
                _ => quote,
            }
        }
    }
}

/// The command that leads on from a transition that the task's status does not have.
fn next_step(task: &TaskId, status: TaskStatus, verb: &str) -> String {
    use TaskStatus::{Blocked, Cancelled, Done, InProgress, Review, Todo};
    let command = match (verb, status) {
        ("reopened" | "released" | "unblocked" | "resumed", Todo) => ("claim it", "claim", ""),
        (_, Todo) => ("claim it first", "claim", ""),
        ("reopened", InProgress | Blocked | Review) => ("release it instead", "release", ""),
        ("cancelled", Done | Cancelled) => ("see its history", "task show", ""),
        (_, Done | Cancelled) => ("reopen it first", "task reopen", " --reason TEXT"),
        ("unblocked", Review) => ("resume it", "task resume", ""),
        ("blocked", Review) => ("resume it first", "task resume", ""),
        ("resumed", Blocked) => ("unblock it", "task unblock", ""),
        ("marked done" | "submitted", Blocked) => ("unblock it first", "task unblock", ""),
        ("submitted", Review) => ("finish it", "done", ""),
        ("resumed", InProgress) => ("submit it first", "task submit", ""),
        _ => ("see why", "explain task", ""),
    };
    let (purpose, command, arguments) = command;
    format!("{purpose}: fairway {command} {task}{arguments}")
}

/// A command of git in a directory, as a user types it.
fn git_in(dir: &str, command: &str) -> String {
    format!("git -C {} {command}", shell_words::quote(dir))
}

fn details(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::Line { line, .. } => json!({ "line": line }),
        Refusal::NoneFound { noun, ids } => json!({ "noun": noun, "ids": ids }),
        Refusal::NotFound { noun, id, near } => json!({ "noun": noun, "id": id, "near": near }),
        Refusal::UnknownBackend { name, known } => json!({ "noun": "backend", "id": name, "near": known }),
        Refusal::TaskRemoved { task, at } => {
            json!({ "noun": "task", "id": task.as_str(), "near": [], "removed_at": at.to_string() })
        }
        Refusal::IdUsed { task } => json!({ "noun": "task", "id": task.as_str() }),
        Refusal::TaskInUse { task, by, .. } => json!({ "noun": "task", "id": task.as_str(), "by": by }),
        Refusal::AlreadyClaimed { task, by, since } => {
            json!({ "task_id": task.as_str(), "claimant": by, "claimed_at": since.to_string() })
        }
        Refusal::AlreadyClaimedByYou { task, epoch } => json!({ "task_id": task.as_str(), "epoch": epoch }),
        Refusal::StaleClaim { task, yours, current, by } => {
            json!({ "task_id": task.as_str(), "epoch": yours, "current_epoch": current, "claimant": by })
        }
        Refusal::StaleHandoff { id, task, made, current, by } => json!({
            "handoff_id": id, "task_id": task.as_str(), "epoch": made, "current_epoch": current, "claimant": by,
        }),
        Refusal::NotClaimant { task, by, .. } => json!({ "task_id": task.as_str(), "claimant": by }),
        Refusal::WrongState { task, status, .. } => json!({ "task_id": task.as_str(), "status": status.as_str() }),
        Refusal::DepsOpen { task, waiting } => json!({
            "task_id": task.as_str(),
            "waiting_on": waiting.iter().map(WaitingView::from).collect::<Vec<_>>(),
        }),
        Refusal::AlreadyExists { noun, id } | Refusal::InUse { noun, id, .. } => json!({ "noun": noun, "id": id }),
        Refusal::RoleMismatch { task, wants, have } => json!({
            "task_id": task.as_str(), "role": wants.as_str(), "your_role": have.as_ref().map(Role::as_str),
        }),
        Refusal::LaneMismatch { task, wants, have } => {
            json!({ "task_id": task.as_str(), "lane": wants.as_str(), "your_lane": have.as_str() })
        }
        Refusal::NotForYou { id, wants, have, is_role: true } => {
            json!({ "handoff_id": id, "role": wants, "your_role": have })
        }
        Refusal::NotForYou { id, wants, have, is_role: false } => {
            json!({ "handoff_id": id, "lane": wants, "your_lane": have })
        }
        Refusal::LanePaused { lane }
        | Refusal::LaneClosed { lane }
        | Refusal::LaneWithoutWorktree { lane }
        | Refusal::MergeCommits { lane } => json!({ "lane": lane.as_str() }),
        Refusal::LaneHeld { lane, .. } => json!({ "noun": "lane", "id": lane.as_str() }),
        Refusal::BeforeReflog { lane, event, at, begins, .. } => json!({
            "lane": lane.as_str(), "event": event, "at": at.to_string(), "begins_at": begins.map(|at| at.to_string()),
        }),
        Refusal::WorktreeMissing { lane, dir } | Refusal::WorktreeNotOwned { lane, dir } => {
            json!({ "lane": lane.as_str(), "worktree": dir })
        }
        Refusal::WrongBranch { lane, wants, have, dir } => {
            json!({ "lane": lane.as_str(), "worktree": dir, "branch": wants, "current_branch": have })
        }
        Refusal::SyncConflict { lane, base, files, commit, .. } => {
            json!({ "lane": lane.as_str(), "base": base, "files": files, "commit": commit })
        }
        Refusal::NotLandable { reports, .. } => {
            json!({ "tasks": reports.iter().map(GateReportView::from).collect::<Vec<_>>() })
        }
        Refusal::OperationUnfinished { operation, dir, .. } => json!({ "operation": operation, "directory": dir }),
        Refusal::BaseBehind { base, upstream, ahead, behind, .. } => {
            json!({ "base": base, "upstream": upstream, "ahead": ahead, "behind": behind })
        }
        Refusal::BaseInSeveral { base, dirs } => json!({ "base": base, "directories": dirs }),
        Refusal::CheckoutChanged { base, dir, files } => json!({ "base": base, "directory": dir, "files": files }),
        Refusal::LandConflict { base, files, with, .. } => {
            json!({ "base": base, "files": files, "landed_since": with })
        }
        Refusal::LandCheckFailed(failed) => json!({
            "base": failed.base, "check": failed.check, "landed_since": failed.with, "evidence": failed.evidence,
        }),
        Refusal::SessionFinal { session, status } | Refusal::SessionExited { session, status } => {
            json!({ "session_id": session.as_str(), "status": status.as_str() })
        }
        Refusal::SessionAsks { session, question, .. } => {
            json!({ "session_id": session.as_str(), "question": question })
        }
        Refusal::SeveralClaimed { tasks, .. } => {
            json!({ "noun": "task", "found": tasks.iter().map(TaskId::as_str).collect::<Vec<_>>() })
        }
        Refusal::NotAcknowledged { id, status, way, waits, .. } => json!({
            "message_id": id, "status": status.as_str(), "way": way.map(Channel::as_str),
            "reason": waits.as_ref().map(|wait| wait.reason.as_str()),
            "hint": waits.as_ref().and_then(|wait| wait.hint.as_deref()),
        }),
        Refusal::FirstPromptPending { session, question, message, .. } => {
            json!({ "session_id": session, "question": question, "message_id": message })
        }
        Refusal::JobFinal { run, status } => json!({ "run_id": run, "status": status.as_str() }),
        Refusal::InputFull { run, taken } => json!({ "run_id": run, "bytes": taken }),
        Refusal::AlreadyAnswered { noun, id, status } => json!({ "noun": noun, "id": id, "status": status }),
        Refusal::ApprovalLapsed { id, .. } => json!({ "approval_id": id }),
        Refusal::NotAnswerable { id, session, .. } | Refusal::SelfApproval { id, session } => {
            json!({ "approval_id": id, "session_id": session.as_str() })
        }
        Refusal::GuardDenied { rule, .. } => json!({ "rule": rule }),
        Refusal::LaneFull { lane, held, limit } => {
            json!({ "lane": lane.as_str(), "held": held, "wip_limit": limit })
        }
        Refusal::PathConflict { task, path, other, other_path, by } => json!({
            "task_id": task.as_str(), "path": path,
            "other_task_id": other.as_str(), "other_path": other_path, "claimant": by,
        }),
        Refusal::NoWorktree { task, .. } => json!({ "task_id": task.as_str() }),
        Refusal::GateBlocked(report) => json!(GateReportView::from(report)),
        Refusal::Cycle { path } => json!({ "path": path.iter().map(ToString::to_string).collect::<Vec<_>>() }),
        Refusal::NothingReady { skipped } => json!({
            "skipped": skipped
                .iter()
                .map(|task| json!({ "task_id": task.task.as_str(), "code": task.code }))
                .collect::<Vec<_>>(),
        }),
        _ => Value::Null,
    }
}

/// The hint for a damaged output store.
const OUTPUT_FILE_HINT: &str = "move runs.db, runs.db-wal and runs.db-shm away: only the output of jobs is lost";

fn is_output_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == OUTPUT_FILE)
}

fn store(error: &StoreError) -> Failure {
    use FailureKind::{Busy, Failure as Fault, Refused};
    let (code, kind, hint) = match error {
        StoreError::Newer { .. } => ("store_newer", Fault, Some("use the newer fairway that made it")),
        StoreError::Foreign { path, .. } if is_output_file(path) => ("store_foreign", Fault, Some(OUTPUT_FILE_HINT)),
        StoreError::Damaged { path: Some(path), .. } if is_output_file(path) => {
            ("store_damaged", Fault, Some(OUTPUT_FILE_HINT))
        }
        StoreError::Foreign { .. } => {
            ("store_foreign", Fault, Some("is it the right file? FAIRWAY_DB says where the store is"))
        }
        StoreError::Damaged { .. } => (
            "store_damaged",
            Fault,
            Some("restore the newest snapshot; the bytes here are kept: fairway restore --latest"),
        ),
        StoreError::Lost { .. } => (
            "store_damaged",
            Fault,
            Some(
                "restore the newest snapshot: fairway restore --latest; or go on without them: fairway doctor --accept",
            ),
        ),
        StoreError::Gone { .. } => (
            "store_gone",
            Fault,
            Some("restore the newest snapshot: fairway restore --latest; or begin a new store: fairway init --new"),
        ),
        StoreError::NotOwned { .. } => ("store_not_owned", Refused, None),
        StoreError::NetworkFileSystem { .. } => (
            "store_network",
            Refused,
            Some(
                "move it to a local disk with FAIRWAY_DB; or, where locks are known to work, set FAIRWAY_NETWORK_STORE=1",
            ),
        ),
        StoreError::Busy => ("store_busy", Busy, Some("try again; fairway doctor tells who may hold it")),
        StoreError::Replaced => ("store_replaced", Busy, Some("try again: the next call opens the new one")),
        StoreError::Full => ("store_full", Busy, Some("make room on the disk, then try again")),
        StoreError::ReadOnly { dir, .. } => return store_read_only(error, dir.as_deref()),
        StoreError::Unreadable { .. } => ("store_damaged", Fault, Some("check the store: fairway doctor")),
        StoreError::OldSqlite { .. } | StoreError::Migration(_) | StoreError::Io { .. } | StoreError::Sqlite(_) => {
            ("store_failed", Fault, Some("check the store: fairway doctor"))
        }
    };
    // SQLite may quote arbitrary bytes of a damaged file; the message must stay one line.
    let message = escape_line(&error.to_string());
    Failure { hint: hint.map(str::to_owned), ..plain(code, kind, message) }
}

/// A store that this process may not write. A repeat does not help, so it is not retryable.
fn store_read_only(error: &StoreError, dir: Option<&Path>) -> Failure {
    let failure = plain("store_read_only", FailureKind::External, escape_line(&error.to_string()));
    let Some(dir) = dir else { return failure };
    let text = dir.display().to_string();
    let hint = format!("let this process write the store's directory: chmod u+w {}", shell_words::quote(&text));
    Failure { hint: Some(hint), details: json!({ "directory": text }), ..failure }
}

fn adapter(error: &AdapterError) -> Failure {
    let hint = match error {
        AdapterError::ProgramEnded { session, .. } => {
            Some(format!("see its last output: fairway session peek {session}"))
        }
        AdapterError::Busy { .. } => Some("try again later".into()),
        AdapterError::Unsupported { operation, .. } => alternative_hint(operation).map(str::to_owned),
        _ => None,
    };
    let details = match error {
        AdapterError::ProgramEnded { screen, .. } if !screen.is_empty() => json!({ "screen": screen }),
        _ => Value::Null,
    };
    let failure = plain(error.code(), FailureKind::External, error.to_string());
    Failure { hint, details, retryable: error.is_retryable(), ..failure }
}

/// A similar operation that works without the backend script's support.
pub(in crate::actions) fn alternative_hint(operation: &str) -> Option<&'static str> {
    match operation {
        "attach" => Some("to look at it: fairway session peek ID"),
        "nudge" => Some("to leave it a message: fairway message send --to-session ID TEXT"),
        "interrupt" => Some("to end it: fairway session stop ID"),
        "send-keys" => Some("to press the key yourself: fairway session attach ID"),
        _ => None,
    }
}

fn config(error: &ConfigError) -> Failure {
    let (code, kind, hint) = match error {
        ConfigError::NoProject { .. } => ("no_project", FailureKind::NotFound, Some("create one: fairway init")),
        ConfigError::NoWorkingDir { .. } => (
            "no_project",
            FailureKind::NotFound,
            Some("go to a directory that exists, or name the project: fairway --root DIR"),
        ),
        ConfigError::Unreadable { .. } => ("config_unreadable", FailureKind::Failure, None),
        ConfigError::Syntax { .. } | ConfigError::UnknownKey { .. } | ConfigError::Value { .. } => {
            ("config_invalid", FailureKind::Usage, Some("see all problems: fairway config check"))
        }
    };
    Failure { hint: hint.map(str::to_owned), ..plain(code, kind, error.to_string()) }
}
