//! A runtime's reports about its own life, and the rule that ignores reports that come too late.

use std::time::Duration;

use super::session::Activity;
use super::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    /// An event in a runtime's life.
    LifecycleEvent {
        Started => "started",
        Ready => "ready",
        Busy => "busy",
        Idle => "idle",
        Stopping => "stopping",
        Stopped => "stopped",
    }
}

impl LifecycleEvent {
    /// The session's activity after this event: unknown when the program has just started, `None` when it has stopped.
    pub const fn activity(self) -> Option<Activity> {
        match self {
            Self::Started => Some(Activity::Unknown),
            Self::Ready | Self::Idle => Some(Activity::Idle),
            Self::Busy => Some(Activity::Busy),
            Self::Stopping => Some(Activity::Stopping),
            Self::Stopped => None,
        }
    }

    /// Whether a report about the time `at` is still news when the newest report so far was about `newest`. `Stopped` is always
    /// news: nothing of the session run can follow it.
    pub fn is_newer(self, at: Timestamp, newest: Option<Timestamp>) -> bool {
        self == Self::Stopped || newest.is_none_or(|newest| at >= newest)
    }
}

/// How far ahead of ours a runtime's clock may be.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// The time at which a report takes effect: the time `told` in it, or `now` when it has none or one more than five minutes ahead.
/// Otherwise one report by a wrong clock would make all later ones look old.
pub fn event_time(told: Option<Timestamp>, now: Timestamp) -> Timestamp {
    told.filter(|at| *at <= now.plus(MAX_CLOCK_SKEW)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_reports_are_no_news_and_an_end_always_is() {
        let (early, late) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        for event in LifecycleEvent::ALL {
            assert!(
                event.is_newer(late, Some(early)) && event.is_newer(late, Some(late)) && event.is_newer(late, None)
            );
            assert_eq!(event.is_newer(early, Some(late)), *event == LifecycleEvent::Stopped, "{event}");
        }
    }

    #[test]
    fn report_time_far_ahead_is_not_believed() {
        let now = Timestamp::from_millis(1_000_000);
        assert_eq!(event_time(None, now), now);
        for (told, meant) in [(0, 0), (1_300_000, 1_300_000), (1_300_001, 1_000_000)] {
            assert_eq!(event_time(Some(Timestamp::from_millis(told)), now), Timestamp::from_millis(meant));
        }
    }
}
