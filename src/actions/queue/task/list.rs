//! Looking at tasks.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{
        LaneName, Role, TaskId,
        task::{Task, TaskStatus},
    },
    store::tasks::{self, ListScope},
    wire::TaskView,
};

/// What a listing shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these; empty shows what is open.
    pub statuses: Vec<TaskStatus>,
    /// Only this role's.
    pub role: Option<Role>,
    /// Only this lane's.
    pub lane: Option<LaneName>,
    /// Only those with this label.
    pub label: Option<String>,
    /// Only those that somebody holds.
    pub held: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

impl Filter {
    fn matches(&self, task: &Task) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&task.state.status()))
            && self.role.as_ref().is_none_or(|role| task.fields.role.as_ref() == Some(role))
            && self.lane.as_ref().is_none_or(|lane| task.fields.lane.as_ref() == Some(lane))
            && self.label.as_ref().is_none_or(|label| task.fields.labels.contains(label))
            && (!self.held || task.state.status().is_claimed())
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

/// The tasks that a filter keeps, by priority, age and id.
///
/// # Errors
/// As the store fails.
pub fn list(app: &App, filter: &Filter) -> Result<Vec<TaskView>> {
    app.read(|tx| {
        if let Some(lane) = &filter.lane {
            lookup::lane(tx, lane)?;
        }
        let mut kept = Vec::new();
        tasks::for_each(tx, filter.range(), |task| {
            if filter.limit.is_some_and(|limit| kept.len() >= limit) {
                return Ok(false);
            }
            if filter.matches(&task) {
                kept.push(task);
            }
            Ok(true)
        })?;
        if filter.held {
            kept.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        }
        kept.iter().map(|task| Ok(TaskView::new(task, &lookup::not_ready_reasons(tx, task)?))).collect()
    })
}

fn sort_key(task: &Task) -> (u8, crate::env::Timestamp, &str) {
    (task.fields.priority, task.created_at, task.id.as_str())
}

/// One task.
///
/// # Errors
/// `not_found`.
pub fn show(app: &App, id: &TaskId) -> Result<TaskView> {
    app.read(|tx| lookup::task_view(tx, id))
}
