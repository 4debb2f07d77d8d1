//! `hook install` and `hook uninstall`: the change of a settings file, and its report.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;

use super::{
    diff, edit,
    entries::{entries, own_program},
    loadable::check_loadable,
    settings_file::{SettingsFile, Target},
};
use crate::{domain::Refusal, env::Env, hooks::Provider};

/// The result of a change, or of a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The settings file.
    pub path: PathBuf,
    /// Whether the file's bytes differ.
    pub is_changed: bool,
    /// A unified diff; empty without a difference.
    pub diff: String,
    /// Why the provider would not load the new file; `None` when it would.
    pub not_loadable: Option<String>,
}

/// Adds Fairway's hooks to a provider's settings. `dry_run` only reports the change. Installing twice changes nothing.
///
/// # Errors
/// `settings_invalid` for a file that is not valid JSON or has unexpected values; when it cannot be read or written. The file is
/// unchanged then.
pub fn install(
    provider: Provider,
    target: &Target,
    env: &Env,
    program: &Path,
    approval_wait: Duration,
    dry_run: bool,
) -> Result<Change> {
    if program.to_str().is_none() {
        let why =
            format!("the path of this program is not valid UTF-8, so settings cannot name it: {}", program.display());
        return Err(Refusal::Usage { why }.into());
    }
    let settings = SettingsFile::read(&target.path(provider, env)?)?;
    let entries = entries(provider, program, approval_wait);
    let ours = own_hook_matcher(provider, program);
    let text = edit::insert_hooks(settings.text.as_deref(), &entries, &ours)
        .map_err(|why| invalid_settings(&settings.path, why))?;
    apply_change(provider, &settings, Some(&text), dry_run)
}

/// Removes Fairway's hooks from a provider's settings. `dry_run` only reports the change.
pub fn uninstall(provider: Provider, target: &Target, env: &Env, program: &Path, dry_run: bool) -> Result<Change> {
    let settings = SettingsFile::read(&target.path(provider, env)?)?;
    let text = match &settings.text {
        None => None,
        Some(text) => edit::remove_hooks(text, &own_hook_matcher(provider, program))
            .map_err(|why| invalid_settings(&settings.path, why))?,
    };
    let change = apply_change(provider, &settings, text.as_deref(), dry_run)?;
    if let (true, false, Target::Project(root) | Target::Local(root), None) =
        (change.is_changed, dry_run, target, &text)
    {
        // Removes an empty directory only.
        let dir = settings.path.parent().filter(|dir| dir.parent() == Some(root.as_path()));
        let _ = dir.map(fs::remove_dir);
    }
    Ok(change)
}

/// A predicate for entries that Fairway has added to a provider's settings.
pub fn own_hook_matcher(provider: Provider, program: &Path) -> impl Fn(&serde_json::Value) -> bool {
    let own = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    move |hook| own_program(hook, provider, own.as_deref()).is_some()
}

fn invalid_settings(path: &Path, why: String) -> Refusal {
    Refusal::InvalidSettings { path: path.display().to_string(), why }
}

fn apply_change(provider: Provider, settings: &SettingsFile, text: Option<&str>, dry_run: bool) -> Result<Change> {
    let is_changed = settings.text.as_deref() != text;
    if is_changed && !dry_run {
        settings.write(text)?;
    }
    Ok(Change {
        path: settings.path.clone(),
        is_changed,
        diff: diff::unified(&settings.path, settings.text.as_deref(), text),
        not_loadable: text.and_then(|text| check_loadable(provider, text).err()),
    })
}
