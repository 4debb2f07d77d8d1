//! The steps of a landing, from the candidate to the end of the lane.

use anyhow::Result;

use super::{
    base::{self, Base},
    candidate,
    checks::{CheckRun, Checks},
    earlier::{has_landed, landed_since, names},
    finish, readiness, recovery, submodules,
    unit::{self, Unit},
};
use crate::{
    actions::{App, core::errors, queue::lane::remove_landed::remove_landed},
    domain::{
        Refusal, TaskId,
        landing::{Landing, LandingState},
        refusal::FailedLandCheck,
    },
    env::Timestamp,
    os::{
        git::{CandidateMaker, Git, Integration},
        host,
        lock::FileLock,
    },
    store::landings,
    wire::LandingView,
};

/// A call of `land` that has the lock.
pub(super) struct LockedLand<'a> {
    /// The project.
    pub(super) app: &'a App,
    /// Git in its repository.
    pub(super) git: Git<'a>,
    pub(super) lock: &'a FileLock,
    pub(super) checks: &'a Checks<'a>,
    /// Takes lines about the progress.
    pub(super) say: &'a dyn Fn(&str),
}

/// A unit on the stack.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Its place in the order.
    pub(super) place: usize,
    pub(super) unit: Unit,
    /// Its gates.
    pub(super) judged: readiness::Judged,
    /// Its landing: from the commit below it to its own.
    pub(super) landing: Landing,
    /// Its document.
    pub(super) view: LandingView,
}

impl Candidate {
    /// Its commit.
    pub(super) fn candidate(&self) -> &str {
        self.landing.candidate.as_deref().unwrap_or(&self.landing.base_before)
    }
}

/// Whether a unit lies on the stack.
pub(super) enum Stacked {
    /// It does.
    On { unit: Box<Unit>, judged: readiness::Judged, landing: Box<Landing> },
    /// It needs no candidate, and is over.
    Decided,
    /// It conflicts with what is below it and has not landed.
    DoesNotFit,
}

/// Why a base did not move.
pub(super) enum NotMoved {
    /// Another command moved it.
    BaseMoved,
    /// Because of the unit at this height, or of all.
    Because(Option<usize>, anyhow::Error),
}

