//! Finds, reads and writes the providers' settings files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result};

use crate::hooks::Provider;
use fairway_core::domain::Refusal;
use fairway_core::env::Env;
use fairway_core::os::files;

const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// How many symbolic links are followed.
const MAX_LINKS: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Project(PathBuf),
    /// The person's own settings in the project with this root: a file of their own where the provider has one, else the
    /// project's.
    Local(PathBuf),
    User,
    File(PathBuf),
}

impl Target {
    /// The path of the provider's settings file.
    ///
    /// # Errors
    /// `usage` without a home directory.
    pub fn path(&self, provider: Provider, env: &Env) -> Result<PathBuf, Refusal> {
        let (dir, file) = (provider.settings_dir, provider.settings_file);
        match self {
            Self::Project(root) => Ok(root.join(dir).join(file)),
            Self::Local(root) => Ok(root.join(dir).join(provider.local_settings_file.unwrap_or(file))),
            Self::File(path) => Ok(env.cwd.join(path)),
            Self::User => {
                let (variable, is_above) = provider.settings_dir_variable;
                let moved = env.var_os(variable).map(|path| env.cwd.join(path));
                let moved = moved.map(|path| if is_above { path.join(dir) } else { path });
                let home = || Some(env.home.as_ref()?.join(dir));
                let dir = moved.or_else(home);
                let no_home =
                    || Refusal::Usage { why: "no home directory is known: name the settings file with --file".into() };
                Ok(dir.ok_or_else(no_home)?.join(file))
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The path with symbolic links resolved.
    pub path: PathBuf,
    pub text: Option<String>,
    mode: Option<u32>,
}

impl SettingsFile {
    /// Reads the settings file at `path`, following links. When the file does not exist, its text is `None`.
    ///
    /// # Errors
    /// When it cannot be read; `settings_invalid` when it is too large, not UTF-8, or not a regular file.
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
            return Err(invalid("is not a regular file".into()).into());
        }
        if found.len() > MAX_SETTINGS_BYTES {
            return Err(invalid(format!("is larger than {} MiB", MAX_SETTINGS_BYTES >> 20)).into());
        }
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| invalid("is not valid UTF-8".into()))?;
        Ok(Self { path, text: Some(text), mode: Some(found.permissions().mode() & 0o7777) })
    }

    /// Replaces the text atomically; `None` removes the file. When that fails, the old text stays.
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
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Resolves the symbolic links of a path's last component. The file need not exist.
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
    Err(io::Error::other("too many levels of symbolic links"))
}
