//! The unit of a landing: a commit of a lane, with the tasks whose work it contains.

use std::path::PathBuf;

use anyhow::Result;

use crate::App;
use crate::core::{errors, lookup, other_host};
use crate::queue::base_commit;
use crate::queue::lane::checkout::{self, Presence};
use crate::queue::lane::work;
use fairway_core::config::project::worktree_top;
use fairway_core::domain::landing::Landing;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::lane_work::LaneWork;
use fairway_core::domain::task::{DEFAULT_PRIORITY, Task, TaskStatus};
use fairway_core::domain::{LaneName, Refusal, TaskId};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, landings, lanes, tasks};

/// How many of the newest landings are searched.
pub(crate) const MAX_EARLIER: i64 = 200;

/// A commit that lands.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// The lane; `None` for a task without one.
    pub(crate) lane: Option<Lane>,
    /// The task that the caller named, or through which the unit was found.
    pub(crate) task: Option<TaskId>,
    pub(crate) commit: String,
    pub(crate) base: String,
    /// The tasks that land with the commit; a named one comes first.
    pub(crate) members: Vec<Member>,
    /// Whether the person named the unit.
    pub(crate) is_named: bool,
}

/// A task whose work the commit contains.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) task: Task,
    /// The commit of the task's work.
    pub(crate) commit: String,
    /// The last submission of a task that is worked on again, if its work has gone on since.
    pub(crate) outdated: Option<String>,
}

impl Unit {
    /// A unit for a commit of the base itself, without a lane and tasks.
    pub(crate) fn of_base(base: &str, commit: &str) -> Self {
        let (commit, base) = (commit.to_owned(), base.to_owned());
        Self { lane: None, task: None, commit, base, members: Vec::new(), is_named: false }
    }

    /// The unit's name in messages.
    pub(crate) fn label(&self) -> String {
        match (&self.task, &self.lane) {
            (Some(task), _) => task.to_string(),
            (None, Some(lane)) => format!("lane {}", lane.name),
            (None, None) => self.commit.clone(),
        }
    }

    /// The unit's name as an argument of `fairway land`.
    pub(crate) fn word(&self) -> String {
        match (&self.task, &self.lane) {
            (Some(task), _) => task.to_string(),
            (None, Some(lane)) => format!("lane:{}", lane.name),
            (None, None) => self.commit.clone(),
        }
    }

    pub(crate) fn lane_name(&self) -> Option<&LaneName> {
        self.lane.as_ref().map(|lane| &lane.name)
    }

    pub(crate) fn task_ids(&self) -> Vec<String> {
        self.members.iter().map(|member| member.task.id.to_string()).collect()
    }

    /// The commit at which a task's gates are judged: of its own work, and of the whole unit when that is what a lane has.
    pub(crate) fn judged_at<'a>(&'a self, member: &'a Member) -> &'a str {
        if self.task.is_some() { &member.commit } else { &self.commit }
    }

    /// The directory of the lane's worktree; `None` when there is none on this host.
    pub(crate) fn dir(&self, app: &App) -> Option<PathBuf> {
        match self.lane.as_ref().map(|lane| checkout::presence(app, lane)) {
            Some(Presence::Present(dir)) => Some(dir),
            _ => None,
        }
    }

    /// The command of git, with its purpose, that brings the base into the work and stops at each conflict.
    pub(crate) fn bring_in_by_hand(&self, app: &App) -> String {
        let (base, style) = (&self.base, app.settings.land.style);
        let in_lane = self.lane.as_ref().and_then(|lane| checkout::bring_in_by_hand(app, lane));
        match (&self.lane, in_lane) {
            (Some(lane), Some(_)) if self.dir(app).is_none() => {
                format!("make its worktree again: fairway lane repair {}", lane.name)
            }
            (_, Some(command)) => format!("bring {base} in by hand: {command}"),
            (_, None) => format!("bring {base} in by hand: git {} {}", style.by_hand(), shell_words::quote(base)),
        }
    }

    /// The most urgent priority of the unit's tasks; the default priority when it has none.
    pub(crate) fn priority(&self) -> u8 {
        self.members.iter().map(|member| member.task.fields.priority).min().unwrap_or(DEFAULT_PRIORITY)
    }
}

/// Git in the project's repository. Fails with `no_worktree` when the project is in no repository.
pub(crate) fn project_git(app: &App) -> Result<Git<'_>> {
    let root = &app.project.root;
    let git = Git::new(app.env.vars(), root);
    if worktree_top(root).is_none() {
        let consequence = "nothing can be landed";
        return Err(Refusal::NoRepository { consequence, root: root.display().to_string() }.into());
    }
    Ok(git)
}

