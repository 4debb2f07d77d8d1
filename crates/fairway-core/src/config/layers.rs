//! The layers of settings: defaults ← `.fairway.toml` ← `local.toml` ← environment. Each value knows where it came from.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use toml::{Table, Value};

use super::project::CONFIG_FILE;
use super::section::{Form, Key};
use super::store::{self, URL_KEY};
use super::trust_record::{KeptText, TextTrust};
use super::{ConfigError, KEYS, Project, keys, provider_profile};
use crate::env::Env;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    BuiltIn,
    File(PathBuf),
    Variable(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

#[derive(Debug, Clone)]
pub struct SourcedValue {
    pub key: String,
    pub value: String,
    pub source: Source,
}

/// The layers above the defaults, lowest first.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    sources: Vec<(Source, Table)>,
    files: Vec<(PathBuf, String)>,
    text_trust: TextTrust,
}

impl Layers {
    /// Reads the configuration files that exist, and the environment. It does not compare the files with what was trusted:
    /// [`super::load_in_force`] does.
    pub fn load(project: &Project, env: &Env) -> Result<Self, ConfigError> {
        Self::from_texts(read_texts(project)?, env)
    }

    /// Makes layers from the texts of configuration files, of which a later one overrides an earlier one, and from the
    /// environment, which overrides all of them.
    /// Fails on a text that is not TOML, an unknown key, a value of another type, and a server's address in the committed file.
    pub(super) fn from_texts(files: Vec<(PathBuf, String)>, env: &Env) -> Result<Self, ConfigError> {
        let mut layers = Vec::new();
        for (path, text) in &files {
            let table = parse(path, text)?;
            let place = path.display().to_string();
            for (key, value) in leaves(&table) {
                check_known(&place, &key, value)?;
                if key == URL_KEY && path.file_name().is_some_and(|name| name == CONFIG_FILE) {
                    let why = "an address may hold a password, and this file is committed; write it into \
                               .fairway/local.toml";
                    return Err(ConfigError::Value { place, key, why: why.into() });
                }
                check_type(&place, &key, value)?;
            }
            layers.push((Source::File(path.clone()), table));
        }
        for key in &KEYS {
            if let Some((variable, text)) = key.env.and_then(|name| Some((name, env.var(name)?))) {
                let number = text.parse().ok().filter(|_| matches!(key.form, Form::Number { .. }));
                let value = number.map_or_else(|| Value::String(text.to_owned()), Value::Integer);
                layers.push((Source::Variable(variable), nest(&key.path(), value)));
            }
        }
        Ok(Self { sources: layers, files, text_trust: TextTrust::Unchecked })
    }

    /// Stores the result of comparing the configuration texts with those that were trusted.
    #[must_use]
    pub(super) fn with_text_trust(self, text_trust: TextTrust) -> Self {
        Self { text_trust, ..self }
    }

    /// The result of comparing the configuration texts with those that were trusted.
    pub const fn text_trust(&self) -> &TextTrust {
        &self.text_trust
    }

    /// The reason why earlier texts, which are trusted, are in force instead of the present files. Returns `None` when the
    /// present files are in force.
    pub const fn kept_text(&self) -> Option<&KeptText> {
        match &self.text_trust {
            TextTrust::Kept(kept) => Some(kept),
            _ => None,
        }
    }

    /// Merges all layers into one table. A key that is missing in it has its default.
    pub fn merged(&self) -> Table {
        let mut merged = Table::new();
        for (_, table) in &self.sources {
            merge(&mut merged, table);
        }
        merged
    }

    /// Merges the configuration files into one table, without the environment.
    pub(super) fn merged_files(&self) -> Table {
        let mut merged = Table::new();
        for table in self.file_tables() {
            merge(&mut merged, table);
        }
        merged
    }

    /// The configuration files with those of their texts that are in force. The files may have changed since they were read.
    pub fn files(&self) -> &[(PathBuf, String)] {
        &self.files
    }

    /// Whether a configuration file has one of these sections. The environment does not count.
    pub fn has_any_section(&self, sections: &[&str]) -> bool {
        self.file_tables().any(|table| sections.iter().any(|section| table.contains_key(*section)))
    }

    /// The text that a configuration file sets for a key of a section. When several files set it, the file that overrides the
    /// others counts. Returns `None` when no file sets it to a text.
    pub fn text_in_files(&self, section: &str, key: &str) -> Option<String> {
        let text = |table: &Table| table.get(section)?.get(key)?.as_str().map(str::to_owned);
        self.file_tables().filter_map(text).last()
    }

