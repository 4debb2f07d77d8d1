//! Store access with a short busy timeout.

use std::time::Duration;

use anyhow::Result;

use crate::actions::{App, core::errors};

/// How long the store is waited for, twice: for a turn, and for its lock.
const STORE_TIMEOUT: Duration = Duration::from_millis(450);

/// Runs something that waits for the store only shortly: an agent waits meanwhile, and its hook has a deadline.
pub(super) fn with_short_timeout<T>(app: &App, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let hurry = |span| app.store_for_reading().and_then(|store| Ok(store.set_busy_timeout(span)?));
    hurry(Some(STORE_TIMEOUT))?;
    let done = work();
    hurry(None)?;
    done
}

pub(super) fn error_message(error: &anyhow::Error) -> String {
    errors::classify(error).message
}
