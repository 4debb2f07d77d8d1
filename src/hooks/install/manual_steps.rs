//! What is left to do by hand.

use super::settings_file::Target;
use crate::hooks::Provider;

/// What a provider itself still wants before it runs our hooks, and where they are not seen.
#[must_use]
pub fn manual_steps(provider: Provider, target: &Target) -> Vec<String> {
    let mut left = Vec::new();
    let in_project = matches!(target, Target::Project(_));
    match provider {
        Provider::Codex => {
            left.push("codex skips them in silence until you have trusted them: start it and type /hooks".to_owned());
            if in_project {
                left.push(
                    "it reads a project's hooks only where the project is trusted, in its config.toml".to_owned(),
                );
            }
        }
        Provider::Gemini if in_project => {
            left.push("gemini runs a project's hooks only in a directory that it trusts".to_owned());
        }
        Provider::Claude | Provider::Gemini => {}
    }
    if in_project {
        left.push("a worktree of its own has them when the file is committed; --user enters them for all".to_owned());
    }
    left.push(format!("to see that they hold: fairway doctor hooks {}", provider.label()));
    left
}
