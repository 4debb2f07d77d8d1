//! Switching a live session between a structured one and one in its agent's own terminal, at the end of a turn. It stays the
//! same session, with its conversation and claims.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::core::{inside_session, launch_event, lookup};
use crate::sessions::control::interrupt;
use crate::sessions::control::running_session::RunningSession;
use crate::sessions::launch::outcome::launch_answer;
use crate::sessions::launch::plan::{self, LaunchPlan, LaunchRequest, Work};
use crate::sessions::launch::provider_hooks::ProviderHooks;
use crate::sessions::launch::purpose::Purpose;
use crate::sessions::launch::start::{self, PromptWatch};
use crate::sessions::launch::switch::Switch;
use crate::sessions::launch::{record, sandbox};
use crate::sessions::list;
use crate::{Answer, App};
use fairway_core::adapters::builtin_scripts;
use fairway_core::adapters::plumbing::commands::structured;
use fairway_core::config::Permission;
use fairway_core::config::project::STATE_DIR;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::env::vars;
use fairway_core::os::poll_until;

/// The backend for the agent's terminal when no other one is configured.
const TERMINAL_BACKEND: &str = "tmux";
/// The endings of the transcripts of a session that has switched.
const TERMINAL_MARK: &str = ".terminal.log";
const STRUCTURED_MARK: &str = ".structured.log";
/// How long a session in a terminal may report no activity before it is unknown whether a turn runs.
const UNKNOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the switch waits for the end of a turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often the activity of a session in a terminal is read.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The form in which a session is to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchTo {
    Terminal,
    Structured,
}

#[derive(Debug, Clone, Copy)]
pub struct SwitchRequest {
    pub to: SwitchTo,
    /// Whether a running turn is cancelled instead of awaited.
    pub cancels_turn: bool,
    pub hooks: &'static dyn ProviderHooks,
}

impl SwitchTo {
    const fn verb(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Structured => "structured",
        }
    }

    const fn back(self) -> Self {
        match self {
            Self::Terminal => Self::Structured,
            Self::Structured => Self::Terminal,
        }
    }

    fn is_of(self, session: &Session) -> bool {
        session.is_structured() == (self == Self::Structured)
    }
}

