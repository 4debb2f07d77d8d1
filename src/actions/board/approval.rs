//! Pending approvals.

use serde_json::Value;

use super::{facts::Facts, need::Need};
use crate::{
    actions::{App, core::approval_state::ALWAYS_FIELD, sessions::control::dialog::RecordedDialogs},
    domain::{approval::Approval, need::NeedKind},
    wire::tool_input,
};

/// An item for each pending approval of a session that is not proven dead: the provider of a dead one waits no longer.
pub(super) fn items(app: &App, facts: &Facts) -> Vec<Need> {
    facts.approvals.iter().filter_map(|approval| item(app, facts, approval)).collect()
}

fn item(app: &App, facts: &Facts, approval: &Approval) -> Option<Need> {
    let id = approval.id;
    let one = facts.session(&approval.session).filter(|one| !one.is_over())?;
    let input: Value = serde_json::from_str(&approval.input).unwrap_or_else(|_| Value::String(approval.input.clone()));
    let line = format!("{}: {}", approval.tool, tool_input::summary(&input));
    let evidence = format!("approval {id}, asked by {}", approval.provider);
    let need = Need::new(NeedKind::Approval, &id.to_string(), Some(approval.asked_at), line, evidence).session(one);
    let need = one.holds.first().into_iter().fold(need, |need, held| need.task(&held.task));
    let decided = |need: Need| {
        need.then("allow it", format!("fairway approvals answer {id} allow"))
            .then("deny it", format!("fairway approvals answer {id} deny"))
    };
    Some(if approval.answerable {
        let need = decided(need);
        // Last: it is the answer with the most consequences.
        if one.session.is_structured() && input.get(ALWAYS_FIELD).is_some() {
            need.then("allow it always", format!("fairway approvals answer {id} allow --always"))
        } else {
            need
        }
    } else if one.session.adapter_script.is_some() {
        let is_recorded = tool_input::exact_command(&approval.input).is_some()
            && RecordedDialogs::of(app, &one.session).permission.is_some();
        let need = if is_recorded { decided(need) } else { need };
        need.then("answer it in its own window", format!("fairway session attach {}", one.session.id))
    } else {
        need.then("see where it runs, and answer it there", format!("fairway session show {}", one.session.id))
    })
}
