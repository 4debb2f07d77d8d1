//! The signs of a usage limit in transcripts and errors, and the time at which it passes. An ordinary refusal and an overload show none.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::app::App;
use fairway_core::adapters::plumbing::transcript;
use fairway_core::config::LimitProfile;
use fairway_core::domain::id::Label;
use fairway_core::domain::session::NO_END;
use fairway_core::env::Timestamp;
use fairway_core::os::poll_until::poll_until;

/// How many bytes of a provider's transcript are read from its end, and how many lines.
const MAX_BYTES: u64 = 256 << 10;
const MAX_LINES: usize = 20;
/// How long the provider may take to write the line about its limit after its hook has begun.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// When the limit passes, by the newest lines of the transcript of a turn that has just failed.
pub fn after_failure(app: &App, provider: &Label, transcript: Option<&str>) -> Option<Timestamp> {
    let (limit, path) = (profile(app, provider)?, Path::new(transcript?));
    poll_until(WRITE_TIMEOUT, PAUSE, || in_transcript(&limit, path, app.env.now(), MAX_LINES))
}

/// When the limit passes, by the last line of a transcript: it has ended the turn.
pub fn at_end(app: &App, provider: &Label, transcript: &str) -> Option<Timestamp> {
    in_transcript(&profile(app, provider)?, Path::new(transcript), app.env.now(), 1)
}

/// When the limit passes that an error of the protocol tells of; [`NO_END`] where its text has no time that can be read.
pub fn of_error(app: &App, provider: &Label, error: &Value) -> Option<Timestamp> {
    let zone = app.env.var("TZ").map(str::to_owned).or_else(|| {
        let link = fs::read_link("/etc/localtime").ok()?;
        Some(link.to_str()?.split_once("zoneinfo/")?.1.to_owned())
    });
    in_error(&profile(app, provider)?, error, app.env.now(), zone.as_deref())
}

fn profile(app: &App, provider: &Label) -> Option<LimitProfile> {
    app.settings.provider(provider.as_str()).profile.facts.limit
}

fn in_error(limit: &LimitProfile, error: &Value, now: Timestamp, zone: Option<&str>) -> Option<Timestamp> {
    let found = at(error, limit.error.as_ref()?)?;
    let is_value =
        |value: &String| found.as_str() == Some(value) || found.as_i64().is_some_and(|code| value.parse() == Ok(code));
    let message = limit.error_value.as_ref().filter(|value| is_value(value)).and(error["message"].as_str())?;
    let (_, time) = message.split_once(limit.text.as_ref()?)?;
    Some(Timestamp::parse_spoken(time, now, zone).unwrap_or(NO_END))
}

/// `lines` is the number of lines at the end of which one tells of the limit. The time may stand before it.
fn in_transcript(limit: &LimitProfile, path: &Path, now: Timestamp, lines: usize) -> Option<Timestamp> {
    let (field, value, time) = (limit.field.as_ref()?, limit.value.as_ref()?, limit.time.as_ref()?);
    let (bytes, _) = transcript::end(path, MAX_BYTES).ok()?;
    let newest = bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(MAX_LINES);
    let entries: Vec<Value> = newest.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let is_limit = |entry: &Value| at(entry, field).is_some_and(|found| found.as_str() == Some(value));
    let from = entries.iter().take(lines).position(is_limit)?;
    let seconds = entries.iter().skip(from).find_map(|entry| times(entry, time))?;
    Some(Timestamp::from_millis(seconds.checked_mul(1_000)?)).filter(|until| *until > now)
}

/// The times at a path. A `*` in it stands for each window that is used up; of several the last one counts.
fn times(entry: &Value, path: &str) -> Option<i64> {
    let Some((before, after)) = path.split_once(".*.") else { return at(entry, path)?.as_i64() };
    let is_full = |window: &&Value| window["used_percent"].as_f64().is_some_and(|used| used >= 100.0);
    let windows = at(entry, before)?.as_object()?.values().filter(is_full);
    windows.filter_map(|window| at(window, after)?.as_i64()).max()
}

fn at<'a>(entry: &'a Value, path: &str) -> Option<&'a Value> {
    entry.pointer(&format!("/{}", path.replace('.', "/")))
}
