//! A start before anything is written: every value resolved and checked.

use anyhow::Result;

use crate::App;
use crate::queue::task::{add, claim};
use crate::sessions::launch::plan::{self, LaunchPlan, LaunchRequest, Work};
use crate::sessions::launch::purpose::{Purpose, Start};
use crate::sessions::liveness::dead;
use crate::sessions::{actor, budget, parking};
use fairway_core::domain::id::Label;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Refusal, Role, SessionId, TaskId};
use fairway_core::store::tasks;

use super::requested_task::Subject;
use super::task_lane::{self, TaskLane};
use super::{StartRequest, agent_program, first_prompt};

/// The role of a session when neither the command nor the task nor the lane names one.
const DEFAULT_ROLE: &str = "agent";

/// The longest part of a session's id that is made from its task's id, so that there is room for the provider and a number.
const MAX_TASK_CHARS: usize = 40;

/// A start that is resolved and checked.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The task. One that is not added yet has the id that it would get now.
    pub(super) task: Task,
    /// Whether the task is to be added.
    pub(super) is_new_task: bool,
    pub(super) place: TaskLane,
    pub(super) plan: LaunchPlan,
    /// Fairway's own prompt, which precedes the caller's.
    pub(super) own_prompt: Option<String>,
}

impl Draft {
    /// Finds the task and the lane of a start, and plans its launch. Writes nothing.
    pub(super) fn new(app: &App, subject: &Subject, request: &StartRequest) -> Result<Self> {
        let (task, is_new_task) = match subject {
            Subject::Known(task) => (task.as_ref().clone(), false),
            Subject::New(fields) => {
                let id = app.read(|tx| add::next_id(app, tx))?;
                (add::new_task(id, fields.as_ref().clone(), app.env.now()), true)
            }
        };
        let place = task_lane::find(app, &task, request)?;
        let plan = plan(app, &task, &place, request, is_new_task, place.is_new)?;
        let own_prompt = own_prompt(app, &plan, &task.id);
        Ok(Self { task, is_new_task, place, plan, own_prompt })
    }

    /// Checks that the session could claim the task. Does nothing for a new task, and for a start that claims nothing.
    ///
    /// # Errors
    /// The code of the rule that excludes the task.
    pub(super) fn check_claim(&self, app: &App, request: &StartRequest) -> Result<()> {
        if self.is_new_task || !request.claims {
            return Ok(());
        }
        let session = &self.plan.session;
        let dead = dead::dead_claimants(app, session.lane.as_ref(), Some(&self.task.id))?;
        let claimant = app.with_actor(actor::of_session(session), None);
        app.read(|tx| {
            let task = tasks::find(tx, &self.task.id)?.unwrap_or_else(|| self.task.clone());
            claim::check_at_start(&claimant, tx, session, &task, &dead)
        })
    }

    /// Checks that no budget is spent and that no usage limit holds for the provider.
    /// Fails with `budget_spent`, `provider_parked`.
    pub(super) fn check_limits(&self, app: &App, request: &StartRequest) -> Result<()> {
        // A new task has no id yet.
        let title = || shell_words::quote(&self.task.fields.title).into_owned();
        let task = if self.is_new_task { title() } else { self.task.id.to_string() };
        budget::check_start(app, Some(&self.task.id), &format!("{task} does not start"))?;
        let Some(provider) = self.plan.session.provider.as_ref().filter(|_| !request.anyway) else { return Ok(()) };
        let limited = app.read(|tx| Ok(parking::limited_providers(tx, app.env.now())?))?;
        let Some(parking) = limited.get(provider) else { return Ok(()) };
        let (provider, until) = (provider.clone(), parking.until);
        Err(Refusal::ProviderParked { task, provider, parking: parking.clause.clone(), until }.into())
    }
}

/// The provider of the session that a start of this task would launch; `None` for a program without one.
pub(crate) fn provider_of(app: &App, task: &Task, request: &StartRequest) -> Result<Option<Label>> {
    let place = task_lane::find(app, task, request)?;
    let of_role = app.settings.role(&role(task, &place, request)?);
    let chosen = agent_program::provider(app, request, &of_role, &place.lane)?;
    Ok(chosen.or(of_role.provider).or(place.lane.provider))
}

fn own_prompt(app: &App, plan: &LaunchPlan, task: &TaskId) -> Option<String> {
    first_prompt::reads_prompts(app, &plan.session).then(|| first_prompt::of_start(task))
}

/// Plans the launch of a start. The task and the lane need not be stored yet.
pub(super) fn plan(
    app: &App,
    task: &Task,
    place: &TaskLane,
    request: &StartRequest,
    added_task: bool,
    added_lane: bool,
) -> Result<LaunchPlan> {
    let lane = &place.lane;
    let role = role(task, place, request)?;
    let of_role = app.settings.role(&role);
    let provider = agent_program::provider(app, request, &of_role, lane)?;
    let backend = agent_program::backend(app, request, &of_role, lane, provider.as_ref());
    let launch = LaunchRequest {
        role: Some(role.clone()),
        lane: Some(lane.name.clone()),
        backend,
        structured: request.structured,
        provider,
        task: Some(task.id.clone()),
        env: request.env.clone(),
        command: request.command.clone(),
        prompt: request.prompt.clone(),
        no_profile: request.no_profile,
        sandbox: request.sandbox,
        ..LaunchRequest::new(request.hooks)
    };
    let work = || {
        Ok(Work {
            task: Some(task.clone()),
            lane: Some(lane.clone()),
            role: role.clone(),
            is_planned: place.is_new,
            is_claimed: request.claims,
        })
    };
    // The provider is known with the first plan; it is a part of the session's id and decides on the prompt.
    let first = plan::plan_for(app, &launch, work)?;
    let prompt = first_prompt::with_text(own_prompt(app, &first, &task.id), request.prompt.as_deref());
    let id_base = first.session.provider.as_ref().map(|provider| id_base(task, provider.as_str())).transpose()?;
    let mut plan = plan::plan_for(app, &LaunchRequest { id_base, prompt, ..launch }, work)?;
    let title = task.fields.title.clone();
    plan.purpose = Purpose::Start(Start { title, added_task, added_lane, claims: request.claims, claim: None });
    Ok(plan)
}

/// The base of the session's id, from task and provider.
fn id_base(task: &Task, provider: &str) -> Result<SessionId, Refusal> {
    let task: String = task.id.as_str().replace('.', "-").chars().take(MAX_TASK_CHARS).collect();
    let provider: String = provider.chars().take(16).collect();
    Ok(SessionId::parse(&format!("{task}-{provider}"))?)
}

fn role(task: &Task, place: &TaskLane, request: &StartRequest) -> Result<Role, Refusal> {
    let known = request.role.clone().or_else(|| task.fields.role.clone()).or_else(|| place.lane.role.clone());
    known.map_or_else(|| Ok(Role::parse(DEFAULT_ROLE)?), Ok)
}
