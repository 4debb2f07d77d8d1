//! When the end of a parking is acted on, and what its session is told then.

use std::time::Duration;

use super::app::App;
use super::session_process;
use fairway_core::domain::parking::ParkingKind;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::env::Timestamp;

/// The sessions of one provider go on within this time, not all at once.
const SPREAD: Duration = Duration::from_secs(120);
/// How long a provider's program may take that goes on by itself.
const OWN_WAY: Duration = Duration::from_secs(180);

/// When the end of a session's parking is acted on; `None` when no time ends it, on another host, and for a session that has
/// ended without a failure or is being stopped.
pub fn due_at(app: &App, session: &Session) -> Option<Timestamp> {
    let until = session.parking_ends_at()?;
    let is_left = session.status == SessionStatus::Ended || session.is_being_stopped();
    if is_left || !session_process::is_local(session) {
        return None;
    }
    if told(app, session).is_none() {
        return Some(until);
    }
    let number =
        session.run_id.as_str().bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let spread = SPREAD.mul_f64(f64::from(number % 1_000) / 1_000.0);
    Some(until.plus(spread).plus(if goes_on_by_itself(app, session) { OWN_WAY } else { Duration::ZERO }))
}

/// The text for a session whose parking has ended; `None` when nothing makes it go on.
pub fn told(app: &App, session: &Session) -> Option<&'static str> {
    let cause = session.parked_why.as_ref().filter(|_| app.settings.agents.resume)?;
    match cause.kind() {
        ParkingKind::UsageLimit => Some("the usage limit has passed: go on where you stopped"),
        ParkingKind::Budget => Some("your budget allows it again: go on where you stopped"),
        ParkingKind::Reason => None,
    }
}

/// Whether the provider's program goes on by itself when its limit has passed.
fn goes_on_by_itself(app: &App, session: &Session) -> bool {
    let profile = |name: &str| app.settings.provider(name).profile.facts.limit.and_then(|limit| limit.goes_on);
    !session.is_structured() && session.provider.as_ref().and_then(|name| profile(name.as_str())) == Some(true)
}
