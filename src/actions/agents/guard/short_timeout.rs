//! Store access with a short busy timeout.

use std::time::Duration;

use anyhow::Result;

use crate::actions::{App, core::errors};

/// Busy timeout of the store. It applies twice: to the write queue and to the lock.
const STORE_TIMEOUT: Duration = Duration::from_millis(450);

/// Runs `work` with a short busy timeout: the agent waits meanwhile, and its hook has a deadline.
pub(super) fn with_short_timeout<T>(app: &App, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let set_timeout = |span| app.store_for_reading().and_then(|store| Ok(store.set_busy_timeout(span)?));
    set_timeout(Some(STORE_TIMEOUT))?;
    let result = work();
    set_timeout(None)?;
    result
}

pub(super) fn error_message(error: &anyhow::Error) -> String {
    errors::classify(error).message
}
