//! The script, state directory and socket of a session. Every call after the start uses the recorded ones.

use std::path::Path;

use anyhow::Result;

use crate::App;
use crate::core::{errors, other_host, session_process, trust};
use fairway_core::adapters::{self, Adapter, builtin_scripts};
use fairway_core::domain::Refusal;
use fairway_core::domain::session::Session;
use fairway_core::env::vars;

/// Returns the adapter that calls the session's backend. `words` are the arguments of the Fairway command that the error
/// suggests when the session is on another host.
///
/// # Errors
/// `session_mismatch` for a session of another host or without a backend script; `untrusted`.
pub fn adapter(app: &App, session: &Session, words: &[&str]) -> Result<Adapter> {
    refuse_elsewhere(app, session, words)?;
    local_adapter(app, session)
}

/// Like [`adapter`], for a session that the caller knows to be on this host. That is not checked.
pub fn local_adapter(app: &App, session: &Session) -> Result<Adapter> {
    let (Some(script), Some(state)) = (&session.adapter_script, &session.adapter_state) else {
        let why = format!("session {} was not launched by fairway and has no backend to call", session.id);
        return Err(Refusal::SessionMismatch { why }.into());
    };
    let script = Path::new(script);
    match builtin_scripts::at_path(script, &app.env) {
        Some(built_in) => drop(built_in.unpack(&app.env)?),
        None => {
            // A store that is committed to the repository could name any program.
            trust::refuse_tracked_store(app)?;
            adapters::check_permissions(script)?;
            // A restored store, or one that came with files, names scripts of another user.
            trust::require_script(app, script)?;
        }
    }
    let adapter = Adapter::new(script, Path::new(state), &app.project.root, &app.env).map_err(errors::internal)?;
    Ok(with_session(app, adapter, session).with_socket(session.socket.as_deref()))
}

/// The environment variables that tell a session's programs its role, lane, task, worktree and so on. The variables that mark
/// the session's own processes are not among them.
pub(in crate::sessions) fn description(session: &Session) -> [(&'static str, Option<String>); 8] {
    [
        (vars::FAIRWAY_ROLE, Some(session.role.to_string())),
        (vars::FAIRWAY_LANE, session.lane.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_TASK_ID, session.task.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_PROVIDER, session.provider.as_ref().map(ToString::to_string)),
        (vars::FAIRWAY_BACKEND, session.backend.clone()),
        (vars::FAIRWAY_WORKTREE, session.worktree.clone()),
        (vars::FAIRWAY_BRANCH, session.branch.clone()),
        (vars::FAIRWAY_TRANSCRIPT, session.transcript.clone()),
    ]
}

/// Adds [`description`] and the project's root to the environment of the backend script, so that a shell script need not parse
/// the start configuration.
pub(in crate::sessions) fn with_session(app: &App, adapter: Adapter, session: &Session) -> Adapter {
    let described = description(session);
    let root = app.project.root.to_str().map(|root| (vars::FAIRWAY_ROOT, root));
    adapter.with_env(described.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).chain(root))
}

/// Fails for a session of another host. The error suggests running the Fairway command with the arguments `words` there.
///
/// # Errors
/// `session_mismatch`.
pub fn refuse_elsewhere(app: &App, session: &Session, words: &[&str]) -> Result<()> {
    if session_process::is_local(session) {
        return Ok(());
    }
    Err(app.read(|tx| other_host::session_refusal(app, tx, session, words))?.into())
}

/// Whether the backend uses this session's name for another session run. The recorded run has then exited, and the backend's
/// session must not be touched. `false` when the backend cannot tell.
pub fn belongs_to_other(adapter: &Adapter, session: &Session) -> bool {
    adapter.matches_session_run(backend_name(session), &session.run_id) == Some(false)
}

pub fn backend_name(session: &Session) -> &str {
    session.name()
}
