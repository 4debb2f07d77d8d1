//! A structured session's decisions as a pure state machine: events in, effects out. Times count from the supervisor's start.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde_json::Value;

use super::{
    conversation::Conversation,
    frame::{Frame, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError},
    outgoing,
    session_setup::{self, AgentInfo, GuardMode, Proof},
    tool_call::{PermissionChoice, PermissionOption, PermissionRequest, ToolCall},
    turn_usage,
};
use crate::domain::usage::Usage;

/// How long the agent may take from its start until its session is open.
pub const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// The most prompts that wait for the end of a turn.
pub const MAX_QUEUED_PROMPTS: usize = 16;
/// The most questions of the agent that are open at a time.
pub const MAX_OPEN_QUESTIONS: usize = 64;
/// The most tool calls of a turn whose state is kept.
const MAX_TOOL_CALLS: usize = 512;
/// How many lines that are no frames an agent may print before its session counts as broken.
pub const MAX_GARBAGE_LINES: u32 = 10_000;
/// How long a pause lasts in which nothing happens. The process that asked for it may have died.
pub const PAUSE: Duration = Duration::from_secs(30);
/// The end of a turn that a person has ended.
const CANCELLED: &str = "cancelled";

/// The facts that are fixed for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMachineConfig {
    /// The version of this client.
    pub version: String,
    /// The agent's working directory.
    pub cwd: String,
    /// The mode in which the agent asks before it runs a tool.
    pub mode: Option<String>,
    /// The conversation to go on with.
    pub resume: Option<String>,
    /// What has proven that the agent asks in that mode.
    pub proof: Proof,
    /// Whether a session that is not guarded is ended.
    pub refuse_unguarded: bool,
}

/// A request of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A text for the agent, now or after the turn.
    Prompt(String),
    /// The end of the turn.
    Cancel,
    /// A pause from the moment in which the agent is idle and nothing waits for it, so that its conversation can go on elsewhere.
    Pause,
}

/// An input of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent's process was started.
    Started,
    /// A line of the agent.
    Line(Result<Frame, &'static str>),
    /// A request of another process, by its number.
    Request(u64, Command),
    /// The process of this request is gone.
    RequestGone(u64),
    /// A text that goes before the next prompt.
    Context(String),
    /// A prompt that the report of a turn's end, or of the session's start, has brought.
    Continue(String),
    /// The decision about a question of the agent.
    Decided { question: u64, choice: PermissionChoice },
    /// The agent has closed its output, or has ended.
    AgentGone,
    /// Time has passed.
    Tick,
}

/// A fact about the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The session is open and idle.
    Ready {
        agent: AgentInfo,
        /// The agent's own id of the conversation.
        conversation: String,
        guard: GuardMode,
        /// Whether an earlier conversation goes on.
        is_resumed: bool,
    },
    TurnStarted,
    /// A tool has ended.
    ToolEnded {
        call: ToolCall,
        /// Whether the agent had asked about this call.
        was_asked: bool,
    },
    /// The turn has ended.
    TurnEnded {
        /// `end_turn`, `cancelled` and others.
        stop_reason: String,
        /// The tokens, where the agent tells them.
        usage: Option<Usage>,
    },
    /// The turn ended with an error.
    TurnFailed(String),
    /// How full the context is, 0 to 1.
    ContextUsage(f64),
    /// The mode has changed.
    Guard(GuardMode),
}

/// An output of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write a frame to the agent.
    Send(Value),
    /// Add a text to the conversation.
    Print(String),
    /// Report a fact.
    Report(Report),
    /// Have a question judged, and answer with [`Event::Decided`].
    Ask { question: u64, request: PermissionRequest },
    /// A question needs no answer any more; the reason.
    Withdraw { question: u64, why: &'static str },
    /// Reply to a request; the error is its reason.
    Reply(u64, Result<(), String>),
    /// The session is open.
    Ready,
    /// End the agent: the session cannot go on.
    Fail(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Before the start.
    New,
    Initializing,
    Opening,
    SettingMode,
    Idle,
    Prompting {
        request: u64,
        is_cancelled: bool,
    },
    /// The agent is gone, or is to be ended.
    Over,
}

/// A question of the agent that has no answer yet.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    /// The id of its request.
    id: Value,
    options: Vec<PermissionOption>,
}

