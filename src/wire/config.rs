//! Settings as documents.

use serde::Serialize;
use serde_json::Value;

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettingView {
    /// The key's full path.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The value as it is written in a file.
    #[serde(skip)]
    pub written: String,
    /// `default`, a file's path, or a variable's name.
    pub source: String,
}

/// A configuration that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigCheckView {
    /// Always true: a wrong one is an error.
    pub valid: bool,
    /// The files that it was read from, lowest layer first.
    pub files: Vec<String>,
    /// Whether it is trusted: `trusted`, `untrusted` or `not_needed`.
    pub trust: &'static str,
    /// Why it is not trusted.
    pub why: Option<String>,
}
