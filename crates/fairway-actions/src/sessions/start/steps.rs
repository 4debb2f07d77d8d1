//! The steps of a start, each undone when a later one fails.

use anyhow::Result;

use crate::core::{inside_session, lookup};
use crate::queue::task::add;
use crate::sessions::launch::{self, record};
use crate::{Answer, App};
use fairway_core::config::Permission;
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::wire::StartPlanView;

use super::draft::{self, Draft};
use super::requested_task::{self, Subject};
use super::{StartRequest, commands, task_lane};

/// Starts a session on a task, which `argument` names by id or title. `notes` is filled even when the start fails.
///
/// # Errors
/// Those of a claim and a launch, before anything is made. After a failed launch the session is `failed`, its claim is released
/// and a lane that was added is removed; a task that was added stays. `inside_session`.
pub fn start(app: &App, argument: &str, request: &StartRequest, notes: &mut Vec<String>) -> Result<Answer> {
    inside_session::refuse_unless_permitted(app, "start", Permission::Start)?;
    if let Some(answer) = app.stored_response()?.filter(|answer| !record::is_unfinished(answer)) {
        return Ok(answer);
    }
    let subject = requested_task::find(app, argument, request.body.as_deref())?;
    let draft = Draft::new(app, &subject, request)?;
    draft.check_claim(app, request)?;
    draft.check_limits(app, request)?;
    // The request id belongs to the launch; these steps find what an interrupted one has made.
    let step = app.with_actor(app.actor.clone(), None);
    let (task, added_task) = match subject {
        Subject::Known(task) => (*task, false),
        Subject::New(fields) => {
            let added = add::add(&step, None, *fields)?;
            let id = added.ids.first().map(String::as_str).unwrap_or_default();
            let task = app.read(|tx| lookup::task(tx, &TaskId::parse(id)?))?;
            notes.push(format!("added {}: {}", task.id, task.fields.title));
            (task, true)
        }
    };
    let place = task_lane::find(app, &task, request)?;
    let added_lane = task_lane::make(&step, &place)?;
    let launched = draft::plan(app, &task, &place.made(app)?, request, added_task, added_lane)
        .and_then(|plan| launch::start::launch(app, plan, request.watch));
    // A lane whose setup has failed shows why.
    let shows_setup = |error: &anyhow::Error| {
        matches!(error.downcast_ref(), Some(Refusal::SetupFailed { .. } | Refusal::LaneNotSetUp { .. }))
    };
    if launched.as_ref().is_err_and(|error| !shows_setup(error)) && added_lane {
        task_lane::unmake(&step, &place, notes);
    }
    if launched.is_err() && added_task {
        notes.push(format!("{0} stays, unclaimed; to start it: fairway start {0}", task.id));
    }
    launched
}

/// Lists the commands that together do what [`start`] would do. Writes nothing.
pub fn dry_run(app: &App, argument: &str, request: &StartRequest) -> Result<StartPlanView> {
    inside_session::refuse_unless_permitted(app, "start", Permission::Start)?;
    let subject = requested_task::find(app, argument, request.body.as_deref())?;
    let draft = Draft::new(app, &subject, request)?;
    draft.check_claim(app, request)?;
    draft.check_limits(app, request)?;
    Ok(commands::view(&draft, request))
}
