//! Showing and checking the configuration.

use toml::{Table, Value};

use crate::actions::App;
use crate::wire::{ConfigCheckView, SettingView};

/// Every effective setting, in the order of the example file.
#[must_use]
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

/// The files of a valid configuration.
#[must_use]
pub fn check(app: &App) -> ConfigCheckView {
    ConfigCheckView {
        valid: true,
        files: app.layers.files().iter().map(|(path, _)| path.display().to_string()).collect(),
    }
}

fn json(written: &str) -> serde_json::Value {
    let value = format!("v = {written}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    value.and_then(|value: Value| serde_json::to_value(value).ok()).unwrap_or_else(|| written.into())
}
