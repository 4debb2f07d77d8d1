//! `POST /ack`: a runtime acknowledges messages.

use axum::{extract::Request, response::Response};
use serde::Deserialize;

use crate::{
    actions::sessions::prompt::stream,
    api::{
        body::{json_response, read_json},
        error::ApiError,
        state::{self, app_as_run},
    },
    domain::RunId,
    wire::integer::deserialize_whole_numbers,
};

#[derive(Debug, Deserialize)]
struct Body {
    run_id: RunId,
    #[serde(deserialize_with = "deserialize_whole_numbers")]
    message_ids: Vec<i64>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let body: Body = read_json(request).await?;
    let done =
        state::write(move |app| stream::ack(&app_as_run(app, &body.run_id, None)?, &body.run_id, &body.message_ids))
            .await?;
    Ok(json_response(&done.document))
}
