//! The sections that setup adds to `.fairway.toml`.

use std::path::Path;

/// A lock file and its programs.
struct LockFile {
    name: &'static str,
    /// The command that writes it anew and changes nothing else.
    regenerate: Option<&'static str>,
    /// What a worktree lacks without the packages, and the command that installs them; `None` where building does.
    install: Option<(&'static str, &'static str)>,
}

const fn lock_file(
    name: &'static str,
    regenerate: Option<&'static str>,
    install: Option<(&'static str, &'static str)>,
) -> LockFile {
    LockFile { name, regenerate, install }
}

/// Of those that install the same, the first one that is there counts.
const LOCK_FILES: [LockFile; 12] = [
    lock_file("Cargo.lock", Some("cargo update --workspace"), None),
    lock_file("Gemfile.lock", Some("bundle lock"), Some(("gems", "bundle install"))),
    lock_file("bun.lock", None, Some(("node_modules", "bun install --frozen-lockfile"))),
    lock_file("composer.lock", None, Some(("packages", "composer install"))),
    lock_file("mix.lock", None, Some(("deps", "mix deps.get"))),
    lock_file("package-lock.json", Some("npm install --package-lock-only"), Some(("node_modules", "npm ci"))),
    lock_file(
        "pnpm-lock.yaml",
        Some("pnpm install --lockfile-only"),
        Some(("node_modules", "pnpm install --frozen-lockfile")),
    ),
    lock_file("yarn.lock", None, Some(("node_modules", "yarn install --frozen-lockfile"))),
    lock_file("uv.lock", Some("uv lock"), Some((".venv", "uv sync"))),
    lock_file("poetry.lock", None, Some((".venv", "poetry install"))),
    lock_file("Pipfile.lock", None, Some((".venv", "pipenv sync"))),
    lock_file(
        "requirements.txt",
        None,
        Some((".venv", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt")),
    ),
];

fn found(root: &Path) -> impl Iterator<Item = &'static LockFile> {
    LOCK_FILES.iter().filter(|file| root.join(file.name).is_file())
}

/// The section for the lock files of a project; `None` without any.
pub(super) fn regeneration(root: &Path) -> Option<String> {
    let entries: Vec<String> = found(root)
        .filter_map(|file| file.regenerate.map(|command| format!("\"{}\" = \"{command}\"", file.name)))
        .collect();
    let comment = "# Where two lanes have changed a lock file, a landing writes it anew. After a change: fairway trust";
    (!entries.is_empty()).then(|| format!("{comment}\n[land]\nregenerate = {{ {} }}\n", entries.join(", ")))
}

/// The section that installs packages in each new lane; `None` where none are installed.
pub(super) fn lane_setup(root: &Path) -> Option<String> {
    let (mut places, mut commands, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for file in found(root) {
        if let Some((place, command)) = file.install.filter(|(place, _)| !places.contains(place)) {
            places.push(place);
            commands.push(command);
            files.push(file.name);
        }
    }
    let comment =
        "# What makes a new lane ready, once and after each change of these files. After a change: fairway trust";
    (!commands.is_empty())
        .then(|| format!("{comment}\n[lanes]\nsetup = {commands:?}\nsetup_when_changed = {files:?}\n"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_install_what_lock_files_name_and_each_place_once() {
        let home = tempfile::tempdir().unwrap();
        let lanes = |files: &[&str]| {
            let root = home.path().join(format!("with {}", files.join("+")));
            std::fs::create_dir(&root).unwrap();
            for file in files {
                std::fs::write(root.join(file), "").unwrap();
            }
            lane_setup(&root).map(|section| section.lines().skip(2).collect::<Vec<_>>().join("; "))
        };
        let both = "setup = [\"npm ci\", \"uv sync\"]; setup_when_changed = [\"package-lock.json\", \"uv.lock\"]";
        for (files, expected) in [
            (&["Cargo.lock"][..], None),
            (&[], None),
            (&["package-lock.json", "requirements.txt", "uv.lock", "yarn.lock"], Some(both)),
            (
                &["pnpm-lock.yaml"],
                Some("setup = [\"pnpm install --frozen-lockfile\"]; setup_when_changed = [\"pnpm-lock.yaml\"]"),
            ),
        ] {
            assert_eq!(lanes(files).as_deref(), expected, "{files:?}");
        }
    }
}
