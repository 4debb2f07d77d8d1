//! The task of a start: one that exists, or a title.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup, queue::task::validate},
    domain::{
        Refusal, TaskId,
        task::{Task, TaskFields},
    },
    store::tasks::{self, ListScope},
};

/// The task of a start.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    /// It exists.
    Known(Box<Task>),
    /// It is added.
    New(Box<TaskFields>),
}

/// The task that an argument means: text with a space is a title, other text an id. The title of an open task means that task,
/// so that a repeat of an interrupted start goes on with it.
///
/// # Errors
/// `not_found`, with similar ids; `ambiguous` when several open tasks have the title; `invalid_value`.
pub(super) fn find(app: &App, argument: &str) -> Result<Subject> {
    if !argument.trim().contains(char::is_whitespace) {
        let id =
            TaskId::parse(argument).map_err(|_| Refusal::not_found("task", argument.escape_debug().to_string()))?;
        return app.read(|tx| lookup::task(tx, &id)).map(|task| Subject::Known(Box::new(task)));
    }
    let fields = validate::normalize(TaskFields::with_title(argument.trim().to_owned()))?;
    let mut found = Vec::new();
    app.read(|tx| {
        tasks::for_each(tx, ListScope::Open, |task| {
            if task.fields.title == fields.title {
                found.push(task);
            }
            Ok(true)
        })?;
        Ok(())
    })?;
    match found.len() {
        0 => Ok(Subject::New(Box::new(fields))),
        1 => Ok(found.pop().map_or_else(|| Subject::New(Box::new(fields)), |task| Subject::Known(Box::new(task)))),
        _ => {
            let ids = found.iter().map(|task| task.id.to_string()).collect();
            Err(Refusal::Ambiguous { noun: "title", id: fields.title, found: ids }.into())
        }
    }
}
