//! Showing and checking the configuration.

use anyhow::Result;
use toml::{Table, Value};

use crate::actions::{App, core::trust};
use crate::config::{self, ConfigError, Project};
use crate::env::Env;
use crate::wire::{ConfigCheckView, SettingView};

/// Every effective setting, in the order of the example file.
pub fn show(app: &App) -> Vec<SettingView> {
    let shown = app.layers.values_with_source().into_iter();
    shown
        .map(|setting| SettingView {
            value: json(&setting.value),
            key: setting.key,
            written: setting.value,
            source: setting.source.to_string(),
        })
        .collect()
}

/// The files of a valid configuration, as they are now, and whether they are trusted.
///
/// # Errors
/// With every problem when the configuration is wrong, whatever is in force in its place.
pub fn check(env: &Env, project: &Project) -> Result<ConfigCheckView> {
    let checked = trust::check_present(env, project);
    let (layers, state) = checked.map_err(|error| match error.downcast::<ConfigError>() {
        Ok(first) => config::all_problems(first, project, env).into(),
        Err(error) => error,
    })?;
    Ok(ConfigCheckView {
        valid: true,
        files: layers.files().iter().map(|(path, _)| path.display().to_string()).collect(),
        trust: state.as_str(),
        why: state.why().map(str::to_owned),
    })
}

fn json(written: &str) -> serde_json::Value {
    let value = format!("v = {written}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    value.and_then(|value: Value| serde_json::to_value(value).ok()).unwrap_or_else(|| written.into())
}
