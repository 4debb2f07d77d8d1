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
        body::{Asked, answer},
        error::Fault,
        state::{self, here},
        writer::Decision,
    },
    domain::{Refusal, id::Label, session::Session},
    os::disk,
    store::{ReadTx, sessions},
};

/// The route.
pub(in crate::api) const PATH: &str = "/authorize";

/// How long recording may take before the answer is no.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much room on the disk is enough not to wait for it, in bytes.
const ROOM: u64 = 1 << 20;
/// The longest call that is judged in place, in bytes: a longer one may take its time, and others shall not wait for it.
const SHORT: usize = 4 << 10;

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
struct Answer<'a> {
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
    run: Option<String>,
    /// Its provider, and that one's own id of the conversation.
    external: Option<(Label, String)>,
}

/// What was decided, before it is recorded.
struct Decided {
    session: Session,
    verdict: GuardDecision,
    opinion: bool,
    /// Whether it can be recorded as far as can be told now.
    recordable: bool,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let asked = Asked::read(request).await?;
    let length = asked.bytes().len();
    let body: Body = asked.decode()?;
    let context = body.context.unwrap_or_default();
    let door = if context.door.as_deref() == Some("hook") { EntryPoint::Hook } else { EntryPoint::Api };
    let external = match (context.provider, context.external_session_id) {
        (Some(provider), Some(external)) => Some((Label::parse(&provider).map_err(anyhow::Error::from)?, external)),
        _ => None,
    };
    if body.run_id.is_none() && external.is_none() {
        return Err(Fault::usage("missing field `run_id`"));
    }
    let caller = Caller { run: body.run_id, external };
    let call =
        ToolCall { tool: body.tool, aliases: context.also, input: body.input, cwd: context.cwd, role: context.role };
    let decided = if length > SHORT {
        at_leisure(caller, call.clone(), door).await
    } else {
        here()?.judge(|app, rules| decide(app, rules, &caller, &call, door))
    };
    let decided = match decided {
        Ok(decided) => decided,
        Err(fault) => {
            unknown(call, door, &fault);
            return Err(fault);
        }
    };
    let Decided { session, verdict, opinion, recordable } = decided;
    if !opinion {
        return Ok(said(&verdict, false));
    }
    if !verdict.allowed || (recordable && here()?.writer.is_well()) {
        let said = said(&verdict, true);
        let recorded = here()?.writer.record(Decision { session: Some(session), call, verdict, door, waits: None });
        // A no stands whether or not it is recorded; a yes does not.
        return if recorded.is_err() { recorded.map(|()| said) } else { Ok(said) };
    }
    let (tell, told) = oneshot::channel();
    let answer = said(&verdict, true);
    here()?.writer.record(Decision { session: Some(session), call, verdict, door, waits: Some(tell) })?;
    match timeout(PATIENCE, told).await {
        Ok(Ok(Ok(()))) => Ok(answer),
        Ok(Ok(Err(fault))) => Err(unrecorded(fault)),
        Ok(Err(_)) => Err(Fault::internal("the decision cannot be recorded: nobody writes any more")),
        Err(_) => Err(Fault::busy("the decision cannot be recorded: the store is locked by another process")),
    }
}

fn unrecorded(mut fault: Fault) -> Fault {
    fault.failure.message = format!("the decision cannot be recorded: {}", fault.failure.message);
    fault
}

fn said(verdict: &GuardDecision, opinion: bool) -> Response {
    let GuardDecision { allowed, explicitly_allowed: granted, reason, rule } = verdict;
    answer(&Answer { allowed: *allowed, granted: *granted, opinion, reason, rule: rule.as_deref() })
}

/// Decides in a thread of its own.
async fn at_leisure(caller: Caller, call: ToolCall, door: EntryPoint) -> Result<Decided, Fault> {
    state::outside(move |app| decide(app, &LoadedRules::load(app), &caller, &call, door)).await
}

/// Decides while nobody else writes, if that is so: then what is decided can be recorded.
fn decide(
    app: &App,
    rules: &LoadedRules,
    caller: &Caller,
    call: &ToolCall,
    door: EntryPoint,
) -> anyhow::Result<Decided> {
    let store = app.store_for_reading()?;
    let (session, is_free) = match store.read_writable(|tx| find(tx, caller))? {
        Some(session) => (session, true),
        None => (app.read(|tx| find(tx, caller))?, false),
    };
    if door == EntryPoint::Hook && rules.is_unconfigured() {
        let verdict = GuardDecision::denied("the configuration has no [guard] section");
        return Ok(Decided { session, verdict, opinion: false, recordable: false });
    }
    let verdict = guard::decide_with_rules(rules, app, &session, call);
    let folder = app.project.store.parent().unwrap_or(&app.project.root);
    let recordable = is_free && disk::free(folder).is_ok_and(|free| free >= ROOM);
    Ok(Decided { session, verdict, opinion: true, recordable })
}

fn find(tx: &ReadTx<'_>, caller: &Caller) -> anyhow::Result<Session> {
    let unknown = |external: &str| {
        let id: String = external.chars().take(64).collect();
        anyhow::Error::from(Refusal::not_found("session with the external id", id))
    };
    match (&caller.run, &caller.external) {
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
fn unknown(call: ToolCall, door: EntryPoint, fault: &Fault) {
    if fault.failure.code != "not_found" || door == EntryPoint::Hook {
        return;
    }
    let verdict = GuardDecision::denied(fault.failure.message.clone());
    if let Ok(house) = here() {
        let _ = house.writer.record(Decision { session: None, call, verdict, door, waits: None });
    }
}
