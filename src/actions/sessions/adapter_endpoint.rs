//! The script, state directory and socket of a session. Every call after the start uses the recorded ones.

use std::path::Path;

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::{errors, other_host, session_process, trust},
    },
    adapters::{self, Adapter, builtin_scripts},
    domain::{Refusal, session::Session},
    env::vars,
};

/// The adapter of a session, ready to be called by a command of these words.
///
/// # Errors
/// `session_mismatch` for a session of another host or without an adapter; `untrusted`.
pub fn adapter(app: &App, session: &Session, words: &[&str]) -> Result<Adapter> {
    refuse_elsewhere(app, session, words)?;
    local_adapter(app, session)
}

/// As [`adapter`], for a session that is known to be of this host.
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
    Ok(with_session(adapter, session).with_socket(session.socket.as_deref()))
}

/// What the session is and where it works, as its environment names it. The variables that mark the session's own processes are
/// not among them.
pub(in crate::actions::sessions) fn description(session: &Session) -> [(&'static str, Option<String>); 8] {
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

/// The script with the session's description in its environment: a script in shell need not read the start configuration.
pub(in crate::actions::sessions) fn with_session(adapter: Adapter, session: &Session) -> Adapter {
    let described = description(session);
    adapter.with_env(described.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))))
}

/// Refuses a command of these words for a session of another host.
///
/// # Errors
/// `session_mismatch`.
pub fn refuse_elsewhere(app: &App, session: &Session, words: &[&str]) -> Result<()> {
    if session_process::is_local(session) {
        return Ok(());
    }
    Err(app.read(|tx| other_host::session_refusal(app, tx, session, words))?.into())
}

/// Whether the backend's session of this name belongs to another session run. The recorded one has then exited, and the other
/// must not be touched.
pub fn belongs_to_other(adapter: &Adapter, session: &Session) -> bool {
    adapter.matches_session_run(backend_name(session), &session.run_id) == Some(false)
}

/// The session's name in the backend.
pub fn backend_name(session: &Session) -> &str {
    session.name()
}
