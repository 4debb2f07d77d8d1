//! Whether a tool call may be made. There is no way to yes through an error: what cannot be read, trusted, parsed, told in
//! time or recorded is a no that says why.

pub mod log;
mod path_resolver;
mod tool_call_parser;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use serde_json::Value;

use self::path_resolver::PathResolver;
use crate::actions::{App, core::errors};
use crate::{
    config::trust::{self, GuardTrust},
    domain::{Event, EventKind, Role, secrets, session::Session},
    guard::{self, Evaluation, PathLocation, Rules, ShellInput},
    os::big_stack,
    store::{
        WriteTx,
        guard_decisions::{self, LoggedDecision},
        lanes, sessions,
    },
    wire::tool_input,
};

/// The longest input that is kept, in bytes.
const MAX_LOGGED_INPUT_BYTES: usize = 2_048;
/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 500;
/// How long the store is waited for, twice: for a turn, and for its lock.
const STORE_TIMEOUT: Duration = Duration::from_millis(450);
/// How long a text may take to be judged.
const EVALUATION_TIMEOUT: Duration = Duration::from_secs(2);
/// The stack for texts that are nested or long.
const STACK_BYTES: usize = 256 << 20;

/// A tool call, as a door brings it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool's own name.
    pub tool: String,
    /// Neutral names that the door knows for it.
    pub aliases: Vec<String>,
    /// What it is called with.
    pub input: Value,
    /// The directory that it is made from.
    pub cwd: Option<PathBuf>,
    /// The role that the caller says it has.
    pub role: Option<String>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardDecision {
    /// Whether it may be made.
    pub allowed: bool,
    /// Whether a rule allows it by name: it may answer for the person.
    pub explicitly_allowed: bool,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: Option<String>,
}

impl GuardDecision {
    /// A no.
    #[must_use]
    pub fn denied(reason: impl Into<String>) -> Self {
        Self { allowed: false, explicitly_allowed: false, reason: reason.into(), rule: None }
    }
}

/// Where a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// A provider's hook.
    Hook,
    /// The worker API.
    Api,
    /// The command line.
    Cli,
}

impl EntryPoint {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Api => "api",
            Self::Cli => "cli",
        }
    }
}

/// The rules in force and whether they may be gone by: made once, and again when one of [`Prepared::files`] changes.
#[derive(Debug, Clone)]
pub struct LoadedRules {
    rules: Option<Arc<Rules>>,
    trust: GuardTrust,
    root: PathBuf,
}

impl LoadedRules {
    /// The rules of this house. Reads what was trusted, and every file that it covers.
    #[must_use]
    pub fn load(app: &App) -> Self {
        let standing = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings);
        Self { rules: app.settings.guard.clone(), trust: standing, root: app.project.root.clone() }
    }

    /// Whether there are no rules, and none were trusted before: then there is no opinion either.
    #[must_use]
    pub fn is_unconfigured(&self) -> bool {
        self.rules.is_none() && self.trust == GuardTrust::Absent
    }

    /// The files beyond the configuration that decide whether the rules may be gone by: what remembers the trust, and every
    /// script that it covers. One that changes, comes or goes asks for a new [`Prepared`].
    #[must_use]
    pub fn watched_files(app: &App) -> Vec<PathBuf> {
        let scripts = trust::content(&app.project, &app.layers, &app.settings);
        let scripts = scripts.map(|content| content.scripts.into_keys().collect::<Vec<_>>()).unwrap_or_default();
        trust::record_file(&app.env, &app.project).into_iter().chain(scripts).collect()
    }
}

/// Decides on a call and records it; one that cannot be recorded is denied.
#[must_use]
pub fn authorize(app: &App, session: &Session, call: &ToolCall, door: EntryPoint) -> GuardDecision {
    let verdict = decide(app, session, call);
    record_or_deny(app, door, Some(session), call, verdict)
}

