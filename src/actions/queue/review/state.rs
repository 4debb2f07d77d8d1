//! The open review of a domain, and the events about a review.

use crate::domain::{Event, EventKind, id::Label, review::Review, task::Task};

/// The open review request of a domain.
pub(super) fn find_open<'a>(reviews: &'a [Review], domain: &Label) -> Option<&'a Review> {
    reviews.iter().find(|review| review.domain == *domain && review.verdict.is_none())
}

pub(super) fn event(kind: EventKind, task: &Task, review: &Review) -> Event {
    Event::new(kind)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", review.id)
        .with("domain", review.domain.as_str())
        .with("reviewer", review.reviewer.as_deref())
}
