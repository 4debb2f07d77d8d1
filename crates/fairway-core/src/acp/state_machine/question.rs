//! The agent's questions: asked, decided, withdrawn.

use serde_json::Value;

use super::{Effect, KnownCall, MAX_OPEN_QUESTIONS, Permission, Phase, Question, Report, StateMachine};
use crate::acp::frame::INVALID_PARAMS;
use crate::acp::outgoing;
use crate::acp::tool_call::{PermissionChoice, PermissionRequest, ToolCall};

impl StateMachine {
    pub(super) fn withdraw_all(&mut self, why: &'static str, effects: &mut Vec<Effect>) {
        for (question, asked) in std::mem::take(&mut self.questions) {
            effects.push(Effect::Send(outgoing::permission_cancelled(&asked.id)));
            effects.push(Effect::Withdraw { question, why });
        }
    }

    pub(super) fn question(&mut self, id: Value, params: &Value, effects: &mut Vec<Effect>) {
        let refuse = |why: &str| Effect::Send(outgoing::error(&id, INVALID_PARAMS, why));
        let Some(mut request) = PermissionRequest::from_json(params) else {
            return effects.push(refuse("a permission request needs a toolCall with an id, and options"));
        };
        if params.get("sessionId").and_then(Value::as_str) != Some(&self.session) {
            return effects.push(refuse("the permission request is about another session"));
        }
        if self.questions.len() >= MAX_OPEN_QUESTIONS {
            return effects.push(refuse("too many questions are open"));
        }
        let is_cancelled = !matches!(self.phase, Phase::Prompting { is_cancelled: false, .. });
        if is_cancelled {
            return effects.push(Effect::Send(outgoing::permission_cancelled(&id)));
        }
        let calls = self.asked_calls(&mut request);
        // An open question about this call is now about another command.
        if let [call] = calls.as_slice() {
            self.judge_changed(call, effects);
        }
        effects.push(Effect::Print(self.conversation.question(&request.call)));
        let question = self.next_question;
        self.next_question += 1;
        self.questions.insert(question, Question { id, calls, options: request.options.clone() });
        effects.push(Effect::Ask { question, request });
    }

    /// The ids of the calls that a question is about, which count as asked. The request gets what is known of its call. One with an
    /// unknown id that says nothing of its call belongs to the call that is pending; with several, it gets all of them. So does each
    /// question of an agent that asks once for all.
    fn asked_calls(&mut self, request: &mut PermissionRequest) -> Vec<String> {
        let mut asked = vec![request.call.id.clone()];
        let is_unknown = request.call.is_bare() && !self.calls.contains_key(&request.call.id);
        if is_unknown || self.config.asks_for_all {
            let is_meant = |known: &KnownCall| is_unknown || known.permission == Permission::NotAsked;
            let pending = self.calls.iter().filter(|(_, known)| !known.call.has_ended() && is_meant(known));
            let (ids, known): (Vec<String>, Vec<_>) =
                pending.map(|(id, known)| (id.clone(), known.call.with_stated_input())).unzip();
            match ids.as_slice() {
                [one] if is_unknown => {
                    request.call = ToolCall::new(one);
                    asked = ids;
                }
                [] | [_] => {}
                _ => {
                    request.call = ToolCall::one_of(&request.call.id, &known);
                    request.pending = known;
                    asked = ids;
                }
            }
        }
        for id in &asked {
            let Some(known) = self.call(id) else { continue };
            known.permission = Permission::Asked;
            if !request.pending.is_empty() {
                known.call = known.call.with_stated_input();
                known.judged = Some(known.call.subject());
                continue;
            }
            known.call.merge(request.call.clone());
            known.call = known.call.with_stated_input();
            request.call = known.call.clone();
        }
        asked
    }

    /// Has a call judged again when the agent has described it otherwise than before: its open questions, or the call alone when
    /// they are answered.
    pub(super) fn judge_changed(&mut self, id: &str, effects: &mut Vec<Effect>) {
        let Some(known) = self.calls.get_mut(id) else { return };
        let subject = known.call.subject();
        let call = known.call.clone();
        if known.judged.replace(subject.clone()).is_none_or(|judged| judged == subject) {
            return;
        }
        effects.push(Effect::Print(self.conversation.changed(&call)));
        let open: Vec<_> = self.questions.iter().filter(|(_, asked)| asked.calls == [id]).collect();
        for (question, asked) in &open {
            let options = asked.options.clone();
            let request = PermissionRequest { call: call.clone(), options, pending: Vec::new() };
            effects.push(Effect::Ask { question: **question, request });
        }
        if open.is_empty() {
            effects.push(Effect::Report(Report::ToolChanged(call)));
        }
    }

    pub(super) fn decided(&mut self, question: u64, choice: PermissionChoice, effects: &mut Vec<Effect>) {
        let Some(asked) = self.questions.remove(&question) else { return };
        if matches!(choice, PermissionChoice::Deny { .. }) {
            for id in &asked.calls {
                if let Some(known) = self.calls.get_mut(id) {
                    known.permission = Permission::Denied;
                }
            }
        }
        let option = choice.option(&asked.options);
        let answer = match option {
            Some(option) => outgoing::permission_selected(&asked.id, option),
            // It offers nothing of that kind: what is not allowed does not run.
            None => outgoing::permission_cancelled(&asked.id),
        };
        effects.push(Effect::Print(self.conversation.decision(&choice, option.map(|option| option.kind.as_str()))));
        effects.push(Effect::Send(answer));
    }

    pub(super) fn withdrawn(&mut self, params: &Value, effects: &mut Vec<Effect>) {
        let Some(id) = params.get("requestId").or_else(|| params.get("id")) else { return };
        let Some(question) = self.questions.iter().find(|(_, asked)| asked.id == *id).map(|(question, _)| *question)
        else {
            return;
        };
        self.questions.remove(&question);
        effects.push(Effect::Send(outgoing::request_cancelled(id)));
        effects.push(Effect::Withdraw { question, why: "the agent has withdrawn the question" });
    }
}
