//! Turns: one prompt at a time, its end, and its cancellation.

use serde_json::Value;

use super::{CANCELLED, Effect, MAX_QUEUED_PROMPTS, Phase, Report, StateMachine};
use crate::acp::frame::RpcError;
use crate::acp::{outgoing, turn_usage};
use crate::domain::usage::{Usage, UsageScope};

impl StateMachine {
    pub(super) fn accept_prompt(&mut self, text: String, effects: &mut Vec<Effect>) -> Result<(), String> {
        if self.queued.len() >= MAX_QUEUED_PROMPTS {
            return Err(format!("{MAX_QUEUED_PROMPTS} prompts wait for the end of its turn already"));
        }
        if self.paused_until.is_some() {
            return Err("the session is about to go on elsewhere".to_owned());
        }
        self.queued.push_back(text);
        if self.phase == Phase::Idle {
            self.next_turn(effects);
        }
        Ok(())
    }

    pub(super) fn next_turn(&mut self, effects: &mut Vec<Effect>) {
        let Some(text) = self.queued.pop_front() else { return };
        let context = self.context.take();
        let texts: Vec<&str> = context.as_deref().into_iter().chain([text.as_str()]).collect();
        let params = outgoing::prompt(&self.session, &texts);
        self.calls.clear();
        self.said.clear();
        effects.push(Effect::Print(self.conversation.prompt(&text)));
        let request = self.send("session/prompt", params, effects);
        self.phase = Phase::Prompting { request, is_cancelled: false };
        effects.push(Effect::Report(Report::TurnStarted));
    }

    pub(super) fn turn_over(&mut self, result: Result<Value, RpcError>, is_cancelled: bool, effects: &mut Vec<Effect>) {
        self.withdraw_all("the turn has ended", effects);
        self.phase = Phase::Idle;
        let said = std::mem::take(&mut self.said);
        match result {
            Ok(result) => {
                let stop_reason = result.get("stopReason").and_then(Value::as_str).unwrap_or("unknown");
                let stop_reason: String = stop_reason.chars().take(100).collect();
                effects.push(Effect::Print(self.conversation.turn_end(&stop_reason)));
                let cost_usd = self.take_cost();
                let usage = self.turn_usage(&result).map(|usage| Usage { cost_usd, ..usage });
                effects.push(Effect::Report(Report::TurnEnded { stop_reason, usage, said }));
            }
            // Some agents answer a cancelled turn with an error.
            Err(_) if is_cancelled => {
                effects.push(Effect::Print(self.conversation.turn_end(CANCELLED)));
                let stop_reason = CANCELLED.to_owned();
                effects.push(Effect::Report(Report::TurnEnded { stop_reason, usage: None, said: String::new() }));
            }
            Err(error) => {
                effects.push(Effect::Print(self.conversation.note(&format!("the turn failed: {}", error.message))));
                effects.push(Effect::Report(Report::TurnFailed { why: error.message, error: error.whole }));
            }
        }
        if let Some(share) = self.context_usage.take() {
            effects.push(Effect::Report(Report::ContextUsage(share)));
        }
        self.next_turn(effects);
    }

    /// The usage of the turn that an answer ends. It is unknown in the first turn of a conversation that goes on when the agent
    /// counts that of earlier processes too.
    fn turn_usage(&mut self, answer: &Value) -> Option<Usage> {
        let told = turn_usage::of_answer(answer)?;
        if self.config.usage == UsageScope::Turn {
            return Some(told);
        }
        let is_begun = self.config.usage == UsageScope::Conversation && self.config.resume.is_some();
        match self.usage_sum.replace(told.clone()) {
            Some(before) => Some(turn_usage::since(&told, &before)),
            None => (!is_begun).then_some(told),
        }
    }

    pub(super) fn cancel(&mut self, effects: &mut Vec<Effect>) {
        if let Phase::Prompting { is_cancelled, .. } = &mut self.phase
            && !*is_cancelled
        {
            *is_cancelled = true;
            effects.push(Effect::Send(outgoing::cancel(&self.session)));
            // The protocol demands an answer to every open question of a cancelled turn.
            self.withdraw_all("the turn was cancelled", effects);
        }
    }
}
