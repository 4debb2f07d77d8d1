//! The fields of a JSON object, taken one by one; what is left at the end is refused by name.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::{Refusal, excerpt::excerpt};

/// The longest span of time, in seconds: a hundred years.
const MAX_DURATION_SECS: f64 = 100.0 * 366.0 * 24.0 * 60.0 * 60.0;

/// An object, and where in the document it stands.
#[derive(Debug)]
pub struct ObjectFields {
    /// `watch[1]`; empty for the document itself.
    place: String,
    map: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A usage error that names the place.
pub fn usage_error(place: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::Usage { why: format!("{place} {why}") }
}

/// A text of the document as an error repeats it: quoted, escaped and cut.
pub fn quoted(text: &str) -> String {
    format!("'{}'", excerpt(text))
}

/// What a value is, in a word.
pub const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl ObjectFields {
    /// The fields of an object that stands there.
    ///
    /// # Errors
    /// `usage` when it is none.
    pub fn from_value(value: Value, place: impl Into<String>) -> Result<Self, Refusal> {
        let place = place.into();
        match value {
            Value::Object(map) => Ok(Self { place, map, known: Vec::new() }),
            other => {
                let what = if place.is_empty() { "the document" } else { &place };
                Err(usage_error(what, format!("must be an object, not {}", type_name(&other))))
            }
        }
    }

    /// Where a field of this object stands.
    pub fn path_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// A field; `null` is the same as none.
    pub fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let found = read(&value);
        found.map(Some).ok_or_else(|| {
            // A number of the wrong kind is best shown.
            let not = if value.is_number() { value.to_string() } else { type_name(&value).to_owned() };
            usage_error(&self.path_of(name), format!("must be {wanted}, not {not}"))
        })
    }

    /// A string.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Refusal> {
        self.read(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A string that must be there.
    ///
    /// # Errors
    /// `usage` when it is not, or is something else.
    pub fn required_text(&mut self, name: &'static str) -> Result<String, Refusal> {
        self.text(name)?.ok_or_else(|| usage_error(&self.path_of(name), "is missing"))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, Refusal> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// A whole number, not below 0.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn integer(&mut self, name: &'static str) -> Result<Option<i64>, Refusal> {
        self.read(name, "a whole number from 0", |value| value.as_i64().filter(|number| *number >= 0))
    }

    /// A duration in seconds, greater than zero; fractions are allowed.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn seconds(&mut self, name: &'static str) -> Result<Option<Duration>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let path = self.path_of(name);
        let seconds = value
            .as_f64()
            .ok_or_else(|| usage_error(&path, format!("must be a number of seconds, not {}", type_name(&value))))?;
        let in_range = seconds > 0.0 && seconds <= MAX_DURATION_SECS;
        let duration = if in_range { Duration::try_from_secs_f64(seconds).ok() } else { None };
        duration
            .filter(|duration| !duration.is_zero())
            .map(Some)
            .ok_or_else(|| usage_error(&path, format!("must be more than 0 and at most a hundred years, not {value}")))
    }

    /// A duration in whole milliseconds, which may be zero.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn millis(&mut self, name: &'static str) -> Result<Option<Duration>, Refusal> {
        let duration = self.integer(name)?.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
        match duration.filter(|duration| duration.as_secs_f64() > MAX_DURATION_SECS) {
            Some(_) => Err(usage_error(&self.path_of(name), "is longer than a hundred years")),
            None => Ok(duration),
        }
    }

    /// A list.
    ///
    /// # Errors
    /// `usage` when it is something else.
    pub fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, Refusal> {
        self.read(name, "a list", |value| value.as_array().cloned())
    }

    /// A list of strings.
    ///
    /// # Errors
    /// `usage` when it, or one of its members, is something else.
    pub fn text_list(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(list) = self.list(name)? else { return Ok(None) };
        let place = self.path_of(name);
        let text = |(at, value): (usize, Value)| match value {
            Value::String(text) => Ok(text),
            other => {
                Err(usage_error(&format!("{place}[{at}]"), format!("must be a string, not {}", type_name(&other))))
            }
        };
        list.into_iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// A member of a closed set of words.
    ///
    /// # Errors
    /// `usage` when it is no string or none of them.
    pub fn choice<T>(
        &mut self,
        name: &'static str,
        all: impl Iterator<Item = &'static str>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let all = || all.collect::<Vec<_>>().join(", ");
        parse(&text)
            .map(Some)
            .ok_or_else(|| usage_error(&self.path_of(name), format!("is {}, none of {}", quoted(&text), all())))
    }

    /// A string that a reader of its own takes.
    ///
    /// # Errors
    /// `usage` with what the reader says.
    pub fn parse_with<T, E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|why| Refusal::Usage { why: format!("{}: {why}", self.path_of(name)) })
    }

    /// Refuses unknown fields.
    ///
    /// # Errors
    /// `usage` with the first unknown name and the known one nearest to it.
    pub fn finish(self) -> Result<(), Refusal> {
        let Some(name) = self.map.keys().next() else { return Ok(()) };
        let near = self.known.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known));
        let near = near.filter(|(distance, known)| *distance <= known.len().max(4) / 2).min();
        let tip = match near {
            Some((_, near)) => format!("did you mean '{near}'?"),
            None => format!("there are {}", self.known.join(", ")),
        };
        let inside = if self.place.is_empty() { String::new() } else { format!(" in {}", self.place) };
        Err(Refusal::Usage { why: format!("unknown field {}{inside}; {tip}", quoted(name)) })
    }
}
