//! Work in a worktree that is in no commit of its repository, and that would be lost with the directory: changed and new files,
//! an unfinished operation, work in submodules, and repositories below it. Ignored files do not count, as for `git worktree remove`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io, mem};

use super::command::{Git, GitError, QUERY_TIMEOUT, succeeded};
use super::scratch::{Scratch, git_path};

/// How many files, and how many repositories, a text names.
const MAX_DISPLAYED: usize = 3;

/// The state, in front of the path, of a file that differs from the index and whose index is as the commit.
const CHANGED_CONTENT: &str = " M ";

/// The work in a worktree that is in no commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UncommittedWork {
    /// The operation that has stopped in the middle, such as a rebase.
    pub operation: Option<&'static str>,
    /// The changed and new files, each as `git status --porcelain` says it. Files that git was told to take for unchanged
    /// count, too.
    pub changes: Vec<String>,
    /// Repositories and worktrees below the worktree, ignored or not, by their paths in it.
    pub repositories: Vec<String>,
    /// The submodules with work that is nowhere else, each with that work, such as `lib, which is in the middle of a rebase`.
    pub submodules: Vec<String>,
    /// Directories that cannot be read.
    pub unreadable: Vec<String>,
    /// Ignored files that were copied into the worktree, and changed there. Git knows nothing of them.
    pub copies: Vec<String>,
}

impl UncommittedWork {
    /// The work as a clause whose subject is the worktree, such as `is in the middle of a rebase`; `None` when there is no such
    /// work.
    pub fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(operation) = self.operation {
            parts.push(format!("is in the middle of a {operation}"));
        }
        if !self.changes.is_empty() {
            parts.push(format!("holds changes that are in no commit ({})", named(&self.changes)));
        }
        if let [one] = self.repositories.as_slice() {
            parts.push(format!("contains the repository {one}"));
        } else if !self.repositories.is_empty() {
            parts.push(format!("contains the repositories {}", named(&self.repositories)));
        }
        if !self.submodules.is_empty() {
            parts.push(format!("has work in the submodule {}", named(&self.submodules)));
        }
        if !self.unreadable.is_empty() {
            parts.push(format!("has directories that cannot be read ({})", named(&self.unreadable)));
        }
        if !self.copies.is_empty() {
            parts.push(format!(
                "has copied files with changes ({}), which `lane rm --discard-copies` gives up",
                named(&self.copies)
            ));
        }
        (!parts.is_empty()).then(|| parts.join(", and "))
    }
}

impl UncommittedWork {
    fn add_submodule(&mut self, name: &str, clauses: impl IntoIterator<Item = String>) {
        let clauses: Vec<String> = clauses.into_iter().collect();
        if !clauses.is_empty() {
            self.submodules.push(format!("{name}, which {}", clauses.join(", and ")));
        }
    }
}