/// The same by the session's run; an unknown run is denied.
#[must_use]
pub fn authorize_run(app: &App, run_id: &str, call: &ToolCall, door: EntryPoint) -> GuardDecision {
    match with_short_timeout(app, || app.read(|tx| Ok(sessions::by_run_id(tx, run_id)?))) {
        Ok(Some(session)) => authorize(app, &session, call, door),
        Ok(None) => {
            let shown: String = run_id.chars().take(64).collect();
            record_or_deny(
                app,
                door,
                None,
                call,
                GuardDecision::denied(format!("there is no run '{}'", shown.escape_debug())),
            )
        }
        Err(error) => GuardDecision::denied(format!("whose call this is cannot be told: {}", error_message(&error))),
    }
}

/// The same for a door whose caller asks a person otherwise: `None` when nothing is said about tool calls here.
#[must_use]
pub fn authorize_if_configured(
    app: &App,
    session: &Session,
    call: &ToolCall,
    door: EntryPoint,
) -> Option<GuardDecision> {
    let prepared = LoadedRules::load(app);
    if prepared.is_unconfigured() {
        return None;
    }
    let verdict = decide_with_rules(&prepared, app, session, call);
    Some(record_or_deny(app, door, Some(session), call, verdict))
}

/// Decides on a call; records nothing.
#[must_use]
pub fn decide(app: &App, session: &Session, call: &ToolCall) -> GuardDecision {
    decide_with_rules(&LoadedRules::load(app), app, session, call)
}

/// The same with rules that were prepared before.
#[must_use]
pub fn decide_with_rules(prepared: &LoadedRules, app: &App, session: &Session, call: &ToolCall) -> GuardDecision {
    app.env.inject_test_fault();
    if session.status.is_final() {
        return GuardDecision::denied(format!(
            "the session {} is {}; it may do nothing more",
            session.id, session.status
        ));
    }
    if let Some(role) = call.role.as_deref().filter(|role| *role != session.role.as_str()) {
        let (said, is) = (role.chars().take(64).collect::<String>(), &session.role);
        return GuardDecision::denied(format!(
            "the caller says its role is '{}', the session's is {is}",
            said.escape_debug()
        ));
    }
    match evaluate(prepared, app, Some(session), &session.role, call) {
        Ok(judgement) => GuardDecision {
            allowed: judgement.allowed,
            explicitly_allowed: judgement.explicitly_allowed,
            reason: judgement.reason,
            rule: judgement.rule,
        },
        Err(why) => GuardDecision::denied(why),
    }
}

/// How a decision comes about.
///
/// # Errors
/// Why it cannot be made: that is a no too.
pub fn evaluate(
    prepared: &LoadedRules,
    app: &App,
    session: Option<&Session>,
    role: &Role,
    call: &ToolCall,
) -> Result<Evaluation, String> {
    let rules = match (&prepared.rules, &prepared.trust) {
        (_, GuardTrust::Untrusted(why)) => return Err(format!("{why}; look at it, then: fairway trust")),
        (Some(rules), GuardTrust::Trusted) => Arc::clone(rules),
        (None, _) | (Some(_), GuardTrust::Absent) => {
            return Err("the configuration has no [guard] section, so nothing is known to be allowed".to_owned());
        }
    };
    if call.tool.trim().is_empty() || call.tool.len() > 256 || call.tool.chars().any(char::is_control) {
        return Err("the call names no tool".to_owned());
    }
    if !call.input.is_object() {
        return Err("the call's input is no JSON object".to_owned());
    }
    let facts = tool_call_parser::parse(call, role);
    let places = if rules.rules.iter().any(guard::Rule::has_path_condition) {
        new_path_resolver(prepared, app, session, call)
    } else {
        PathResolver { base: PathBuf::new(), worktree: Err("nobody asked for it".to_owned()) }
    };
    let is_heavy = facts.shell_inputs.iter().any(|script| match script {
        ShellInput::Text(text) => guard::needs_large_stack(text),
        ShellInput::Argv(words) => words.iter().any(|word| guard::needs_large_stack(word)),
        ShellInput::Unsupported(_) => false,
    });
    let judge = move || {
        guard::evaluate(&rules, &facts, &|path: &str, below: &[String]| -> PathLocation { places.locate(path, below) })
    };
    let judged = if is_heavy {
        big_stack::run(STACK_BYTES, EVALUATION_TIMEOUT, judge)
    } else {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(judge)).ok()
    };
    judged.ok_or_else(|| "the call could not be judged: the text is too long or too deeply nested".to_owned())
}

