//! Turns a panic of a request handler into an error response.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
};

use axum::response::Response;

use super::error::ApiError;

/// Runs a handler, and returns an internal error when it panics.
pub(super) async fn catch_panic(handler: impl Future<Output = Response>) -> Result<Response, ApiError> {
    let mut handler = pin!(handler);
    std::future::poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::as_mut(&mut handler).poll(cx)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(_) => std::task::Poll::Ready(Err(ApiError::internal("internal error: the request handler panicked"))),
        }
    })
    .await
}
