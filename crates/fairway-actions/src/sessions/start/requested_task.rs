//! The task of a start: an existing one, or a title.

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use crate::queue::task::validate;
use fairway_core::domain::task::{Task, TaskFields};
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::store::tasks::{self, ListScope};

/// The task of a start.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    Known(Box<Task>),
    /// The task is to be added.
    New(Box<TaskFields>),
}

/// Finds the task that an argument names: text with a space is a title, any other text an id. The title of an open task names
/// that task, so that repeating an interrupted start continues with it. `body` describes a new task.
///
/// # Errors
/// `not_found`, with similar ids; `ambiguous` when several open tasks have the title; `invalid_value`; `usage` for the
/// description of a task that exists and has another one.
pub(super) fn find(app: &App, argument: &str, body: Option<&str>) -> Result<Subject> {
    let subject = named(app, argument, body)?;
    if let (Subject::Known(task), Some(body)) = (&subject, body)
        && task.fields.body != body
    {
        let id = &task.id;
        let why = format!("--body describes a new task, and {id} exists: {}", task.fields.title);
        let hint = format!("describe it: fairway task edit {id} --body TEXT");
        return Err(Refusal::ArgumentMissing { why, hint }.into());
    }
    Ok(subject)
}

fn named(app: &App, argument: &str, body: Option<&str>) -> Result<Subject> {
    if !argument.trim().contains(char::is_whitespace) {
        let id =
            TaskId::parse(argument).map_err(|_| Refusal::not_found("task", argument.escape_debug().to_string()))?;
        return app.read(|tx| lookup::task(tx, &id)).map(|task| Subject::Known(Box::new(task)));
    }
    let mut fields = TaskFields::with_title(argument.trim().to_owned());
    body.unwrap_or_default().clone_into(&mut fields.body);
    let fields = validate::normalize(fields)?;
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
