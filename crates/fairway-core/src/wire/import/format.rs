//! The forms of a file of tasks, told apart by their content: JSON lines, a JSON list, and a JSON object with `tasks`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Record;
use super::record::TWICE;

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// One JSON object a line.
    JsonLines,
    /// One JSON document.
    Json,
}

/// A record and the line on which it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordAtLine {
    /// Counted from 1.
    pub line: usize,
    /// The record; else why this is no task.
    pub record: Result<Record, String>,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Where, counted from 1.
    pub line: usize,
    /// A sentence.
    pub why: String,
}

impl ImportFormat {
    /// The format that a file name's extension implies. Returns `None` for any other extension.
    pub fn from_extension(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// Guesses the format from the text itself.
    pub fn detect(text: &str) -> Self {
        let mut meant = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = meant.next().unwrap_or_default();
        // Inside a document that is laid out over lines, an object begins at the margin only once, and the first line is
        // no document by itself.
        let several = text.lines().filter(|line| line.starts_with('{')).nth(1).is_some();
        let mut whole = || meant.next().is_some() && serde_json::from_str::<IgnoredAny>(first).is_ok();
        if first.starts_with('{') && (several || whole()) { Self::JsonLines } else { Self::Json }
    }
}

/// Reads all tasks of a file. Detects the format when `form` is `None`; a text that cannot be JSON has no tasks.
///
/// # Errors
/// The line of the first error, and its reason.
pub fn parse(text: &str, form: Option<ImportFormat>) -> Result<Vec<RecordAtLine>, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if form.is_none() && !text.trim_start().starts_with(['{', '[']) {
        return Ok(Vec::new());
    }
    match form.unwrap_or_else(|| ImportFormat::detect(text)) {
        ImportFormat::JsonLines => parse_json_lines(text),
        ImportFormat::Json => parse_json(text),
    }
}

fn parse_json_lines(text: &str) -> Result<Vec<RecordAtLine>, ParseError> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered.map(|(above, line)| read_json(line, above)).collect()
}

/// Reads one record. A text that is no JSON is an error: the file is damaged. JSON that is no task is not, as long as others may
/// be, nor is one whose text or depth cannot be read.
fn read_json(text: &str, above: usize) -> Result<RecordAtLine, ParseError> {
    let damaged = |error: serde_json::Error| json_error(&error, above);
    let record = match serde_json::from_str(text) {
        Err(error) if !error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            Err(json_error(&error, above).why)
        }
        Err(error) if error.is_data() => match serde_json::from_str(text).map_err(damaged)? {
            Value::Object(_) if error.to_string().starts_with(TWICE) => Err(json_error(&error, above).why),
            Value::Object(object) => Ok(Record::of_odd(object)),
            _ => Err("it is no JSON object".to_owned()),
        },
        read => Ok(read.map_err(damaged)?),
    };
    Ok(RecordAtLine { line: above + 1, record })
}

/// A JSON object with a list of tasks.
#[derive(Deserialize)]
struct Tasks<'a> {
    #[serde(borrow)]
    tasks: Vec<&'a RawValue>,
}

fn parse_json(text: &str) -> Result<Vec<RecordAtLine>, ParseError> {
    let broken = |error: serde_json::Error| json_error(&error, 0);
    let items: Vec<&RawValue> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(broken)?
    } else {
        // An object without a list of tasks is itself a task.
        match serde_json::from_str::<Tasks<'_>>(text) {
            Ok(found) => found.tasks,
            Err(error) if error.is_data() && error.to_string().starts_with("missing field") => {
                vec![serde_json::from_str(text).map_err(broken)?]
            }
            Err(error) => return Err(broken(error)),
        }
    };
    placed(text, items).map(|(item, above)| read_json(item, above)).collect()
}