/// The first of these, and how many more there are.
fn named(all: &[String]) -> String {
    let shown = all.iter().take(MAX_DISPLAYED).map(|one| one.trim()).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MAX_DISPLAYED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl Git<'_> {
    /// Finds the work in this worktree that is in no commit. The working directory must be the top of the worktree. Temporary
    /// files go below `temp`.
    pub fn uncommitted_work(&self, temp: &Path) -> Result<UncommittedWork, GitError> {
        let operation = self.unfinished_operation()?;
        let mut work = UncommittedWork { operation, changes: self.all_changes(temp)?, ..UncommittedWork::default() };
        find_repositories(self.dir(), self.dir(), &mut work);
        self.find_work_in_submodules(temp, &mut work)?;
        Ok(work)
    }

    /// Takes the submodules out of the repositories that were found, and looks into them: git keeps their commits with the
    /// worktree, also those of a submodule that is not checked out any more.
    fn find_work_in_submodules(&self, temp: &Path, work: &mut UncommittedWork) -> Result<(), GitError> {
        let modules = git_path(self, "modules")?;
        if work.repositories.is_empty() && !modules.is_dir() {
            return Ok(());
        }
        let known = self.submodule_paths()?;
        let (checked_out, others) =
            mem::take(&mut work.repositories).into_iter().partition(|path| known.contains(path));
        work.repositories = others;
        let mut seen = BTreeSet::new();
        for path in Vec::into_iter(checked_out) {
            let dir = self.dir().join(&path);
            let git = Git::new(self.vars(), &dir);
            let git_dir = git.run_checked("rev-parse", &["rev-parse", "--absolute-git-dir"], QUERY_TIMEOUT)?;
            let text = git.uncommitted_work(temp)?.text();
            work.add_submodule(&path, text.into_iter().chain(git.unpushed(&git_dir)?));
            seen.insert(PathBuf::from(git_dir));
        }
        let mut places = vec![modules.clone()];
        while let Some(place) = places.pop() {
            let mut kept = UncommittedWork::default();
            find_repositories(&place, &place, &mut kept);
            work.unreadable.extend(kept.unreadable);
            for git_dir in kept.repositories.iter().map(|name| place.join(name)).filter(|dir| !seen.contains(dir)) {
                let name = git_dir.strip_prefix(&modules).unwrap_or(&git_dir).to_string_lossy().into_owned();
                work.add_submodule(&name, self.unpushed(&git_dir.to_string_lossy())?);
                places.push(git_dir.join("modules"));
            }
        }
        Ok(())
    }

    /// The commits of a repository that no remote branch of it has, as a clause; `None` without one.
    fn unpushed(&self, git_dir: &str) -> Result<Option<String>, GitError> {
        let git_dir = format!("--git-dir={git_dir}");
        let args = [&git_dir, "rev-list", "--max-count=1", "--all", "--not", "--remotes"];
        let commit = self.run_checked("rev-list", &args, QUERY_TIMEOUT)?;
        Ok((!commit.is_empty()).then(|| "has commits that no remote branch of it has".to_owned()))
    }

    /// The changes, also of files that git was told to take for unchanged.
    fn all_changes(&self, temp: &Path) -> Result<Vec<String>, GitError> {
        // Without an index git shows every file as deleted: nothing was ever checked out.
        if !git_path(self, "index")?.exists() {
            return Ok(Vec::new());
        }
        let hidden = self.files_taken_for_unchanged()?;
        if hidden.is_empty() {
            return self.changes();
        }
        let scratch = Scratch::create(self, temp)?.with_index_of(self)?;
        let git = self.with_scratch(&scratch);
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            // Git looks into young files when it writes an index.
            let args = git.on_files(&["update-index", flag, "-z", "--stdin"])?;
            succeeded("update-index", git.run_with(&args, &[], &hidden, QUERY_TIMEOUT)?)?;
        }
        git.changes()
    }

    /// The commits that only this worktree refers to: those of its HEAD, `refs/worktree` and `refs/rewritten`.
    pub fn own_tips(&self) -> Result<Vec<String>, GitError> {
        let args = ["for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/rewritten"];
        let refs = self.run_checked("for-each-ref", &args, QUERY_TIMEOUT)?;
        let mut tips: Vec<String> = self.resolve_commit("HEAD")?.into_iter().collect();
        for object in refs.lines() {
            // A tag or a blob is no commit.
            tips.extend(self.resolve_commit(object)?);
        }
        Ok(tips)
    }

    /// Whether the repository has a stash that was made on a branch.
    pub fn has_stash_of(&self, branch: &str) -> Result<bool, GitError> {
        let list = self.run_checked("stash list", &["stash", "list", "--format=%gs"], QUERY_TIMEOUT)?;
        let begins = [format!("WIP on {branch}:"), format!("On {branch}:")];
        Ok(list.lines().any(|line| begins.iter().any(|begin| line.starts_with(begin.as_str()))))
    }

    /// The changed and new files, each as a line of `git status --porcelain`. Git does not look into submodules. A file whose
    /// filter Fairway does not run is compared by the times that the index has for it.
    pub fn changes(&self) -> Result<Vec<String>, GitError> {
        let args =
            ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty"];
        let text = self.run_on_files_checked("status", &args, QUERY_TIMEOUT)?;
        let entries = || text.split_terminator('\0');
        let candidates: Vec<&str> = entries().filter_map(|entry| entry.strip_prefix(CHANGED_CONTENT)).collect();
        let unchanged = self.unchanged_by_times(&candidates)?;
        let is_change = |entry: &&str| entry.strip_prefix(CHANGED_CONTENT).is_none_or(|path| !unchanged.contains(path));
        Ok(entries().filter(is_change).map(str::to_owned).collect())
    }

    /// The files that are there and that git was told to take for unchanged, each with a NUL. One that a sparse checkout leaves
    /// out is absent.
    fn files_taken_for_unchanged(&self) -> Result<Vec<u8>, GitError> {
        let done = succeeded("ls-files", self.run(&["ls-files", "-v", "-z"], QUERY_TIMEOUT)?)?;
        let mut files = Vec::new();
        for entry in done.stdout.split(|byte| *byte == 0) {
            // Lower case: assume-unchanged. S: skip-worktree.
            let Some((tag, [b' ', path @ ..])) = entry.split_first() else { continue };
            let is_flagged = tag.is_ascii_lowercase() || *tag == b'S';
            if is_flagged && self.dir().join(path_of(path)).symlink_metadata().is_ok() {
                files.extend_from_slice(path);
                files.push(0);
            }
        }
        Ok(files)
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The repositories and worktrees below a directory, at any depth. Links are not followed, and no git is asked: a repository
/// below may be one that an agent has prepared.
fn find_repositories(dir: &Path, top: &Path, work: &mut UncommittedWork) {
    let name = |path: &Path| path.strip_prefix(top).unwrap_or(path).to_string_lossy().into_owned();
    let mut entries = match fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        // It went meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(_) => return work.unreadable.push(name(dir)),
    };
    let names: BTreeSet<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
    let has = |name: &str| names.contains(std::ffi::OsStr::new(name));
    let is_bare = has("HEAD") && has("objects") && has("refs");
    if dir != top && (has(".git") || is_bare) {
        // What is inside of it is lost with it.
        return work.repositories.push(name(dir));
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_own = dir == top && entry.file_name() == ".git";
        if is_dir && !is_own {
            find_repositories(&entry.path(), top, work);
        }
    }
}
