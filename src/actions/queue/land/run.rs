//! `land`: one landing at a time, each from the gates to the end of its lane.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use super::{
    base, candidate,
    checks::{self, Checks, Verdict},
    collisions, finish, readiness, recovery, report, schedule, submodules,
    unit::{self, Found, MAX_EARLIER, Unit, project_git},
};
use crate::{
    actions::{
        Answer, App,
        core::{errors, inside_session, trust},
        queue::lane::{checkout, remove_landed::remove_landed},
    },
    domain::{
        Refusal,
        landing::{Landing, LandingState},
        refusal::FailedLandCheck,
    },
    env::Timestamp,
    os::{
        files,
        git::{CandidateMaker, Git, Integration, MergeRepository, Scratch},
        host,
        lock::FileLock,
    },
    store::{StoreError, landings},
    wire::{LandView, LandingView},
};

/// How long to wait for other landings, which may have long checks.
const LOCK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a landing begins anew because another command moved the base.
const MAX_ATTEMPTS: usize = 5;

/// The answer of `--all` without any work.
const NOTHING: &str = "nothing to land: no task is in review, and no finished work is ahead of its base";

/// A request to land work.
#[derive(Debug, Clone, Default)]
pub struct LandRequest {
    /// Ids of tasks and names of lanes.
    pub names: Vec<String>,
    /// Everything that is ready.
    pub all: bool,
    /// Everything that is ready, and what becomes ready by that, until nothing is left.
    pub queue: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// Lands work. `say` gets lines about the progress. The exit code is that of the first failure.
///
/// # Errors
/// `inside_session`, `untrusted`, `no_identity`, `in_use`; for one name alone, why it did not land.
pub fn land(app: &App, request: &LandRequest, say: &dyn Fn(&str)) -> Result<(Answer, u8)> {
    if let Some(answer) = app.stored_response()? {
        return Ok((answer, 0));
    }
    let git = project_git(app)?;
    if request.dry_run {
        return plan(app, request, &git);
    }
    inside_session::refuse_unless_role(app, "fairway land", &app.settings.land.roles)?;
    if app.settings.land.names_programs() {
        trust::require(app)?;
    }
    candidate::check_identity(&git)?;
    let lock = lock(app, say)?;
    let mut landings: Vec<LandingView> =
        recovery::run(app, say)?.iter().map(|done| report::completed(app, done)).collect();
    let locked = LockedLand { app, git, lock: &lock, checks: Checks::new(app, say) };
    let mut order = Vec::new();
    // The last pass tells what is left out.
    let mut notes;
    loop {
        let merges = candidate::open_merges(app, &git)?;
        let found = find(app, request)?;
        notes = found.notes;
        let units = schedule::order(app, &merges, found.units)?;
        drop(merges);
        let places: Vec<_> = units.iter().map(report::place).collect();
        if places.len() > 1 {
            say(&report::order_line(&places));
        }
        order.extend(places);
        let is_alone = request.names.len() == 1;
        let (mut has_landed, mut is_stopped) = (false, false);
        let mut left = units.iter();
        while let Some(unit) = left.next() {
            match locked.land(unit, landings.iter().any(|known| known.id.is_some() && known.commit == unit.commit)) {
                (_, Some(error)) if is_alone && !landings.iter().any(|one| one.state == "landed") => {
                    return Err(error);
                }
                (view, error) => {
                    has_landed |= view.state == "landed";
                    landings.push(view);
                    is_stopped = error.as_ref().is_some_and(stops_all);
                }
            }
            if is_stopped {
                notes.extend(report::not_tried(left.as_slice()));
                break;
            }
        }
        if is_stopped || !request.queue || !has_landed {
            break;
        }
        // The next pass tells again what did not land in this one.
        landings.retain(|view| !matches!(view.state, "not_ready" | "skipped" | "failed"));
    }
    answer(app, request, LandView { dry_run: false, order, landings }, notes)
}

fn find(app: &App, request: &LandRequest) -> Result<Found> {
    if request.all || request.queue {
        return unit::all(app);
    }
    let mut units: Vec<Unit> = Vec::new();
    for name in &request.names {
        let unit = unit::of_name(app, name)?;
        if !units.iter().any(|known| known.commit == unit.commit && known.base == unit.base) {
            units.push(unit);
        }
    }
    Ok(Found { units, notes: Vec::new() })
}

/// The answer; `notes` come before those of the landings.
fn answer(app: &App, request: &LandRequest, view: LandView, mut notes: Vec<String>) -> Result<(Answer, u8)> {
    // Work that is not finished yet is no failure of `--all`, and a plan that finds a conflict has done its work.
    let counts = |one: &&LandingView| {
        let is_waiting = matches!(one.state, "not_ready" | "skipped") && request.names.is_empty();
        one.error.is_some() && !is_waiting && one.state != "would_be_sent_back"
    };
    let exit = view.landings.iter().find(counts).and_then(|one| one.error.as_ref()).map_or(0, |e| e.kind.exit_code());
    let lines: Vec<String> = view.landings.iter().map(report::lines).collect();
    let line = if lines.is_empty() { NOTHING.to_owned() } else { lines.join("\n") };
    let ids = view.landings.iter().filter(|one| one.state == "landed").flat_map(|one| one.tasks.clone()).collect();
    notes.extend(view.landings.iter().flat_map(|one| one.notes.clone()));
    let answer = Answer { ids, notes, ..Answer::new(&view, "", line)? };
    if request.dry_run || exit != 0 {
        return Ok((answer, exit));
    }
    app.mutate(|_| Ok(answer)).map(|answer| (answer, exit))
}

/// The file that the landing at work has locked.
fn lock_path(app: &App) -> PathBuf {
    app.project.runtime_dir().join("land.lock")
}

/// Whether a landing is at work on this host; true where this is unknown.
pub fn is_at_work(app: &App) -> bool {
    let path = lock_path(app);
    path.exists() && !matches!(FileLock::try_acquire(&path), Ok(Some(_)))
}

fn lock(app: &App, say: &dyn Fn(&str)) -> Result<FileLock> {
    let runtime = app.project.runtime_dir();
    files::private_dir(&app.project.state).and_then(|()| files::private_dir(&runtime)).map_err(StoreError::from)?;
    let path = lock_path(app);
    if let Some(lock) = FileLock::try_acquire(&path).map_err(StoreError::from)? {
        return Ok(lock);
    }
    say("waiting for another landing");
    let lock = FileLock::acquire_within(&path, LOCK_TIMEOUT).map_err(StoreError::from)?;
    lock.ok_or_else(|| {
        let (id, by) = (app.project.root.display().to_string(), "another landing".to_owned());
        Refusal::InUse { noun: "repository", id, by }.into()
    })
}

/// A call of `land` that has the lock.
struct LockedLand<'a> {
    app: &'a App,
    git: Git<'a>,
    lock: &'a FileLock,
    checks: Checks<'a>,
}

