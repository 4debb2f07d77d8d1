//! Whether an agent that starts in a worktree runs Fairway's hooks: the entries of a project's settings file hold only where
//! the file is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::hooks::Provider;
use crate::hooks::install::{self, InstalledHook, SettingsFile, Target, plugin};
use fairway_core::env::Env;
use fairway_core::os::executable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingHooks {
    All,
    /// The hook before a tool call, by which the guard judges.
    Guard,
}

impl MissingHooks {
    /// The warning about an agent that starts in `directory` without these hooks.
    pub fn message(self, provider: Provider, directory: &str) -> String {
        let label = provider.label();
        match self {
            Self::All => format!(
                "{label} finds no Fairway hooks in {directory}: there the guard is off, and an agent reports no activity and gets no prompts"
            ),
            Self::Guard => {
                format!("{label} finds no Fairway hook before a tool call in {directory}: there the guard is off")
            }
        }
    }

    /// The command that installs the provider's hooks for every worktree.
    pub fn fix(provider: Provider) -> String {
        format!("fairway hook install {} --user", provider.label())
    }
}

/// Finds out which of Fairway's hooks an agent of this provider lacks when it starts in this directory. `words` are the
/// arguments that the agent is started with, because they can bring the hooks too. Returns `None` when the agent runs
/// Fairway's hooks, and when the path of this program is unknown.
pub fn missing(env: &Env, provider: Provider, directory: &Path, words: &[String]) -> Option<MissingHooks> {
    if plugin::enabled(provider, env, Some(directory)).is_some() {
        return None;
    }
    let own = executable::current_executable().ok()?;
    let is_ours = install::own_hook_matcher(provider, &own);
    let hooks_in = |text: &str| install::find_hooks(text, &is_ours).unwrap_or_default();
    let texts =
        settings_files(env, provider, directory).into_iter().filter_map(|file| SettingsFile::read(&file).ok()?.text);
    let mut found: Vec<InstalledHook> = texts.flat_map(|text| hooks_in(&text)).collect();
    for word in words {
        let file = Some(directory.join(word)).filter(|path| word.contains('/') && path.is_file());
        let text = file.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_else(|| word.clone());
        found.extend(hooks_in(&text));
        // Settings that are not JSON.
        if text.contains(&format!(" hook {} {}", provider.label(), provider.tool_event())) {
            return None;
        }
    }
    if found.is_empty() {
        return Some(MissingHooks::All);
    }
    let has_guard = found.iter().any(|hook| hook.event == provider.tool_event());
    (!has_guard).then_some(MissingHooks::Guard)
}

fn settings_files(env: &Env, provider: Provider, directory: &Path) -> Vec<PathBuf> {
    let targets = [Target::Project(directory.to_owned()), Target::User];
    let mut files: Vec<PathBuf> = targets.iter().filter_map(|target| target.path(provider, env).ok()).collect();
    files.extend(provider.local_settings_file.map(|file| directory.join(provider.settings_dir).join(file)));
    files
}
