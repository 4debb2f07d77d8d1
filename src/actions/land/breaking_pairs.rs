//! Finds the landed work together with which sent-back work fails. The checks of a queue do not show this, because the other
//! work has landed by then.

use anyhow::Result;

use super::{
    candidate,
    locked_land::LockedLand,
    pass::Outcome,
    sent_back::{self, Suspect},
};
use crate::{
    actions::{
        core::errors,
        queue::landing_unit::{Unit, work_names},
    },
    domain::{
        LaneName, Refusal,
        landing::Landing,
        landing::{FailedLandCheck, FailsWith},
        rules::landing_pair::{PairSearch, PairStep},
    },
    os::git::{CandidateMaker, Integration},
    store::sessions,
};

impl LockedLand<'_> {
    /// Whether to search `since`, the landings since the unit last contained its base, for the work that makes the unit fail.
    /// The search runs checks, so it needs the setting `land.find_pair` and a live session in the lane of one of these
    /// landings, which gets the result.
    pub(super) fn looks_for_pair(&self, unit: &Unit, since: &[Landing]) -> bool {
        self.app.settings.land.find_pair && since.iter().any(|one| self.is_live(unit, one).unwrap_or_default())
    }

    /// Whether a session runs in the lane of a landing, unless it is the unit's own lane.
    fn is_live(&self, unit: &Unit, landing: &Landing) -> Result<bool> {
        let Some(lane) = landing.lane.as_ref().filter(|lane| unit.lane_name() != Some(lane)) else { return Ok(false) };
        self.app.read(|tx| Ok(sessions::live(tx)?.iter().any(|session| session.lane.as_ref() == Some(lane))))
    }

    /// Searches for the landed work together with which the work that this pass has sent back fails, and sends messages about
    /// the result to the authors of both. When `may_check` is false or the search fails, the landed work counts as unknown,
    /// and the sessions of all work that landed since get a message.
    pub(super) fn find_pairs(&self, mut may_check: bool, outcomes: &mut [Outcome]) -> Result<()> {
        for suspect in self.suspects.take() {
            let found = if may_check { self.search(&suspect) } else { Ok(FailsWith::Unknown) };
            let fails_with = found.unwrap_or_else(|error| {
                // A person may have stopped the search. All units are decided by now.
                may_check = false;
                (self.say)(&format!("the search for what {} fails with ended early: {error}", suspect.unit.label()));
                FailsWith::Unknown
            });
            let Suspect { unit, landing, since, .. } = &suspect;
            let failed = FailedLandCheck { fails_with, ..suspect.failed.clone() };
            self.app.transaction(|tx| match &failed.fails_with {
                FailsWith::Unknown => sent_back::tell_landed(tx, unit, *landing, &failed.to_string(), since),
                FailsWith::Nothing => sent_back::tell_alone(tx, unit, *landing, &failed),
                FailsWith::Other { commit, .. } => {
                    let other = since.iter().find(|one| one.candidate.as_ref() == Some(commit));
                    sent_back::tell_pair(tx, unit, *landing, &failed, other)
                }
            })?;
            self.deliver_mailed();
            let Some(outcome) = outcomes.iter_mut().find(|one| one.view.id == Some(*landing)) else { continue };
            if failed.fails_with != FailsWith::Unknown {
                let error = Refusal::LandCheckFailed { failed: Box::new(failed) }.into();
                outcome.view.error = Some(errors::classify(&error));
                outcome.error = outcome.error.is_some().then_some(error);
            }
        }
        Ok(())
    }

    fn search(&self, suspect: &Suspect) -> Result<FailsWith> {
        let Suspect { unit, since, command, .. } = suspect;
        let oldest_first: Vec<&Landing> = since.iter().rev().collect();
        if let Some(task) = &suspect.of_other {
            let has_task = |one: &&&Landing| one.tasks.iter().any(|(id, _)| id == task);
            let found = oldest_first.iter().find(has_task);
            return Ok(found.map_or(FailsWith::Unknown, |one| self.other(unit, one)));
        }
        let Some(fork) = self.git.merge_base(&suspect.failed.base_commit, &unit.commit)? else {
            return Ok(FailsWith::Unknown);
        };
        let base_at = |below: usize| match below.checked_sub(1).and_then(|last| oldest_first.get(last)) {
            Some(landing) => landing.candidate.clone().unwrap_or_default(),
            None => fork.clone(),
        };
        let mut search = PairSearch::new(oldest_first.len());
        loop {
            let step = search.next_step();
            let tree = match step {
                PairStep::Work { below: 0 } => Some(unit.commit.clone()),
                PairStep::Work { below } => self.merged(unit, &base_at(below))?,
                PairStep::Base { below } => Some(base_at(below)),
                PairStep::Nothing => return Ok(FailsWith::Nothing),
                PairStep::Unknown => return Ok(FailsWith::Unknown),
                PairStep::Landing(place) => {
                    return Ok(oldest_first.get(place).map_or(FailsWith::Unknown, |one| self.other(unit, one)));
                }
            };
            let Some(tree) = tree else { return Ok(FailsWith::Unknown) };
            let why = format!("looking for what {} fails with", unit.label());
            let Some(passes) = self.checks.passes(&tree, command, &why)? else { return Ok(FailsWith::Unknown) };
            search.answered(passes);
        }
    }

    /// The unit merged onto an earlier commit of its base; `None` when the two conflict.
    fn merged(&self, unit: &Unit, base: &str) -> Result<Option<String>> {
        let merges = candidate::open_merges(self.app, &self.git)?.writing_to_project().with_attributes_of(base);
        let maker = CandidateMaker { project: self.git, merges: merges.git(), sign: false };
        Ok(match candidate::make(self.app, &maker, unit, base)? {
            Integration::Commit(commit) => Some(commit),
            Integration::Conflict { .. } => None,
        })
    }

    fn other(&self, unit: &Unit, landing: &Landing) -> FailsWith {
        let lane: Option<LaneName> = landing.lane.clone().filter(|_| self.is_live(unit, landing).unwrap_or_default());
        let of = work_names(std::slice::from_ref(landing)).join(", ");
        FailsWith::Other { of, lane, commit: landing.candidate.clone().unwrap_or_default() }
    }
}
