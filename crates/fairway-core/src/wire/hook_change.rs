//! Hooks in a provider's settings, as documents.

use serde::Serialize;

/// The change of `hook install` and `hook uninstall` to a provider's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HookChangeView {
    /// The provider.
    pub provider: &'static str,
    /// The settings' file.
    pub file: String,
    /// Whether it is another one now, or would be.
    pub changed: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The lines that differ.
    pub diff: String,
    /// Whether the provider takes in the file as it is then.
    pub loaded: bool,
}
