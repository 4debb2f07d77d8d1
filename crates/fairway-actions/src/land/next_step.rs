//! What the author of work that does not land does next: one command that fits the style and the base as it is.

use anyhow::Result;

use super::candidate;
use crate::App;
use crate::queue::landing_unit::{Unit, project_git};
use fairway_core::domain::lane::Lane;
use fairway_core::os::git::{CandidateMaker, Integration};
use fairway_core::store::sessions;

/// The command, with its purpose, that brings the base into the work; `None` when the work has the base. `base` is the base's
/// commit.
pub(super) fn bring_in(app: &App, unit: &Unit, base: &str) -> Result<Option<String>> {
    let git = project_git(app)?;
    if git.is_ancestor(base, &unit.commit) == Some(true) {
        return Ok(None);
    }
    let merges = candidate::open_merges(app, &git)?.writing_to_project().with_attributes_of(base);
    let maker = CandidateMaker { project: git, merges: merges.git(), sign: false, generated: &[] };
    let is_clean = matches!(candidate::make(app, &maker, unit, base), Ok(Integration::Commit(_)));
    let lane = unit.lane.as_ref().filter(|_| is_clean && unit.dir(app).is_some());
    Ok(Some(match lane {
        Some(Lane { name, .. }) => {
            format!("bring {} in: fairway lane sync {name} --{}", unit.base, app.settings.land.style.by_hand())
        }
        None => unit.bring_in_by_hand(app),
    }))
}

/// Whether a session works in the unit's lane, so that it gets the message about the work.
pub(super) fn is_attended(app: &App, unit: &Unit) -> Result<bool> {
    app.read(|tx| Ok(sessions::live(tx)?.iter().any(|one| one.lane.is_some() && one.lane.as_ref() == unit.lane_name())))
}
