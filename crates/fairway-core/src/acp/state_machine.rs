//! A structured session's decisions as a pure state machine: events in, effects out. Times count from the supervisor's start.

mod pause;
mod question;
mod setup;
mod steering;
mod turn;
mod update;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::conversation_text::Conversation;
use super::effect::{Effect, Permission, Report};
use super::event::{Command, Event};
use super::frame::{Frame, METHOD_NOT_FOUND, RpcError};
use super::outgoing;
use super::session_setup::{AgentInfo, GuardMode, Proof};
use super::tool_call::{PermissionOption, ToolCall};
use crate::domain::usage::{Usage, UsageScope};

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
/// How long a pause lasts when nothing ends it earlier: the process that requested it may have died.
pub const PAUSE: Duration = Duration::from_secs(30);
/// The stop reason of a cancelled turn.
pub const CANCELLED: &str = "cancelled";

/// The facts that are fixed for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMachineConfig {
    /// The version of this client.
    pub version: String,
    /// The agent's working directory.
    pub cwd: String,
    /// The mode in which the agent asks before it runs a tool.
    pub mode: Option<String>,
    /// The conversation to continue.
    pub resume: Option<String>,
    /// How it is proven that the agent asks in that mode.
    pub proof: Proof,
    /// Whether a session that is not guarded is ended.
    pub refuse_unguarded: bool,
    /// Whether a question of the agent is about all calls that are pending, not about the one that it names.
    pub asks_for_all: bool,
    /// What the agent counts in its answers.
    pub usage: UsageScope,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Before the start.
    New,
    Initializing,
    Opening,
    SettingMode {
        /// The mode that the agent reported before it was asked to change it.
        earlier: Option<String>,
        /// Whether the mode is one of those that the agent offers.
        is_offered: bool,
    },
    Idle,
    Prompting {
        request: u64,
        is_cancelled: bool,
    },
    /// The agent has ended, or must be ended.
    Over,
}

/// A question of the agent that has no answer yet.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    /// The id of its request.
    id: Value,
    /// The ids of the calls that it may be about: of one, unless it names none and several are pending.
    calls: Vec<String>,
    options: Vec<PermissionOption>,
}

/// A tool call of the running turn.
#[derive(Debug, Clone, PartialEq)]
struct KnownCall {
    call: ToolCall,
    permission: Permission,
    /// What was judged last.
    judged: Option<Value>,
}

/// A prompt for a running turn that has no answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SteeringPrompt {
    /// The request of the process that has sent it.
    request: u64,
    text: String,
}

/// The state of a structured session.
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
    /// What the agent was seen to run although it had to ask. It outweighs every proof.
    refuted: Option<String>,
    context: Option<String>,
    queued: VecDeque<String>,
    questions: BTreeMap<u64, Question>,
    next_question: u64,
    /// The requests for a pause that await the end of the turns.
    pause_requests: Vec<u64>,
    /// The prompts for the running turn that have no answer yet, by the number of their request.
    steering: BTreeMap<u64, SteeringPrompt>,
    /// When the pause ends.
    paused_until: Option<Duration>,
    /// The calls of this turn, by the agent's id.
    calls: BTreeMap<String, KnownCall>,
    garbage: u32,
    /// How full the context is (0 to 1), if the agent has said so since the last report.
    context_usage: Option<f64>,
    /// The cost of the session in US dollars, and the part of it that was reported with turns.
    total_cost: f64,
    reported_cost: f64,
    /// The sum in the last answer of an agent that counts more than the turn.
    usage_sum: Option<Usage>,
    conversation: Conversation,
    /// The agent's text since its last tool call of this turn.
    said: String,
}

impl StateMachine {
    /// Creates the state of a session whose agent is not started yet.
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
            refuted: None,
            context: None,
            queued: VecDeque::new(),
            questions: BTreeMap::new(),
            next_question: 1,
            pause_requests: Vec::new(),
            steering: BTreeMap::new(),
            paused_until: None,
            calls: BTreeMap::new(),
            garbage: 0,
            context_usage: None,
            total_cost: 0.0,
            reported_cost: 0.0,
            usage_sum: None,
            conversation: Conversation::default(),
            said: String::new(),
        }
    }

    /// When the caller must pass [`Event::Tick`] even if nothing else happens, as the time since the supervisor's start; `None`
    /// when it need not.
    pub fn due(&self) -> Option<Duration> {
        let is_setup = matches!(self.phase, Phase::Initializing | Phase::Opening | Phase::SettingMode { .. });
        is_setup.then_some(SETUP_TIMEOUT).or(self.paused_until)
    }

    /// Formats a note of the session's supervisor as a line for the transcript.
    pub fn note(&mut self, text: &str) -> String {
        self.conversation.note(text)
    }

    /// Handles an event at the time `now`, counted from the supervisor's start, and returns the effects in the order in which the
    /// caller must carry them out. After the agent's end, requests are refused and all other events are ignored.
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
            Event::Request(id, Command::Prompt(text)) => self.prompted(id, text, &mut effects),
            Event::Request(id, Command::Cancel) => {
                self.cancel(&mut effects);
                effects.push(Effect::Reply(id, Ok(())));
            }
            Event::Request(id, Command::Pause) => self.pause_requests.push(id),
            Event::RequestGone(id) => self.pause_requests.retain(|waiting| *waiting != id),
            Event::Context(text) => self.context = Some(text),
            Event::Continue(text) => drop(self.accept_prompt(text, &mut effects)),
            Event::Decided { question, choice } => self.decided(question, choice, &mut effects),
            Event::Refuted(why) => {
                self.refuted.get_or_insert(why);
                self.report_guard(&mut effects);
            }
            Event::AgentGone => self.over("the agent has ended", &mut effects),
            Event::Tick => {
                let is_setup = matches!(self.phase, Phase::Initializing | Phase::Opening | Phase::SettingMode { .. });
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
            Phase::Initializing | Phase::Opening | Phase::SettingMode { .. } if id == self.setup_request => {
                self.setup(result, effects);
            }
            Phase::Prompting { request, is_cancelled } if id == request => {
                self.turn_over(result, is_cancelled, effects);
            }
            // Else an answer that nothing waits for.
            _ => self.steered(id, &result, effects),
        }
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
            effects.push(Effect::Report(Report::TurnFailed { why: why.to_owned(), error: Value::Null }));
        }
        let steering = std::mem::take(&mut self.steering).into_values().map(|prompt| prompt.request);
        for id in std::mem::take(&mut self.pause_requests).into_iter().chain(steering) {
            effects.push(Effect::Reply(id, Err("the agent has ended".to_owned())));
        }
        effects.push(Effect::Print(self.conversation.note(why)));
        self.phase = Phase::Over;
    }
}

#[cfg(test)]
mod tests;
