//! The parts of a launch that the store does not keep, and without which a session cannot be relaunched.

use serde_json::Value;

use fairway_core::domain::sandbox::SandboxNetwork;
use fairway_core::domain::session::{SHELL_PROVIDER, Session, SessionStatus};
use fairway_core::domain::{EventKind, SessionId};
use fairway_core::store::{ReadTx, StoreError, events};

/// Keys of the launch event that say which parts of the launch are not stored.
pub const OWN_COMMAND: &str = "own_command";
pub const OWN_ENV: &str = "own_env";
/// Keys of the launch event for the sandbox and its network.
pub const SANDBOX: &str = "sandbox";
pub const SANDBOX_NETWORK: &str = "sandbox_network";
/// Key of the launch event for the backend that the session was in before its program was replaced.
pub const SWITCHED_FROM: &str = "switched_from";

/// The parts of a launch that the store does not keep. A relaunch needs them again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnParts {
    /// Whether the session was launched with a program that the caller named.
    pub command: bool,
    pub env: Vec<String>,
}

/// The parts of a session's launch that the store does not keep. An earlier version did not record them: for its sessions the
/// command counts as such a part when the session has no provider or the provider `shell`, and no variable does.
pub fn own_parts(tx: &ReadTx<'_>, session: &Session) -> Result<OwnParts, StoreError> {
    let is_shell = || session.provider.as_ref().is_none_or(|provider| provider.as_str() == SHELL_PROVIDER);
    Ok(recorded(tx, &session.id)?.unwrap_or_else(|| OwnParts { command: is_shell(), env: Vec::new() }))
}

/// The network of a session's sandbox; `None` without a sandbox.
pub fn sandbox_network(tx: &ReadTx<'_>, session: &SessionId) -> Result<Option<SandboxNetwork>, StoreError> {
    let starting = events::newest_of_session(tx, session, |kind| kind == EventKind::SessionStarting)?;
    Ok(starting.and_then(|event| SandboxNetwork::parse(event.data.get(SANDBOX_NETWORK)?.as_str()?)))
}

/// Whether `session relaunch` needs no more than the session's id.
pub fn can_relaunch(tx: &ReadTx<'_>, session: &Session) -> Result<bool, StoreError> {
    Ok(session.adapter_script.is_some() && own_parts(tx, session)? == OwnParts::default())
}

/// Whether the session's program is being replaced by another one. If the new program fails to start, the session keeps the old
/// one.
pub fn is_switching(tx: &ReadTx<'_>, session: &Session) -> Result<bool, StoreError> {
    if session.status != SessionStatus::Starting {
        return Ok(false);
    }
    let starting = events::newest_of_session(tx, &session.id, |kind| kind == EventKind::SessionStarting)?;
    Ok(starting.is_some_and(|event| event.data[SWITCHED_FROM].is_string()))
}

fn recorded(tx: &ReadTx<'_>, session: &SessionId) -> Result<Option<OwnParts>, StoreError> {
    let starting = events::newest_of_session(tx, session, |kind| kind == EventKind::SessionStarting)?;
    let Some(starting) = starting else { return Ok(None) };
    let Some(command) = starting.data.get(OWN_COMMAND).and_then(Value::as_bool) else { return Ok(None) };
    let names = starting.data.get(OWN_ENV).and_then(Value::as_array);
    let env = names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Some(OwnParts { command, env }))
}
