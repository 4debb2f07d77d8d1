//! What a launch does itself because the script does not.

use super::plan::Plan;
use crate::adapters::{Adapter, AdapterError, StartConfig};

/// What is left to a launch.
pub(super) struct FirstSteps<'a> {
    adapter: &'a Adapter,
    plan: &'a Plan,
    start: StartConfig,
    /// The text that the script does not type.
    types: Option<String>,
}

impl<'a> FirstSteps<'a> {
    /// Asks the script what it can do, where that matters.
    pub(super) fn of(adapter: &'a Adapter, plan: &'a Plan) -> Self {
        let mut start = plan.start.clone();
        // A script that cannot be asked can nothing beyond the protocol's floor.
        let can = start.nudge.is_some().then(|| adapter.capabilities().unwrap_or_default()).unwrap_or_default();
        let types = if can.types_first_nudge() { None } else { start.nudge.take() };
        Self { adapter, plan, start, types }
    }

    /// The configuration as the script gets it.
    pub(super) const fn start(&self) -> &StartConfig {
        &self.start
    }

    /// Types the first prompt.
    pub(super) fn take(&self, remarks: &mut Vec<String>) {
        let id = &self.plan.session.id;
        let Some(text) = &self.types else { return };
        if let Err(error) = self.adapter.nudge(id.as_str(), text.as_bytes()) {
            let why = match error {
                AdapterError::Unsupported { .. } => "this backend cannot type".to_owned(),
                error => error.to_string(),
            };
            remarks.push(format!("the prompt was not delivered: {why}"));
        }
    }
}
