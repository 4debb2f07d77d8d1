//! The hooks and the sandbox settings that a launch brings to each provider.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Provider;
use super::doctor::codex_trust::{self, HookTrust};
use super::install::{self, SettingsFile};
use fairway_actions::sessions::launch::provider_hooks::{
    HookPlace, HookQuestion, HookSettings, HookVerdict, ProviderHooks,
};
use fairway_core::config::project::GitDir;
use fairway_core::os::executable;

pub static LAUNCH_HOOKS: KnownHooks = KnownHooks;

#[derive(Debug)]
pub struct KnownHooks;

/// The argument with which Codex runs hooks without asking a person for trust.
const WITHOUT_REVIEW: &str = "--dangerously-bypass-hook-trust";

impl ProviderHooks for KnownHooks {
    fn settings(&self, provider: &str, fairway: &Path, root: &Path, approval_wait: Duration) -> Option<HookSettings> {
        let provider = Provider::parse(provider)?;
        fairway.to_str()?;
        let is_ours = install::own_hook_matcher(provider, fairway);
        let files = [Some(provider.settings_file), provider.local_settings_file].into_iter().flatten();
        let worktrees = files.map(|file| root.join(provider.settings_dir).join(file)).any(|file| {
            let text = SettingsFile::read(&file).ok().and_then(|settings| settings.text).unwrap_or_default();
            install::has_worktree_hooks(provider, &text, &is_ours).unwrap_or(false)
        });
        let entries = install::launch_entries(provider, fairway, approval_wait, worktrees);
        let group = |hooks: Vec<Value>| serde_json::json!([{ "hooks": hooks }]);
        if provider.reviews_hooks {
            let value = |entry: install::Entry| format!("hooks.{}={}", entry.event, toml(&group(entry.hooks)));
            return Some(HookSettings::Values(entries.into_iter().map(value).collect()));
        }
        let events: Map<String, Value> =
            entries.into_iter().map(|entry| (entry.event.to_owned(), group(entry.hooks))).collect();
        let mut settings = serde_json::json!({ "hooks": events });
        if let Some(switch) = &provider.hooks_switch {
            // They come before the files of the project and the user, one of which may turn hooks off, now or later.
            switch.turn_on(&mut settings);
        }
        Some(HookSettings::File(format!("{settings:#}\n")))
    }

    fn are_installed(&self, place: HookPlace<'_>, fairway: &Path) -> bool {
        let Some(provider) = Provider::parse(place.provider) else { return false };
        settings_files(provider, place).iter().any(|file| installed_commands(provider, file, fairway).is_some())
    }

    fn own_writable_dirs(&self, place: HookPlace<'_>) -> Vec<PathBuf> {
        let provider = Provider::parse(place.provider).filter(|provider| provider.reviews_hooks);
        provider.and_then(|provider| writable_roots(provider, place)).unwrap_or_default()
    }

    fn sandbox_args(
        &self,
        place: HookPlace<'_>,
        words: &[String],
        writable: &[PathBuf],
        protected: &[PathBuf],
    ) -> Option<Vec<String>> {
        let provider = Provider::parse(place.provider).filter(|provider| provider.reviews_hooks)?;
        let is_plain = is_left_plain(&user_dir(provider, place)?, place.worktree, words);
        is_plain.then(|| sandbox_arguments(writable, protected)).flatten()
    }

    fn ask(&self, question: &HookQuestion) -> HookVerdict {
        let Ok(fairway) = executable::current_executable() else { return HookVerdict::Runs };
        let skips_review = question.own_args.iter().any(|arg| arg == WITHOUT_REVIEW);
        let Some(provider) = Provider::parse(&question.provider) else { return HookVerdict::Runs };
        let place =
            HookPlace { provider: &question.provider, env: &question.env, home: None, worktree: &question.worktree };
        // The settings that a launch brings turn the hooks on.
        let files = if question.args.is_empty() { settings_files(provider, place) } else { Vec::new() };
        if let Some(off) = install::switched_off(provider, files) {
            return HookVerdict::Off(off.to_string());
        }
        if !provider.reviews_hooks || skips_review {
            return HookVerdict::Runs;
        }
        let commands = if question.args.is_empty() {
            let files = settings_files(provider, place);
            files.iter().find_map(|file| installed_commands(provider, file, &fairway)).unwrap_or_default()
        } else {
            let entries = install::launch_entries(provider, &fairway, Duration::ZERO, false);
            entries.iter().flat_map(|entry| &entry.hooks).filter_map(command_of).collect()
        };
        match codex_trust::query_program(
            &question.program, &question.args, &question.env, &question.worktree, &commands,
        ) {
            HookTrust::Trusted => HookVerdict::Runs,
            HookTrust::Skipped(how) => HookVerdict::Skipped(how),
            HookTrust::NotLoaded(why) => HookVerdict::Skipped(why.unwrap_or_else(|| "not loaded".to_owned())),
            HookTrust::Unavailable(why) => HookVerdict::Unknown(why),
        }
    }
}

fn command_of(hook: &Value) -> Option<String> {
    hook["command"].as_str().map(str::to_owned)
}

fn settings_files(provider: Provider, place: HookPlace<'_>) -> Vec<PathBuf> {
    let (dir, file) = (provider.settings_dir, provider.settings_file);
    let top = place.worktree.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(place.worktree);
    let names = provider.local_settings_file.into_iter().chain([file]);
    let mut found: Vec<PathBuf> =
        names.flat_map(|name| [place.worktree, top].map(|place| place.join(dir).join(name))).collect();
    found.dedup();
    found.extend(user_dir(provider, place).map(|dir| dir.join(file)));
    found
}

