//! The errors of a configuration.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A configuration that cannot be used, or a project that is not there.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// No `.fairway.toml` from here upwards. `missing`: the path of one that was here.
    #[error("{}", match .missing {
        Some(path) => format!("{} is missing, and its project is known", path.display()),
        None => format!("there is no Fairway project at {} or above", .from.display()),
    })]
    NoProject { from: PathBuf, missing: Option<PathBuf> },
    /// `FAIRWAY_ROOT` names a directory without a project: it may have been moved. `found` is the project around the working
    /// directory, `session` the session of the environment.
    #[error("FAIRWAY_ROOT is {}, and there is no Fairway project{}", .root.display(), match .found {
        Some(found) => format!("; the working directory is in the one at {}", found.display()),
        None => " there".to_owned(),
    })]
    RootGone { root: PathBuf, found: Option<PathBuf>, session: Option<String> },
    /// The place of a project of a linked worktree from which git does not find the worktree's repository.
    #[error("the worktrees of {} would have their project in {}, from which git does not find that repository", .repository.display(), .place.display())]
    NotInRepository { place: PathBuf, repository: PathBuf },
    #[error("the working directory cannot be used: {why}")]
    NoWorkingDir { why: String },
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not valid TOML: {why}", .path.display())]
    Syntax { path: PathBuf, why: String },
    #[error("{place}: unknown key '{key}'{}", match .near {
        Some(near) => format!("; did you mean '{near}'?"),
        None => String::new(),
    })]
    UnknownKey { place: String, key: String, near: Option<String> },
    #[error("{place}: {key}: {why}")]
    Value { place: String, key: String, why: String },
    /// All of these, found by a check.
    #[error("{}", list(.problems))]
    All { problems: Vec<ConfigError> },
}

fn list(problems: &[ConfigError]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
