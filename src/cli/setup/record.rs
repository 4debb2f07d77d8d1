//! The record of a setup, by which it can be taken back: `setup.json` in the state directory. It holds Fairway's own
//! texts and digests, and no text of a person.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use fairway_actions::core::errors;
use fairway_core::config::Project;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::files;

const RECORD_FILE: &str = "setup.json";
/// The version of its form.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// Directories that did not exist, outermost first.
    pub created_dirs: Vec<PathBuf>,
    /// Lines at the end of files.
    pub added: Vec<Added>,
    /// Whole files.
    pub files: Vec<OwnFile>,
    /// Settings of providers with Fairway's hooks.
    pub hooks: Vec<HookFile>,
    /// The trust record before setup.
    pub trust: Option<TrustBefore>,
}

/// Lines at the end of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Added {
    pub file: PathBuf,
    pub text: String,
    /// Whether the file did not exist.
    pub created: bool,
}

/// A file that setup wrote whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnFile {
    pub file: PathBuf,
    /// The digest of its text. Another one is a person's change.
    pub digest: String,
}

/// A settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HookFile {
    pub provider: String,
    pub file: PathBuf,
}

/// The trust record before setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrustBefore {
    pub file: PathBuf,
    /// The record; `None` when nothing was trusted.
    pub text: Option<String>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            version: VERSION,
            created_dirs: Vec::new(),
            added: Vec::new(),
            files: Vec::new(),
            hooks: Vec::new(),
            trust: None,
        }
    }
}

impl Record {
    /// Reads the record of what setup has changed. Returns `None` when the project has none.
    pub fn load(project: &Project) -> Result<Option<Self>> {
        let path = Self::path(project);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let record = serde_json::from_slice(&bytes);
        record.map(Some).with_context(|| format!("{} is not a record of setup", path.display()))
    }

    /// Writes the record. The caller writes it before each change, so that a setup that was killed can be undone.
    pub fn save(&self, project: &Project) -> Result<()> {
        let path = Self::path(project);
        let text = serde_json::to_vec_pretty(self).map_err(errors::internal)?;
        files::write_atomic(&path, &text, 0o600).with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn path(project: &Project) -> PathBuf {
        project.state.join(RECORD_FILE)
    }

    /// Whether setup wrote this whole file, and `text` is still what it wrote.
    pub fn is_own(&self, file: &Path, text: &str) -> bool {
        self.files.iter().any(|own| own.file == file && own.digest == sha256_hex(text.as_bytes()))
    }

    /// Records the directories above `file` that do not exist yet, so that an undo can remove them.
    pub fn note_dirs(&mut self, file: &Path) {
        let mut missing: Vec<PathBuf> =
            file.ancestors().skip(1).take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect();
        missing.reverse();
        missing.retain(|dir| !self.created_dirs.contains(dir));
        self.created_dirs.extend(missing);
    }
}