/// The unit for a task's id or a lane's name. `lane:NAME` is always a lane. Fails with `no_commit`.
pub(crate) fn of_name(app: &App, word: &str) -> Result<Unit> {
    let (only_lane, name) = word.strip_prefix("lane:").map_or((false, word), |name| (true, name));
    let task = if only_lane { None } else { TaskId::parse(name).ok() };
    let found = app.read(|tx| {
        let task = task.as_ref().map(|id| tasks::find(tx, id)).transpose()?.flatten();
        let lane = LaneName::parse(name).ok().map(|name| lanes::find(tx, &name)).transpose()?.flatten();
        match (task, lane, &task_id(only_lane, name)) {
            (Some(task), _, _) => Ok((Some(task), None)),
            (None, Some(lane), _) => Ok((None, Some(lane))),
            (None, None, Some(id)) => lookup::task(tx, id).map(|task| (Some(task), None)),
            (None, None, None) => lookup::lane(tx, &LaneName::parse(name)?).map(|lane| (None, Some(lane))),
        }
    })?;
    let unit = match found {
        (Some(task), _) => of_task(app, &task)?,
        (None, Some(lane)) => of_lane(app, lane)?,
        (None, None) => return Err(Refusal::not_found("task or lane", name).into()),
    };
    Ok(Unit { is_named: true, ..unit })
}

fn task_id(only_lane: bool, name: &str) -> Option<TaskId> {
    if only_lane { None } else { TaskId::parse(name).ok() }
}

/// The unit of a task: the commit that was submitted or, while the task is worked on, the one that is checked out.
///
/// # Errors
/// `nothing_to_land` when it has no commit that its base lacks; `no_commit` when nothing is known of its work; `lane_elsewhere`
/// when that is on another host and its commit is not here; `not_found` when the project's repository lacks the commit.
pub(crate) fn of_task(app: &App, task: &Task) -> Result<Unit> {
    let lane = app.read(|tx| Ok(lookup::lane_of(tx, task)?))?;
    let git = project_git(app)?;
    let known = task.fixed_commit().and_then(|commit| git.commit(commit));
    let words = ["land", task.id.as_str()];
    if let (Some(lane), None) = (&lane, &known) {
        other_host::refuse_lane(app, lane, &words)?;
    }
    let base = base_of(app, lane.as_ref());
    let commit = match task.fixed_commit() {
        Some(commit) => known.ok_or_else(|| Refusal::not_found("commit in the project's repository", commit))?,
        None => unfixed_commit(app, task, &git, &base, &words)?,
    };
    complete(app, Unit { lane, task: Some(task.id.clone()), commit, base, members: Vec::new(), is_named: false })
}

/// The commit of a task that was submitted without one, or that is worked on.
fn unfixed_commit(app: &App, task: &Task, git: &Git<'_>, base: &str, words: &[&str]) -> Result<String> {
    let (id, status) = (task.id.clone(), task.state.status());
    let no_commit = || Refusal::NoTaskCommit { task: id.clone(), status, lane: task.fields.lane.clone() };
    if matches!(status, TaskStatus::Todo | TaskStatus::Cancelled) {
        return Err(no_commit().into());
    }
    let own = work::of_task(app, &task.id, words)?;
    if let Some(LaneWork { operation: Some(operation), worktree: Some(dir), .. }) = &own {
        return Err(Refusal::OperationUnfinished { of: id.to_string(), operation, dir: dir.clone() }.into());
    }
    let commit = own.as_ref().and_then(|own| own.commit()).and_then(|commit| git.commit(commit));
    let has_work = match &commit {
        Some(commit) => !is_in_base(app, git, base, commit)?,
        None => false,
    };
    let is_own = task.state.claim().is_some_and(|claim| app.actor.is_named(&claim.claimant));
    match commit {
        None if task.is_worked_on() => Err(no_commit().into()),
        Some(commit) if task.is_worked_on() && has_work => Ok(commit),
        commit => {
            let base = base.to_owned();
            Err(Refusal::NothingToLand { task: id, status, base, commit, has_work, is_own }.into())
        }
    }
}

/// Whether a base has everything of a commit: its history, or its changes as they landed.
pub(crate) fn is_in_base(app: &App, git: &Git<'_>, base: &str, commit: &str) -> Result<bool> {
    let Some(tip) = base_commit::find(app, git, base)? else { return Ok(false) };
    Ok(git.is_ancestor(commit, &tip) == Some(true) || has_landed(app, git, (base, &tip), commit)?)
}

/// Returns the unit with its tasks read again, because work that landed meanwhile may have finished some of them.
pub(crate) fn refreshed(app: &App, unit: &Unit) -> Result<Unit> {
    complete(app, Unit { members: Vec::new(), ..unit.clone() })
}

