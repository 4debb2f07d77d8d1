//! A client of the worker API's socket: blocking, one request after the other on one connection. Every caller also works without
//! a server.

mod client;
pub mod server_files;

pub use client::{ApiClient, ApiClientError, HttpResponse};
