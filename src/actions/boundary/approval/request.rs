//! A provider asks.

use anyhow::Result;
use serde_json::Value;

use super::{SOURCE, describe};
use crate::{
    actions::{
        App,
        core::{approval_state::event, lookup},
        sessions::report::activity,
    },
    domain::{
        EventKind, Refusal,
        approval::{Approval, ApprovalStatus},
        session::{Activity, Session},
    },
    env::Timestamp,
    store::approvals,
    wire::tool_input,
};

/// How much of a tool's input is kept, in bytes.
const MAX_INPUT_BYTES: usize = 8 * 1024;
/// The longest name of a tool, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 256;

/// Notes that a provider asks whether `tool` may be used with `input`: the session requires action from now on. `answerable`
/// says whether an answer reaches the provider, by one who [`super::wait`]s for it.
///
/// # Errors
/// `session_final`, `invalid_value` for a tool without a name; as the store fails.
pub fn request(
    app: &App,
    session: &Session,
    provider: &str,
    tool: &str,
    input: &Value,
    answerable: bool,
) -> Result<i64> {
    let tool: String = tool.chars().filter(|letter| !letter.is_control()).collect();
    if tool.is_empty() || tool.len() > MAX_TOOL_NAME_BYTES {
        return Err(Refusal::invalid("tool", "has no name that could be shown").into());
    }
    let asked = Approval {
        id: 0,
        session: session.id.clone(),
        run_id: session.run_id.clone(),
        provider: provider.to_owned(),
        tool,
        input: tool_input::for_log(input, MAX_INPUT_BYTES),
        answerable,
        status: ApprovalStatus::Pending,
        reason: None,
        asked_at: Timestamp::from_millis(0),
        answered_at: None,
        answered_by: None,
    };
    app.transaction(|tx| {
        let now = lookup::session(tx, &session.id)?;
        now.check_open()?;
        now.check_run_id(Some(&session.run_id))?;
        let approval = approvals::insert(tx, asked)?;
        tx.record(&event(EventKind::ApprovalAsked, &approval).with("answerable", answerable))?;
        activity::set_activity(tx, &now, Activity::RequiresAction, Some(&describe(&approval)), SOURCE)?;
        Ok(approval.id)
    })
}
