//! The steps of a landing, from the candidate to the end of the lane.

use std::cell::RefCell;

use anyhow::Result;

use super::base::{self, Base};
use super::checks::{CheckRun, Checks};
use super::sent_back::{BrokenCheck, SentBack, Why};
use super::upstream::{Pushed, Upstreams};
use super::{candidate, finish, next_step, regenerate};
use crate::App;
use crate::queue::landing_unit::{self, Unit, has_landed, landed_since, work_names};
use crate::queue::readiness::{self, Aim};
use crate::sessions::prompt;
use fairway_core::domain::landing::{FailedLandCheck, FailsWith, Landing, LandingState};
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::os::git::{CandidateMaker, Git, Integration};
use fairway_core::os::lock::FileLock;
use fairway_core::store::landings;
use fairway_core::wire::{LandingView, PullRequestView};

/// A call of `land` that holds the lock.
pub(super) struct LockedLand<'a> {
    pub(super) app: &'a App,
    pub(super) git: Git<'a>,
    pub(super) lock: &'a FileLock,
    pub(super) checks: &'a Checks<'a>,
    pub(super) upstreams: &'a Upstreams<'a>,
    /// Whether work lands through pull requests.
    pub(super) proposes: bool,
    /// The work that [`Self::send_back_all`] sends back at the end of the pass.
    pub(super) sent_back: RefCell<Vec<SentBack>>,
    /// Gets lines about the progress.
    pub(super) say: &'a dyn Fn(&str),
}

/// A unit on the stack, with its candidate.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The unit's index in the order.
    pub(super) place: usize,
    pub(super) unit: Unit,
    pub(super) judged: readiness::Judged,
    /// The landing from the candidate below to the unit's own.
    pub(super) landing: Landing,
    pub(super) view: LandingView,
}

impl Candidate {
    pub(super) fn candidate(&self) -> &str {
        self.landing.candidate.as_deref().unwrap_or(&self.landing.base_before)
    }
}

/// Whether a unit was put on the stack.
pub(super) enum Stacked {
    On {
        unit: Box<Unit>,
        judged: readiness::Judged,
        landing: Box<Landing>,
    },
    /// The unit is decided, and nothing of it is left to land.
    Decided,
    /// The unit conflicts with work below it that has not landed yet.
    DoesNotFit,
    /// The base cannot move, whatever is to land.
    BaseStays(anyhow::Error),
}

/// Why a base did not move.
pub(super) enum NotMoved {
    /// Another command has moved it.
    BaseMoved,
    /// The unit at this height is the reason, or all units are.
    Because(Option<usize>, anyhow::Error),
    /// Another push came first.
    Raced { upstream: String },
    /// The remote failed, so nothing more lands.
    Remote(anyhow::Error),
}

