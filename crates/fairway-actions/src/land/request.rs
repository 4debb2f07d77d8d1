//! The request of a landing, and the answer to it.

use anyhow::Result;

use super::report;
use super::upstream::UpstreamUse;
use crate::core::check_slot::Turn;
use crate::queue::landing_unit::{self, Found, Unit};
use crate::{Answer, App};
use fairway_core::domain::landing::LandThrough;
use fairway_core::wire::{LandView, LandingView};

/// The answer to `--all` when there is no work.
const NOTHING: &str = "nothing to land: no task is in review, and no finished work is ahead of its base";

/// The answer to `--all` when all work is left out; the notes give the reasons.
const NOTHING_HERE: &str = "nothing to land here: see what is left out";

#[derive(Debug, Clone, Default)]
pub struct LandRequest {
    /// Ids of tasks and names of lanes.
    pub names: Vec<String>,
    /// Land everything that is ready.
    pub all: bool,
    /// Like `all`, repeated while landings make further work ready.
    pub queue: bool,
    pub dry_run: bool,
    /// Whether its checks wait for a slot.
    pub turn: Turn,
    /// How the work lands; by default as `land.through` says.
    pub through: Option<LandThrough>,
    /// How to use the upstreams of the bases.
    pub upstream: UpstreamUse,
}

impl LandRequest {
    /// Whether work lands through pull requests. A push of the base is none.
    pub(super) fn proposes(&self, app: &App) -> bool {
        let settings = app.settings.land.through;
        let default = if self.upstream == UpstreamUse::Push { LandThrough::Base } else { settings };
        self.through.unwrap_or(default) == LandThrough::Pr
    }
}

/// The units that the request names, or all that could land. Fails with `no_commit`.
pub(super) fn find(app: &App, request: &LandRequest) -> Result<Found> {
    if request.all || request.queue {
        return landing_unit::all(app);
    }
    let mut units: Vec<Unit> = Vec::new();
    for name in &request.names {
        let unit = landing_unit::of_name(app, name)?;
        if !units.iter().any(|known| known.commit == unit.commit && known.base == unit.base) {
            units.push(unit);
        }
    }
    Ok(Found { units, notes: Vec::new() })
}

/// Makes the answer, with the exit code of the first failure, or 0. Work that is not ready is a failure when the request names
/// it, or when nothing is ready. `notes` come before those of the landings.
pub(super) fn answer(app: &App, request: &LandRequest, view: LandView, mut notes: Vec<String>) -> Result<(Answer, u8)> {
    // Work that is not finished yet is no failure of `--all`, and a plan that finds a conflict has succeeded.
    let is_none_ready = view.landings.iter().all(|one| one.state == "not_ready");
    let counts = |one: &&LandingView| {
        let is_waiting = matches!(one.state, "not_ready" | "skipped") && request.names.is_empty() && !is_none_ready;
        one.error.is_some() && !is_waiting && one.state != "would_be_sent_back"
    };
    let exit = view.landings.iter().find(counts).and_then(|one| one.error.as_ref()).map_or(0, |e| e.kind.exit_code());
    let lines: Vec<String> = view.landings.iter().map(report::lines).collect();
    let line = if lines.is_empty() && !notes.is_empty() {
        NOTHING_HERE.to_owned()
    } else if lines.is_empty() {
        NOTHING.to_owned()
    } else {
        lines.join("\n")
    };
    let ids = view.landings.iter().filter(|one| one.state == "landed").flat_map(|one| one.tasks.clone()).collect();
    notes.extend(view.landings.iter().flat_map(|one| one.notes.clone()));
    let answer = Answer { ids, notes, ..Answer::new(&view, "", line)? };
    if request.dry_run || exit != 0 {
        return Ok((answer, exit));
    }
    app.mutate(|_| Ok(answer)).map(|answer| (answer, exit))
}
