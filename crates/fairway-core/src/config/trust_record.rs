//! The record of what a user trusted of a project, outside of the project: its texts and the digests of its scripts. A text that
//! was trusted stays in force until another one is.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::os::digest::sha256_hex;
use crate::os::{files, user};

/// The trusted files and scripts of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustContent {
    pub root: PathBuf,
    pub files: BTreeMap<PathBuf, String>,
    /// The text of each file. Records of earlier versions have none.
    #[serde(default)]
    pub texts: BTreeMap<PathBuf, String>,
    /// Each script inside the root with its digest.
    pub scripts: BTreeMap<PathBuf, String>,
    /// Whether the files have guard rules: to remove all of them is a change too.
    #[serde(default)]
    pub guard: bool,
    /// The bytes of the record that this was read from.
    #[serde(skip)]
    pub source: Vec<u8>,
}

/// The result of comparing texts with those that were trusted.
#[derive(Debug, Clone, Default)]
pub enum TextTrust {
    /// They were not compared.
    #[default]
    Unchecked,
    /// Nothing of this project was ever trusted.
    Never,
    /// The record cannot be read, for this reason.
    Unreadable(String),
    /// The texts are the trusted ones.
    Same(Box<TrustContent>),
    /// This file differs from the trusted one. The texts are those of the files.
    Changed(PathBuf, Box<TrustContent>),
    /// A file differs from the trusted one. The texts are the trusted ones.
    Kept(KeptText),
}

/// Why the trusted texts are in force in place of the texts of the files.
#[derive(Debug, Clone)]
pub struct KeptText {
    pub path: PathBuf,
    /// Why the texts of the files cannot be used; `None` if they can, once they are trusted.
    pub error: Option<String>,
    pub record: Box<TrustContent>,
}

impl TrustContent {
    /// The digest of the file from which this record was read.
    pub fn digest(&self) -> String {
        sha256_hex(&self.source)
    }

    /// The first configuration file that is new or different from the trusted one, otherwise the first trusted one that is not
    /// among `files`. Returns `None` when nothing has changed.
    pub fn changed_file(&self, files: &[(PathBuf, String)]) -> Option<PathBuf> {
        let is_same = |path: &PathBuf, text: &String| match self.texts.get(path) {
            Some(trusted) => trusted == text,
            None => self.files.get(path).is_some_and(|digest| *digest == sha256_hex(text.as_bytes())),
        };
        let changed = files.iter().find(|(path, text)| !is_same(path, text)).map(|(path, _)| path);
        let gone = || self.files.keys().find(|path| !files.iter().any(|(now, _)| now == *path));
        changed.or_else(gone).cloned()
    }

    /// The first script that is new or different from the trusted one, otherwise the first trusted one that is not among
    /// `scripts`. Returns `None` when nothing has changed.
    pub fn changed_script(&self, scripts: &BTreeMap<PathBuf, String>) -> Option<PathBuf> {
        let changed = scripts.iter().find(|(path, digest)| self.scripts.get(*path) != Some(*digest));
        let gone = || self.scripts.keys().find(|path| !scripts.contains_key(*path));
        changed.map(|(path, _)| path).or_else(gone).cloned()
    }
}

/// Compares the texts of configuration files with those that this user has trusted of the project at `root`.
pub(super) fn compare(env: &Env, root: &Path, files: &[(PathBuf, String)]) -> TextTrust {
    match load(env, root) {
        Ok(None) => TextTrust::Never,
        Ok(Some(record)) => match record.changed_file(files) {
            None => TextTrust::Same(Box::new(record)),
            Some(path) => TextTrust::Changed(path, Box::new(record)),
        },
        Err(error) => TextTrust::Unreadable(error.to_string()),
    }
}

/// Whether there is a trust record of the project at `root`, even one that cannot be read.
pub(super) fn is_recorded(env: &Env, root: &Path) -> bool {
    record_path(env, root).is_ok_and(|path| path.symlink_metadata().is_ok())
}

/// The text of a configuration file of the project at `root` that this user has trusted. The outer `None` means that there is no
/// trust record of the project, the inner one that the record does not have the text of this file.
pub fn trusted_text(env: &Env, root: &Path, name: &str) -> io::Result<Option<Option<String>>> {
    // Without a home directory nothing was ever trusted.
    if env.state_dir().is_none() {
        return Ok(None);
    }
    let root = root.canonicalize()?;
    let record = load(env, &root)?;
    Ok(record.map(|record| record.texts.get(&root.join(name)).cloned()))
}

/// Returns what this user has trusted of the project at `root`, and `None` when there is no record of it.
/// Fails when the record cannot be read, or others could have written it.
pub(super) fn load(env: &Env, root: &Path) -> io::Result<Option<TrustContent>> {
    let Some(bytes) = read(env, root)? else { return Ok(None) };
    let content: TrustContent = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
    Ok(Some(TrustContent { source: bytes, ..content }).filter(|content| content.root == root))
}

/// The digest of the trust record of the project at `root`; `None` when there is no record that can be read. A guard decision
/// that names another digest was made under other rules.
pub fn digest(env: &Env, root: &Path) -> Option<String> {
    read(env, root).ok().flatten().map(|bytes| sha256_hex(&bytes))
}

fn read(env: &Env, root: &Path) -> io::Result<Option<Vec<u8>>> {
    let path = record_path(env, root)?;
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() || found.uid() != user::uid() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!("{} could have been written by others", path.display())));
    }
    fs::read(&path).map(Some)
}

/// Records this content as trusted. It replaces all that was trusted of its project before. Returns the path of the record.
pub fn save_record(env: &Env, content: &TrustContent) -> io::Result<PathBuf> {
    let path = record_path(env, &content.root)?;
    private_parents(&path)?;
    let text = serde_json::to_vec_pretty(content).map_err(io::Error::other)?;
    files::write_atomic(&path, &text, 0o600)?;
    Ok(path)
}

/// Whether this user has trusted or launched a backend script in the project at `root`. That the store names a script is not
/// enough: the store may have been restored, or have come with a cloned repository.
pub fn is_known_script(env: &Env, root: &Path, script: &Path) -> bool {
    let found = script_mark(env, root, script).and_then(fs::symlink_metadata);
    found.is_ok_and(|found| found.is_file() && found.uid() == user::uid())
}

/// Records that this user has trusted or launched a backend script in the project at `root`.
pub fn remember_script(env: &Env, root: &Path, script: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let mark = script_mark(env, root, script)?;
    if mark.is_file() {
        return Ok(());
    }
    private_parents(mark.parent().unwrap_or(&mark))?;
    if let Some(dir) = mark.parent() {
        files::private_dir(dir)?;
    }
    files::write_atomic(&mark, script.as_os_str().as_bytes(), 0o600)
}

fn script_mark(env: &Env, root: &Path, script: &Path) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(record_path(env, root)?.with_extension("scripts").join(sha256_hex(script.as_os_str().as_bytes())))
}

/// Creates the two directories above a file of the trust record.
fn private_parents(path: &Path) -> io::Result<()> {
    for dir in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
        files::private_dir(dir)?;
    }
    Ok(())
}

/// The path of the trust record of the project at `root`, whether or not it exists.
/// Fails when there is no home directory.
pub(super) fn record_path(env: &Env, root: &Path) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let none = || io::Error::other("there is no home directory to remember trust in; set HOME or XDG_STATE_HOME");
    let name = sha256_hex(root.as_os_str().as_bytes());
    Ok(env.state_dir().ok_or_else(none)?.join("trust").join(format!("{name}.json")))
}
