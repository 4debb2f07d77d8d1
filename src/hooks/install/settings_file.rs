//! Where the providers' settings lie, and reading and writing them.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{domain::Refusal, env::Env, hooks::Provider, os::files};

/// The largest settings that are read, in bytes.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// How many links may follow one another.
const MAX_LINKS: usize = 16;

/// Whose settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Those of a directory: the project's root.
    Project(PathBuf),
    /// The person's.
    User,
    /// This file.
    File(PathBuf),
}

impl Provider {
    /// The directory of its settings, in a project and at home, and their file.
    const fn settings_location(self) -> (&'static str, &'static str) {
        match self {
            Self::Claude => (".claude", "settings.json"),
            Self::Codex => (".codex", "hooks.json"),
            Self::Gemini => (".gemini", "settings.json"),
        }
    }

    /// The variable that names the person's settings directory, and whether it stands for the directory above it.
    const fn settings_dir_variable(self) -> (&'static str, bool) {
        match self {
            Self::Claude => ("CLAUDE_CONFIG_DIR", false),
            Self::Codex => ("CODEX_HOME", false),
            Self::Gemini => ("GEMINI_CLI_HOME", true),
        }
    }
}

impl Target {
    /// The settings' file.
    ///
    /// # Errors
    /// `usage` when there is no home.
    pub fn path(&self, provider: Provider, env: &Env) -> Result<PathBuf, Refusal> {
        let (dir, file) = provider.settings_location();
        match self {
            Self::Project(root) => Ok(root.join(dir).join(file)),
            Self::File(path) => Ok(env.cwd.join(path)),
            Self::User => {
                let (variable, is_above) = provider.settings_dir_variable();
                let moved = env.var_os(variable).map(|path| env.cwd.join(path));
                let moved = moved.map(|path| if is_above { path.join(dir) } else { path });
                let home = || Some(env.home.as_ref()?.join(dir));
                let dir = moved.or_else(home);
                let no_home =
                    || Refusal::Usage { why: "there is no home directory: name the settings with --file".into() };
                Ok(dir.ok_or_else(no_home)?.join(file))
            }
        }
    }
}

/// Settings as they are on the disk.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The file, behind all links.
    pub path: PathBuf,
    /// Its text; `None` when there is no file.
    pub text: Option<String>,
    mode: Option<u32>,
}

impl SettingsFile {
    /// Reads them.
    ///
    /// # Errors
    /// What cannot be read, and `settings_invalid` for what is no text or too large.
    pub fn read(path: &Path) -> Result<Self> {
        if !files::is_path_length_valid(path) {
            return Err(Refusal::invalid("the settings' path", "is too long for a file").into());
        }
        let path = resolve_links(path).with_context(|| path.display().to_string())?;
        let invalid = |why: String| Refusal::InvalidSettings { path: path.display().to_string(), why };
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, text: None, mode: None });
            }
            found => found.with_context(|| path.display().to_string())?,
        };
        if !found.is_file() {
            return Err(invalid("is no file".into()).into());
        }
        if found.len() > MAX_SETTINGS_BYTES {
            return Err(invalid(format!("is larger than {} MiB", MAX_SETTINGS_BYTES >> 20)).into());
        }
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| invalid("is not valid UTF-8".into()))?;
        Ok(Self { path, text: Some(text), mode: Some(found.permissions().mode() & 0o7777) })
    }

    /// Writes another text in their place, whole; `None` takes the file away.
    ///
    /// # Errors
    /// When it cannot be written; the old text then stands.
    pub fn write(&self, text: Option<&str>) -> Result<()> {
        const NEW: u32 = 0o644;
        let write = || match text {
            None => fs::remove_file(&self.path),
            Some(text) => {
                if let Some(dir) = self.path.parent() {
                    fs::create_dir_all(dir)?;
                }
                files::write_atomic(&self.path, text.as_bytes(), self.mode.unwrap_or(NEW))
            }
        };
        write().with_context(|| format!("{} cannot be written", self.path.display()))
    }
}

/// The file that a path means in the end; it need not exist.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or_else(|| Path::new("/")).join(target),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many links lead to it"))
}
