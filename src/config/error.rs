//! What can be wrong with a configuration.

use std::{io, path::PathBuf};

use thiserror::Error;

/// A configuration that cannot be used, or a project that is not there.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum ConfigError {
    /// No `.fairway.toml` from here upwards.
    #[error("there is no Fairway project at {} or above", .from.display())]
    NoProject { from: PathBuf },
    /// A working directory that is not there.
    #[error("the working directory cannot be used: {why}")]
    NoWorkingDir { why: String },
    /// A file that cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A file that is not TOML.
    #[error("{} is not valid TOML: {why}", .path.display())]
    Syntax { path: PathBuf, why: String },
    /// A key that does not exist.
    #[error("{place}: unknown key '{key}'{}", match .near {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    })]
    UnknownKey { place: String, key: String, near: Option<String> },
    /// An invalid value.
    #[error("{place}: {key}: {why}")]
    Value { place: String, key: String, why: String },
}
