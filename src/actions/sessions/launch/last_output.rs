//! The last output of a program, for the message about its end.

use std::path::Path;

use super::plan::LaunchPlan;
use crate::{
    adapters::{Adapter, plumbing::transcript},
    domain::secrets,
};

/// Lines of output in the message.
const MAX_LINES: u32 = 12;
/// Bytes of output in the message.
const MAX_BYTES: usize = 600;

/// The last lines of output of a launch's program, with secrets masked; empty when there are none.
pub(crate) fn read(adapter: &Adapter, plan: &LaunchPlan) -> String {
    let (name, run) = (plan.session.name(), &plan.session.run_id);
    let recorded = plan.session.transcript.as_deref().map(|path| transcript::tail(Path::new(path), MAX_LINES as usize));
    let shown = recorded.and_then(Result::ok).filter(|text| !text.trim().is_empty()).or_else(|| {
        // The screen of another session run must not be shown.
        let is_other_run = adapter.matches_session_run(name, run) == Some(false);
        (!is_other_run).then(|| adapter.peek(name, MAX_LINES).ok()).flatten()
    });
    let shown = secrets::mask(&plan.start.redacted(shown.unwrap_or_default().trim()));
    let from = shown.char_indices().map(|(at, _)| at).find(|at| shown.len() - at <= MAX_BYTES).unwrap_or_default();
    shown.get(from..).unwrap_or_default().to_owned()
}
