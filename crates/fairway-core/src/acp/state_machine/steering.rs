//! Prompts that the agent takes into its running turn, where it declares that it can.

use serde_json::Value;

use super::{Effect, MAX_QUEUED_PROMPTS, Phase, Report, StateMachine, SteeringPrompt};
use crate::acp::frame::RpcError;
use crate::acp::outgoing;

impl StateMachine {
    /// Whether a prompt can go into the running turn.
    fn can_steer(&self) -> bool {
        let is_running = matches!(self.phase, Phase::Prompting { is_cancelled: false, .. });
        is_running && self.agent.can_steer && self.pause_requests.is_empty()
    }

    /// Handles a prompt that another process has sent. Passes it into the running turn when the agent supports that, else queues
    /// it for a turn of its own, which begins at once when the agent is idle.
    pub(super) fn prompted(&mut self, request: u64, text: String, effects: &mut Vec<Effect>) {
        if !self.can_steer() || self.steering.len() >= MAX_QUEUED_PROMPTS {
            let accepted = self.accept_prompt(text, effects);
            effects.push(Effect::Reply(request, accepted));
            return;
        }
        let params = outgoing::steering(&self.session, &text);
        let id = self.send("_session/steering", params, effects);
        self.steering.insert(id, SteeringPrompt { request, text });
    }

    /// Handles the agent's answer to a prompt that was passed into the running turn. An answer whose id belongs to no such prompt
    /// is ignored.
    pub(super) fn steered(&mut self, id: u64, result: &Result<Value, RpcError>, effects: &mut Vec<Effect>) {
        let Some(SteeringPrompt { request, text }) = self.steering.remove(&id) else { return };
        let outcome = result.as_ref().map(|answer| answer.get("outcome").and_then(Value::as_str));
        let reply = match outcome {
            // The turn had ended: the prompt begins one of its own.
            Ok(Some("promptRequired")) => self.accept_prompt(text, effects),
            // The answer does not say whether a turn has taken the prompt. To send a text twice would be worse than to lose it.
            Ok(_) => {
                effects.push(Effect::Print(self.conversation.prompt(&text)));
                effects.push(Effect::Report(Report::Steered));
                Ok(())
            }
            Err(error) => Err(format!("the agent does not take it into its running turn: {}", error.message)),
        };
        effects.push(Effect::Reply(request, reply));
    }
}
