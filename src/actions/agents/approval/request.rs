//! Records a permission request.

use anyhow::Result;
use serde_json::Value;

use super::common::{SOURCE, describe};
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

/// Maximum stored size of a tool's input.
const MAX_INPUT_BYTES: usize = 8 * 1024;
/// Maximum length of a tool's name.
const MAX_TOOL_NAME_BYTES: usize = 256;

/// Records that a provider asks whether `tool` may be used with `input`, and sets the session to `requires_action`. Returns
/// the approval's id. `answerable` says whether a hook waits for the answer with [`super::wait`].
///
/// # Errors
/// `session_final`, `invalid_value` for a tool without a name; store errors.
pub fn request(
    app: &App,
    session: &Session,
    provider: &str,
    tool: &str,
    input: &Value,
    answerable: bool,
) -> Result<i64> {
    let tool: String = tool.chars().filter(|character| !character.is_control()).collect();
    if tool.is_empty() || tool.len() > MAX_TOOL_NAME_BYTES {
        return Err(Refusal::invalid("tool", "name is empty or longer than 256 bytes").into());
    }
    let draft = Approval {
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
        let approval = approvals::insert(tx, draft)?;
        tx.record(&event(EventKind::ApprovalAsked, &approval).with("answerable", answerable))?;
        activity::set_activity(tx, &now, Activity::RequiresAction, Some(&describe(&approval)), SOURCE)?;
        Ok(approval.id)
    })
}
