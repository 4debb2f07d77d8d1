//! Provider hooks, whichever provider calls: an event finds or registers the session, updates it and gets a reply. The
//! caller renders the reply in the provider's format.

mod dispatch;
mod event;
mod provider_notification;
mod resolve_session;
mod session_start;
mod tool;
mod turn;
mod wake;

pub use self::dispatch::{confirm_written, handle};
pub use self::event::{
    HookCaller, HookEvent, HookOutcome, Reply, StartKind, ToolEnd, TranscriptReader, TranscriptUsage,
};
pub use self::tool::{denial_message, reply_for, reply_without_rules};
pub use self::wake::wait_for_prompts;
pub use crate::sessions::prompt::confirm_delivered;
