//! The machines' door: JSON over HTTP/1.1 on a Unix socket, and with a token on 127.0.0.1. A handler decodes, asks an action,
//! and answers; it knows no more than that.
//!
//! One thread serves and looks at the store in place; one writes. What may wait for a program has a thread for itself.

mod accept;
mod async_fd;
mod auth;
mod authorize_denial;
mod body;
mod catch_panic;
mod connections;
mod error;
mod identity;
mod identity_refresh;
mod live_project;
mod log;
mod prompt_delivery;
mod router;
mod routes;
mod runtime_files;
mod serve;
mod sse;
mod state;
mod timeouts;
mod writer;

pub use serve::{ListenAddress, ServeOptions, serve};
