//! GitHub issues as `gh issue list --json …` writes them: lists of objects, or one object a line.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ParseError;
use super::format::{json_error, placed};

/// The keys that every issue must have.
pub const REQUIRED_KEYS: [&str; 6] = ["number", "title", "body", "labels", "url", "state"];

/// The keys that are read when they are there.
const OPTIONAL_KEYS: [&str; 4] = ["stateReason", "createdAt", "updatedAt", "closedAt"];

/// An issue as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct IssueRecord {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// Its number in its repository.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text; may be empty.
    pub body: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// Its address.
    pub url: String,
    /// `OPEN` or `CLOSED`.
    pub state: String,
    /// Why it was closed.
    pub state_reason: Option<String>,
    /// When it was created, RFC 3339.
    pub created_at: Option<String>,
    /// When it was last changed, RFC 3339.
    pub updated_at: Option<String>,
    /// When it was closed, RFC 3339.
    pub closed_at: Option<String>,
}

/// Why issues cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueError {
    /// A place that is no issue.
    Invalid(ParseError),
    /// An issue without keys that are needed.
    MissingKeys {
        /// The line on which the issue begins.
        line: usize,
        /// The issue's number, where it has one.
        number: Option<u64>,
        /// The keys.
        keys: Vec<&'static str>,
    },
}

/// Reads all issues of a file, each or why it is none. A list in it may be empty, but the file may not.
///
/// # Errors
/// The line of the first error of a damaged file, and its reason.
pub fn parse_issues(text: &str) -> Result<Vec<Result<IssueRecord, IssueError>>, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let invalid = |line, why: &str| ParseError { line, why: why.to_owned() };
    let mut items: Vec<&RawValue> = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let document = document.map_err(|error| json_error(&error, 0))?;
        if document.get().starts_with('[') {
            let list: Vec<&RawValue> = serde_json::from_str(document.get()).map_err(|error| json_error(&error, 0))?;
            items.extend(list);
        } else {
            items.push(document);
        }
    }
    if text.trim().is_empty() {
        return Err(invalid(1, "the file is empty; a repository without issues gives []"));
    }
    let read_one = |(item, above): (&str, usize)| match serde_json::from_str(item) {
        Ok(Value::Object(object)) => read(above + 1, object),
        Ok(_) => Err(IssueError::Invalid(invalid(above + 1, "is not an issue: expected a JSON object"))),
        Err(error) => Err(IssueError::Invalid(json_error(&error, above))),
    };
    Ok(placed(text, items).map(read_one).collect())
}

fn read(line: usize, mut object: Map<String, Value>) -> Result<IssueRecord, IssueError> {
    let number = object.get("number").and_then(Value::as_u64).filter(|number| *number > 0);
    let keys: Vec<&'static str> = REQUIRED_KEYS.into_iter().filter(|key| !object.contains_key(*key)).collect();
    if !keys.is_empty() {
        return Err(IssueError::MissingKeys { line, number, keys });
    }
    let invalid = |key: &str, expected: &str| {
        let of = number.map(|number| format!("issue {number}: ")).unwrap_or_default();
        IssueError::Invalid(ParseError { line, why: format!("{of}{key} is not {expected}") })
    };
    let number = number.ok_or_else(|| invalid("number", "a positive number"))?;
    let mut text = |key: &str| match object.remove(key) {
        Some(Value::String(text)) => Ok(Some(text)),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(invalid(key, "a text")),
    };
    let (title, body, url, state) = (text("title")?, text("body")?, text("url")?, text("state")?);
    let [state_reason, created_at, updated_at, closed_at] = OPTIONAL_KEYS.map(&mut text);
    let mut issue = IssueRecord {
        line,
        number,
        title: title.ok_or_else(|| invalid("title", "a text"))?,
        body: body.unwrap_or_default(),
        labels: Vec::new(),
        url: url.ok_or_else(|| invalid("url", "a text"))?,
        state: state.ok_or_else(|| invalid("state", "a text"))?,
        state_reason: state_reason?,
        created_at: created_at?,
        updated_at: updated_at?,
        closed_at: closed_at?,
    };
    let labels = match object.remove("labels") {
        Some(Value::Array(labels)) => labels,
        Some(Value::Null) => Vec::new(),
        _ => return Err(invalid("labels", "a list")),
    };
    for label in labels {
        let name = label.get("name").unwrap_or(&label).as_str();
        issue.labels.push(name.ok_or_else(|| invalid("labels", "a list of names"))?.to_owned());
    }
    Ok(issue)
}

