//! Bringing a session to the caller's own terminal.

use anyhow::Result;

use super::running_session::RunningSession;
use crate::{
    actions::App,
    adapters::Adapter,
    domain::{Refusal, SessionId},
};

/// A session that can be attached to. It holds nothing of the store: whoever sits at it may take all day.
#[derive(Debug)]
pub struct Attachable {
    adapter: Adapter,
    name: String,
}

impl Attachable {
    /// Runs until somebody detaches or the session ends; answers with the script's exit code.
    ///
    /// # Errors
    /// `adapter_failed` when the script cannot be run, `adapter_unsupported`.
    pub fn run(&self) -> Result<u8> {
        Ok(self.adapter.attach(&self.name)?)
    }
}

/// The session of this id, ready to be attached to.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`; `usage` without a terminal, unless its script can follow without.
pub fn attach(app: &App, id: &SessionId) -> Result<Attachable> {
    let live = RunningSession::find(app, id)?;
    if !app.env.terminal.stdin && !live.adapter.capabilities().is_ok_and(|can| can.follows()) {
        return Err(no_terminal(id));
    }
    Ok(Attachable { name: live.backend_name().to_owned(), adapter: live.adapter })
}

/// What is said where there is no terminal to attach.
#[must_use]
pub fn no_terminal(id: &SessionId) -> anyhow::Error {
    let why = format!("no terminal to attach to; to read the session's screen: fairway session peek {id}");
    Refusal::Usage { why }.into()
}
