//! Provider hooks, whichever provider calls: an event finds or registers the session, updates it and gets a reply. The
//! caller renders the reply in the provider's format.

mod dispatch;
mod event;
mod permission;
mod provider_notification;
mod reply;
mod resolve_session;
mod session_start;
mod tool;
mod transcript_usage;
mod turn;
mod wake;

pub use self::{
    dispatch::{confirm_written, handle},
    event::{HookCaller, HookEvent, StartKind, ToolEnd},
    reply::{HookOutcome, Reply},
    tool::{denial_message, reply_for, reply_without_rules},
    transcript_usage::{TranscriptReader, TranscriptUsage},
    wake::wait_for_prompts,
};
pub use crate::actions::sessions::prompt::confirm_delivered;
