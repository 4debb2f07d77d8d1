//! The end of a pass: what could not land is sent back, with the cause and one command that fits the base as it is by then.

use anyhow::Result;

use super::locked_land::LockedLand;
use super::pass::Outcome;
use super::sent_back::{SentBack, Why, tell_other, tell_workers};
use super::{finish, next_step};
use crate::core::errors;
use crate::land::overlap;
use crate::queue::landing_unit::Unit;
use fairway_core::config::OverlapAction;
use fairway_core::domain::Refusal;
use fairway_core::domain::landing::Landing;

impl LockedLand<'_> {
    /// Sends back what this pass could not land, and tells the authors. For a failed check first searches, unless `may_check` is
    /// false, the landed work together with which it fails.
    pub(super) fn send_back_all(&self, mut may_check: bool, outcomes: &mut [Outcome]) -> Result<()> {
        for one in self.sent_back.take() {
            let SentBack { unit, mut landing, mut why } = one;
            if let Why::Check(broken) = &mut why
                && may_check
                && !broken.since.is_empty()
            {
                match self.search(&unit, broken) {
                    Ok((fails_with, runs)) => (broken.failed.fails_with, broken.failed.runs) = (fails_with, runs),
                    // A person may have stopped the search.
                    Err(error) => {
                        may_check = false;
                        (self.say)(&format!("the search for what {} fails with ended early: {error}", unit.label()));
                    }
                }
            }
            let refusal = self.send_back(&unit, &mut landing, why)?;
            self.deliver_mailed();
            let error = anyhow::Error::from(refusal);
            let Some(outcome) = outcomes.iter_mut().find(|one| one.view.id == Some(landing.id)) else { continue };
            outcome.view.error = Some(errors::classify(&error));
            outcome.error = outcome.error.is_some().then_some(error);
        }
        Ok(())
    }

    /// Sends one unit back, and returns the refusal for the person.
    fn send_back(&self, unit: &Unit, landing: &mut Landing, why: Why) -> Result<Refusal> {
        let base = self.git.commit(&format!("refs/heads/{}", unit.base)).unwrap_or_default();
        let next = next_step::bring_in(self.app, unit, &base)?;
        // A session that works in the lane does it, and not the person.
        let is_attended = next_step::is_attended(self.app, unit)?;
        let label = unit.label();
        Ok(match why {
            Why::Conflict { files, with } => {
                let by_hand = next.unwrap_or_else(|| unit.bring_in_by_hand(self.app));
                let shown = unit.lane_name().filter(|_| is_attended);
                let shown = shown.map(|lane| format!("its session is told; see the work: fairway lane diff {lane}"));
                let (of, base, next) = (label.clone(), unit.base.clone(), shown.unwrap_or_else(|| by_hand.clone()));
                let conflicting = files.clone();
                let refusal = Refusal::LandConflict { of, base, files, with, next };
                let error = refusal.to_string();
                let text = format!("{label} was sent back: {error}.\nNext, {by_hand}");
                let is_shown = self.app.settings.overlap.action != OverlapAction::Off;
                let lane = unit.lane_name().filter(|_| is_shown);
                finish::sent_back(self.app, unit, landing, &error, |tx, id| {
                    // The next look finds it recorded, and sends no second message.
                    lane.map(|lane| overlap::record_rebase(tx, lane, &conflicting)).transpose()?;
                    tell_workers(tx, unit, id, &text)
                })?;
                refusal
            }
            Why::Check(mut broken) => {
                // Without the other work it fails too: the base shows nothing more.
                let next = next.filter(|_| broken.failed.fails_with.is_alone() != Some(true));
                let text = broken.message(unit, next.as_deref());
                broken.failed.next = next.filter(|_| !is_attended);
                let (failed, error) = (&broken.failed, broken.failed.to_string());
                finish::sent_back(self.app, unit, landing, &error, |tx, id| {
                    tell_workers(tx, unit, id, &text)?;
                    failed.fails_with.landed().iter().try_for_each(|other| tell_other(tx, unit, id, failed, other))
                })?;
                Refusal::LandCheckFailed { failed: Box::new(broken.failed) }
            }
        })
    }
}
