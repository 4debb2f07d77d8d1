//! Decides whether a session may push.

use anyhow::Result;
use serde_json::json;

use super::authorize::record_or_deny;
use super::call::{EntryPoint, GuardDecision, ToolCall};
use super::decide::{LoadedRules, error_message, with_short_timeout};
use crate::App;
use fairway_core::config::trust::GuardTrust;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, RunId};
use fairway_core::guard::PushKind;
use fairway_core::store::sessions;

/// The name of a push in the decision log.
const TOOL: &str = "git push";

/// Decides on a push of refs to a remote, and records the decision. `kinds` says what the push does to the refs. Denies every
/// push of an unknown session run, and every push while the rules are not trusted.
#[must_use]
pub fn authorize_push(app: &App, run_id: &RunId, remote: &str, kinds: &[PushKind], refs: &[String]) -> GuardDecision {
    let session = match with_short_timeout(app, || app.read(|tx| Ok(sessions::by_run_id(tx, run_id)?))) {
        Ok(Some(session)) => session,
        Ok(None) => return GuardDecision::denied("the session run is unknown"),
        Err(error) => return GuardDecision::denied(format!("cannot find the session: {}", error_message(&error))),
    };
    let call = ToolCall::new(TOOL, json!({ "remote": remote, "refs": refs }));
    let decision = decide(&LoadedRules::load(app), &session, kinds);
    record_or_deny(app, EntryPoint::Hook, Some(&session), &call, decision)
}

/// Refuses a push that creates a branch or adds commits to it, when a rule denies that to the calling session. Outside of
/// sessions no rule applies.
///
/// # Errors
/// `guard_denied`; errors of the store.
pub fn refuse_denied_push(app: &App, remote: &str, branch: &str) -> Result<()> {
    let Some(id) = &app.actor.session else { return Ok(()) };
    let session = app.read(|tx| Ok(sessions::find(tx, id)?))?;
    let session = session.ok_or_else(|| Refusal::not_found("session", id.as_str()))?;
    let refs = [format!("refs/heads/{branch}")];
    let decision = authorize_push(app, &session.run_id, remote, &[PushKind::Update], &refs);
    if decision.allowed {
        return Ok(());
    }
    Err(Refusal::GuardDenied { reason: decision.reason, rule: decision.rule }.into())
}

fn decide(loaded: &LoadedRules, session: &Session, kinds: &[PushKind]) -> GuardDecision {
    if session.status.is_final() {
        return GuardDecision::denied(format!("the session {} is {}", session.id, session.status));
    }
    if let GuardTrust::Untrusted(why) = &loaded.trust {
        return GuardDecision::denied(format!("{why}; review it, then run: fairway trust"));
    }
    let rules = loaded.rules.as_ref();
    let rule = rules.and_then(|rules| kinds.iter().find_map(|kind| rules.denied_push(*kind, &session.role)));
    let reason = rule.map_or_else(
        || "no rule denies it".to_owned(),
        |rule| rule.reason.clone().unwrap_or_else(|| "the rules deny such a push".to_owned()),
    );
    GuardDecision {
        allowed: rule.is_none(),
        explicitly_allowed: false,
        reason,
        rule: rule.map(|rule| rule.name.clone()),
    }
}
