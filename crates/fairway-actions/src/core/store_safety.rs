//! Protection of the store from commands that change or remove every file of a tree: snapshots outside of the tree, made after
//! writes, and a shield from `git clean`, which `session reconcile`, `session launch` and `serve` set up.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::App;
use fairway_core::config::Project;
use fairway_core::config::project::GitDir;
use fairway_core::os::files;
use fairway_core::store::StoreError;
use fairway_core::store::snapshots::{self, When};

/// Shields the state directory from `git clean`, writes the WAL of an idle store back into its file, and makes a snapshot if one
/// is due. Returns a warning only for a damaged store; any other failure is ignored, so that the caller's command succeeds.
pub fn keep_safe(app: &App) -> Option<String> {
    install(&app.project);
    let outside = app.project.outside_dir()?;
    let store = app.store_for_reading().ok()?;
    // A log that cannot be written back now is written back later.
    let _ = snapshots::write_back_idle_log(store);
    match snapshots::make(store, &outside, app.env.now(), When::Due) {
        Err(error @ (StoreError::Damaged { .. } | StoreError::Lost { .. })) => {
            Some(format!("warning: no snapshot was made: {error}; check the store: fairway doctor"))
        }
        _ => None,
    }
}

/// The file in git's common directory with the paths that git ignores in one clone.
const EXCLUDE: &str = "info/exclude";
/// The name of the empty repository in git's common directory.
const SHIELD: &str = "fairway";
const FILES: [(&str, &str); 2] =
    [("HEAD", "ref: refs/heads/none\n"), ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")];

/// Makes git treat the state directory as a repository of its own, if the project is in a repository. Failures are ignored,
/// because the callers have other work.
pub fn install(project: &Project) {
    let _ = try_install(project);
}

/// The empty repository that shields the state directory from `git clean`, and git's file of ignored paths; `None` when there is
/// no shield.
pub fn installed(project: &Project) -> Option<(PathBuf, PathBuf)> {
    let common = GitDir::around(&project.root)?.common;
    let (shield, exclude) = (common.join(SHIELD), common.join(EXCLUDE));
    (project.state.join(".git").is_file() && shield.is_dir()).then_some((shield, exclude))
}

fn try_install(project: &Project) -> io::Result<()> {
    let Some(git) = GitDir::around(&project.root) else { return Ok(()) };
    let state = project.state.canonicalize()?;
    let (top, common) = (git.top.canonicalize()?, git.common.canonicalize()?);
    let link = project.state.join(".git");
    if link.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    // First: git reads no ignore file inside of another repository.
    exclude(&common, &state, &top)?;
    let shield = common.join(SHIELD);
    for dir in ["objects", "refs"] {
        fs::create_dir_all(shield.join(dir))?;
    }
    for (name, text) in FILES {
        write_if_different(&shield.join(name), text)?;
    }
    write_if_different(&link, &format!("gitdir: {}\n", relative(&state, &shield).display()))
}

/// Adds the state directory to the paths that git ignores in this clone.
fn exclude(common: &Path, state: &Path, top: &Path) -> io::Result<()> {
    let rest = state.strip_prefix(top).map_err(io::Error::other)?;
    let rest = rest.to_str().filter(|rest| !rest.contains('\n')).ok_or_else(|| io::Error::other("is no pattern"))?;
    let mut pattern = String::from("/");
    for character in rest.chars() {
        if matches!(character, '\\' | '*' | '?' | '[') {
            pattern.push('\\');
        }
        let _ = write!(pattern, "{character}");
    }
    pattern.push('/');
    let path = common.join(EXCLUDE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    if text.lines().any(|line| line == pattern) {
        return Ok(());
    }
    fs::create_dir_all(common.join("info"))?;
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{newline}{pattern}\n").as_bytes())
}

fn write_if_different(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    files::write_atomic_nosync(path, text.as_bytes(), 0o600)
}

/// The path from `from` to `to`, so that it stays valid when both move.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let mut shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    // Paths that share only the root are not in one tree.
    if shared <= 1 {
        return to.to_path_buf();
    }
    let up = from.components().count() - shared;
    let mut path: PathBuf = std::iter::repeat_n(Component::ParentDir, up).collect();
    for component in to.components() {
        if shared > 0 {
            shared -= 1;
        } else {
            path.push(component);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_leads_over_the_nearest_shared_directory() {
        let from_to = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(from_to("/a/p/.fairway", "/a/p/.git/fairway"), "../.git/fairway");
        assert_eq!(from_to("/a/p/sub/.fairway", "/a/p/.git/fairway"), "../../.git/fairway");
        assert_eq!(from_to("/a/p/.fairway", "/b/repo.git/fairway"), "/b/repo.git/fairway");
    }
}
