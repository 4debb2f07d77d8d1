//! The health of a session's runtime, from the facts that are known about it.

use std::time::Duration;

use crate::domain::session::{Activity, Session, SessionStatus};
use crate::domain::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    HealthStatus {
        Healthy => "healthy",
        Degraded => "degraded",
        Unhealthy => "unhealthy",
    }
}

#[derive(Debug, Clone, Copy)]
pub struct HealthFacts<'a> {
    pub session: &'a Session,
    /// The error in its newest heartbeat.
    pub error: Option<&'a str>,
    /// Silence after which it is stale; `None`: it may be silent for ever.
    pub stale_after: Option<Duration>,
    /// How full its context may be.
    pub context_threshold: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub status: HealthStatus,
    pub why: Option<String>,
}

/// Judges a session. It is unhealthy when it is stale or has ended. It is degraded when it is still starting, reports an error,
/// waits for a person, has a nearly full context, or has been silent for more than half of the time after which it becomes stale.
pub fn assess(facts: &HealthFacts<'_>, now: Timestamp) -> Health {
    let session = facts.session;
    let silence = now.since(session.last_seen());
    let unhealthy = |why: String| Health { status: HealthStatus::Unhealthy, why: Some(why) };
    let degraded = |why: String| Health { status: HealthStatus::Degraded, why: Some(why) };
    match session.status {
        SessionStatus::Stale | SessionStatus::Ended | SessionStatus::Failed => {
            let why = session.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            return unhealthy(format!("it is {}{why}", session.status));
        }
        SessionStatus::Starting => return degraded("it has not come up yet".into()),
        SessionStatus::Running => {}
    }
    if let Some(error) = facts.error {
        return degraded(error.to_owned());
    }
    if session.activity == Activity::RequiresAction {
        let what = session.waiting_for.as_deref().unwrap_or("input");
        return degraded(format!("it waits for {what}"));
    }
    if let Some(share) = session.context_usage.filter(|share| *share >= facts.context_threshold) {
        return degraded(format!("its context is {:.0} % full", share * 100.0));
    }
    if facts.stale_after.is_some_and(|limit| silence > limit / 2) {
        return degraded(format!("it has been silent for {} s", silence.as_secs()));
    }
    Health { status: HealthStatus::Healthy, why: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::tests::session;

    #[test]
    fn health_follows_the_table_of_reports() {
        use HealthStatus::{Degraded, Healthy, Unhealthy};
        use SessionStatus::{Ended, Failed, Running, Stale, Starting};
        let now = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let look = |session: &Session, error: Option<&str>, limit: Option<u64>, seconds: i64| {
            let silence_limit = limit.map(Duration::from_secs);
            assess(&HealthFacts { session, error, stale_after: silence_limit, context_threshold: 0.8 }, now(seconds))
                .status
        };
        for (status, health) in
            [(Running, Healthy), (Starting, Degraded), (Stale, Unhealthy), (Ended, Unhealthy), (Failed, Unhealthy)]
        {
            assert_eq!(look(&session(status), None, Some(60), 30), health, "{status}");
        }
        let running = session(Running);
        assert_eq!(look(&running, None, Some(60), 31), Degraded);
        assert_eq!(look(&running, None, None, 31_000), Healthy);
        assert_eq!(look(&running, Some("no disk"), None, 0), Degraded);
        for (share, health) in [(0.79, Healthy), (0.8, Degraded), (1.0, Degraded)] {
            assert_eq!(look(&Session { context_usage: Some(share), ..running.clone() }, None, None, 0), health);
        }
        let asks = running.with_activity(Activity::RequiresAction, Some("approval: ls"), "test", now(0));
        let facts = HealthFacts { session: &asks, error: None, stale_after: None, context_threshold: 0.8 };
        assert_eq!(assess(&facts, now(0)).why.as_deref(), Some("it waits for approval: ls"));
    }
}
