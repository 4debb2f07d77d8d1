//! Permission requests: first the rules decide, then a person who answers in time, then the provider asks.

use anyhow::Result;

use super::{event::HookCaller, reply::Reply, resolve_session, tool};
use crate::actions::{
    App,
    agents::{
        approval::{self, ApprovalWait},
        guard::{self, EntryPoint, ToolCall},
    },
};

/// Answers a permission request. Without an answer in time the provider asks the person itself.
pub(super) fn answer_request(app: &App, caller: &HookCaller, call: &ToolCall, wait: ApprovalWait) -> Result<Reply> {
    let session = match resolve_session::find_or_create(app, caller, None, |_, _| Ok(()))? {
        Ok(session) => session,
        Err(ended) => return Ok(Reply::Deny(tool::ended_message(&ended))),
    };
    let app = resolve_session::app_as(app, &session);
    let reply = guard::authorize_permission(&app, &session, call, EntryPoint::Hook)
        .map_or_else(|| tool::reply_without_rules(call), tool::reply_for);
    // Beside a supervisor the agent asks by the protocol as well: a person is asked once.
    if reply != Reply::Nothing || caller.is_beside_supervisor(&session) {
        return Ok(reply);
    }
    let id = approval::request(&app, &session, caller.provider.as_str(), &call.tool, &call.input, true)?;
    Ok(match approval::wait_for_person(&app, &session, id, wait)? {
        None => Reply::Nothing,
        Some(answer) if answer.allow => Reply::Allow(answer.reason.unwrap_or_else(|| "allowed by a person".into())),
        Some(answer) => Reply::Deny(answer.reason.unwrap_or_else(|| "denied by a person".into())),
    })
}
