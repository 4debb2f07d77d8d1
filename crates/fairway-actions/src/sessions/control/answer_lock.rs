//! The lock that lets one answer at a time through: a second one must see whether the first has settled the question.

use std::time::Duration;

use anyhow::Result;

use crate::App;
use crate::core::errors;
use fairway_core::os::files;
use fairway_core::os::lock::FileLock;

const LOCK: &str = "answer.lock";

/// How long an answer waits for another one: longer than a call of a backend.
const LOCK_TIMEOUT: Duration = Duration::from_secs(40);

/// Waits for the lock that only one answer to a question can have at a time. Returns `None` when another answer holds it for more
/// than 40 s.
pub(crate) fn acquire(app: &App) -> Result<Option<FileLock>> {
    files::private_dir(&app.project.state).map_err(errors::internal)?;
    let runtime = app.project.runtime_dir();
    files::private_dir(&runtime).map_err(errors::internal)?;
    FileLock::acquire_within(&runtime.join(LOCK), LOCK_TIMEOUT).map_err(errors::internal)
}
