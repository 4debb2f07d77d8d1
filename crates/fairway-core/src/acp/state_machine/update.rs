//! The agent's updates during a turn: text, tool calls, usage.

use serde_json::Value;

use super::{Effect, KnownCall, MAX_TOOL_CALLS, Permission, Phase, Report, StateMachine};
use crate::acp::tool_call::{self, ToolCall};

impl StateMachine {
    pub(super) fn update(&mut self, params: &Value, effects: &mut Vec<Effect>) {
        let Some(update) = params.get("update") else { return };
        if !self.session.is_empty() && params.get("sessionId").and_then(Value::as_str) != Some(&self.session) {
            return;
        }
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "tool_call" | "tool_call_update" => self.tool_update(update, effects),
            "current_mode_update" | "config_option_update" => self.mode_update(update, effects),
            "usage_update" => self.usage_update(update, effects),
            kind => {
                if kind == "agent_message_chunk" {
                    self.said.extend(update.get("content").and_then(tool_call::content_text));
                }
                let text = self.conversation.update(update);
                if !text.is_empty() {
                    effects.push(Effect::Print(text));
                }
            }
        }
    }

    pub(super) fn usage_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
        let number = |key: &str| update.get(key).and_then(Value::as_f64);
        if let (Some(used), Some(size)) = (number("used"), number("size"))
            && size > 0.0
        {
            self.context_usage = Some((used / size).clamp(0.0, 1.0));
        }
        let cost = update.pointer("/cost/amount").and_then(Value::as_f64);
        let is_usd = update.pointer("/cost/currency").and_then(Value::as_str) == Some("USD");
        if let Some(total) = cost.filter(|cost| is_usd && cost.is_finite()) {
            self.total_cost = self.total_cost.max(total);
        }
        // Agents tell it several times in a turn; its last word is reported with the turn's end.
        if self.phase == Phase::Idle
            && let Some(share) = self.context_usage.take()
        {
            effects.push(Effect::Report(Report::ContextUsage(share)));
        }
    }

    /// The cost in US dollars since the last call of this function; `None` when the agent has reported no cost.
    pub(super) fn take_cost(&mut self) -> Option<f64> {
        let cost = self.total_cost - self.reported_cost;
        self.reported_cost = self.total_cost;
        (self.total_cost > 0.0).then_some(cost)
    }

    pub(super) fn tool_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
        let Some(news) = ToolCall::from_json(update) else { return };
        let is_turn = matches!(self.phase, Phase::Prompting { .. });
        self.said.clear();
        let id = news.id.clone();
        let is_new = !self.calls.contains_key(&id);
        let Some(found) = self.call(&id) else { return };
        let had_ended = found.call.has_ended();
        found.call.merge(news);
        let (known, permission) = (found.call.clone(), found.permission);
        if !had_ended && permission != Permission::NotAsked {
            self.judge_changed(&id, effects);
        }
        if let Some(found) = self.calls.get_mut(&id).filter(|_| known.has_ended()) {
            found.call.forget_input();
        }
        let text = self.conversation.tool(&known, update);
        if !text.is_empty() {
            effects.push(Effect::Print(text));
        }
        // A conversation that is loaded repeats its calls outside of a turn.
        if is_turn && is_new && !known.has_ended() {
            effects.push(Effect::Report(Report::ToolBegan));
        }
        if is_turn && !had_ended && known.has_ended() {
            effects.push(Effect::Report(Report::ToolEnded { call: known, permission }));
        }
    }

    /// The tool call with this id. A call that is not known yet is added. `None` when the turn already has too many calls.
    pub(super) fn call(&mut self, id: &str) -> Option<&mut KnownCall> {
        if !self.calls.contains_key(id) {
            if self.calls.len() >= MAX_TOOL_CALLS {
                return None;
            }
            let call = ToolCall::new(id);
            self.calls.insert(id.to_owned(), KnownCall { call, permission: Permission::NotAsked, judged: None });
        }
        self.calls.get_mut(id)
    }
}
