//! Request a review.

use anyhow::Result;

use super::{default_domain, state};
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{EventKind, TaskId, id::Label, review::Review, rules::fencing::TaskWrite, text_limits},
    env::Timestamp,
    store::reviews,
    wire::ReviewView,
};

/// Requests a review in a domain, by default the only requested or required one, else `general`. An open request of the
/// domain stays, with the newly given reviewer.
///
/// # Errors
/// `not_found`, `stale_claim`, `usage` if the domain is ambiguous, `invalid_value`.
pub fn request(app: &App, id: &TaskId, domain: Option<&Label>, reviewer: Option<&str>) -> Result<Answer> {
    let reviewer = reviewer.map(|reviewer| text_limits::check_line("reviewer", reviewer)).transpose()?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let all = reviews::of_task(tx, id)?;
        let domain = match domain {
            Some(domain) => domain.clone(),
            None => default_domain::choose(app, tx, &task, &all)?,
        };
        let open = state::find_open(&all, &domain);
        if let Some(open) = open.filter(|open| reviewer.is_none() || open.reviewer == reviewer) {
            let line = format!("unchanged: review {} in the domain '{domain}' is requested already", open.id);
            return Answer::new(&ReviewView::from(open), open.id, line);
        }
        let review = reviews::upsert(
            tx,
            open.map(|open| open.id),
            Review {
                id: 0,
                task: id.clone(),
                domain: domain.clone(),
                verdict: None,
                commit: None,
                reviewer: reviewer.clone(),
                actor: app.actor.name.clone(),
                notes: None,
                created_at: Timestamp::from_millis(0),
            },
        )?;
        tx.record(&state::event(EventKind::ReviewRequested, &task, &review))?;
        let line = format!("requested review {} of {id} in the domain '{domain}'", review.id);
        Answer::new(&ReviewView::from(&review), review.id, line)
    })
}
