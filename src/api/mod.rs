//! The machines' door: JSON over HTTP/1.1 on a Unix socket, and with a token on 127.0.0.1. A handler decodes, asks an action,
//! and answers; it knows no more than that.
//!
//! One thread serves and looks at the store in place; one writes. What may wait for a program has a thread for itself.

mod body;
mod crowd;
mod current;
mod deliver;
mod descriptor;
mod entry;
mod fault;
mod front;
mod guarded;
mod house;
mod identity;
mod patience;
mod place;
mod remark;
mod router;
mod routes;
mod serve;
mod sse;
mod writer;

pub use serve::{Listening, Options, serve};
