//! Parking: a session that waits for a time, because of a usage limit or because a person wants it.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{budget, prompt};
use crate::core::{lookup, parking_end, session_events, session_process};
use crate::mail::send;
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::parking::{ParkingCause, ParkingKind};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::rules::work::ProviderParking;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, SessionId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, StoreError, WriteTx, sessions};
use fairway_core::wire::SessionView;

/// The source of the message to a session that goes on.
const SOURCE: &str = "resumption";

/// Parks a session until a time: prompts wait in its queue, and nothing is typed into it. With `at_limit` the usage limit of its
/// provider is the cause, else `why`.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn park(app: &App, id: &SessionId, until: Timestamp, why: Option<&str>, at_limit: bool) -> Result<Answer> {
    let why = why.map(|why| text_limits::check_line("reason", why)).transpose()?;
    app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        session.check_open()?;
        if until <= tx.now() {
            return Err(Refusal::invalid("until", format!("{until} is over")).into());
        }
        let why = match &session.provider {
            Some(provider) if at_limit => ParkingCause::usage_limit(provider),
            None if at_limit => return Err(Refusal::invalid("limit", format!("{id} has no provider")).into()),
            _ => ParkingCause::new(ParkingKind::Reason, why.as_deref().unwrap_or(&format!("by {}", app.actor.name))),
        };
        let parked = session_events::apply(tx, &session, &SessionEvent::Parked { until, why: &why })?;
        let parking = parked.parking(tx.now()).unwrap_or_default();
        Answer::new(&SessionView::from(&parked), id, format!("{id} is {parking}"))
    })
}

/// Ends the parking of a session, and delivers what waits for it. One that would go on by itself is told to go on now, unless it
/// `stays`.
///
/// # Errors
/// `not_found`; `budget_spent` for one that a budget has paused.
pub fn unpark(app: &App, id: &SessionId, stays: bool) -> Result<Answer> {
    let answer = app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        if session.parked_until.is_none() {
            return Answer::new(&SessionView::from(&session), id, format!("unchanged: {id} is not parked"));
        }
        if session.is_paused(tx.now()) {
            budget::check_unpark(app, tx, &session)?;
        }
        let after = session_events::apply(tx, &session, &SessionEvent::Unparked)?;
        if let Some(told) = parking_end::told(app, &session).filter(|_| !stays) {
            tell_to_go_on(tx, &session, told)?;
        }
        Answer::new(&SessionView::from(&after), id, format!("{id} is parked no more"))
    })?;
    Ok(match prompt::try_deliver(app, id) {
        Some(note) => answer.note(note),
        None => answer,
    })
}

/// Queues what makes a session go on after its parking.
pub(super) fn tell_to_go_on(tx: &WriteTx<'_>, session: &Session, told: &str) -> Result<()> {
    let key = format!("{SOURCE} {} {}", session.run_id, tx.now().millis());
    send::tell(tx, &session.id, SOURCE, told.to_owned(), &key).map(drop)
}

/// The sessions that may go on and are or were parked: the live ones, and those that have ended and still claim a task.
pub(super) fn with_parking(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    let mut found = sessions::live(tx)?;
    found.extend(sessions::holding_final(tx)?);
    found.retain(|session| session.parked_until.is_some());
    Ok(found)
}

/// The providers whose usage limit has parked a session of this host, each with the latest of these parkings.
pub(crate) fn limited_providers(
    tx: &ReadTx<'_>,
    now: Timestamp,
) -> Result<BTreeMap<Label, ProviderParking>, StoreError> {
    let mut found: BTreeMap<Label, ProviderParking> = BTreeMap::new();
    for session in with_parking(tx)? {
        let (Some(provider), Some(until)) = (session.limited_provider(now), session.parked_until) else { continue };
        let is_later = found.get(provider).is_none_or(|known| known.until < until);
        if is_later && session_process::is_local(&session) {
            let clause = session.parking(now).unwrap_or_default();
            found.insert(provider.clone(), ProviderParking { until, clause });
        }
    }
    Ok(found)
}
