//! The agent's questions: asked, decided, withdrawn.

use serde_json::Value;

use super::{Effect, MAX_OPEN_QUESTIONS, Phase, Question, StateMachine};
use crate::acp::{
    frame::INVALID_PARAMS,
    outgoing,
    tool_call::{PermissionChoice, PermissionRequest},
};

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
        if let Some(known) = self.call(&request.call.id) {
            known.0.merge(request.call);
            known.1 = true;
            request.call = known.0.clone();
        }
        effects.push(Effect::Print(self.conversation.question(&request.call)));
        let question = self.next_question;
        self.next_question += 1;
        self.questions.insert(question, Question { id, options: request.options.clone() });
        effects.push(Effect::Ask { question, request });
    }

    pub(super) fn decided(&mut self, question: u64, choice: PermissionChoice, effects: &mut Vec<Effect>) {
        let Some(asked) = self.questions.remove(&question) else { return };
        let answer = match choice.option(&asked.options) {
            Some(option) => outgoing::permission_selected(&asked.id, option),
            // It offers nothing of that kind: what is not allowed does not run.
            None => outgoing::permission_cancelled(&asked.id),
        };
        let kind = choice.option(&asked.options).map(|option| option.kind.as_str()).unwrap_or_default();
        effects.push(Effect::Print(self.conversation.decision(&choice, kind.ends_with("_always"))));
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
