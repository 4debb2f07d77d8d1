//! A handler that panics is an answer too: a failure.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
};

use axum::response::Response;

use super::error::ApiError;

/// Runs to the end what answers, whatever becomes of it.
pub(super) async fn catch_panic(answer: impl Future<Output = Response>) -> Result<Response, ApiError> {
    let mut answer = pin!(answer);
    std::future::poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::as_mut(&mut answer).poll(cx)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(_) => std::task::Poll::Ready(Err(ApiError::internal("the request broke off: an error inside fairway"))),
        }
    })
    .await
}
