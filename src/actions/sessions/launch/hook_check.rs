//! The hooks of a launch: writes their settings file, and asks the program beside its start whether it runs them.

use std::{io, thread::JoinHandle};

use super::{
    plan::LaunchPlan,
    provider_hooks::{HookQuestion, HookVerdict},
};
use crate::{actions::App, domain::SessionId, os::files};

/// A question that is under way.
#[derive(Debug)]
pub(crate) struct HookCheck {
    provider: String,
    answer: JoinHandle<HookVerdict>,
}

/// Writes the settings file, and starts to ask the program. `None` when there is nothing to ask.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn start(app: &App, plan: &LaunchPlan) -> io::Result<Option<HookCheck>> {
    if let Some((path, text)) = &plan.hooks.file {
        files::private_dir(&app.project.launch_hooks_dir())?;
        files::write_atomic_nosync(path, text.as_bytes(), 0o600)?;
    }
    let Some(question) = plan.hooks.question.clone() else { return Ok(None) };
    let known = plan.known_hooks;
    let provider = question.provider.clone();
    let ask = move || {
        let question: HookQuestion = question;
        known.ask(&question)
    };
    let answer = std::thread::Builder::new().name("hook check".to_owned()).spawn(ask)?;
    Ok(Some(HookCheck { provider, answer }))
}

impl HookCheck {
    /// Waits for the answer. A note when the hooks do not run, or that is unknown.
    pub(crate) fn note(self, session: &SessionId) -> Option<String> {
        let provider = self.provider;
        match self.answer.join().unwrap_or_else(|_| HookVerdict::Unknown("the question failed".to_owned())) {
            HookVerdict::Runs => None,
            HookVerdict::Skipped(how) => Some(format!(
                "{provider} skips the hooks of Fairway until you trust them in its window ({how}): until then it has no guard, \
                 and reports no activity. It asks at its start: fairway session attach {session}"
            )),
            HookVerdict::Unknown(why) => Some(format!("unknown whether {provider} runs the hooks of Fairway: {why}")),
        }
    }
}
