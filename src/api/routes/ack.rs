//! `POST /ack`: a runtime says which messages it has got.

use axum::{extract::Request, response::Response};
use serde::Deserialize;

use crate::{
    actions::sessions::prompt::stream,
    api::{
        body::{json_response, read_json},
        error::ApiError,
        state::{self, app_as_run},
    },
};

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    message_ids: Vec<i64>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let asked: Body = read_json(request).await?;
    let done =
        state::write(move |app| stream::ack(&app_as_run(app, &asked.run_id, None)?, &asked.run_id, &asked.message_ids))
            .await?;
    Ok(json_response(&done.document))
}
