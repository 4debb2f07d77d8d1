//! The unit of a landing: a commit of a lane, with the tasks whose work it contains.

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::{errors, lookup, other_host},
        queue::lane::checkout::{self, Presence},
    },
    config::project::worktree_top,
    domain::{
        LaneName, Refusal, TaskId,
        landing::Landing,
        lane::{Lane, LaneStatus},
        task::{DEFAULT_PRIORITY, Task, TaskStatus},
    },
    os::git::{Git, Repository},
    store::{ReadTx, landings, lanes, tasks},
};

/// How many of the newest landings are searched.
pub(super) const MAX_EARLIER: i64 = 200;

/// A commit that lands.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// The lane; `None` for a task without one.
    pub(super) lane: Option<Lane>,
    /// The task that the caller named, or through which the unit was found.
    pub(super) task: Option<TaskId>,
    pub(super) commit: String,
    pub(super) base: String,
    /// The tasks that land with the commit; a named one comes first.
    pub(super) members: Vec<Member>,
    /// Whether the person named the unit.
    pub(super) is_named: bool,
}

/// A task whose work the commit contains.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) task: Task,
    /// The commit of the task's work.
    pub(super) commit: String,
    /// The tip of the lane, when the task is in progress and the tip has commits that neither the task's commit nor the unit's
    /// commit contains.
    pub(super) newer: Option<String>,
}

impl Unit {
    /// A unit for a commit of the base itself, without a lane and tasks.
    pub(super) fn of_base(base: &str, commit: &str) -> Self {
        let (commit, base) = (commit.to_owned(), base.to_owned());
        Self { lane: None, task: None, commit, base, members: Vec::new(), is_named: false }
    }

    /// The unit's name in messages.
    pub(super) fn label(&self) -> String {
        match (&self.task, &self.lane) {
            (Some(task), _) => task.to_string(),
            (None, Some(lane)) => format!("lane {}", lane.name),
            (None, None) => self.commit.clone(),
        }
    }

    /// The unit's name as an argument of `fairway land`.
    pub(super) fn word(&self) -> String {
        match (&self.task, &self.lane) {
            (Some(task), _) => task.to_string(),
            (None, Some(lane)) => format!("lane:{}", lane.name),
            (None, None) => self.commit.clone(),
        }
    }

    pub(super) fn lane_name(&self) -> Option<&LaneName> {
        self.lane.as_ref().map(|lane| &lane.name)
    }

    pub(super) fn task_ids(&self) -> Vec<String> {
        self.members.iter().map(|member| member.task.id.to_string()).collect()
    }

    /// The directory of the lane's worktree; `None` when there is none on this host.
    pub(super) fn dir(&self, app: &App) -> Option<PathBuf> {
        match self.lane.as_ref().map(|lane| checkout::presence(app, lane)) {
            Some(Presence::Present(dir)) => Some(dir),
            _ => None,
        }
    }

    /// The most urgent priority of the unit's tasks; the default priority when it has none.
    pub(super) fn priority(&self) -> u8 {
        self.members.iter().map(|member| member.task.fields.priority).min().unwrap_or(DEFAULT_PRIORITY)
    }
}

/// Git in the project's repository. Fails with `no_worktree` when the project is in no repository.
pub(super) fn project_git(app: &App) -> Result<Git<'_>> {
    let root = &app.project.root;
    let git = Git::new(app.env.vars(), root);
    if worktree_top(root).is_none() {
        let consequence = "nothing can be landed";
        return Err(Refusal::NoRepository { consequence, root: root.display().to_string() }.into());
    }
    Ok(git)
}

