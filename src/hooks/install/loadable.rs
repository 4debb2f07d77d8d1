//! Checks whether a provider would load a settings file. Hooks of a file that it does not load are never run, mostly without a
//! message.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use super::json_edit::{self, BOM};
use super::settings_file::{SettingsFile, Target};
use crate::hooks::Provider;

/// The name of Fairway's hooks, where a provider has names for hooks.
const HOOK_NAME: &str = "fairway";

/// Reads settings as the provider loads them.
///
/// # Errors
/// The reason why it does not, as the end of a sentence that begins with the name of the file.
pub fn load(provider: Provider, text: &str) -> Result<Value, String> {
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
    (provider.check_settings)(&value)?;
    Ok(value)
}

/// A setting that turns the hooks of a provider off.
#[derive(Debug, PartialEq, Eq)]
pub struct SwitchedOff {
    pub file: PathBuf,
    pub setting: String,
}

impl fmt::Display for SwitchedOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sets {}", self.file.display(), self.setting)
    }
}

/// The setting that turns Fairway's hooks off, whichever file has them. `files` are those of the project and the person, in the
/// order in which they decide.
pub fn switched_off(provider: Provider, files: impl IntoIterator<Item = PathBuf>) -> Option<SwitchedOff> {
    let switch = provider.hooks_switch.as_ref()?;
    let files = [switch.managed_file.into()].into_iter().chain(files).chain(switch.default_file.map(PathBuf::from));
    let read = |file: PathBuf| Some((load(provider, &SettingsFile::read(&file).ok()?.text?).ok()?, file));
    let read: Vec<(Value, PathBuf)> = files.filter_map(read).collect();
    let decides = read.iter().find_map(|(settings, file)| Some((switch.is_off(settings)?, file)));
    let all = decides.filter(|(is_off, _)| *is_off).map(|(_, file)| (file, switch.key.to_owned()));
    let one = || {
        let (_, file) = read.iter().find(|(settings, _)| switch.names_hook(settings, HOOK_NAME))?;
        Some((file, format!("'{HOOK_NAME}' in {}", switch.names?)))
    };
    let (file, setting) = all.or_else(one)?;
    Some(SwitchedOff { file: file.clone(), setting })
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
                let loaded = load(*provider, text);
                let switch = provider.hooks_switch.as_ref();
                let is_on = |settings: &Value| {
                    switch.is_none_or(|one| one.is_off(settings) != Some(true) && !one.names_hook(settings, HOOK_NAME))
                };
                // An empty file is none for the one that strips comments first.
                if !(text.is_empty() && *provider == GEMINI) {
                    assert_eq!(
                        loaded.as_ref().is_ok_and(is_on),
                        by.contains(provider),
                        "{text} {provider:?} {loaded:?}"
                    );
                }
            }
        }
    }
}
