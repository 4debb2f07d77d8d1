//! `POST /authorize`: whether a tool call may be made. Whatever goes wrong, the answer says that it may not; and it says that
//! it may only when that can be recorded.

use std::{path::PathBuf, time::Duration};

use axum::{extract::Request, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};

use crate::{
    actions::{
        App,
        boundary::{
            guard::{self, EntryPoint, GuardDecision, LoadedRules, ToolCall},
            runtime::session_of_run,
        },
    },
    api::{
        body::{RequestBody, json_response},
        error::ApiError,
        state::{self, server_state},
        writer::PendingDecision,
    },
    domain::{Refusal, id::Label, session::Session},
    os::disk,
    store::{ReadTx, sessions},
};

/// How long recording may take before the answer is no.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);
/// How much room on the disk is enough not to wait for it, in bytes.
const MIN_FREE_BYTES: u64 = 1 << 20;
/// The longest call that is judged in place, in bytes: a longer one may take its time, and others shall not wait for it.
const MAX_INLINE_BYTES: usize = 4 << 10;

#[derive(Debug, Deserialize)]
struct Body {
    run_id: Option<String>,
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
    /// `hook`: the caller asks a person when nothing is said about tool calls here.
    door: Option<String>,
    provider: Option<String>,
    external_session_id: Option<String>,
}

#[derive(Debug, Serialize)]
struct AuthorizeResponse<'a> {
    allowed: bool,
    /// Whether a rule allows this by name, so that nobody need be asked.
    granted: bool,
    /// Whether anything is said about tool calls here at all.
    opinion: bool,
    reason: &'a str,
    rule: Option<&'a str>,
}

/// Whose call it is.
struct Caller {
    run_id: Option<String>,
    /// Its provider, and that one's own id of the conversation.
    external: Option<(Label, String)>,
}

/// What was decided, before it is recorded.
struct CallDecision {
    session: Session,
    decision: GuardDecision,
    is_decided: bool,
    /// Whether it can be recorded as far as can be told now.
    recordable: bool,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let asked = RequestBody::read(request).await?;
    let length = asked.bytes().len();
    let body: Body = asked.decode()?;
    let context = body.context.unwrap_or_default();
    let door = if context.door.as_deref() == Some("hook") { EntryPoint::Hook } else { EntryPoint::Api };
    let external = match (context.provider, context.external_session_id) {
        (Some(provider), Some(external)) => Some((Label::parse(&provider).map_err(anyhow::Error::from)?, external)),
        _ => None,
    };
    if body.run_id.is_none() && external.is_none() {
        return Err(ApiError::usage("missing field `run_id`"));
    }
    let caller = Caller { run_id: body.run_id, external };
    let call =
        ToolCall { tool: body.tool, aliases: context.also, input: body.input, cwd: context.cwd, role: context.role };
    let decided = if length > MAX_INLINE_BYTES {
        decide_on_thread(caller, call.clone(), door).await
    } else {
        server_state()?.with_guard_rules(|app, rules| decide(app, rules, &caller, &call, door))
    };
    let decided = match decided {
        Ok(decided) => decided,
        Err(fault) => {
            record_unknown_caller(call, door, &fault);
            return Err(fault);
        }
    };
    let CallDecision { session, decision: verdict, is_decided: opinion, recordable } = decided;
    if !opinion {
        return Ok(response(&verdict, false));
    }
    if !verdict.allowed || (recordable && server_state()?.writer.is_healthy()) {
        let said = response(&verdict, true);
        let recorded = server_state()?.writer.record(PendingDecision {
            session: Some(session),
            call,
            decision: verdict,
            entry_point: door,
            on_recorded: None,
        });
        // A no stands whether or not it is recorded; a yes does not.
        return if recorded.is_err() { recorded.map(|()| said) } else { Ok(said) };
    }
    let (tell, told) = oneshot::channel();
    let answer = response(&verdict, true);
    server_state()?.writer.record(PendingDecision {
        session: Some(session),
        call,
        decision: verdict,
        entry_point: door,
        on_recorded: Some(tell),
    })?;
    match timeout(RECORD_TIMEOUT, told).await {
        Ok(Ok(Ok(()))) => Ok(answer),
        Ok(Ok(Err(fault))) => Err(not_recorded(fault)),
        Ok(Err(_)) => Err(ApiError::internal("the decision cannot be recorded: nobody writes any more")),
        Err(_) => Err(ApiError::busy("the decision cannot be recorded: the store is locked by another process")),
    }
}

fn not_recorded(mut fault: ApiError) -> ApiError {
    fault.failure.message = format!("the decision cannot be recorded: {}", fault.failure.message);
    fault
}

fn response(verdict: &GuardDecision, opinion: bool) -> Response {
    let GuardDecision { allowed, explicitly_allowed: granted, reason, rule } = verdict;
    json_response(&AuthorizeResponse { allowed: *allowed, granted: *granted, opinion, reason, rule: rule.as_deref() })
}

/// Decides in a thread of its own.
async fn decide_on_thread(caller: Caller, call: ToolCall, door: EntryPoint) -> Result<CallDecision, ApiError> {
    state::run_blocking(move |app| decide(app, &LoadedRules::load(app), &caller, &call, door)).await
}

/// Decides while nobody else writes, if that is so: then what is decided can be recorded.
fn decide(
    app: &App,
    rules: &LoadedRules,
    caller: &Caller,
    call: &ToolCall,
    door: EntryPoint,
) -> anyhow::Result<CallDecision> {
    let store = app.store_for_reading()?;
    let (session, is_free) = match store.read_if_writable(|tx| find_session(tx, caller))? {
        Some(session) => (session, true),
        None => (app.read(|tx| find_session(tx, caller))?, false),
    };
    if door == EntryPoint::Hook && rules.is_unconfigured() {
        let verdict = GuardDecision::denied("the configuration has no [guard] section");
        return Ok(CallDecision { session, decision: verdict, is_decided: false, recordable: false });
    }
    let verdict = guard::decide_with_rules(rules, app, &session, call);
    let dir = app.project.store.parent().unwrap_or(&app.project.root);
    let recordable = is_free && disk::free(dir).is_ok_and(|free| free >= MIN_FREE_BYTES);
    Ok(CallDecision { session, decision: verdict, is_decided: true, recordable })
}

fn find_session(tx: &ReadTx<'_>, caller: &Caller) -> anyhow::Result<Session> {
    let unknown = |external: &str| {
        let id: String = external.chars().take(64).collect();
        anyhow::Error::from(Refusal::not_found("session with the external id", id))
    };
    match (&caller.run_id, &caller.external) {
        (Some(run), None) => session_of_run(tx, run),
        // An agent that was started inside another one's session has inherited its run, and is a session of its own.
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

/// Records that a call of somebody unknown was denied.
fn record_unknown_caller(call: ToolCall, door: EntryPoint, fault: &ApiError) {
    if fault.failure.code != "not_found" || door == EntryPoint::Hook {
        return;
    }
    let verdict = GuardDecision::denied(fault.failure.message.clone());
    if let Ok(house) = server_state() {
        let _ = house.writer.record(PendingDecision {
            session: None,
            call,
            decision: verdict,
            entry_point: door,
            on_recorded: None,
        });
    }
}
