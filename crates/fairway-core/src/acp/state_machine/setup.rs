//! From the start of the agent to its open session, in the mode that asks.

use serde_json::Value;

use super::{Effect, Phase, Report, StateMachine};
use crate::acp::frame::RpcError;
use crate::acp::outgoing;
use crate::acp::session_setup::{self, AgentInfo, GuardMode};

impl StateMachine {
    pub(super) fn setup(&mut self, result: Result<Value, RpcError>, effects: &mut Vec<Effect>) {
        match (&self.phase, result) {
            (Phase::Initializing, Ok(result)) => {
                self.agent = AgentInfo::from_json(&result);
                if self.agent.protocol != outgoing::PROTOCOL_VERSION {
                    let why = format!(
                        "it speaks version {} of the protocol, not {}",
                        self.agent.protocol,
                        outgoing::PROTOCOL_VERSION
                    );
                    return self.fail(&why, effects);
                }
                self.open(effects);
            }
            (Phase::Initializing, Err(error)) => {
                self.fail(&format!("it refused initialize: {}", error.message), effects);
            }
            (Phase::Opening, Ok(result)) => self.opened(&result, effects),
            (Phase::Opening, Err(error)) => {
                self.fail(&format!("it opened no session: {}", error.message), effects);
            }
            (phase, result) => {
                let told = result.as_ref().ok().and_then(session_setup::current_mode).map(str::to_owned);
                // What the agent has reported since the request goes before its success.
                self.reported_mode = told.or(self.reported_mode.take()).or_else(|| match phase {
                    Phase::SettingMode { is_offered: true, .. } if result.is_ok() => self.config.mode.clone(),
                    Phase::SettingMode { earlier, .. } => earlier.clone(),
                    _ => None,
                });
                if let Err(error) = result {
                    effects.push(Effect::Print(self.conversation.note(&format!(
                        "the agent refused the mode {}: {}",
                        self.config.mode.as_deref().unwrap_or_default(),
                        error.message
                    ))));
                }
                self.ready(effects);
            }
        }
    }

    pub(super) fn open(&mut self, effects: &mut Vec<Effect>) {
        self.phase = Phase::Opening;
        let cwd = self.config.cwd.clone();
        let (method, params) = match self.config.resume.clone() {
            None => ("session/new", outgoing::new_session(&cwd)),
            Some(conversation) => {
                let method = match (self.agent.can_resume, self.agent.can_load) {
                    (true, _) => "session/resume",
                    (false, true) => "session/load",
                    (false, false) => return self.fail("it cannot continue an earlier conversation", effects),
                };
                let params = outgoing::continue_session(&conversation, &cwd);
                self.session = conversation;
                (method, params)
            }
        };
        self.setup_request = self.send(method, params, effects);
    }

    pub(super) fn opened(&mut self, result: &Value, effects: &mut Vec<Effect>) {
        if let Some(session) = result.get("sessionId").and_then(Value::as_str) {
            session.clone_into(&mut self.session);
        }
        if self.session.trim().is_empty() {
            return self.fail("it opened a session without an id", effects);
        }
        self.reported_mode = session_setup::current_mode(result).map(str::to_owned).or(self.reported_mode.take());
        match self.config.mode.clone() {
            // A conversation that goes on may be in another mode than the agent says.
            Some(mode) if self.config.resume.is_some() || self.reported_mode.as_ref() != Some(&mode) => {
                let is_offered = session_setup::offers_mode(result, &mode);
                self.phase = Phase::SettingMode { earlier: self.reported_mode.take(), is_offered };
                // An agent with its modes in configuration options answers with the value that is set then.
                let (method, params) = match session_setup::mode_option_id(result) {
                    Some(option) => {
                        ("session/set_config_option", outgoing::set_config_option(&self.session, option, &mode))
                    }
                    None => ("session/set_mode", outgoing::set_mode(&self.session, &mode)),
                };
                self.setup_request = self.send(method, params, effects);
            }
            _ => self.ready(effects),
        }
    }

    pub(super) fn ready(&mut self, effects: &mut Vec<Effect>) {
        let guard = self.guard_mode();
        if let Some(why) = self.refused_guard(&guard) {
            return self.fail(&why, effects);
        }
        self.phase = Phase::Idle;
        self.guard = Some(guard.clone());
        if let Some(why) = &guard.why {
            effects.push(Effect::Print(self.conversation.note(&format!("not guarded: {why}"))));
        }
        effects.push(Effect::Report(Report::Ready {
            agent: self.agent.clone(),
            conversation: self.session.clone(),
            guard,
            is_resumed: self.config.resume.is_some(),
        }));
        // The first turn begins with the next tick: the report may bring a context first.
        effects.push(Effect::Ready);
    }

    pub(super) fn guard_mode(&self) -> GuardMode {
        let guard = GuardMode::compare(self.config.mode.as_deref(), self.reported_mode.as_deref())
            .with_proof(&self.config.proof, &self.agent);
        GuardMode { why: self.refuted.clone().or(guard.why), ..guard }
    }

    pub(super) fn refused_guard(&self, guard: &GuardMode) -> Option<String> {
        let why = guard.why.as_ref().filter(|_| self.config.refuse_unguarded)?;
        Some(format!("it is not guarded: {why}; [agents] unguarded = \"refuse\""))
    }

    pub(super) fn mode_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
        let Some(mode) = session_setup::current_mode(update) else { return };
        if self.reported_mode.as_deref() == Some(mode) {
            return;
        }
        self.reported_mode = Some(mode.chars().take(100).collect());
        self.report_guard(effects);
    }

    /// Reports whether the session is guarded, if that has changed since the session was opened.
    pub(super) fn report_guard(&mut self, effects: &mut Vec<Effect>) {
        let guard = self.guard_mode();
        if self.guard.is_none() || self.guard.as_ref() == Some(&guard) {
            return;
        }
        if let Some(why) = self.refused_guard(&guard) {
            return self.fail(&why, effects);
        }
        let text = match &guard.why {
            Some(why) => format!("not guarded: {why}"),
            None => "the agent is in the mode in which it asks".to_owned(),
        };
        effects.push(Effect::Print(self.conversation.note(&text)));
        self.guard = Some(guard.clone());
        effects.push(Effect::Report(Report::Guard(guard)));
    }
}
