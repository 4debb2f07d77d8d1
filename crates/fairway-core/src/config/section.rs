//! A section of the configuration is written once: the type of each key, how it is read, its default, its variable and its
//! purpose. The readers, the table of keys, the example file and the JSON Schema come from that.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The dotted path of its section; `*` stands for a name that the user chose, `[]` for each element of a list.
    pub section: &'static str,
    pub name: &'static str,
    /// Its default, as TOML; `None` when it is absent by default.
    pub default: Option<&'static str>,
    /// Whether a section of a list must have it.
    pub is_required: bool,
    /// The variable that overrides it.
    pub env: Option<&'static str>,
    /// A value to show when there is no default.
    pub sample: &'static str,
    /// Its purpose, in one line.
    pub why: &'static str,
    pub form: Form,
}

/// The values of its TOML type that a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Every value of the type that the reader accepts.
    Any,
    Words(fn() -> Vec<&'static str>),
    /// A span of time, or the word for none.
    Span {
        none: Option<&'static str>,
    },
    /// A number of bytes, or the word for no limit.
    Size {
        none: Option<&'static str>,
    },
    Number {
        least: Option<u64>,
        most: Option<u64>,
    },
}

impl Key {
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'static str> {
        self.section.split('.').chain([self.name])
    }

    /// Returns the key's default, or its sample when it has no default.
    pub(super) fn shown(&self) -> &'static str {
        self.default.unwrap_or(self.sample)
    }
}

/// Why a value is wrong, and the path of its key below the place that was read.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) key: String,
    pub(super) why: String,
}

impl Wrong {
    pub(super) fn at(key: impl Into<String>, why: impl Display) -> Self {
        Self { key: key.into(), why: why.to_string() }
    }

    /// Adds the step above to the key's path; the step of a list is `[]`.
    fn below(self, step: &str) -> Self {
        let joint = if self.key.is_empty() || self.key.starts_with('[') { "" } else { "." };
        Self { key: format!("{step}{joint}{}", self.key), why: self.why }
    }
}

impl<E: Display> From<E> for Wrong {
    fn from(why: E) -> Self {
        Self::at("", why)
    }
}

/// Converts a reader's error into a [`Wrong`], for a caller that knows which key was read.
pub(super) fn told<T, E: Into<Wrong>>(read: Result<T, E>) -> Result<T, Wrong> {
    read.map_err(Into::into)
}

/// Reads the value of a key, or a section.
pub(super) trait Reader {
    type Value;
    /// The values of its TOML type that it takes.
    const FORM: Form = Form::Any;

    fn read(value: Value) -> Result<Self::Value, Wrong>;

    /// The value of a key that is not set; `None` when the key must be set.
    fn absent() -> Option<Self::Value> {
        None
    }
}

impl<T: Reader> Reader for Option<T> {
    type Value = Option<T::Value>;
    const FORM: Form = T::FORM;

    fn read(value: Value) -> Result<Self::Value, Wrong> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }
}

impl<T: Reader> Reader for Vec<T> {
    type Value = Vec<T::Value>;
    const FORM: Form = T::FORM;

    fn read(value: Value) -> Result<Self::Value, Wrong> {
        plain::<Vec<Value>>(value)?.into_iter().map(|item| T::read(item).map_err(|wrong| wrong.below("[]"))).collect()
    }

    fn absent() -> Option<Self::Value> {
        Some(Vec::new())
    }
}

impl<T: Reader> Reader for BTreeMap<String, T> {
    type Value = BTreeMap<String, T::Value>;

    fn read(value: Value) -> Result<Self::Value, Wrong> {
        let named = plain::<Table>(value)?.into_iter();
        named.map(|(name, value)| take_value::<T>(value, &name).map(|value| (name, value))).collect()
    }

    fn absent() -> Option<Self::Value> {
        Some(BTreeMap::new())
    }
}

/// Deserializes a value. The error does not name the key.
pub(super) fn plain<T: DeserializeOwned>(value: Value) -> Result<T, Wrong> {
    T::deserialize(value).map_err(|error| Wrong::from(error.message()))
}

fn take_value<R: Reader>(value: Value, name: &str) -> Result<R::Value, Wrong> {
    R::read(value).map_err(|wrong| wrong.below(name))
}

/// Removes a key from a table and reads its value; without the key, reads `default`.
/// Fails when there is neither and the key must be set.
pub(super) fn take<R: Reader>(table: &mut Table, name: &str, default: Option<Value>) -> Result<R::Value, Wrong> {
    match table.remove(name).or(default) {
        Some(value) => take_value::<R>(value, name),
        None => R::absent().ok_or_else(|| Wrong::from(format!("missing field `{name}`"))),
    }
}

/// A section: the keys of one table.
pub(super) trait Section: Sized {
    const KEYS: &'static [Key];

    /// Reads the keys of the section and removes them from the table, which may have others.
    fn take(table: &mut Table) -> Result<Self, Wrong>;
}

