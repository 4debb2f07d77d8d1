//! The names of git's own commands and of its options with a value.

/// Commands that are part of git itself in each supported version, so that no alias can have their name. Deprecated commands
/// are not among them: later versions let an alias replace them.
pub const BUILT_IN_COMMANDS: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "blame", "branch", "bugreport", "bundle", "cat-file", "check-attr",
    "check-ignore", "check-mailmap", "check-ref-format", "checkout", "checkout--worker", "checkout-index", "cherry",
    "cherry-pick", "clean", "clone", "column", "commit", "commit-graph", "commit-tree", "config", "count-objects",
    "credential", "credential-cache", "credential-cache--daemon", "credential-store", "describe", "diagnose", "diff",
    "diff-files", "diff-index", "diff-tree", "difftool", "fast-export", "fast-import", "fetch", "fetch-pack",
    "fmt-merge-msg", "for-each-ref", "for-each-repo", "format-patch", "fsck", "fsck-objects", "fsmonitor--daemon",
    "gc", "get-tar-commit-id", "grep", "hash-object", "help", "hook", "index-pack", "init", "init-db",
    "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance", "merge",
    "merge-base", "merge-file", "merge-index", "merge-ours", "merge-recursive", "merge-recursive-ours",
    "merge-recursive-theirs", "merge-subtree", "merge-tree", "mktag", "mktree", "multi-pack-index", "mv", "name-rev",
    "notes", "pack-objects", "pack-refs", "patch-id", "pickaxe", "prune", "prune-packed", "pull", "push", "range-diff",
    "read-tree", "rebase", "receive-pack", "reflog", "remote", "remote-ext", "remote-fd", "repack", "replace",
    "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "send-pack", "shortlog", "show",
    "show-branch", "show-index", "show-ref", "sparse-checkout", "stage", "stash", "status", "stripspace",
    "submodule--helper", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects", "update-index",
    "update-ref", "update-server-info", "upload-archive", "upload-archive--writer", "upload-pack", "var",
    "verify-commit", "verify-pack", "verify-tag", "version", "worktree", "write-tree",
];

/// The other commands of git: programs of their own, which may not be installed, deprecated ones, and those of some versions.
const OTHER_COMMANDS: &[&str] = &[
    "archimport", "backfill", "bisect", "citool", "cvsexportcommit", "cvsimport", "cvsserver", "daemon", "diff-pairs",
    "filter-branch", "gitk", "gui", "http-backend", "http-fetch", "http-push", "imap-send", "instaweb",
    "last-modified", "lfs", "merge-one-file", "mergetool", "p4", "pack-redundant", "quiltimport", "refs", "replay",
    "repo", "request-pull", "send-email", "sh-i18n--envsubst", "shell", "submodule", "subtree", "svn", "web--browse",
    "whatchanged",
];

/// Options of git itself whose value is the next word.
const OPTIONS_WITH_VALUE: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Whether git itself has a command of this name. Any other name may be an alias.
pub(super) fn is_own_command(command: &str) -> bool {
    BUILT_IN_COMMANDS.contains(&command) || OTHER_COMMANDS.contains(&command)
}

/// Whether the word behind this option of git is its value.
pub fn takes_value(option: &str) -> bool {
    OPTIONS_WITH_VALUE.contains(&option)
}
