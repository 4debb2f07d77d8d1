//! The quick way: where a server answers, it decides on a tool call, and no store is opened here. Where it does not, the
//! store is asked; a no that it says is a no.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Provider;
use crate::{
    actions::boundary::{
        guard::ToolCall,
        hook::{self, Reply},
    },
    api_client::ApiClient,
    config::Project,
    env::{Env, vars},
};

/// How long a server may take: what is left of our own limit must do for the store.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1_500);

#[derive(Serialize)]
struct AuthorizeRequest<'a> {
    run_id: Option<&'a str>,
    tool: &'a str,
    input: &'a Value,
    context: Context<'a>,
}

#[derive(Serialize)]
struct Context<'a> {
    door: &'static str,
    provider: &'static str,
    external_session_id: &'a str,
    cwd: Option<&'a str>,
    also: &'a [String],
    role: Option<&'a str>,
}

/// What is looked at of the answer. One that lacks any of it is none.
#[derive(Deserialize)]
struct AuthorizeResponse {
    allowed: bool,
    granted: bool,
    opinion: bool,
    reason: String,
    rule: Option<String>,
}

/// What the server says; `None` when there is none, or no answer that can be read.
pub(super) fn authorize(
    project: &Project,
    env: &Env,
    provider: Provider,
    external: &str,
    call: &ToolCall,
) -> Option<Reply> {
    let mut link = ApiClient::connect(&project.runtime_dir(), REQUEST_TIMEOUT)?;
    // A directory whose name is no text cannot be told: the store's way knows it.
    let cwd = call.cwd.as_deref().unwrap_or(&env.cwd).to_str()?;
    let question = AuthorizeRequest {
        run_id: env.var(vars::FAIRWAY_SESSION_ID).and_then(|_| env.var(vars::FAIRWAY_RUN_ID)),
        tool: &call.tool,
        input: &call.input,
        context: Context {
            door: "hook",
            provider: provider.label(),
            external_session_id: external,
            cwd: Some(cwd),
            also: &call.aliases,
            role: call.role.as_deref(),
        },
    };
    let reply = link.post("/authorize", &serde_json::to_vec(&question).ok()?).ok()?;
    let decision: AuthorizeResponse = serde_json::from_slice(&reply.body).ok().filter(|_| reply.status == 200)?;
    Some(match decision {
        AuthorizeResponse { opinion: false, .. } => Reply::Nothing,
        AuthorizeResponse { allowed: false, reason, rule, .. } => {
            Reply::Deny(hook::denial_message(rule.as_deref(), &reason))
        }
        AuthorizeResponse { granted: true, reason, .. } => Reply::Allow(reason),
        AuthorizeResponse { .. } => Reply::Nothing,
    })
}
