//! A new task.

use anyhow::Result;

use super::validate;
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::task::{Task, TaskFields, TaskState};
use fairway_core::domain::{Event, EventKind, Refusal, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, removed_tasks, tasks};

pub fn add(app: &App, id: Option<&TaskId>, fields: TaskFields) -> Result<Answer> {
    let fields = validate::normalize(fields)?;
    app.mutate(|tx| {
        let id = match id {
            Some(id) => id.clone(),
            None => next_id(app, tx)?,
        };
        if tasks::find(tx, &id)?.is_some() {
            return Err(Refusal::AlreadyExists { noun: "task", id: id.to_string() }.into());
        }
        if removed_tasks::find(tx, &id)?.is_some() {
            return Err(Refusal::IdUsed { task: id }.into());
        }
        validate::check_links(tx, &id, &fields, None)?;
        let task = new_task(id.clone(), fields, tx.now());
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

pub fn next_id(app: &App, tx: &ReadTx<'_>) -> Result<TaskId> {
    let prefix = &app.settings.tasks.prefix;
    let newest = tasks::newest_number(tx, prefix)?.max(removed_tasks::newest_number(tx, prefix)?);
    Ok(TaskId::parse(&format!("{prefix}-{}", newest + 1))?)
}

pub fn new_task(id: TaskId, fields: TaskFields, now: Timestamp) -> Task {
    Task {
        id,
        fields,
        state: TaskState::Todo,
        epoch: 0,
        open_deps: 0,
        branch: None,
        commit: None,
        created_at: now,
        updated_at: now,
    }
}
