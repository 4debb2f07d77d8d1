//! Whether the programs that a project's files name may be run here. A cloned repository brings its own configuration, so
//! nothing from a file is run until this user has trusted this path and content.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Value;

pub use super::trust_record::{
    KeptText, TextTrust, TrustContent, digest, is_known_script, remember_script, save_record, trusted_text,
};

use super::layers::leaves;
use super::project::normalize;
use super::{Layers, Project, Settings, keys, trust_record};
use crate::domain::rules::command_line::{LeadingWord, leading_word};
use crate::domain::secrets;
use crate::env::Env;
use crate::os::digest::sha256_hex;

/// The sections and keys that name programs or their environment, set what programs obey, let them out of a sandbox, give agents
/// a permission, or say where files are written and removed, or who reaches the board.
const NEED_TRUST: &[&str] = &[
    "backends", "forge", "guard", "identity", "land.checks", "land.prepare", "land.regenerate", "lanes.dir",
    "lanes.env", "lanes.regenerable", "lanes.setup", "lanes.setup_outside", "lanes.teardown",
    "notify.per_sink.*.command", "providers", "roles", "sandbox", "serve",
];

/// Whether the programs that the files name may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The files name no program.
    NotNeeded,
    /// This user has trusted them as they are.
    Trusted,
    /// They are not trusted, for this reason.
    Untrusted(String),
}

impl Trust {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
            Self::Trusted => "trusted",
            Self::Untrusted(_) => "untrusted",
        }
    }

    /// Why the files are not trusted; `None` when they are, or need no trust.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Untrusted(why) => Some(why),
            Self::NotNeeded | Self::Trusted => None,
        }
    }
}

/// Whether a value at a dotted path needs trust. A backend is a program where it names a script.
fn needs_trust(path: &str, value: &Value) -> bool {
    let is_meant = |pattern: &&str| {
        let mut steps = path.split('.');
        pattern.split('.').all(|want| steps.next().is_some_and(|have| want == "*" || want == have))
    };
    let is_script = || value.as_str().is_some_and(|backend| backend.starts_with("exec:"));
    NEED_TRUST.iter().any(is_meant) || path == "sessions.default_backend" && is_script()
}

/// Whether the configuration files need trust: they name a program, a script or an environment, or set what agents may do.
pub fn is_needed(layers: &Layers) -> bool {
    layers.file_tables().any(|table| leaves(table).iter().any(|(path, value)| needs_trust(path, value)))
}

/// The values of the files that need trust, but for guard rules: each with its key, secrets masked. An element of a list has an
/// entry of its own, as has a variable of an environment.
pub fn values(layers: &Layers) -> Vec<(String, String)> {
    let merged = layers.merged_files();
    let mut found = leaves(&merged);
    found.retain(|(path, value)| needs_trust(path, value) && !path.starts_with("guard."));
    found.sort_by_key(|(path, _)| keys::place_of(path));
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let shown = |(path, value): (String, &Value)| match value {
        Value::Array(items) => items.iter().map(|item| (path.clone(), secrets::mask(&plain(item)))).collect(),
        Value::Table(entries) => {
            let one =
                |(name, value): (&String, &Value)| (format!("{path}.{name}"), secrets::mask_value(name, &plain(value)));
            entries.iter().map(one).collect()
        }
        value => vec![(path, secrets::mask(&plain(value)))],
    };
    found.into_iter().flat_map(shown).collect()
}

/// The texts of the configuration files, and the digests of the scripts that they name now, in the form in which they are
/// recorded as trusted.
pub fn content(project: &Project, layers: &Layers, settings: &Settings) -> io::Result<TrustContent> {
    let root = project.root.canonicalize()?;
    let files = layers.files().iter().map(|(path, text)| (path.clone(), sha256_hex(text.as_bytes()))).collect();
    let texts = layers.files().iter().cloned().collect();
    let scripts = scripts(project, settings)?;
    Ok(TrustContent { root, files, texts, scripts, guard: settings.guard.is_some(), source: Vec::new() })
}

/// The digests of the scripts inside the root that the settings name.
fn scripts(project: &Project, settings: &Settings) -> io::Result<BTreeMap<PathBuf, String>> {
    let named = scripts_inside(&project.root, settings).into_iter();
    named.map(|path| Ok((path.clone(), sha256_hex(&fs::read(&path)?)))).collect()
}

/// The scripts inside the root that the settings name: of backends, of setups, and first words of commands.
fn scripts_inside(root: &Path, settings: &Settings) -> Vec<PathBuf> {
    let exec = |backend: &str| backend.strip_prefix("exec:").map(str::to_owned);
    let program = |command: &str| match leading_word(command) {
        LeadingWord::Program(word) => Some(word),
        LeadingWord::Unresolved => None,
    };
    let of_roles = settings.roles.values().map(|role| &role.command);
    let of_providers = settings.providers.values().map(|provider| &provider.program.command);
    let setups = settings.roles.values().flat_map(|role| role.setup.commands());
    let mut named: Vec<String> = exec(&settings.sessions.default_backend).into_iter().collect();
    named.extend(settings.roles.values().filter_map(|role| exec(role.backend.as_deref()?)));
    named.extend(of_roles.chain(of_providers).filter_map(|command| program(command.as_deref()?)));
    named.extend(setups.filter_map(program));
    named.extend(settings.notify.commands().filter_map(program));
    let inside = |word: &str| Some(normalize(&root.join(word))).filter(|path| path.starts_with(root) && path.is_file());
    // A path even without a slash; of a backend only if the file is there.
    let backends = settings.backends.values().filter_map(|backend| inside(backend.script.as_deref()?));
    let scripts = inside(&settings.forge.script).into_iter().chain(backends);
    named.iter().filter(|word| word.contains('/')).filter_map(|word| inside(word)).chain(scripts).collect()
}