impl LockedLand<'_> {
    /// Makes the commit with which a unit would land on top of `stack`, the units that are checked together with it. On an
    /// empty stack a unit that conflicts goes back; on another one the unit waits, because it does not fit there. Work that the
    /// base has already is finished at once. When `base` is `None`, sets it, after its upstream was fetched where that is
    /// configured.
    pub(super) fn stack(
        &self,
        unit: &Unit,
        is_again: bool,
        stack: &[Candidate],
        base: &mut Option<Base>,
        view: &mut LandingView,
    ) -> Result<Stacked> {
        // Work that landed before it may have contained it, or changed its tasks.
        let mut unit = landing_unit::refreshed(self.app, unit)?;
        let below: Vec<TaskId> =
            stack.iter().flat_map(|one| &one.unit.members).map(|one| one.task.id.clone()).collect();
        unit.members.retain(|member| !below.contains(&member.task.id));
        view.tasks = unit.task_ids();
        readiness::check_worktree(self.app, &unit)?;
        // The forge may merge them in any order.
        let (below, aim) = if self.proposes { (Vec::new(), Aim::Propose) } else { (below, Aim::Land) };
        let (judged, reports) = readiness::judge(self.app, &unit, below, aim)?;
        readiness::refuse_unready(&unit, reports)?;
        let base = match base {
            Some(base) => base,
            None => match self.upstreams.bring(&unit.base) {
                Ok(found) => base.insert(found),
                Err(error) => return Ok(Stacked::BaseStays(error)),
            },
        };
        // The base as it will be when the stack below has landed.
        let top = Base { commit: stack.last().map_or(&*base.commit, Candidate::candidate).to_owned(), ..base.clone() };
        view.base_before = Some(top.commit.clone());
        if self.git.is_ancestor(&unit.commit, &base.commit) == Some(true) {
            self.already_there(&unit, base, view)?;
            return Ok(Stacked::Decided);
        }
        if unit.members.is_empty() && has_landed(self.app, &self.git, (&unit.base, &base.commit), &unit.commit)? {
            self.unchanged(&unit, base, view)?;
            return Ok(Stacked::Decided);
        }
        if let Some(pull) = self.proposed(&unit)? {
            view.state = "proposed";
            view.pull_request = PullRequestView::of(&pull, self.app.env.now());
            return Ok(Stacked::Decided);
        }
        if !unit.is_named || is_again {
            self.refuse_again(&unit, &top, view)?;
        }
        let made = {
            let merges =
                candidate::open_merges(self.app, &self.git)?.writing_to_project().with_attributes_of(&top.commit);
            let (sign, generated) = (self.git.signs_commits()?, regenerate::files(self.app));
            let project = self.git.asking(self.app.env.terminal.stdin);
            let maker = CandidateMaker { project, merges: merges.git(), sign, generated: &generated };
            match candidate::make(self.app, &maker, &unit, &top.commit)? {
                Integration::Commit(made) => {
                    Integration::Commit(regenerate::settle(self.app, self.checks, &maker, &unit, &top.commit, made)?)
                }
                conflict @ Integration::Conflict { .. } => conflict,
            }
        };
        let made = match made {
            Integration::Commit(commit) => commit,
            Integration::Conflict { .. } if !stack.is_empty() => return Ok(Stacked::DoesNotFit),
            Integration::Conflict { files, .. } => {
                return Err(self.conflicts(&unit, base, files, view)?.into());
            }
        };
        readiness::check_dependencies(self.app, &unit, &made)?;
        // When the base has all its changes, in other commits, nothing of the unit is left to land.
        if made != top.commit {
            top.refuse_files_in_the_way(&self.git, &made)?;
            candidate::check_submodules(self.app, &self.git, &unit, &top, &made)?;
        }
        let mut landing = finish::begin(self.app, &unit, &top, LandingState::Checking, Some(made.clone()), None)?;
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

    /// Refuses a unit that was sent back before at the same commit and base.
    fn refuse_again(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        let style = self.app.settings.land.style;
        let last = self.app.read(|tx| Ok(landings::newest_of(tx, &unit.commit, &unit.base, style)?))?;
        let last = last.filter(|last| last.state == LandingState::SentBack && last.base_before == base.commit);
        let Some(last) = last else { return Ok(()) };
        view.state = "skipped";
        let (of, why) = (unit.label(), last.error.unwrap_or_default());
        let next = next_step::bring_in(self.app, unit, &base.commit)?;
        let next = next.unwrap_or_else(|| format!("name it to try it again: fairway land {}", unit.word()));
        Err(Refusal::SentBackBefore { of, why, next }.into())
    }

    /// Finishes the tasks of a unit that the base contains already.
    fn already_there(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        if unit.members.is_empty() {
            return self.unchanged(unit, base, view);
        }
        let push_to = self.push_base(unit, base)?;
        let (state, candidate) = (LandingState::Moving, Some(unit.commit.clone()));
        let mut landing = finish::begin(self.app, unit, base, state, candidate, push_to)?;
        view.notes.extend(finish::landed(self.app, &mut landing)?);
        view.id = Some(landing.id);
        view.candidate.clone_from(&landing.candidate);
        view.pushed.clone_from(&landing.push_to);
        view.state = "landed";
        finish::end_lane(self.app, unit, view);
        finish::close(self.app, &mut landing)?;
        Ok(())
    }

    /// Pushes a base that contains the unit, when it is to be pushed and its upstream lacks the unit. Returns the
    /// upstream.
    fn push_base(&self, unit: &Unit, base: &Base) -> Result<Option<String>> {
        let Some(push_to) = self.upstreams.push_to(&base.name)? else { return Ok(None) };
        match self.upstreams.push(&base.name, &base.commit) {
            Pushed::Done => Ok(Some(push_to)),
            Pushed::No(error) | Pushed::Unknown(error) => Err(error),
            Pushed::Raced { upstream } => {
                // The base has commits of its own, so it is refused as diverged.
                self.upstreams.bring(&unit.base)?;
                Err(Refusal::PushRaced { base: base.name.clone(), upstream, tries: 1 }.into())
            }
        }
    }

    /// Handles a unit without tasks that the base contains already: only its lane may have to be cleaned up.
    fn unchanged(&self, unit: &Unit, base: &Base, view: &mut LandingView) -> Result<()> {
        view.state = "unchanged";
        view.tasks = unit.task.iter().map(ToString::to_string).collect();
        // A lane in which work has not begun is at a commit of its base too: nothing is pushed for it.
        if has_landed(self.app, &self.git, (&unit.base, &base.commit), &unit.commit)? {
            view.pushed = self.push_base(unit, base)?;
            finish::end_lane(self.app, unit, view);
        }
        Ok(())
    }

    /// Moves the base to the highest commit of a checked stack. When landings are pushed, first pushes the commit. Returns a
    /// note when the push succeeded and the local base could not follow.
    pub(super) fn move_base(&self, base: &Base, step: &mut [Candidate]) -> Result<Option<String>, NotMoved> {
        let all = |error: anyhow::Error| NotMoved::Because(None, error);
        let Some(to) = step.last().map(|one| one.candidate().to_owned()) else { return Ok(None) };
        // The checks may have taken long.
        let now = self.upstreams.check(&base.name).map_err(all)?;
        let Some(now) = now.filter(|now| now.commit == base.commit) else {
            self.upstreams.forget();
            return Err(NotMoved::BaseMoved);
        };
        let push_to = self.upstreams.push_to(&base.name).map_err(NotMoved::Remote)?;
        let mut not_ready = None;
        let marked = self.app.transaction(|tx| {
            for (height, one) in step.iter().enumerate() {
                not_ready = Some(height);
                one.judged.check_again(self.app, tx, &one.unit)?;
            }
            not_ready = None;
            for one in step.iter() {
                let (state, push_to) = (LandingState::Moving, push_to.clone());
                landings::update(tx, &Landing { state, push_to, ..one.landing.clone() })?;
            }
            Ok::<_, anyhow::Error>(())
        });
        marked.map_err(|error| NotMoved::Because(not_ready, error))?;
        for one in step.iter_mut() {
            one.landing.state = LandingState::Moving;
            one.landing.push_to.clone_from(&push_to);
        }
        if push_to.is_some() {
            self.push_step(&base.name, &to, step)?;
        }
        if to == base.commit {
            return Ok(None);
        }
        let Err(error) = now.move_to(self.app, self.lock, &to) else { return Ok(None) };
        // A git that was killed may have left half a checkout, or have done its work.
        let is_moved = base::is_moved(self.app, &base.name, &base.commit, &to);
        if let Some(upstream) = push_to {
            // The upstream has the work, so it has landed.
            let note = || format!("{} stays behind {upstream}: {error}", base.name);
            return Ok(if matches!(is_moved, Ok(true)) { None } else { Some(note()) });
        }
        if is_moved.map_err(all)? {
            return Ok(None);
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

    /// Pushes the stack. When the push fails and the remote does not have it, the landings get their earlier state again.
    fn push_step(&self, base: &str, to: &str, step: &mut [Candidate]) -> Result<(), NotMoved> {
        let not_moved = match self.upstreams.push(base, to) {
            Pushed::Done => return Ok(()),
            Pushed::Unknown(error) => return Err(NotMoved::Remote(error)),
            Pushed::No(error) => NotMoved::Remote(error),
            Pushed::Raced { upstream } => NotMoved::Raced { upstream },
        };
        for one in step {
            one.landing.state = LandingState::Checking;
            one.landing.push_to = None;
        }
        Err(not_moved)
    }

    pub(super) fn finish(&self, candidate: &mut Candidate) -> Result<()> {
        let Candidate { unit, landing, view, .. } = candidate;
        view.notes.extend(finish::landed(self.app, landing)?);
        view.candidate.clone_from(&landing.candidate);
        view.pushed.clone_from(&landing.push_to);
        let is_new = landing.candidate.as_ref() != Some(&landing.base_before) || !unit.members.is_empty();
        view.state = if is_new { "landed" } else { "unchanged" };
        Ok(())
    }

    /// Records a landing as failed, unless it has ended already or ends with the pass. A landing that may have been pushed stays open: the next
    /// `land` asks the remote whether it has the work.
    pub(super) fn give_up(&self, candidate: &mut Candidate, why: &str) {
        let is_sent_back = self.sent_back.borrow().iter().any(|one| one.landing.id == candidate.landing.id);
        if candidate.landing.ended_at.is_none() && !candidate.landing.may_be_pushed() && !is_sent_back {
            let _ = finish::failed(self.app, &mut candidate.landing, why);
        }
    }

    /// Decides that a unit goes back that conflicts with its base.
    fn conflicts(&self, unit: &Unit, base: &Base, files: Vec<String>, view: &mut LandingView) -> Result<Refusal> {
        let landing = finish::begin(self.app, unit, base, LandingState::Checking, None, None)?;
        view.id = Some(landing.id);
        view.notes.extend(self.lists_in(unit, base, &files)?.iter().map(|file| {
            let line = format!("{file} merge=union");
            format!("both only add lines to {file}: where their order does not matter, '{line}' in .gitattributes keeps both")
        }));
        let with = work_names(&landed_since(self.app, &self.git, unit, &base.commit)?);
        let (of, base, next) = (unit.label(), unit.base.clone(), String::new());
        let why = Why::Conflict { files: files.clone(), with: with.clone() };
        self.sent_back.borrow_mut().push(SentBack { unit: unit.clone(), landing, why });
        Ok(Refusal::LandConflict { of, base, files, with, next })
    }

    /// The conflicting files to which the unit and its base only add lines.
    fn lists_in(&self, unit: &Unit, base: &Base, files: &[String]) -> Result<Vec<String>> {
        let Some(fork) = self.git.merge_base(&base.commit, &unit.commit)? else { return Ok(Vec::new()) };
        let mut lists = files.to_vec();
        for to in [&base.commit, &unit.commit] {
            let changed = self.git.files_between(&fork, to, files)?;
            lists.retain(|file| {
                changed.iter().any(|one| one.path == *file && one.letter == 'M' && one.deleted == Some(0))
            });
        }
        Ok(lists)
    }

    /// Decides that a unit goes back that breaks a check which its base passes. When no check has failed, decides nothing and
    /// returns [`Refusal::BaseMoved`].
    pub(super) fn breaks_check(&self, candidate: &mut Candidate, run: &CheckRun, base: &Base) -> Result<Refusal> {
        let Candidate { unit, landing, view, .. } = candidate;
        let (checks, broken) = self.checks.record(unit, run)?;
        view.checks = checks;
        let Some(broken) = broken else { return Ok(Refusal::BaseMoved { base: base.name.clone() }) };
        // With the scripts of the work it passes: no other work is the cause.
        let since = match &*broken.scripts {
            [] => landed_since(self.app, &self.git, unit, &base.commit)?,
            _ => Vec::new(),
        };
        let failed = FailedLandCheck {
            of: unit.label(),
            base: unit.base.clone(),
            base_commit: base.commit.clone(),
            candidate: landing.candidate.clone().unwrap_or_default(),
            check: broken.name,
            how: broken.how,
            base_passes: broken.is_config,
            scripts: broken.scripts,
            with: work_names(&since),
            fails_with: FailsWith::Unknown,
            runs: Vec::new(),
            evidence: broken.evidence,
            output: broken.output,
            next: None,
        };
        let refusal = Refusal::LandCheckFailed { failed: Box::new(failed.clone()) };
        let is_own = |task: &&TaskId| unit.members.iter().any(|member| member.task.id == **task);
        let own = broken.owners.iter().filter(is_own).count();
        let broken = BrokenCheck {
            failed,
            command: broken.command,
            is_own: broken.is_config || own > 0,
            is_own_alone: !broken.is_config && own == broken.owners.len(),
            owners: broken.owners,
            last_lines: broken.last_lines,
            since,
        };
        let (unit, landing, why) = (unit.clone(), landing.clone(), Why::Check(Box::new(broken)));
        self.sent_back.borrow_mut().push(SentBack { unit, landing, why });
        Ok(refusal)
    }

    /// Delivers the messages about what was decided.
    pub(super) fn deliver_mailed(&self) {
        for note in prompt::deliver_mailed(self.app) {
            (self.say)(&note);
        }
    }
}
