//! Finds every problem of a configuration. Reading stops at the first one, so each is removed from the text, which is read
//! again.

use std::path::PathBuf;

use toml::{Table, Value};

use super::layers::{parse, read_texts};
use super::{ConfigError, Layers, Project, Settings};
use crate::env::Env;

/// The largest number of problems that is shown; a person does not read more at once.
const MAX_PROBLEMS: usize = 50;

/// Collects the problems of the configuration files, at most `MAX_PROBLEMS`. `first` is the problem that reading them has found.
/// It is the only one when it concerns a file that cannot be read, and problems after a syntax error are not found.
pub fn all(first: ConfigError, project: &Project, env: &Env) -> ConfigError {
    let Ok(mut texts) = read_texts(project) else { return first };
    if matches!(first, ConfigError::Unreadable { .. }) {
        return first;
    }
    let mut problems = Vec::new();
    let mut next = Some(first);
    while let Some(problem) = next.take() {
        let is_taken_out = match &problem {
            ConfigError::UnknownKey { place, key, near } => take_out(&mut texts, place, key, near.as_deref()),
            ConfigError::Value { place, key, .. } => take_out(&mut texts, place, key, None),
            _ => false,
        };
        problems.push(problem);
        if is_taken_out && problems.len() < MAX_PROBLEMS {
            let read = Layers::from_texts(texts.clone(), env);
            next = read.and_then(|layers| Settings::from_layers(&layers, project)).err();
        }
    }
    ConfigError::All { problems }
}

/// Takes a key out of the file that a problem names, or of every file when it names none of them. A misspelled one gets the name
/// that was meant, so that nothing else misses it. Returns whether the key was there.
fn take_out(texts: &mut [(PathBuf, String)], place: &str, key: &str, meant: Option<&str>) -> bool {
    let is_named = texts.iter().any(|(path, _)| path.to_str() == Some(place));
    let mut is_changed = false;
    for (path, text) in texts.iter_mut().filter(|(path, _)| !is_named || path.to_str() == Some(place)) {
        let Ok(mut table) = parse(path, text) else { continue };
        if remove(&mut table, key, meant)
            && let Ok(without) = toml::to_string(&table)
        {
            *text = without;
            is_changed = true;
        }
    }
    is_changed
}

/// Removes the key at a path such as `notify.rules[].when`, from each element of a list; `meant` is its new name.
fn remove(table: &mut Table, path: &str, meant: Option<&str>) -> bool {
    // A name may hold a dot.
    if let Some(value) = table.remove(path) {
        if let Some(meant) = meant.filter(|meant| !table.contains_key(*meant)) {
            table.insert(meant.to_owned(), value);
        }
        return true;
    }
    path.match_indices('.').any(|(at, _)| {
        let (name, rest) = (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default());
        match table.get_mut(name.trim_end_matches("[]")) {
            Some(Value::Table(inner)) => remove(inner, rest, meant),
            Some(Value::Array(items)) => {
                let tables = items.iter_mut().filter_map(Value::as_table_mut);
                tables.filter_map(|inner| remove(inner, rest, meant).then_some(())).count() > 0
            }
            _ => false,
        }
    })
}
