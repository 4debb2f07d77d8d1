//! The end of a session, as the session commands report it.

use crate::domain::session::SessionStatus;

pub use crate::actions::core::session_end::finish;

/// The verb of a final status after `has`: `failed` or `ended`.
pub(super) const fn status_verb(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Failed => "failed",
        _ => "ended",
    }
}
