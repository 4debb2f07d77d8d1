//! Decides which hooks act when the provider's settings hold the same hooks as a launch brings. Both run for each event, but
//! only those of the launch act. They create a file, the sign, for their conversation, and the other hooks do nothing in that
//! conversation: an agent that is started inside the session inherits the environment, but has a conversation of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::call::HookCall;
use super::payload::Payload;
use fairway_actions::sessions::launch::hook_check::SIGN_PREFIX;
use fairway_core::config::Project;
use fairway_core::env::{Env, vars};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::files;
use fairway_core::os::poll_until::poll_until;

/// The argument that marks a hook which a launch brings.
pub const BY_LAUNCH: &str = "--launch";

/// How long the first event of a conversation waits for the sign: both hooks start at the same time.
const SIGN_TIMEOUT: Duration = Duration::from_secs(1);
const SIGN_PAUSE: Duration = Duration::from_millis(10);
/// The number of digits of a digest in a file name.
const DIGEST_DIGITS: usize = 16;

/// Whether this hook must do nothing, because the launch brought its own copy of it. The provider runs both copies for each
/// event. The launch's copy creates a file for the conversation and gets `false`; the installed copy gets `true` when it finds
/// that file. When it is uncertain whether the launch's copy runs, both get `false`, and both act.
pub(super) fn is_silent(call: &HookCall<'_>, env: &Env, project: &Project, payload: &Payload) -> bool {
    let Some(settings) = env.var_os(vars::FAIRWAY_LAUNCH_HOOKS).map(PathBuf::from) else { return false };
    let Some(sign) = sign_path(call, env, project, payload) else { return false };
    if call.by_launch {
        leave_sign(&sign, project);
        return false;
    }
    if !is_intact(&settings, project) {
        return false;
    }
    let is_start = payload.hook_event_name.as_deref() == Some("SessionStart");
    let limit = if is_start { SIGN_TIMEOUT } else { Duration::ZERO };
    poll_until(limit, SIGN_PAUSE, || sign.exists().then_some(())).is_some()
}

/// The sign of this conversation of this session run. Returns `None` when the caller is of another provider than the launch was,
/// or names no conversation.
fn sign_path(call: &HookCall<'_>, env: &Env, project: &Project, payload: &Payload) -> Option<PathBuf> {
    let provider = env.var(vars::FAIRWAY_PROVIDER).filter(|name| *name == call.provider.label())?;
    let run = env.var(vars::FAIRWAY_RUN_ID).filter(|run| !run.is_empty())?;
    let conversation = payload.session_id.as_deref().filter(|id| !id.is_empty())?;
    let digest = sha256_hex(format!("{provider}\0{run}\0{conversation}").as_bytes());
    Some(project.launch_hooks_dir().join(format!("{SIGN_PREFIX}{}", digest.get(..DIGEST_DIGITS).unwrap_or(&digest))))
}

/// Creates the sign. If that fails, both hooks act.
fn leave_sign(sign: &Path, project: &Project) {
    if !sign.exists() && files::private_dir(&project.launch_hooks_dir()).is_ok() {
        let _ = files::private_file(sign);
    }
}

/// Whether the settings file of the launch still has the digest in its name.
fn is_intact(settings: &Path, project: &Project) -> bool {
    let name = settings.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let is_named = |text: &[u8]| sha256_hex(text).get(..DIGEST_DIGITS).is_some_and(|digest| name.ends_with(digest));
    settings.parent() == Some(&project.launch_hooks_dir()) && fs::read(settings).is_ok_and(|text| is_named(&text))
}
