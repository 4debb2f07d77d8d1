//! Tools that look at every file below the project, and so at the lanes in its state directory.

use std::fs;
use std::path::Path;

use fairway_core::config::project::STATE_DIR;

/// A tool, and what keeps it out of the state directory.
pub struct Walker {
    pub name: &'static str,
    /// Whether it looks there as long as its settings do not say otherwise.
    walks: fn(&Root<'_>) -> bool,
    /// How the names of the files begin in which a person leaves directories out.
    settings: &'static [&'static str],
    /// A clause that says how to leave the directory out.
    pub mend: &'static str,
}

const WALKERS: [Walker; 11] = [
    Walker {
        name: "vitest",
        walks: |root| root.has_package("vitest"),
        settings: &["vitest.", "vite.config."],
        mend: "add '**/.fairway/**' to test.exclude of its configuration",
    },
    Walker {
        name: "jest",
        walks: |root| root.has_package("jest"),
        settings: &["jest.", "package.json"],
        mend: "add '<rootDir>/.fairway/' to modulePathIgnorePatterns of its configuration",
    },
    Walker {
        name: "eslint",
        walks: |root| root.has_package("eslint"),
        settings: &["eslint.config.", ".eslintignore", "package.json"],
        mend: "add { ignores: ['.fairway/'] } to its configuration",
    },
    Walker {
        name: "prettier",
        walks: |root| root.has_package("prettier"),
        settings: &[".prettierignore", ".gitignore"],
        mend: "echo .fairway >>.prettierignore",
    },
    Walker {
        name: "biome",
        walks: |root| root.has_package("@biomejs/biome"),
        settings: &["biome.json"],
        mend: "add '**' and '!.fairway' to files.includes of biome.json",
    },
    // The others leave hidden directories out, unless their settings say otherwise.
    Walker {
        name: "tsc",
        walks: |root| root.words("tsconfig.json").iter().any(|word| word.starts_with(".*/")),
        settings: &["tsconfig.json"],
        mend: "add '.fairway' to exclude of tsconfig.json",
    },
    Walker {
        name: "pytest",
        walks: |root| {
            root.says(&PYTEST, "norecursedirs") && !root.says(&PYTEST, "testpaths") && !root.says(&PYTEST, ".*")
        },
        settings: &PYTEST,
        mend: "add .fairway to norecursedirs of its configuration",
    },
    Walker {
        name: "flake8",
        walks: |root| root.says(&FLAKE8, "flake8"),
        settings: &FLAKE8,
        mend: "add .fairway to extend-exclude of its configuration",
    },
    Walker {
        name: "isort",
        walks: |root| {
            (root.has_file(".isort.cfg") || root.says(&ISORT, "tool.isort")) && !root.says(&ISORT, "skip_gitignore")
        },
        settings: &ISORT,
        mend: "add .fairway to extend_skip of its configuration",
    },
    Walker {
        name: "cargo",
        walks: |root| {
            let manifest: toml::Table = root.read("Cargo.toml").parse().unwrap_or_default();
            let members = manifest.get("workspace").and_then(|found| found.get("members")?.as_array());
            members.is_some_and(|all| all.iter().any(|one| one.as_str().is_some_and(|one| one.starts_with('*'))))
        },
        settings: &["Cargo.toml"],
        mend: "add '.fairway' to workspace.exclude of Cargo.toml",
    },
    Walker {
        name: "a build from the Dockerfile",
        walks: |root| root.has_file("Dockerfile"),
        settings: &[".dockerignore", "Dockerfile.dockerignore"],
        mend: "echo .fairway >>.dockerignore",
    },
];

const PYTEST: [&str; 4] = ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"];
const FLAKE8: [&str; 3] = [".flake8", "setup.cfg", "tox.ini"];
const ISORT: [&str; 2] = [".isort.cfg", "pyproject.toml"];

/// The files at the top of a project.
struct Root<'a> {
    dir: &'a Path,
    names: Vec<String>,
}

impl Root<'_> {
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }

    /// The words of a file of settings.
    fn words(&self, name: &str) -> Vec<String> {
        let ends = |one: char| one.is_whitespace() || "\"'`,:=[](){}".contains(one);
        self.read(name).split(ends).map(str::to_owned).collect()
    }

    fn says(&self, files: &[&str], word: &str) -> bool {
        files.iter().any(|file| self.words(file).iter().any(|one| one == word))
    }

    fn has_file(&self, name: &str) -> bool {
        self.names.iter().any(|one| one == name)
    }

    fn has_package(&self, name: &str) -> bool {
        self.read("package.json").contains(&format!("\"{name}\""))
    }

    fn is_kept_out(&self, walker: &Walker) -> bool {
        let own = self.names.iter().filter(|name| walker.settings.iter().any(|begin| name.starts_with(begin)));
        own.map(|name| self.read(name)).any(|text| text.contains(STATE_DIR))
    }
}

/// The tools of a project that look below the state directory.
pub fn find(dir: &Path) -> impl Iterator<Item = &'static Walker> {
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let root = Root { dir, names: names.filter_map(|entry| entry.file_name().into_string().ok()).collect() };
    WALKERS.iter().filter(move |walker| (walker.walks)(&root) && !root.is_kept_out(walker))
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
        // As tried: hidden directories are looked at only by these settings.
        for (file, walks, kept_out) in [
            ("tsconfig.json", r#"{"include": [".*/**/*"]}"#, r#"{"include": [".*/**/*"], "exclude": [".fairway"]}"#),
            ("tsconfig.json", r#"{"include": [".*/**/*"]}"#, r#"{"include": ["**/*", "./a"]}"#),
            ("pytest.ini", "[pytest]\nnorecursedirs = build", "[pytest]\nnorecursedirs = build .*"),
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\nnorecursedirs=['a']",
                "[tool.pytest.ini_options]\nnorecursedirs=['.*']",
            ),
            ("tox.ini", "[pytest]\nnorecursedirs = build", "[pytest]\nnorecursedirs = build\ntestpaths = tests"),
            ("setup.cfg", "[flake8]\nmax-line-length = 90", "[flake8]\nextend-exclude =\n  .fairway,\n"),
            (".isort.cfg", "[settings]\nprofile=black", "[settings]\nskip_gitignore=true"),
            (
                "Cargo.toml",
                "[workspace]\nmembers = ['*']",
                "[workspace]\nmembers = ['*']\nexclude = ['.git', '.fairway']",
            ),
            (
                "Cargo.toml",
                "[workspace]\nmembers = ['*/*']",
                "[workspace]\nmembers = ['crates/*']\n[dependencies]\na = '*'",
            ),
        ] {
            fs::write(root.join(file), walks).unwrap();
            assert_eq!(found().len(), 1, "{walks}: {:?}", found());
            fs::write(root.join(file), kept_out).unwrap();
            assert_eq!(found(), [""; 0], "{kept_out}");
            fs::remove_file(root.join(file)).unwrap();
        }
    }
}
