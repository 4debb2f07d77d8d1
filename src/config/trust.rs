//! Whether the programs that a project's files name may be run here: nothing from a file is, until this path and content
//! were trusted by this user. A cloned repository brings its own configuration.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{LaunchSettings, Layers, Project, Settings, project::normalize};
use crate::{
    domain::rules::command_line::{LeadingWord, leading_word},
    env::Env,
    os::{digest::sha256_hex, files, user},
};

/// The sections that name programs or their environment, or say what an agent may do.
const SECTIONS: &[&str] = &["backends", "guard", "identity", "providers", "roles"];

/// What a project's files would run, and what of it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustContent {
    /// The project's root.
    pub root: PathBuf,
    /// Each file with its digest.
    pub files: BTreeMap<PathBuf, String>,
    /// Each script inside the root with its digest.
    pub scripts: BTreeMap<PathBuf, String>,
    /// Whether the files say what agents may do: rules that go away are a change too.
    #[serde(default)]
    pub guard: bool,
}

/// Whether what the files name may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// They name no program.
    NotNeeded,
    /// It was trusted as it is.
    Trusted,
    /// It was not, and why that is so.
    Untrusted(String),
}

impl Trust {
    /// The word for it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
            Self::Trusted => "trusted",
            Self::Untrusted(_) => "untrusted",
        }
    }
}

/// Whether the files name a program, a script or an environment.
#[must_use]
pub fn is_needed(layers: &Layers) -> bool {
    let backend = |table: &toml::Table| {
        let backend = table.get("sessions")?.get("default_backend")?.as_str()?;
        Some(backend.starts_with("exec:"))
    };
    layers.has_any_section(SECTIONS) || layers.file_tables().any(|table| backend(table).unwrap_or(false))
}

/// What the files name now.
///
/// # Errors
/// When a script cannot be read.
pub fn content(project: &Project, layers: &Layers, settings: &Settings) -> io::Result<TrustContent> {
    let root = project.root.canonicalize()?;
    let files = layers.files().iter().map(|(path, text)| (path.clone(), sha256_hex(text.as_bytes()))).collect();
    let mut scripts = BTreeMap::new();
    for path in scripts_inside(&project.root, settings) {
        let bytes = fs::read(&path)?;
        scripts.insert(path, sha256_hex(&bytes));
    }
    Ok(TrustContent { root, files, scripts, guard: settings.guard.is_some() })
}

/// The scripts inside the root that the settings name: of backends, of setups, and first words of commands.
fn scripts_inside(root: &Path, settings: &Settings) -> Vec<PathBuf> {
    let exec = |backend: &str| backend.strip_prefix("exec:").map(str::to_owned);
    let program = |command: &str| match leading_word(command) {
        LeadingWord::Program(word) => Some(word),
        LeadingWord::Unresolved => None,
    };
    let launches = || settings.roles.values().chain(settings.providers.values());
    let mut named: Vec<String> = settings.backends.values().filter_map(|backend| backend.script.clone()).collect();
    named.extend(exec(&settings.default_backend));
    named.extend(launches().filter_map(|launch| exec(launch.backend.as_deref()?)));
    named.extend(launches().filter_map(|launch| program(launch.program.command.as_deref()?)));
    named.extend(launches().flat_map(LaunchSettings::commands).filter_map(|(_, command)| program(command)));
    let inside = |word: &str| Some(normalize(&root.join(word))).filter(|path| path.starts_with(root) && path.is_file());
    // A path even without a slash.
    let setup = launches().filter_map(|launch| inside(launch.session_setup_script.as_deref()?));
    named.iter().filter(|word| word.contains('/')).filter_map(|word| inside(word)).chain(setup).collect()
}

