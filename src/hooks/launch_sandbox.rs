//! The permission profile that a launch gives Codex in a linked worktree: git's directories can be written, but not the files
//! there that name programs or another repository.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::config::project::GitDir;

/// Settings of a user's own that say what the sandbox allows. A profile would replace them.
const OWN_SETTINGS: [&str; 5] = ["sandbox_mode", "default_permissions", "permissions", "profile", "profiles"];
/// Parts of words of a command line that say the same.
const OWN_WORDS: [&str; 7] = ["sandbox", "permissions", "profile", "yolo", "full-auto", "add-dir", "trust_level"];
/// The longest configuration of a user that is read, in bytes.
pub(super) const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Where an administrator says which profiles are allowed.
const MANAGED: &str = "/etc/codex";

/// The arguments of the profile `fairway`.
pub(super) fn arguments(writable: &[PathBuf], protected: &[PathBuf]) -> Option<Vec<String>> {
    let rules = writable.iter().map(|path| (path, "write")).chain(protected.iter().map(|path| (path, "read")));
    let rules: Option<BTreeMap<&str, &str>> = rules.map(|(path, access)| Some((path.to_str()?, access))).collect();
    // The keys of an inline table are quoted: a path is no bare key.
    let quote = |path: &str| ::toml::Value::String(path.to_owned()).to_string();
    let rules: Vec<String> =
        rules?.into_iter().map(|(path, access)| format!("{}={}", quote(path), toml(&json!(access)))).collect();
    let profile = format!("permissions.fairway={{extends=\":workspace\",filesystem={{{}}}}}", rules.join(","));
    Some(["-c", "default_permissions=\"fairway\"", "-c", &profile].map(str::to_owned).to_vec())
}

/// Whether the sandbox would be the one that Codex has by itself in a trusted directory. Anything else is left alone: a profile
/// must not open what a person or an administrator has closed.
pub(super) fn is_left_plain(user_dir: &Path, worktree: &Path, words: &[String]) -> bool {
    let own_word = |word: &String| {
        OWN_WORDS.iter().any(|part| word.contains(part))
            || word.starts_with("-s")
            || word.starts_with("-p")
            || word.starts_with("-P")
    };
    let Some(user) = table(&user_dir.join("config.toml")) else { return false };
    let of_projects = worktree.ancestors().map(|dir| dir.join(".codex/config.toml")).filter(|file| file.exists());
    !Path::new(MANAGED).exists()
        && !words.iter().skip(1).any(own_word)
        && is_plain(&user)
        && is_trusted(&user, worktree)
        && of_projects.into_iter().all(|file| table(&file).is_some_and(|table| is_plain(&table)))
}

/// The settings of a file; `None` when they cannot be read.
fn table(file: &Path) -> Option<::toml::Table> {
    let is_small = fs::metadata(file).ok()?.len() <= MAX_CONFIG_BYTES;
    is_small.then(|| fs::read_to_string(file).ok()?.parse().ok()).flatten()
}

/// Whether the settings say nothing of a sandbox but which directories it may write.
fn is_plain(settings: &::toml::Table) -> bool {
    let only_roots =
        |value: &::toml::Value| value.as_table().is_some_and(|keys| keys.keys().all(|key| key == "writable_roots"));
    !OWN_SETTINGS.iter().any(|key| settings.contains_key(*key))
        && settings.get("sandbox_workspace_write").is_none_or(only_roots)
}

/// Whether a person trusted the worktree or its repository, and said otherwise of neither.
fn is_trusted(settings: &::toml::Table, worktree: &Path) -> bool {
    let Some(git) = GitDir::around(worktree) else { return false };
    let levels: Vec<&str> = [Some(worktree), Some(git.top.as_path()), git.common.parent()]
        .into_iter()
        .flatten()
        .filter_map(|dir| {
            settings.get("projects")?.get(dir.canonicalize().ok()?.to_str()?)?.get("trust_level")?.as_str()
        })
        .collect();
    !levels.is_empty() && levels.iter().all(|level| *level == "trusted")
}

/// A JSON value as TOML on one line.
pub(super) fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", toml(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(",")),
        Value::String(text) => ::toml::Value::String(text.clone()).to_string(),
        other => other.to_string(),
    }
}
