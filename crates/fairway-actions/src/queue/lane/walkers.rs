//! Tools that look at every file below the project, and so at the lanes in its state directory.

use std::fs;
use std::path::Path;

use fairway_core::config::project::STATE_DIR;

/// A tool, and what keeps it out of the state directory.
pub struct Walker {
    pub name: &'static str,
    /// Whether `package.json` names it; else this file of it is there.
    sign: Sign,
    /// How the names of the files begin in which a person leaves directories out.
    settings: &'static [&'static str],
    /// A clause that says how to leave the directory out.
    pub mend: &'static str,
}

enum Sign {
    Package,
    File(&'static str),
}

const WALKERS: [Walker; 5] = [
    Walker {
        name: "vitest",
        sign: Sign::Package,
        settings: &["vitest.", "vite.config."],
        mend: "add '**/.fairway/**' to test.exclude of its configuration",
    },
    Walker {
        name: "jest",
        sign: Sign::Package,
        settings: &["jest.", "package.json"],
        mend: "add '<rootDir>/.fairway/' to modulePathIgnorePatterns of its configuration",
    },
    Walker {
        name: "eslint",
        sign: Sign::Package,
        settings: &["eslint.config.", ".eslintignore", "package.json"],
        mend: "add { ignores: ['.fairway/'] } to its configuration",
    },
    Walker {
        name: "prettier",
        sign: Sign::Package,
        settings: &[".prettierignore", ".gitignore"],
        mend: "echo .fairway >>.prettierignore",
    },
    Walker {
        name: "a build from the Dockerfile",
        sign: Sign::File("Dockerfile"),
        settings: &[".dockerignore", "Dockerfile.dockerignore"],
        mend: "echo .fairway >>.dockerignore",
    },
];

/// The tools of a project that look below the state directory.
pub fn find(root: &Path) -> impl Iterator<Item = &'static Walker> {
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    let names: Vec<String> = fs::read_dir(root)
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    let package = read("package.json");
    WALKERS.iter().filter(move |walker| {
        let is_there = match walker.sign {
            Sign::Package => package.contains(&format!("\"{}\"", walker.name)),
            Sign::File(file) => names.iter().any(|name| name == file),
        };
        let is_own = |name: &&String| walker.settings.iter().any(|begin| name.starts_with(begin));
        is_there
            && !names
                .iter()
                .filter(is_own)
                .any(|name| fs::read_to_string(root.join(name)).is_ok_and(|text| text.contains(STATE_DIR)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_walks_in_until_its_settings_name_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let found = || find(root).map(|walker| walker.name).collect::<Vec<_>>();
        assert_eq!(found(), [""; 0]);
        fs::write(root.join("Dockerfile"), "COPY . .").unwrap();
        fs::write(root.join("package.json"), r#"{"devDependencies": {"prettier": "3", "vitest": "3"}}"#).unwrap();
        assert_eq!(found(), ["vitest", "prettier", "a build from the Dockerfile"]);
        fs::write(root.join(".dockerignore"), ".fairway\n").unwrap();
        fs::write(root.join(".gitignore"), "node_modules\n.fairway/\n").unwrap();
        fs::write(root.join("vitest.config.ts"), "exclude: ['**/.fairway/**']").unwrap();
        assert_eq!(found(), [""; 0]);
    }
}
