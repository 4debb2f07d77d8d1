//! The commits of submodules that a commit points to, and whether their repositories have them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error};
use super::scratch::git_path;
use crate::os::exit_reason::ExitReason;

/// The mode of a pointer to a commit of a submodule.
const SUBMODULE: &str = "160000";

/// A pointer to a commit of a submodule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmodulePointer {
    /// The path of the submodule.
    pub path: String,
    pub commit: String,
    /// The name of the submodule, by which git keeps its repository; `None` for one without an entry in `.gitmodules`.
    pub name: Option<String>,
}

/// Which refs of a submodule's repository count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmoduleRefs {
    /// All of them, and HEAD.
    All,
    /// Those that follow a remote.
    Remotes,
}

impl Git<'_> {
    /// The paths at which the index of this worktree has submodules. The working directory must be the top of the worktree.
    pub(super) fn submodule_paths(&self) -> Result<BTreeSet<String>, GitError> {
        let text = self.run_checked("ls-files", &["ls-files", "-z", "--stage"], QUERY_TIMEOUT)?;
        let path = |entry: &str| Some(entry.strip_prefix(SUBMODULE)?.split_once('\t')?.1.to_owned());
        Ok(text.split_terminator('\0').filter_map(path).collect())
    }

    /// The submodules of this worktree that are not checked out. The working directory must be the top of the worktree.
    pub fn absent_submodules(&self) -> Result<Vec<String>, GitError> {
        if !self.dir().join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let is_absent = |path: &String| !self.dir().join(path).join(".git").exists();
        Ok(self.submodule_paths()?.into_iter().filter(is_absent).collect())
    }

    /// The paths and objects of this mode that `to` has and `from` has not.
    pub(super) fn new_entries(&self, mode: &str, from: &str, to: &str) -> Result<Vec<(String, String)>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
        Ok(entries(mode, &self.run_checked("diff-tree", &args, QUERY_TIMEOUT)?))
    }

    /// The submodule commits to which `to` points and `from` does not.
    pub fn new_submodule_pointers(&self, from: &str, to: &str) -> Result<Vec<SubmodulePointer>, GitError> {
        let found = self.new_entries(SUBMODULE, from, to)?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let blob = format!("{to}:.gitmodules");
        let args = ["config", "-z", "--blob", &blob, "--get-regexp", r"^submodule\..*\.path$"];
        let done = self.run(&args, QUERY_TIMEOUT)?;
        // 1: there is none. 128: there is no such file.
        let listed = match done.exit {
            ExitReason::Code(0) => String::from_utf8_lossy(&done.stdout).into_owned(),
            ExitReason::Code(1 | 128) => String::new(),
            _ => return Err(git_error("config", &done)),
        };
        let name = |path: &str| listed.split_terminator('\0').find_map(|entry| named(entry, path));
        Ok(found.into_iter().map(|(path, commit)| SubmodulePointer { name: name(&path), path, commit }).collect())
    }

    /// Whether a submodule's repository in this worktree has the commit in one of these refs. `false` also when there is no such
    /// repository. The working directory must be the top of the worktree.
    pub fn submodule_has(&self, pointer: &SubmodulePointer, refs: SubmoduleRefs) -> Result<bool, GitError> {
        let mut dirs: Vec<PathBuf> = vec![self.dir().join(&pointer.path).join(".git")];
        if let Some(name) = &pointer.name {
            dirs.push(git_path(self, &format!("modules/{name}"))?);
        }
        for dir in dirs.into_iter().filter(|dir| dir.join("HEAD").exists()) {
            let git_dir = format!("--git-dir={}", dir.display());
            let mut args = vec![&git_dir, "for-each-ref", "--count=1", "--format=%(refname)", "--contains"];
            args.push(&pointer.commit);
            if refs == SubmoduleRefs::Remotes {
                args.push("refs/remotes");
            }
            let done = self.run(&args, QUERY_TIMEOUT)?;
            // Git fails for a commit that the repository lacks.
            if done.exit == ExitReason::Code(0) && !done.stdout.is_empty() {
                return Ok(true);
            }
            let args = [&git_dir, "merge-base", "--is-ancestor", &pointer.commit, "HEAD"];
            if refs == SubmoduleRefs::All && self.run(&args, QUERY_TIMEOUT)?.exit == ExitReason::Code(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The paths and objects of this mode in the output of `diff-tree --raw -z`.
fn entries(mode: &str, text: &str) -> Vec<(String, String)> {
    let mut fields = text.split_terminator('\0');
    let mut found = Vec::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        // `:MODE MODE BLOB BLOB LETTER`
        let mut facts = facts.split(' ').skip(1);
        if let (Some(new), _, Some(object)) = (facts.next(), facts.next(), facts.next())
            && new == mode
        {
            found.push((path.to_owned(), object.to_owned()));
        }
    }
    found
}

/// The name of the submodule at this path in an entry `submodule.NAME.path LF PATH`. A name that leads out of git's directory
/// is none.
fn named(entry: &str, path: &str) -> Option<String> {
    let (key, value) = entry.split_once('\n')?;
    let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
    let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    (value == path && is_inside && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_found_and_names_stay_inside_of_the_git_directory() {
        let raw = ":000000 160000 00 aa A\0sub\0:100644 100644 bb cc M\0file\0:160000 000000 dd 00 D\0old\0";
        assert_eq!(entries(SUBMODULE, raw), [("sub".to_owned(), "aa".to_owned())]);
        assert_eq!(named("submodule.lib/a.path\nsub", "sub").as_deref(), Some("lib/a"));
        for entry in ["submodule.a.path\nother", "submodule.../../evil.path\nsub", "submodule./etc.path\nsub"] {
            assert_eq!(named(entry, "sub"), None, "{entry}");
        }
    }
}
