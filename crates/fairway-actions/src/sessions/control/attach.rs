//! Attaching the caller's terminal to a session.

use anyhow::Result;

use super::running_session::RunningSession;
use crate::App;
use crate::sessions::attendance::{self, Presence};
use crate::sessions::prompt;
use crate::sessions::report::idle_screen;
use fairway_core::adapters::{Adapter, AdapterError, Tristate};
use fairway_core::domain::{Refusal, SessionId};

/// A session that can be attached to. It keeps no store open, because an attached terminal may stay for hours.
#[derive(Debug)]
pub struct Attachable {
    adapter: Adapter,
    name: String,
    session: SessionId,
    /// Ends the long wait of a permission request, because the person is at the agent's window.
    _presence: Option<Presence>,
}

impl Attachable {
    /// Attaches the terminal until the user detaches or the session ends. Returns the backend script's exit code, or 0 when the
    /// session has ended.
    ///
    /// # Errors
    /// `adapter_failed` when the backend script cannot be run; `adapter_unsupported`.
    pub fn run(&self) -> Result<u8> {
        let code = self.adapter.attach(&self.name).map_err(|error| refuse_unsupported(error, &self.session))?;
        // The client of zellij fails when its session ends.
        let has_ended = code != 0 && self.adapter.is_running(&self.name) == Tristate::No;
        Ok(if has_ended { 0 } else { code })
    }
}

/// Prepares to attach the caller's terminal to a session. Until the result is dropped, the session counts as attached.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`; `usage` when standard input is not a terminal, unless the backend
/// script can follow a session without one.
pub fn attach(app: &App, id: &SessionId) -> Result<Attachable> {
    let live = RunningSession::find(app, id, &["session", "attach", id.as_str()])?;
    if !app.env.terminal.stdin && !live.adapter.capabilities().is_ok_and(|can| can.follows()) {
        return Err(no_terminal(id));
    }
    // Without it the session is attached all the same.
    let presence = attendance::attach(app, id).ok();
    Ok(Attachable {
        name: live.backend_name().to_owned(),
        session: id.clone(),
        adapter: live.adapter,
        _presence: presence,
    })
}

/// Looks, after a person was at a session's window, whether a dialog that was seen there is gone, and delivers what waited for that.
pub fn settle(app: &App, id: &SessionId) {
    let _ = idle_screen::look(app, id);
    let _ = prompt::try_deliver(app, id);
}

/// Turns the error of a script that cannot attach into one that suggests `session peek`.
fn refuse_unsupported(error: AdapterError, session: &SessionId) -> anyhow::Error {
    match error {
        AdapterError::Unsupported { script, operation } => Refusal::BackendCannot {
            script: script.display().to_string(),
            operation,
            hint: format!("to look at it: fairway session peek {session}"),
        }
        .into(),
        error => error.into(),
    }
}

/// The `usage` error for a caller without a terminal. It suggests `session peek`.
pub fn no_terminal(id: &SessionId) -> anyhow::Error {
    let why = format!("no terminal to attach to; to read the session's screen: fairway session peek {id}");
    Refusal::Usage { why }.into()
}
