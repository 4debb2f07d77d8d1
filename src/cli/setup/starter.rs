//! The sections that setup adds to `.fairway.toml`.

use std::path::Path;

/// Lock files, each with the command that writes it anew and changes nothing else.
const LOCK_FILES: [(&str, &str); 5] = [
    ("Cargo.lock", "cargo update --workspace"),
    ("Gemfile.lock", "bundle lock"),
    ("package-lock.json", "npm install --package-lock-only"),
    ("pnpm-lock.yaml", "pnpm install --lockfile-only"),
    ("uv.lock", "uv lock"),
];

/// The section for the lock files of a project; `None` without any.
pub(super) fn lock_files(root: &Path) -> Option<String> {
    let found = LOCK_FILES.iter().filter(|(file, _)| root.join(file).is_file());
    let entries: Vec<String> = found.map(|(file, command)| format!("\"{file}\" = \"{command}\"")).collect();
    let comment = "# Where two lanes have changed a lock file, a landing writes it anew. After a change: fairway trust";
    (!entries.is_empty()).then(|| format!("{comment}\n[land]\nregenerate = {{ {} }}\n", entries.join(", ")))
}

/// The section for a project that setup creates.
pub(super) const CLAIMS: &str = "\
[claims]
own_lane_only = true # an agent of a lane claims only tasks of that lane

[agents]
continue = 2 # how often an agent that stops half-way is told what its task still needs
";

/// The first rules of a project without any.
pub(super) const GUARD: &str = "\
# What agents may run. Try a rule: fairway guard test --role dev --input 'git push --force'. After a change: fairway trust
[guard]
default = \"allow\"

[[guard.rules]]
name = \"no-force-push\"
effect = \"force-push\"
action = \"deny\"
reason = \"a force push is for people\"

[[guard.rules]]
name = \"no-rm-outside\"
tools = [\"Bash\"]
command = [\"rm\"]
outside = \"worktree\"
action = \"deny\"
reason = \"files outside of the worktree are not yours to remove\"
";
