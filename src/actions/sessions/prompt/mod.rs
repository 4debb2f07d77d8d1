//! Prompts: messages to one session with a receipt. A prompt counts as acknowledged only when something proves that it
//! arrived; each way there says what its proof is.

mod deliver_by_typing;
pub(crate) mod deliver_inline;
pub mod listener;
mod send;
pub mod stream;
mod wait_acknowledged;

pub use crate::actions::core::expire_for_session::over;
pub use crate::actions::core::message_state::heard;
pub(in crate::actions) use deliver_by_typing::brought;
pub use deliver_by_typing::{deliver, typed, untyped};
pub use deliver_inline::{Carried, carried, carry};
pub use send::{Prompt, declined, send};
pub use wait_acknowledged::{Awaited, awaited};