/// How the texts of these layers compare with those that were trusted.
fn text_trust(env: &Env, project: &Project, layers: &Layers) -> TextTrust {
    match layers.text_trust() {
        TextTrust::Unchecked => trust_record::compare(env, &project.root, layers.files()),
        known => known.clone(),
    }
}

/// Whether this user has trusted the programs and rules that the files name.
pub fn check(env: &Env, project: &Project, layers: &Layers, settings: &Settings) -> Trust {
    let known = text_trust(env, project, layers);
    if !matches!(known, TextTrust::Kept(_)) && !is_needed(layers) {
        return Trust::NotNeeded;
    }
    let changed = |path: &Path| format!("{} has changed since it was trusted", path.display());
    Trust::Untrusted(match known {
        TextTrust::Unchecked | TextTrust::Never => {
            format!("{} names programs, and was never trusted", project.root.display())
        }
        TextTrust::Unreadable(error) => format!("the trust record cannot be read: {error}"),
        TextTrust::Changed(path, _) | TextTrust::Kept(KeptText { path, .. }) => changed(&path),
        TextTrust::Same(record) => match scripts(project, settings) {
            Err(error) => format!("what {} names cannot be read: {error}", project.root.display()),
            Ok(scripts) => match record.changed_script(&scripts) {
                None => return Trust::Trusted,
                Some(path) => changed(&path),
            },
        },
    })
}

/// Whether a script that a session's row names may be run. A script in the trust record may be run while its content is the
/// trusted one. Any other script may be run if this user has trusted or launched it before.
pub fn check_script(env: &Env, project: &Project, layers: &Layers, script: &Path) -> Trust {
    let trusted = match text_trust(env, project, layers) {
        TextTrust::Same(record) | TextTrust::Changed(_, record) | TextTrust::Kept(KeptText { record, .. }) => {
            record.scripts.get(script).cloned()
        }
        TextTrust::Unchecked | TextTrust::Never | TextTrust::Unreadable(_) => None,
    };
    match trusted {
        Some(digest) if fs::read(script).is_ok_and(|bytes| sha256_hex(&bytes) == digest) => Trust::Trusted,
        Some(_) => Trust::Untrusted(format!("{} has changed since it was trusted", script.display())),
        None if is_known_script(env, &project.root, script) => Trust::Trusted,
        None => Trust::Untrusted(format!(
            "the store names the script {}, which was neither trusted nor launched by you",
            script.display()
        )),
    }
}

/// Whether the guard may decide by the rules that are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardTrust {
    /// There are no rules, and none were trusted before.
    Absent,
    /// The rules are the trusted ones.
    Trusted,
    /// The rules are not trusted, for this reason.
    Untrusted(String),
}

/// The trust state of the guard rules. Rules that were trusted and are now missing count as untrusted: the agent that they
/// restrict may have removed them.
#[must_use]
pub fn guard_trust(env: &Env, project: &Project, layers: &Layers, settings: &Settings) -> GuardTrust {
    let has_rules = settings.guard.is_some();
    match text_trust(env, project, layers) {
        TextTrust::Same(_) | TextTrust::Kept(_) if has_rules => GuardTrust::Trusted,
        TextTrust::Changed(path, _) if has_rules => {
            GuardTrust::Untrusted(format!("{} has changed since it was trusted", path.display()))
        }
        TextTrust::Unchecked | TextTrust::Never if has_rules => {
            GuardTrust::Untrusted(format!("{} names programs, and was never trusted", project.root.display()))
        }
        TextTrust::Same(record) | TextTrust::Changed(_, record) if record.guard => GuardTrust::Untrusted(format!(
            "the guard rules of {} are gone since they were trusted",
            project.root.display()
        )),
        // Without a home nothing was ever trusted.
        TextTrust::Unreadable(_) if !has_rules && env.state_dir().is_none() => GuardTrust::Absent,
        TextTrust::Unreadable(error) => GuardTrust::Untrusted(format!("the trust record cannot be read: {error}")),
        _ => GuardTrust::Absent,
    }
}

/// Whether this user has trusted the configuration texts that are in force.
pub const fn is_text_trusted(layers: &Layers) -> bool {
    matches!(layers.text_trust(), TextTrust::Same(_) | TextTrust::Kept(_))
}

/// The digest of the trust record with which the configuration texts were compared; `None` without a record that can be read.
pub fn record_digest(layers: &Layers) -> Option<String> {
    match layers.text_trust() {
        TextTrust::Same(record) | TextTrust::Changed(_, record) | TextTrust::Kept(KeptText { record, .. }) => {
            Some(record.digest())
        }
        TextTrust::Unchecked | TextTrust::Never | TextTrust::Unreadable(_) => None,
    }
}

/// The path of the trust record of this project, whether or not it exists; `None` without a home directory.
pub fn record_file(env: &Env, project: &Project) -> Option<PathBuf> {
    trust_record::record_path(env, &project.root).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KEYS;

    /// A key that is added with a program, and is not in the list, would run what a cloned repository brings.
    #[test]
    fn every_key_that_names_a_program_needs_trust() {
        let programs = ["Shell command", "script", "program", "Arguments", "environment", "may do"];
        for key in KEYS.iter().filter(|key| programs.iter().any(|word| key.why.contains(word))) {
            let path = key.path().replace('*', "x");
            assert!(needs_trust(&path, &Value::String("exec:x".into())), "{path}: {}", key.why);
        }
    }
}
