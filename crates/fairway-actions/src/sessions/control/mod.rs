//! Commands that act on a running session through its backend.

pub(crate) mod answer_lock;
pub mod attach;
pub(crate) mod dialog;
pub mod forget;
pub mod interrupt;
pub mod meta;
pub mod multiplexer_command;
pub mod nudge;
pub mod peek;
pub(crate) mod question;
pub(crate) mod running_session;
pub mod stop;
pub(crate) mod stop_from_inside;
pub mod stop_selection;
pub mod suggestions;
