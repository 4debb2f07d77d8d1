//! Spans of time as people write them, and readers of values that several sections share. An error is the reason alone; the
//! caller knows the key.

use std::time::Duration;

use toml::Value;

use super::section::{Form, Reader, Wrong, plain};
use crate::domain::id::{Label, SinkName};
use crate::domain::landing::{LandStyle, LandThrough, LandTrailer};
use crate::domain::need::NeedKind;
use crate::domain::rules::claim::PathPolicy;
use crate::domain::rules::gate::Gate;
use crate::domain::rules::globs;
use crate::domain::rules::initial_prompt::PromptDelivery;
use crate::domain::rules::proxy_hosts::OpenHost;
use crate::domain::{LaneName, Role};
/// Parses a span of time such as `10m`. A span of more than a hundred years is refused, so that adding it to a time cannot
/// overflow.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    match humantime::parse_duration(text) {
        Ok(span) if span <= MAX_DURATION => Ok(span),
        Ok(_) => Err(format!("'{text}' is longer than a hundred years")),
        Err(_) => Err(format!("'{}' is not a span of time such as 30s, 10m or 2h", text.escape_debug())),
    }
}

/// Formats a span in the form in which it is parsed: in whole seconds, or in milliseconds when it is shorter than a second.
pub fn show_duration(span: Duration) -> String {
    let rounded = if span >= Duration::from_secs(1) {
        Duration::from_secs(span.as_secs())
    } else {
        Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(0))
    };
    humantime::format_duration(rounded).to_string()
}

macro_rules! plain {
    ($($type:ty, $form:expr);+ $(;)?) => {$(
        impl Reader for $type {
            type Value = Self;
            const FORM: Form = $form;

            fn read(value: Value) -> Result<Self, Wrong> {
                plain(value)
            }

            fn absent() -> Option<Self> {
                Some(Self::default())
            }
        }
    )+};
}

const NATURAL: Form = Form::Number { least: Some(0), most: None };

plain!(String, Form::Any; bool, Form::Any; f64, Form::Any; i64, Form::Any; u32, NATURAL);

/// A value that is read from another one by a function, which says why one is wrong. A name makes a reader of its own; without
/// one, the type reads itself. A form that is not given is that of the other value.
macro_rules! reader {
    ($(#[$meta:meta])* $vis:vis $name:ident($from:ty) -> $value:ty $(, $form:expr)?; $read:expr $(; $absent:expr)?) => {
        $(#[$meta])*
        $vis struct $name;

        $crate::config::values::reader!(@ $name, $from, $value, { $($form)? }, $read, { $($absent)? });
    };
    ($name:ty: $from:ty $(, $form:expr)?; $read:expr) => {
        $crate::config::values::reader!(@ $name, $from, Self, { $($form)? }, $read, {});
    };
    (@ $name:ty, $from:ty, $value:ty, $form:tt, $read:expr, $absent:tt) => {
        impl $crate::config::section::Reader for $name {
            type Value = $value;
            const FORM: $crate::config::section::Form = $crate::config::values::reader!(@form $form $from);

            fn read(value: toml::Value) -> Result<$value, $crate::config::section::Wrong> {
                let read = $read;
                $crate::config::section::told(read(&<$from as $crate::config::section::Reader>::read(value)?))
            }

            fn absent() -> Option<$value> {
                $crate::config::values::reader!(@absent $absent)
            }
        }
    };
    (@form {} $from:ty) => { <$from as $crate::config::section::Reader>::FORM };
    (@form { $form:expr } $from:ty) => { $form };
    (@absent {}) => { None };
    (@absent { $absent:expr }) => { Some($absent) };
}

reader!(Role: String; Role::parse);
reader!(Label: String; Label::parse);
reader!(SinkName: String; SinkName::parse);
reader!(LaneName: String; LaneName::parse);
reader!(OpenHost: String; OpenHost::parse);
reader!(Duration: String, Form::Span { none: None }; parse_duration);
reader! {
    pub(super) NonBlank(String) -> Option<String>;
    |text: &String| Ok::<_, Wrong>(Some(text.clone()).filter(|text| !text.trim().is_empty()));
    None
}
reader!(pub(super) Glob(String) -> String; |glob: &String| globs::check(glob).map(|()| glob.clone()));
reader! {
    pub(super) AtLeastOne(i64) -> usize, Form::Number { least: Some(1), most: None };
    |number: &i64| {
        let found = usize::try_from(*number).ok().filter(|number| *number > 0);
        found.ok_or_else(|| format!("must be at least 1, not {number}"))
    }
}

/// Parses a span of time. Returns `None` when the text is the word that `none` holds, such as `off`.
fn span_or(none: &str, text: &str) -> Result<Option<Duration>, String> {
    if text == none { Ok(None) } else { parse_duration(text).map(Some) }
}

reader!(pub(super) SpanOrNone(String) -> Option<Duration>, Form::Span { none: Some("none") }; |text: &String| span_or("none", text));
reader!(pub(super) SpanOrOff(String) -> Option<Duration>, Form::Span { none: Some("off") }; |text: &String| span_or("off", text));

/// A closed set of words.
pub(super) trait Word: Copy + 'static {
    const MEMBERS: &'static [Self];
    fn spelling(self) -> &'static str;
}

pub(super) fn spellings<T: Word>() -> Vec<&'static str> {
    T::MEMBERS.iter().map(|member| member.spelling()).collect()
}

macro_rules! impl_word {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::config::values::Word for $name {
            const MEMBERS: &'static [Self] = Self::ALL;

            fn spelling(self) -> &'static str {
                self.as_str()
            }
        }

        $crate::config::values::reader!($name: String, $crate::config::section::Form::Words($crate::config::values::spellings::<Self>);
            $crate::config::values::parse_word);
    )+};
}

impl_word!(Gate, LandStyle, LandThrough, LandTrailer, NeedKind, PathPolicy, PromptDelivery);
pub(super) use {impl_word, reader};

/// The error message for an unknown word, with every known one.
pub(super) fn unknown_value(word: &str, known: &[&str]) -> String {
    format!("'{}' is none of {}", word.escape_debug(), known.join(", "))
}

/// Parses a word that must be one of a fixed set. The error lists every word of the set.
pub(super) fn parse_word<T: Word>(text: &str) -> Result<T, String> {
    let found = T::MEMBERS.iter().find(|member| member.spelling() == text).copied();
    found.ok_or_else(|| unknown_value(text, &spellings::<T>()))
}
