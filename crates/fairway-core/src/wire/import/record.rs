//! One task as it is written in a file: our own document, or a beads issue. Every field may be absent; what is not known
//! is kept by its name, so that nothing is lost in silence.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A named command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    pub name: String,
    pub command: String,
}

/// A link between two beads issues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct LinkRecord {
    /// The task that has the link; the record's own when absent.
    pub issue_id: Option<String>,
    /// Where it leads.
    #[serde(alias = "id")]
    pub depends_on_id: Option<String>,
    /// Its meaning; `blocks` when absent.
    #[serde(rename = "type", alias = "dependency_type")]
    pub kind: Option<String>,
}

/// The beginning of the error about an object with two fields of one name.
pub(super) const TWICE: &str = "the field";

/// A field that is read from a value which may have another type.
trait Odd: Sized {
    fn of(value: &Value) -> Option<Self>;
}

impl Odd for String {
    fn of(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned).or_else(|| value.is_number().then(|| value.to_string()))
    }
}

/// A priority may be written as `"1"` or `P1`.
impl Odd for i64 {
    fn of(value: &Value) -> Option<Self> {
        value.as_i64().or_else(|| value.as_str()?.trim().trim_start_matches(['P', 'p']).parse().ok())
    }
}

/// One value counts as a list of one, and elements that cannot be taken are left out.
impl<T: Odd> Odd for Vec<T> {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => Some(items.iter().filter_map(T::of).collect()),
            one => Some(vec![T::of(one)?]),
        }
    }
}

/// A link may be the id of its target.
impl Odd for LinkRecord {
    fn of(value: &Value) -> Option<Self> {
        let to = |id| Self { depends_on_id: Some(id), ..Self::default() };
        String::of(value).map(to).or_else(|| Self::deserialize(value).ok())
    }
}

impl Odd for CheckRecord {
    fn of(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

impl Odd for Value {
    fn of(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

macro_rules! record {
    ($($(#[$meta:meta])* $field:ident: $type:ty),+ $(,)?) => {
        /// A task as it is written.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Record {
            $($(#[$meta])* pub $field: Option<$type>,)+
            /// Fields that neither form has a place for.
            pub other: Vec<(String, Value)>,
        }

        impl Record {
            /// The record of an object in which some value has another type than it should. What cannot be taken for the
            /// value is kept by its name.
            pub(super) fn of_odd(object: Map<String, Value>) -> Self {
                let mut record = Self::default();
                for (name, value) in object {
                    match name.as_str() {
                        $(stringify!($field) if value.is_null() => record.$field = None,
                        stringify!($field) if let Some(odd) = Odd::of(&value) => record.$field = Some(odd),)+
                        _ => record.other.push((name, value)),
                    }
                }
                record
            }
        }

        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a task")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
                let mut record = Record::default();
                let mut seen = BTreeSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("{TWICE} '{}' stands there twice", name.escape_debug())));
                    }
                    match name.as_str() {
                        $(stringify!($field) => record.$field = map.next_value()?,)+
                        _ => record.other.push((name, map.next_value()?)),
                    }
                }
                Ok(record)
            }
        }
    };
}

record! {
    id: String,
    title: String,
    body: String,
    description: String,
    design: String,
    acceptance_criteria: String,
    notes: String,
    status: String,
    role: String,
    lane: String,
    parent: String,
    priority: i64,
    labels: Vec<String>,
    paths: Vec<String>,
    depends_on: Vec<String>,
    checks: Vec<CheckRecord>,
    review_domains: Vec<String>,
    dependencies: Vec<LinkRecord>,
    claim: Value,
    branch: String,
    commit: String,
    blocked_reason: String,
    issue_type: String,
    close_reason: String,
    created_at: String,
    updated_at: String,
    closed_at: String,
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}
