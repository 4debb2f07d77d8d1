//! Ids that people type, with their alphabets. What has one of these types can stand in a path, a pattern or an
//! argument without escaping.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::excerpt::excerpt;

const MAX_ID_BYTES: usize = 64;
const MAX_ROUTING_KEY_BYTES: usize = 128;

/// A value outside its alphabet or limits. It becomes [`Refusal::Invalid`](super::Refusal::Invalid), which imports the
/// ids that are parsed and therefore cannot be what their parsers return.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} {why}")]
pub struct InvalidValue {
    /// The kind of value, as messages name it.
    pub what: &'static str,
    /// The excerpt of the value and the rule that it breaks.
    pub why: String,
}

fn invalid_id(what: &'static str, text: &str, rule: &'static str) -> InvalidValue {
    InvalidValue { what, why: format!("'{}' {rule}", excerpt(text)) }
}

macro_rules! id {
    ($(#[$meta:meta])* $name:ident, $what:literal, $rule:expr, $why:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Fails with [`InvalidValue`] when the text is outside the alphabet or too long.
            pub fn parse(text: &str) -> Result<Self, InvalidValue> {
                let rule: fn(&str) -> bool = $rule;
                if text.len() <= MAX_ID_BYTES && rule(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(invalid_id($what, text, $why))
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        text_in_documents!($name);
    };
}

/// Gives a type whose JSON form is a text the schema of a text.
macro_rules! text_in_documents {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        #[cfg(feature = "schemas")]
        crate::env::text_schema!($name);
    };
}

fn is_label(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
}

id!(
    /// A task's id: characters, digits, `.`, `_`, `-`, at most 64, starting with a character.
    TaskId,
    "task id",
    |text| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-'))
    },
    "must start with a-z or A-Z and contain only a-z, A-Z, 0-9, '.', '_' and '-', at most 64 characters"
);
impl TaskId {
    /// Whether a text is a task's id that cannot be mistaken for a word of a title: it has a hyphen and a digit, as `T-7`.
    pub fn is_distinct(text: &str) -> bool {
        text.contains('-') && text.contains(|character: char| character.is_ascii_digit()) && Self::parse(text).is_ok()
    }
}

id!(
    /// A role: who does a kind of work.
    Role,
    "role",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);
id!(
    LaneName,
    "lane",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);
id!(
    /// A session's short id, which is its session name too.
    SessionId,
    "session id",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);
id!(
    /// A provider, backend, domain or check: a label in the same alphabet as roles.
    Label,
    "name",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);

id!(
    /// The name of a paired device.
    DeviceName,
    "device name",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);

id!(
    /// The name of a sink of notifications: a built-in one, or one of the configuration.
    SinkName,
    "sink",
    is_label,
    "must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters"
);

id!(
    /// A person's name: that of the user account, without the host.
    PersonName,
    "person",
    |text| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-'))
    },
    "must start with a-z, A-Z, 0-9 or '_' and contain only these, '.' and '-', at most 64 characters"
);
impl PersonName {
    /// The person in an actor's name: `ann` of `ann@host`. Returns `None` for a session, whose name has no `@`.
    pub fn of_actor(name: &str) -> Option<Self> {
        name.rsplit_once('@').and_then(|(user, _)| Self::parse(user).ok())
    }
}

/// The id of a session run, which is a session from its launch to its exit. Fairway gives out UUIDs; a row of an earlier version
/// may hold another text, so any text is an id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Accepts any text as an id. A UUID in any spelling becomes the canonical one, in which it is stored.
    pub fn parse(text: &str) -> Self {
        uuid::Uuid::parse_str(text).map_or_else(|_| Self(text.to_owned()), Self::from)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a new session run may get this id: a UUID other than zero.
    pub fn is_usable(&self) -> bool {
        uuid::Uuid::parse_str(&self.0).is_ok_and(|run| !run.is_nil())
    }
}

impl From<uuid::Uuid> for RunId {
    fn from(run: uuid::Uuid) -> Self {
        Self(run.to_string())
    }
}

text_in_documents!(RunId);

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::parse(&text))
    }
}

/// Takes a text from the store or from a process's environment unchanged.
impl From<String> for RunId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The key under which a job's notifications wait: a session's id, or a caller's own name for a session that Fairway does not
/// know, such as `agent:main/7`. It is data only, never a part of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoutingKey(String);

impl RoutingKey {
    /// Fails with [`InvalidValue`] when the text is outside the alphabet or too long.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let label: String = text.chars().map(|each| if matches!(each, ':' | '/') { '-' } else { each }).collect();
        if text.len() <= MAX_ROUTING_KEY_BYTES && is_label(&label) {
            return Ok(Self(text.to_owned()));
        }
        let rule =
            "must start with a-z, A-Z or 0-9 and contain only these, '_', '-', ':' and '/', at most 128 characters";
        Err(invalid_id("session key", text, rule))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The session that the key may name; `None` when the key cannot be a session's id.
    pub fn session_id(&self) -> Option<SessionId> {
        SessionId::parse(&self.0).ok()
    }
}

text_in_documents!(RoutingKey);

impl From<SessionId> for RoutingKey {
    fn from(session: SessionId) -> Self {
        Self(session.0)
    }
}

impl fmt::Display for RoutingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routing_key_takes_colons_and_slashes_and_names_a_session_only_without_them() {
        for good in ["s1", "agent:main:main", "ci/build/7", &"a".repeat(128)] {
            assert_eq!(RoutingKey::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", ":a", "/a", "a b", "a.b", "a@b", "a\n", &"a".repeat(129)] {
            assert!(RoutingKey::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(RoutingKey::parse("s1").unwrap().session_id(), SessionId::parse("s1").ok());
        assert_eq!(RoutingKey::parse("agent:main").unwrap().session_id(), None);
        assert_eq!(RoutingKey::parse(&"a".repeat(65)).unwrap().session_id(), None);
    }

    #[test]
    fn run_id_of_any_spelling_is_one_id_and_another_text_stays() {
        let usual = "0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff";
        for spelling in [usual, "0193B0C0-7E6A-7A5B-8C3D-AABBCCDDEEFF", "0193b0c07e6a7a5b8c3daabbccddeeff"] {
            assert_eq!(RunId::parse(spelling).as_str(), usual);
            assert!(RunId::parse(spelling).is_usable());
        }
        assert_eq!(RunId::parse("run-1").as_str(), "run-1");
        assert!(!RunId::parse("run-1").is_usable() && !RunId::from(uuid::Uuid::nil()).is_usable());
    }

    #[test]
    fn person_is_named_by_the_account_and_never_with_a_host() {
        assert_eq!(PersonName::of_actor("ann.lee@host").unwrap().as_str(), "ann.lee");
        for session in ["s1", "ann", "@host", "a b@host", "a@b@host"] {
            assert_eq!(PersonName::of_actor(session), None, "{session}");
        }
        assert!(PersonName::parse("ann@host").is_err());
    }

    #[test]
    fn alphabets_hold_at_their_edges() {
        for good in ["PF-001", "gt-wisp-st5bf", "a", "hq.1_x"] {
            assert!(TaskId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "a b", "a/b", "é", "a\n", "..", &"a".repeat(65)] {
            assert!(TaskId::parse(bad).is_err(), "{bad}");
        }
        for good in ["backend", "0", "a_b-C"] {
            assert!(Role::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "_a", "a.b", "a;", "#(x)", &"a".repeat(65)] {
            assert!(LaneName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn invalid_id_is_shown_short_and_without_control_characters() {
        let error = TaskId::parse(&"\u{1b}".repeat(1 << 20)).unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.len() < 1_000, "{error}");
    }
}
