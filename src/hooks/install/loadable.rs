//! Checks whether a provider would load a settings file. Hooks of a file that it does not load are never run, mostly without a
//! message.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json_edit::{self, BOM};
use super::settings_file::{SettingsFile, Target};
use crate::hooks::Provider;
use fairway_core::env::Env;

/// The name of Fairway's hooks, where a provider has names for hooks.
const HOOK_NAME: &str = "fairway";

/// Checks that the provider loads settings with this text, and runs their hooks.
///
/// # Errors
/// The reason, as the end of a sentence that begins with the name of the file.
pub fn check_loadable(provider: Provider, text: &str) -> Result<(), String> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    if body.len() != text.len() && !provider.settings_have_byte_order_mark {
        return Err(format!("begins with a byte order mark, and {} does not load such a file", provider.label()));
    }
    let value: Value = match serde_json::from_str(body) {
        Ok(value) => value,
        Err(_) if provider.settings_have_comments => {
            json_edit::parse_without_trailing_commas(body)?;
            json_edit::parse(body)?.as_ref().map(json_edit::to_value).unwrap_or_default()
        }
        Err(why) => {
            let problem = match json_edit::parse(body) {
                Ok(_) => "has comments or a trailing comma".to_owned(),
                Err(_) => format!("is not valid JSON ({why})"),
            };
            return Err(format!("{problem}, and {} does not load such a file", provider.label()));
        }
    };
    (provider.check_settings)(&value, HOOK_NAME)
}

/// The settings file that turns off all hooks of the provider in this directory, whichever file has them.
pub fn switched_off(provider: Provider, env: &Env, directory: &Path) -> Option<PathBuf> {
    let switch = provider.hooks_switch.as_ref()?;
    let targets = [Target::Local(directory.to_owned()), Target::Project(directory.to_owned()), Target::User];
    let files = targets.iter().filter_map(|target| target.path(provider, env).ok());
    let is_off = |file: &Path| {
        let text = SettingsFile::read(file).ok()?.text?;
        let value: Value = serde_json::from_str(text.strip_prefix(BOM).unwrap_or(&text)).ok()?;
        value[switch.key].as_bool()
    };
    let decides = |file: PathBuf| Some((is_off(&file)?, file));
    let (is_off, file) = [switch.managed_file.into()].into_iter().chain(files).find_map(decides)?;
    is_off.then_some(file)
}

/// The steps that the user must take after `hook install`: the provider's conditions for running the hooks, where else the hooks
/// must be installed, and how to check them.
pub fn manual_steps(provider: Provider, target: &Target) -> Vec<String> {
    let in_project = matches!(target, Target::Project(_) | Target::Local(_));
    let mut steps: Vec<String> = (provider.manual_steps)(in_project).into_iter().map(str::to_owned).collect();
    if matches!(target, Target::Project(_)) {
        steps.push(
            "other worktrees have the hooks once the file is committed; --user installs them for all projects"
                .to_owned(),
        );
    }
    steps.push(format!("check the hooks: fairway doctor hooks {}", provider.label()));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: Provider = Provider::CLAUDE;
    const CODEX: Provider = Provider::CODEX;
    const GEMINI: Provider = Provider::GEMINI;

    /// As tried with Claude Code 2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0.
    #[test]
    fn settings_file_is_loaded_as_the_provider_does() {
        for (text, by) in [
            ("{}", vec![CLAUDE, CODEX, GEMINI]),
            ("{\"hooks\": {}} // c", vec![GEMINI]),
            ("{/* c */}", vec![GEMINI]),
            ("{\"hooks\": {},}", vec![]),
            ("\u{feff}{}", vec![CLAUDE]),
            ("{\"other\": 1}", vec![CLAUDE, GEMINI]),
            ("{\"description\": \"x\"}", vec![CLAUDE, CODEX, GEMINI]),
            ("{\"disableAllHooks\": true}", vec![GEMINI]),
            ("{\"disableAllHooks\": false}", vec![CLAUDE, GEMINI]),
            ("{\"hooksConfig\": {\"enabled\": false}}", vec![CLAUDE]),
            ("{\"hooksConfig\": {\"disabled\": [\"fairway\"]}}", vec![CLAUDE]),
            ("{'a': 1}", vec![]),
            ("", vec![]),
        ] {
            for provider in Provider::ALL {
                let loaded = check_loadable(*provider, text);
                // An empty file is none for the one that strips comments first.
                if !(text.is_empty() && *provider == GEMINI) {
                    assert_eq!(loaded.is_ok(), by.contains(provider), "{text} {provider:?} {loaded:?}");
                }
            }
        }
    }
}
