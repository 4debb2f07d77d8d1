//! Adds, finds and removes Fairway's hooks in the text of a settings file.

use jsonc_parser::ast::{Array, Object, Value as Node};
use serde_json::{Map, Value, json};

use super::entries::Entry;
use super::json_edit::{self, BOM, Container, Style};

/// The key of the hooks in all providers' settings.
const HOOKS_KEY: &str = "hooks";

/// One of Fairway's hooks in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct InstalledHook {
    /// The event for which the hook is installed.
    pub event: String,
    /// The JSON of the hook.
    pub hook: Value,
    /// Whether the hook's group has no matcher or other condition.
    pub is_plain: bool,
}

/// Returns `text` with the entries added and Fairway's earlier entries removed. All other bytes are kept. `None` stands for a
/// missing file.
///
/// # Errors
/// The reason and the position, when the text is not valid JSON or its hooks have an unexpected form.
pub fn insert_hooks(text: Option<&str>, entries: &[Entry], is_ours: &dyn Fn(&Value) -> bool) -> Result<String, String> {
    if let Some(text) = text
        && is_complete(text, entries, is_ours)?
    {
        return Ok(text.to_owned());
    }
    let clean = match text {
        Some(text) => remove_hooks(text, is_ours)?,
        None => None,
    };
    let Some(clean) = clean else { return Ok(new_document(entries, &Style::of(""), "") + "\n") };
    let (bom, body) = split_bom(&clean);
    let mut body = body.to_owned();
    let style = Style::of(&body);
    if json_edit::parse(&body)?.is_none() {
        // Only whitespace and comments: the document goes behind them, on a line of its own.
        let eol = if body.trim().is_empty() { "" } else { style.eol };
        return Ok(format!("{bom}{body}{eol}{}", new_document(entries, &style, "")));
    }
    for entry in in_text_order(&body, entries)? {
        body = add_entry(&body, entry, &style)?;
    }
    Ok(format!("{bom}{body}"))
}

/// Returns `text` without Fairway's entries, and without the objects and lists that were created for them. Returns `None`
/// when nothing is left of a file that was created for them.
///
/// # Errors
/// The reason and the position, when the text is not valid JSON or its hooks have an unexpected form.
pub fn remove_hooks(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Option<String>, String> {
    let (bom, body) = split_bom(text);
    let mut body = body.to_owned();
    loop {
        match remove_last(&body, is_ours)? {
            Removed::Nothing => return Ok(Some(format!("{bom}{body}"))),
            Removed::Part(rest) => body = rest,
            Removed::Document(before, after) => {
                if before.is_empty() && after == "\n" && bom.is_empty() {
                    return Ok(None);
                }
                let before = match before.strip_suffix('\n') {
                    Some(line) if !before.trim().is_empty() => line.strip_suffix('\r').unwrap_or(line).to_owned(),
                    _ => before,
                };
                return Ok(Some(format!("{bom}{before}{after}")));
            }
        }
    }
}

/// Finds Fairway's hooks in the text of a settings file. `is_ours` recognises them.
///
/// # Errors
/// The reason and the position, when the text is not valid JSON or its hooks have an unexpected form.
pub fn find_hooks(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Vec<InstalledHook>, String> {
    let (_, body) = split_bom(text);
    let root = json_edit::parse(body)?;
    let Some(hooks) = hooks_of(root.as_ref())? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for event in events_of(hooks)? {
        for group in event.groups.elements.iter().filter_map(Node::as_object) {
            let is_plain = group.properties.iter().all(|one| one.name.as_str() == HOOKS_KEY);
            let hooks = group.get_array(HOOKS_KEY).into_iter().flat_map(|list| &list.elements).map(json_edit::to_value);
            let ours = hooks.filter(|hook| is_ours(hook));
            found.extend(ours.map(|hook| InstalledHook { event: event.name.to_owned(), hook, is_plain }));
        }
    }
    Ok(found)
}

fn is_complete(text: &str, entries: &[Entry], is_ours: &dyn Fn(&Value) -> bool) -> Result<bool, String> {
    let found = find_hooks(text, is_ours)?;
    let mut expected: Vec<(&str, &Value)> =
        entries.iter().flat_map(|entry| entry.hooks.iter().map(|hook| (entry.event, hook))).collect();
    for installed in &found {
        let index = expected.iter().position(|(event, hook)| *event == installed.event && **hook == installed.hook);
        match index {
            Some(index) if installed.is_plain => expected.remove(index),
            _ => return Ok(false),
        };
    }
    Ok(expected.is_empty())
}

fn split_bom(text: &str) -> (&'static str, &str) {
    text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest))
}

/// A new document with the entries.
fn new_document(entries: &[Entry], style: &Style, indent: &str) -> String {
    let events: Map<String, Value> =
        entries.iter().map(|entry| (entry.event.to_owned(), json!([hook_group(entry)]))).collect();
    json_edit::format_multiline(&json!({ HOOKS_KEY: events }), indent, style)
}

fn hook_group(entry: &Entry) -> Value {
    json!({ HOOKS_KEY: entry.hooks })
}

fn property(name: &str, value: &Value, style: &Style, indent: Option<&str>) -> String {
    let value = indent
        .map_or_else(|| json_edit::format_inline(value), |indent| json_edit::format_multiline(value, indent, style));
    format!("{}: {value}", json_edit::quote(name))
}

