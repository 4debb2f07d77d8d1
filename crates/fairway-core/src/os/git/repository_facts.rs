//! Facts about a project's repository that a private one beside it needs: where the objects are, and which settings decide the
//! bytes of a file. Nothing else of the project's configuration is carried over.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error};
use crate::os::exit_reason::ExitReason;

/// The oldest git with `merge-tree --stdin`.
pub const OLDEST_GIT: (u32, u32) = (2, 39);

/// The settings of the project that decide what a file of a tree is.
const CARRIED: [&str; 5] = ["core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase"];

/// A project's repository, as far as a private one needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The hash of its objects, `sha1` or `sha256`.
    pub(super) format: String,
    /// The directory of its objects.
    pub(super) objects: PathBuf,
    /// The directory that its worktrees share.
    pub(super) common: PathBuf,
    /// The settings of [`CARRIED`] that are set.
    pub(super) carried: Vec<(String, String)>,
    /// The user's file with patterns of files that git ignores.
    pub(super) excludes: Option<PathBuf>,
    /// Whether the configuration includes other files.
    pub(super) has_includes: bool,
}

impl RepositoryFacts {
    /// Reads the facts about the repository around git's working directory.
    ///
    /// # Errors
    /// When git fails or is older than [`OLDEST_GIT`].
    pub fn read(git: &Git<'_>) -> Result<Self, GitError> {
        git.require_version(OLDEST_GIT)?;
        let args = ["rev-parse", "--path-format=absolute", "--show-object-format", "--git-path", "objects"];
        let done = git.run(&[&args[..], &["--git-common-dir"]].concat(), QUERY_TIMEOUT)?;
        let mut lines = done.stdout.split(|byte| *byte == b'\n').map(OsStr::from_bytes);
        let (ExitReason::Code(0), Some(format), Some(objects), Some(common)) =
            (done.exit, lines.next(), lines.next(), lines.next())
        else {
            return Err(git_error("rev-parse", &done));
        };
        let (format, objects, common) = (format.to_string_lossy().into_owned(), objects.into(), common.into());
        let mut facts = Self { format, objects, common, carried: Vec::new(), excludes: None, has_includes: false };
        facts.read_config(git)?;
        Ok(facts)
    }

