//! Decides whether a session may overwrite or delete what a remote has.

use serde_json::{Map, json};

use super::{
    authorize::record_or_deny,
    call::{EntryPoint, GuardDecision, ToolCall},
    rules::LoadedRules,
    short_timeout::{error_message, with_short_timeout},
};
use crate::{
    actions::App,
    config::trust::GuardTrust,
    domain::{RunId, session::Session},
    guard::Effect,
    store::sessions,
};

/// The name of such a push in the log.
const TOOL: &str = "git push";

/// Decides on a push that overwrites or deletes these refs of a remote, and records the decision. A push of an unknown session
/// run is denied, and so is every one while the rules are not trusted.
#[must_use]
pub fn authorize_forced_push(app: &App, run_id: &RunId, remote: &str, refs: &[String]) -> GuardDecision {
    let session = match with_short_timeout(app, || app.read(|tx| Ok(sessions::by_run_id(tx, run_id)?))) {
        Ok(Some(session)) => session,
        Ok(None) => return GuardDecision::denied("the session run is unknown"),
        Err(error) => return GuardDecision::denied(format!("cannot find the session: {}", error_message(&error))),
    };
    let call = ToolCall {
        tool: TOOL.to_owned(),
        aliases: Vec::new(),
        input: json!({ "remote": remote, "refs": refs }),
        cwd: None,
        role: None,
        context: Map::new(),
        runs_own_program: false,
    };
    let decision = decide(&LoadedRules::load(app), &session);
    record_or_deny(app, EntryPoint::Hook, Some(&session), &call, decision)
}

fn decide(loaded: &LoadedRules, session: &Session) -> GuardDecision {
    if session.status.is_final() {
        return GuardDecision::denied(format!("the session {} is {}", session.id, session.status));
    }
    if let GuardTrust::Untrusted(why) = &loaded.trust {
        return GuardDecision::denied(format!("{why}; review it, then run: fairway trust"));
    }
    let rule = loaded.rules.as_ref().and_then(|rules| rules.denied_effect(Effect::ForcePush, &session.role));
    let reason = rule.map_or_else(
        || "no rule denies it".to_owned(),
        |rule| rule.reason.clone().unwrap_or_else(|| "it overwrites or deletes what the remote has".to_owned()),
    );
    GuardDecision {
        allowed: rule.is_none(),
        explicitly_allowed: false,
        reason,
        rule: rule.map(|rule| rule.name.clone()),
    }
}
