//! Recording a liveness judgement: a session that is gone becomes stale, a stale one that is alive is revived.

use anyhow::Result;

use crate::core::dead_session::DeadSession;
use crate::core::session_events;
use crate::queue::checkpoint;
use fairway_core::domain::checkpoint::{CheckpointOrigin, CheckpointState};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::rules::staleness::{self, Liveness, StaleCause};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::text_limits::MAX_LINE_BYTES;
use fairway_core::store::checkpoints::{self, CheckpointFields};
use fairway_core::store::{WriteTx, tasks};

/// Whether the session is to be revived, or recorded as running for the first time.
pub(crate) const fn should_revive(session: &Session, verdict: &Liveness) -> bool {
    matches!((session.status, verdict), (SessionStatus::Starting | SessionStatus::Stale, Liveness::Live(_)))
}

/// Whether the session is to be marked as stale because its exit was observed. A missing heartbeat alone does not count.
pub(crate) fn is_exit_observed(session: &Session, verdict: &Liveness) -> bool {
    matches!(verdict, Liveness::Stale(StaleCause::Exited, _)) && staleness::should_mark_stale(session, verdict)
}

/// Records a judgement, unless the session has changed since it was read. Returns whether anything was recorded.
pub(crate) fn apply(tx: &WriteTx<'_>, session: &Session, verdict: &Liveness) -> Result<bool> {
    match verdict {
        // The command that stops it may have been killed too.
        Liveness::Stale(_, why) if staleness::should_mark_stale(session, verdict) && session.is_being_stopped() => {
            let dead = DeadSession::new(session, why.clone());
            let Some(now) = dead.confirm(tx)? else { return Ok(false) };
            dead.end(tx, &now)?;
            Ok(true)
        }
        Liveness::Stale(_, why) if staleness::should_mark_stale(session, verdict) => {
            if session_events::apply_unless_changed(tx, session, &SessionEvent::Silent { why })?.is_none() {
                return Ok(false);
            }
            add_stale_checkpoint(tx, session, why)?;
            Ok(true)
        }
        Liveness::Live(why) if should_revive(session, verdict) => {
            Ok(session_events::apply_unless_changed(tx, session, &SessionEvent::FoundAlive { why })?.is_some())
        }
        _ => Ok(false),
    }
}

/// Records a checkpoint on the task of a session that became stale, for the next claimant.
fn add_stale_checkpoint(tx: &WriteTx<'_>, session: &Session, why: &str) -> Result<()> {
    let Some(id) = &session.task else { return Ok(()) };
    let Some(task) = tasks::find(tx, id)? else { return Ok(()) };
    let is_claimed_by_other = task.state.claim().is_some_and(|claim| claim.claimant != session.id.as_str());
    if task.state.status().is_closed() || is_claimed_by_other {
        return Ok(());
    }
    let is_recorded = checkpoints::newest(tx, id)?.is_some_and(|newest| {
        newest.state == CheckpointState::AwaitingInput && newest.session.as_ref() == Some(&session.id)
    });
    if is_recorded {
        return Ok(());
    }
    let summary: String = format!("session {} is stale: {why}", session.id).chars().take(MAX_LINE_BYTES / 4).collect();
    let draft = CheckpointFields {
        task: id.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::AwaitingInput,
        owner: None,
        summary,
        artifact: None,
        due_at: None,
        origin: Some(CheckpointOrigin::Reconcile),
    };
    checkpoint::insert(tx, &task, &draft, Some(session))?;
    Ok(())
}
