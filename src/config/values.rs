//! Readers of values that several sections share. An error is the reason alone; the caller knows the key.

use std::{fmt::Display, time::Duration};

use serde::{Deserialize, Deserializer, de::Error};

use super::duration;
use crate::domain::{
    Role,
    landing::{LandOrder, LandStyle},
    need::NeedKind,
    rules::{claim::PathPolicy, gate::Gate, globs, initial_prompt::PromptDelivery},
};

/// The idle time after which a session is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleAfter {
    After(Duration),
    Never,
}

impl<'de> Deserialize<'de> for StaleAfter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        span_or("off", deserializer).map(|span| span.map_or(Self::Never, Self::After))
    }
}

/// A closed set of words.
pub(super) trait Word: Copy + 'static {
    /// Every member.
    const MEMBERS: &'static [Self];
    fn spelling(self) -> &'static str;
}

macro_rules! impl_word {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::config::values::Word for $name {
            const MEMBERS: &'static [Self] = Self::ALL;

            fn spelling(self) -> &'static str {
                self.as_str()
            }
        }
    )+};
}

impl_word!(Gate, LandOrder, LandStyle, NeedKind, PathPolicy, PromptDelivery);
pub(super) use impl_word;

/// The message for an unknown value, with every known one.
pub(super) fn unknown_value(word: &str, known: &[&str]) -> String {
    format!("'{}' is none of {}", word.escape_debug(), known.join(", "))
}

fn parse_word<T: Word>(text: &str) -> Result<T, String> {
    T::MEMBERS.iter().find(|member| member.spelling() == text).copied().ok_or_else(|| {
        let known: Vec<&str> = T::MEMBERS.iter().map(|member| member.spelling()).collect();
        unknown_value(text, &known)
    })
}

/// A text that `parse` reads.
pub(super) fn parsed<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A list of globs of paths.
pub(super) fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    parsed_list(deserializer, |glob| globs::check(glob).map(|()| glob.to_owned()))
}

/// A list of texts that `parse` reads.
pub(super) fn parsed_list<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, D::Error> {
    Vec::<String>::deserialize(deserializer)?.iter().map(|text| parse(text).map_err(D::Error::custom)).collect()
}

/// A value of which `check` tells why it is wrong.
pub(super) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>, E: Display>(
    deserializer: D,
    check: impl FnOnce(&T) -> Result<(), E>,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    check(&value).map_err(D::Error::custom)?;
    Ok(value)
}

/// One of the words of a closed set.
pub(super) fn word<'de, D: Deserializer<'de>, T: Word>(deserializer: D) -> Result<T, D::Error> {
    parsed(deserializer, parse_word)
}

/// Some words of a closed set.
pub(super) fn words<'de, D: Deserializer<'de>, T: Word>(deserializer: D) -> Result<Vec<T>, D::Error> {
    parsed_list(deserializer, parse_word)
}

/// A span of time.
pub(super) fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parsed(deserializer, duration::parse)
}

/// A span of time; `None` for this word.
pub(super) fn span_or<'de, D: Deserializer<'de>>(none: &str, deserializer: D) -> Result<Option<Duration>, D::Error> {
    parsed(deserializer, |text| if text == none { Ok(None) } else { duration::parse(text).map(Some) })
}

/// The names of roles.
pub(super) fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Role>, D::Error> {
    parsed_list(deserializer, Role::parse)
}

/// A text; `None` for a blank one.
pub(super) fn non_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}