/// Items of a text, each with the number of lines above it.
pub(super) fn placed<'t>(text: &'t str, items: Vec<&'t RawValue>) -> impl Iterator<Item = (&'t str, usize)> {
    let (mut above, mut seen) = (0, 0);
    items.into_iter().map(move |item| {
        // The item is a part of the text: the distance of the two is its place.
        let begin = (item.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        above += text.get(seen..begin).unwrap_or_default().matches('\n').count();
        seen = begin;
        (item.get(), above)
    })
}

pub(super) fn json_error(error: &serde_json::Error, above: usize) -> ParseError {
    let text = error.to_string();
    let why = text.rfind(" at line ").and_then(|end| text.get(..end)).unwrap_or(&text);
    let why = if error.column() > 0 { format!("{why} (column {})", error.column()) } else { why.to_owned() };
    ParseError { line: above + error.line().max(1), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(usize, String)> {
        let read = parse(text, None).unwrap_or_else(|broken| panic!("{broken:?}"));
        read.into_iter().map(|placed| (placed.line, placed.record.unwrap().id.unwrap_or_default())).collect()
    }

    #[test]
    fn forms_are_told_apart_and_lines_are_counted() {
        let two = vec![(1, "a".to_owned()), (3, "b".to_owned())];
        assert_eq!(places("{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n"), two);
        assert_eq!(places("[{\"id\":\"a\"},\n\n{\"id\":\"b\"}]"), two);
        assert_eq!(places("{\"tasks\": [{\"id\":\"a\"}\n,\n {\"id\":\"b\"}]}"), two);
        assert_eq!(places("{\n  \"id\": \"a\"\n}"), [(1, "a".to_owned())]);
        for no_json in ["\u{feff}\n", "- id: a\n", "# A heading\n"] {
            assert_eq!(places(no_json), [], "{no_json}");
        }
    }

    #[test]
    fn broken_record_is_named_by_its_line() {
        let line = |text: &str| parse(text, None).unwrap_err();
        assert_eq!(line("{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":").line, 3);
        assert_eq!(line("[{\"id\":\"a\"},\n{\"id\":\"b\"").line, 2);
    }

    #[test]
    fn odd_values_are_taken_and_what_is_no_task_does_not_stop_the_others() {
        let read = |text: &str| parse(text, None).unwrap();
        let records = read(
            "{\"id\":1,\"labels\":[null,\"a\",2],\"priority\":\"P1\",\"dependencies\":[\"b\"],\"title\":[]}\n3\n{\"id\":\"c\"}\n",
        );
        let odd = records[0].record.as_ref().unwrap();
        assert_eq!((odd.id.as_deref(), odd.priority), (Some("1"), Some(1)));
        assert_eq!(odd.labels.as_deref(), Some(&["a".to_owned(), "2".to_owned()][..]));
        assert_eq!(odd.dependencies.as_ref().unwrap()[0].depends_on_id.as_deref(), Some("b"));
        assert_eq!((odd.title.as_ref(), odd.other[0].0.as_str()), (None, "title"));
        assert_eq!(records[1].record.as_ref().unwrap_err(), "it is no JSON object");
        assert_eq!(records[2].record.as_ref().unwrap().id.as_deref(), Some("c"));
        let twice = read("[{\"id\":\"a\",\"id\":\"b\"}]").remove(0).record.unwrap_err();
        assert_eq!(twice, "the field 'id' stands there twice (column 14)");
    }

    #[test]
    fn record_that_cannot_be_read_leaves_the_others() {
        let deep = format!("{{\"id\":\"a\",\"x\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
        for (odd, why) in [(deep.as_str(), "recursion limit"), (r#"{"id":"a","title":"\ud83d"}"#, "hex escape")] {
            let read = parse(&format!("{odd}\n{{\"id\":\"b\"}}\n"), None).unwrap();
            assert!(read[0].record.as_ref().unwrap_err().contains(why), "{read:?}");
            assert_eq!(read[1].record.as_ref().unwrap().id.as_deref(), Some("b"));
        }
    }
}
