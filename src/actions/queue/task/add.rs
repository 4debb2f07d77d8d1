//! A new task.

use anyhow::Result;

use super::validate;
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        Event, EventKind, Refusal, TaskId,
        task::{Task, TaskFields, TaskState},
    },
    store::{removed_tasks, tasks},
};

/// Adds a task under this id, or under the next generated id.
///
/// # Errors
/// `exists`, `not_found`, `cycle`, `invalid_value`.
pub fn add(app: &App, id: Option<&TaskId>, fields: TaskFields) -> Result<Answer> {
    let fields = validate::normalize(fields)?;
    app.mutate(|tx| {
        let id = match id {
            Some(id) => id.clone(),
            None => {
                let prefix = &app.settings.prefix;
                let newest = tasks::newest_number(tx, prefix)?.max(removed_tasks::newest_number(tx, prefix)?);
                TaskId::parse(&format!("{prefix}-{}", newest + 1))?
            }
        };
        if tasks::find(tx, &id)?.is_some() {
            return Err(Refusal::AlreadyExists { noun: "task", id: id.to_string() }.into());
        }
        if removed_tasks::find(tx, &id)?.is_some() {
            return Err(Refusal::IdUsed { task: id }.into());
        }
        validate::check_links(tx, &id, &fields, None)?;
        let now = tx.now();
        let task = Task {
            id: id.clone(),
            fields,
            state: TaskState::Todo,
            epoch: 0,
            open_deps: 0,
            branch: None,
            commit: None,
            created_at: now,
            updated_at: now,
        };
        tasks::insert(tx, &task)?;
        tx.record(
            &Event::new(EventKind::TaskAdded)
                .task(&id)
                .lane(task.fields.lane.as_ref())
                .with("title", task.fields.title.as_str())
                .with("priority", i64::from(task.fields.priority)),
        )?;
        Answer::new(&lookup::task_view(tx, &id)?, &id, format!("added {id}"))
    })
}
