//! The steps after `hook install` that the user must do.

use super::settings_file::Target;
use crate::hooks::Provider;

/// The provider's conditions for running the hooks, and where the hooks are not loaded.
pub fn manual_steps(provider: Provider, target: &Target) -> Vec<String> {
    let mut steps = Vec::new();
    let in_project = matches!(target, Target::Project(_) | Target::Local(_));
    match provider {
        Provider::Codex => {
            steps.push(
                "codex skips the hooks without a message until you trust them: start codex and enter /hooks".to_owned(),
            );
            if in_project {
                steps.push("codex reads a project's hooks only if its config.toml trusts the project".to_owned());
            }
        }
        Provider::Gemini if in_project => {
            steps.push("gemini runs a project's hooks only in a trusted directory".to_owned());
        }
        Provider::Claude | Provider::Gemini => {}
    }
    if matches!(target, Target::Project(_)) {
        steps.push(
            "other worktrees have the hooks once the file is committed; --user installs them for all projects"
                .to_owned(),
        );
    }
    steps.push(format!("check the hooks: fairway doctor hooks {}", provider.label()));
    steps
}
