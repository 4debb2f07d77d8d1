//! The request of `exec call`: one flat JSON document with an action and its fields. The fields of other actions are ignored;
//! an unknown field, a wrong type or an invalid value is refused with its place in the document.

mod document;
mod fields;
mod request;
mod spawn;

pub use document::{ExecDocument, MAX_DOCUMENT_BYTES, Until};
pub use request::{ExecRequest, parse};
pub use spawn::{RequestedCommand, SpawnParams};
