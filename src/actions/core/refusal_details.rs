//! The details of each refusal, for programs.

use serde_json::{Value, json};

use crate::{
    domain::{LaneName, Refusal, Role, TaskId, landing_failure::FailsWith, message::Channel, review::OpenReview},
    wire::{GateReportView, WaitingView},
};

/// The details of a refusal as a document; null without any.
pub(super) fn details(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::Line { line, .. } | Refusal::IssueKeysMissing { line, .. } => json!({ "line": line }),
        Refusal::NoneFound { noun, ids } => json!({ "noun": noun, "ids": ids }),
        Refusal::NotFound { noun, id, near } => json!({ "noun": noun, "id": id, "near": near }),
        Refusal::UnknownBackend { name, known } => json!({ "noun": "backend", "id": name, "near": known }),
        Refusal::NoBackendScript { backend, script, .. } => {
            json!({ "noun": "backend", "id": backend, "near": [], "script": script })
        }
        Refusal::RunUnregistered { run } => json!({ "noun": "session with the run", "id": run, "near": [] }),
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
        Refusal::LaneDamaged { lane, .. } => json!({ "lane": lane.as_str() }),
        Refusal::WorkNotMoved { handoff, .. } => json!({ "handoff_id": handoff }),
        Refusal::LaneHeld { lane, .. } => json!({ "noun": "lane", "id": lane.as_str() }),
        Refusal::BeforeReflog { lane, event, at, begins, .. } => json!({
            "lane": lane.as_str(), "event": event, "at": at.to_string(), "begins_at": begins.map(|at| at.to_string()),
        }),
        Refusal::WorktreeMissing { lane, dir } | Refusal::WorktreeNotOwned { lane, dir } => {
            json!({ "lane": lane.as_str(), "worktree": dir })
        }
        Refusal::LaneElsewhere { lane, host, command } => {
            json!({ "lane": lane.as_str(), "host": host, "command": command })
        }
        Refusal::SessionElsewhere { session, host, command, .. } => {
            json!({ "session_id": session.as_str(), "host": host, "command": command })
        }
        Refusal::OwnHost { host } => json!({ "host": host }),
        Refusal::HostAlive { host, ago, .. } => json!({ "host": host, "heard_ago": ago }),
        Refusal::JobElsewhere { run, host, command, .. } => json!({ "run_id": run, "host": host, "command": command }),
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
        Refusal::NoUpstream { base, why, .. } => json!({ "base": base, "reason": why }),
        Refusal::FetchFailed { base, upstream, why }
        | Refusal::PushFailed { base, upstream, why }
        | Refusal::PushUnknown { base, upstream, why } => {
            json!({ "base": base, "upstream": upstream, "reason": why })
        }
        Refusal::PushRaced { base, upstream, tries } => json!({ "base": base, "upstream": upstream, "tries": tries }),
        Refusal::BaseInSeveral { base, dirs } => json!({ "base": base, "directories": dirs }),
        Refusal::NoBase { base } => json!({ "noun": "base branch", "id": base, "near": [] }),
        Refusal::BaseLocked { base, lock } => json!({ "base": base, "lock": lock }),
        Refusal::NoLaneCommit { lane, branch, known } => {
            json!({ "lane": lane.as_str(), "branch": branch, "commit": known })
        }
        Refusal::CheckoutChanged { base, dir, files } | Refusal::FilesInTheWay { base, dir, files } => {
            json!({ "base": base, "directory": dir, "files": files })
        }
        Refusal::SubmoduleCommitMissing { base, path, commit, .. } => {
            json!({ "base": base, "path": path, "commit": commit })
        }
        Refusal::LandPaused { by, since, reason } => json!({ "by": by, "since": since, "reason": reason }),
        Refusal::LandConflict { base, files, with, .. } => {
            json!({ "base": base, "files": files, "landed_since": with })
        }
        Refusal::LandCheckFailed(failed) => json!({
            "base": failed.base, "check": failed.check, "landed_since": failed.with, "evidence": failed.evidence,
            "output": failed.output, "base_commit": failed.base_commit,
            "candidate": failed.candidate,
            "fails_alone": (failed.fails_with != FailsWith::Unknown).then_some(failed.fails_with == FailsWith::Nothing),
            "fails_with": fails_with(&failed.fails_with),
        }),
        Refusal::LandStopped(stopped) => json!({
            "base": stopped.base, "command": stopped.command, "on_base": stopped.is_base,
            "stops_all": stopped.stops_all, "output": stopped.output,
        }),
        Refusal::SessionFinal { session, status } | Refusal::SessionExited { session, status } => {
            json!({ "session_id": session.as_str(), "status": status.as_str() })
        }
        Refusal::SessionAsks { session, question, .. } => {
            json!({ "session_id": session.as_str(), "question": question })
        }
        Refusal::QuestionOver { item, .. } => json!({ "noun": "question", "id": item, "near": [] }),
        Refusal::Unanswerable { item, .. } => json!({ "question_id": item }),
        Refusal::SeveralClaimed { tasks, .. } => {
            json!({ "noun": "task", "found": tasks.iter().map(TaskId::as_str).collect::<Vec<_>>() })
        }
        Refusal::NotAcknowledged { id, status, way, waits, .. } => json!({
            "message_id": id, "status": status.as_str(), "way": way.map(Channel::as_str),
            "reason": waits.as_ref().map(|wait| wait.reason.as_str()),
            "hint": waits.as_ref().and_then(|wait| wait.hint.as_deref()),
        }),
        Refusal::NotAnswered { id, session, .. } => json!({ "message_id": id, "session_id": session }),
        Refusal::FirstPromptPending { session, question, message, .. } => {
            json!({ "session_id": session, "question": question, "message_id": message })
        }
        Refusal::JobFinal { run, status } => json!({ "run_id": run, "status": status.as_str() }),
        Refusal::InputFull { run, taken } => json!({ "run_id": run, "bytes": taken }),
        Refusal::AlreadyOffered { task, handoff, .. } => json!({ "task_id": task.as_str(), "handoff_id": handoff }),
        Refusal::AlreadyAnswered { noun, id, status } => json!({ "noun": noun, "id": id, "status": status }),
        Refusal::ApprovalLapsed { id, .. } => json!({ "approval_id": id }),
        Refusal::NotAnswerable { id, session, .. } | Refusal::SelfApproval { id, session } => {
            json!({ "approval_id": id, "session_id": session.as_str() })
        }
        Refusal::GuardDenied { rule, .. } => json!({ "rule": rule }),
        Refusal::LaneFull { lane, held, limit } => {
            json!({ "lane": lane.as_str(), "held": held, "wip_limit": limit })
        }
        Refusal::ReviewFull { role, limit, waiting } => {
            let one = |review: &OpenReview| json!({ "task_id": review.task.as_str(), "waits_for": review.waits_for });
            let waiting: Vec<_> = waiting.iter().map(one).collect();
            json!({ "role": role.as_ref().map(Role::as_str), "capacity": limit, "waiting": waiting })
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

fn fails_with(found: &FailsWith) -> Value {
    match found {
        FailsWith::Other { of, lane, commit } => {
            json!({ "of": of, "lane": lane.as_ref().map(LaneName::as_str), "commit": commit })
        }
        FailsWith::Unknown | FailsWith::Nothing => Value::Null,
    }
}
