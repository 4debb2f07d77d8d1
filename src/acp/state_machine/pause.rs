//! The pause in which a conversation goes on elsewhere.

use std::time::Duration;

use super::{PAUSE, Phase, StateMachine};

impl StateMachine {
    /// Begins a pause that was asked for, if the agent is idle and nothing waits for it. Returns the requests. To be called when all
    /// events were handled: a report may bring a prompt.
    pub fn begin_pause(&mut self, now: Duration) -> Vec<u64> {
        let has_prompts = !self.queued.is_empty() || !self.steering.is_empty();
        if self.phase != Phase::Idle || has_prompts || self.pause_requests.is_empty() {
            return Vec::new();
        }
        self.paused_until = Some(now + PAUSE);
        std::mem::take(&mut self.pause_requests)
    }
}
