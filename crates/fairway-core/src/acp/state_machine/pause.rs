//! The pause during which a conversation continues in another process.

use std::time::Duration;

use super::{PAUSE, Phase, StateMachine};

impl StateMachine {
    /// Begins a requested pause if the agent is idle and no prompt waits for it. Returns the ids of the pause requests that the
    /// caller must now answer; none when no pause begins. Call it only after all pending events were handled, because the reply
    /// to a report may bring another prompt.
    pub fn begin_pause(&mut self, now: Duration) -> Vec<u64> {
        let has_prompts = !self.queued.is_empty() || !self.steering.is_empty();
        if self.phase != Phase::Idle || has_prompts || self.pause_requests.is_empty() {
            return Vec::new();
        }
        self.paused_until = Some(now + PAUSE);
        std::mem::take(&mut self.pause_requests)
    }
}
