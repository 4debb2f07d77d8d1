//! Byte-exact edits of JSON with comments: inserts an item into an object or list, or removes one, and keeps all other bytes.
//! Removing an inserted item restores the text. Where two different texts would become the same by an insertion, one of them gets
//! a blank line as a mark (see [`Container::was_empty`]).

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// The byte order mark that some editors put before UTF-8 text.
pub(super) const BOM: &str = "\u{feff}";

/// JSON with comments and trailing commas, and no other extension.
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

/// Parses a text; `None` when it has only whitespace and comments.
///
/// # Errors
/// The reason and the position, when the text is not valid JSON.
pub(super) fn parse(text: &str) -> Result<Option<Node<'_>>, String> {
    parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS)
        .map(|parsed| parsed.value)
        .map_err(|error| parse_error(&error))
}

/// Checks a text that may have comments but no trailing commas.
///
/// # Errors
/// The reason and the position, when the text is not valid JSON.
pub(super) fn parse_without_trailing_commas(text: &str) -> Result<(), String> {
    let options = ParseOptions { allow_trailing_commas: false, ..PARSE_OPTIONS };
    parse_to_ast(text, &CollectOptions::default(), &options).map(|_| ()).map_err(|error| parse_error(&error))
}

fn parse_error(error: &ParseError) -> String {
    let why = error.to_string();
    let mut characters = why.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_lowercase).collect();
    format!("is not valid JSON: {first}{}", characters.as_str())
}

/// Converts a node of the parsed text to a value without positions.
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

/// The byte ranges of an object or list and of its children.
#[derive(Debug, Clone)]
pub(super) struct Container {
    /// The range with both brackets.
    pub span: Range<usize>,
    /// The range of each item or property.
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

    /// Whether the container was empty when [`insert`] added its first item. A blank line, which [`insert`] has left there,
    /// shows it. Such a container existed before Fairway's entries, and must stay when they are removed.
    pub fn was_empty(&self, text: &str) -> bool {
        let first = self.children.first().map_or(self.span.end, |first| first.start);
        let before = slice(text, self.span.start + 1..first);
        before.bytes().filter(|byte| *byte == b'\n').count() >= 2
    }
}

fn slice(text: &str, at: Range<usize>) -> &str {
    text.get(at).unwrap_or_default()
}

#[derive(Debug, Clone)]
pub(super) struct Style {
    pub eol: &'static str,
    pub unit: String,
}

impl Style {
    /// The formatting of a text, by its first line ending and its first indented key.
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

/// The indentation of the line at a byte offset.
fn indent(text: &str, at: usize) -> &str {
    let start = slice(text, 0..at).rfind('\n').map_or(0, |end| end + 1);
    let line = slice(text, start..text.len());
    slice(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

#[derive(Debug)]
enum Trivia {
    Comma,
    Comment,
    Blank,
}

/// Splits the text between items into whitespace, comments and commas.
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
    trivia(text, within).into_iter().find(|(what, _)| matches!(what, Trivia::Comma)).map(|(_, range)| range.start)
}

/// The end of the comments that follow an offset on the same line.
fn end_of_comments(text: &str, from: usize, until: usize) -> usize {
    let mut end = from;
    for (what, range) in trivia(text, from..until) {
        match what {
            Trivia::Comment => end = range.end,
            Trivia::Blank if !slice(text, range).contains('\n') => {}
            Trivia::Blank | Trivia::Comma => break,
        }
    }
    end
}

/// Returns `text` with a new last item in the container `into`. `format` makes the text of the item: on one line for `None`,
/// else over several lines with the given indentation.
pub(super) fn insert(text: &str, into: &Container, style: &Style, format: impl Fn(Option<&str>) -> String) -> String {
    let eol = style.eol;
    let outer = indent(text, into.span.start);
    let Some(last) = into.children.last() else {
        // The blank line marks a container that existed and was empty.
        let inner = format!("{outer}{}", style.unit);
        let new = format!("{eol}{eol}{inner}{}{eol}{outer}", format(Some(&inner)));
        return splice(text, vec![(into.span.start + 1..into.span.start + 1, new)]);
    };
    let close = into.inner_span().end;
    let trailing = find_comma(text, last.end..close);
    let is_one_line = !slice(text, into.inner_span()).contains('\n');
    if is_one_line {
        return match trailing {
            Some(at) => splice(text, vec![(at + 1..at + 1, format!(" {},", format(None)))]),
            None => splice(text, vec![(last.end..last.end, format!(", {}", format(None)))]),
        };
    }
    let starts_its_line = indent(text, last.start).len() + line_start(text, last.start) == last.start;
    let inner = if starts_its_line { indent(text, last.start).to_owned() } else { format!("{outer}{}", style.unit) };
    let item = format!("{eol}{inner}{}", format(Some(&inner)));
    match trailing {
        Some(at) => {
            let range = end_of_comments(text, at + 1, close);
            splice(text, vec![(range..range, format!("{item},"))])
        }
        None => {
            let range = end_of_comments(text, last.end, close);
            splice(text, vec![(last.end..last.end, ",".to_owned()), (range..range, item)])
        }
    }
}

fn line_start(text: &str, at: usize) -> usize {
    slice(text, 0..at).rfind('\n').map_or(0, |end| end + 1)
}

pub(super) fn remove(text: &str, from: &Container, number: usize, style: &Style) -> String {
    let Some(item) = from.children.get(number) else { return text.to_owned() };
    let inside = from.inner_span();
    let before = number.checked_sub(1).and_then(|before| from.children.get(before)).map_or(inside.start, |one| one.end);
    let after = from.children.get(number + 1).map_or(inside.end, |one| one.start);
    let next = find_comma(text, item.end..after);
    let is_alone = from.children.len() == 1 && next.is_none();
    if is_alone && slice(text, inside.start..item.start).trim().is_empty() {
        // The item was inserted into an empty container: restore its text.
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

/// The text with ranges replaced; they are in order and do not overlap.
fn splice(text: &str, parts: Vec<(Range<usize>, String)>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in parts {
        result.push_str(slice(text, at..range.start));
        result.push_str(&new);
        at = range.end;
    }
    result.push_str(slice(text, at..text.len()));
    result
}

/// A value on one line, with a space inside braces.
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

/// A value over several lines with this indentation. A value without objects stays on one line.
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

pub(super) fn quote(name: &str) -> String {
    Value::String(name.to_owned()).to_string()
}
