//! A client of the worker API's socket: blocking, one request after the other on one connection. Every caller can do without a
//! server.

mod client;
mod error;
mod http;
pub mod page_file;
pub mod socket_path;
#[cfg(test)]
mod tests;

pub use client::ApiClient;
pub use error::ApiClientError;
pub use http::HttpResponse;
