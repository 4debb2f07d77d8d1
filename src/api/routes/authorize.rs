//! `POST /authorize`: decides about a tool call. Every error denies the call, and a call is allowed only when the decision can be
//! recorded.

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::api::body::{RequestBody, json_response};
use crate::api::error::ApiError;
use crate::api::state::{self, server_state};
use crate::api::store_writer::PendingDecision;
use fairway_actions::App;
use fairway_actions::agents::guard::{self, EntryPoint, GuardDecision, LoadedRules, ToolCall};
use fairway_actions::agents::runtime::session_of_run;
use fairway_core::domain::id::Label;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, RunId, secrets};
use fairway_core::os::file_system;
use fairway_core::store::{ReadTx, sessions};

/// How long a recording may take before the call is denied.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);
/// The free disk space, in bytes, from which on the response need not wait for the recording.
const MIN_FREE_BYTES: u64 = 1 << 20;
/// Larger requests, in bytes, may take long and get their own thread.
const MAX_INLINE_BYTES: usize = 4 << 10;
/// How much of each value of the caller's context the log keeps.
const MAX_CONTEXT_CHARS: usize = 256;

#[derive(Debug, Deserialize)]
struct Body {
    run_id: Option<RunId>,
    tool: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    context: Option<Context>,
}

#[derive(Debug, Default, Deserialize)]
struct Context {
    role: Option<String>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    also: Vec<String>,
    /// The entry point. With `hook` the provider asks a person when no guard is configured.
    #[serde(rename = "door")]
    entry_point: Option<String>,
    provider: Option<String>,
    external_session_id: Option<String>,
    rig: Option<String>,
    bead_id: Option<String>,
    /// Whether a hook found that its own program is what the call names `fairway`.
    #[serde(default)]
    own_program: bool,
}

impl Context {
    /// The context for the log, each value masked and shortened.
    fn logged(&self) -> Map<String, Value> {
        let values = [("rig", &self.rig), ("bead_id", &self.bead_id)];
        let logged = |(name, value): (&str, &Option<String>)| {
            let value: String = secrets::mask(value.as_deref()?).chars().take(MAX_CONTEXT_CHARS).collect();
            Some((name.to_owned(), Value::String(value)))
        };
        values.into_iter().filter_map(logged).collect()
    }
}

#[derive(Debug, Serialize)]
struct AuthorizeResponse<'a> {
    allowed: bool,
    /// Whether a rule allows the call explicitly, so that no person need be asked.
    granted: bool,
    /// Whether the project has a guard configuration.
    opinion: bool,
    reason: &'a str,
    rule: Option<&'a str>,
    /// The digest of the trust record of the rules; `None` where nothing was trusted.
    rules: Option<&'a str>,
}

/// The caller of a tool.
struct Caller {
    run_id: Option<RunId>,
    /// The provider, and its own id of the session.
    external: Option<(Label, String)>,
}

/// A decision that is not recorded yet.
struct CallDecision {
    session: Session,
    decision: GuardDecision,
    /// Whether the project has a guard configuration.
    has_rules: bool,
    /// The digest of the trust record of the rules.
    rules: Option<String>,
    /// Whether recording the decision will probably succeed.
    recordable: bool,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let length = request_body.bytes().len();
    let body: Body = request_body.decode()?;
    let context = body.context.unwrap_or_default();
    let entry_point = if context.entry_point.as_deref() == Some("hook") { EntryPoint::Hook } else { EntryPoint::Api };
    let about = context.logged();
    let external = match (context.provider, context.external_session_id) {
        (Some(provider), Some(external)) => Some((Label::parse(&provider).map_err(anyhow::Error::from)?, external)),
        _ => None,
    };
    if body.run_id.is_none() && external.is_none() {
        return Err(ApiError::usage("missing field `run_id`"));
    }
    if entry_point == EntryPoint::Hook && server_state()?.is_inside {
        return Err(ApiError::busy("this server was started inside a session, so hooks decide by themselves"));
    }
    let caller = Caller { run_id: body.run_id, external };
    let call = ToolCall {
        tool: body.tool,
        aliases: context.also,
        input: body.input,
        cwd: context.cwd,
        role: context.role,
        // Only a hook knows where its agent's shell looks for programs.
        runs_own_program: context.own_program && entry_point == EntryPoint::Hook,
        context: about,
    };
    let decided = if length > MAX_INLINE_BYTES {
        decide_on_thread(caller, call.clone()).await
    } else {
        server_state()?.with_guard_rules(|app, rules| decide(app, rules, &caller, &call))
    };
    let decided = match decided {
        Ok(decided) => decided,
        Err(error) => {
            record_unknown_caller(call, entry_point, &error);
            return Err(error);
        }
    };
    let CallDecision { session, decision, has_rules, rules, recordable } = decided;
    let rules = rules.as_deref();
    if !has_rules && entry_point == EntryPoint::Hook {
        return Ok(response(&decision, false, rules));
    }
    if !decision.allowed || (recordable && server_state()?.writer.is_healthy()) {
        let response = response(&decision, has_rules, rules);
        let recorded = server_state()?.writer.record(PendingDecision {
            session: Some(session),
            call,
            decision,
            entry_point,
            on_recorded: None,
        });
        // A denial stands whether or not it is recorded. An allowed call must be recorded.
        return if recorded.is_err() { recorded.map(|()| response) } else { Ok(response) };
    }
    let (sender, receiver) = oneshot::channel();
    let answer = response(&decision, has_rules, rules);
    server_state()?.writer.record(PendingDecision {
        session: Some(session),
        call,
        decision,
        entry_point,
        on_recorded: Some(sender),
    })?;
    match timeout(RECORD_TIMEOUT, receiver).await {
        Ok(Ok(Ok(()))) => Ok(answer),
        Ok(Ok(Err(error))) => Err(not_recorded(error)),
        Ok(Err(_)) => Err(ApiError::internal("cannot record the decision: the store writer has stopped")),
        Err(_) => Err(ApiError::busy("cannot record the decision: the store is locked by another process")),
    }
}

