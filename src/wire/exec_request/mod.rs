//! The request of `exec call`: one JSON document with an action and its fields. Reading is strict: an unknown field, a wrong
//! type or an invalid value is refused with its place in the document.

mod fields;
mod parse;
mod spawn;

pub use parse::{ExecRequest, MAX_DOCUMENT_BYTES, Until, parse};
pub use spawn::{RequestedCommand, SpawnParams};