/// The result of an import of issues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct IssueImportReport {
    /// How many tasks came in.
    pub imported: usize,
    /// How many tasks follow a change of their issue.
    pub updated: usize,
    /// How many were there already and stayed as they were.
    pub unchanged: usize,
    /// How many of those keep a field that was changed both here and in the issue.
    pub differing: usize,
    /// How many have another title or body in their issue, which no person has looked at.
    pub awaiting: usize,
    /// How many issues were left out: closed ones, those whose task was removed here, and odd ones.
    pub skipped: usize,
    /// How many of the imported ones are neither done nor cancelled.
    pub open: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Every issue of the file that could be read, in its order.
    pub issues: Vec<IssueResultView>,
    /// Why the others could not, each with its line.
    pub odd: Vec<String>,
}

/// The result for one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct IssueResultView {
    /// Its number in its repository.
    pub number: u64,
    /// Its address.
    pub url: String,
    /// Its task; null when it has none.
    pub task_id: Option<String>,
    /// `created`, `updated`, `unchanged` or `skipped`.
    pub result: &'static str,
    /// Why it was skipped; null otherwise.
    pub reason: Option<&'static str>,
    /// The fields of the task that were updated.
    pub fields: Vec<&'static str>,
    /// The fields that were changed both here and in the issue. The task keeps its own.
    pub kept: Vec<&'static str>,
    /// The fields that were changed in the issue, and stay as they are until a person looks at them.
    pub awaiting: Vec<&'static str>,
    /// Whether the issue is closed and its task is not.
    pub only_issue_closed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"number":1,"title":"t","body":null,"labels":[{"id":"x","name":"bug"},"ui"],"url":"u","state":"OPEN","assignees":[],"milestone":null,"closed":false}"#;

    #[test]
    fn issues_of_lists_and_lines_are_read_with_their_lines() {
        let text = format!("[\n{ONE},\n{ONE}]\n{ONE}\n");
        let issues: Vec<IssueRecord> = parse_issues(&text).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(issues.iter().map(|issue| issue.line).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!((issues[0].body.as_str(), issues[0].labels.as_slice()), ("", &["bug".into(), "ui".into()][..]));
        assert_eq!(parse_issues("[]").unwrap(), []);
    }

    #[test]
    fn missing_keys_are_all_named() {
        let missing = |text: &str| match parse_issues(text).unwrap().pop() {
            Some(Err(IssueError::MissingKeys { line, number, keys })) => (line, number, keys),
            other => panic!("{other:?}"),
        };
        assert_eq!(missing("[{\"title\":\"t\"}]"), (1, None, vec!["number", "body", "labels", "url", "state"]));
        let without = ONE.replace("\"url\":\"u\",", "");
        assert_eq!(missing(&format!("[{ONE},\n{without}]")), (2, Some(1), vec!["url"]));
    }

    #[test]
    fn anything_else_is_named_with_its_line() {
        let error = |text: &str| match parse_issues(text).map(|mut read| read.pop()) {
            Err(error) | Ok(Some(Err(IssueError::Invalid(error)))) => (error.line, error.why),
            other => panic!("{other:?}"),
        };
        assert_eq!(error("\n").1, "the file is empty; a repository without issues gives []");
        assert_eq!(error("[\n3]"), (2, "is not an issue: expected a JSON object".to_owned()));
        assert_eq!(error(&ONE.replace("\"t\"", "7")).1, "issue 1: title is not a text");
        assert_eq!(error(&ONE.replace("\"ui\"", "7")).1, "issue 1: labels is not a list of names");
        assert_eq!(error("[{\n\"number\":").0, 2);
        assert!(error(&format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))).1.starts_with("recursion limit"));
    }
}
