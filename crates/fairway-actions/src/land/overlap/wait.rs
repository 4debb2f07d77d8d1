//! Waiting for a new overlap.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Scope, Selection, refresh, view};
use crate::App;
use crate::core::errors;
use crate::core::server_outage::ServerOutage;
use fairway_core::config::show_duration;
use fairway_core::domain::Refusal;
use fairway_core::wire::{OverlapPairView, OverlapView};

/// How long a look at all lanes may take.
pub const LOOK_LIMIT: Duration = Duration::from_secs(120);
/// How often the worktrees are looked at without a change of the store. A person's edit does not change the store.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Waits for an overlap that was not there at the beginning, and returns only new ones. An outage of the store's server does not
/// end the wait: `warn` gets a message about it.
///
/// # Errors
/// `nothing_arrived` after `limit`.
pub fn wait(app: &App, asked: &Selection, limit: Duration, warn: &mut dyn FnMut(&str)) -> Result<OverlapView> {
    let deadline = Instant::now() + limit;
    let waiter = app.waiter("overlap")?;
    let mut known: Option<BTreeSet<(String, String)>> = None;
    let mut outage = ServerOutage::new(warn).repeating_unknown();
    loop {
        let look = || view(app, &refresh(app, Scope::All, LOOK_LIMIT)?, asked);
        let mut found = outage.outlast(&waiter, Some(deadline), look)?;
        match &known {
            None => known = Some(found.overlaps.iter().flat_map(keys).collect()),
            Some(known) => {
                found.overlaps.retain(|one| keys(one).iter().any(|key| !known.contains(key)));
                if !found.overlaps.is_empty() {
                    return Ok(found);
                }
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Refusal::WaitTimedOut { within: show_duration(limit) }.into());
        }
        waiter.wait(Some(left.min(LOOK_INTERVAL))).map_err(errors::internal)?;
    }
}

/// Identifies an overlap: its pair with each file and level.
fn keys(one: &OverlapPairView) -> Vec<(String, String)> {
    let pair = format!("{:?} {:?} {:?} {:?}", one.lane, one.other_lane, one.task_id, one.other_task_id);
    let files = one.files.iter().map(|file| format!("{} {}", file.level, file.path));
    let whole = std::iter::once(format!("{} {:?}", one.level, one.why)).filter(|_| one.files.is_empty());
    files.chain(whole).map(|file| (pair.clone(), file)).collect()
}