fn of_lane(app: &App, lane: Lane) -> Result<Unit> {
    let commit = match tip(app, &lane) {
        Err(error) if lane.status == LaneStatus::Closed => landed_tip(app, &lane)?.ok_or(error)?,
        tip => tip?,
    };
    let base = base_of(app, Some(&lane));
    let unit = Unit { lane: Some(lane), task: None, commit, base, members: Vec::new(), is_named: false };
    let unit = complete(app, unit)?;
    if unit.members.is_empty()
        && let Some(task) = app.read(|tx| held_in(tx, &unit))?
    {
        // It says why nothing of the task lands.
        of_task(app, &task)?;
    }
    Ok(unit)
}

/// The first claimed task of the unit's lane.
fn held_in(tx: &ReadTx<'_>, unit: &Unit) -> Result<Option<Task>> {
    let Some(lane) = unit.lane_name() else { return Ok(None) };
    let open = find_all(tx, &landings::unlanded_in(tx, lane)?)?;
    Ok(open.into_iter().find(|task| task.state.status().is_claimed()))
}

/// The commit with which a lane landed whose branch no longer exists.
fn landed_tip(app: &App, lane: &Lane) -> Result<Option<String>> {
    let base = base_of(app, Some(lane));
    let landed = app.read(|tx| Ok(landings::landed_in(tx, &base, MAX_EARLIER)?))?;
    Ok(landed.into_iter().find(|landing| landing.lane.as_ref() == Some(&lane.name)).map(|landing| landing.commit))
}

/// Units, and notes on the tasks in review that have nothing to land here.
#[derive(Default)]
pub(crate) struct Found {
    pub units: Vec<Unit>,
    pub notes: Vec<String>,
}

/// The units of all tasks in review, and of finished tasks whose lane has commits that its base lacks.
pub(crate) fn all(app: &App) -> Result<Found> {
    let (in_review, finished, known) = app.read(|tx| {
        Ok((find_all(tx, &landings::in_review(tx)?)?, find_all(tx, &landings::done_in_lanes(tx)?)?, lanes::all(tx)?))
    })?;
    let git = project_git(app)?;
    let is_ahead = |lane: &&Lane| {
        let base = git.commit(&format!("refs/heads/{}", base_of(app, Some(lane))));
        let ahead = |base: &String, tip: &String| git.is_ancestor(tip, base) == Some(false);
        matches!((base, tip(app, lane)), (Some(base), Ok(tip)) if ahead(&base, &tip))
    };
    let mut is_checked: Vec<(&LaneName, bool)> = Vec::new();
    for lane in known.iter().filter(|lane| finished.iter().any(|task| task.fields.lane.as_ref() == Some(&lane.name))) {
        is_checked.push((&lane.name, is_ahead(&lane)));
    }
    let in_lane_ahead =
        |task: &&Task| is_checked.iter().any(|(name, ahead)| *ahead && task.fields.lane.as_ref() == Some(*name));
    let Found { mut units, mut notes } = Found::default();
    for task in in_review.iter().chain(finished.iter().filter(in_lane_ahead)) {
        let unit = match of_task(app, task) {
            Ok(unit) => unit,
            Err(error) => {
                notes.extend(missing_commit(task, &error));
                continue;
            }
        };
        let base = git.commit(&format!("refs/heads/{}", unit.base));
        let is_landed = base.is_some_and(|base| git.is_ancestor(&unit.commit, &base) == Some(true));
        let is_known = units.iter().any(|known| known.commit == unit.commit && known.base == unit.base);
        // A finished task whose commit is in the base needs nothing more; one in review is still to be finished.
        if !is_known && (!is_landed || task.state.status() == TaskStatus::Review) {
            units.push(unit);
        }
    }
    Ok(Found { units, notes })
}

/// The note on a task that has nothing to land, or whose commit this repository lacks; `None` for other failures.
fn missing_commit(task: &Task, error: &anyhow::Error) -> Option<String> {
    let failure = errors::classify(error);
    let is_missing = matches!(failure.code, "lane_elsewhere" | "not_found" | "nothing_to_land");
    let hint = failure.hint.as_deref().and_then(|hint| hint.lines().next());
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    is_missing.then(|| format!("task {} is left out: {}{hint}", task.id, failure.message))
}

