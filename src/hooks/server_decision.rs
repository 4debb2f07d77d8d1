//! Lets a running server decide about a tool call, which is faster than opening the store. Without a valid response the caller
//! decides with the store. A denial by the server always counts; any other decision counts only from a server that is proven to
//! be this program.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Provider;
use fairway_actions::agents::guard::ToolCall;
use fairway_actions::agents::hook::{self, Reply};
use fairway_core::api_client::ApiClient;
use fairway_core::config::{self, Project};
use fairway_core::env::{Env, vars};

/// How long the server may take. The rest of the hook's time limit must suffice for the store.
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
    #[serde(rename = "door")]
    entry_point: &'static str,
    provider: &'static str,
    external_session_id: &'a str,
    cwd: Option<&'a str>,
    also: &'a [String],
    role: Option<&'a str>,
    own_program: bool,
}

/// The fields of the response that must be there.
#[derive(Deserialize)]
struct AuthorizeResponse {
    allowed: bool,
    granted: bool,
    opinion: bool,
    reason: String,
    rule: Option<String>,
    #[serde(default)]
    rules: Option<String>,
}

/// Asks the server for its decision on a tool call. A denial always counts; any other decision only from a server that is
/// proven to be this program and uses the rules that are trusted now. Returns `None` when the caller must decide with the
/// store: there is no server or no valid response, the decision does not count, the working directory is not UTF-8, or only
/// the rules of an enclosing project could apply.
pub(super) fn authorize(
    project: &Project,
    env: &Env,
    provider: Provider,
    external: &str,
    call: &ToolCall,
) -> Option<Reply> {
    let mut client = ApiClient::connect(&project.runtime_dir(), REQUEST_TIMEOUT)?;
    // JSON cannot carry a path that is not UTF-8; the store can.
    let cwd = call.cwd.as_deref().unwrap_or(&env.cwd).to_str()?;
    let request = AuthorizeRequest {
        run_id: env.var(vars::FAIRWAY_SESSION_ID).and_then(|_| env.var(vars::FAIRWAY_RUN_ID)),
        tool: &call.tool,
        input: &call.input,
        context: Context {
            entry_point: "hook",
            provider: provider.label(),
            external_session_id: external,
            cwd: Some(cwd),
            also: &call.aliases,
            role: call.role.as_deref(),
            own_program: call.runs_own_program,
        },
    };
    let response = client.post("/authorize", &serde_json::to_vec(&request).ok()?).ok()?;
    let decision: AuthorizeResponse = serde_json::from_slice(&response.body).ok().filter(|_| response.status == 200)?;
    if decision.opinion && !decision.allowed {
        return Some(Reply::Deny(hook::denial_message(decision.rule.as_deref(), &decision.reason)));
    }
    // Any process of this user can listen there. A decision other than a denial counts only from this program, by the rules that
    // are trusted now.
    let is_believed =
        client.is_own_server(&project.runtime_dir()) && decision.rules == config::trust::digest(env, &project.root);
    if !is_believed {
        return None;
    }
    Some(match decision {
        // The caller, with the store, finds the rules of a project around this one.
        AuthorizeResponse { opinion: false, .. } if project.enclosing().is_some() => return None,
        AuthorizeResponse { opinion: false, .. } => hook::reply_without_rules(call),
        AuthorizeResponse { granted: true, reason, .. } => Reply::Allow(reason),
        AuthorizeResponse { .. } => Reply::Nothing,
    })
}