/// Whether what the files name was trusted by this user.
#[must_use]
pub fn check(env: &Env, project: &Project, layers: &Layers, settings: &Settings) -> Trust {
    if !is_needed(layers) {
        return Trust::NotNeeded;
    }
    let now = match content(project, layers, settings) {
        Ok(now) => now,
        Err(error) => {
            return Trust::Untrusted(format!("what {} names cannot be read: {error}", project.root.display()));
        }
    };
    match load_record(env, &now.root) {
        Ok(None) => Trust::Untrusted(format!("{} names programs, and was never trusted", project.root.display())),
        Ok(Some(then)) => match first_change(&then, &now) {
            None => Trust::Trusted,
            Some(path) => Trust::Untrusted(format!("{} has changed since it was trusted", path.display())),
        },
        Err(error) => Trust::Untrusted(format!("the trust record cannot be read: {error}")),
    }
}

/// Whether the guard rules that are in force may be gone by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardTrust {
    /// There are none, and none were trusted before.
    Absent,
    /// They are what was trusted.
    Trusted,
    /// They are not, and why that is so.
    Untrusted(String),
}

/// The trust state of the guard rules. Rules that were trusted and are now missing count as untrusted: the agent that they
/// restrict may have removed them.
#[must_use]
pub fn guard_trust(env: &Env, project: &Project, layers: &Layers, settings: &Settings) -> GuardTrust {
    if settings.guard.is_some() {
        return match check(env, project, layers, settings) {
            Trust::Trusted => GuardTrust::Trusted,
            Trust::Untrusted(why) => GuardTrust::Untrusted(why),
            Trust::NotNeeded => GuardTrust::Untrusted("the guard rules were never trusted".to_owned()),
        };
    }
    let root = match project.root.canonicalize() {
        Ok(root) => root,
        Err(error) => return GuardTrust::Untrusted(format!("{} cannot be found: {error}", project.root.display())),
    };
    match load_record(env, &root) {
        Ok(Some(then)) if then.guard => {
            GuardTrust::Untrusted(format!("the guard rules of {} are gone since they were trusted", root.display()))
        }
        Ok(_) => GuardTrust::Absent,
        // Without a home nothing was ever trusted.
        Err(_) if env.state_dir().is_none() => GuardTrust::Absent,
        Err(error) => GuardTrust::Untrusted(format!("the trust record cannot be read: {error}")),
    }
}

/// The file that remembers what of this root was trusted; `None` without a home directory.
#[must_use]
pub fn record_file(env: &Env, project: &Project) -> Option<PathBuf> {
    record_path(env, &project.root.canonicalize().ok()?).ok()
}

/// The first file that is not what was trusted.
fn first_change<'a>(then: &'a TrustContent, now: &'a TrustContent) -> Option<&'a Path> {
    let differs = |then: &'a BTreeMap<PathBuf, String>, now: &'a BTreeMap<PathBuf, String>| {
        let gone = then.keys().find(|path| !now.contains_key(*path));
        now.iter().find(|(path, digest)| then.get(*path) != Some(*digest)).map(|(path, _)| path).or(gone)
    };
    differs(&then.files, &now.files).or_else(|| differs(&then.scripts, &now.scripts)).map(PathBuf::as_path)
}

fn load_record(env: &Env, root: &Path) -> io::Result<Option<TrustContent>> {
    let path = record_path(env, root)?;
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() || found.uid() != user::uid() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!("{} could have been written by others", path.display())));
    }
    let content: TrustContent = serde_json::from_slice(&fs::read(&path)?).map_err(io::Error::other)?;
    Ok(Some(content).filter(|content| content.root == root))
}

/// Remembers that this content is trusted, and nothing else of this root.
///
/// # Errors
/// When it cannot be written.
pub fn save_record(env: &Env, content: &TrustContent) -> io::Result<PathBuf> {
    let path = record_path(env, &content.root)?;
    for dir in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
        files::private_dir(dir)?;
    }
    let text = serde_json::to_vec_pretty(content).map_err(io::Error::other)?;
    files::write_atomic(&path, &text, 0o600)?;
    Ok(path)
}

fn record_path(env: &Env, root: &Path) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let none = || io::Error::other("there is no home directory to remember trust in; set HOME or XDG_STATE_HOME");
    let name = sha256_hex(root.as_os_str().as_bytes());
    Ok(env.state_dir().ok_or_else(none)?.join("trust").join(format!("{name}.json")))
}
