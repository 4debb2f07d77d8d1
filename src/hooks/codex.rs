//! Codex's events and answers. Any field that it does not know voids a whole answer of ours.

use serde_json::Value;

use super::{Provider, claude, payload::Payload};
use crate::actions::boundary::hook::{Moment, Reply};

/// The moment that a payload tells of.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn moment(event: &str, told: &Payload, role: Option<&str>) -> Result<Moment, String> {
    Ok(match event {
        "SessionStart" => Moment::SessionStart(claude::start(told)),
        "UserPromptSubmit" => Moment::TurnStart,
        "PreToolUse" => Moment::BeforeTool(told.call(Provider::Codex, role)?),
        "PermissionRequest" => Moment::PermissionAsked(told.call(Provider::Codex, role)?),
        // A call that failed tells nothing.
        "PostToolUse" => claude::after(told, true)?,
        "Stop" => Moment::TurnEnd,
        "SubagentStop" => Moment::SubagentEnd(told.agent_transcript_path.clone()),
        "SessionEnd" => {
            Moment::SessionEnd { reason: told.reason.clone().unwrap_or_else(|| "other".into()), goes_on: false }
        }
        _ => Moment::Other,
    })
}

/// The answer in the vendor's form; `None` where there is nothing to say. It is not known to heed a permission before a
/// tool.
pub(super) fn answer(event: &str, reply: &Reply) -> Option<Value> {
    claude::shared(event, reply)
}