/// The unit for a task's id or a lane's name. `lane:NAME` is always a lane. Fails with `no_commit`.
pub(super) fn of_name(app: &App, word: &str) -> Result<Unit> {
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

/// The unit of a task: its recorded commit or, while a task without one is claimed, the tip of its lane.
///
/// # Errors
/// `no_commit` when there is neither; `lane_elsewhere` when the lane is on another host and the commit is not here; `not_found`
/// when the project's repository lacks the recorded commit.
pub(super) fn of_task(app: &App, task: &Task) -> Result<Unit> {
    let lane = app.read(|tx| {
        let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?;
        Ok(lane.flatten())
    })?;
    let git = project_git(app)?;
    let is_claimed = task.state.status().is_claimed();
    let known = task.commit.as_ref().and_then(|commit| git.commit(commit));
    if let (Some(lane), None) = (&lane, &known) {
        other_host::refuse_lane(app, lane, &["land", task.id.as_str()])?;
    }
    let commit = match (&task.commit, &lane) {
        (Some(commit), _) => known.ok_or_else(|| Refusal::not_found("commit in the project's repository", commit))?,
        (None, Some(lane)) if is_claimed => tip(app, lane)?,
        _ => {
            let (task, status, lane) = (task.id.clone(), task.state.status(), task.fields.lane.clone());
            return Err(Refusal::NoTaskCommit { task, status, lane }.into());
        }
    };
    let base = base_of(app, lane.as_ref());
    complete(app, Unit { lane, task: Some(task.id.clone()), commit, base, members: Vec::new(), is_named: false })
}

/// Returns the unit with its tasks read again, because work that landed meanwhile may have finished some of them.
pub(super) fn refreshed(app: &App, unit: &Unit) -> Result<Unit> {
    complete(app, Unit { members: Vec::new(), ..unit.clone() })
}

fn of_lane(app: &App, lane: Lane) -> Result<Unit> {
    let commit = match tip(app, &lane) {
        Err(error) if lane.status == LaneStatus::Closed => landed_tip(app, &lane)?.ok_or(error)?,
        tip => tip?,
    };
    let base = base_of(app, Some(&lane));
    complete(app, Unit { lane: Some(lane), task: None, commit, base, members: Vec::new(), is_named: false })
}

/// The commit with which a lane landed whose branch no longer exists.
fn landed_tip(app: &App, lane: &Lane) -> Result<Option<String>> {
    let base = base_of(app, Some(lane));
    let landed = app.read(|tx| Ok(landings::landed_in(tx, &base, MAX_EARLIER)?))?;
    Ok(landed.into_iter().find(|landing| landing.lane.as_ref() == Some(&lane.name)).map(|landing| landing.commit))
}

/// Units, and notes on the tasks in review whose commit this repository lacks.
#[derive(Default)]
pub(super) struct Found {
    pub units: Vec<Unit>,
    pub notes: Vec<String>,
}

/// The units of all tasks in review, and of finished tasks whose lane has commits that its base lacks.
pub(super) fn all(app: &App) -> Result<Found> {
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

/// The note on a task whose commit this repository lacks; `None` for a task without a commit.
fn missing_commit(task: &Task, error: &anyhow::Error) -> Option<String> {
    let failure = errors::classify(error);
    let is_missing = matches!(failure.code, "lane_elsewhere" | "not_found");
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

/// The tip of a lane: its branch's commit, else that of its worktree. Fails with `no_commit`, `lane_elsewhere`.
pub(super) fn tip(app: &App, lane: &Lane) -> Result<String> {
    let words = ["land", &format!("lane:{}", lane.name)];
    // A branch of the same name on this host is another one, or lags behind.
    other_host::refuse_lane(app, lane, &words)?;
    let git = project_git(app)?;
    if let Some(branch) = &lane.branch
        && let Some(commit) = Repository::of(git).branch_commit(branch)?
    {
        return Ok(commit);
    }
    let no_commit = || Refusal::NoLaneCommit { lane: lane.name.clone(), branch: lane.branch.clone(), known: None };
    let dir = match checkout::presence(app, lane) {
        Presence::None => return Err(no_commit().into()),
        _ => checkout::dir(app, lane, &words)?,
    };
    let head = Git::new(app.env.vars(), &dir).head().ok_or_else(no_commit)?;
    let known = git.commit(&head);
    Ok(known.ok_or_else(|| Refusal::not_found("commit in the project's repository", &head))?)
}

/// Adds the tasks of the lane whose commit the unit contains and the base lacks. A named task comes first.
fn complete(app: &App, unit: Unit) -> Result<Unit> {
    let git = project_git(app)?;
    let tip = unit.lane.as_ref().and_then(|lane| tip(app, lane).ok());
    let base = git.commit(&format!("refs/heads/{}", unit.base));
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
    let mut members: Vec<Member> = Vec::new();
    for task in tasks {
        let is_named = unit.task.as_ref() == Some(&task.id);
        let own = match &task.commit {
            Some(commit) => git.commit(commit),
            None if task.state.status().is_claimed() => tip.clone(),
            None => None,
        };
        let Some(commit) = own else { continue };
        let has = |whole: &str, part: &str| whole == part || git.is_ancestor(part, whole) == Some(true);
        let is_contained = has(&unit.commit, &commit);
        let is_newer = |tip: &&String| !has(&commit, tip) && !has(&unit.commit, tip);
        let is_open = task.state.status() == TaskStatus::InProgress && task.fields.lane.as_ref() == unit.lane_name();
        let newer = tip.as_ref().filter(|tip| is_open && is_newer(tip)).cloned();
        let is_landed = base.as_ref().is_some_and(|base| git.is_ancestor(&commit, base) == Some(true));
        let counts = is_named || is_contained && (!is_landed || task.state.status() == TaskStatus::Review);
        if counts && !members.iter().any(|known| known.task.id == task.id) {
            members.push(Member { task, commit, newer });
        }
    }
    Ok(Unit { members, ..unit })
}

/// Whether one of the newest landings has put the unit's commit into its base. `base` is the base's commit. A commit that came
/// into the base in another way is not found.
pub(super) fn has_landed(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<bool> {
    let earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    let is_it = |one: &&Landing| one.commit == unit.commit;
    let is_there = |candidate: &String| git.is_ancestor(candidate, base) == Some(true);
    Ok(earlier.iter().filter(is_it).filter_map(|one| one.candidate.as_ref()).any(is_there))
}

/// The landings in the base since the unit last contained it, newest first. `base` is the base's commit.
pub(super) fn landed_since(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<Vec<Landing>> {
    let Some(fork) = git.merge_base(base, &unit.commit)? else { return Ok(Vec::new()) };
    let since = git.commits_between(&fork, base)?;
    let mut earlier = app.read(|tx| Ok(landings::landed_in(tx, &unit.base, MAX_EARLIER)?))?;
    earlier.retain(|one| one.candidate.as_ref().is_some_and(|candidate| since.contains(candidate)));
    Ok(earlier)
}

/// Names each landing by its tasks, else by its lane.
pub(super) fn work_names(landings: &[Landing]) -> Vec<String> {
    let names = landings.iter().flat_map(|one| match (&one.tasks[..], &one.lane) {
        ([], lane) => lane.iter().map(ToString::to_string).collect::<Vec<_>>(),
        (tasks, _) => tasks.iter().map(|(id, _)| id.to_string()).collect(),
    });
    names.collect()
}
