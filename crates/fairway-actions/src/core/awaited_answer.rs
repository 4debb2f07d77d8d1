//! Who waits for the answer to an approval request: a process holds a lock as long as it does.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::Result;

use super::app::App;
use super::approval_state::{self, WENT_ON};
use super::other_host;
use fairway_core::domain::approval::{Approval, ApprovalStatus};
use fairway_core::domain::session::Session;
use fairway_core::os::files;
use fairway_core::os::lock::SharedLock;
use fairway_core::store::{ReadTx, WriteTx, approvals, sessions};

/// Marks that this process waits for the answer to an approval, until it is dropped or the process ends, however that ends.
#[derive(Debug)]
pub struct AwaitedAnswer {
    _lock: SharedLock,
    file: PathBuf,
}

impl AwaitedAnswer {
    pub(crate) fn begin(app: &App, id: i64) -> io::Result<Self> {
        let file = awaited_file(app, id);
        file.parent().map_or(Ok(()), files::private_dir)?;
        Ok(Self { _lock: SharedLock::acquire_waiting(&file)?, file })
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        // Only to tidy up: the lock counts.
        let _ = fs::remove_file(&self.file);
    }
}

/// Beside the files of those who watch. No session's id has a colon.
fn awaited_file(app: &App, id: i64) -> PathBuf {
    app.project.runtime_dir().join("attended").join(format!("approval:{id}"))
}

/// The approval as it is now: it cannot be answered here once the process that waited for the answer has ended. On another host
/// that process cannot be seen.
pub fn as_now(app: &App, tx: &ReadTx<'_>, approval: Approval) -> Result<Approval> {
    if !approval.answerable || approval.status != ApprovalStatus::Pending {
        return Ok(approval);
    }
    let is_elsewhere = match sessions::find(tx, &approval.session)? {
        Some(session) => other_host::of_session(tx, &session)?.is_some(),
        None => false,
    };
    let is_awaited = || SharedLock::is_locked(&awaited_file(app, approval.id)).unwrap_or(true);
    Ok(Approval { answerable: is_elsewhere || is_awaited(), ..approval })
}

/// The pending approvals as they are now, oldest first.
pub fn pending(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Approval>> {
    approvals::all(tx, true)?.into_iter().map(|approval| as_now(app, tx, approval)).collect()
}

/// Expires a session's pending approval requests that Fairway cannot answer, because no hook waits for the answer. Call it when a
/// new turn begins: a person has then answered in the agent's window.
pub(crate) fn expire_unanswerable(app: &App, tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for approval in approvals::pending_of(tx, &session.id)? {
        let approval = as_now(app, tx, approval)?;
        if !approval.answerable {
            approval_state::expire(tx, approval, WENT_ON)?;
        }
    }
    Ok(())
}
