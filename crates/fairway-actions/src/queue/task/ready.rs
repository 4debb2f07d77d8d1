//! Ready tasks, and the reasons why other open tasks are not ready.

use anyhow::Result;

use super::open_reviews::{self, OpenReviewsCache};
use crate::App;
use crate::core::lookup;
use crate::queue::claimants::Claimants;
use crate::queue::landed_here;
use fairway_core::domain::task::{NotReadyReason, Task, TaskSummary};
use fairway_core::domain::{LaneName, Refusal, Role, TaskId};
use fairway_core::store::ReadTx;
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::wire::{ClaimantView, TaskView};

/// How many ready tasks are checked against the limits of open reviews.
const MAX_JUDGED: usize = 100;

/// Which role and lane the tasks must fit.
#[derive(Debug, Clone, Copy)]
pub enum ReadyFor<'a> {
    /// Any role and lane.
    Anyone,
    /// The given role and lane, each by default the caller's.
    Caller { role: Option<&'a Role>, lane: Option<&'a LaneName> },
}

impl ReadyFor<'_> {
    fn scope(self, app: &App, tx: &ReadTx<'_>) -> Result<(Option<Role>, Option<LaneName>)> {
        let Self::Caller { role, lane } = self else { return Ok((None, None)) };
        let implied = lookup::implied_scope(tx, &app.actor)?;
        let lane = lane.cloned().or(implied.lane);
        if let Some(lane) = &lane {
            lookup::lane(tx, lane)?;
        }
        Ok((role.cloned().or(implied.role), lane))
    }
}

/// The first `limit` of some tasks, and whether there are more.
struct Page<T> {
    limit: Option<usize>,
    tasks: Vec<T>,
    has_more: bool,
}

impl<T> Page<T> {
    const fn new(limit: Option<usize>) -> Self {
        Self { limit, tasks: Vec::new(), has_more: false }
    }

    /// How many tasks to read: one beyond the limit, to see whether there are more.
    fn expected(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| limit.saturating_add(1))
    }

    /// Adds a task if there is room. Returns whether the next one is wanted.
    fn push(&mut self, task: impl FnOnce() -> T) -> bool {
        self.has_more = self.limit.is_some_and(|limit| self.tasks.len() >= limit);
        if !self.has_more {
            self.tasks.push(task());
        }
        !self.has_more
    }
}

/// At most `limit` ready tasks in claim order, and whether there are more.
pub fn ready(app: &App, whom: ReadyFor<'_>, limit: Option<usize>) -> Result<(Vec<TaskView>, bool)> {
    ready_here(app, limit, |tx, page| {
        let (role, lane) = whom.scope(app, tx)?;
        tasks::for_each_ready(tx, role.as_ref(), lane.as_ref(), page.expected(), |task| {
            Ok(page.push(|| (task.id.clone(), TaskView::new(&task, &[]))))
        })?;
        Ok(())
    })
}

/// Like [`ready`], but only summaries, for which the store reads less.
pub fn ready_summaries(app: &App, whom: ReadyFor<'_>, limit: Option<usize>) -> Result<(Vec<TaskSummary>, bool)> {
    ready_here(app, limit, |tx, page| {
        let (role, lane) = whom.scope(app, tx)?;
        tasks::for_each_ready_summary(tx, role.as_ref(), lane.as_ref(), page.expected(), |task| {
            Ok(page.push(|| (task.id.clone(), task)))
        })?;
        Ok(())
    })
}