/// The directory of the user's settings, in the environment of the program.
fn user_dir(provider: Provider, place: HookPlace<'_>) -> Option<PathBuf> {
    let dir = provider.settings_dir;
    let (variable, is_above) = provider.settings_dir_variable;
    let value = |name: &str| place.env.get(OsStr::new(name)).map(PathBuf::from);
    match value(variable) {
        Some(moved) if is_above => Some(moved.join(dir)),
        Some(moved) => Some(moved),
        None => Some(value("HOME").or_else(|| place.home.map(Path::to_path_buf))?.join(dir)),
    }
}

/// Returns the commands of Fairway's hooks in a settings file. Returns `None` when the provider would not load the file, and
/// when no hook whose program exists asks the guard before every tool call.
fn installed_commands(provider: Provider, file: &Path, fairway: &Path) -> Option<Vec<String>> {
    let text = SettingsFile::read(file).ok()?.text?;
    install::load(provider, &text).ok()?;
    let found = install::find_hooks(&text, &install::own_hook_matcher(provider, fairway)).ok()?;
    let own = fairway.file_name().and_then(|name| name.to_str());
    let runs =
        |hook: &Value| install::own_program(hook, provider, own).is_some_and(|path| executable::is_executable(&path));
    let is_guard = |one: &install::InstalledHook| super::is_tool_event(&one.event) && one.is_plain && runs(&one.hook);
    found.iter().any(is_guard).then(|| found.iter().filter_map(|one| command_of(&one.hook)).collect())
}

/// The directories that the user's configuration opens for the provider's own sandbox.
fn writable_roots(provider: Provider, place: HookPlace<'_>) -> Option<Vec<PathBuf>> {
    let path = user_dir(provider, place)?.join("config.toml");
    if fs::metadata(&path).ok()?.len() > MAX_CONFIG_BYTES {
        return None;
    }
    let table: toml::Table = fs::read_to_string(path).ok()?.parse().ok()?;
    let roots = table.get("sandbox_workspace_write")?.get("writable_roots")?.as_array()?;
    Some(roots.iter().filter_map(toml::Value::as_str).map(PathBuf::from).collect())
}

/// Settings of a user that say what the sandbox allows. A profile would replace them.
const OWN_SETTINGS: [&str; 5] = ["sandbox_mode", "default_permissions", "permissions", "profile", "profiles"];
/// Parts of command-line words that set the sandbox.
const OWN_WORDS: [&str; 7] = ["sandbox", "permissions", "profile", "yolo", "full-auto", "add-dir", "trust_level"];
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// The directory in which an administrator restricts the profiles.
const MANAGED: &str = "/etc/codex";

/// The arguments of the permission profile `fairway`, for Codex in a linked worktree: the agent may write git's directories, but
/// not the files there that name programs or another repository. Returns `None` for a path that is not UTF-8.
fn sandbox_arguments(writable: &[PathBuf], protected: &[PathBuf]) -> Option<Vec<String>> {
    let rules = writable.iter().map(|path| (path, "write")).chain(protected.iter().map(|path| (path, "read")));
    let rules: Option<BTreeMap<&str, &str>> = rules.map(|(path, access)| Some((path.to_str()?, access))).collect();
    // The keys of an inline table are quoted: a path is no bare key.
    let quote = |path: &str| ::toml::Value::String(path.to_owned()).to_string();
    let rules: Vec<String> =
        rules?.into_iter().map(|(path, access)| format!("{}={}", quote(path), toml(&json!(access)))).collect();
    let profile = format!("permissions.fairway={{extends=\":workspace\",filesystem={{{}}}}}", rules.join(","));
    Some(["-c", "default_permissions=\"fairway\"", "-c", &profile].map(str::to_owned).to_vec())
}

/// Whether Codex would use the sandbox that it chooses by itself in a trusted directory. Any other sandbox is left alone: a
/// profile must not open what a person or an administrator has closed.
fn is_left_plain(user_dir: &Path, worktree: &Path, words: &[String]) -> bool {
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

/// Whether the settings say nothing about a sandbox except which directories it may write.
fn is_plain(settings: &::toml::Table) -> bool {
    let only_roots =
        |value: &::toml::Value| value.as_table().is_some_and(|keys| keys.keys().all(|key| key == "writable_roots"));
    !OWN_SETTINGS.iter().any(|key| settings.contains_key(*key))
        && settings.get("sandbox_workspace_write").is_none_or(only_roots)
}

/// Whether a person has trusted the worktree or its repository, and has distrusted neither.
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
fn toml(value: &Value) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_launch_hold_every_event_and_are_read_back() {
        let of = |provider: Provider| {
            let (fairway, root) = (Path::new("/a b/fair'way"), Path::new("/none"));
            LAUNCH_HOOKS.settings(provider.label(), fairway, root, Duration::from_secs(50)).unwrap()
        };
        let HookSettings::File(text) = of(Provider::CLAUDE) else { panic!() };
        let settings: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["hooks"].as_object().unwrap().len(), Provider::CLAUDE.events().len());
        let hook = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        assert_eq!(hook["args"], serde_json::json!(["hook", "claude", "PreToolUse", "--launch"]));
        assert_eq!(hook["onFailure"], "block");
        let HookSettings::Values(values) = of(Provider::CODEX) else { panic!() };
        assert_eq!(values.len(), Provider::CODEX.events().len());
        for value in values {
            let read: toml::Table = value.parse().unwrap();
            let (_, groups) = read["hooks"].as_table().unwrap().iter().next().unwrap();
            let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
            let words = shell_words::split(command).unwrap();
            assert_eq!((words[0].as_str(), words[1].as_str()), ("/a b/fair'way", "hook"), "{value}");
        }
        assert_eq!(LAUNCH_HOOKS.settings("other", Path::new("/f"), Path::new("/"), Duration::ZERO), None);
    }
}
