//! Prompts: messages to one session whose delivery is tracked. A prompt is acknowledged only with a proof that it arrived;
//! each delivery channel defines its proof.

mod audience;
pub mod deliver_by_stream;
mod deliver_by_typing;
pub(crate) mod deliver_inline;
pub mod listener;
mod lost_enter;
mod send;
mod wait_receipt;

pub use crate::core::message_state::{confirm_typed, expire_for_session};
pub use audience::{Audience, NewText, TextRecipient, recipients_of, send_text};
pub(crate) use deliver_by_typing::deliver_when_idle;
pub(in crate::sessions) use deliver_by_typing::start_command;
pub use deliver_by_typing::{
    DELIVER, deliver, deliver_mailed, deliver_sent, start_delivery, try_deliver, type_pending, type_queued,
};
pub use deliver_inline::{DeliveryBatch, confirm_delivered, take_deliverable};
pub(in crate::sessions) use send::DEFAULT_SOURCE;
pub use send::{NewPrompt, as_delivered, declined_view, send};
pub(in crate::sessions) use send::{queue_answer, queue_first};
pub use wait_receipt::{AwaitedReceipt, Receipt, wait_receipt};
