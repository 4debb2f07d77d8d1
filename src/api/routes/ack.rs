//! `POST /ack`: a runtime says which messages it has got.

use axum::{extract::Request, response::Response};
use serde::Deserialize;

use crate::{
    actions::sessions::prompt::stream,
    api::{
        body::{answer, decoded},
        error::Fault,
        state::{self, as_run},
    },
};

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    message_ids: Vec<i64>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let asked: Body = decoded(request).await?;
    let done =
        state::change(move |app| stream::ack(&as_run(app, &asked.run_id, None)?, &asked.run_id, &asked.message_ids))
            .await?;
    Ok(answer(&done.document))
}
