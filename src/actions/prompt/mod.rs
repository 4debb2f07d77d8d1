//! Prompts: messages to one session with a receipt. A prompt counts as acknowledged only when something proves that it
//! arrived; each way there says what its proof is.

mod carry;
mod deliver;
mod heard;
pub mod listener;
pub mod outbox;
mod over;
mod receipt;
mod send;
pub mod stream;

pub use carry::{Carried, carried, carry};
pub(in crate::actions) use deliver::brought;
pub use deliver::{deliver, typed, untyped};
pub use heard::heard;
pub use over::over;
pub use receipt::{Awaited, awaited};
pub use send::{Prompt, declined, send};
