//! What has landed before.

use anyhow::Result;

use super::{
    base::Base,
    unit::{MAX_EARLIER, Unit},
};
use crate::{actions::App, domain::landing::Landing, os::git::Git, store::landings};

/// Whether a unit's commit has landed in its base, also as another commit.
pub(super) fn has_landed(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<bool> {
    let earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    let is_it = |one: &&Landing| one.commit == unit.commit;
    let is_there = |candidate: &String| git.is_ancestor(candidate, base) == Some(true);
    Ok(earlier.iter().filter(is_it).filter_map(|one| one.candidate.as_ref()).any(is_there))
}

/// The landings in the base since the unit's commit last had it, newest first.
pub(super) fn landed_since(app: &App, git: &Git<'_>, unit: &Unit, base: &Base) -> Result<Vec<Landing>> {
    let Some(fork) = git.merge_base(&base.commit, &unit.commit)? else { return Ok(Vec::new()) };
    let since = git.commits_between(&fork, &base.commit)?;
    let mut earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    earlier.retain(|one| one.candidate.as_ref().is_some_and(|candidate| since.contains(candidate)));
    Ok(earlier)
}

/// The tasks of landings, or else their lanes.
pub(super) fn names(landings: &[Landing]) -> Vec<String> {
    let names = landings.iter().flat_map(|one| match (&one.tasks[..], &one.lane) {
        ([], lane) => lane.iter().map(ToString::to_string).collect::<Vec<_>>(),
        (tasks, _) => tasks.iter().map(|(id, _)| id.to_string()).collect(),
    });
    names.collect()
}
