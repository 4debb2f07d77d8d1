//! One command for several objects: each is a change of its own, and the failure of one stops no other.

use std::fmt::Display;

use anyhow::Result;
use serde_json::Value;

use super::context::Context;
use super::exit::Exit;
use super::forbidding_sandbox;
use super::print_error::print_error;
use fairway_actions::core::errors;
use fairway_actions::{Answer, App, IdempotencyKey};
use fairway_core::domain::text_limits::MAX_REQUEST_ID_BYTES;
use fairway_core::os::digest;
use fairway_core::wire::FailedIdView;

/// Calls `act` for each id. A single id is handled as if the command accepted only one: its document is printed, or its
/// failure returned. For several ids, goes on after a failure and returns the exit code of the first one; with `--json`,
/// prints an array, in which a failure is `{"id": …, "error": {…}}`.
pub fn each<T: Display>(
    ctx: &Context,
    app: &App,
    ids: &[T],
    mut act: impl FnMut(&App, &T) -> Result<Answer>,
) -> Result<Exit> {
    if let [one] = ids {
        return ctx.answer(&act(app, one)?);
    }
    array(ctx, app, ids, act)
}

/// Like [`each`], but always answers with an array, even for one id or none.
pub fn array<T: Display>(
    ctx: &Context,
    app: &App,
    ids: &[T],
    mut act: impl FnMut(&App, &T) -> Result<Answer>,
) -> Result<Exit> {
    let mut documents: Vec<Value> = Vec::new();
    let mut exit = 0;
    for id in ids {
        match act(&app_for(app, id), id) {
            Ok(answer) if ctx.out.json => {
                ctx.notes(&answer);
                documents.push(answer.document);
            }
            Ok(answer) => {
                ctx.answer(&answer)?;
            }
            Err(failure) => {
                let failure = forbidding_sandbox::with_sandbox(errors::classify(&failure), &ctx.env);
                let code = failure.kind.exit_code();
                if ctx.out.json {
                    let failed = FailedIdView { id: id.to_string(), error: failure };
                    documents.push(serde_json::to_value(failed).map_err(errors::internal)?);
                } else {
                    print_error(&failure, &ctx.out);
                }
                if exit == 0 {
                    exit = code;
                }
            }
        }
    }
    if ctx.out.json {
        ctx.out.document(&documents)?;
    }
    Ok(exit)
}

/// Returns `app` for one of several ids: its idempotency key is derived from the request's key and the id.
pub fn app_for(app: &App, id: &impl Display) -> App {
    app.with_actor(app.actor.clone(), app.idempotency_key.as_ref().map(|key| key_of(key, id)))
}

/// The idempotency key of one of several ids: a repeat of the command repeats the change of each.
fn key_of(key: &IdempotencyKey, id: &impl Display) -> IdempotencyKey {
    let text = format!("{}#{id}", key.id);
    let id = if text.len() > MAX_REQUEST_ID_BYTES { digest::sha256_hex(text.as_bytes()) } else { text };
    IdempotencyKey { id, fingerprint: key.fingerprint.clone() }
}
