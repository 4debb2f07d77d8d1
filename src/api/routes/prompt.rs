//! `POST /prompt`: sends a prompt to an agent.

use axum::extract::Request;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use crate::api::body::{RequestBody, json_response};
use crate::api::error::ApiError;
use crate::api::{prompt_delivery, state};
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::sessions::prompt::{self, NewPrompt};
use fairway_core::domain::RunId;
use fairway_core::domain::id::Label;
use fairway_core::domain::message::Priority;

#[derive(Debug, Deserialize)]
struct Body {
    run_id: RunId,
    content: String,
    priority: Option<String>,
    source: Option<String>,
    metadata: Option<Value>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let body: Body = request_body.decode()?;
    let priority = Priority::parse(body.priority.as_deref().unwrap_or(Priority::Normal.as_str()))
        .ok_or_else(|| ApiError::usage("invalid priority: must be normal, urgent or system"))?;
    let source = Label::parse(body.source.as_deref().unwrap_or("nudge")).map_err(anyhow::Error::from)?;
    let request = request_body.idempotency_key()?;
    let session = state::read(|app| app.read(|tx| session_of_run(tx, &body.run_id)))?.id;
    let to = session.clone();
    let done = state::write(move |app| {
        let prompt = NewPrompt {
            to: to.clone(),
            content: body.content,
            priority,
            source,
            metadata: body.metadata,
            dedup: None,
            ttl: None,
        };
        match prompt::send(&app.with_actor(app.actor.clone(), request), &prompt) {
            Ok(answer) => Ok(prompt::as_delivered(app, &to, answer.document)),
            Err(error) => match prompt::declined_view(&error) {
                Some(declined) => Ok(serde_json::to_value(declined)?),
                None => Err(error),
            },
        }
    });
    let done = done.await?;
    prompt_delivery::start_for_session(session);
    Ok(json_response(&done))
}
