//! When the board changes by time alone.

use anyhow::Result;

use super::guard::FIRST_HOOK_TIMEOUT;
use crate::{
    actions::App,
    env::Timestamp,
    store::{messages, overview, sessions},
};

/// The next time at which an item may appear without an event: a lease ends, a message expires, or an agent should have called
/// its first hook. `None` when none of that is ahead.
///
/// # Errors
/// As the store fails.
pub fn next_change(app: &App) -> Result<Option<Timestamp>> {
    let now = app.env.now();
    app.read(|tx| {
        let leases = overview::held(tx)?.into_iter().filter_map(|held| held.lease_until).collect::<Vec<_>>();
        let first_hooks = match &app.settings.guard {
            Some(_) => sessions::live(tx)?.iter().map(|one| one.started_at.plus(FIRST_HOOK_TIMEOUT)).collect(),
            None => Vec::new(),
        };
        let times = leases.into_iter().chain(first_hooks).chain(messages::next_expiry(tx, now)?);
        Ok(times.filter(|at| *at > now).min())
    })
}