/// A session in the eyes of its supervisor.
#[derive(Debug, Clone, PartialEq)]
pub struct StateMachine {
    config: StateMachineConfig,
    phase: Phase,
    next_request: u64,
    /// The request whose answer the setup waits for.
    setup_request: u64,
    agent: AgentInfo,
    session: String,
    reported_mode: Option<String>,
    guard: Option<GuardMode>,
    context: Option<String>,
    queued: VecDeque<String>,
    questions: BTreeMap<u64, Question>,
    next_question: u64,
    /// The requests for a pause that await the end of the turns.
    pause_requests: Vec<u64>,
    /// When the pause ends.
    paused_until: Option<Duration>,
    /// The calls of this turn, by the agent's id; the flag says whether it has asked about it.
    calls: BTreeMap<String, (ToolCall, bool)>,
    garbage: u32,
    /// How full the context is, as the agent has told it since the last report.
    context_usage: Option<f64>,
    /// The cost of the session in US dollars, and the part of it that was reported with turns.
    total_cost: f64,
    reported_cost: f64,
    conversation: Conversation,
}

impl StateMachine {
    /// A session whose agent is not started yet.
    pub fn new(config: StateMachineConfig) -> Self {
        Self {
            config,
            phase: Phase::New,
            next_request: 1,
            setup_request: 0,
            agent: AgentInfo::default(),
            session: String::new(),
            reported_mode: None,
            guard: None,
            context: None,
            queued: VecDeque::new(),
            questions: BTreeMap::new(),
            next_question: 1,
            pause_requests: Vec::new(),
            paused_until: None,
            calls: BTreeMap::new(),
            garbage: 0,
            context_usage: None,
            total_cost: 0.0,
            reported_cost: 0.0,
            conversation: Conversation::default(),
        }
    }

    /// When to come back with [`Event::Tick`] though nothing happens.
    pub fn due(&self) -> Option<Duration> {
        let is_setup = matches!(self.phase, Phase::Initializing | Phase::Opening | Phase::SettingMode);
        is_setup.then_some(SETUP_TIMEOUT).or(self.paused_until)
    }

    /// A note of the supervisor as a piece of the conversation.
    pub fn note(&mut self, text: &str) -> String {
        self.conversation.note(text)
    }

    /// Begins a pause that was asked for, if the agent is idle and nothing waits for it. Returns the requests. To be called when all
    /// events were handled: a report may bring a prompt.
    pub fn begin_pause(&mut self, now: Duration) -> Vec<u64> {
        if self.phase != Phase::Idle || !self.queued.is_empty() || self.pause_requests.is_empty() {
            return Vec::new();
        }
        self.paused_until = Some(now + PAUSE);
        std::mem::take(&mut self.pause_requests)
    }