impl LockedLand<'_> {
    /// Makes the candidate of a unit on a stack. Without a stack the base is looked at, and a conflict sends the unit back.
    pub(super) fn stack(
        &self,
        unit: &Unit,
        is_again: bool,
        stack: &[Candidate],
        base: &mut Option<Base>,
        view: &mut LandingView,
    ) -> Result<Stacked> {
        // What landed before it may have brought it along, or changed its tasks.
        let mut unit = unit::refreshed(self.app, unit)?;
        let below: Vec<TaskId> =
            stack.iter().flat_map(|one| &one.unit.members).map(|one| one.task.id.clone()).collect();
        unit.members.retain(|member| !below.contains(&member.task.id));
        view.tasks = unit.task_ids();
        readiness::check_worktree(self.app, &unit)?;
        let (judged, reports) = readiness::judge(self.app, &unit, below)?;
        if !reports.is_empty() {
            return Err(readiness::refusal(&unit, reports));
        }
        let base = match base {
            Some(base) => base,
            None => base.insert(base::check(self.app, &unit.base)?),
        };
        // The base as it is when all that is below has landed.
        let top = Base { commit: stack.last().map_or(&*base.commit, Candidate::candidate).to_owned(), ..base.clone() };
        view.base_before = Some(top.commit.clone());
        if self.git.is_ancestor(&unit.commit, &base.commit) == Some(true) {
            self.already_there(&unit, base, view)?;
            return Ok(Stacked::Decided);
        }
        if unit.members.is_empty() && has_landed(self.app, &self.git, &unit, &base.commit)? {
            self.unchanged(&unit, base, view)?;
            return Ok(Stacked::Decided);
        }
        if !unit.is_named || is_again {
            self.refuse_again(&unit, &top, view)?;
        }
        let made = {
            let merges =
                candidate::open_merges(self.app, &self.git)?.writing_to_project().with_attributes_of(&top.commit);
            let sign = self.app.settings.land.sign;
            let maker = CandidateMaker { project: self.git, merges: merges.git(), sign };
            candidate::make(self.app, &maker, &unit, &top.commit)?
        };
        let made = match made {
            Integration::Commit(commit) => commit,
            Integration::Conflict { .. } if !stack.is_empty() => return Ok(Stacked::DoesNotFit),
            Integration::Conflict { files, .. } => {
                return Err(self.send_back_conflict(&unit, base, files, view)?.into());
            }
        };
        // Where the base has all its changes, in other commits, it has nothing of its own.
        if made != top.commit {
            top.refuse_files_in_the_way(&self.git, &made)?;
            submodules::check(self.app, &self.git, &unit, &top, &made)?;
        }
        let mut landing = self.begin(&unit, &top, LandingState::Checking, Some(made.clone()))?;
        view.id = Some(landing.id);
        if made != top.commit {
            if let Err(error) = finish::hold(self.app, &landing, &made) {
                finish::failed(self.app, &mut landing, &error.to_string())?;
                return Err(error);
            }
            view.candidate = Some(made);
        }
        Ok(Stacked::On { unit: Box::new(unit), judged, landing: Box::new(landing) })
    }

    /// Refuses what was sent back at this commit and base.
    fn refuse_again(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        let style = self.app.settings.land.style;
        let last = self.app.read(|tx| Ok(landings::newest_of(tx, &unit.commit, &unit.base, style)?))?;
        let last = last.filter(|last| last.state == LandingState::SentBack && last.base_before == base.commit);
        let Some(last) = last else { return Ok(()) };
        view.state = "skipped";
        let (of, why) = (unit.label(), last.error.unwrap_or_default());
        Err(Refusal::SentBackBefore { of, why, lane: unit.lane_name().cloned(), base: unit.base.clone() }.into())
    }

    /// The base has the commit: only the tasks are left to finish.
    fn already_there(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        if unit.members.is_empty() {
            return self.unchanged(unit, base, view);
        }
        let mut landing = self.begin(unit, base, LandingState::Moving, Some(unit.commit.clone()))?;
        view.notes.extend(finish::landed(self.app, &mut landing)?);
        view.id = Some(landing.id);
        view.candidate = landing.candidate;
        view.state = "landed";
        self.clean_up(unit, view);
        Ok(())
    }

    /// There is nothing to do but to end a lane that a killed landing left.
    fn unchanged(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        view.state = "unchanged";
        view.tasks = unit.task.iter().map(ToString::to_string).collect();
        // A lane that has not begun yet is at a commit of its base too.
        if has_landed(self.app, &self.git, unit, &base.commit)? {
            self.clean_up(unit, view);
        }
        Ok(())
    }

    fn begin(&self, unit: &Unit, base: &Base, state: LandingState, candidate: Option<String>) -> Result<Landing> {
        let local = host::identity_to_record();
        let (host, host_id) = local.id.map(|id| (local.name, id)).unzip();
        let landing = Landing {
            id: 0,
            lane: unit.lane_name().cloned(),
            commit: unit.commit.clone(),
            style: self.app.settings.land.style,
            base: unit.base.clone(),
            base_before: base.commit.clone(),
            candidate,
            state,
            tasks: unit.members.iter().map(|one| (one.task.id.clone(), one.task.epoch)).collect(),
            error: None,
            host,
            host_id,
            started_at: Timestamp::from_millis(0),
            ended_at: None,
        };
        self.app.transaction(|tx| Ok(landings::insert(tx, landing)?))
    }

    /// Moves the base to the highest commit of a stack that was checked.
    pub(super) fn move_base(&self, base: &Base, step: &mut [Candidate]) -> Result<(), NotMoved> {
        let all = |error: anyhow::Error| NotMoved::Because(None, error);
        let Some(to) = step.last().map(|one| one.candidate().to_owned()) else { return Ok(()) };
        // The checks may have taken long.
        let now = base::check(self.app, &base.name).map_err(all)?;
        if now.commit != base.commit {
            return Err(NotMoved::BaseMoved);
        }
        let mut not_ready = None;
        let marked = self.app.transaction(|tx| {
            for (height, one) in step.iter().enumerate() {
                not_ready = Some(height);
                one.judged.check_again(self.app, tx, &one.unit)?;
            }
            not_ready = None;
            for one in step.iter() {
                landings::update(tx, &Landing { state: LandingState::Moving, ..one.landing.clone() })?;
            }
            Ok::<_, anyhow::Error>(())
        });
        marked.map_err(|error| NotMoved::Because(not_ready, error))?;
        for one in step.iter_mut() {
            one.landing.state = LandingState::Moving;
        }
        if to == base.commit {
            return Ok(());
        }
        let Err(error) = now.move_to(self.app, self.lock, &to) else { return Ok(()) };
        // A git that was killed may have left half a checkout, or have done its work.
        if recovery::is_moved(self.app, &base.name, &base.commit, &to).map_err(all)? {
            return Ok(());
        }
        if let Some(Refusal::BaseMoved { .. }) = error.downcast_ref::<Refusal>() {
            return Err(NotMoved::BaseMoved);
        }
        for (height, one) in step.iter().enumerate() {
            let below = Base { commit: one.landing.base_before.clone(), ..now.clone() };
            if let Err(error) = below.refuse_files_in_the_way(&self.git, one.candidate()) {
                return Err(NotMoved::Because(Some(height), error));
            }
        }
        Err(all(error))
    }

    /// Records that a unit has landed.
    pub(super) fn finish(&self, candidate: &mut Candidate) -> Result<()> {
        let Candidate { unit, landing, view, .. } = candidate;
        view.notes.extend(finish::landed(self.app, landing)?);
        view.candidate.clone_from(&landing.candidate);
        let is_new = landing.candidate.as_ref() != Some(&landing.base_before) || !unit.members.is_empty();
        view.state = if is_new { "landed" } else { "unchanged" };
        Ok(())
    }

    /// Ends a landing that does not come to its end, if nothing else has. One that stays open is ended by the next call.
    pub(super) fn give_up(&self, candidate: &mut Candidate, why: &str) {
        if candidate.landing.ended_at.is_none() {
            let _ = finish::failed(self.app, &mut candidate.landing, why);
        }
    }

    /// Sends a unit back that conflicts with its base.
    fn send_back_conflict(
        &self,
        unit: &Unit,
        base: &Base,
        files: Vec<String>,
        view: &mut LandingView,
    ) -> Result<Refusal> {
        let mut landing = self.begin(unit, base, LandingState::Checking, None)?;
        view.id = Some(landing.id);
        let since = landed_since(self.app, &self.git, unit, base)?;
        let (of, lane, with) = (unit.label(), unit.lane_name().cloned(), names(&since));
        let refusal = Refusal::LandConflict { of, base: unit.base.clone(), files, with, lane };
        self.send_back(unit, &mut landing, refusal, &since)
    }

    /// Sends a unit back that breaks a check which its base passes.
    pub(super) fn send_back_failed(&self, candidate: &mut Candidate, run: &CheckRun, base: &Base) -> Result<Refusal> {
        let Candidate { unit, landing, view, .. } = candidate;
        let (checks, failed) = self.checks.record(unit, run)?;
        view.checks = checks;
        let Some(failed) = failed else { return Ok(Refusal::BaseMoved { base: base.name.clone() }) };
        let since = landed_since(self.app, &self.git, unit, base)?;
        let refusal = Refusal::LandCheckFailed(Box::new(FailedLandCheck {
            of: unit.label(),
            base: unit.base.clone(),
            base_commit: base.commit.clone(),
            candidate: landing.candidate.clone().unwrap_or_default(),
            check: failed.name,
            how: failed.how,
            with: names(&since),
            evidence: failed.evidence,
            output: failed.output,
            lane: unit.lane_name().cloned(),
            is_behind: self.git.is_ancestor(&base.commit, &unit.commit) == Some(false),
        }));
        self.send_back(unit, landing, refusal, &since)
    }

    /// Sends a unit back. `since`: what landed since its commit last had the base.
    fn send_back(&self, unit: &Unit, landing: &mut Landing, refusal: Refusal, since: &[Landing]) -> Result<Refusal> {
        let error = anyhow::Error::from(refusal);
        let failure = errors::classify(&error);
        let hint = failure.hint.unwrap_or_default();
        finish::sent_back(self.app, unit, landing, (&failure.message, &hint), since)?;
        error.downcast::<Refusal>()
    }

    /// Ends the lane whose work has landed. A failure leaves it as it is.
    pub(super) fn clean_up(&self, unit: &Unit, view: &mut LandingView) {
        let Some(lane) = unit.lane_name() else { return };
        match remove_landed(self.app, lane, &unit.commit) {
            Ok(lane) => {
                view.removed_worktree = lane.removed;
                view.notes.extend(lane.note);
            }
            Err(error) => view.notes.push(format!("the worktree of the lane {lane} stays: {error}")),
        }
    }
}
