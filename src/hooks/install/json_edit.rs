//! Settings as text: something is put into an object or list, or taken out of it, and every other byte stays. What was put in
//! can be taken out again without a trace: wherever the same bytes could have come from two different beginnings, one of them
//! is written so that it can be told.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value as Node},
    common::Ranged,
    errors::ParseError,
    parse_to_ast,
};
use serde_json::{Map, Value};

/// What comes before the text of a file that some editors mark as UTF-8.
pub(super) const BOM: &str = "\u{feff}";

/// JSON with comments and commas at the end; nothing looser.
const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value that a text holds; `None` for one that has only blanks and comments.
///
/// # Errors
/// Where it is no JSON.
pub(super) fn parse(text: &str) -> Result<Option<Node<'_>>, String> {
    parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS)
        .map(|parsed| parsed.value)
        .map_err(|error| parse_error(&error))
}

/// The same without commas at an end.
///
/// # Errors
/// Where it is no JSON.
pub(super) fn parse_without_trailing_commas(text: &str) -> Result<(), String> {
    let options = ParseOptions { allow_trailing_commas: false, ..PARSE_OPTIONS };
    parse_to_ast(text, &CollectOptions::default(), &options).map(|_| ()).map_err(|error| parse_error(&error))
}

fn parse_error(error: &ParseError) -> String {
    let why = error.to_string();
    let mut letters = why.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
    format!("is no JSON: {first}{}", letters.as_str())
}

/// A value without its places.
pub(super) fn to_value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::String(text.value.clone().into_owned()),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        Node::BooleanLit(flag) => Value::Bool(flag.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(list) => list.elements.iter().map(to_value).collect(),
        Node::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|one| (one.name.as_str().to_owned(), to_value(&one.value)))
                .collect::<Map<_, _>>(),
        ),
    }
}

/// An object or list, by the places of its brackets and of what is in it.
#[derive(Debug, Clone)]
pub(super) struct Container {
    /// From the first bracket to behind the last one.
    pub span: Range<usize>,
    /// Each item or property.
    pub children: Vec<Range<usize>>,
}

fn span(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        Self { span: span(object), children: object.properties.iter().map(span).collect() }
    }
}

impl From<&Array<'_>> for Container {
    fn from(list: &Array<'_>) -> Self {
        Self { span: span(list), children: list.elements.iter().map(span).collect() }
    }
}

impl Container {
    fn inner_span(&self) -> Range<usize> {
        self.span.start + 1..self.span.end.saturating_sub(1)
    }

    /// Whether its only item was put there when it was empty: then it is somebody else's, and stays.
    pub fn was_empty(&self, text: &str) -> bool {
        let first = self.children.first().map_or(self.span.end, |first| first.start);
        let before = slice(text, self.span.start + 1..first);
        before.bytes().filter(|byte| *byte == b'\n').count() >= 2
    }
}

fn slice(text: &str, at: Range<usize>) -> &str {
    text.get(at).unwrap_or_default()
}

/// How a text is written.
#[derive(Debug, Clone)]
pub(super) struct Style {
    /// The end of a line.
    pub eol: &'static str,
    /// One step of indentation.
    pub unit: String,
}

impl Style {
    /// The style of a text, by its first line's end and its first step of indentation.
    pub fn of(text: &str) -> Self {
        let eol = match text.find('\n') {
            Some(at) if at > 0 && text.as_bytes().get(at - 1) == Some(&b'\r') => "\r\n",
            _ => "\n",
        };
        let unit = text.lines().skip(1).find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let unit = slice(line, 0..line.len() - rest.len());
            (rest.starts_with('"') && !unit.is_empty() && unit.len() <= 8).then(|| unit.to_owned())
        });
        Self { eol, unit: unit.unwrap_or_else(|| "  ".to_owned()) }
    }
}

