//! The paths that a shell command writes to.
//!
//! Three kinds of programs: readers, whose words are never written; writers, of whose words it is known which are written, so
//! that one that cannot be determined is a doubt; and all others. Of those any word counts that plainly leads elsewhere.

use std::rc::Rc;

use super::same_commands;
use super::shell::arg::Arg;
use super::shell::writers::{READ_OPTIONS, READERS, WRITERS, writes_elsewhere};
use super::shell::written_words::{Words, git_writes, is_git_read, leading_part, written_words};
use super::shell::{self, FoundCommand, Place, ShellAnalysis, Write};

/// A path that may be written.
#[derive(Debug)]
pub(super) struct Target {
    pub path: Arg,
    /// The directory to which it is relative.
    pub place: Rc<Place>,
    /// Whether it counts only if it plainly leads out of the worktree.
    pub is_loose: bool,
    /// Whether it is one of git's own directories, which git may write in the worktree.
    pub is_git: bool,
    /// The program that writes elsewhere whatever its words say.
    pub by: Option<&'static str>,
}

impl Target {
    /// A path from a word of the command `seen`, relative to the directory in which that command runs.
    pub fn of(path: Arg, seen: &FoundCommand) -> Self {
        Self::new(path, &seen.place)
    }

    /// A path that is known to be written, relative to `place`.
    pub fn new(path: Arg, place: &Rc<Place>) -> Self {
        Self { path, place: Rc::clone(place), is_loose: false, is_git: false, by: None }
    }
}

/// Every path that a text writes. A program that Fairway does not know may also write its working directory and each path in its
/// words that may lead out of that directory.
pub(super) fn written_paths(scan: &ShellAnalysis) -> Vec<Target> {
    let target = |write: &Write| Target::new(write.path.clone(), &write.place);
    let mut targets: Vec<Target> = scan.writes.iter().map(target).collect();
    targets.extend(scan.git_directories.iter().map(target).map(|target| Target { is_git: true, ..target }));
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        targets.extend(command_targets(seen));
        targets.extend(other_targets(seen));
    }
    targets
}

/// The words of a command that are paths which its program is known to write.
pub(super) fn command_targets(seen: &FoundCommand) -> Vec<Target> {
    let place = working_place(seen);
    let target = |path| Target::new(path, &place);
    written_words(&seen.argv).into_iter().map(target).collect()
}

/// Where a program works: some change their directory by an option.
fn working_place(seen: &FoundCommand) -> Rc<Place> {
    let options: &[&str] = match seen.argv.first().and_then(Arg::program).as_deref().map(same_commands::program) {
        Some("git") => &["-C", "--work-tree"],
        Some("make" | "ninja") => &["-C", "--directory"],
        _ => return Rc::clone(&seen.place),
    };
    let changes = Words::of(&seen.argv).behind(options);
    let start = Rc::clone(&seen.place);
    changes.iter().fold(start, |place, directory| Rc::new(place.changed_to(directory)))
}

/// The places that an unknown program may write: where it runs, and each word that leads elsewhere.
fn other_targets(seen: &FoundCommand) -> Vec<Target> {
    let Some(name) = seen.argv.first().and_then(Arg::program) else { return Vec::new() };
    let name = same_commands::program(&name);
    let words = Words::of(&seen.argv);
    let target = |path: Arg| Target { is_loose: true, ..Target::of(path, seen) };
    let mut found = Vec::new();
    if let by @ Some(_) = writes_elsewhere(name, &seen.argv) {
        found.push(Target { by, ..Target::of(Arg::known("/"), seen) });
    }
    if READERS.contains(&name) || shell::runs_others(name) {
        return found;
    }
    let (skip, is_git) = match name {
        "git" => (usize::MAX, true),
        "docker" | "podman" => (0, false),
        // The program itself is read.
        _ if shell::is_interpreter(name) => match words.args.iter().position(|arg| !arg.head().starts_with('-')) {
            Some(_) if words.args.iter().any(|arg| matches!(arg.text(), Some("-c" | "-e" | "-p" | "--eval"))) => {
                return found;
            }
            Some(_) if words.has("-m") => (0, false),
            Some(at) => (at + 1, false),
            None => return found,
        },
        _ => (0, false),
    };
    let reads = is_git && {
        let (at, _) = shell::git::command_at(&seen.argv);
        seen.argv.get(at).and_then(Arg::text).is_none_or(is_git_read)
            || seen.argv.iter().take(at).any(|arg| matches!(arg.text(), Some("-C" | "--git-dir" | "--work-tree")))
    };
    if is_git && git_writes(&seen.argv) {
        let (at, _) = shell::git::command_at(&seen.argv);
        let own = Words::of(seen.argv.get(..at).unwrap_or_default()).behind(&["--git-dir"]);
        found.extend(own.into_iter().map(|path| Target { is_git: true, ..Target::of(path, seen) }));
    }
    if !reads && !WRITERS.iter().any(|writer| writer.is(name, &seen.argv) && writer.is_all()) {
        found.push(target(Arg::known(".")));
    }
    if matches!(name, "docker" | "podman") {
        found.extend(words.of_mounts().into_iter().map(target));
        return found;
    }
    let is_worked_out = matches!(name, "tar" | "patch" | "apply_patch" | "dd" | "yq");
    if is_worked_out || WRITERS.iter().any(|writer| writer.is(name, &seen.argv) && writer.reads_others) {
        return found;
    }
    let mut is_read = false;
    for arg in words.args.iter().skip(skip) {
        let was_read = std::mem::replace(&mut is_read, READ_OPTIONS.contains(&arg.head()));
        if was_read && !arg.head().starts_with('-') {
            continue;
        }
        found.extend(leading_part(arg).map(target));
    }
    found
}

/// Every path that a text writes by a redirection or the like, and every argument of its commands, since each may be a path. Of
/// an argument such as `of=PATH`, the value counts as well.
pub(super) fn possible_paths(scan: &ShellAnalysis) -> Vec<Target> {
    let mut targets = Vec::new();
    for write in &scan.writes {
        targets.push(Target::new(write.path.clone(), &write.place));
    }
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        let values = seen.argv.iter().skip(1).filter_map(|arg| Some(arg.with_head(arg.head().split_once('=')?.1)));
        let words = seen.argv.iter().skip(1).cloned().chain(values);
        targets.extend(words.map(|path| Target::of(path, seen)));
    }
    targets
}
