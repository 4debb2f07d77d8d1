//! Decides on a tool call; records nothing.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    call::{GuardDecision, ToolCall},
    path_resolver::PathResolver,
    rules::LoadedRules,
    short_timeout::{error_message, with_short_timeout},
    tool_call_parser,
};
use crate::{
    actions::App,
    config::trust::GuardTrust,
    domain::{Role, session::Session},
    guard::{self, Evaluation, PathLocation, ShellInput},
    os::big_stack,
    store::lanes,
};

/// How long a text may take to be judged.
const EVALUATION_TIMEOUT: Duration = Duration::from_secs(2);
/// The stack for texts that are nested or long.
const STACK_BYTES: usize = 256 << 20;

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