/// The blanks at the beginning of the line of a place.
fn indent(text: &str, at: usize) -> &str {
    let start = slice(text, 0..at).rfind('\n').map_or(0, |end| end + 1);
    let line = slice(text, start..text.len());
    slice(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// What stands between two items.
#[derive(Debug)]
enum Trivia {
    Comma,
    Comment,
    /// Blanks and ends of lines.
    Blank,
}

/// The parts of what stands between items: blanks, comments and commas.
fn trivia(text: &str, within: Range<usize>) -> Vec<(Trivia, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = within.start;
    while at < within.end {
        let rest = slice(text, at..within.end);
        let (what, length) = if rest.starts_with(',') {
            (Trivia::Comma, 1)
        } else if rest.starts_with("//") {
            (Trivia::Comment, rest.find(['\n', '\r']).unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Trivia::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else {
            (Trivia::Blank, rest.find([',', '/']).unwrap_or(rest.len()).max(1))
        };
        found.push((what, at..at + length));
        at += length;
    }
    found
}

fn find_comma(text: &str, within: Range<usize>) -> Option<usize> {
    trivia(text, within).into_iter().find(|(what, _)| matches!(what, Trivia::Comma)).map(|(_, place)| place.start)
}

/// Where the comments end that stand on the same line behind a place.
fn end_of_comments(text: &str, from: usize, until: usize) -> usize {
    let mut end = from;
    for (what, place) in trivia(text, from..until) {
        match what {
            Trivia::Comment => end = place.end,
            Trivia::Blank if !slice(text, place).contains('\n') => {}
            Trivia::Blank | Trivia::Comma => break,
        }
    }
    end
}

/// The text with a new last item in a container. `written` writes it: on one line, or from this indentation on.
pub(super) fn insert(text: &str, into: &Container, style: &Style, written: impl Fn(Option<&str>) -> String) -> String {
    let eol = style.eol;
    let outer = indent(text, into.span.start);
    let Some(last) = into.children.last() else {
        // A blank line tells that it was there before, and empty.
        let inner = format!("{outer}{}", style.unit);
        let new = format!("{eol}{eol}{inner}{}{eol}{outer}", written(Some(&inner)));
        return splice(text, vec![(into.span.start + 1..into.span.start + 1, new)]);
    };
    let close = into.inner_span().end;
    let trailing = find_comma(text, last.end..close);
    let is_one_line = !slice(text, into.inner_span()).contains('\n');
    if is_one_line {
        return match trailing {
            Some(at) => splice(text, vec![(at + 1..at + 1, format!(" {},", written(None)))]),
            None => splice(text, vec![(last.end..last.end, format!(", {}", written(None)))]),
        };
    }
    let starts_its_line = indent(text, last.start).len() + line_start(text, last.start) == last.start;
    let inner = if starts_its_line { indent(text, last.start).to_owned() } else { format!("{outer}{}", style.unit) };
    let item = format!("{eol}{inner}{}", written(Some(&inner)));
    match trailing {
        Some(at) => {
            let place = end_of_comments(text, at + 1, close);
            splice(text, vec![(place..place, format!("{item},"))])
        }
        None => {
            let place = end_of_comments(text, last.end, close);
            splice(text, vec![(last.end..last.end, ",".to_owned()), (place..place, item)])
        }
    }
}

fn line_start(text: &str, at: usize) -> usize {
    slice(text, 0..at).rfind('\n').map_or(0, |end| end + 1)
}

/// The text without one item of a container.
pub(super) fn remove(text: &str, from: &Container, number: usize, style: &Style) -> String {
    let Some(item) = from.children.get(number) else { return text.to_owned() };
    let inside = from.inner_span();
    let before = number.checked_sub(1).and_then(|before| from.children.get(before)).map_or(inside.start, |one| one.end);
    let after = from.children.get(number + 1).map_or(inside.end, |one| one.start);
    let next = find_comma(text, item.end..after);
    let is_alone = from.children.len() == 1 && next.is_none();
    if is_alone && slice(text, inside.start..item.start).trim().is_empty() {
        // Put there when it was empty: what is left is what was there.
        let tail = format!("{}{}", style.eol, indent(text, from.span.start));
        let end = if slice(text, item.end..inside.end).starts_with(&tail) { item.end + tail.len() } else { item.end };
        return splice(text, vec![(inside.start..end, String::new())]);
    }
    let head = slice(text, before..item.start);
    let line = head.trim_end_matches([' ', '\t']);
    let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    let mut cuts = vec![(before + line.len()..item.end, String::new())];
    match (next, find_comma(text, before..item.start)) {
        (Some(at), _) => cuts.push((at..at + 1, String::new())),
        (None, Some(at)) => cuts.insert(0, (at..at + 1, String::new())),
        (None, None) => {}
    }
    splice(text, cuts)
}

/// The text with parts of it replaced; they stand in order and do not overlap.
fn splice(text: &str, parts: Vec<(Range<usize>, String)>) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    for (place, new) in parts {
        whole.push_str(slice(text, at..place.start));
        whole.push_str(&new);
        at = place.end;
    }
    whole.push_str(slice(text, at..text.len()));
    whole
}

/// A value on one line, with a blank inside its brackets.
pub(super) fn format_inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(format_inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}: {}", quote(name), format_inline(value));
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// A value over several lines from this indentation on; what holds no object stays on one line.
pub(super) fn format_multiline(value: &Value, indent: &str, style: &Style) -> String {
    fn holds_object(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| item.is_object() || holds_object(item)),
            Value::Object(fields) => fields.values().any(|value| value.is_object() || holds_object(value)),
            _ => false,
        }
    }
    if !holds_object(value) {
        return format_inline(value);
    }
    let (eol, inner) = (style.eol, format!("{indent}{}", style.unit));
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|item| format_multiline(item, &inner, style)).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}: {}", quote(name), format_multiline(value, &inner, style))
            };
            ('{', '}', fields.iter().map(field).collect())
        }
        plain => return plain.to_string(),
    };
    format!("{open}{eol}{inner}{}{eol}{indent}{close}", items.join(&format!(",{eol}{inner}")))
}

/// A name as JSON writes it.
pub(super) fn quote(name: &str) -> String {
    Value::String(name.to_owned()).to_string()
}
