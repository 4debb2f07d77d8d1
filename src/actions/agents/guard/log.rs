//! The decision log.

use anyhow::Result;
use serde_json::Value;

use crate::{
    actions::App,
    domain::{SessionId, secrets},
    store::guard_decisions::{self, LoggedDecision},
    wire::LoggedDecisionView,
};

/// The newest decisions, oldest first.
pub fn log(app: &App, session: Option<&SessionId>, denied: bool, limit: i64) -> Result<Vec<LoggedDecisionView>> {
    let mut found =
        app.read(|tx| Ok(guard_decisions::newest(tx, session.map(SessionId::as_str), denied, limit.max(0))?))?;
    found.reverse();
    Ok(found.into_iter().map(view).collect())
}

fn view(decision: LoggedDecision) -> LoggedDecisionView {
    LoggedDecisionView {
        id: decision.id,
        at: LoggedDecisionView::time(decision.at),
        entry_point: decision.entry_point,
        session_id: decision.session_id,
        run_id: decision.run_id,
        role: decision.role,
        tool: decision.tool,
        input: serde_json::from_str(&decision.input).unwrap_or(Value::String(decision.input)),
        allowed: decision.allowed,
        rule: decision.rule,
        reason: secrets::mask(&decision.reason),
        context: decision.context.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
    }
}
