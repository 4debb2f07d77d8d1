//! The first prompt of a start and of a relaunch.

use crate::App;
use crate::sessions::launch::program::SHELL;
use fairway_core::config::ProviderProfile;
use fairway_core::domain::session::Session;
use fairway_core::domain::{SessionId, TaskId};

/// Whether the session's program is an agent that reads prompts: one that Fairway knows or the configuration names. Any other
/// program gets only the caller's text.
pub(super) fn reads_prompts(app: &App, session: &Session) -> bool {
    session.provider.as_ref().filter(|provider| provider.as_str() != SHELL).is_some_and(|provider| {
        app.settings.providers.contains_key(provider.as_str())
            || app.settings.provider(provider.as_str()).profile != ProviderProfile::default()
    })
}

pub(super) fn of_start(task: &TaskId) -> String {
    format!("Your task is {task}. Begin with `fairway prime`: it prints the task, its checks and the next commands.")
}

/// The first prompt of a relaunch of `of`. It names the tasks whose claims the new session has.
pub(super) fn of_relaunch(of: &SessionId, held: &[TaskId]) -> String {
    let begin = "Begin with `fairway prime`: it prints the work so far and the next commands.";
    match held {
        [] => format!("You take the place of the session {of}, which is over. {begin}"),
        held => {
            let tasks: Vec<&str> = held.iter().map(TaskId::as_str).collect();
            let claim = if held.len() == 1 { "claim" } else { "claims" };
            format!(
                "You take the place of the session {of}, which is over. You have its {claim}: {}. {begin}",
                tasks.join(", ")
            )
        }
    }
}

/// Joins Fairway's own prompt and the caller's text; `None` without either.
pub(super) fn with_text(own: Option<String>, text: Option<&str>) -> Option<String> {
    match (own, text) {
        (Some(own), Some(text)) => Some(format!("{own}\n\n{text}")),
        (own, text) => own.or_else(|| text.map(str::to_owned)),
    }
}