impl LockedLand<'_> {
    /// Lands one unit, with what became of it. `is_again`: this call has tried it before.
    fn land(&self, unit: &Unit, is_again: bool) -> (LandingView, Option<anyhow::Error>) {
        let mut view = report::begin(self.app, unit);
        // A unit that landed before this one may have brought it along, or changed its tasks.
        let error = match self.try_land(unit, is_again, &mut view) {
            Ok(()) => return (view, None),
            Err(error) => error,
        };
        if view.state == "failed" {
            view.state = report::state_of(&error);
        }
        view.error = Some(errors::classify(&error));
        (view, Some(error))
    }

    fn try_land(&self, unit: &Unit, is_again: bool, view: &mut LandingView) -> Result<()> {
        let fresh = unit::refreshed(self.app, unit)?;
        let unit = &fresh;
        view.tasks = unit.task_ids();
        readiness::check_worktree(self.app, unit)?;
        let (judged, reports) = readiness::judge(self.app, unit)?;
        if !reports.is_empty() {
            return Err(readiness::refusal(unit, reports));
        }
        for _ in 0..MAX_ATTEMPTS {
            let base = base::check(self.app, &unit.base)?;
            view.base_before = Some(base.commit.clone());
            if self.git.is_ancestor(&unit.commit, &base.commit) == Some(true) {
                return self.already_there(unit, &base, view);
            }
            if unit.members.is_empty() && has_landed(self.app, &self.git, unit, &base.commit)? {
                return self.unchanged(unit, &base, view);
            }
            if !unit.is_named || is_again {
                self.refuse_again(unit, &base, view)?;
            }
            match self.attempt(unit, &judged, &base, view) {
                Err(error) if is_base_moved(&error) => {}
                done => return done,
            }
        }
        Err(Refusal::BaseMoved { base: unit.base.clone() }.into())
    }

    /// Refuses what was sent back at this commit and base.
    fn refuse_again(&self, unit: &Unit, base: &base::Base, view: &mut LandingView) -> Result<()> {
        let style = self.app.settings.land.style;
        let last = self.app.read(|tx| Ok(landings::newest_of(tx, &unit.commit, &unit.base, style)?))?;
        let last = last.filter(|last| last.state == LandingState::SentBack && last.base_before == base.commit);
        let Some(last) = last else { return Ok(()) };
        view.state = "skipped";
        let (of, why) = (unit.label(), last.error.unwrap_or_default());
        Err(Refusal::SentBackBefore { of, why, lane: unit.lane_name().cloned(), base: unit.base.clone() }.into())
    }

    /// The base has the commit: only the tasks are left to finish.
    fn already_there(&self, unit: &Unit, base: &base::Base, view: &mut LandingView) -> Result<()> {
        if unit.members.is_empty() {
            return self.unchanged(unit, base, view);
        }
        let mut landing = self.begin(unit, base, LandingState::Moving, Some(unit.commit.clone()))?;
        view.notes.extend(finish::landed(self.app, unit, &mut landing, &[])?);
        view.id = Some(landing.id);
        view.candidate = landing.candidate;
        view.state = "landed";
        self.clean_up(unit, view);
        Ok(())
    }

    /// There is nothing to do but to end a lane that a killed landing left.
    fn unchanged(&self, unit: &Unit, base: &base::Base, view: &mut LandingView) -> Result<()> {
        view.state = "unchanged";
        view.tasks = unit.task.iter().map(ToString::to_string).collect();
        // A lane that has not begun yet is at a commit of its base too.
        if has_landed(self.app, &self.git, unit, &base.commit)? {
            self.clean_up(unit, view);
        }
        Ok(())
    }

    fn begin(&self, unit: &Unit, base: &base::Base, state: LandingState, candidate: Option<String>) -> Result<Landing> {
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

    /// One attempt on this commit of the base.
    fn attempt(
        &self,
        unit: &Unit,
        judged: &readiness::Judged,
        base: &base::Base,
        view: &mut LandingView,
    ) -> Result<()> {
        let mut landing = self.begin(unit, base, LandingState::Checking, None)?;
        view.id = Some(landing.id);
        view.checks.clear();
        let moved = self.make_and_move(unit, judged, base, &mut landing, view);
        if let Err(error) = moved {
            // A git that was killed may have left half a checkout, or have done its work.
            let is_moved = landing.state == LandingState::Moving && recovery::is_moved(self.app, &landing)?;
            if !is_moved {
                if landing.ended_at.is_none() {
                    finish::failed(self.app, &mut landing, &error.to_string())?;
                }
                return Err(error);
            }
        }
        let candidate = landing.candidate.clone().unwrap_or_default();
        let told = collisions::find(self.app, unit, &base.commit, &candidate)?;
        view.notes.extend(finish::landed(self.app, unit, &mut landing, &told)?);
        view.told = told.iter().map(collisions::Collision::view).collect();
        let is_new = candidate != base.commit || !unit.members.is_empty();
        view.state = if is_new { "landed" } else { "unchanged" };
        self.clean_up(unit, view);
        Ok(())
    }

    fn make_and_move(
        &self,
        unit: &Unit,
        judged: &readiness::Judged,
        base: &base::Base,
        landing: &mut Landing,
        view: &mut LandingView,
    ) -> Result<()> {
        let made = {
            let merges =
                candidate::open_merges(self.app, &self.git)?.writing_to_project().with_attributes_of(&base.commit);
            let sign = self.app.settings.land.sign;
            let maker = CandidateMaker { project: self.git, merges: merges.git(), sign };
            candidate::make(self.app, &maker, unit, &base.commit)?
        };
        let made = match made {
            Integration::Commit(commit) => commit,
            Integration::Conflict { files, .. } => {
                let since = self.landed_since(unit, base)?;
                let (of, lane, with) = (unit.label(), unit.lane_name().cloned(), names(&since));
                let refusal = Refusal::LandConflict { of, base: unit.base.clone(), files, with, lane };
                return self.send_back(unit, landing, refusal, &since);
            }
        };
        if made == base.commit {
            // The base has all its changes, in other commits.
            landing.candidate = Some(made);
            return self.app.transaction(|tx| {
                judged.check_again(self.app, tx, unit)?;
                landing.state = LandingState::Moving;
                Ok::<_, anyhow::Error>(landings::update(tx, landing)?)
            });
        }
        base.refuse_files_in_the_way(&self.git, &made)?;
        submodules::check(self.app, &self.git, unit, base, &made)?;
        finish::hold(self.app, landing, &made)?;
        landing.candidate = Some(made.clone());
        self.app.transaction(|tx| Ok(landings::update(tx, landing)?))?;
        view.candidate = Some(made.clone());
        let (ran, verdict) = self.checks.run(unit, &made, base)?;
        view.checks = ran;
        if let Verdict::Stopped(stopped) = verdict {
            finish::stopped(self.app, landing, &base.commit, &stopped)?;
            return Err(Refusal::LandStopped(Box::new(stopped)).into());
        }
        if let Verdict::Failed(failed) = verdict {
            let is_behind = self.git.is_ancestor(&base.commit, &unit.commit) == Some(false);
            let since = self.landed_since(unit, base)?;
            let refusal = Refusal::LandCheckFailed(Box::new(FailedLandCheck {
                of: unit.label(),
                base: unit.base.clone(),
                check: failed.name,
                how: failed.how,
                with: names(&since),
                evidence: failed.evidence,
                output: failed.output,
                lane: unit.lane_name().cloned(),
                is_behind,
            }));
            return self.send_back(unit, landing, refusal, &since);
        }
        // The checks may have taken long.
        let now = base::check(self.app, &unit.base)?;
        if now.commit != base.commit {
            return Err(Refusal::BaseMoved { base: unit.base.clone() }.into());
        }
        self.app.transaction(|tx| {
            judged.check_again(self.app, tx, unit)?;
            landing.state = LandingState::Moving;
            Ok::<_, anyhow::Error>(landings::update(tx, landing)?)
        })?;
        now.move_to(self.app, self.lock, &made)
    }

    /// Sends a unit back. `since`: what landed since its commit last had the base.
    fn send_back(&self, unit: &Unit, landing: &mut Landing, refusal: Refusal, since: &[Landing]) -> Result<()> {
        let error = anyhow::Error::from(refusal);
        let failure = errors::classify(&error);
        let hint = failure.hint.unwrap_or_default();
        finish::sent_back(self.app, unit, landing, (&failure.message, &hint), since)?;
        Err(error)
    }

    /// The landings in the base since the unit's commit last had it, newest first.
    fn landed_since(&self, unit: &Unit, base: &base::Base) -> Result<Vec<Landing>> {
        let Some(fork) = self.git.merge_base(&base.commit, &unit.commit)? else { return Ok(Vec::new()) };
        let since = self.git.commits_between(&fork, &base.commit)?;
        let mut earlier = self.app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
        earlier.retain(|one| one.candidate.as_ref().is_some_and(|candidate| since.contains(candidate)));
        Ok(earlier)
    }

    /// Ends the lane whose work has landed. A failure leaves it as it is.
    fn clean_up(&self, unit: &Unit, view: &mut LandingView) {
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

/// The tasks of landings, or else their lanes.
fn names(landings: &[Landing]) -> Vec<String> {
    let names = landings.iter().flat_map(|one| match (&one.tasks[..], &one.lane) {
        ([], lane) => lane.iter().map(ToString::to_string).collect::<Vec<_>>(),
        (tasks, _) => tasks.iter().map(|(id, _)| id.to_string()).collect(),
    });
    names.collect()
}

/// Whether a unit's commit has landed in its base, also as another commit.
fn has_landed(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<bool> {
    let earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    let is_it = |one: &&Landing| one.commit == unit.commit;
    let is_there = |candidate: &String| git.is_ancestor(candidate, base) == Some(true);
    Ok(earlier.iter().filter(is_it).filter_map(|one| one.candidate.as_ref()).any(is_there))
}

fn is_base_moved(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Refusal>(), Some(Refusal::BaseMoved { .. }))
}

/// Whether every other landing would fail too.
fn stops_all(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Refusal>(), Some(Refusal::LandStopped(stopped)) if stopped.stops_all)
}

/// The units that would land, in their order, worked out among objects that are thrown away.
fn plan(app: &App, request: &LandRequest, git: &Git<'_>) -> Result<(Answer, u8)> {
    checkout::ask_merges(app, git, |merges| plan_with(app, request, git, &merges))
}

fn plan_with(app: &App, request: &LandRequest, git: &Git<'_>, merges: &MergeRepository) -> Result<(Answer, u8)> {
    let Found { units, notes } = find(app, request)?;
    let units = schedule::order(app, merges, units)?;
    let order: Vec<_> = units.iter().map(report::place).collect();
    let scratch = Scratch::create(git, &checkout::temp_dir(app))?;
    let maker = CandidateMaker {
        project: git.with_scratch(&scratch),
        merges: merges.git().with_scratch(&scratch),
        sign: false,
    };
    // The bases as they would be by then.
    let mut bases: Vec<base::Base> = Vec::new();
    let mut views = Vec::new();
    let is_alone = units.len() == 1 && request.names.len() == 1;
    for unit in &units {
        let mut view = report::begin(app, unit);
        if let Err(error) = plan_one(app, unit, &maker, &mut bases, &mut view) {
            if is_alone && !matches!(view.state, "would_be_sent_back") {
                return Err(error);
            }
            if view.state == "failed" {
                view.state = report::state_of(&error);
            }
            view.error = Some(errors::classify(&error));
        }
        views.push(view);
    }
    answer(app, request, LandView { dry_run: true, order, landings: views }, notes)
}

fn plan_one(
    app: &App,
    unit: &Unit,
    maker: &CandidateMaker<'_>,
    bases: &mut Vec<base::Base>,
    view: &mut LandingView,
) -> Result<()> {
    readiness::check_worktree(app, unit)?;
    let (_, reports) = readiness::judge(app, unit)?;
    if !reports.is_empty() {
        return Err(readiness::refusal(unit, reports));
    }
    candidate::check_identity(&maker.project)?;
    if !bases.iter().any(|base| base.name == unit.base) {
        bases.push(base::check(app, &unit.base)?);
    }
    let Some(base) = bases.iter_mut().find(|base| base.name == unit.base) else { return Ok(()) };
    view.base_before = Some(base.commit.clone());
    let is_known = unit.members.is_empty() && has_landed(app, &maker.project, unit, &base.commit)?;
    if is_known || maker.project.is_ancestor(&unit.commit, &base.commit) == Some(true) {
        view.state = if unit.members.is_empty() { "unchanged" } else { "would_land" };
        view.tasks.extend(unit.task.iter().filter(|_| unit.members.is_empty()).map(ToString::to_string));
        return Ok(());
    }
    match candidate::make(app, maker, unit, &base.commit)? {
        Integration::Commit(commit) => {
            base.refuse_files_in_the_way(&maker.project, &commit)?;
            submodules::check(app, &maker.project, unit, base, &commit)?;
            view.state = "would_land";
            // The commit is thrown away with this plan, so it is not told.
            base.commit = commit;
            let count = checks::count(app, unit);
            if count > 0 {
                view.notes.push(format!("{count} check(s) would run on the merged tree of {}", unit.label()));
            }
            Ok(())
        }
        Integration::Conflict { files, .. } => {
            view.state = "would_be_sent_back";
            let (of, lane) = (unit.label(), unit.lane_name().cloned());
            Err(Refusal::LandConflict { of, base: unit.base.clone(), files, with: Vec::new(), lane }.into())
        }
    }
}