/// Replaces the program of a live session: by one in a terminal, or by one without a terminal. A session that already runs in
/// that way stays unchanged. Before the change it waits for the end of the running turn, or cancels the turn if the request says
/// so. When the new program does not start, the earlier one is started again.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`; `usage` when the conversation cannot continue there; those of a launch;
/// `inside_session`.
pub fn switch(app: &App, id: &SessionId, request: &SwitchRequest) -> Result<Answer> {
    inside_session::refuse_unless_permitted(app, "session structured", Permission::Start)?;
    if let Some(answer) = app.stored_response()?.filter(|answer| !record::is_unfinished(answer)) {
        return Ok(answer);
    }
    let verb = request.to.verb();
    let of = RunningSession::find(app, id, &["session", verb, id.as_str()])?.session;
    if request.to.is_of(&of) {
        let purpose = Purpose::Switch(Box::new(Switch { from: of.clone(), is_return: false }));
        let mut answer = launch_answer(&of, &purpose, None, Vec::new())?;
        answer.line =
            format!("unchanged: {id} is {} already", if of.is_structured() { "structured" } else { "in a terminal" });
        return Ok(answer);
    }
    let (mut there, _) = plans(app, &of, request)?;
    await_turn(app, &of, request.cancels_turn)?;
    // The terminal may have told another id of the conversation meanwhile, and the row is what the switch compares with.
    let of = app.read(|tx| lookup::session(tx, id))?;
    there.purpose = Purpose::Switch(Box::new(Switch { from: of.clone(), is_return: false }));
    let run = there.session.run_id.clone();
    let failed = match start::launch(app, there, PromptWatch::Skip) {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    let now = app.read(|tx| lookup::session(tx, id))?;
    if now.run_id != run {
        // The earlier program was not touched.
        return Err(failed);
    }
    let app = app.with_actor(app.actor.clone(), None);
    let (_, mut back) = plans(&app, &of, request)?;
    back.purpose = Purpose::Switch(Box::new(Switch { from: of, is_return: true }));
    match start::launch(&app, back, PromptWatch::Skip) {
        Ok(_) => Err(failed),
        Err(second) => Err(failed.context(format!("{id} cannot go on as before either: {second:#}"))),
    }
}

/// Whether a session runs without a terminal, in the backend `acp`.
///
/// # Errors
/// `not_found`.
pub fn is_structured(app: &App, id: &SessionId) -> Result<bool> {
    Ok(app.read(|tx| lookup::session(tx, id))?.is_structured())
}

/// Checks whether anything that is known before the switch forbids it, and changes nothing.
///
/// # Errors
/// Those of [`switch`].
pub fn check(app: &App, id: &SessionId, request: &SwitchRequest) -> Result<()> {
    inside_session::refuse_unless_permitted(app, "session structured", Permission::Start)?;
    let of = app.read(|tx| lookup::session(tx, id))?;
    plans(app, &of, request).map(|_| ())
}

/// Starts the program of a live session again, in its form and with its conversation. Returns `false`, and changes nothing, when
/// the conversation cannot go on.
///
/// # Errors
/// Those of a launch.
pub(in crate::sessions) fn restart(app: &App, of: &Session, hooks: &'static dyn ProviderHooks) -> Result<bool> {
    let to = if of.is_structured() { SwitchTo::Structured } else { SwitchTo::Terminal };
    let planned = conversation(app, of).and_then(|conversation| plan(app, of, to, &conversation, hooks));
    let mut plan = match planned {
        Err(error) if matches!(error.downcast_ref(), Some(Refusal::Usage { .. })) => return Ok(false),
        planned => planned?,
    };
    let from = app.read(|tx| lookup::session(tx, &of.id))?;
    plan.purpose = Purpose::Switch(Box::new(Switch { from, is_return: false }));
    start::launch(app, plan, PromptWatch::Skip).map(|_| true)
}

/// The plans of the other program, and of the present one in case the other one fails.
fn plans(app: &App, of: &Session, request: &SwitchRequest) -> Result<(LaunchPlan, LaunchPlan)> {
    let conversation = conversation(app, of)?;
    let provider = of.provider.as_ref().map(ToString::to_string).unwrap_or_default();
    if app.settings.provider(&provider).profile.acp.and_then(|acp| acp.facts.switches) == Some(false) {
        let why = format!("a conversation of {provider} was seen not to go on in a terminal and back");
        return Err(Refusal::Usage { why }.into());
    }
    let there = plan(app, of, request.to, &conversation, request.hooks)?;
    Ok((there, plan(app, of, request.to.back(), &conversation, request.hooks)?))
}

/// The conversation of a session whose program can be started again.
fn conversation(app: &App, of: &Session) -> Result<String> {
    let own = app.read(|tx| Ok(launch_event::own_parts(tx, of)?))?;
    if own.command || !own.env.is_empty() {
        let why = format!(
            "{} was launched with a program or variables of its own, which are not stored; stop and relaunch it instead",
            of.id
        );
        return Err(Refusal::Usage { why }.into());
    }
    let unknown = || Refusal::Usage { why: format!("the conversation of {} is unknown", of.id) };
    Ok(of.external_session_id.clone().ok_or_else(unknown)?)
}

fn plan(
    app: &App,
    of: &Session,
    to: SwitchTo,
    conversation: &str,
    hooks: &'static dyn ProviderHooks,
) -> Result<LaunchPlan> {
    let lane = of.lane.as_ref().map(|name| app.read(|tx| lookup::lane(tx, name))).transpose()?;
    let is_of_lane = |dir: &String| lane.as_ref().and_then(|lane| lane.worktree.as_ref()) == Some(dir);
    let backend = match to {
        _ if to.is_of(of) => of.backend.clone().unwrap_or_default(),
        SwitchTo::Structured => builtin_scripts::STRUCTURED.to_owned(),
        SwitchTo::Terminal => {
            let of_role = app.settings.role(&of.role).backend;
            let of_lane = lane.as_ref().and_then(|lane| lane.backend.clone());
            let chosen = [of_role, of_lane, Some(app.settings.sessions.default_backend.clone())];
            let has_terminal = |name: &String| !["shell", builtin_scripts::STRUCTURED].contains(&name.as_str());
            chosen.into_iter().flatten().find(has_terminal).unwrap_or_else(|| TERMINAL_BACKEND.to_owned())
        }
    };
    let launch = LaunchRequest {
        role: Some(of.role.clone()),
        lane: of.lane.clone(),
        backend: Some(backend),
        provider: of.provider.clone(),
        task: of.task.clone(),
        id: Some(of.id.clone()),
        keeps_id: true,
        worktree: of.worktree.clone().filter(|dir| !is_of_lane(dir)).map(PathBuf::from),
        branch: of.branch.clone(),
        transcript: Some(if to.is_of(of) { current_transcript(of) } else { other_transcript(of, to) }),
        resume: Some(conversation.to_owned()),
        // A switch is no way out of the sandbox.
        sandbox: sandbox::of_session(of, lane.as_ref()),
        ..LaunchRequest::new(hooks)
    };
    let work = || {
        let task = of.task.as_ref().map(|id| app.read(|tx| lookup::task(tx, id))).transpose()?;
        Ok(Work { task, lane: lane.clone(), role: of.role.clone(), is_planned: false, is_claimed: true })
    };
    let mut plan = plan::plan_for(app, &launch, work)?;
    // They have run for this session.
    plan.start.pre_start = None;
    plan.start.session_setup = None;
    plan.start.session_setup_script = None;
    Ok(plan)
}

fn current_transcript(of: &Session) -> PathBuf {
    let usual = || Path::new(STATE_DIR).join("transcripts").join(format!("{}.log", of.id));
    of.transcript.as_ref().map_or_else(usual, PathBuf::from)
}

/// The transcript of the other form, a file of its own, so that the two are not mixed.
fn other_transcript(of: &Session, to: SwitchTo) -> PathBuf {
    let current = current_transcript(of);
    let text = current.to_string_lossy();
    let (own, other) = match to {
        SwitchTo::Terminal => (STRUCTURED_MARK, TERMINAL_MARK),
        SwitchTo::Structured => (TERMINAL_MARK, STRUCTURED_MARK),
    };
    match text.strip_suffix(own) {
        // It has switched before.
        Some(stem) => format!("{stem}.log").into(),
        None => format!("{}{other}", text.strip_suffix(".log").unwrap_or(&text)).into(),
    }
}

/// Waits for the end of the turn, or ends it.
fn await_turn(app: &App, of: &Session, cancels: bool) -> Result<()> {
    if of.is_structured() {
        let state = of.adapter_state.clone().map(|dir| (vars::FAIRWAY_ADAPTER_STATE.to_owned(), dir));
        let env = app.env.with_vars(&state.into_iter().collect());
        if cancels {
            structured::cancel(&env, of.name())?;
        }
        return structured::pause(&env, of.name());
    }
    if cancels {
        interrupt::interrupt(app, &of.id, false)?;
    }
    let begun = Instant::now();
    let look = || -> Result<bool> {
        let (overview, _, _) = list::show(app, &of.id)?;
        match overview.current_activity() {
            Some(Activity::Idle) => Ok(true),
            None => Err(Refusal::SessionExited { session: of.id.clone(), status: of.status }.into()),
            // Its keys for that were pressed.
            Some(Activity::Unknown) if cancels => Ok(true),
            Some(Activity::Unknown) if begun.elapsed() > UNKNOWN_TIMEOUT => {
                let why = format!("nothing tells whether a turn of {} runs: its agent reports no activity", of.id);
                Err(Refusal::Usage { why }.into())
            }
            Some(_) => Ok(false),
        }
    };
    let ended = poll_until::poll_until(TURN_TIMEOUT, POLL_INTERVAL, || match look() {
        Ok(false) => None,
        done => Some(done),
    });
    let busy = || Refusal::Usage { why: format!("the turn of {} did not end within a day", of.id) };
    ended.ok_or_else(busy)?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_core::domain::Role;
    use fairway_core::domain::session::SessionStatus;
    use fairway_core::env::Timestamp;

    #[test]
    fn each_form_has_its_own_transcript() {
        let id = SessionId::parse("s").unwrap();
        let session = |transcript: &str| Session {
            transcript: Some(transcript.to_owned()),
            ..Session::new(
                id.clone(),
                "r".to_owned().into(),
                Role::parse("dev").unwrap(),
                SessionStatus::Running,
                Timestamp::from_millis(0),
            )
        };
        for (from, to, other) in [
            ("/t/s.log", SwitchTo::Terminal, "/t/s.terminal.log"),
            ("/t/s.terminal.log", SwitchTo::Structured, "/t/s.log"),
            ("/t/s.log", SwitchTo::Structured, "/t/s.structured.log"),
            ("/t/s.structured.log", SwitchTo::Terminal, "/t/s.log"),
        ] {
            assert_eq!(other_transcript(&session(from), to), Path::new(other));
        }
    }
}
