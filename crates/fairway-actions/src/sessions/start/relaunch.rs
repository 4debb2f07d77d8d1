//! Launching a session in the place of one that is over. It gets the same lane, task, role, provider and backend, the claims,
//! and the same conversation if the provider can resume it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use super::first_prompt;
use crate::core::dead_session::DeadSession;
use crate::core::only::Choice;
use crate::core::{inside_session, launch_event, lookup, message_state, other_host, session_process};
use crate::queue::lane::bring_here;
use crate::queue::task::claim;
use crate::sessions::launch::plan::{self, LaunchPlan, LaunchRequest, Work};
use crate::sessions::launch::program::{self, CommandSpec};
use crate::sessions::launch::provider_hooks::ProviderHooks;
use crate::sessions::launch::purpose::{self, Purpose, Relaunch};
use crate::sessions::launch::start::{self, PromptWatch};
use crate::sessions::launch::{record, sandbox};
use crate::sessions::liveness::backend_probe::BackendProber;
use crate::sessions::liveness::dead::{self, judge_claimants};
use crate::sessions::{budget, give_up};
use crate::{Answer, App};
use fairway_core::adapters::AdapterError;
use fairway_core::config::Permission;
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::session::Session;
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{Refusal, SessionId, TaskId};

#[derive(Debug, Clone)]
pub struct RelaunchRequest {
    /// Environment variables, which replace those of the launch; an empty value unsets.
    pub env: BTreeMap<String, String>,
    /// The provider in place of the session's own.
    pub provider: Option<Label>,
    /// The program, which replaces that of the launch.
    pub command: Option<CommandSpec>,
    /// Text for the first prompt, after Fairway's own.
    pub prompt: Option<String>,
    /// Whether the provider's profile adds no arguments to the program.
    pub no_profile: bool,
    pub hooks: &'static dyn ProviderHooks,
    /// Whether the conversation is resumed if that is possible.
    pub resumes: bool,
    /// Whether work on another host is brought to this one: its session is given up, and its lane gets a worktree here.
    pub here: bool,
    /// How long the relaunch waits for the delivery of the first prompt.
    pub watch: PromptWatch,
}

impl RelaunchRequest {
    /// The relaunch with the conversation, without anything else.
    pub const fn new(hooks: &'static dyn ProviderHooks) -> Self {
        Self {
            env: BTreeMap::new(),
            provider: None,
            command: None,
            prompt: None,
            no_profile: false,
            hooks,
            resumes: true,
            here: false,
            watch: PromptWatch::Briefly,
        }
    }
}

/// Launches a session in the place of one that is over, with its claims. With `here` in the request, the work of a session of
/// another host is first brought to this host. When the program ends because its old conversation is gone, it is launched again
/// with a new one.
///
/// # Errors
/// `session_alive` while the session, or a relaunch of it, may be alive; `session_mismatch` when it is on another host; with
/// `here` `host_alive`, `work_elsewhere`, `no_upstream` and `lane_held`; `not_found` and `lane_closed` for its lane; `usage`
/// when the request lacks a program or variable that was given only to the first launch; those of a launch; `inside_session`.
pub fn relaunch(app: &App, id: &SessionId, request: &RelaunchRequest) -> Result<Answer> {
    inside_session::refuse_unless_permitted(app, "session relaunch", Permission::Start)?;
    if let Some(answer) = app.stored_response()?.filter(|answer| !record::is_unfinished(answer)) {
        return Ok(answer);
    }
    let (of, chain) = app.read(|tx| {
        let of = lookup::session(tx, id)?;
        let chain = purpose::chain(tx, &of)?;
        Ok((of, chain))
    })?;
    let (of, notes) = if request.here {
        check_own_parts(app, &of, request)?;
        let notes = bring_here(app, &of)?;
        (app.read(|tx| lookup::session(tx, id))?, notes)
    } else {
        (of, Vec::new())
    };
    let dead = prove_over(app, &of)?;
    check_own_parts(app, &of, request)?;
    budget::check_start(app, of.task.as_ref(), &format!("{id} is not relaunched"))?;
    let mut first = plan(app, &of, &chain, dead.clone(), request)?;
    first.notes.splice(0..0, notes);
    let is_resumed = matches!(&first.purpose, Purpose::Relaunch(Relaunch { conversation: Some(_), .. }));
    match start::launch(app, first, request.watch) {
        // The provider may not have stored the conversation before the session died.
        Err(error) if is_resumed && is_not_started(&error) => {
            let mut fresh = plan(app, &of, &chain, dead, &RelaunchRequest { resumes: false, ..request.clone() })?;
            fresh.notes.push(format!("a new conversation begins, because the old one was not resumed: {error:#}"));
            start::launch(app, fresh, request.watch)
        }
        launched => launched,
    }
}

