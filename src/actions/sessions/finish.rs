//! The end of a session, as the session commands report it.

use crate::domain::session::SessionStatus;

pub use crate::actions::core::session_end::finish;

/// The word that follows `has` in messages about a final status: `failed` or `ended`.
pub(super) const fn status_verb(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Failed => "failed",
        _ => "ended",
    }
}
