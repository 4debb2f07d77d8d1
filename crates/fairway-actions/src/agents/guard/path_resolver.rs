//! Resolves paths, with links and `..`, before rules are evaluated.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use fairway_core::config::project::normalize;
use fairway_core::guard::PathLocation;

const MAX_LINKS: usize = 40;
/// Devices that are always allowed: they store nothing.
const HARMLESS_DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];

/// Resolves paths relative to a base and tests whether they are inside the worktree.
#[derive(Debug, Clone)]
pub(super) struct PathResolver {
    pub base: PathBuf,
    /// The worktree, or the reason why it is unknown.
    pub worktree: Result<PathBuf, String>,
    /// Directories below the worktree that count as outside of it, with links resolved.
    pub protected: Vec<PathBuf>,
}

impl PathResolver {
    /// Resolves `path` and says whether it is inside the worktree. A relative `path` starts from the base, with the
    /// directories in `below` entered one after the other.
    pub(super) fn locate(&self, path: &str, below: &[String]) -> PathLocation {
        let worktree = match &self.worktree {
            Ok(worktree) => worktree,
            Err(why) => return PathLocation::Unknown(why.clone()),
        };
        if let Some(why) =
            unresolvable_reason(path).or_else(|| below.iter().find_map(|directory| unresolvable_reason(directory)))
        {
            return PathLocation::Unknown(format!("'{}' {why}", path.escape_debug()));
        }
        if HARMLESS_DEVICES.contains(&path) {
            return PathLocation::Inside(String::new());
        }
        let mut written = self.base.clone();
        for directory in below {
            written.push(directory);
        }
        written.push(path);
        if !written.is_absolute() {
            return PathLocation::Unknown("the directory of the call is unknown".to_owned());
        }
        // Programs either remove `..` from the text or let the kernel resolve it: both results must be inside.
        let (mut inside, mut protected) = (String::new(), None);
        for written in [normalize(&written), written] {
            match resolve_links(&written) {
                Err(error) => {
                    return PathLocation::Unknown(format!("'{}' cannot be resolved: {error}", path.escape_debug()));
                }
                Ok(real) => match real.strip_prefix(worktree) {
                    Ok(rest) => {
                        inside = rest.to_string_lossy().into_owned();
                        if self.protected.iter().any(|directory| real.starts_with(directory)) {
                            protected = Some(real.display().to_string());
                        }
                    }
                    Err(_) => return PathLocation::Outside(real.display().to_string()),
                },
            }
        }
        match protected {
            Some(real) => PathLocation::Protected { inside, real },
            None => PathLocation::Inside(inside),
        }
    }
}

/// The directories below the worktree that agents must not treat as a part of it: those of `directories` that are below it,
/// and `.git`.
pub(super) fn protected_directories(worktree: &Path, directories: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let git = worktree.join(".git");
    let directories = directories.filter_map(|directory| directory.canonicalize().ok());
    let below = directories.filter(|directory| directory.starts_with(worktree) && directory != worktree);
    below.chain(std::iter::once(git)).collect()
}

/// Why a path cannot be resolved from its text; `None` when it can.
fn unresolvable_reason(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.contains('\0') || path.contains('\n') {
        return Some("contains a control character");
    }
    if path.starts_with('~') || path.starts_with('$') || path.starts_with('%') {
        return Some("may be expanded to another path");
    }
    if path.contains("://") || path.starts_with("file:") {
        return Some("is a URL");
    }
    let depends_on_process = ["/proc", "/dev/fd", "/dev/std"].iter().any(|start| path.starts_with(start));
    (depends_on_process && !HARMLESS_DEVICES.contains(&path)).then_some("names a different file in each process")
}

/// The path with all links resolved. A missing path is resolved by its nearest existing parent.
fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut left: VecDeque<OsString> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    let (mut real, mut links, mut missing) = (PathBuf::from("/"), 0, 0_usize);
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            // What is missing is a directory once it is made; what is there keeps its links.
            Some(Component::ParentDir) => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(found) if found.is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many links"));
                        }
                        let target = fs::read_link(&next)?;
                        if target.is_absolute() {
                            real = PathBuf::from("/");
                        }
                        for part in target.components().rev() {
                            left.push_front(part.as_os_str().to_owned());
                        }
                    }
                    Ok(_) => real = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        missing += 1;
                        real = next;
                    }
                    Err(error) => return Err(error),
                }
            }
            _ => {}
        }
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_dots_are_followed_and_what_is_not_there_lies_by_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let tree = top.join("tree");
        fs::create_dir_all(tree.join("sub")).unwrap();
        symlink("/etc", tree.join("away")).unwrap();
        symlink(top.join("nowhere"), tree.join("dangling")).unwrap();
        symlink("sub", tree.join("near")).unwrap();
        symlink("loop", tree.join("loop")).unwrap();
        fs::create_dir_all(tree.join("state/deep")).unwrap();
        symlink("state/deep", tree.join("to-state")).unwrap();
        let places = PathResolver {
            base: tree.clone(),
            worktree: Ok(tree.clone()),
            protected: protected_directories(&tree, [tree.join("state"), top.clone()].into_iter()),
        };
        let inside = |path: &str| matches!(places.locate(path, &[]), PathLocation::Inside(_));
        for path in [
            "a",
            "sub/new/deep",
            "new/deep/../../a",
            "near/new/../a",
            "./sub/../a",
            "near/x",
            &format!("{}/a", tree.display()),
            "/dev/null",
        ] {
            assert!(inside(path), "{path}: {:?}", places.locate(path, &[]));
        }
        for path in [
            "../x", "sub/../../x", "away/passwd", "dangling", "near/../../x", "loop/x", "/etc/passwd", "~/x",
            "$HOME/x", "", "new/../../x", "away/new/../x", "away/new/deep/../../../x", "file:///etc/passwd",
            "/proc/self/cwd/x", "a\0b",
        ] {
            assert!(!inside(path), "{path}: {:?}", places.locate(path, &[]));
        }
        for path in ["state/x", "state", "to-state/x", ".git/hooks/pre-push", ".git", "sub/../.git/config"] {
            let found = places.locate(path, &[]);
            assert!(matches!(found, PathLocation::Protected { .. }), "{path}: {found:?}");
        }
        assert!(inside("states/x") && inside(".github/x") && inside(".gitignore"));
        assert!(matches!(places.locate("x", &["..".into()]), PathLocation::Outside(_)));
        assert!(matches!(places.locate("x", &["sub".into(), "..".into()]), PathLocation::Inside(_)));
        let unknown = PathResolver { base: tree.clone(), worktree: Err("no".into()), protected: Vec::new() };
        assert!(matches!(unknown.locate("a", &[]), PathLocation::Unknown(_)));

        let (state, own) = (tree.join(".fairway"), tree.join(".fairway/worktrees/l1"));
        let at = |worktree: &Path| PathResolver {
            base: worktree.to_path_buf(),
            worktree: Ok(worktree.to_path_buf()),
            protected: protected_directories(worktree, [state.clone()].into_iter()),
        };
        fs::create_dir_all(&own).unwrap();
        for path in [".fairway", ".fairway/fairway.db", ".fairway/worktrees/l1/a", "sub/../.fairway/new"] {
            assert!(matches!(at(&tree).locate(path, &[]), PathLocation::Protected { .. }), "{path}");
        }
        assert!(matches!(at(&tree).locate(".fairway.toml", &[]), PathLocation::Inside(_)));
        assert!(matches!(at(&own).locate("a", &[]), PathLocation::Inside(_)));
        assert!(matches!(at(&own).locate("../../fairway.db", &[]), PathLocation::Outside(_)));
    }
}