/// The dead sessions that have claims and can be relaunched: Fairway launched them, and no live session has replaced them. With
/// `stopped` those that a person or another session has stopped, otherwise those that ended by themselves.
pub fn dead_with_claims(app: &App, stopped: bool) -> Result<Vec<SessionId>> {
    let mut found = Vec::new();
    for (session, judged) in judge_claimants(app, None, None)? {
        let is_meant = session.adapter_script.is_some() && session.stopped_by().is_some() == stopped;
        if is_meant && judged.is_ok() && app.read(|tx| Ok(purpose::successors(tx, &session.id)?))?.is_empty() {
            found.push(session.id);
        }
    }
    Ok(found)
}

/// The only session that is over, by itself or by a stop, and has a claim that no other session continues.
///
/// # Errors
/// `usage` when there are several, or none.
pub fn only(app: &App) -> Result<SessionId> {
    let found = [dead_with_claims(app, false)?, dead_with_claims(app, true)?].concat();
    let choice = Choice {
        found: &found,
        noun: "session",
        fits: "are over",
        none: ("no session that is over has a claim", "list the sessions: fairway session list --all"),
    };
    Ok(choice.only(|first| format!("relaunch one: fairway session relaunch {first}"))?)
}

/// Makes the worktree of a session's lane on this host, and gives up the session and its relaunches on the other host. When git
/// fails, no session is changed.
fn bring_here(app: &App, of: &Session) -> Result<Vec<String>> {
    let is_elsewhere = |session: &Session| !session.status.is_final() && !session_process::is_local(session);
    let now = app.store_for_reading()?.time(app.env.now())?;
    let open = app.read(|tx| {
        let mut open: Vec<Session> = std::iter::once(of.clone()).chain(purpose::successors(tx, &of.id)?).collect();
        open.retain(is_elsewhere);
        for session in &open {
            give_up::last_heard(app, tx, session, now, false)?;
        }
        Ok(open)
    })?;
    let notes = of.lane.as_ref().map(|lane| bring_here::bring_here(app, lane)).transpose()?.unwrap_or_default();
    let unread = app.transaction(|tx| {
        let mut unread = Vec::new();
        for session in &open {
            let session = lookup::session(tx, &session.id)?;
            if is_elsewhere(&session) {
                unread.extend(message_state::unread_of(tx, &session.id)?);
                give_up::give_up(app, tx, &session, Some("its work was brought to another host"), false)?;
            }
        }
        Ok::<_, anyhow::Error>(unread)
    })?;
    Ok(notes.into_iter().chain(message_state::undelivered_note(&unread)).collect())
}

/// Proves that a session and its relaunches are over. Returns those whose end is not recorded.
fn prove_over(app: &App, of: &Session) -> Result<Vec<DeadSession>> {
    let others = app.read(|tx| {
        let mut others = purpose::successors(tx, &of.id)?;
        for session in purpose::predecessors(tx, of)? {
            if session.id != of.id && others.iter().all(|other| other.id != session.id) {
                others.push(session);
            }
        }
        Ok(others)
    })?;
    let mut prober = BackendProber::new();
    let mut dead = Vec::new();
    for session in std::iter::once(of).chain(&others) {
        if !session.status.is_final() && !session_process::is_local(session) {
            let words = ["session", "relaunch", of.id.as_str()];
            return Err(app.read(|tx| other_host::session_refusal(app, tx, session, &words))?.into());
        }
        let proof = dead::prove(app, session, &mut prober).map_err(|why| purpose::not_over(session, &of.id, &why))?;
        if !session.status.is_final() {
            dead.push(proof);
        }
    }
    Ok(dead)
}

/// Checks that the request has the program and the variables that were given only to the first launch, because they are not
/// stored.
fn check_own_parts(app: &App, of: &Session, request: &RelaunchRequest) -> Result<()> {
    let own = app.read(|tx| Ok(launch_event::own_parts(tx, of)?))?;
    let command = own.command && request.command.is_none() && request.provider.is_none();
    let env: Vec<String> = own.env.into_iter().filter(|name| !request.env.contains_key(name)).collect();
    if command || !env.is_empty() {
        return Err(Refusal::RelaunchNeeds { session: of.id.clone(), command, env }.into());
    }
    Ok(())
}

/// Whether the program, or by the protocol its backend, failed at its start.
fn is_not_started(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(AdapterError::ProgramEnded { .. } | AdapterError::Failed { .. }))
}

fn is_worktree_gone(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Refusal::NotFound { noun: "worktree", .. }))
}

