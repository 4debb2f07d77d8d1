//! Our entries in a provider's settings: put in, found and taken out again.

use jsonc_parser::ast::{Array, Object, Value as Node};
use serde_json::{Map, Value, json};

use super::{
    entries::Entry,
    json_edit::{self, BOM, Container, Style},
};

/// The name under which all three providers look for hooks.
const HOOKS: &str = "hooks";

/// One of our hooks as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The event it is entered under.
    pub event: String,
    /// The entry as it stands there.
    pub hook: Value,
    /// Whether it stands in a group without conditions.
    pub is_plain: bool,
}

/// The text with our entries in it, and the others' bytes as they were. `None` stands for no file.
///
/// # Errors
/// Where it is no JSON, or not what the provider reads.
pub fn with(text: Option<&str>, entries: &[Entry], is_ours: &dyn Fn(&Value) -> bool) -> Result<String, String> {
    if let Some(text) = text
        && is_complete(text, entries, is_ours)?
    {
        return Ok(text.to_owned());
    }
    let clean = match text {
        Some(text) => without(text, is_ours)?,
        None => None,
    };
    let Some(clean) = clean else { return Ok(fresh(entries, &Style::of(""), "") + "\n") };
    let (bom, body) = split_bom(&clean);
    let mut body = body.to_owned();
    let style = Style::of(&body);
    if json_edit::parse(&body)?.is_none() {
        // Only blanks and comments: a value may stand behind them, on a line of its own.
        let eol = if body.trim().is_empty() { "" } else { style.eol };
        return Ok(format!("{bom}{body}{eol}{}", fresh(entries, &style, "")));
    }
    for entry in in_order(&body, entries)? {
        body = added(&body, entry, &style)?;
    }
    Ok(format!("{bom}{body}"))
}

