//! Fairway's plugin in a provider's settings. The plugin brings hooks of its own: beside installed hooks, each event would run
//! two.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings_file::{SettingsFile, Target};
use crate::hooks::Provider;
use fairway_core::env::Env;

/// The prefix of the ids of the plugin, in any marketplace.
const PLUGIN: &str = "fairway@";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnabledPlugin {
    /// The plugin's id, `PLUGIN@MARKETPLACE`.
    pub id: String,
    pub file: PathBuf,
}

/// The enabled plugin that brings Fairway's hooks for an agent in this directory; `None` when there is none. Settings that
/// cannot be read count as settings that enable no plugin.
pub fn enabled(provider: Provider, env: &Env, directory: Option<&Path>) -> Option<EnabledPlugin> {
    // The plugins for other providers bring no hooks.
    if !provider.has_plugin {
        return None;
    }
    // A later file overrides an earlier one.
    let near = directory.into_iter().flat_map(|dir| [Target::Project(dir.to_owned()), Target::Local(dir.to_owned())]);
    let mut found = None;
    for target in [Target::User].into_iter().chain(near) {
        let Ok(file) = target.path(provider, env) else { continue };
        let text = SettingsFile::read(&file).ok().and_then(|settings| settings.text);
        let settings: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        let Some(plugins) = settings.as_ref().and_then(|settings| settings["enabledPlugins"].as_object()) else {
            continue;
        };
        for (id, state) in plugins.iter().filter(|(id, _)| id.starts_with(PLUGIN)) {
            found = (state == &Value::Bool(true)).then(|| EnabledPlugin { id: id.clone(), file: file.clone() });
        }
    }
    found
}

pub fn disable_command(provider: Provider, plugin: &EnabledPlugin) -> String {
    format!("{} plugin disable {}", provider.label(), plugin.id)
}