fn plan(
    app: &App,
    of: &Session,
    chain: &[Session],
    dead: Vec<DeadSession>,
    request: &RelaunchRequest,
) -> Result<LaunchPlan> {
    let lane = of.lane.as_ref().map(|name| app.read(|tx| lookup::lane(tx, name))).transpose()?;
    if let Some(lane) = lane.as_ref().filter(|lane| lane.status == LaneStatus::Closed) {
        return Err(Refusal::LaneClosed { lane: lane.name.clone() }.into());
    }
    let was = &of.provider;
    let of = &Session { provider: request.provider.clone().or_else(|| was.clone()), ..of.clone() };
    let of_lane = |field: fn(&Lane) -> &Option<String>| lane.as_ref().and_then(|lane| field(lane).clone());
    let own_worktree = of.worktree.clone().filter(|dir| of_lane(|lane| &lane.worktree).as_ref() != Some(dir));
    let own_worktree = own_worktree.map(PathBuf::from);
    let own_worktree = own_worktree.filter(|dir| !request.here || !other_host::has_directory(app, of, dir));
    if let (None, Some(lane)) = (&own_worktree, &lane) {
        other_host::refuse_lane(app, lane, &["session", "relaunch", of.id.as_str()])?;
    }
    let mut launch = LaunchRequest {
        role: Some(of.role.clone()),
        lane: of.lane.clone(),
        backend: of.backend.clone(),
        // Its program for the protocol is known by the provider alone.
        provider: of.provider.clone().filter(|_| of.is_structured()),
        task: of.task.clone(),
        id_base: chain.last().map(|first| first.id.clone()),
        worktree: own_worktree,
        branch: of.branch.clone().filter(|_| of_lane(|lane| &lane.branch).is_none()),
        env: request.env.clone(),
        command: request.command.clone(),
        prompt: request.prompt.clone(),
        no_profile: request.no_profile,
        // A relaunch is no way out of the sandbox.
        sandbox: sandbox::of_session(of, lane.as_ref()),
        ..LaunchRequest::new(request.hooks)
    };
    let work = || {
        let task = of.task.as_ref().map(|id| app.read(|tx| lookup::task(tx, id))).transpose()?;
        Ok(Work { task, lane: lane.clone(), role: of.role.clone(), is_planned: false, is_claimed: true })
    };
    // The provider that the configuration would choose anyway needs no name: a role's settings go with it.
    let mut gone = None;
    let usual = match plan::plan_for(app, &launch, work) {
        // The project may have been moved.
        Err(error) if is_worktree_gone(&error) => {
            gone = launch.worktree.take();
            plan::plan_for(app, &launch, work)?
        }
        usual => usual?,
    };
    let is_unusual = |provider: &Label| of.is_structured() || usual.session.provider.as_ref() != Some(provider);
    let provider = of.provider.clone().filter(is_unusual);
    let own = first_prompt::reads_prompts(app, of).then(|| held_tasks(app, of)).transpose()?;
    let own = own.map(|held| first_prompt::of_relaunch(&of.id, &held));
    let prompt = first_prompt::with_text(own, request.prompt.as_deref());
    let launch = LaunchRequest { provider, prompt, ..launch };
    let (resume, note) = match was {
        Some(was) if of.provider.as_ref() != Some(was) => {
            (None, Some(format!("a new conversation begins: the old one was with {was}")))
        }
        _ => conversation(app, of, chain, request),
    };
    let resumed = LaunchRequest { resume: resume.clone(), ..launch.clone() };
    let (mut plan, conversation, note) = match plan::plan_for(app, &resumed, work) {
        Ok(plan) => (plan, resume, note),
        // The configured command has no place for it.
        Err(error) if resume.is_some() && matches!(error.downcast_ref(), Some(Refusal::Usage { .. })) => {
            (plan::plan_for(app, &launch, work)?, None, Some(error.to_string()))
        }
        Err(error) => return Err(error),
    };
    plan.notes.extend(note);
    let now = plan.session.worktree.as_deref().unwrap_or_default();
    plan.notes.extend(gone.map(|gone| format!("the worktree {} is gone; the session works in {now}", gone.display())));
    plan.session.relaunch_of = Some(of.id.clone());
    plan.purpose = Purpose::Relaunch(Relaunch { of: of.id.clone(), dead, conversation, continued: Vec::new() });
    Ok(plan)
}

/// The conversation to resume, or a note that says why none is resumed.
fn conversation(
    app: &App,
    of: &Session,
    chain: &[Session],
    request: &RelaunchRequest,
) -> (Option<String>, Option<String>) {
    if !request.resumes || request.no_profile || !first_prompt::reads_prompts(app, of) {
        return (None, None);
    }
    let provider = of.provider.as_ref().map(ToString::to_string).unwrap_or_default();
    let why = |why: String| (None, Some(format!("the conversation is not resumed: {why}")));
    if !session_process::is_local(of) {
        return why("it was held on another host".to_owned());
    }
    let is_other_program =
        request.command.as_ref().is_some_and(|command| program::name_of(command).as_ref() != Some(&provider));
    if is_other_program {
        return why(format!("the command is not {provider}"));
    }
    if !of.is_structured() && app.settings.provider(&provider).profile.resume_args.is_none() {
        return why(format!("the profile of the provider {provider} has no resume_args"));
    }
    match chain.iter().find_map(|session| session.external_session_id.clone()) {
        Some(conversation) => (Some(conversation), None),
        None => why("its id is unknown".to_owned()),
    }
}

/// The tasks that the session will continue, without those in review.
fn held_tasks(app: &App, of: &Session) -> Result<Vec<TaskId>> {
    let held = app.read(|tx| claim::held_by(tx, &purpose::predecessors(tx, of)?))?;
    Ok(held.into_iter().filter(|task| task.state.status() != TaskStatus::Review).map(|task| task.id).collect())
}
