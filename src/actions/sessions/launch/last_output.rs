//! What a program showed last, for the message about its end.

use std::path::Path;

use super::plan::LaunchPlan;
use crate::{
    adapters::{Adapter, plumbing::transcript},
    domain::secrets,
};

/// How many lines are told.
const MAX_LINES: u32 = 12;
/// How much of them, in bytes: a message is no transcript.
const MAX_BYTES: usize = 600;

/// The last lines that the program of a launch showed, without its secrets; empty when there are none.
pub(crate) fn read(adapter: &Adapter, plan: &LaunchPlan) -> String {
    let (id, run) = (&plan.session.id, &plan.session.run_id);
    let kept = plan.session.transcript.as_deref().map(|path| transcript::tail(Path::new(path), MAX_LINES as usize));
    let shown = kept.and_then(Result::ok).filter(|text| !text.trim().is_empty()).or_else(|| {
        // Another run's screen is nobody's affair.
        let is_anothers = adapter.matches_session_run(id.as_str(), run) == Some(false);
        (!is_anothers).then(|| adapter.peek(id.as_str(), MAX_LINES).ok()).flatten()
    });
    let shown = secrets::mask(&plan.start.redacted(shown.unwrap_or_default().trim()));
    let from = shown.char_indices().map(|(at, _)| at).find(|at| shown.len() - at <= MAX_BYTES).unwrap_or_default();
    shown.get(from..).unwrap_or_default().to_owned()
}
