//! Our entries in the providers' settings: `hook install` and `hook uninstall`. Everything else in those files stays byte by
//! byte; what was put in is taken out again without a trace.

mod diff;
mod edit;
mod entries;
mod json_edit;
mod loadable;
mod manual_steps;
mod settings_file;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;

pub use edit::{Found, found};
pub use entries::{APPROVAL_WAIT, Entry, entries, program, words};
pub use loadable::loads;
pub use manual_steps::left_to_do;
pub use settings_file::{Settings, Target};

use super::Provider;
use crate::{domain::Refusal, env::Env};

/// What was changed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The settings' file.
    pub path: PathBuf,
    /// Whether its bytes are others now.
    pub is_changed: bool,
    /// The lines that differ; empty when nothing does.
    pub diff: String,
    /// Why the provider would not load the file as it is now.
    pub unloaded: Option<String>,
}

/// Enters our hooks into a provider's settings; with `dry_run` only says what would change. A second time changes nothing.
///
/// # Errors
/// `settings_invalid` for what is no JSON or cannot be meant; what cannot be read or written. Nothing is then changed.
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
            format!("the path of this program, {}, is not valid UTF-8: settings cannot name it", program.display());
        return Err(Refusal::Usage { why }.into());
    }
    let settings = Settings::read(&target.path(provider, env)?)?;
    let entries = entries(provider, program, approval_wait);
    let ours = ours(provider, program);
    let text = edit::with(settings.text.as_deref(), &entries, &ours).map_err(|why| invalid(&settings.path, why))?;
    changed(provider, &settings, Some(&text), dry_run)
}

/// Takes our hooks out of a provider's settings; with `dry_run` only says what would change.
///
/// # Errors
/// As for [`install`].
pub fn uninstall(provider: Provider, target: &Target, env: &Env, program: &Path, dry_run: bool) -> Result<Change> {
    let settings = Settings::read(&target.path(provider, env)?)?;
    let text = match &settings.text {
        None => None,
        Some(text) => edit::without(text, &ours(provider, program)).map_err(|why| invalid(&settings.path, why))?,
    };
    changed(provider, &settings, text.as_deref(), dry_run)
}

/// Whether a hook of a provider's settings is ours.
pub fn ours(provider: Provider, program: &Path) -> impl Fn(&serde_json::Value) -> bool {
    let own = program.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    move |hook| entries::program(hook, provider, own.as_deref()).is_some()
}

fn invalid(path: &Path, why: String) -> Refusal {
    Refusal::Settings { path: path.display().to_string(), why }
}

fn changed(provider: Provider, settings: &Settings, text: Option<&str>, dry_run: bool) -> Result<Change> {
    let is_changed = settings.text.as_deref() != text;
    if is_changed && !dry_run {
        settings.write(text)?;
    }
    Ok(Change {
        path: settings.path.clone(),
        is_changed,
        diff: diff::unified(&settings.path, settings.text.as_deref(), text),
        unloaded: text.and_then(|text| loads(provider, text).err()),
    })
}
