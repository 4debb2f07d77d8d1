//! Programs that by convention run files of the directory in which they are called: a text that writes such a file can run it
//! by a command that does not name it.

use super::arg::Arg;
use super::program_lists::DATA_PROGRAMS;
use super::wrappers::runs_others;
use super::writers::{READERS, WRITERS};
use super::written_words::written_words;
use super::{ShellAnalysis, git};
use crate::guard::same_commands;

/// Programs that read no path of their words, and yet run a file that one of them names.
const FILE_RUNNERS: &[&str] = &["mysql", "psql", "sqlite3"];

/// Commands of git that run hooks.
const HOOKED_GIT_COMMANDS: &[&str] =
    &["am", "checkout", "cherry-pick", "commit", "gc", "merge", "pull", "push", "rebase", "switch", "worktree"];
/// The directories of hooks that git is commonly told to use.
const HOOK_DIRECTORIES: &[&str] = &[".husky/", "hooks/"];

/// Whether a command changes files without a redirection, by an edit in place or by a patch.
pub(super) fn changes_files(name: &str, argv: &[Arg]) -> bool {
    let has = |word: &str| argv.iter().any(|arg| arg.text() == Some(word));
    match name {
        "sed" | "gsed" | "perl" | "ruby" | "awk" | "gawk" | "yq" => !written_words(argv).is_empty(),
        "patch" | "apply_patch" => true,
        "git" => has("apply") || has("am"),
        "npm" | "pnpm" | "yarn" | "bun" => has("pkg") || has("set-script"),
        _ => false,
    }
}

impl ShellAnalysis {
    /// The first program of the text that may run files which the text does not name, such as tests or build scripts in its
    /// directory. A program that Fairway does not know counts as one. When there is none but the text runs a file, the result is
    /// `a later command`, otherwise `None`.
    pub(super) fn find_runner(&self) -> Option<String> {
        let sure = self.commands.iter().filter(|seen| seen.is_sure);
        let runner = sure.filter_map(|seen| Some((seen.argv.first()?.program()?, &seen.argv))).find(|(name, argv)| {
            let (at, _) = git::command_at(argv);
            let is_hooked = || argv.get(at).and_then(Arg::text).is_some_and(|verb| HOOKED_GIT_COMMANDS.contains(&verb));
            let name = same_commands::program(name);
            let is_known = [DATA_PROGRAMS, READERS].iter().any(|known| known.contains(&name));
            let is_writer =
                WRITERS.iter().any(|writer| writer.is(name, argv) && writer.is_all() && writer.reads_others);
            FILE_RUNNERS.contains(&name)
                || name == "git" && is_hooked() && HOOK_DIRECTORIES.iter().any(|hooks| self.written.contains(hooks))
                || !is_known && !is_writer && !runs_others(name) && !changes_files(name, argv)
        });
        let runs_file = !self.files.executed.is_empty() || self.files.runs_unknown;
        runner.map(|(name, _)| name).or_else(|| runs_file.then(|| "a later command".to_owned()))
    }
}