    /// The tables of the configuration files; a later one overrides an earlier one.
    pub(super) fn file_tables(&self) -> impl Iterator<Item = &Table> {
        self.sources.iter().filter(|(source, _)| matches!(source, Source::File(_))).map(|(_, table)| table)
    }

    /// Every value in force with its source, in the order of the example file. A password in a server's address is masked.
    pub fn values_with_source(&self) -> Vec<SourcedValue> {
        let merged = self.merged();
        let mut shown: Vec<SourcedValue> = leaves(&merged)
            .into_iter()
            .map(|(key, value)| SourcedValue { source: self.source_of(&key), value: shown_value(&key, value), key })
            .collect();
        for (default, path) in KEYS.iter().filter_map(|key| Some((key.default?, key.path()))) {
            if !shown.iter().any(|one| one.key == path) {
                shown.push(SourcedValue { key: path, value: default.into(), source: Source::Default });
            }
        }
        for (key, value) in provider_profile::built_in_values() {
            if keys::find(&key).is_some() && !shown.iter().any(|one| one.key == key) {
                shown.push(SourcedValue { key, value: value.to_string(), source: Source::BuiltIn });
            }
        }
        shown.sort_by_key(|one| (keys::place_of(&one.key), one.key.clone()));
        shown
    }

    /// The name of the file or variable that sets this key or one below it, for error messages; `the configuration` when none
    /// does.
    pub(super) fn location_of(&self, path: &str) -> String {
        let below =
            |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let set = |table: &Table| leaves(table).iter().any(|(key, _)| below(key));
        let found = self.sources.iter().rev().find(|(_, table)| set(table));
        found.map_or_else(|| "the configuration".to_owned(), |(source, _)| source.to_string())
    }

    /// Whether a file or the environment sets this key.
    pub fn is_set(&self, path: &str) -> bool {
        self.source_of(path) != Source::Default
    }

    fn source_of(&self, path: &str) -> Source {
        let set = |table: &Table| leaves(table).iter().any(|(key, _)| key == path);
        self.sources.iter().rev().find(|(_, table)| set(table)).map_or(Source::Default, |(source, _)| source.clone())
    }
}

/// A value for display: an address without its password.
fn shown_value(key: &str, value: &Value) -> String {
    match value {
        Value::String(url) if key == URL_KEY => Value::String(store::masked_url(url)).to_string(),
        value => value.to_string(),
    }
}

/// The path of the project's configuration file that is not committed.
pub fn local_file(project: &Project) -> PathBuf {
    project.state.join("local.toml")
}

const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The bytes of a file that a cloned repository may have brought: a link to a device would have no end.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_CONFIG_BYTES {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(bytes)
}

/// Reads the configuration files that exist; a later one in the list overrides an earlier one.
pub(super) fn read_texts(project: &Project) -> Result<Vec<(PathBuf, String)>, ConfigError> {
    let mut files = Vec::new();
    for path in [project.root.join(CONFIG_FILE), local_file(project)] {
        if let Some(text) = read_text(&path)? {
            files.push((path, text));
        }
    }
    Ok(files)
}

/// The text of a configuration file; `None` when the file does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    match read_limited(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| ConfigError::Syntax { path: path.into(), why: "it is not UTF-8".into() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.into(), source }),
    }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Table, ConfigError> {
    let syntax = |error: toml::de::Error| {
        let line = error.span().map(|span| text.get(..span.start).unwrap_or("").matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        ConfigError::Syntax { path: path.into(), why: format!("{place}{}", error.message().replace('\n', ", ")) }
    };
    text.parse::<Table>().map_err(syntax)
}

/// A table with one value at a dotted path.
fn nest(path: &str, value: Value) -> Table {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let inner = match rest {
        Some(rest) => Value::Table(nest(rest, value)),
        None => value,
    };
    Table::from_iter([(first.to_owned(), inner)])
}

fn merge(below: &mut Table, above: &Table) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Every value of a table with its dotted path. The name of a list of tables ends in `[]`, and a table that is a value (an
/// environment) is not entered.
pub(super) fn leaves(table: &Table) -> Vec<(String, &Value)> {
    fn walk<'a>(table: &'a Table, above: &str, found: &mut Vec<(String, &'a Value)>) {
        for (name, value) in table {
            let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
            match value {
                Value::Table(inner) if keys::find(&path).is_none() => {
                    if inner.is_empty() {
                        found.push((path, value));
                    } else {
                        walk(inner, &path, found);
                    }
                }
                Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_table) => {
                    for inner in items.iter().filter_map(Value::as_table) {
                        walk(inner, &format!("{path}[]"), found);
                    }
                }
                _ => found.push((path, value)),
            }
        }
    }
    let mut found = Vec::new();
    walk(table, "", &mut found);
    found
}

/// Refuses a value of another type than the key's default or sample has. Their text is not parsed: every command checks every key that
/// a file sets.
fn check_type(place: &str, path: &str, value: &Value) -> Result<(), ConfigError> {
    let Some(sample) = keys::find(path).map(Key::shown) else { return Ok(()) };
    let check = |key: String, value: &Value, want: &'static str| {
        let why = format!("is {}, not {want}", type_name(value));
        if type_name(value) == want { Ok(()) } else { Err(ConfigError::Value { place: place.to_owned(), key, why }) }
    };
    check(path.to_owned(), value, type_of(sample))?;
    match value {
        Value::Array(items) => {
            let want = sample.trim_start_matches('[').trim_start();
            let is_known = !want.starts_with(']');
            items.iter().filter(|_| is_known).try_for_each(|item| check(path.to_owned(), item, type_of(want)))
        }
        Value::Table(table) => {
            let want = sample.split_once("= ").map_or("", |(_, want)| want);
            table.iter().try_for_each(|(name, item)| check(format!("{path}.{name}"), item, type_of(want)))
        }
        _ => Ok(()),
    }
}