    fn read_config(&mut self, git: &Git<'_>) -> Result<(), GitError> {
        let names: Vec<&str> = CARRIED.iter().filter_map(|name| name.strip_prefix("core.")).collect();
        let pattern = format!("^(core\\.({}|excludesfile)|include(if\\..*)?\\.path)$", names.join("|"));
        let done = git.run(&["config", "-z", "--get-regexp", &pattern], QUERY_TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0) => {}
            ExitReason::Code(1) => return Ok(()),
            _ => return Err(git_error("config", &done)),
        }
        for entry in done.stdout.split(|byte| *byte == 0) {
            let at = entry.iter().position(|byte| *byte == b'\n');
            let (name, value) = at.map_or((entry, &b"true"[..]), |at| {
                (entry.get(..at).unwrap_or_default(), entry.get(at + 1..).unwrap_or_default())
            });
            // A later one wins, as in git. A name without a value means true.
            if name.starts_with(b"include") {
                self.has_includes = true;
            } else if name == b"core.excludesfile" {
                self.excludes = expand(git.vars(), value);
            } else if let Some(name) = CARRIED.iter().find(|known| known.as_bytes() == name)
                && let Ok(value) = std::str::from_utf8(value)
                && is_word(value)
            {
                self.carried.push(((*name).to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }

    /// Whether the values have the form that [`Self::read`] produces: a check of facts that come from a file.
    pub(super) fn is_valid(&self) -> bool {
        let is_known = |(name, value): &(String, String)| CARRIED.contains(&name.as_str()) && is_word(value);
        is_word(&self.format)
            && self.carried.iter().all(is_known)
            && self.objects.is_absolute()
            && self.common.is_absolute()
    }

    /// The text of the configuration file of a bare private repository.
    pub(super) fn config(&self) -> String {
        let mut text = String::from("[core]\n\tbare = true\n\tattributesFile = /dev/null\n");
        if let Some(excludes) = self.excludes.as_ref().and_then(|path| path.to_str()) {
            let quoted = excludes.replace('\\', "\\\\").replace('"', "\\\"");
            if !excludes.contains('\n') {
                let _ = writeln!(text, "\texcludesFile = \"{quoted}\"");
            }
        }
        for (name, value) in &self.carried {
            let _ = writeln!(text, "\t{} = {value}", name.trim_start_matches("core."));
        }
        let version = u8::from(self.format != "sha1");
        let _ = writeln!(text, "\trepositoryformatversion = {version}");
        if version == 1 {
            let _ = writeln!(text, "[extensions]\n\tobjectFormat = {}", self.format);
        }
        text.push_str("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
        text
    }

    /// The text of the configuration file of a private repository with a worktree. Only lines of the section `[core]` may
    /// follow it.
    pub(super) fn config_of_worktree(&self) -> String {
        let config = self.config().replacen("\tbare = true\n\tattributesFile = /dev/null\n", "\tbare = false\n", 1);
        config.replace("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n", "[core]\n")
    }

    /// The directory of the repository's objects, and those from which it borrows objects (`info/alternates`). Directories that
    /// do not exist are left out.
    pub(super) fn objects_and_alternates(&self) -> Vec<PathBuf> {
        let listed = std::fs::read(self.objects.join("info/alternates")).unwrap_or_default();
        let lines = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let others = lines.map(|line| self.objects.join(OsStr::from_bytes(line)));
        let all = std::iter::once(self.objects.clone()).chain(others);
        all.filter_map(|dir| dir.canonicalize().ok()).collect()
    }

    /// The environment of git in the private repository `dir`. Of git's variables, only `GIT_EXEC_PATH` is taken over from
    /// `vars`. New ones bind git to this repository and keep it from fetching and from asking.
    pub(super) fn environment(&self, vars: &BTreeMap<OsString, OsString>, dir: &Path) -> BTreeMap<OsString, OsString> {
        let is_kept = |name: &OsStr| !name.as_bytes().starts_with(b"GIT_") || name == "GIT_EXEC_PATH";
        let mut env: BTreeMap<_, _> =
            vars.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        let fixed = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_PAGER", "cat"),
            ("GIT_EDITOR", "false"),
            ("GIT_ASKPASS", "false"),
        ];
        env.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        env.insert("GIT_DIR".into(), dir.into());
        env.insert("GIT_OBJECT_DIRECTORY".into(), dir.join("objects").into_os_string());
        env.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), alternates(std::iter::once(self.objects.as_path())));
        // A shallow clone knows where its history ends.
        if self.is_shallow() {
            env.insert("GIT_SHALLOW_FILE".into(), self.shallow_file().into_os_string());
        }
        env
    }

    /// Whether the repository is a shallow clone, which has only a part of its history.
    pub(super) fn is_shallow(&self) -> bool {
        self.shallow_file().exists()
    }

    pub(super) fn shallow_file(&self) -> PathBuf {
        self.common.join("shallow")
    }
}

/// Whether a value is nothing but a word or a number.
fn is_word(value: &str) -> bool {
    value.chars().all(|character| character.is_ascii_alphanumeric())
}

/// A path of the configuration, with `~` for the home.
fn expand(vars: &BTreeMap<OsString, OsString>, value: &[u8]) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(Path::new(vars.get(OsStr::new("HOME"))?).join(OsStr::from_bytes(rest))),
        None => Some(PathBuf::from(OsStr::from_bytes(value))).filter(|path| path.is_absolute()),
    }
}

/// The value of `GIT_ALTERNATE_OBJECT_DIRECTORIES` for these directories, each in quotes.
pub(super) fn alternates<'a>(dirs: impl Iterator<Item = &'a Path>) -> OsString {
    let mut text: Vec<u8> = Vec::new();
    for dir in dirs {
        if !text.is_empty() {
            text.push(b':');
        }
        text.push(b'"');
        for byte in dir.as_os_str().as_bytes() {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', *byte]),
                b'\n' => text.extend(b"\\n"),
                _ => text.push(*byte),
            }
        }
        text.push(b'"');
    }
    OsStr::from_bytes(&text).to_owned()
}

impl Git<'_> {
    /// The major and minor version of git; `None` when git prints a version of another form.
    pub fn version(&self) -> Result<Option<(u32, u32)>, GitError> {
        let text = self.run_checked("version", &["version"], QUERY_TIMEOUT)?;
        let mut numbers = text.trim_start_matches("git version ").split('.').map(str::parse);
        Ok(match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        })
    }

    /// Checks that git is at least this version. A version of unknown form passes.
    ///
    /// # Errors
    /// [`GitError::TooOld`]; also when git cannot be started.
    pub fn require_version(&self, oldest: (u32, u32)) -> Result<(), GitError> {
        match self.version()? {
            Some(found) if found < oldest => Err(GitError::TooOld { found, oldest }),
            _ => Ok(()),
        }
    }
}