fn not_recorded(mut error: ApiError) -> ApiError {
    error.failure.message = format!("cannot record the decision: {}", error.failure.message);
    error
}

fn response(decision: &GuardDecision, opinion: bool, rules: Option<&str>) -> Response {
    let GuardDecision { allowed, explicitly_allowed: granted, reason, rule } = decision;
    let (allowed, granted, rule) = (*allowed, *granted, rule.as_deref());
    json_response(&AuthorizeResponse { allowed, granted, opinion, reason, rule, rules })
}

/// Decides in a separate thread.
async fn decide_on_thread(caller: Caller, call: ToolCall) -> Result<CallDecision, ApiError> {
    state::run_blocking(move |app| decide(app, &LoadedRules::load_with_digest(app), &caller, &call)).await
}

/// Decides about a call. The decision is recordable when no other process writes to the store and the disk has room.
fn decide(app: &App, rules: &LoadedRules, caller: &Caller, call: &ToolCall) -> anyhow::Result<CallDecision> {
    let store = app.store_for_reading()?;
    let (session, is_free) = match store.read_if_writable(|tx| find_session(tx, caller))? {
        Some(session) => (session, true),
        None => (app.read(|tx| find_session(tx, caller))?, false),
    };
    let has_rules = !rules.is_unconfigured();
    let decision = guard::decide_with_rules(rules, app, &session, call);
    let dir = app.project.store.parent().unwrap_or(&app.project.root);
    let recordable = is_free && file_system::free_bytes(dir).is_ok_and(|free| free >= MIN_FREE_BYTES);
    Ok(CallDecision { session, decision, has_rules, rules: rules.digest.clone(), recordable })
}

fn find_session(tx: &ReadTx<'_>, caller: &Caller) -> anyhow::Result<Session> {
    let unknown = |external: &str| {
        let id: String = external.chars().take(64).collect();
        anyhow::Error::from(Refusal::not_found("session with the external id", id))
    };
    match (&caller.run_id, &caller.external) {
        (Some(run), None) => session_of_run(tx, run),
        // An agent that was started by another agent inherits its run id, but is a session of its own.
        (Some(run), Some((provider, external))) => {
            let session = session_of_run(tx, run)?;
            let is_own = session.provider.as_ref() == Some(provider)
                && session.external_session_id.as_deref() == Some(external.as_str());
            if is_own { Ok(session) } else { Err(unknown(external)) }
        }
        (None, Some((provider, external))) => {
            sessions::by_external(tx, provider, external)?.ok_or_else(|| unknown(external))
        }
        (None, None) => Err(unknown("")),
    }
}

/// Records the denial of a call by an unknown session.
fn record_unknown_caller(call: ToolCall, entry_point: EntryPoint, error: &ApiError) {
    if error.failure.code != "not_found" || entry_point == EntryPoint::Hook {
        return;
    }
    let decision = GuardDecision::denied(error.failure.message.clone());
    if let Ok(state) = server_state() {
        let _ = state.writer.record(PendingDecision { session: None, call, decision, entry_point, on_recorded: None });
    }
}
