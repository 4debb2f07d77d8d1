//! The unit of a server as JSON.

use std::path::PathBuf;

use serde::Serialize;

/// The answer to `serve --install` and `serve --uninstall`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServeUnitView {
    /// The name of the systemd user unit.
    pub unit: String,
    /// Its file.
    pub file: PathBuf,
    /// The port on 127.0.0.1; null for a unit that is removed.
    pub port: Option<u16>,
    /// Whether the file was written or removed.
    pub changed: bool,
    /// The commands that put the change into force. Fairway runs none of them.
    pub commands: Vec<String>,
}
