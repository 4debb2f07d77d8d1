//! The hooks of a launch: writes their settings file, and asks the provider's program, while it is started, whether it runs
//! them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::JoinHandle;
use std::{fs, io};

use super::plan::LaunchPlan;
use super::provider_hooks::{HookQuestion, HookVerdict};
use crate::App;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind};
use fairway_core::env::Timestamp;
use fairway_core::os::files;

/// The prefix of the files that record that the hooks of a launch run in a conversation.
pub const SIGN_PREFIX: &str = "runs-";
/// How long such a file is kept, in seconds: 30 days.
const SIGN_SECS: i64 = 30 * 24 * 60 * 60;

/// A question to the provider's program that is not answered yet.
#[derive(Debug)]
pub(crate) struct HookCheck {
    provider: String,
    answer: JoinHandle<HookVerdict>,
}

/// Writes the hooks' settings file, and starts a thread that asks the provider's program whether it runs the hooks. `None` when
/// there is nothing to ask.
pub(crate) fn start(app: &App, plan: &LaunchPlan) -> io::Result<Option<HookCheck>> {
    if let Some((path, text)) = &plan.hooks.file {
        let directory = app.project.launch_hooks_dir();
        files::private_dir(&directory)?;
        files::write_atomic_nosync(path, text.as_bytes(), 0o600)?;
        prune_signs(&directory, app.env.now());
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

/// Removes old files with [`SIGN_PREFIX`]. A hook of a launch writes its file again at its next event.
fn prune_signs(directory: &Path, now: Timestamp) {
    let oldest = now.millis() / 1000 - SIGN_SECS;
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SIGN_PREFIX)) {
        if entry.metadata().is_ok_and(|found| found.mtime() < oldest) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl HookCheck {
    /// Waits for the answer of the provider's program. Returns a note when the program does not run the hooks, or when that is
    /// unknown. Records a setting that turns them off, for the board.
    pub(crate) fn note(self, app: &App, session: &Session) -> Option<String> {
        let (provider, id) = (self.provider, &session.id);
        match self.answer.join().unwrap_or_else(|_| HookVerdict::Unknown("the question failed".to_owned())) {
            HookVerdict::Runs => None,
            HookVerdict::Skipped(how) => Some(format!(
                "{provider} skips the hooks of Fairway until you trust them in its window ({how}): until then it has no guard, \
                 and reports no activity. It asks at its start: fairway session attach {id}"
            )),
            HookVerdict::Off(why) => {
                let what = format!("{provider} runs no hooks: {why}");
                let event =
                    Event::new(EventKind::GuardBypassed).session(id, &session.run_id).with("what", what.as_str());
                let unknown = app.transaction(|tx| Ok(tx.record(&event)?)).err().map(|error| format!(" ({error:#})"));
                let note = format!("{what}: in this session it has no guard, and reports no activity");
                Some(note + &unknown.unwrap_or_default())
            }
            HookVerdict::Unknown(why) => Some(format!("unknown whether {provider} runs the hooks of Fairway: {why}")),
        }
    }
}