    /// Changes the state, and answers with the effects of the step in order.
    #[must_use]
    pub fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.phase == Phase::Over {
            if let Event::Request(id, _) = event {
                effects.push(Effect::Reply(id, Err("the agent has ended".to_owned())));
            }
            return effects;
        }
        match event {
            Event::Started => {
                self.phase = Phase::Initializing;
                let params = outgoing::initialize(&self.config.version);
                self.setup_request = self.send("initialize", params, &mut effects);
            }
            Event::Line(Ok(frame)) => self.frame(frame, &mut effects),
            Event::Line(Err(_)) => {
                self.garbage = self.garbage.saturating_add(1);
                if self.garbage > MAX_GARBAGE_LINES {
                    self.fail("it prints other things than the protocol's frames", &mut effects);
                }
            }
            Event::Request(id, Command::Prompt(text)) => {
                let accepted = self.accept_prompt(text, &mut effects);
                effects.push(Effect::Reply(id, accepted));
            }
            Event::Request(id, Command::Cancel) => {
                self.cancel(&mut effects);
                effects.push(Effect::Reply(id, Ok(())));
            }
            Event::Request(id, Command::Pause) => self.pause_requests.push(id),
            Event::RequestGone(id) => self.pause_requests.retain(|waiting| *waiting != id),
            Event::Context(text) => self.context = Some(text),
            Event::Continue(text) => drop(self.accept_prompt(text, &mut effects)),
            Event::Decided { question, choice } => self.decided(question, choice, &mut effects),
            Event::AgentGone => self.over("the agent has ended", &mut effects),
            Event::Tick => {
                let is_setup = matches!(self.phase, Phase::Initializing | Phase::Opening | Phase::SettingMode);
                self.paused_until = self.paused_until.filter(|until| *until > now);
                if is_setup && self.due().is_some_and(|due| due <= now) {
                    let what = match self.phase {
                        Phase::Initializing => "initialize",
                        Phase::Opening => "the request for a session",
                        _ => "the change of its mode",
                    };
                    let why = format!("it did not answer {what} within {} s", SETUP_TIMEOUT.as_secs());
                    self.fail(&why, &mut effects);
                } else if self.phase == Phase::Idle {
                    self.next_turn(&mut effects);
                }
            }
        }
        effects
    }

    fn send(&mut self, method: &str, params: Value, effects: &mut Vec<Effect>) -> u64 {
        let id = self.next_request;
        self.next_request += 1;
        effects.push(Effect::Send(outgoing::request(id, method, params)));
        id
    }

    fn frame(&mut self, frame: Frame, effects: &mut Vec<Effect>) {
        match frame {
            Frame::Response { id, result } => self.response(&id, result, effects),
            Frame::Request { id, method, params } if method == "session/request_permission" => {
                self.question(id, &params, effects);
            }
            Frame::Request { id, method, .. } => {
                let method: String = method.chars().take(100).collect();
                let why = format!("{method} is not supported");
                effects.push(Effect::Send(outgoing::error(&id, METHOD_NOT_FOUND, &why)));
            }
            Frame::Notification { method, params } => match method.as_str() {
                "session/update" => self.update(&params, effects),
                "$/cancel_request" => self.withdrawn(&params, effects),
                _ => {}
            },
        }
    }

    fn response(&mut self, id: &Value, result: Result<Value, RpcError>, effects: &mut Vec<Effect>) {
        let Some(id) = id.as_u64() else { return };
        match self.phase {
            Phase::Initializing | Phase::Opening | Phase::SettingMode if id == self.setup_request => {
                self.setup(result, effects);
            }
            Phase::Prompting { request, is_cancelled } if id == request => {
                self.turn_over(result, is_cancelled, effects);
            }
            // An answer that nothing waits for.
            _ => {}
        }
    }

    fn setup(&mut self, result: Result<Value, RpcError>, effects: &mut Vec<Effect>) {
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
            (_, result) => {
                if let Some(mode) = result.as_ref().ok().and_then(session_setup::current_mode) {
                    self.reported_mode = Some(mode.to_owned());
                }
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

    fn open(&mut self, effects: &mut Vec<Effect>) {
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

    fn opened(&mut self, result: &Value, effects: &mut Vec<Effect>) {
        if let Some(session) = result.get("sessionId").and_then(Value::as_str) {
            session.clone_into(&mut self.session);
        }
        if self.session.trim().is_empty() {
            return self.fail("it opened a session without an id", effects);
        }
        self.reported_mode = session_setup::current_mode(result).map(str::to_owned).or(self.reported_mode.take());
        match self.config.mode.clone() {
            Some(mode) if self.reported_mode.as_ref() != Some(&mode) => {
                self.phase = Phase::SettingMode;
                // An agent whose modes are options of its configuration answers with the value that holds then.
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

    fn ready(&mut self, effects: &mut Vec<Effect>) {
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

    fn guard_mode(&self) -> GuardMode {
        GuardMode::compare(self.config.mode.as_deref(), self.reported_mode.as_deref())
            .with_proof(&self.config.proof, &self.agent)
    }

    fn refused_guard(&self, guard: &GuardMode) -> Option<String> {
        let why = guard.why.as_ref().filter(|_| self.config.refuse_unguarded)?;
        Some(format!("it is not guarded: {why}; [agents] unguarded = \"refuse\""))
    }

    fn accept_prompt(&mut self, text: String, effects: &mut Vec<Effect>) -> Result<(), String> {
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

    fn next_turn(&mut self, effects: &mut Vec<Effect>) {
        let Some(text) = self.queued.pop_front() else { return };
        let context = self.context.take();
        let texts: Vec<&str> = context.as_deref().into_iter().chain([text.as_str()]).collect();
        let params = outgoing::prompt(&self.session, &texts);
        self.calls.clear();
        effects.push(Effect::Print(self.conversation.prompt(&text)));
        let request = self.send("session/prompt", params, effects);
        self.phase = Phase::Prompting { request, is_cancelled: false };
        effects.push(Effect::Report(Report::TurnStarted));
    }

    fn turn_over(&mut self, result: Result<Value, RpcError>, is_cancelled: bool, effects: &mut Vec<Effect>) {
        self.withdraw_all("the turn has ended", effects);
        self.phase = Phase::Idle;
        match result {
            Ok(result) => {
                let stop_reason = result.get("stopReason").and_then(Value::as_str).unwrap_or("unknown");
                let stop_reason: String = stop_reason.chars().take(100).collect();
                effects.push(Effect::Print(self.conversation.turn_end(&stop_reason)));
                let cost_usd = self.take_cost();
                let usage = turn_usage::of_answer(&result).map(|usage| Usage { cost_usd, ..usage });
                effects.push(Effect::Report(Report::TurnEnded { stop_reason, usage }));
            }
            // Some agents answer a cancelled turn with an error.
            Err(_) if is_cancelled => {
                effects.push(Effect::Print(self.conversation.turn_end(CANCELLED)));
                let stop_reason = CANCELLED.to_owned();
                effects.push(Effect::Report(Report::TurnEnded { stop_reason, usage: None }));
            }
            Err(error) => {
                effects.push(Effect::Print(self.conversation.note(&format!("the turn failed: {}", error.message))));
                effects.push(Effect::Report(Report::TurnFailed(error.message)));
            }
        }
        if let Some(share) = self.context_usage.take() {
            effects.push(Effect::Report(Report::ContextUsage(share)));
        }
        self.next_turn(effects);
    }

    fn cancel(&mut self, effects: &mut Vec<Effect>) {
        if let Phase::Prompting { is_cancelled, .. } = &mut self.phase
            && !*is_cancelled
        {
            *is_cancelled = true;
            effects.push(Effect::Send(outgoing::cancel(&self.session)));
            // The protocol demands an answer to every open question of a cancelled turn.
            self.withdraw_all("the turn was cancelled", effects);
        }
    }

    fn withdraw_all(&mut self, why: &'static str, effects: &mut Vec<Effect>) {
        for (question, asked) in std::mem::take(&mut self.questions) {
            effects.push(Effect::Send(outgoing::permission_cancelled(&asked.id)));
            effects.push(Effect::Withdraw { question, why });
        }
    }

    fn question(&mut self, id: Value, params: &Value, effects: &mut Vec<Effect>) {
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

    /// The call of this id, known or new; `None` when a turn has too many.
    fn call(&mut self, id: &str) -> Option<&mut (ToolCall, bool)> {
        if !self.calls.contains_key(id) {
            if self.calls.len() >= MAX_TOOL_CALLS {
                return None;
            }
            self.calls.insert(id.to_owned(), (ToolCall::new(id), false));
        }
        self.calls.get_mut(id)
    }

    fn decided(&mut self, question: u64, choice: PermissionChoice, effects: &mut Vec<Effect>) {
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

    fn withdrawn(&mut self, params: &Value, effects: &mut Vec<Effect>) {
        let Some(id) = params.get("requestId").or_else(|| params.get("id")) else { return };
        let Some(question) = self.questions.iter().find(|(_, asked)| asked.id == *id).map(|(question, _)| *question)
        else {
            return;
        };
        self.questions.remove(&question);
        effects.push(Effect::Send(outgoing::request_cancelled(id)));
        effects.push(Effect::Withdraw { question, why: "the agent has withdrawn the question" });
    }

    fn update(&mut self, params: &Value, effects: &mut Vec<Effect>) {
        let Some(update) = params.get("update") else { return };
        if !self.session.is_empty() && params.get("sessionId").and_then(Value::as_str) != Some(&self.session) {
            return;
        }
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "tool_call" | "tool_call_update" => self.tool_update(update, effects),
            "current_mode_update" | "config_option_update" => self.mode_update(update, effects),
            "usage_update" => self.usage_update(update, effects),
            _ => {
                let text = self.conversation.update(update);
                if !text.is_empty() {
                    effects.push(Effect::Print(text));
                }
            }
        }
    }

    fn usage_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
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

    /// The cost since the last turn, where the agent tells costs.
    fn take_cost(&mut self) -> Option<f64> {
        let cost = self.total_cost - self.reported_cost;
        self.reported_cost = self.total_cost;
        (self.total_cost > 0.0).then_some(cost)
    }

    fn tool_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
        let Some(news) = ToolCall::from_json(update) else { return };
        let is_turn = matches!(self.phase, Phase::Prompting { .. });
        let Some((call, was_asked)) = self.call(&news.id) else { return };
        let had_ended = call.has_ended();
        call.merge(news);
        let (known, was_asked) = (call.clone(), *was_asked);
        if known.has_ended() {
            call.forget_input();
        }
        let text = self.conversation.tool(&known, update);
        if !text.is_empty() {
            effects.push(Effect::Print(text));
        }
        // A conversation that is loaded repeats its calls outside of a turn.
        if is_turn && !had_ended && known.has_ended() {
            effects.push(Effect::Report(Report::ToolEnded { call: known, was_asked }));
        }
    }

    fn mode_update(&mut self, update: &Value, effects: &mut Vec<Effect>) {
        let Some(mode) = session_setup::current_mode(update) else { return };
        if self.reported_mode.as_deref() == Some(mode) {
            return;
        }
        self.reported_mode = Some(mode.chars().take(100).collect());
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

    fn fail(&mut self, why: &str, effects: &mut Vec<Effect>) {
        self.over(why, effects);
        effects.push(Effect::Fail(why.to_owned()));
    }

    fn over(&mut self, why: &str, effects: &mut Vec<Effect>) {
        for (question, _) in std::mem::take(&mut self.questions) {
            effects.push(Effect::Withdraw { question, why: "the agent has ended" });
        }
        if matches!(self.phase, Phase::Prompting { .. }) {
            effects.push(Effect::Report(Report::TurnFailed(why.to_owned())));
        }
        for id in std::mem::take(&mut self.pause_requests) {
            effects.push(Effect::Reply(id, Err("the agent has ended".to_owned())));
        }
        effects.push(Effect::Print(self.conversation.note(why)));
        self.phase = Phase::Over;
    }
}

#[cfg(test)]
mod tests;
