//! Writing a liveness judgement: a session that is gone becomes stale, a stale one that is alive is revived.

use anyhow::Result;

use crate::{
    actions::{core::keepalive, queue::checkpoint},
    domain::{
        checkpoint::CheckpointState,
        rules::liveness::{self, Liveness, StaleCause},
        session::{Session, SessionStatus},
        text_limits::MAX_LINE_BYTES,
    },
    store::{
        WriteTx,
        checkpoints::{self, CheckpointFields},
        sessions, tasks,
    },
};

/// Whether the session is to be revived, or recorded as running for the first time.
pub(in crate::actions) const fn should_revive(session: &Session, verdict: &Liveness) -> bool {
    matches!((session.status, verdict), (SessionStatus::Starting | SessionStatus::Stale, Liveness::Live(_)))
}

/// Whether the session is to be marked because it was seen to be gone; silence alone says too little of one.
pub(in crate::actions) fn is_exit_observed(session: &Session, verdict: &Liveness) -> bool {
    matches!(verdict, Liveness::Stale(StaleCause::Exited, _)) && liveness::should_mark_stale(session, verdict)
}

/// Writes a verdict, unless the session has moved since it was looked at. Says whether it was written.
pub(in crate::actions) fn apply(tx: &WriteTx<'_>, session: &Session, verdict: &Liveness) -> Result<bool> {
    match verdict {
        Liveness::Stale(_, why) if liveness::should_mark_stale(session, verdict) => {
            if !sessions::update(tx, &session.to_stale(Some(why))?)? {
                return Ok(false);
            }
            keepalive::record_stale(tx, session, why)?;
            add_stale_checkpoint(tx, session, why)?;
            Ok(true)
        }
        Liveness::Live(why) if should_revive(session, verdict) => {
            if !sessions::update(tx, &session.to_running()?)? {
                return Ok(false);
            }
            keepalive::record_running(tx, session, why)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Leaves a checkpoint on the task of a session that was marked, for whoever takes it up.
fn add_stale_checkpoint(tx: &WriteTx<'_>, session: &Session, why: &str) -> Result<()> {
    let Some(id) = &session.task else { return Ok(()) };
    let Some(task) = tasks::find(tx, id)? else { return Ok(()) };
    let others = task.state.claim().is_some_and(|claim| claim.claimant != session.id.as_str());
    if task.state.status().is_closed() || others {
        return Ok(());
    }
    let said = checkpoints::newest(tx, id)?.is_some_and(|newest| {
        newest.state == CheckpointState::AwaitingInput && newest.session.as_ref() == Some(&session.id)
    });
    if said {
        return Ok(());
    }
    let summary: String =
        format!("session {} is stale: {why}", session.id).chars().take(MAX_LINE_BYTES / 4).collect();
    let draft = CheckpointFields {
        task: id.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::AwaitingInput,
        owner: None,
        summary,
        artifact: None,
        due_at: None,
    };
    checkpoint::insert(tx, &task, &draft, Some(session))?;
    Ok(())
}
