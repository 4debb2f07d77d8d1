//! A provider went on without an answer from here.

use anyhow::Result;

use crate::actions::boundary::approval::event;
use crate::{
    domain::{EventKind, approval::ApprovalStatus, session::Session},
    store::{WriteTx, approvals},
};

/// Lapses what this session still asks: all of it, or what it asks for one tool. To be called when the tool has run, and when
/// the turn or the session is over.
///
/// # Errors
/// As the store fails.
pub fn expire_pending(tx: &WriteTx<'_>, session: &Session, tool: Option<&str>) -> Result<()> {
    for approval in approvals::pending_of(tx, &session.id)? {
        if tool.is_some_and(|tool| tool != approval.tool) {
            continue;
        }
        let why = match tool {
            Some(_) => "the tool was used",
            None if session.status.is_final() => "the session is over",
            None => "the session went on",
        };
        let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
        tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
    }
    Ok(())
}
