//! Starts the debug log when the environment or a flag asks for it.

use std::path::PathBuf;

use super::{Env, vars};
use crate::os::debug_log::{self, Detail};

/// The place of the log when no file is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutFile {
    Stderr,
    /// For hooks: a provider reads their stderr.
    NoLog,
}

/// Starts the debug log when `FAIRWAY_LOG` is set or `is_wanted` is true. With [`WithoutFile::NoLog`], there is no log unless
/// `FAIRWAY_LOG_FILE` names its file.
///
/// # Errors
/// The reason why there is no log, as a sentence without a period.
pub fn start(env: &Env, is_wanted: bool, without_file: WithoutFile) -> Result<(), String> {
    let detail = match env.var(vars::FAIRWAY_LOG) {
        Some(name) => match Detail::parse(name) {
            Some(detail) => detail,
            None => return Err(format!("{} is '{name}', and not 'debug' or 'trace'", vars::FAIRWAY_LOG)),
        },
        None if is_wanted => Detail::Debug,
        None => return Ok(()),
    };
    let file = env.var_os(vars::FAIRWAY_LOG_FILE).map(|file| env.cwd.join(PathBuf::from(file)));
    if file.is_none() && without_file == WithoutFile::NoLog {
        return Ok(());
    }
    debug_log::start(detail, file.as_deref()).map_err(|error| {
        let file = file.unwrap_or_default();
        format!("the debug log cannot be written to {}: {error}", file.display())
    })
}
