//! The difference between a commit and a worktree, with files that are not committed and not added. Nothing is written to the
//! repository: the index is a copy.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::command::{Git, GitError, MAX_WHOLE_OUTPUT, QUERY_TIMEOUT, git_error, succeeded, unknown_form};
use super::scratch::Scratch;
use crate::os::exit_reason::ExitReason;

/// How often the list of new files is read again because one of them vanished meanwhile.
const MAX_LISTINGS: usize = 3;

/// The time limit of a comparison.
const DIFF_TIMEOUT: Duration = Duration::from_secs(600);

/// The exit code of a shell's child that SIGPIPE ended.
const SIGPIPE_EXIT: i32 = 141;

/// The flags of every comparison: no program that the repository names for showing files.
const DIFF: [&str; 4] = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The letter of git: A, M, D, R, C, T or U.
    pub letter: char,
    /// Its path in the worktree; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Its path before it was renamed or copied.
    pub old_path: Option<String>,
    /// The number of added lines; `None` for a binary file.
    pub added: Option<u64>,
    /// The number of deleted lines; `None` for a binary file.
    pub deleted: Option<u64>,
}

/// The form of a printed comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiffFormat {
    /// The changed lines.
    #[default]
    Patch,
    /// The files, with the amount of their changes.
    Stat,
    /// The files.
    NameOnly,
}

/// A worktree whose new files count as added, in a copy of its index.
#[derive(Debug)]
pub struct WorktreeDiff<'a> {
    git: Git<'a>,
    scratch: Scratch,
    repositories: Vec<String>,
    special: Vec<String>,
}

impl<'a> WorktreeDiff<'a> {
    /// Prepares comparisons of the worktree at `git`'s working directory, which must be the top of the worktree. Temporary files
    /// go below `temp`.
    pub fn open(git: Git<'a>, temp: &Path) -> Result<Self, GitError> {
        let scratch = Scratch::create(&git, temp)?.with_index_of(&git)?;
        let repositories = add_new_files(&git.with_scratch(&scratch))?;
        let special = take_out_special_files(&git.with_scratch(&scratch))?;
        Ok(Self { git, scratch, repositories, special })
    }

    /// The paths of repositories in the worktree that are not tracked. Nothing inside of them is compared.
    pub fn repositories(&self) -> &[String] {
        &self.repositories
    }

    /// The tracked paths at which a FIFO, a socket or a device stands now. Git keeps no such file: they count as deleted. Bytes
    /// that are not UTF-8 are replaced.
    pub fn special(&self) -> &[String] {
        &self.special
    }

    /// The files of the worktree that differ from `commit`, new files included.
    pub fn files(&self, commit: &str) -> Result<Vec<ChangedFile>, GitError> {
        let more = ["--raw", "--numstat", "-z", "-M", "--no-relative", "--no-color", commit, "--"];
        let args = [&DIFF[..], &more].concat();
        let done = succeeded("diff", self.git.with_scratch(&self.scratch).run_on_files(&args, DIFF_TIMEOUT)?)?;
        parse(&String::from_utf8_lossy(&done.stdout)).ok_or_else(|| unknown_form("diff"))
    }

    /// Prints the difference from `commit` to the worktree on the terminal, through git's pager. `color` forces colors on or off;
    /// `None` leaves them to git.
    pub fn show(&self, commit: &str, format: DiffFormat, color: Option<bool>) -> Result<(), GitError> {
        let pipe = nix::libc::SIGPIPE;
        let git = self.git.with_scratch(&self.scratch);
        match git.run_in_foreground(&git.on_files(&arguments(commit, format, color))?, git.own_pager()?)? {
            // A pager that is closed has shown enough.
            ExitReason::Code(0 | SIGPIPE_EXIT) => Ok(()),
            ExitReason::Signal(signal) if signal == pipe => Ok(()),
            _ => Err(GitError::Failed { step: "diff", why: "see its message above".into() }),
        }
    }

    /// The difference from `commit` to the worktree, as git prints it when stdout is a pipe.
    ///
    /// # Errors
    /// When git fails, or prints more than `MAX_WHOLE_OUTPUT`.
    pub fn text(&self, commit: &str, format: DiffFormat, color: Option<bool>) -> Result<Vec<u8>, GitError> {
        let done =
            self.git.with_scratch(&self.scratch).run_on_files(&arguments(commit, format, color), DIFF_TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0) if done.stdout.len() < MAX_WHOLE_OUTPUT => Ok(done.stdout),
            ExitReason::Code(0) => Err(GitError::Failed { step: "diff", why: "the difference is too large".into() }),
            _ => Err(git_error("diff", &done)),
        }
    }
}

fn arguments(commit: &str, format: DiffFormat, color: Option<bool>) -> Vec<&str> {
    let format = match format {
        DiffFormat::Patch => None,
        DiffFormat::Stat => Some("--stat"),
        DiffFormat::NameOnly => Some("--name-only"),
    };
    let color = color.map(|is_on| if is_on { "--color=always" } else { "--color=never" });
    DIFF.into_iter().chain(format).chain(color).chain([commit, "--"]).collect()
}

