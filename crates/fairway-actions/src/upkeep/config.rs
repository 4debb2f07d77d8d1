//! Showing and checking the configuration.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result, anyhow, bail};
use toml::{Table, Value};

use crate::App;
use crate::core::trust;
use crate::upkeep::editor;
use fairway_core::config::{self, ConfigError, Project, check_text};
use fairway_core::env::Env;
use fairway_core::os::files;
use fairway_core::wire::{ConfigCheckView, SettingView};

/// Every effective setting, in the order of the example file.
pub fn show(app: &App) -> Vec<SettingView> {
    let shown = app.layers.values_with_source().into_iter();
    shown
        .map(|setting| SettingView {
            value: json(&setting.value),
            key: setting.key,
            written: setting.value,
            source: setting.source.to_string(),
        })
        .collect()
}

/// Checks the configuration files as they are on the disk now. The answer lists them and says whether they are trusted.
///
/// # Errors
/// All problems of a wrong configuration together, even while an older trusted one is in force.
pub fn check(env: &Env, project: &Project) -> Result<ConfigCheckView> {
    let checked = trust::check_present(env, project);
    let (layers, state) = checked.map_err(|error| match error.downcast::<ConfigError>() {
        Ok(first) => config::all_problems(first, project, env).into(),
        Err(error) => error,
    })?;
    Ok(ConfigCheckView {
        valid: true,
        files: layers.files().iter().map(|(path, _)| path.display().to_string()).collect(),
        trust: state.as_str(),
        why: state.why().map(str::to_owned),
    })
}

fn json(written: &str) -> serde_json::Value {
    let value = format!("v = {written}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    value.and_then(|value: Value| serde_json::to_value(value).ok()).unwrap_or_else(|| written.into())
}

const NEW_FILE_MODE: u32 = 0o644;

/// A copy of a configuration file that is being edited. Dropping it removes the copy.
#[derive(Debug)]
pub struct ConfigDraft {
    /// The path of the file, with links resolved.
    pub path: PathBuf,
    /// The file's text when the edit began; `None` if there was no file.
    pub original: Option<String>,
    copy: PathBuf,
}

impl ConfigDraft {
    /// Copies the file to a private directory outside of the project, where agents do not see the copy.
    pub fn begin(env: &Env, path: &Path) -> Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let original = read(&path)?;
        let state = env.state_dir().context("there is no home directory for the copy; set HOME or XDG_STATE_HOME")?;
        let dir = state.join("edit").join(std::process::id().to_string());
        files::private_dir(&state)?;
        files::private_dir(&state.join("edit"))?;
        files::private_dir(&dir)?;
        let copy = dir.join(path.file_name().unwrap_or_default().to_string_lossy().trim_start_matches('.'));
        files::write_atomic_nosync(&copy, original.as_deref().unwrap_or_default().as_bytes(), 0o600)?;
        Ok(Self { path, original, copy })
    }

    /// Opens the copy in the person's editor and returns the edited text.
    pub fn edit(&self, env: &Env) -> Result<String> {
        editor::run(env, &self.copy, &env.cwd).map_err(|error| anyhow!("{error}; nothing was changed"))?;
        Ok(read(&self.copy)?.unwrap_or_default())
    }

    /// Checks `text` as the new content of the file, without writing it.
    pub fn check(&self, env: &Env, project: &Project, text: &str) -> Result<()> {
        Ok(check_text(project, env, &self.path, text)?)
    }

    /// Replaces the text of the original file.
    ///
    /// # Errors
    /// When the file was changed meanwhile, or cannot be written.
    pub fn write(&self, text: &str) -> Result<()> {
        if read(&self.path)? != self.original {
            bail!("{} was changed by another program meanwhile; nothing was written", self.path.display());
        }
        let mode = fs::metadata(&self.path).map_or(NEW_FILE_MODE, |found| found.permissions().mode() & 0o777);
        files::write_atomic(&self.path, text.as_bytes(), mode)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for ConfigDraft {
    fn drop(&mut self) {
        if let Some(dir) = self.copy.parent() {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