/// The name of a key in the file, by that of its field. A field that is named as a word of Rust begins with `r#`.
pub(super) const fn name_of(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares a section. The comment of a key is its purpose, as the example and the reference show it.
///
/// `field: Type as Reader = default` is a key: without a reader, the type reads itself; the default is one TOML value, the word
/// `required`, or missing. Below `parts` are the sections inside, each with its name in the file where that is another one; below
/// `beside` are sections whose keys stand in the same table.
macro_rules! section {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $why:literal])+
                $(#[env($env:ident)])?
                $(#[sample($sample:tt)])?
                $key_vis:vis $key:ident: $type:ty $(as $reader:ty)? $(= $default:tt)?,
            )*
        }
        $(parts {
            $($(#[$part_meta:meta])* $part_vis:vis $part:ident $(in $part_key:literal)?: $part_type:ty $(as $part_reader:ty)?,)*
        })?
        $(beside { $($(#[$beside_meta:meta])* $beside_vis:vis $beside:ident: $beside_type:ty,)* })?
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[doc = $why])+ $key_vis $key: $type,)*
            $($($(#[$part_meta])* $part_vis $part: $part_type,)*)?
            $($($(#[$beside_meta])* $beside_vis $beside: $beside_type,)*)?
        }

        impl $crate::config::section::Section for $name {
            const KEYS: &'static [$crate::config::Key] = &[$(
                $crate::config::Key {
                    section: "",
                    name: $crate::config::section::name_of(stringify!($key)),
                    default: $crate::config::section::section!(@text $($default)?),
                    is_required: $crate::config::section::section!(@is_required $($default)?),
                    env: $crate::config::section::section!(@variable $($env)?),
                    sample: $crate::config::section::section!(@sample $($sample)?),
                    why: concat!($($why),+).trim_ascii_start(),
                    form: <$crate::config::section::section!(@reader $type $(, $reader)?) as $crate::config::section::Reader>::FORM,
                },
            )*];

            fn take(table: &mut toml::Table) -> Result<Self, $crate::config::section::Wrong> {
                use $crate::config::section;
                Ok(Self {
                    $($key: section::take::<$crate::config::section::section!(@reader $type $(, $reader)?)>(
                        table, const { section::name_of(stringify!($key)) }, $crate::config::section::section!(@value $($default)?),
                    )?,)*
                    $($($part: section::take::<$crate::config::section::section!(@reader $part_type $(, $part_reader)?)>(
                        table, $crate::config::section::section!(@name $part $($part_key)?), None,
                    )?,)*)?
                    $($($beside: section::Section::take(table)?,)*)?
                })
            }
        }

        impl $crate::config::section::Reader for $name {
            type Value = Self;

            fn read(value: toml::Value) -> Result<Self, $crate::config::section::Wrong> {
                <Self as $crate::config::section::Section>::take(&mut $crate::config::section::plain::<toml::Table>(value)?)
            }

            fn absent() -> Option<Self> {
                <Self as $crate::config::section::Section>::take(&mut toml::Table::new()).ok()
            }
        }
    };

    (@text) => { None };
    (@text required) => { None };
    (@text $default:tt) => { Some($crate::config::section::section!(@toml $default)) };
    (@sample) => { "" };
    (@sample $sample:tt) => { $crate::config::section::section!(@toml $sample) };
    (@toml [$first:literal $(, $item:literal)*]) => {
        concat!("[", stringify!($first), $(", ", stringify!($item),)* "]")
    };
    (@toml $value:tt) => { stringify!($value) };
    (@is_required required) => { true };
    (@is_required $($default:tt)?) => { false };
    (@value) => { None };
    (@value required) => { None };
    (@value [$($item:literal),*]) => { Some(toml::Value::Array(vec![$(toml::Value::from($item)),*])) };
    (@value $default:literal) => { Some(toml::Value::from($default)) };
    (@variable) => { None };
    (@variable $env:ident) => { Some($crate::env::vars::$env) };
    (@reader $type:ty) => { $type };
    (@reader $type:ty, $reader:ty) => { $reader };
    (@name $part:ident) => { stringify!($part) };
    (@name $part:ident $key:literal) => { $key };
}

/// Declares a section, as [`section!`] does, of which each key may be missing and then comes from another entry of its kind.
macro_rules! layered_section {
    (
        $(#[$($meta:tt)*])*
        $vis:vis struct $name:ident {
            $($(#[$($key_meta:tt)*])* $key_vis:vis $key:ident: $type:ty $(as $reader:ty)?,)*
        }
        $(parts { $($(#[$($part_meta:tt)*])* $part_vis:vis $part:ident: $part_type:ty,)* })?
        $(beside { $($(#[$($beside_meta:tt)*])* $beside_vis:vis $beside:ident: $beside_type:ty,)* })?
    ) => {
        $crate::config::section::section! {
            $(#[$($meta)*])*
            $vis struct $name {
                $($(#[$($key_meta)*])* $key_vis $key: $type $(as $reader)?,)*
            }
            $(parts { $($(#[$($part_meta)*])* $part_vis $part: $part_type,)* })?
            $(beside { $($(#[$($beside_meta)*])* $beside_vis $beside: $beside_type,)* })?
        }

        impl $name {
            /// Takes the value of each key that is not set in `self` from `below`.
            #[must_use]
            pub fn with_fallback(self, below: Self) -> Self {
                Self {
                    $($key: self.$key.or(below.$key),)*
                    $($($part: match (self.$part, below.$part) {
                        (Some(own), Some(below)) => Some(own.with_fallback(below)),
                        (own, below) => own.or(below),
                    },)*)?
                    $($($beside: self.$beside.with_fallback(below.$beside),)*)?
                }
            }
        }
    };
}

pub(super) use {layered_section, section};