fn new_path_resolver(prepared: &LoadedRules, app: &App, session: Option<&Session>, call: &ToolCall) -> PathResolver {
    let worktree = worktree(prepared, app, session);
    let base = worktree.clone().unwrap_or_default();
    let from = match &call.cwd {
        Some(cwd) => base.join(cwd),
        None => base,
    };
    PathResolver { base: from, worktree }
}

/// The session's worktree, else its lane's, else the project's root; links followed.
fn worktree(prepared: &LoadedRules, app: &App, session: Option<&Session>) -> Result<PathBuf, String> {
    let unknown = |why: String| format!("the session's worktree is not known: {why}");
    let own = session.and_then(|session| session.worktree.clone());
    let lane = session.and_then(|session| session.lane.clone());
    let stated = match (own, lane) {
        (Some(own), _) => Some(own),
        (None, None) => None,
        (None, Some(lane)) => match with_short_timeout(app, || app.read(|tx| Ok(lanes::find(tx, &lane)?))) {
            Ok(Some(lane)) => lane.worktree,
            Ok(None) => return Err(unknown(format!("there is no lane {lane}"))),
            Err(error) => return Err(unknown(error_message(&error))),
        },
    };
    let path = stated.map_or_else(|| prepared.root.clone(), |path| prepared.root.join(path));
    canonical_dir(&path).map_err(unknown)
}

fn canonical_dir(path: &Path) -> Result<PathBuf, String> {
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => Err(format!("{} is not a directory", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Records a decision, and a denial as an event too, in somebody's transaction.
///
/// # Errors
/// As the store fails.
pub fn record(
    tx: &WriteTx<'_>,
    door: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    verdict: &GuardDecision,
) -> Result<()> {
    let tool: String = call.tool.chars().take(128).collect();
    let reason: String = secrets::mask(&verdict.reason).chars().take(MAX_REASON_CHARS).collect();
    let decision = LoggedDecision {
        id: 0,
        at: tx.now(),
        entry_point: door.as_str().to_owned(),
        session_id: session.map(|session| session.id.to_string()),
        run_id: session.map(|session| session.run_id.clone()),
        role: session.map(|session| session.role.to_string()),
        tool: tool.clone(),
        input: tool_input::for_log(&call.input, MAX_LOGGED_INPUT_BYTES),
        allowed: verdict.allowed,
        rule: verdict.rule.clone(),
        reason: reason.clone(),
    };
    let id = guard_decisions::insert(tx, &decision)?;
    if !verdict.allowed {
        let event = Event::new(EventKind::GuardDenied)
            .with("id", id)
            .with("door", door.as_str())
            .with("tool", tool)
            .with("rule", verdict.rule.clone())
            .with("reason", reason);
        let event = match session {
            Some(session) => event.session(&session.id, &session.run_id),
            None => event,
        };
        tx.record(&event)?;
    }
    Ok(())
}

/// The verdict once it is recorded; a no when it cannot be.
fn record_or_deny(
    app: &App,
    door: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    verdict: GuardDecision,
) -> GuardDecision {
    match with_short_timeout(app, || app.transaction(|tx| record(tx, door, session, call, &verdict))) {
        Ok(()) => verdict,
        Err(error) if verdict.allowed => {
            GuardDecision::denied(format!("the decision cannot be recorded: {}", error_message(&error)))
        }
        Err(_) => verdict,
    }
}

/// Runs something that waits for the store only shortly: an agent waits meanwhile, and its hook has a deadline.
fn with_short_timeout<T>(app: &App, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let hurry = |span| app.store_for_reading().and_then(|store| Ok(store.set_busy_timeout(span)?));
    hurry(Some(STORE_TIMEOUT))?;
    let done = work();
    hurry(None)?;
    done
}

fn error_message(error: &anyhow::Error) -> String {
    errors::classify(error).message
}