/// The text without our entries; what only they needed goes with them. `None` when nothing is left of a file that was made for
/// them.
///
/// # Errors
/// Where it is no JSON, or not what the provider reads.
pub fn without(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Option<String>, String> {
    let (bom, body) = split_bom(text);
    let mut body = body.to_owned();
    loop {
        match last_taken(&body, is_ours)? {
            Taken::Nothing => return Ok(Some(format!("{bom}{body}"))),
            Taken::Some(rest) => body = rest,
            Taken::Root(before, after) => {
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

/// Our entries in a text.
///
/// # Errors
/// Where it is no JSON, or not what the provider reads.
pub fn found(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Vec<Found>, String> {
    let (_, body) = split_bom(text);
    let root = json_edit::parse(body)?;
    let Some(hooks) = hooks_of(root.as_ref())? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for event in events_of(hooks)? {
        for group in event.groups.elements.iter().filter_map(Node::as_object) {
            let is_plain = group.properties.iter().all(|one| one.name.as_str() == HOOKS);
            let hooks = group.get_array(HOOKS).into_iter().flat_map(|list| &list.elements).map(json_edit::plain);
            let ours = hooks.filter(|hook| is_ours(hook));
            found.extend(ours.map(|hook| Found { event: event.name.to_owned(), hook, is_plain }));
        }
    }
    Ok(found)
}

fn is_complete(text: &str, entries: &[Entry], is_ours: &dyn Fn(&Value) -> bool) -> Result<bool, String> {
    let found = found(text, is_ours)?;
    let mut wanted: Vec<(&str, &Value)> =
        entries.iter().flat_map(|entry| entry.hooks.iter().map(|hook| (entry.event, hook))).collect();
    for one in &found {
        let place = wanted.iter().position(|(event, hook)| *event == one.event && **hook == one.hook);
        match place {
            Some(place) if one.is_plain => wanted.remove(place),
            _ => return Ok(false),
        };
    }
    Ok(wanted.is_empty())
}

fn split_bom(text: &str) -> (&'static str, &str) {
    text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest))
}

/// A whole document with our entries.
fn fresh(entries: &[Entry], style: &Style, indent: &str) -> String {
    let events: Map<String, Value> =
        entries.iter().map(|entry| (entry.event.to_owned(), json!([group(entry)]))).collect();
    json_edit::on_lines(&json!({ HOOKS: events }), indent, style)
}

fn group(entry: &Entry) -> Value {
    json!({ HOOKS: entry.hooks })
}

fn property(name: &str, value: &Value, style: &Style, indent: Option<&str>) -> String {
    let value =
        indent.map_or_else(|| json_edit::on_one_line(value), |indent| json_edit::on_lines(value, indent, style));
    format!("{}: {value}", json_edit::quoted(name))
}

/// The entries in the order in which the text will have them: they are taken out the other way round, and each then finds the
/// text as it was when it came.
fn in_order<'a>(text: &str, entries: &'a [Entry]) -> Result<Vec<&'a Entry>, String> {
    let root = json_edit::parse(text)?;
    let hooks = hooks_of(root.as_ref())?;
    let events = hooks.map(events_of).transpose()?.unwrap_or_default();
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| events.iter().position(|event| event.name == entry.event).unwrap_or(usize::MAX));
    Ok(sorted)
}

/// The text with one entry more.
fn added(text: &str, entry: &Entry, style: &Style) -> Result<String, String> {
    let root = json_edit::parse(text)?;
    let Some(Node::Object(object)) = &root else { return Err("holds no object".into()) };
    let groups = json!([group(entry)]);
    let Some(hooks) = hooks_of(root.as_ref())? else {
        let hooks = json!({ entry.event: groups });
        return Ok(json_edit::put(text, &object.into(), style, |indent| property(HOOKS, &hooks, style, indent)));
    };
    let events = events_of(hooks)?;
    let Some(event) = events.iter().find(|event| event.name == entry.event) else {
        if hooks.properties.iter().any(|one| one.name.as_str() == entry.event) {
            return Err(format!("has '{HOOKS}.{}' that is no list", entry.event));
        }
        return Ok(json_edit::put(text, &hooks.into(), style, |indent| property(entry.event, &groups, style, indent)));
    };
    let group = group(entry);
    Ok(json_edit::put(text, &event.groups.into(), style, |indent| {
        indent.map_or_else(|| json_edit::on_one_line(&group), |indent| json_edit::on_lines(&group, indent, style))
    }))
}

enum Taken {
    Nothing,
    Some(String),
    /// All of the document; what stood before and after it.
    Root(String, String),
}

/// The text without the last of our hooks, and without what only that one needed.
fn last_taken(text: &str, is_ours: &dyn Fn(&Value) -> bool) -> Result<Taken, String> {
    let root = json_edit::parse(text)?;
    let Some(Node::Object(object)) = &root else {
        return if root.is_none() { Ok(Taken::Nothing) } else { Err("holds no object".into()) };
    };
    let Some(hooks) = hooks_of(root.as_ref())? else { return Ok(Taken::Nothing) };
    let style = Style::of(text);
    let events = events_of(hooks)?;
    for event in events.iter().rev() {
        for (place, group) in event.groups.elements.iter().enumerate().rev() {
            let Some(inner) = group.as_object().and_then(|group| group.get_array(HOOKS)) else { continue };
            let ours: Vec<bool> = inner.elements.iter().map(|hook| is_ours(&json_edit::plain(hook))).collect();
            let Some(last) = ours.iter().rposition(|ours| *ours) else { continue };
            if !ours.iter().all(|ours| *ours) {
                return Ok(Taken::Some(json_edit::taken(text, &inner.into(), last, &style)));
            }
            // From the inside out: what was made only for this goes too.
            let hooks_place = object.properties.iter().position(|one| one.name.as_str() == HOOKS).unwrap_or_default();
            let steps = [
                (Container::from(event.groups), place),
                (Container::from(hooks), event.number),
                (Container::from(object), hooks_place),
            ];
            for (container, child) in &steps {
                if container.children.len() > 1 || container.was_empty(text) {
                    return Ok(Taken::Some(json_edit::taken(text, container, *child, &style)));
                }
            }
            let place = Container::from(object).place;
            let cut = |at: std::ops::Range<usize>| text.get(at).unwrap_or_default().to_owned();
            return Ok(Taken::Root(cut(0..place.start), cut(place.end..text.len())));
        }
    }
    Ok(Taken::Nothing)
}

/// The object of all hooks.
fn hooks_of<'a, 'b>(root: Option<&'b Node<'a>>) -> Result<Option<&'b Object<'a>>, String> {
    let object = match root {
        None => return Ok(None),
        Some(Node::Object(object)) => object,
        Some(_) => return Err("holds no object".into()),
    };
    let mut named = object.properties.iter().filter(|one| one.name.as_str() == HOOKS);
    match (named.next().map(|one| &one.value), named.next()) {
        (None, _) => Ok(None),
        (Some(Node::Object(hooks)), None) => Ok(Some(hooks)),
        (Some(_), None) => Err(format!("has '{HOOKS}' that is no object")),
        (Some(_), Some(_)) => Err(format!("has '{HOOKS}' twice")),
    }
}

/// An event's groups.
struct Event<'a, 'b> {
    name: &'b str,
    /// Which of the hooks' properties it is.
    number: usize,
    groups: &'b Array<'a>,
}

/// Every event, in the order of the text. What is no list is no event.
fn events_of<'a, 'b>(hooks: &'b Object<'a>) -> Result<Vec<Event<'a, 'b>>, String> {
    let mut events: Vec<Event<'_, '_>> = Vec::new();
    for (number, one) in hooks.properties.iter().enumerate() {
        let (name, Node::Array(groups)) = (one.name.as_str(), &one.value) else { continue };
        if events.iter().any(|known| known.name == name) {
            return Err(format!("has '{HOOKS}.{name}' twice"));
        }
        events.push(Event { name, number, groups });
    }
    Ok(events)
}
