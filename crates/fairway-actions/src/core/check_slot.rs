//! The slots for checks: so many of this user run at once on this host, whatever their project, and the others wait in turn.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::App;
use fairway_core::domain::age;
use fairway_core::domain::secrets::mask;
use fairway_core::env::{Clock, Timestamp, vars};
use fairway_core::os::slots::{Slot, Slots};

/// What has a slot, for those that wait.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    what: String,
    since: i64,
}

/// Whether a check waits for a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Turn {
    #[default]
    Wait,
    /// It goes past the queue, without a slot.
    Now,
}

impl Turn {
    pub const fn of(now: bool) -> Self {
        if now { Self::Now } else { Self::Wait }
    }
}

/// Waits for a slot for `what`, and tells so by `say`. A check that a check has started has the slot of that one. `None` without
/// a slot, also where there can be none: a check is not refused for that.
pub(crate) fn take(app: &App, turn: Turn, what: &str, mut say: impl FnMut(&str)) -> Result<Option<Slot>> {
    let Some(state) = app.env.state_dir() else { return Ok(None) };
    if turn == Turn::Now || app.env.var(vars::FAIRWAY_SLOT).is_some() {
        return Ok(None);
    }
    let slots = Slots::new(state.join("checks"), app.settings.checks.parallel());
    let holder = Holder { what: mask(what), since: Clock::System.now().millis() };
    let note = serde_json::to_string(&holder)?;
    let taken = slots.take(&note, |notes| {
        let now = Clock::System.now();
        let running = notes.iter().filter_map(|note| serde_json::from_str::<Holder>(note).ok());
        let running: Vec<String> = running
            .map(|one| format!("{} since {}", one.what, age::rough(now.since(Timestamp::from_millis(one.since)))))
            .collect();
        let running = if running.is_empty() { "others run".to_owned() } else { running.join("; ") };
        say(&format!("waits for a slot for checks: {running}"));
    });
    Ok(taken.inspect_err(|error| say(&format!("runs without a slot for checks: {error}"))).ok())
}

/// The variable by which the programs of a check know that they have its slot.
pub(crate) fn variable() -> (String, String) {
    (vars::FAIRWAY_SLOT.to_owned(), "1".to_owned())
}