fn find_all(tx: &ReadTx<'_>, ids: &[TaskId]) -> Result<Vec<Task>> {
    let found = ids.iter().map(|id| tasks::find(tx, id)).collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn base_of(app: &App, lane: Option<&Lane>) -> String {
    lane.map_or_else(|| app.settings.project.base_branch.clone(), |lane| checkout::base(app, lane).to_owned())
}

/// The commit of a lane's work. Fails with `no_commit`, `lane_elsewhere`, `lane_damaged`.
pub(crate) fn tip(app: &App, lane: &Lane) -> Result<String> {
    let words = ["land", &format!("lane:{}", lane.name)];
    checkout::refuse_damaged(app, lane)?;
    let work = work::of_lane(app, lane, &words)?;
    let no_commit = || Refusal::NoLaneCommit { lane: lane.name.clone(), branch: lane.branch.clone(), known: None };
    let commit = work.commit().ok_or_else(no_commit)?;
    let known = project_git(app)?.commit(commit);
    Ok(known.ok_or_else(|| Refusal::not_found("commit in the project's repository", commit))?)
}

/// Adds the tasks of the lane whose commit the unit contains and the base lacks. A named task comes first.
fn complete(app: &App, unit: Unit) -> Result<Unit> {
    let git = project_git(app)?;
    let tip = unit.lane.as_ref().and_then(|lane| tip(app, lane).ok());
    let tasks = app.read(|tx| {
        let mut ids: Vec<TaskId> = Vec::new();
        if let Some(task) = &unit.task
            && landings::landed_commit(tx, task)?.is_none()
        {
            ids.push(task.clone());
        }
        if let Some(lane) = unit.lane_name() {
            ids.extend(landings::unlanded_in(tx, lane)?);
        }
        find_all(tx, &ids)
    })?;
    let has = |whole: &str, part: &str| whole == part || git.is_ancestor(part, whole) == Some(true);
    let mut members: Vec<Member> = Vec::new();
    for task in tasks {
        let is_named = unit.task.as_ref() == Some(&task.id);
        let own = match task.fixed_commit() {
            Some(commit) => git.commit(commit),
            None if is_named => Some(unit.commit.clone()),
            // What was not submitted lands with its lane only.
            None if task.is_worked_on() && unit.task.is_none() => tip.clone(),
            None => None,
        };
        let Some(commit) = own else { continue };
        let is_landed = || is_in_base(app, &git, &unit.base, &commit);
        let is_submitted = task.state.status() == TaskStatus::Review;
        let counts = is_named || has(&unit.commit, &commit) && (is_submitted || !is_landed()?);
        if counts && !members.iter().any(|known| known.task.id == task.id) {
            let outdated = task.commit.clone().filter(|old| is_named && task.is_worked_on() && !has(old, &commit));
            members.push(Member { task, commit, outdated });
        }
    }
    // A task that was claimed after the last submission has no commit of its own.
    let is_fixed = |member: &Member| member.task.fixed_commit().is_some();
    let fixed: Vec<String> = members.iter().filter(|one| is_fixed(one)).map(|one| one.commit.clone()).collect();
    let is_named = |member: &Member| unit.task.as_ref() == Some(&member.task.id);
    members.retain(|one| is_fixed(one) || is_named(one) || !fixed.iter().any(|commit| has(commit, &one.commit)));
    Ok(Unit { members, ..unit })
}

/// Whether one of the newest landings has put a commit into a base, which is at `tip`. A commit that came into the base in another
/// way is not found.
pub(crate) fn has_landed(app: &App, git: &Git<'_>, (base, tip): (&str, &str), commit: &str) -> Result<bool> {
    let earlier = app.read(|tx| Ok(landings::landed_in(tx, base, MAX_EARLIER)?))?;
    let is_it = |one: &&Landing| one.commit == commit;
    let is_there = |candidate: &String| git.is_ancestor(candidate, tip) == Some(true);
    Ok(earlier.iter().filter(is_it).filter_map(|one| one.candidate.as_ref()).any(is_there))
}

/// The landings in the base since the unit last contained it, newest first. `base` is the base's commit.
pub(crate) fn landed_since(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<Vec<Landing>> {
    let Some(fork) = git.merge_base(base, &unit.commit)? else { return Ok(Vec::new()) };
    let since = git.commits_between(&fork, base)?;
    let mut earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    earlier.retain(|one| one.candidate.as_ref().is_some_and(|candidate| since.contains(candidate)));
    Ok(earlier)
}

/// Names each landing by its tasks, else by its lane.
pub(crate) fn work_names(landings: &[Landing]) -> Vec<String> {
    let names = landings.iter().flat_map(|one| match (&one.tasks[..], &one.lane) {
        ([], lane) => lane.iter().map(ToString::to_string).collect::<Vec<_>>(),
        (tasks, _) => tasks.iter().map(|(id, _)| id.to_string()).collect(),
    });
    names.collect()
}
