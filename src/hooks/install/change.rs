//! `hook install` and `hook uninstall`: the change of a settings file, and its diff.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use similar::TextDiff;

use super::edit;
use super::entries::{entries, own_program};
use super::loadable::load;
use super::settings_file::{SettingsFile, Target};
use crate::hooks::Provider;
use fairway_core::domain::{Refusal, secrets};
use fairway_core::env::Env;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    /// Whether the file's bytes differ.
    pub is_changed: bool,
    /// A unified diff; empty without a difference.
    pub diff: String,
    /// Why the provider would not load the new file; `None` when it would.
    pub not_loadable: Option<String>,
}

/// Adds Fairway's hooks to a provider's settings, those of worktrees where they are already or `worktrees` asks for them. `dry_run` only reports the change. Installing twice changes nothing.
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
    worktrees: bool,
    dry_run: bool,
) -> Result<Change> {
    if program.to_str().is_none() {
        let why =
            format!("the path of this program is not valid UTF-8, so settings cannot name it: {}", program.display());
        return Err(Refusal::Usage { why }.into());
    }
    let settings = SettingsFile::read(&target.path(provider, env)?)?;
    let ours = own_hook_matcher(provider, program);
    let invalid = |why| invalid_settings(&settings.path, why);
    let text = settings.text.as_deref();
    let worktrees = worktrees || has_worktree_hooks(provider, text.unwrap_or_default(), &ours).map_err(invalid)?;
    let entries = entries(provider, program, approval_wait, worktrees);
    let text = edit::insert_hooks(text, &entries, &ours).map_err(invalid)?;
    apply_change(provider, &settings, Some(&text), dry_run)
}

/// Whether the text of a settings file has Fairway's hooks of worktrees.
pub fn has_worktree_hooks(provider: Provider, text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<bool, String> {
    let is_one = |event: &str| provider.worktree_events.iter().any(|known| known.name == event);
    Ok(edit::find_hooks(text, is_ours)?.iter().any(|hook| is_one(&hook.event)))
}

/// Removes Fairway's hooks from a provider's settings. Also removes a settings file that was created for them and has nothing
/// else in it and, in a project, its directory if that is then empty. `dry_run` only reports the change.
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

/// Returns a function that recognises the hook entries that Fairway has added to a provider's settings.
pub fn own_hook_matcher(provider: Provider, program: &Path) -> impl Fn(&Value) -> bool {
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
        diff: unified_diff(&settings.path, settings.text.as_deref(), text),
        not_loadable: text.and_then(|text| load(provider, text).err()),
    })
}

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// The unified diff of two texts of a file; `None` stands for a missing file. Empty without a difference. Secrets are masked.
pub fn unified_diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let name = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| path.display().to_string());
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let text = diff.unified_diff().context_radius(CONTEXT_LINES).header(&name(before), &name(after)).to_string();
    text.split_inclusive('\n').map(mask_line).collect()
}

/// Masks secrets in a line of JSON. `"API_KEY": "…"` is not a form that [`secrets::mask`] finds.
fn mask_line(line: &str) -> String {
    let value = || -> Option<(&str, &str, &str)> {
        let (head, rest) = line.split_once("\": \"").or_else(|| line.split_once("\":\""))?;
        let name = head.rsplit('"').next()?;
        let end = rest.rfind('"')?;
        secrets::is_secret_name(name).then_some(())?;
        Some((line.get(..line.len() - rest.len())?, rest.get(..end)?, rest.get(end..)?))
    };
    match value() {
        Some((before, secret, after)) if !secret.is_empty() => format!("{before}{}{after}", secrets::MASK),
        _ => secrets::mask(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_context_masks_secrets() {
        let before = "{\n  \"API_KEY\": \"hunter2\",\n  \"model\": \"x\"\n}\n";
        let after = before.replace("\"x\"", "\"y\"");
        let diff = unified_diff(Path::new("/s.json"), Some(before), Some(&after));
        assert!(!diff.contains("hunter2"), "{diff}");
        for line in
            ["--- /s.json", "+++ /s.json", "   \"API_KEY\": \"•••\",", "-  \"model\": \"x\"", "+  \"model\": \"y\""]
        {
            assert!(diff.lines().any(|known| known == line), "{line} in {diff}");
        }
        assert_eq!(unified_diff(Path::new("/s"), None, None), "");
    }
}
