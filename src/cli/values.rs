//! Readers for values on the command line: what they cannot read never reaches a use case.

use std::net::{IpAddr, SocketAddr};
use std::num::ParseIntError;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use nix::sys::signal::Signal;

use crate::hooks::Provider;
use fairway_actions::agents::runtime::context::Mode;
use fairway_core::config::parse_duration;
use fairway_core::domain::approval::Decision;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::device::MAX_DEVICE_LIFETIME;
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::id::{DeviceName, Label, SinkName};
use fairway_core::domain::job_output::{WatchScope, Watcher};
use fairway_core::domain::message::Priority;
use fairway_core::domain::notification::minute_of_day;
use fairway_core::domain::provider_event::ProviderState;
use fairway_core::domain::question::QuestionId;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::domain::search::SearchKind;
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::usage::UsageBy;
use fairway_core::domain::{
    EventKind, EventKindPattern, LaneName, Refusal, Role, RoutingKey, RunId, SessionId, TaskId, text_limits,
};
use fairway_core::env::Timestamp;
use fairway_core::os::signals;

macro_rules! reader {
    ($(#[$meta:meta])* $name:ident -> $type:ty) => {
        $(#[$meta])*
        pub fn $name(text: &str) -> Result<$type, Refusal> {
            Ok(<$type>::parse(text)?)
        }
    };
}

/// Parses an IP address with or without a port. Port 0 stands for any free port, and is the default.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let bare = || text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    text.parse().or_else(|_| bare()).map_err(|_| format!("'{text}' is not an IP address with or without a port"))
}

reader!(task -> TaskId);
reader!(role -> Role);
reader!(lane -> LaneName);
reader!(session -> SessionId);
reader!(question -> QuestionId);
reader!(routing_key -> RoutingKey);
reader!(label -> Label);
reader!(device -> DeviceName);
reader!(notify_sink -> SinkName);

/// Parses the session for which a command acts. Any routing key is accepted, because `inbox` also works for keys that are not
/// session ids. The error for an invalid text describes a session id.
pub fn acting_session(text: &str) -> Result<RoutingKey, Refusal> {
    RoutingKey::parse(text).or_else(|_| Ok(SessionId::parse(text)?.into()))
}

macro_rules! word_reader {
    ($(#[$meta:meta])* $name:ident -> $type:ty) => {
        $(#[$meta])*
        pub fn $name(text: &str) -> Result<$type, String> {
            word(text, <$type>::parse(text), <$type>::ALL.iter().map(|one| one.as_str()))
        }
    };
}

word_reader!(checkpoint_state -> CheckpointState);
word_reader!(decision -> Decision);
word_reader!(evidence_result -> EvidenceResult);
word_reader!(verdict -> Verdict);
word_reader!(priority -> Priority);

word_reader!(search_kind -> SearchKind);
word_reader!(mode -> Mode);
word_reader!(usage_by -> UsageBy);

/// Parses the start of a period: a date, which stands for its midnight in UTC, a time, or a duration before `now`.
pub fn since(text: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
    if let Some(at) = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z"))) {
        return Ok(at);
    }
    match parse_duration(text) {
        Ok(span) => Ok(now.minus(span)),
        Err(_) => {
            let text = text.escape_debug();
            Err(Refusal::invalid("since", format!("'{text}' is no date (2026-01-31), time or span (7d)")))
        }
    }
}

/// Parses a time that is to come: RFC 3339, or the next moment at which the local clock shows a time such as `17:00`.
pub fn until(text: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
    let by_clock = || minute_of_day(text).map(|minute| now.next_local_minute(minute));
    Timestamp::parse(text).or_else(by_clock).ok_or_else(|| {
        Refusal::invalid("until", format!("'{}' is no time such as 17:00 or 2026-01-31T12:00:00Z", text.escape_debug()))
    })
}

/// Parses a kind of event, or a pattern such as `task.*` for several. The error names the most similar kind.
pub fn event_kind(text: &str) -> Result<EventKindPattern, String> {
    EventKindPattern::parse(text).ok_or_else(|| {
        let near = EventKind::ALL.iter().map(|kind| kind.as_str());
        let near = near.max_by(|a, b| strsim::jaro(a, text).total_cmp(&strsim::jaro(b, text))).unwrap_or_default();
        format!("no kind of event fits '{}'; name one such as {near} or task.*", text.escape_debug())
    })
}

/// Accepts the providers that have hooks, and lists them in help and completions.
pub fn hook_providers() -> impl TypedValueParser<Value = Provider> {
    PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.label()))
        .try_map(|name| Provider::parse(&name).ok_or("is none of them"))
}

