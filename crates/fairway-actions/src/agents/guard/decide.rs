//! The rules in force, and the decision on a tool call by them; records nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::call::{GuardDecision, ToolCall};
use super::path_resolver::{PathResolver, protected_directories};
use super::tool_call_parser;
use crate::App;
use crate::core::{errors, other_host};
use fairway_core::config::trust::{self, GuardTrust};
use fairway_core::domain::Role;
use fairway_core::domain::session::Session;
use fairway_core::guard::{self, Evaluation, PathLocation, Rules};
use fairway_core::os::time_limit;
use fairway_core::store::lanes;

/// Maximum evaluation time. The number of steps is limited too, so only a heavily loaded machine needs that long.
const EVALUATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent evaluations. One that exceeds its time gets an answer, but its thread still counts here.
const MAX_EVALUATIONS: usize = 64;
/// Stack size of an evaluation, for the deepest text that is parsed.
const STACK_BYTES: usize = 64 << 20;

/// Counts one running evaluation until it is dropped.
struct AtWork;

/// The number of running evaluations.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

impl AtWork {
    fn begin() -> Option<Self> {
        let started = Self;
        (AT_WORK.fetch_add(1, Ordering::Relaxed) < MAX_EVALUATIONS).then_some(started)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Decides on a tool call by the guard rules of the project, like `authorize`, but records nothing.
#[must_use]
pub fn decide(app: &App, session: &Session, call: &ToolCall) -> GuardDecision {
    decide_with_rules(&LoadedRules::load(app), app, session, call)
}

/// Like [`decide`], with rules that the caller has loaded.
#[must_use]
pub fn decide_with_rules(loaded: &LoadedRules, app: &App, session: &Session, call: &ToolCall) -> GuardDecision {
    app.env.inject_test_fault();
    if let Some(denied) = while_paused(app, session) {
        return denied;
    }
    if session.status.is_final() {
        return GuardDecision::denied(format!(
            "the session {} is {}; it may do nothing more",
            session.id, session.status
        ));
    }
    if let Some(role) = call.role.as_deref().filter(|role| *role != session.role.as_str()) {
        let (claimed, actual) = (role.chars().take(64).collect::<String>(), &session.role);
        return GuardDecision::denied(format!(
            "the caller claims the role '{}', but the session's role is {actual}",
            claimed.escape_debug()
        ));
    }
    match evaluate(loaded, app, Some(session), &session.role, call) {
        Ok(evaluation) => GuardDecision {
            allowed: evaluation.allowed,
            explicitly_allowed: evaluation.explicitly_allowed,
            reason: evaluation.reason,
            rule: evaluation.rule,
        },
        Err(why) => GuardDecision::denied(why),
    }
}

/// The denial of every call of a session that a budget has paused.
pub(super) fn while_paused(app: &App, session: &Session) -> Option<GuardDecision> {
    let parking = session.parking(app.env.now()).filter(|_| session.is_paused(app.env.now()))?;
    let why = format!("the session {} is {parking}; a person can raise it: fairway budget", session.id);
    Some(GuardDecision::denied(why))
}

/// Evaluates the rules for a call, with the trace of the evaluation.
///
/// # Errors
/// The reason why the call cannot be evaluated. Callers must deny it.
pub fn evaluate(
    loaded: &LoadedRules,
    app: &App,
    session: Option<&Session>,
    role: &Role,
    call: &ToolCall,
) -> Result<Evaluation, String> {
    let rules = match (&loaded.rules, &loaded.trust) {
        (_, GuardTrust::Untrusted(why)) => {
            return Err(format!("{why}; no call is allowed until a person has reviewed and trusted it"));
        }
        (Some(rules), GuardTrust::Trusted) => Arc::clone(rules),
        (None, _) | (Some(_), GuardTrust::Absent) => {
            return Err("the configuration has no [guard] section, so no call is allowed".to_owned());
        }
    };
    if call.tool.trim().is_empty() || call.tool.len() > 256 || call.tool.chars().any(char::is_control) {
        return Err("the tool name is empty or invalid".to_owned());
    }
    if !call.input.is_object() {
        return Err("the call's input is not a JSON object".to_owned());
    }
    let facts = tool_call_parser::parse(call, role);
    let resolver = if rules.rules.iter().any(guard::Rule::has_path_condition) {
        new_path_resolver(loaded, app, session, call)
    } else {
        let worktree = Err("not resolved: no rule has a path condition".to_owned());
        PathResolver { base: PathBuf::new(), worktree, protected: Vec::new() }
    };
    let Some(at_work) = AtWork::begin() else {
        return Err("the call could not be judged: too many others are being judged".to_owned());
    };
    let evaluation = time_limit::run_on_big_stack(STACK_BYTES, EVALUATION_TIMEOUT, move || {
        let _at_work = at_work;
        guard::evaluate(&rules, &facts, &|path: &str, below: &[String]| -> PathLocation {
            resolver.locate(path, below)
        })
    });
    evaluation.ok_or_else(|| "the call could not be judged in time".to_owned())
}

fn new_path_resolver(loaded: &LoadedRules, app: &App, session: Option<&Session>, call: &ToolCall) -> PathResolver {
    let worktree = worktree(loaded, app, session);
    let base = worktree.clone().unwrap_or_default();
    let from = match &call.cwd {
        Some(cwd) => base.join(cwd),
        None => base,
    };
    let own = app.project.protected_dirs().into_iter();
    let protected = worktree.as_ref().map(|worktree| protected_directories(worktree, own));
    PathResolver { base: from, protected: protected.unwrap_or_default(), worktree }
}

/// The session's worktree, else its lane's, else the project's root, with links resolved.
fn worktree(loaded: &LoadedRules, app: &App, session: Option<&Session>) -> Result<PathBuf, String> {
    let unknown = |why: String| format!("the session's worktree is unknown: {why}");
    let own = session.and_then(|session| session.worktree.clone());
    let lane = session.and_then(|session| session.lane.clone());
    let configured = match (own, lane) {
        (Some(own), _) => Some(own),
        (None, None) => None,
        (None, Some(lane)) => match with_short_timeout(app, || app.read(|tx| Ok(lanes::find(tx, &lane)?))) {
            Ok(Some(lane)) if other_host::has_worktree(app, &lane) => {
                return Err(unknown(format!("that of the lane {} is on another host", lane.name)));
            }
            Ok(Some(lane)) => lane.worktree,
            Ok(None) => return Err(unknown(format!("there is no lane {lane}"))),
            Err(error) => return Err(unknown(error_message(&error))),
        },
    };
    let path = configured.map_or_else(|| loaded.root.clone(), |path| loaded.root.join(path));
    canonical_dir(&path).map_err(unknown)
}

fn canonical_dir(path: &Path) -> Result<PathBuf, String> {
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => Err(format!("{} is not a directory", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The rules in force and their trust status.
#[derive(Debug, Clone)]
pub struct LoadedRules {
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) trust: GuardTrust,
    pub(super) root: PathBuf,
    /// The digest of the trust record by which the rules are trusted; `None` without a record.
    pub digest: Option<String>,
}

impl LoadedRules {
    pub fn load(app: &App) -> Self {
        let trust = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings);
        Self { rules: app.settings.guard.clone(), trust, root: app.project.root.clone(), digest: None }
    }

    /// Like [`Self::load`], with the digest of the trust record, for a server whose clients check which rules it enforces.
    pub fn load_with_digest(app: &App) -> Self {
        Self { digest: trust::record_digest(&app.layers), ..Self::load(app) }
    }

    /// Whether there are no rules and none were trusted before; the guard then abstains.
    pub fn is_unconfigured(&self) -> bool {
        self.rules.is_none() && self.trust == GuardTrust::Absent
    }
}

/// Busy timeout of the store. It applies twice: to the write queue and to the lock.
const STORE_TIMEOUT: Duration = Duration::from_millis(450);

/// Runs `work` with a short time limit for a busy store, because the agent waits meanwhile and its hook has a deadline.
pub(super) fn with_short_timeout<T>(app: &App, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let set_timeout = |span| app.store_for_reading().and_then(|store| Ok(store.set_busy_timeout(span)?));
    set_timeout(Some(STORE_TIMEOUT))?;
    let result = work();
    set_timeout(None)?;
    result
}

pub(super) fn error_message(error: &anyhow::Error) -> String {
    errors::classify(error).message
}
