//! The dialogs on agents' screens in which pending approvals can be answered.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::App;
use crate::sessions::control::dialog::{self, RecordedDialogs};
use fairway_core::domain::approval::{Approval, Offers};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::env::Timestamp;
use fairway_core::wire::tool_input;

/// How long after a request a dialog may be drawn.
const DRAWN_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two looks while it may be.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// Finds the pending approvals that no hook waits for and whose dialog, with recorded keys, is shown. The second value is when to
/// look again for those that are not shown; no event says that one is drawn.
pub(super) fn find(
    app: &App,
    approvals: &[(Approval, Offers)],
    sessions: &[SessionOverview],
    now: Timestamp,
) -> (BTreeSet<i64>, Option<Timestamp>) {
    let (mut shown, mut next) = (BTreeSet::new(), None);
    for (approval, _) in approvals.iter().filter(|(approval, _)| !approval.answerable) {
        let Some(one) = sessions.iter().find(|one| one.session.id == approval.session) else { continue };
        let Some(profile) = RecordedDialogs::of(app, &one.session).permission else { continue };
        let Some(about) = tool_input::exact_command(&approval.input) else { continue };
        if dialog::may_show(&one.session, &profile, &about) {
            shown.insert(approval.id);
        } else {
            let is_new = now.since(approval.asked_at) < DRAWN_WITHIN;
            let again = now.plus(if is_new { LOOK_PAUSE } else { DRAWN_WITHIN });
            next = Some(next.map_or(again, |known: Timestamp| known.min(again)));
        }
    }
    (shown, next)
}
