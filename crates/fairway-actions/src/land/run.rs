//! `land`: pass after pass, with the lock of landing.

use std::cell::RefCell;

use anyhow::Result;

use super::checks::Checks;
use super::locked_land::LockedLand;
use super::pass::Pass;
use super::request::{LandRequest, answer, find};
use super::upstream::{MayPush, UpstreamUse, Upstreams};
use super::{candidate, check_log, dry_run, finish, lock, pause, recovery, report, schedule};
use crate::core::{inside_session, trust};
use crate::queue::landing_unit::project_git;
use crate::{Answer, App};
use fairway_core::config::Permission;
use fairway_core::wire::{LandView, LandingView};

/// Lands work. `say` gets lines about the progress, and `may_push` decides on each push. The second value is the exit code of
/// the first failure.
///
/// # Errors
/// `inside_session`, `untrusted`, `land_paused`, `no_identity`, `in_use`, `push_unknown`; for a single name also the reason why
/// it did not land.
pub fn land(app: &App, request: &LandRequest, say: &dyn Fn(&str), may_push: MayPush<'_>) -> Result<(Answer, u8)> {
    if let Some(answer) = app.stored_response()? {
        return Ok((answer, 0));
    }
    let git = project_git(app)?;
    if request.dry_run {
        return dry_run::plan(app, request, &git);
    }
    inside_session::refuse_unless_permitted(app, "fairway land", Permission::Land)?;
    let proposes = request.proposes(app);
    if app.settings.land.names_programs() || proposes {
        trust::require(app)?;
    }
    pause::refuse(app)?;
    candidate::check_identity(&git)?;
    let lock = lock::acquire(app, say)?;
    check_log::clear(app);
    // A person may have paused while this call waited.
    pause::refuse(app)?;
    let mut landings: Vec<LandingView> = Vec::new();
    for mut done in recovery::run(app, &lock, say)? {
        let mut view = report::completed(app, &done);
        if done.is_in_base {
            finish::end_lane(app, &done.unit, &mut view);
        }
        finish::close(app, &mut done.landing)?;
        landings.push(view);
    }
    let checks = Checks::new(app, request.turn, say);
    // When several hosts share a store, they must share the base too.
    let what = match request.upstream {
        _ if proposes => UpstreamUse::Fetch,
        _ if app.settings.shares_base() => UpstreamUse::Push,
        what => what,
    };
    let (fresh, moves) = (RefCell::default(), RefCell::default());
    let upstreams = Upstreams { app, git, lock: &lock, say, may_push, what, fresh, moves };
    let sent_back = RefCell::default();
    let locked = LockedLand { app, git, lock: &lock, checks: &checks, upstreams: &upstreams, proposes, sent_back, say };
    let mut order = Vec::new();
    // Only the notes of the last pass are shown.
    let mut notes;
    loop {
        let merges = candidate::open_merges(app, &git)?;
        let found = find(app, request)?;
        notes = found.notes;
        let ordered = schedule::order(app, &merges, found.units)?;
        drop(merges);
        let places: Vec<_> = ordered.units.iter().map(report::place).collect();
        if places.len() > 1 {
            say(&report::order_line(&places));
        }
        order.extend(places);
        let is_tried = |commit: &str| landings.iter().any(|known| known.id.is_some() && known.commit == commit);
        let mut pass = Pass::new(&locked, &ordered, &is_tried).run()?;
        locked.send_back_all(!pass.is_stopped, &mut pass.outcomes)?;
        let has_landed = pass.outcomes.iter().any(|one| one.view.state == "landed");
        let has_landed_before = landings.iter().any(|one| one.state == "landed");
        for outcome in pass.outcomes {
            match outcome.error {
                Some(error) if request.names.len() == 1 && !has_landed_before => return Err(error),
                _ => landings.push(outcome.view),
            }
        }
        notes.extend(report::not_tried(&pass.not_tried));
        if pass.is_stopped || !request.queue || !has_landed {
            break;
        }
        // The next pass reports again what did not land in this one.
        landings.retain(|view| !matches!(view.state, "not_ready" | "skipped" | "failed"));
    }
    answer(app, request, LandView { dry_run: false, order, landings }, notes)
}
