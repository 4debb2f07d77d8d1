//! Lists, shows and exports tasks.

use anyhow::Result;

use super::timeline;
use crate::App;
use crate::core::lookup;
use crate::queue::claimants::Claimants;
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{LaneName, Role, TaskId};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{checkpoints, landings};
use fairway_core::wire::{DependentView, TaskDetailView, TaskView};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Empty for all open tasks.
    pub statuses: Vec<TaskStatus>,
    pub role: Option<Role>,
    pub lane: Option<LaneName>,
    pub label: Option<String>,
    /// A text in the id, title, body or a label; upper and lower case are equal.
    pub text: Option<String>,
    pub held: bool,
    pub limit: Option<usize>,
}

impl Filter {
    fn matches(&self, task: &Task, text: Option<&str>) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&task.state.status()))
            && self.role.as_ref().is_none_or(|role| task.fields.role.as_ref() == Some(role))
            && self.lane.as_ref().is_none_or(|lane| task.fields.lane.as_ref() == Some(lane))
            && self.label.as_ref().is_none_or(|label| task.fields.labels.contains(label))
            && (!self.held || task.state.status().is_claimed())
            && text.is_none_or(|text| contains(task, text))
    }

    fn range(&self) -> ListScope {
        if self.held {
            ListScope::Claimed
        } else if self.statuses.iter().any(|status| status.is_closed()) {
            ListScope::All
        } else {
            ListScope::Open
        }
    }
}

/// Whether `text`, given in lower case, is in the task's id, title, body or a label.
fn contains(task: &Task, text: &str) -> bool {
    let fields = &task.fields;
    [task.id.as_str(), &fields.title, &fields.body]
        .into_iter()
        .chain(fields.labels.iter().map(String::as_str))
        .any(|field| field.to_lowercase().contains(text))
}

/// The matching tasks, by priority, age and id.
pub fn list(app: &App, filter: &Filter) -> Result<Vec<TaskView>> {
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    app.read(|tx| {
        if let Some(lane) = &filter.lane {
            lookup::lane(tx, lane)?;
        }
        let mut kept = Vec::new();
        tasks::for_each(tx, filter.range(), |task| {
            if filter.limit.is_some_and(|limit| kept.len() >= limit) {
                return Ok(false);
            }
            if filter.matches(&task, text.as_deref()) {
                kept.push(task);
            }
            Ok(true)
        })?;
        if filter.held {
            kept.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        }
        let mut claimants = Claimants::new();
        let view = |task: &Task| {
            let mut view = lookup::view(tx, task)?;
            claimants.describe(tx, task, &mut view)?;
            Ok(view)
        };
        kept.iter().map(view).collect()
    })
}

fn sort_key(task: &Task) -> (u8, fairway_core::env::Timestamp, &str) {
    (task.fields.priority, task.created_at, task.id.as_str())
}

/// One task with its dependents, its newest written checkpoint and its newest history.
pub fn show(app: &App, id: &TaskId) -> Result<TaskDetailView> {
    app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let mut view = lookup::view(tx, &task)?;
        Claimants::new().describe(tx, &task, &mut view)?;
        if let (Some(shown), Some(claim)) = (&mut view.claim, task.state.claim()) {
            shown.lease_until = claim.lease_end(app.env.now()).map(|until| until.to_string());
        }
        let dependents = tasks::dependents(tx, id)?;
        let newest = checkpoints::newest_written(tx, id)?;
        let author = newest.as_ref().map(|newest| checkpoints::author(tx, newest)).transpose()?.flatten();
        let (timeline, has_earlier) = timeline::newest(tx, id)?;
        Ok(TaskDetailView {
            task: view,
            dependents: dependents
                .into_iter()
                .map(|(id, status)| DependentView { id: id.to_string(), status })
                .collect(),
            checkpoint: newest,
            checkpoint_by: author,
            landed_commit: landings::landed_commit(tx, id)?,
            timeline,
            has_earlier,
        })
    })
}

/// Passes every task to `see`, ordered by id, from one snapshot.
pub fn export(app: &App, mut see: impl FnMut(&TaskView) -> Result<()>) -> Result<()> {
    app.read(|tx| {
        let mut failed = None;
        tasks::for_each(tx, ListScope::ById, |task| {
            let seen = lookup::not_ready_reasons(tx, &task).and_then(|waiting| see(&TaskView::new(&task, &waiting)));
            failed = seen.err();
            Ok(failed.is_none())
        })?;
        failed.map_or(Ok(()), Err)
    })
}
