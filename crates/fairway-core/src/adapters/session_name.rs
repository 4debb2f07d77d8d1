//! A session's name in its backend. All projects of a user share the backends, so the name has a part for the project.

use std::fs;
use std::path::Path;

use super::builtin_scripts::BuiltIn;
use crate::domain::SessionId;
use crate::os::digest;

/// How many hexadecimal digits the project's part has.
const PROJECT_CHARS: usize = 6;

/// The name of a new session: `<id>.<project>` for a built-in script that keeps dots in names, else `<id>-<project>`. Scripts
/// that are not built in get the second form, because it consists only of characters that are valid in ids.
pub fn session_name(id: &SessionId, built_in: Option<&BuiltIn>, project: &str) -> String {
    let separator = if built_in.is_some_and(|script| script.allows_points) { '.' } else { '-' };
    format!("{id}{separator}{project}")
}

/// The part of a session's name that stands for the project: the beginning of a digest of the canonical path of the project's
/// store. Session ids are unique within a store. A store that was restored from a backup keeps its path and so this part; a copy
/// of the project elsewhere has another one.
pub fn project_part(store: &Path) -> String {
    let dir = store.parent().unwrap_or(store);
    let canonical = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let path = canonical.join(store.file_name().unwrap_or_default());
    digest::sha256_hex(path.as_os_str().as_encoded_bytes()).chars().take(PROJECT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::builtin_scripts;

    #[test]
    fn separator_is_in_the_alphabet_of_the_backend() {
        let id = SessionId::parse("api-1").unwrap();
        let name = |backend| session_name(&id, builtin_scripts::find(backend), "0a1b2c");
        assert_eq!(name("shell"), "api-1.0a1b2c");
        for backend in ["tmux", "screen", "zellij", "a configured script"] {
            assert_eq!(name(backend), "api-1-0a1b2c", "{backend}");
        }
    }

    #[test]
    fn project_part_follows_the_canonical_path_of_the_store() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        fs::create_dir_all(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let part = project_part(&real.join("fairway.db"));
        assert!(part.len() == PROJECT_CHARS && part.bytes().all(|byte| byte.is_ascii_hexdigit()), "{part}");
        assert_eq!(project_part(&link.join("fairway.db")), part);
        assert_ne!(project_part(&real.join("other.db")), part);
    }
}