/// The entries in the order of the text. Removal works backwards, so each removal finds the text as it was before the
/// corresponding insertion.
fn in_text_order<'a>(text: &str, entries: &'a [Entry]) -> Result<Vec<&'a Entry>, String> {
    let root = json_edit::parse(text)?;
    let hooks = hooks_of(root.as_ref())?;
    let events = hooks.map(events_of).transpose()?.unwrap_or_default();
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| events.iter().position(|event| event.name == entry.event).unwrap_or(usize::MAX));
    Ok(sorted)
}

/// The text with one more entry.
fn add_entry(text: &str, entry: &Entry, style: &Style) -> Result<String, String> {
    let root = json_edit::parse(text)?;
    let Some(Node::Object(object)) = &root else { return Err("is not a JSON object".into()) };
    let groups = json!([hook_group(entry)]);
    let Some(hooks) = hooks_of(root.as_ref())? else {
        let hooks = json!({ entry.event: groups });
        return Ok(json_edit::insert(text, &object.into(), style, |indent| property(HOOKS_KEY, &hooks, style, indent)));
    };
    let events = events_of(hooks)?;
    let Some(event) = events.iter().find(|event| event.name == entry.event) else {
        if hooks.properties.iter().any(|one| one.name.as_str() == entry.event) {
            return Err(format!("has '{HOOKS_KEY}.{}' that is not a list", entry.event));
        }
        return Ok(json_edit::insert(text, &hooks.into(), style, |indent| {
            property(entry.event, &groups, style, indent)
        }));
    };
    let group = hook_group(entry);
    Ok(json_edit::insert(text, &event.groups.into(), style, |indent| {
        indent.map_or_else(
            || json_edit::format_inline(&group),
            |indent| json_edit::format_multiline(&group, indent, style),
        )
    }))
}

enum Removed {
    Nothing,
    Part(String),
    /// The hook was in a document that has nothing else. The texts are those before and after the document.
    Document(String, String),
}

/// The text without the last of Fairway's hooks and the containers that only it needed.
fn remove_last(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Removed, String> {
    let root = json_edit::parse(text)?;
    let Some(Node::Object(object)) = &root else {
        return if root.is_none() { Ok(Removed::Nothing) } else { Err("is not a JSON object".into()) };
    };
    let Some(hooks) = hooks_of(root.as_ref())? else { return Ok(Removed::Nothing) };
    let style = Style::of(text);
    let events = events_of(hooks)?;
    for event in events.iter().rev() {
        for (group_index, group) in event.groups.elements.iter().enumerate().rev() {
            let Some(inner) = group.as_object().and_then(|group| group.get_array(HOOKS_KEY)) else { continue };
            let ours: Vec<bool> = inner.elements.iter().map(|hook| is_ours(&json_edit::to_value(hook))).collect();
            let Some(last) = ours.iter().rposition(|ours| *ours) else { continue };
            if !ours.iter().all(|ours| *ours) {
                return Ok(Removed::Part(json_edit::remove(text, &inner.into(), last, &style)));
            }
            // From the inside out: containers that were created for this hook go too.
            let hooks_index =
                object.properties.iter().position(|one| one.name.as_str() == HOOKS_KEY).unwrap_or_default();
            let steps = [
                (Container::from(event.groups), group_index),
                (Container::from(hooks), event.index),
                (Container::from(object), hooks_index),
            ];
            for (container, child) in &steps {
                if container.children.len() > 1 || container.was_empty(text) {
                    return Ok(Removed::Part(json_edit::remove(text, container, *child, &style)));
                }
            }
            let span = Container::from(object).span;
            let cut = |at: std::ops::Range<usize>| text.get(at).unwrap_or_default().to_owned();
            return Ok(Removed::Document(cut(0..span.start), cut(span.end..text.len())));
        }
    }
    Ok(Removed::Nothing)
}

/// The value of the key `hooks`.
fn hooks_of<'a, 'b>(root: Option<&'b Node<'a>>) -> Result<Option<&'b Object<'a>>, String> {
    let object = match root {
        None => return Ok(None),
        Some(Node::Object(object)) => object,
        Some(_) => return Err("is not a JSON object".into()),
    };
    let mut named = object.properties.iter().filter(|one| one.name.as_str() == HOOKS_KEY);
    match (named.next().map(|one| &one.value), named.next()) {
        (None, _) => Ok(None),
        (Some(Node::Object(hooks)), None) => Ok(Some(hooks)),
        (Some(_), None) => Err(format!("has '{HOOKS_KEY}' that is not an object")),
        (Some(_), Some(_)) => Err(format!("has '{HOOKS_KEY}' twice")),
    }
}

/// The hook groups of one event.
struct EventGroups<'a, 'b> {
    name: &'b str,
    /// The event's index among the properties of `hooks`.
    index: usize,
    groups: &'b Array<'a>,
}

/// All events in the order of the text. A property that is not a list is not an event.
fn events_of<'a, 'b>(hooks: &'b Object<'a>) -> Result<Vec<EventGroups<'a, 'b>>, String> {
    let mut events: Vec<EventGroups<'_, '_>> = Vec::new();
    for (number, one) in hooks.properties.iter().enumerate() {
        let (name, Node::Array(groups)) = (one.name.as_str(), &one.value) else { continue };
        if events.iter().any(|known| known.name == name) {
            return Err(format!("has '{HOOKS_KEY}.{name}' twice"));
        }
        events.push(EventGroups { name, index: number, groups });
    }
    Ok(events)
}
