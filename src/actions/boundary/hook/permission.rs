//! Permission requests: the rules first, then whoever answers in time, then the provider's own question.

use std::time::Duration;

use anyhow::Result;

use super::{event::HookCaller, reply::Reply, resolve_session, tool};
use crate::actions::{
    App,
    boundary::{
        approval,
        guard::{self, EntryPoint, ToolCall},
    },
};

/// Answers a permission request; without an answer in time the provider asks as if nobody were here.
///
/// # Errors
/// As the store fails.
pub(super) fn answer_request(app: &App, caller: &HookCaller, call: &ToolCall, wait: Duration) -> Result<Reply> {
    let session = match resolve_session::find_or_create(app, caller, None, |_, _| Ok(()))? {
        Ok(session) => session,
        Err(over) => return Ok(Reply::Deny(tool::ended_message(&over))),
    };
    let app = resolve_session::app_as(app, &session);
    let judged =
        guard::authorize_if_configured(&app, &session, call, EntryPoint::Hook).map_or(Reply::Nothing, tool::reply_for);
    if judged != Reply::Nothing {
        return Ok(judged);
    }
    let id = approval::request(&app, &session, caller.provider.as_str(), &call.tool, &call.input, true)?;
    Ok(match approval::wait(&app, id, wait)? {
        None => Reply::Nothing,
        Some(answer) if answer.allow => Reply::Allow(answer.reason.unwrap_or_else(|| "a person allowed it".into())),
        Some(answer) => Reply::Deny(answer.reason.unwrap_or_else(|| "a person denied it".into())),
    })
}
