//! Who ended a session, or is about to: read from the reason and the source of the activity in its row.

use super::PersonName;

/// The `activity_source` of a session that is being stopped, and that was stopped.
pub const STOP_SOURCE: &str = "fairway session stop";
/// The `activity_source` of a session whose end a person has recorded.
pub const END_SOURCE: &str = "fairway session end";
/// The start of the reason of a session of another host that a person gave up, before a name.
pub const GIVEN_UP_REASON: &str = "given up by ";
/// The start of the reason of a session that was stopped, before a name.
const STOPPED: &str = "stopped by ";
/// The start of the reason of a session that is being stopped, before a name.
const STOPPING: &str = "being stopped by ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy<'a> {
    /// `session stop`, by the person or session of this name.
    Stop(&'a str),
    /// A person, who recorded the end.
    Record,
    /// A person, who gave up a session of another host.
    GivingUp,
    /// Its program, or an unknown cause.
    Itself,
}

impl<'a> EndedBy<'a> {
    pub fn parse(reason: Option<&'a str>, activity_source: Option<&str>) -> Self {
        let after = |start: &str| reason.and_then(|reason| reason.strip_prefix(start));
        match (activity_source, after(STOPPED).or_else(|| after(STOPPING))) {
            (Some(STOP_SOURCE), Some(by)) => Self::Stop(by),
            (Some(END_SOURCE), _) => Self::Record,
            _ if after(GIVEN_UP_REASON).is_some() => Self::GivingUp,
            _ => Self::Itself,
        }
    }

    /// Whether a person has stopped, ended or given up the session.
    pub fn is_person(self) -> bool {
        match self {
            Self::Stop(by) => PersonName::of_actor(by).is_some(),
            Self::Record | Self::GivingUp => true,
            Self::Itself => false,
        }
    }
}

/// The reason of a session that `by` is stopping.
pub fn stopping_reason(by: &str) -> String {
    format!("{STOPPING}{by}")
}

/// The reason of a session that `by` has stopped.
pub fn stopped_reason(by: &str) -> String {
    format!("{STOPPED}{by}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::HOOK_SOURCE;

    #[test]
    fn end_is_a_persons_by_its_source_or_reason_and_never_a_sessions() {
        for (reason, source) in [
            (None, Some(END_SOURCE)),
            (Some("stopped by ann@host"), Some(STOP_SOURCE)),
            (Some("being stopped by ann@host"), Some(STOP_SOURCE)),
            (Some("given up by ann@host#03e5, last heard 1h ago"), Some(STOP_SOURCE)),
            (Some("given up by ann@host: it is gone"), None),
        ] {
            assert!(EndedBy::parse(reason, source).is_person(), "{reason:?} {source:?}");
        }
        for (reason, source) in [
            (None, None),
            (None, Some(STOP_SOURCE)),
            (Some("stopped by lead"), Some(STOP_SOURCE)),
            (Some("stopped by ann@host"), Some(HOOK_SOURCE)),
            (Some("process 7 is gone"), None),
        ] {
            assert!(!EndedBy::parse(reason, source).is_person(), "{reason:?} {source:?}");
        }
    }
}
