//! `POST /exec`: the exec protocol for jobs. The call runs as `fairway exec call` in a process of its own, so that a job's
//! supervisor is not a child of the server.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::api::body::{RequestBody, query};
use crate::api::error::ApiError;
use crate::api::state;
use fairway_actions::App;
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::core::lane_env;
use fairway_core::domain::RunId;
use fairway_core::env::vars;
use fairway_core::os::capture::{Call, Captured, capture_with_limit};
use fairway_core::os::executable;
use fairway_core::os::exit_reason::ExitReason;

/// The maximum time of a call that waits for something, and the maximum response, in bytes.
const CALL_TIMEOUT: Duration = Duration::from_secs(60 * 60);
const MAX_RESPONSE_BYTES: usize = 32 << 20;

#[derive(Debug, Deserialize)]
struct Query {
    /// The calling session's run. It is in the query because `run_id` of the exec document is a job's id.
    run_id: Option<RunId>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    let request_body = RequestBody::read(request).await?;
    let id = request_body.idempotency_key()?.map(|request| request.id);
    let document = Zeroizing::new(request_body.bytes().to_vec());
    let output =
        state::run_blocking(move |app| call_exec(app, parameters.run_id.as_ref(), id.as_deref(), &document)).await?;
    response(output)
}

fn call_exec(app: &App, run_id: Option<&RunId>, request: Option<&str>, document: &[u8]) -> Result<Captured> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        env.remove(OsStr::new(name));
    }
    env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
    if let Some(run_id) = run_id {
        let session = app.read(|tx| session_of_run(tx, run_id))?;
        env.insert(vars::FAIRWAY_SESSION_ID.into(), session.id.to_string().into());
        env.insert(vars::FAIRWAY_RUN_ID.into(), session.run_id.to_string().into());
        env.insert(vars::FAIRWAY_ROLE.into(), session.role.to_string().into());
        if let (Some(lane), Some(worktree)) = (&session.lane, &session.worktree) {
            let of_lane = lane_env::of_worktree(app, lane.as_str(), Path::new(worktree))?;
            env.extend(of_lane.into_iter().map(|(name, value)| (name.into(), value.into())));
        }
        env.extend(session.lane.map(|lane| (vars::FAIRWAY_LANE.into(), lane.to_string().into())));
        env.extend(session.task.map(|task| (vars::FAIRWAY_TASK_ID.into(), task.to_string().into())));
    }
    let mut args: Vec<OsString> = ["exec", "call", "--file", "-"].map(OsString::from).to_vec();
    if let Some(request) = request {
        // In one word: a key may begin with a hyphen.
        args.push(format!("--request-id={request}").into());
    }
    let program = executable::current_executable().context("cannot find the program of this server")?;
    let call = Call {
        program: &program,
        args: &args,
        env: &env,
        cwd: &app.project.root,
        stdin: document,
        limit: CALL_TIMEOUT,
        ends_group: false,
    };
    capture_with_limit(&call, MAX_RESPONSE_BYTES).context("cannot run the exec call")
}

/// The call's document is the response, with a status for its exit code.
fn response(output: Captured) -> Result<Response, ApiError> {
    let (status, document) = match output.exit {
        ExitReason::Code(0) => (StatusCode::OK, output.stdout),
        ExitReason::Code(code) => (status_for_exit(code), output.stderr),
        ExitReason::Signal(_) | ExitReason::TimedOut => {
            return Err(ApiError::internal("the exec call was killed before it responded"));
        }
    };
    if serde_json::from_slice::<serde::de::IgnoredAny>(&document).is_err() {
        return Err(ApiError::internal("the exec call printed no JSON"));
    }
    Ok((status, [(header::CONTENT_TYPE, "application/json")], document).into_response())
}

const fn status_for_exit(exit: i32) -> StatusCode {
    match exit {
        2 => StatusCode::BAD_REQUEST,
        3 | 6 => StatusCode::NOT_FOUND,
        4 => StatusCode::CONFLICT,
        5 | 9 => StatusCode::FORBIDDEN,
        7 => StatusCode::BAD_GATEWAY,
        8 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