/// Marks the new files that git does not ignore as added, without their content. Returns the repositories among them, which git
/// lists as directories and adds only when they have a commit.
fn add_new_files(git: &Git<'_>) -> Result<Vec<String>, GitError> {
    let add = ["--literal-pathspecs", "-c", "advice.addEmbeddedRepo=false", "-c", "core.splitIndex=false", "add"];
    let add = [&add[..], &["--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"]].concat();
    let mut failure = None;
    for _ in 0..MAX_LISTINGS {
        let listed =
            succeeded("ls-files", git.run(&["ls-files", "--others", "--exclude-standard", "-z"], QUERY_TIMEOUT)?)?;
        let paths = listed.stdout.split_inclusive(|byte| *byte == 0);
        let (repositories, files): (Vec<&[u8]>, Vec<&[u8]>) = paths.partition(|path| path.ends_with(b"/\0"));
        let name = |path: &&[u8]| String::from_utf8_lossy(path).trim_end_matches(['/', '\0']).to_owned();
        let repositories: Vec<String> = repositories.iter().map(name).collect();
        if files.is_empty() {
            return Ok(repositories);
        }
        let added = git.run_with(&git.on_files(&add)?, &[], &files.concat(), QUERY_TIMEOUT)?;
        if added.exit == ExitReason::Code(0) {
            return Ok(repositories);
        }
        failure = Some(git_error("add", &added));
    }
    failure.map_or(Ok(Vec::new()), Err)
}

/// Removes from the index the tracked paths at which there is a file that git cannot read, which would end the comparison.
/// Returns these paths.
fn take_out_special_files(git: &Git<'_>) -> Result<Vec<String>, GitError> {
    let list = ["diff-files", "--name-only", "-z", "--ignore-submodules=all"];
    let changed = succeeded("diff-files", git.run_on_files(&list, QUERY_TIMEOUT)?)?;
    let is_special = |path: &&[u8]| {
        let file = git.dir().join(OsStr::from_bytes(path));
        let kind = file.symlink_metadata().map(|found| found.file_type());
        kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir() && !kind.is_symlink())
    };
    let special: Vec<&[u8]> = changed.stdout.split(|byte| *byte == 0).filter(is_special).collect();
    if !special.is_empty() {
        let paths = special.iter().flat_map(|path| [path, &b"\0"[..]]).collect::<Vec<_>>().concat();
        let args = ["-c", "core.splitIndex=false", "update-index", "--force-remove", "-z", "--stdin"];
        succeeded("update-index", git.run_with(&args, &[], &paths, QUERY_TIMEOUT)?)?;
    }
    Ok(special.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Reads the output of `--raw --numstat -z`: first a record for the state of each file, then one for the number of its lines.
/// `None` when the output has another form.
pub(super) fn parse(text: &str) -> Option<Vec<ChangedFile>> {
    let mut fields = text.split_terminator('\0').peekable();
    let mut files = Vec::new();
    while let Some(state) = fields.next_if(|field| field.starts_with(':')) {
        let letter = state.rsplit(' ').next()?.chars().next()?;
        let first = fields.next()?.to_owned();
        let is_moved = matches!(letter, 'R' | 'C');
        let (path, old_path) = if is_moved { (fields.next()?.to_owned(), Some(first)) } else { (first, None) };
        files.push(ChangedFile { letter, path, old_path, added: None, deleted: None });
    }
    let places: BTreeMap<String, usize> =
        files.iter().enumerate().map(|(place, file)| (file.path.clone(), place)).collect();
    while let Some(record) = fields.next() {
        let mut columns = record.splitn(3, '\t');
        let (added, deleted, mut path) = (columns.next()?, columns.next()?, columns.next()?);
        if path.is_empty() {
            (_, path) = (fields.next()?, fields.next()?);
        }
        let file = places.get(path).and_then(|place| files.get_mut(*place))?;
        (file.added, file.deleted) = (added.parse().ok(), deleted.parse().ok());
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_git_is_parsed_into_files() {
        let text = ":100644 100644 1 0 M\0a b\0:100644 100644 1 2 R090\0old\0new\0:000000 100644 0 0 A\0bin\0\
                    3\t1\ta b\x000\t2\t\0old\0new\0-\t-\tbin\0";
        let file = |letter, path: &str, old: Option<&str>, added, deleted| ChangedFile {
            letter,
            path: path.into(),
            old_path: old.map(str::to_owned),
            added,
            deleted,
        };
        let expected = vec![
            file('M', "a b", None, Some(3), Some(1)),
            file('R', "new", Some("old"), Some(0), Some(2)),
            file('A', "bin", None, None, None),
        ];
        assert_eq!(parse(text), Some(expected));
        assert_eq!(parse(""), Some(Vec::new()));
        assert_eq!(parse("1\t1\tunknown\0"), None);
    }
}