/// Parses a maximum number of rows; 0 means no limit.
pub fn limit(text: &str) -> Result<u32, ParseIntError> {
    text.parse().map(|limit| if limit == 0 { u32::MAX } else { limit })
}

/// Parses a signal's name or number.
pub fn signal(text: &str) -> Result<Signal, String> {
    signals::parse(text).ok_or_else(|| format!("'{}' is no signal: name one as TERM, INT or 9", text.escape_debug()))
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
}

/// Parses how long a device stays paired: from one minute to the longest time for which browsers keep a key.
pub fn device_lifetime(text: &str) -> Result<Duration, String> {
    let span = parse_duration(text)?;
    let is_possible = (Duration::from_secs(60)..=MAX_DEVICE_LIFETIME).contains(&span);
    if is_possible {
        Ok(span)
    } else {
        Err(format!("'{text}' is not between 1m and 400d: browsers keep no key longer"))
    }
}

pub fn status(text: &str) -> Result<TaskStatus, String> {
    word(text, TaskStatus::parse(text), TaskStatus::ALL.iter().map(|status| status.as_str()))
}

pub fn activity(text: &str) -> Result<Activity, String> {
    word(text, Activity::parse(text), Activity::ALL.iter().map(|activity| activity.as_str()))
}

/// Parses a session's status, and refuses final ones.
pub fn live_status(text: &str) -> Result<SessionStatus, String> {
    session_status(text, false)
}

/// Parses a session's status, and refuses those that are not final.
pub fn final_status(text: &str) -> Result<SessionStatus, String> {
    session_status(text, true)
}

fn session_status(text: &str, is_final: bool) -> Result<SessionStatus, String> {
    let fits = |status: &SessionStatus| status.is_final() == is_final;
    let all = SessionStatus::ALL.iter().filter(|status| fits(status)).map(|status| status.as_str());
    word(text, SessionStatus::parse(text).filter(fits), all)
}

/// Parses the state that a provider reports for a session, in any spelling that a provider uses.
pub fn provider_state(text: &str) -> Result<ProviderState, String> {
    word(text, ProviderState::from_provider(text), ProviderState::ALL.iter().map(|state| state.as_str()))
}

/// Parses an RFC 3339 time.
pub fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .ok_or_else(|| format!("'{}' is not a time such as 2026-01-31T12:00:00Z", text.escape_debug()))
}

/// Parses a fraction from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("'{}' is not a number from 0 to 1", text.escape_debug()))
}

/// Accepts only a UUID.
pub fn run_id(text: &str) -> Result<RunId, String> {
    let id = Some(RunId::parse(text)).filter(RunId::is_usable);
    id.ok_or_else(|| format!("'{}' is not a UUID", text.escape_debug()))
}

/// Accepts 1 to 128 printable ASCII characters without spaces.
pub fn request_id(text: &str) -> Result<String, String> {
    if (1..=text_limits::MAX_REQUEST_ID_BYTES).contains(&text.len())
        && text.chars().all(|letter| letter.is_ascii_graphic())
    {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 128 printable ASCII characters without spaces".into())
    }
}

/// Returns the value in `found`. When there is none, the error lists all words that `text` may be.
pub fn word<T>(text: &str, found: Option<T>, all: impl Iterator<Item = &'static str>) -> Result<T, String> {
    found.ok_or_else(|| format!("'{}' is none of {}", text.escape_debug(), all.collect::<Vec<_>>().join(", ")))
}

/// Accepts 7 to 64 hexadecimal digits, and returns them in lower case.
pub fn commit(text: &str) -> Result<String, String> {
    if (7..=64).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("is not a commit of 7 to 64 hexadecimal digits".into())
    }
}

/// Parses `REGEX=EVENT`: the expression to look for, and the name of the event that a match becomes (`match` by default). The
/// last `=` separates them.
pub fn watcher(text: &str) -> Result<Watcher, String> {
    let (regex, event) = text.rsplit_once('=').unwrap_or((text, "match"));
    if regex.is_empty() {
        return Err("there is no expression before '='".into());
    }
    let event = Label::parse(event).map_err(|refusal| format!("the event's {refusal}; write REGEX=EVENT"))?;
    Ok(Watcher { regex: regex.to_owned(), event, once: false, scope: WatchScope::Both })
}

pub fn task_priority(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "must be a number from 0 (first) to 4 (last)".into())
}

/// Parses `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("must be NAME=VALUE".into()),
    }
}

pub(super) fn sandbox_class(text: &str) -> Result<SandboxClass, String> {
    SandboxClass::parse(text).ok_or_else(|| "must be off, namespace or command".to_owned())
}

pub(super) fn sandbox_network(text: &str) -> Result<SandboxNetwork, String> {
    SandboxNetwork::parse(text).ok_or_else(|| "must be none, proxy or open".to_owned())
}
