//! A search in the transcripts of sessions. Their formats belong to the providers: of a line of JSON every string is searched
//! except names and ids, of another line its visible text.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::hit::{Hit, keep_newest, view};
use crate::App;
use fairway_core::domain::ansi::strip_escapes;
use fairway_core::domain::search::{MatchExcerpt, SearchKind, TextMatcher};
use fairway_core::env::Timestamp;
use fairway_core::store::search::TranscriptRow;
use fairway_core::wire::SearchHitView;

/// The longest line that is read, in bytes; the rest of a longer one is not searched.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// The keys of a JSON line whose values are not searched, because they are not text of the conversation.
const NO_TEXT: &[&str] = &[
    "cwd", "encrypted_content", "gitBranch", "id", "model", "parentUuid", "requestId", "role", "sessionId",
    "signature", "timestamp", "type", "uuid", "version",
];

/// A transcript file, and the row of the session that its hits name.
struct Transcript<'a> {
    row: &'a TranscriptRow,
    file: File,
    length: u64,
    changed_at: Timestamp,
}

/// Adds the hits in the transcripts, starting with the file that was changed last. Stops at the first file that is older than
/// all of `limit` hits. A file that cannot be read is added to `unreadable`, with the reason.
pub(super) fn search(
    app: &App,
    rows: &[TranscriptRow],
    matcher: &TextMatcher,
    limit: usize,
    hits: &mut Vec<Hit>,
    unreadable: &mut Vec<String>,
) {
    // The newest session of a file comes first, and stands for the others.
    let mut files: BTreeMap<PathBuf, &TranscriptRow> = BTreeMap::new();
    for row in rows {
        files.entry(app.project.root.join(&row.path)).or_insert(row);
    }
    let mut transcripts = Vec::new();
    for (path, row) in &files {
        match changed_at(path) {
            Ok(at) => transcripts.push((at, path, *row)),
            Err(error) => unreadable.push(format!("{}: {error}", path.display())),
        }
    }
    transcripts.sort_by_key(|(at, path, _)| (std::cmp::Reverse(*at), *path));
    for (at, path, row) in transcripts {
        keep_newest(hits, limit);
        if hits.len() >= limit && hits.last().is_some_and(|oldest| oldest.at > at) {
            break;
        }
        let found = open(path, row).and_then(|transcript| search_file(&transcript, path, matcher, limit));
        match found {
            Ok(found) => hits.extend(found),
            Err(error) => unreadable.push(format!("{}: {error}", path.display())),
        }
    }
}

fn changed_at(path: &Path) -> io::Result<Timestamp> {
    let found = path.metadata()?;
    // Opening a FIFO or a device would wait, or do something.
    if !found.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    Ok(Timestamp::from_system_time(found.modified()?).unwrap_or(Timestamp::from_millis(0)))
}

fn open<'a>(path: &Path, row: &'a TranscriptRow) -> io::Result<Transcript<'a>> {
    let changed_at = changed_at(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok(Transcript { row, file, length, changed_at })
}

/// The last hits of a file, at most `limit`: its newest lines are at its end.
fn search_file(
    transcript: &Transcript<'_>,
    path: &Path,
    matcher: &TextMatcher,
    limit: usize,
) -> io::Result<VecDeque<Hit>> {
    let mut hits = VecDeque::new();
    // A file that grows while it is read would have no end.
    let mut reader = BufReader::with_capacity(1 << 16, (&transcript.file).take(transcript.length));
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        if (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(hits);
        }
        if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
        }
        let text = String::from_utf8_lossy(&line);
        let Some((at, field, found)) = search_line(text.trim_end(), matcher) else { continue };
        let at = at.unwrap_or(transcript.changed_at);
        let row = transcript.row;
        let view = view(SearchKind::Transcript, row.session.clone(), at, &field, found);
        let view = SearchHitView {
            task_id: row.task.clone(),
            session_id: Some(row.session.clone()),
            lane: row.lane.clone(),
            path: Some(path.display().to_string()),
            line: Some(number),
            ..view
        };
        hits.push_back(Hit { at, view });
        if hits.len() > limit {
            hits.pop_front();
        }
    }
}

/// The time, the field and the excerpt of a line with a match.
fn search_line(line: &str, matcher: &TextMatcher) -> Option<(Option<Timestamp>, String, MatchExcerpt)> {
    if line.starts_with('{') {
        if !matcher.may_match_json(line) {
            return None;
        }
        if let Ok(document) = serde_json::from_str::<Value>(line) {
            let at = document.get("timestamp").and_then(Value::as_str).and_then(Timestamp::parse);
            let (field, found) = search_value("line", &document, matcher)?;
            return Some((at, field.to_owned(), found));
        }
    }
    let visible = strip_escapes(line);
    Some((None, "line".to_owned(), matcher.find(&visible)?))
}

/// The first string with a match below a key, depth first.
fn search_value<'a>(key: &'a str, value: &'a Value, matcher: &TextMatcher) -> Option<(&'a str, MatchExcerpt)> {
    match value {
        Value::String(text) if !NO_TEXT.contains(&key) => Some((key, matcher.find(text)?)),
        Value::Array(values) => values.iter().find_map(|value| search_value(key, value, matcher)),
        Value::Object(members) => members.iter().find_map(|(key, value)| search_value(key, value, matcher)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, line: &str) -> Option<(Option<i64>, String, String)> {
        let matcher = TextMatcher::new(text, false).unwrap();
        let (at, field, found) = search_line(line, &matcher)?;
        Some((at.map(Timestamp::millis), field, found.text))
    }

    #[test]
    fn strings_of_json_are_searched_and_names_are_not() {
        let json = r#"{"type":"user","uuid":"tax","timestamp":"1970-01-01T00:00:02Z","message":{"role":"user","content":[{"type":"text","text":"say \"tax\"\nnow"}]}}"#;
        let found = Some((Some(2_000), "text".to_owned(), "say \"tax\" now".to_owned()));
        assert_eq!(line("tax", json), found);
        // A text with characters that JSON escapes.
        assert_eq!(line("\"tax\"", json), found);
        assert_eq!(line("user", json), None);
        assert_eq!(line("timestamp", json), None);
    }

    #[test]
    fn lines_that_are_not_json_are_searched_without_escape_sequences() {
        let found = Some((None, "line".to_owned(), "a red tax".to_owned()));
        assert_eq!(line("red tax", "a \u{1b}[31mred\u{1b}[0m tax\r"), found);
        assert_eq!(line("broken", "{\"a\": broken").map(|found| found.1), Some("line".to_owned()));
    }
}
