//! How long the installed hook of a permission request may run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::change::own_hook_matcher;
use super::edit::{InstalledHook, find_hooks};
use super::entries::{LONGEST_APPROVAL_WAIT, TIMEOUT_MARGIN};
use super::settings_file::{SettingsFile, Target};
use crate::hooks::Provider;
use fairway_core::env::{Env, vars};
use fairway_core::os::executable;

/// The event of a permission request.
const PERMISSION_EVENT: &str = "PermissionRequest";
/// The time limit of a hook whose entry states none.
const UNSTATED_LIMIT: Duration = Duration::from_secs(60);

/// How long a permission request may wait for an answer before the provider ends its hook: the shortest time that an entry in
/// the provider's settings allows. Returns `usual` when no entry is found and the hooks cannot have come with a launch.
pub fn longest_approval_wait(provider: Provider, env: &Env, root: &Path, usual: Duration) -> Duration {
    let Ok(own) = executable::current_executable() else { return usual };
    let dir = provider.project_dir_variable.and_then(|name| env.var_os(name)).map(PathBuf::from);
    let mut dirs = vec![root.to_owned(), env.cwd.clone()];
    dirs.extend(dir.filter(|dir| dir.is_absolute()));
    let targets = dirs.into_iter().map(Target::Project).chain([Target::User]);
    let files = targets.filter_map(|target| target.path(provider, env).ok());
    // Beside a project's settings there may be a person's own.
    let files = files.flat_map(|file| [file.with_extension("local.json"), file]);
    let is_ours = own_hook_matcher(provider, &own);
    let waits = files.filter_map(|file| {
        let text = SettingsFile::read(&file).ok().and_then(|settings| settings.text).unwrap_or_default();
        shortest_wait(provider, &find_hooks(&text, &is_ours).unwrap_or_default())
    });
    match waits.min() {
        Some(wait) => wait,
        // Hooks that come with a launch are those of this version.
        None if env.var(vars::FAIRWAY_RUN_ID).is_some() => LONGEST_APPROVAL_WAIT,
        None => usual,
    }
}

/// How long a permission request may wait with these entries, if that is shorter than with the entries of this version;
/// otherwise `None`. Returns `None` also when there is no entry for permission requests.
pub fn outdated_wait(provider: Provider, found: &[InstalledHook]) -> Option<Duration> {
    shortest_wait(provider, found).filter(|wait| *wait < LONGEST_APPROVAL_WAIT)
}

fn shortest_wait(provider: Provider, found: &[InstalledHook]) -> Option<Duration> {
    let own = provider.timeout(PERMISSION_EVENT) + TIMEOUT_MARGIN;
    let limits = found.iter().filter(|one| one.event == PERMISSION_EVENT).map(|one| {
        let stated = one.hook["timeout"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        stated.unwrap_or(UNSTATED_LIMIT)
    });
    limits.min().map(|limit| limit.saturating_sub(own))
}