/// At most `limit` of the tasks that `read` passes on, without those that wait for work of another host, and whether there are
/// more.
fn ready_here<T>(
    app: &App,
    limit: Option<usize>,
    read: impl Fn(&ReadTx<'_>, &mut Page<(TaskId, T)>) -> Result<()>,
) -> Result<(Vec<T>, bool)> {
    let mut more = 0;
    loop {
        let wanted = limit.map(|limit| limit.saturating_add(more));
        let (page, missing) = app.read(|tx| {
            let mut page = Page::new(wanted);
            read(tx, &mut page)?;
            let ids: Vec<&TaskId> = page.tasks.iter().map(|(id, _)| id).collect();
            let missing = landed_here::missing_now(app, tx, &ids)?;
            Ok((page, missing))
        })?;
        let is_here = |id: &TaskId| missing.iter().all(|(task, _)| task != id);
        let mut tasks: Vec<T> = page.tasks.into_iter().filter(|(id, _)| is_here(id)).map(|(_, task)| task).collect();
        let is_full = limit.is_none_or(|limit| tasks.len() >= limit);
        if is_full || !page.has_more {
            let has_more = page.has_more || limit.is_some_and(|limit| tasks.len() > limit);
            tasks.truncate(limit.unwrap_or(usize::MAX));
            return Ok((tasks, has_more));
        }
        more = more.saturating_mul(2).max(MAX_JUDGED);
    }
}

/// Returns the refusal that a fresh claim of any ready task would get because too many reviews are open. Returns `None` when
/// at least one task can be claimed, when no task is ready, and when no limit is configured.
pub fn held_back(app: &App, whom: ReadyFor<'_>) -> Result<Option<Refusal>> {
    if !open_reviews::is_limited(app) {
        return Ok(None);
    }
    let (free, refusal) = claimable(app, whom)?;
    Ok(refusal.filter(|_| free.is_empty()))
}

/// The first ready tasks that a fresh claim would get, in claim order, and the first refusal of another one because too many
/// reviews are open.
pub(crate) fn claimable(app: &App, whom: ReadyFor<'_>) -> Result<(Vec<Task>, Option<Refusal>)> {
    app.read(|tx| {
        let (role, lane) = whom.scope(app, tx)?;
        let mut ready = Vec::new();
        tasks::for_each_ready(tx, role.as_ref(), lane.as_ref(), MAX_JUDGED, |task| {
            ready.push(task);
            Ok(ready.len() < MAX_JUDGED)
        })?;
        let ids: Vec<&TaskId> = ready.iter().map(|task| &task.id).collect();
        let elsewhere = landed_here::missing_now(app, tx, &ids)?;
        ready.retain(|task| elsewhere.iter().all(|(id, _)| *id != task.id));
        let (cache, mut refusal, mut free) = (OpenReviewsCache::new(), None, Vec::new());
        for task in ready {
            match open_reviews::refusal(app, tx, &task, &cache)? {
                Some(found) => refusal = refusal.or(Some(found)),
                None => free.push(task),
            }
        }
        Ok((free, refusal))
    })
}

/// Every open task that cannot be claimed, with the reasons: open dependencies, work of another host that is missing here, its
/// claim, or the limit of open reviews.
pub fn blocked_tasks(app: &App, whom: ReadyFor<'_>) -> Result<Vec<TaskView>> {
    app.read(|tx| {
        let (role, lane) = whom.scope(app, tx)?;
        let is_limited = open_reviews::is_limited(app);
        let is_on_server = app.settings.store.is_on_server();
        let mut found = Vec::new();
        tasks::for_each(tx, ListScope::Open, |task| {
            let fits = |wanted: Option<&str>, has: Option<&str>| wanted.is_none() || has.is_none() || wanted == has;
            let ours = fits(role.as_ref().map(Role::as_str), task.fields.role.as_ref().map(Role::as_str))
                && fits(lane.as_ref().map(LaneName::as_str), task.fields.lane.as_ref().map(LaneName::as_str));
            if ours && (!task.is_ready() || is_limited || (is_on_server && !task.fields.depends_on.is_empty())) {
                found.push(task);
            }
            Ok(true)
        })?;
        let ready: Vec<&TaskId> = found.iter().filter(|task| task.is_ready()).map(|task| &task.id).collect();
        let elsewhere = landed_here::missing_now(app, tx, &ready)?;
        let cache = OpenReviewsCache::new();
        let mut full = Vec::new();
        for task in found.iter().filter(|task| task.is_ready()) {
            if let Some(refusal) = open_reviews::refusal(app, tx, task, &cache)? {
                full.push((task.id.clone(), refusal));
            }
        }
        let is_barred = |id: &TaskId| full.iter().any(|(of, _)| of == id) || elsewhere.iter().any(|(of, _)| of == id);
        found.retain(|task| !task.is_ready() || is_barred(&task.id));
        let mut claimants = Claimants::new();
        found
            .iter()
            .map(|task| {
                let mut view = lookup::view(tx, task)?;
                let held = |code, message| NotReadyReason { code, id: task.id.clone(), message, fix: None };
                if let Some((_, refusal)) = full.iter().find(|(id, _)| *id == task.id) {
                    let message = refusal.to_string();
                    view.waiting_on.push(held(refusal.code(), message));
                }
                for (_, reason) in elsewhere.iter().filter(|(id, _)| *id == task.id) {
                    let fix = reason.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
                    let message = format!("{}{fix}", reason.message);
                    view.waiting_on.push(NotReadyReason { message, ..reason.clone() });
                }
                if let Some(claim) = task.state.claim() {
                    claimants.describe(tx, task, &mut view)?;
                    let mark = view.claimant.as_ref().and_then(ClaimantView::mark);
                    let mark = mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
                    let message =
                        format!("{} by {}{mark} since {}", task.state.status(), claim.claimant, claim.claimed_at);
                    view.waiting_on.push(held("held", message));
                }
                Ok(view)
            })
            .collect()
    })
}