/// The type of a value that is written as TOML, in the words of [`type_name`].
fn type_of(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'[') => "a list",
        Some(b'{') => "a table",
        Some(b't' | b'f') => "true or false",
        _ if text.contains('.') => "a fraction",
        _ => "a number",
    }
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a number",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

fn check_known(place: &str, path: &str, value: &Value) -> Result<(), ConfigError> {
    if keys::find(path).is_some() {
        return Ok(());
    }
    // An empty section, or an empty list of them, is harmless where one may stand; anything else there is of a wrong type.
    let depth = path.split('.').count();
    let fits = |want: &str, have: &str| want == "*" || want == have || want.strip_suffix("[]") == Some(have);
    let section = KEYS.iter().find(|key| {
        key.steps().count() > depth && key.steps().zip(path.split('.')).all(|(want, have)| fits(want, have))
    });
    if let Some(section) = section {
        let is_list = section.steps().nth(depth - 1).is_some_and(|step| step.ends_with("[]"));
        let is_empty = value.as_table().is_some_and(Table::is_empty) && !is_list
            || value.as_array().is_some_and(Vec::is_empty) && is_list;
        if is_empty {
            return Ok(());
        }
        let want = if is_list { "a list of sections" } else { "a section" };
        let why = format!("is {}, not {want}", type_name(value));
        return Err(ConfigError::Value { place: place.to_owned(), key: path.to_owned(), why });
    }
    if let Some(instead) = keys::left(path) {
        if value.as_table().is_some_and(Table::is_empty) {
            return Ok(());
        }
        let why = format!("is no setting any more: take the line out; {instead}");
        return Err(ConfigError::Value { place: place.to_owned(), key: path.to_owned(), why });
    }
    // Name the outermost part that is unknown: `[cliams]` and not each key below it.
    let steps: Vec<&str> = path.split('.').collect();
    let unknown = (1..=steps.len())
        .filter_map(|depth| Some(steps.get(..depth)?.join(".")))
        .find(|part| {
            let depth = part.split('.').count();
            !KEYS.iter().any(|key| {
                key.steps().count() >= depth
                    && key.steps().zip(part.split('.')).all(|(want, have)| want == "*" || want == have)
            })
        })
        .unwrap_or_else(|| path.to_owned());
    let near = keys::nearest(&unknown);
    if near.as_deref() == unknown.rsplit('.').next() {
        // The name is right: it stands for a list, and was written as one section.
        let why = format!("is a section, not a list of sections; write [[{unknown}]]");
        return Err(ConfigError::Value { place: place.to_owned(), key: unknown, why });
    }
    Err(ConfigError::UnknownKey { place: place.to_owned(), key: unknown, near })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_defaults_and_samples_are_those_of_their_values() {
        for key in &KEYS {
            let value = format!("v = {}", key.shown()).parse::<Table>().unwrap()["v"].clone();
            check_type("", &key.path().replace('*', "x"), &value).unwrap();
            for other in ["'x'", "1", "1.5", "true", "[]"].map(|text| format!("v = {text}")) {
                let other = other.parse::<Table>().unwrap()["v"].clone();
                let is_refused = check_type("", &key.path().replace('*', "x"), &other).is_err();
                assert_eq!(is_refused, !other.same_type(&value), "{} = {other}", key.path());
            }
        }
    }
}
