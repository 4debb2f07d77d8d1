//! The guard's decision on a command that a tool runs: as the shell tool of the agent would ask for it.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{
    actions::{
        App,
        agents::guard::{self, EntryPoint, ToolCall},
        core::lookup,
    },
    domain::{Refusal, SessionId},
};

/// The name under which rules know a shell.
const SHELL: &str = "Bash";

/// Refuses a command that the guard denies. Without rules nothing is refused. `command` is shell text or a list of words.
///
/// # Errors
/// `guard_denied`; as the store fails.
pub(super) fn authorize(app: &App, session: &SessionId, tool: &str, command: Value, cwd: Option<&str>) -> Result<()> {
    let session = app.read(|tx| lookup::session(tx, session))?;
    let context = Map::from_iter([("mcp_tool".to_owned(), json!(tool))]);
    let call = ToolCall {
        tool: SHELL.to_owned(),
        aliases: Vec::new(),
        input: json!({ "command": command }),
        cwd: Some(cwd.map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd))),
        role: None,
        runs_own_program: false,
        context,
    };
    match guard::authorize_if_configured(app, &session, &call, EntryPoint::Cli) {
        Some(decision) if !decision.allowed => {
            Err(Refusal::GuardDenied { reason: decision.reason, rule: decision.rule }.into())
        }
        _ => Ok(()),
    }
}
