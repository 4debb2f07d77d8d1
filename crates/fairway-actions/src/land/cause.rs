//! Finds the landed work together with which sent-back work fails. The checks of a queue do not show this, because the other
//! work has landed by then.

use anyhow::Result;

use super::candidate;
use super::locked_land::LockedLand;
use super::sent_back::BrokenCheck;
use crate::queue::landing_unit::{Unit, work_names};
use fairway_core::domain::commit_id;
use fairway_core::domain::landing::{CauseRun, FailsWith, LandedWork, Landing};
use fairway_core::domain::rules::landing_cause::{CauseSearch, CauseStep, Landings};
use fairway_core::os::git::{CandidateMaker, Integration, MergeRepository};

/// The landings since sent-back work last contained its base, and the repository in which trees of them are made.
struct Since<'a> {
    land: &'a LockedLand<'a>,
    merges: MergeRepository,
    unit: &'a Unit,
    /// The commit at which the work left the base.
    fork: String,
    /// The oldest first.
    landings: Vec<&'a Landing>,
}

impl LockedLand<'_> {
    /// Runs the failed check on the work and on the landings since it last contained its base, until the fewest of them are
    /// found with which it fails. Returns them, and the runs that say something about them. Fails with `interrupted`.
    pub(super) fn search(&self, unit: &Unit, broken: &BrokenCheck) -> Result<(FailsWith, Vec<CauseRun>)> {
        let nothing = (FailsWith::Unknown, Vec::new());
        let Some(fork) = self.git.merge_base(&broken.failed.base_commit, &unit.commit)? else { return Ok(nothing) };
        let merges = candidate::open_merges(self.app, &self.git)?.writing_to_project().with_attributes_of(&fork);
        let landings: Vec<&Landing> = broken.since.iter().rev().collect();
        let owns = |landing: &&Landing| landing.tasks.iter().any(|(task, _)| broken.owners == [task.clone()]);
        let owner = landings.iter().position(owns).filter(|_| !broken.is_own);
        let mut search = CauseSearch::new(landings.len(), owner, broken.is_own_alone);
        let since = Since { land: self, merges, unit, fork, landings };
        let why = format!("looking for what {} fails with", unit.label());
        let fails_with = loop {
            let tree = match search.next_step() {
                CauseStep::Work { oldest, with } => since.with_work(oldest, &with)?,
                CauseStep::Others(with) => since.add(&with, &since.fork)?,
                CauseStep::Alone => break FailsWith::Nothing,
                CauseStep::Together(with) => break FailsWith::Landed(since.work(&with)),
                CauseStep::Unknown => break FailsWith::Unknown,
            };
            let Some(tree) = tree else { break FailsWith::Unknown };
            let Some(passes) = self.checks.passes(&tree, &broken.command, &why)? else { break FailsWith::Unknown };
            search.answered(passes);
        };
        let names = |with: &Landings| since.work(with).into_iter().map(|one| one.of).collect();
        let runs = search.runs().into_iter().map(|run| CauseRun {
            with: names(&run.landings),
            has_work: run.has_work,
            passes: run.passes,
        });
        Ok((fails_with, runs.collect()))
    }
}

impl Since<'_> {
    /// The work, the base with this number of the oldest landings, and these ones; `None` when some of them conflict.
    fn with_work(&self, oldest: usize, with: &Landings) -> Result<Option<String>> {
        let newest = oldest.checked_sub(1).and_then(|newest| self.landings.get(newest));
        let Some(base) = newest.and_then(|landing| landing.candidate.as_ref()) else {
            return self.add(with, &self.unit.commit);
        };
        let maker = CandidateMaker { project: self.land.git, merges: self.merges.git(), sign: false, generated: &[] };
        match candidate::make(self.land.app, &maker, self.unit, base)? {
            Integration::Commit(commit) => {
                self.add(&with.iter().copied().filter(|one| *one >= oldest).collect(), &commit)
            }
            Integration::Conflict { .. } => Ok(None),
        }
    }

    /// The commit `onto` with these landings; `None` when some of them conflict.
    fn add(&self, with: &Landings, onto: &str) -> Result<Option<String>> {
        let mut tree = onto.to_owned();
        for landing in with.iter().filter_map(|place| self.landings.get(*place)) {
            let Some(to) = &landing.candidate else { return Ok(None) };
            let merges = self.merges.git();
            // The commit of its lane brings its own work alone, unless the lane left the base later.
            let git = &self.land.git;
            let own_fork = git.merge_base(&landing.base_before, &landing.commit).ok().flatten();
            let has_others = own_fork.is_none_or(|own| git.is_ancestor(&own, &self.fork) != Some(true));
            let made = if has_others {
                git.apply_change(&merges, (&landing.base_before, to), &tree)?
            } else {
                git.plan_merge(&merges, &tree, &landing.commit, "with other work")?
            };
            match made {
                Integration::Commit(commit) => tree = commit,
                Integration::Conflict { .. } => return Ok(None),
            }
        }
        Ok(Some(tree))
    }

    fn work(&self, with: &Landings) -> Vec<LandedWork> {
        let work = |landing: &&Landing| {
            let commit = landing.candidate.clone().unwrap_or_default();
            let names = work_names(std::slice::from_ref(*landing));
            let of = if names.is_empty() { commit_id::short(&commit).to_owned() } else { names.join(", ") };
            LandedWork { of, lane: landing.lane.clone(), commit, before: landing.base_before.clone() }
        };
        with.iter().filter_map(|place| self.landings.get(*place)).map(work).collect()
    }
}
