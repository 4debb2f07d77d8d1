//! Git is asked. Each source that reads a file of git's own is in `docs/design/git-files.md`, with its reason.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::rust_files::sources;

/// Texts of a source that reads, or writes, a file of git.
const READS: [&str; 13] = [
    "\"commondir\"", "\"gitdir\"", "\"config.worktree\"", "\"packed-refs\"", "join(\"worktrees\")", "git_path(",
    "\"info/alternates\"", "\"rebase-merge", "\".git/config", "\"reftable/", "info/exclude", "\"MERGE_HEAD\"",
    "join(\"index",
];
/// Names in git's directory, where they are joined to a path.
const NAMES: [&str; 19] = [
    "HEAD", "ORIG_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "AUTO_MERGE",
    "config", "logs", "objects", "refs", "description", "modules", "info", "shallow", "rebase-apply", "sequencer",
    ".git/HEAD",
];

fn reads(source: &str) -> bool {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let is_read = |line: &str| {
        let joined = |name: &&str| ["\"", "/"].iter().any(|end| line.contains(&format!("join(\"{name}{end}")));
        READS.iter().any(|read| line.contains(read)) || NAMES.iter().any(joined)
    };
    code.lines().filter(|line| !line.trim_start().starts_with("//")).any(is_read)
}

#[test]
fn every_read_of_a_file_of_git_has_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/design/git-files.md")).unwrap();
    let told: BTreeSet<String> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned)).collect();
    // Attempts to get out of a sandbox, which write there, and names in the commands that the guard judges.
    let is_attempt =
        |path: &str| path.contains("/sandbox/check/") || path.starts_with("crates/fairway-core/src/guard/");
    let reads_git = |file: &Path| {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        (!is_attempt(&path) && reads(&std::fs::read_to_string(file).unwrap())).then_some(path)
    };
    let found: BTreeSet<String> = sources().iter().filter_map(|file| reads_git(file)).collect();
    assert!(reads("let tip = git_dir.join(\"logs/HEAD\");") && !reads("let own = dir.join(\"config.toml\");"));
    assert_eq!(found, told, "ask git instead, or add a row with the reason to docs/design/git-files.md");
}
