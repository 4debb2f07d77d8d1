//! The worker API: JSON over HTTP/1.1 on a Unix socket, and with a bearer token on 127.0.0.1. A handler decodes the request,
//! calls an action and encodes its result. The port also has the page: the board in the browser.
//!
//! One thread serves all connections and reads the store. A second thread writes to it. A call that may wait for another
//! program gets a thread of its own.

mod accept;
mod async_fd;
mod auth;
mod body;
mod connections;
mod error;
mod identity;
mod identity_refresh;
mod live_project;
mod log;
mod page;
mod prompt_delivery;
mod refused_head;
mod routes;
mod runtime_files;
mod serve;
mod sse;
mod state;
mod store_writer;
mod timeouts;
mod tls;

pub use live_project::{AppFactory, LiveProject};
pub use page::{Access, KeyedCommand, PageProviders, keyed_command, page_parts};
pub use serve::{ListenAddress, PageOptions, ServeOptions, serve};
