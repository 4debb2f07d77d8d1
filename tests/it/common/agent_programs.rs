//! The agents' own command lines, which `tests/agents.sh` installs.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::json;

use super::mock_models::MockModels;
use super::{TestProject, require};

/// The key that a model in the test is asked with.
const KEY: &str = "mock-key-000000000000000000000000";

/// Claude Code in its mode that asks, with the commands and the tools of Fairway allowed.
const CLAUDE_MANUAL: &[&str] =
    &["--permission-mode", "default", "--allowedTools=Bash,mcp__fairway,mcp__plugin_fairway_fairway"];

/// Codex with its sandbox, and the hooks trusted. The sandbox would also open the temporary directory, and make a `.git` there while
/// a command runs: the projects of all other tests would then seem to be in a repository.
const CODEX_OWN_DIRECTORY: &[&str] = &[
    "-c",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
    "--dangerously-bypass-hook-trust",
];

/// The directory of programs that `tests/agents.sh` fills; `None` where this program is not installed in it.
pub fn installed(directory: &str, name: &str) -> Option<PathBuf> {
    let home = env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
    let bin = cache.join("fairway-tests").join(directory);
    let reason = format!("{name} is not installed in {}; tests/agents.sh installs it", bin.display());
    require::met(bin.join(name).is_file(), reason).then_some(bin)
}

/// An agent's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Gemini,
}

impl Agent {
    /// The name of its program, and of its provider.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Its program; `None` where it is not installed.
    pub fn program(self) -> Option<PathBuf> {
        installed("npm/node_modules/.bin", self.name()).map(|bin| bin.join(self.name()))
    }

    /// Answers its first questions before it asks, in the home of this world, and tells it where its model is. What it needs
    /// in its environment is the answer.
    pub fn configure(self, world: &TestProject, models: &MockModels) -> Vec<(&'static str, String)> {
        let home = world.dir().join("home");
        let root = world.root().canonicalize().unwrap().display().to_string();
        match self {
            Self::Claude => {
                let answers = json!({
                    "hasCompletedOnboarding": true,
                    "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
                    "projects": { root: { "hasTrustDialogAccepted": true } },
                });
                fs::write(home.join(".claude.json"), answers.to_string()).unwrap();
                vec![
                    ("ANTHROPIC_BASE_URL", models.address().to_owned()),
                    ("ANTHROPIC_API_KEY", KEY.to_owned()),
                    ("DISABLE_AUTOUPDATER", "1".to_owned()),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ]
            }
            Self::Codex => {
                let settings = format!(
                    "model = \"mock-model\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
                     [model_providers.mock]\nname = \"mock\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
                     env_key = \"MOCK_KEY\"\n[projects.\"{root}\"]\ntrust_level = \"trusted\"\n",
                    models.address()
                );
                fs::create_dir_all(home.join(".codex")).unwrap();
                fs::write(home.join(".codex/config.toml"), settings).unwrap();
                vec![("MOCK_KEY", KEY.to_owned())]
            }
            Self::Gemini => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "privacy": { "usageStatisticsEnabled": false },
                    "general": { "disableAutoUpdate": true, "disableUpdateNag": true },
                });
                fs::create_dir_all(home.join(".gemini")).unwrap();
                fs::write(home.join(".gemini/settings.json"), settings.to_string()).unwrap();
                vec![
                    ("GEMINI_API_KEY", KEY.to_owned()),
                    ("GOOGLE_GEMINI_BASE_URL", models.address().to_owned()),
                    ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
                ]
            }
        }
    }

    /// The words that let it work in a terminal without a person, in its default sandbox and permission mode.
    ///
    /// Claude Code asks for each command, unless a person has allowed it: the words are the settings of one who has. Its "auto"
    /// mode asks a model of the vendor's, which the test has not. Codex asks only for what its sandbox forbids, and in a terminal
    /// whether the hooks are trusted, which tests of their own answer. Gemini CLI cannot be told to allow commands one by one
    /// that are made of several, so that it alone is told to allow all.
    pub fn unattended_args(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Claude => CLAUDE_MANUAL,
            Self::Codex => CODEX_OWN_DIRECTORY,
            Self::Gemini => &["--yolo"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The words that let it do one thing without a terminal and without a person, as [`Self::unattended_args`] does.
    pub fn headless_args(self, prompt: &str) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Claude => &[CLAUDE_MANUAL[0], CLAUDE_MANUAL[1], CLAUDE_MANUAL[2], "-p", prompt],
            Self::Codex => &["exec", "--skip-git-repo-check"],
            Self::Gemini => &["--yolo", "-p", prompt],
        };
        let more = if self == Self::Codex { [CODEX_OWN_DIRECTORY, &[prompt]].concat() } else { Vec::new() };
        words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
    }

    /// Where it keeps its own records, below a home.
    pub fn transcripts(self, home: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let (folder, part) = match self {
            Self::Claude => (".claude/projects", ""),
            Self::Codex => (".codex/sessions", "rollout-"),
            Self::Gemini => (".gemini/tmp", "session-"),
        };
        walk(&home.join(folder), part, &mut found);
        found
    }
}

fn walk(folder: &Path, part: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            walk(&path, part, found);
        } else if path.extension().is_some_and(|end| end == "jsonl")
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(part))
        {
            found.push(path);
        }
    }
}
