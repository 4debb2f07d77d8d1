//! The slots for checks: so many of this user run at once on this host, whatever their project, and the others wait in turn.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::App;
use fairway_core::domain::secrets::mask;
use fairway_core::domain::{LaneName, age};
use fairway_core::env::{Clock, Timestamp, vars};
use fairway_core::os::notify::notify_all;
use fairway_core::os::slots::{Slot, Slots};
use fairway_core::wire::WaitingCheckView;

/// What has a slot or waits for one, for those that look.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    what: String,
    since: i64,
    /// The root of its project, and its lane there.
    #[serde(default)]
    place: Option<(PathBuf, String)>,
}

impl Note {
    fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// In [`vars::FAIRWAY_SLOT`]: the program waits for its turn.
pub(crate) const WAIT: &str = "wait";

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

/// A check that wants a slot.
pub(crate) struct Ticket {
    slots: Slots,
    note: String,
    /// Where boards wait for changes.
    wake: PathBuf,
}

impl Ticket {
    /// The ticket of `what`, in a lane as a rule; `None` where there can be no slots.
    pub(crate) fn of(app: &App, what: &str, lane: Option<&LaneName>) -> Result<Option<Self>> {
        let Some(slots) = slots(app) else { return Ok(None) };
        let place = lane.map(|lane| (app.project.root.clone(), lane.to_string()));
        let note = Note { what: mask(what), since: Clock::System.now().millis(), place };
        let wake = app.store_for_writing()?.wake_dir().to_owned();
        Ok(Some(Self { slots, note: serde_json::to_string(&note)?, wake }))
    }

    /// Waits for a slot, and tells so by `say`. `None` where there can be none: a check is not refused for that.
    pub(crate) fn take(&self, mut say: impl FnMut(&str)) -> Option<Slot> {
        let taken = self.slots.take(&self.note, |notes| {
            notify_all(&self.wake);
            say(&waits_for(&notes));
        });
        taken.inspect_err(|error| say(&format!("runs without a slot for checks: {error}"))).ok()
    }
}

fn slots(app: &App) -> Option<Slots> {
    Some(Slots::new(app.env.state_dir()?.join("checks"), app.settings.checks.parallel()))
}

fn waits_for(notes: &[String]) -> String {
    format!("waits for a slot for checks: {}", running(notes))
}

/// What has the slots, in words.
fn running(notes: &[String]) -> String {
    let now = Clock::System.now();
    let one = |one: Note| format!("{} since {}", one.what, age::rough(now.since(Timestamp::from_millis(one.since))));
    let all: Vec<String> = notes.iter().filter_map(|note| Note::parse(note)).map(one).collect();
    if all.is_empty() { "others run".to_owned() } else { all.join("; ") }
}

/// Waits for a slot for `what`, and tells so by `say`. A check that a check has started has the slot of that one. `None` without
/// a slot.
pub(crate) fn take(
    app: &App,
    turn: Turn,
    what: &str,
    lane: Option<&LaneName>,
    say: impl FnMut(&str),
) -> Result<Option<Slot>> {
    if turn == Turn::Now || app.env.var(vars::FAIRWAY_SLOT).is_some() {
        return Ok(None);
    }
    Ok(Ticket::of(app, what, lane)?.and_then(|ticket| ticket.take(say)))
}

/// Says for what a check would wait; `None` while a slot is free.
pub(crate) fn would_wait(app: &App) -> Option<String> {
    let slots = slots(app)?;
    let notes = slots.notes();
    (notes.len() >= app.settings.checks.parallel()).then(|| waits_for(&notes))
}

/// The checks of this project that wait on this host, each with its lane, oldest first.
pub(crate) fn waiting(app: &App) -> Vec<(String, WaitingCheckView)> {
    let Some(slots) = slots(app) else { return Vec::new() };
    let mut notes: Vec<Note> = slots.waiting().iter().filter_map(|note| Note::parse(note)).collect();
    notes.sort_by_key(|note| note.since);
    let running = if notes.is_empty() { String::new() } else { running(&slots.notes()) };
    let view = |Note { what, since, place }| {
        let (_, lane) = place.filter(|(root, _)| *root == app.project.root)?;
        let since = Timestamp::from_millis(since).to_string();
        Some((lane, WaitingCheckView { what, since, running: running.clone() }))
    };
    notes.into_iter().filter_map(view).collect()
}

/// The variable by which the programs of a check know that they have its slot.
pub(crate) fn variable() -> (String, String) {
    (vars::FAIRWAY_SLOT.to_owned(), "1".to_owned())
}
