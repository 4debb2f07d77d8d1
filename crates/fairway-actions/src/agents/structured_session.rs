//! The store's side of a structured session's supervisor. Its reports are handled by the same use cases as a provider's hooks,
//! with the protocol as their source.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::approval::{self, ApprovalWait, AwaitedAnswer, Waits};
use super::guard::{self, EntryPoint, ToolCall};
use super::hook::{self, HookCaller, HookEvent, HookOutcome, Reply, StartKind};
use super::runtime;
use crate::core::{approval_state, errors, lookup};
use crate::sessions::prompt::{self, DeliveryBatch};
use crate::sessions::report::telemetry;
use crate::{App, mail};
use fairway_core::acp::{
    AgentInfo, CANCELLED, GuardMode, Permission, PermissionChoice, PermissionRequest, Report, ToolCall as AgentCall,
};
use fairway_core::adapters::StartConfig;
use fairway_core::adapters::plumbing::{Judgement, NoProject, SinkReply, StructuredSink};
use fairway_core::config::{self, Project, load_in_force};
use fairway_core::domain::approval::ApprovalStatus;
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Channel, FAILED_TURN, Message, MessageStatus, Recipient};
use fairway_core::domain::session::Session;
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::usage::{ToolUse, Turn, Usage};
use fairway_core::domain::{Actor, Event, EventKind, LaneName, Role, RunId, SessionId, secrets};
use fairway_core::env::{Env, vars};
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::store::session_reports::{self, ProtocolState};
use fairway_core::store::{WriteTx, approvals, messages};
use fairway_core::wire::MessageView;

/// The longest description of a call in the reason why its session is not guarded, in characters.
const MAX_CALL_CHARS: usize = 160;
/// No hook waits for an answer: the loop of the supervisor does.
const NO_WAIT: ApprovalWait = ApprovalWait { usual: std::time::Duration::ZERO, longest: std::time::Duration::ZERO };

/// Opens the sink for the reports of the session that `start` configures. Without a usable project, the sink denies every
/// question of the agent.
pub fn open_sink(env: &Env, start: &StartConfig) -> Box<dyn StructuredSink> {
    match open(env, start) {
        Ok(Some(sink)) => Box::new(sink),
        Ok(None) => Box::new(NoProject),
        Err(error) => Box::new(Broken(format!("the session's project cannot be opened: {error:#}"))),
    }
}

fn open(env: &Env, start: &StartConfig) -> Result<Option<StoreSink>> {
    if start.var(vars::FAIRWAY_ROOT).is_none() {
        return Ok(None);
    }
    let env = env.with_vars(start.env.as_ref().unwrap_or(&BTreeMap::new()));
    let Some(id) = env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()? else { return Ok(None) };
    let provider = Label::parse(env.var(vars::FAIRWAY_PROVIDER).unwrap_or("acp"))?;
    let actor = Actor {
        name: id.to_string(),
        session: Some(id.clone()),
        run_id: env.var(vars::FAIRWAY_RUN_ID).map(RunId::parse),
        role: env.var(vars::FAIRWAY_ROLE).map(Role::parse).transpose()?,
        lane: env.var(vars::FAIRWAY_LANE).map(LaneName::parse).transpose()?,
        epoch: None,
    };
    let project = Project::discover(&env, None)?;
    let cwd = start.work_dir.as_ref().map(PathBuf::from);
    let app = App::for_caller(Rc::new(env), project, actor, |_| None)?;
    let caller = HookCaller {
        provider,
        other_providers: Vec::new(),
        external_session_id: String::new(),
        transcript: None,
        cwd: cwd.clone(),
        agent_process: None,
        is_first_agent: true,
        is_subagent: false,
        has_wake_hook: false,
        max_output_bytes: MAX_BODY_BYTES,
        is_supervisor: true,
    };
    Ok(Some(StoreSink {
        app,
        id,
        caller,
        cwd,
        waiter: None,
        agent: None,
        open: BTreeMap::new(),
        delivered: None,
        turns: 0,
        taken: Vec::new(),
    }))
}

/// The sink of a session whose project cannot be opened, with the reason. It tells the agent that nothing is recorded, and
/// denies every question.
struct Broken(String);

impl StructuredSink for Broken {
    fn report(&mut self, report: &Report) -> SinkReply {
        let note = matches!(report, Report::Ready { .. }).then(|| self.0.clone());
        SinkReply { note, ..SinkReply::default() }
    }

    fn judge(&mut self, _: u64, _: &PermissionRequest) -> Judgement {
        Judgement::Decided(PermissionChoice::deny(Some(self.0.clone())))
    }

    fn withdraw(&mut self, _: u64, _: &str) {}

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn decisions(&mut self) -> Vec<(u64, PermissionChoice)> {
        Vec::new()
    }
}

/// The messages of the next prompt, until the agent has got it.
enum Delivered {
    /// Messages that were taken from the queue when the session was opened.
    Batch(Box<Session>, DeliveryBatch),
    /// The reply to a turn's end, which has the messages.
    Reply(Box<HookOutcome>),
}

impl Delivered {
    fn ids(&self) -> Vec<i64> {
        match self {
            Self::Batch(_, batch) => batch.ids.clone(),
            Self::Reply(outcome) => outcome.batch().map(|batch| batch.ids.clone()).unwrap_or_default(),
        }
    }
}

struct StoreSink {
    app: App,
    id: SessionId,
    caller: HookCaller,
    cwd: Option<PathBuf>,
    /// Set while a person is asked.
    waiter: Option<ChangeWaiter>,
    /// The name and version of the agent, and its mode.
    agent: Option<(String, Option<String>)>,
    /// The ids of the approvals of open questions, by the number of the question.
    open: BTreeMap<u64, (i64, Option<AwaitedAnswer>)>,
    delivered: Option<Delivered>,
    turns: u64,
    /// The messages that the running turn has taken.
    taken: Vec<i64>,
}

impl StoreSink {
    fn session(&self) -> Result<Session> {
        self.app.read(|tx| lookup::session(tx, &self.id))
    }

    /// Handles an event whose reply cannot bring text to the agent.
    fn silently(&self, event: &HookEvent) -> Result<HookOutcome> {
        let caller = HookCaller { max_output_bytes: 0, ..self.caller.clone() };
        hook::handle(&self.app, &caller, event, &no_transcript, NO_WAIT)
    }

    fn handle(&mut self, report: &Report) -> Result<SinkReply> {
        match report {
            Report::Ready { agent, conversation, guard, is_resumed } => {
                self.ready(agent, conversation, guard, *is_resumed)
            }
            Report::TurnStarted => {
                self.turns += 1;
                self.taken = self.sent_now()?;
                self.silently(&HookEvent::TurnStart)?;
                let delivered = self.delivered.take();
                self.taken.extend(delivered.iter().flat_map(Delivered::ids));
                match delivered {
                    Some(Delivered::Batch(session, batch)) => prompt::confirm_delivered(&self.app, &session, &batch)?,
                    Some(Delivered::Reply(outcome)) => hook::confirm_written(&self.app, &outcome)?,
                    None => {}
                }
                Ok(SinkReply::default())
            }
            Report::Steered => {
                let sent = self.sent_now()?;
                self.taken.extend(sent);
                self.silently(&HookEvent::Other)?;
                Ok(SinkReply::default())
            }
            Report::ToolBegan => {
                self.app.transaction(|tx| Ok(session_reports::count_call(tx, &self.id, true)?))?;
                Ok(SinkReply::default())
            }
            Report::ToolEnded { call, permission } => self.tool_ended(call, *permission),
            Report::ToolChanged(call) => self.judge_late("it does not do what it asked for", call),
            Report::TurnEnded { stop_reason, usage, said } => self.turn_ended(stop_reason, usage.as_ref(), said),
            Report::TurnFailed { why, error } => {
                let taken = std::mem::take(&mut self.taken);
                self.app.transaction(|tx| answer(tx, &taken, FAILED_TURN))?;
                self.silently(&HookEvent::TurnFailed { why: why.clone(), error: Some(error.clone()) })?;
                Ok(SinkReply::default())
            }
            Report::ContextUsage(share) => {
                self.app.transaction(|tx| {
                    let session = lookup::session(tx, &self.id)?;
                    runtime::report_context_usage(tx, &session, *share)
                })?;
                Ok(SinkReply::default())
            }
            Report::Guard(guard) => {
                self.app.transaction(|tx| {
                    Ok(session_reports::set_guard(tx, &self.id, guard.mode.as_deref(), guard.why.as_deref())?)
                })?;
                Ok(SinkReply::default())
            }
        }
    }

    /// The messages that are on their way to the agent through the control socket.
    fn sent_now(&self) -> Result<Vec<i64>> {
        let open = self.app.read(|tx| Ok(messages::open_for(tx, &Recipient::Session(self.id.clone()))?))?;
        let is_sent =
            |message: &Message| message.status == MessageStatus::Offered && message.channel == Some(Channel::Nudge);
        Ok(open.into_iter().filter(is_sent).map(|message| message.id).collect())
    }

    fn ready(
        &mut self,
        agent: &AgentInfo,
        conversation: &str,
        guard: &GuardMode,
        is_resumed: bool,
    ) -> Result<SinkReply> {
        conversation.clone_into(&mut self.caller.external_session_id);
        let start = if is_resumed { StartKind::Resumed } else { StartKind::Fresh };
        // Before the context is composed, which would mention them as waiting.
        let session = self.session()?;
        let batch = prompt::take_deliverable(&self.app, &session, Channel::TurnEnd, MAX_BODY_BYTES)?;
        let prompt = batch.as_ref().map(|batch| self.prompt_text(batch)).transpose()?;
        self.delivered = batch.map(|batch| Delivered::Batch(Box::new(session), batch));
        let outcome = hook::handle(&self.app, &self.caller, &HookEvent::SessionStart(start), &no_transcript, NO_WAIT)?;
        let state = ProtocolState {
            agent: format!("{} (acp {})", agent.label(), agent.protocol),
            mode: guard.mode.clone(),
            unguarded: guard.why.clone(),
            can_steer: agent.can_steer,
        };
        self.app.transaction(|tx| Ok(session_reports::set_protocol(tx, &self.id, &state)?))?;
        let context = if let Reply::Context(text) = outcome.reply { Some(text) } else { None };
        self.agent = Some((agent.label(), guard.mode.clone()));
        Ok(SinkReply { context, prompt, ..SinkReply::default() })
    }

    /// The text of messages for the agent. A single message of a person stays as it is, so that it can be a command of the agent.
    fn prompt_text(&self, batch: &DeliveryBatch) -> Result<String> {
        let [id] = batch.ids.as_slice() else { return Ok(batch.text.clone()) };
        let message = self.app.read(|tx| Ok(messages::find(tx, *id)?))?;
        let is_plain = |message: &Message| batch.announced.is_empty() && mail::is_by_hand(&MessageView::from(message));
        Ok(message.filter(is_plain).map_or_else(|| batch.text.clone(), |message| message.content))
    }

    /// The app with the configuration in force now, which may have changed since the session began.
    fn app_now(&self) -> Result<App> {
        let (layers, settings) = load_in_force(&self.app.project, &self.app.env)?;
        Ok(self.app.with_settings(layers, settings))
    }

    fn turn_ended(&mut self, stop_reason: &str, usage: Option<&Usage>, said: &str) -> Result<SinkReply> {
        let turn = usage.map(|usage| Turn {
            key: Some(format!("acp {} {}", self.caller.external_session_id, self.turns)),
            at: self.app.env.now(),
            usage: Some(usage.clone()),
            tools: Vec::new(),
        });
        let taken = std::mem::take(&mut self.taken);
        self.app.transaction(|tx| {
            let session = lookup::session(tx, &self.id)?;
            answer(tx, &taken, stop_reason)?;
            telemetry::store_turns(tx, &session, &turn.into_iter().collect::<Vec<_>>())?;
            let ended = Event::new(EventKind::SessionTurnEnded)
                .session(&session.id, &session.run_id)
                .lane(session.lane.as_ref())
                .with("stop_reason", stop_reason);
            tx.record(&ended)?;
            Ok(())
        })?;
        let event = match stop_reason {
            CANCELLED => HookEvent::TurnCancelled,
            _ => HookEvent::TurnEnd(Some(said.to_owned())),
        };
        let outcome = hook::handle(&self.app, &self.caller, &event, &no_transcript, NO_WAIT)?;
        let Reply::Continue(text) = &outcome.reply else { return Ok(SinkReply::default()) };
        let prompt = Some(outcome.batch().map_or_else(|| Ok(text.clone()), |batch| self.prompt_text(batch))?);
        self.delivered = Some(Delivered::Reply(Box::new(outcome)));
        Ok(SinkReply { prompt, ..SinkReply::default() })
    }

    /// Records a tool that has run. When the agent ran it without asking, the guard decides only now: too late to stop the call,
    /// but the decision is recorded and shown.
    fn tool_ended(&mut self, call: &AgentCall, permission: Permission) -> Result<SinkReply> {
        let reply = match permission {
            Permission::NotAsked if call.has_failed() => self.judge_late("it did not ask", call)?,
            Permission::NotAsked => self.judge_late("it ran without asking", call)?,
            Permission::Denied if !call.has_failed() => {
                let what = "it ran although it was denied";
                SinkReply { note: Some(what.to_owned()), ..self.refute(what, call)? }
            }
            Permission::Asked | Permission::Denied => SinkReply::default(),
        };
        let tool = self.tool_call(call);
        let used = ToolUse {
            key: Some(call.id.clone()).filter(|key| key.len() <= fairway_core::domain::usage::MAX_NAME_BYTES),
            name: tool.tool.chars().take(64).collect(),
            success: Some(!call.has_failed()),
            duration_ms: None,
        };
        let files = guard::written_files(&tool.tool, &tool.input, self.cwd.as_deref());
        self.silently(&HookEvent::AfterTool(hook::ToolEnd { used, files, finds_program: None }))?;
        Ok(reply)
    }

    /// Judges what the agent does without a question about it; `what` says how. A denial comes too late, and shows that the agent
    /// does not ask as it should. A call that has failed shows nothing: a hook of the agent may have stopped it.
    fn judge_late(&self, what: &str, call: &AgentCall) -> Result<SinkReply> {
        let session = self.session()?;
        let decision = guard::authorize_permission(&self.app_now()?, &session, &self.tool_call(call), EntryPoint::Hook);
        let Some(denied) = decision.filter(|decision| !decision.allowed) else { return Ok(SinkReply::default()) };
        let note = Some(format!("{what}, and the guard denies it: {}", secrets::mask(&denied.reason)));
        let reply = if call.has_failed() { SinkReply::default() } else { self.refute(what, call)? };
        Ok(SinkReply { note, ..reply })
    }

    /// Records that the agent got around the guard: its proof is over, here and for later sessions.
    fn refute(&self, what: &str, call: &AgentCall) -> Result<SinkReply> {
        let about: String = secrets::mask(&call.describe()).chars().take(MAX_CALL_CHARS).collect();
        let why = format!("{what}: {about}");
        let agent = self.agent.as_ref();
        self.app.transaction(|tx| {
            let session = lookup::session(tx, &self.id)?;
            let mode = agent.and_then(|(_, mode)| mode.as_deref());
            session_reports::set_guard(tx, &self.id, mode, Some(&why))?;
            let bypassed = Event::new(EventKind::GuardBypassed).session(&session.id, &session.run_id);
            tx.record(&bypassed.with("tool", call.tool()).with("what", why.as_str()))?;
            Ok(())
        })?;
        if let Some((label, mode)) = agent {
            config::refute_proofs(&self.app.env, self.caller.provider.as_str(), label, mode.as_deref(), &why)
                .map_err(errors::internal)?;
        }
        Ok(SinkReply { refuted: Some(why), ..SinkReply::default() })
    }

    fn tool_call(&self, call: &AgentCall) -> ToolCall {
        let mut tool = ToolCall {
            aliases: call.alias().into_iter().collect(),
            cwd: self.cwd.clone(),
            context: Map::from_iter([("call_id".to_owned(), json!(call.id))]),
            ..ToolCall::new(call.tool(), call.input())
        };
        tool.runs_own_program = guard::is_own_verb(&self.app.env, &tool);
        tool
    }

    fn ask(&mut self, question: u64, request: &PermissionRequest) -> Result<Judgement> {
        if let Some(id) = self.close(question) {
            approval::withdraw(&self.app, id, "the agent has changed the call")?;
        }
        let session = self.session()?;
        let calls =
            if request.pending.is_empty() { std::slice::from_ref(&request.call) } else { request.pending.as_slice() };
        for one in calls {
            let tool = self.tool_call(one);
            let reply = match guard::authorize_permission(&self.app_now()?, &session, &tool, EntryPoint::Hook) {
                None => hook::reply_without_rules(&tool),
                Some(decision) => hook::reply_for(decision),
            };
            match reply {
                Reply::Deny(why) => return Ok(Judgement::Decided(PermissionChoice::deny(Some(why)))),
                // A yes of the guard is for this call. Where the agent may mean others, or takes none for it alone, a person answers.
                Reply::Allow(_) if request.pending.is_empty() && request.offers().once => {
                    return Ok(Judgement::Decided(PermissionChoice::ALLOW));
                }
                _ => {}
            }
        }
        let call = self.tool_call(&request.call);
        if self.waiter.is_none() {
            // Bound before the request is written: no answer is missed.
            self.waiter = Some(self.app.waiter("structured")?);
        }
        let input = with_options(call.input, request);
        let waits = Waits::Agent(request.offers());
        let asked = approval::request(&self.app, &session, self.caller.provider.as_str(), &call.tool, &input, waits)?;
        self.open.insert(question, asked);
        Ok(Judgement::Pending)
    }

    fn close(&mut self, question: u64) -> Option<i64> {
        let id = self.open.remove(&question).map(|(id, _)| id);
        if self.open.is_empty() {
            self.waiter = None;
        }
        id
    }

    fn answered(&self) -> Result<Vec<(u64, PermissionChoice)>> {
        if let Some(waiter) = &self.waiter {
            waiter.drain().map_err(errors::internal)?;
        }
        self.app.read(|tx| {
            let mut found = Vec::new();
            for (question, (id, _)) in &self.open {
                let Some(approval) = approvals::find(tx, *id)? else {
                    found.push((*question, PermissionChoice::deny(None)));
                    continue;
                };
                let choice = match approval.status {
                    ApprovalStatus::Pending => continue,
                    ApprovalStatus::Allowed => {
                        PermissionChoice::Allow { always: approval_state::lasts(tx, &approval)? }
                    }
                    ApprovalStatus::Denied => {
                        let always = approval_state::lasts(tx, &approval)?;
                        PermissionChoice::Deny { why: approval.reason, always }
                    }
                    ApprovalStatus::Lapsed => PermissionChoice::deny(approval.reason),
                };
                found.push((*question, choice));
            }
            Ok(found)
        })
    }
}

/// Marks the messages that a turn has taken as answered, with the reason why the turn ended.
fn answer(tx: &WriteTx<'_>, taken: &[i64], stop_reason: &str) -> Result<()> {
    for id in taken {
        if messages::answer(tx, *id, stop_reason)? {
            let answered = Event::new(EventKind::MessageAnswered);
            tx.record(&answered.with("id", *id).with("stop_reason", stop_reason))?;
        }
    }
    Ok(())
}

impl StructuredSink for StoreSink {
    fn report(&mut self, report: &Report) -> SinkReply {
        self.handle(report).unwrap_or_else(|error| {
            let note = format!("not recorded: {}", errors::classify(&error).message);
            SinkReply { note: Some(note), ..SinkReply::default() }
        })
    }

    fn judge(&mut self, question: u64, request: &PermissionRequest) -> Judgement {
        self.ask(question, request).unwrap_or_else(|error| {
            let why = format!("the question cannot be judged: {}", errors::classify(&error).message);
            Judgement::Decided(PermissionChoice::deny(Some(why)))
        })
    }

    fn withdraw(&mut self, question: u64, why: &str) {
        // A failure leaves it pending until the turn or the session ends.
        if let Some(id) = self.close(question) {
            let _ = approval::withdraw(&self.app, id, why);
        }
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.waiter.as_ref().map(AsFd::as_fd)
    }

    fn decisions(&mut self) -> Vec<(u64, PermissionChoice)> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let found = self.answered().unwrap_or_default();
        for (question, _) in &found {
            self.close(*question);
        }
        found
    }
}

/// The input as a person sees it, with what the call changes and the answers that the agent offers.
fn with_options(input: Value, request: &PermissionRequest) -> Value {
    let options: Vec<&str> = request.options.iter().map(|option| option.name.as_str()).collect();
    let more = [
        ("diff", request.call.diff().map(Value::from)),
        ("options", Some(json!(options))),
        (approval::ALWAYS_FIELD, request.lasting_option().map(Value::from)),
    ];
    match input {
        Value::Object(mut fields) => {
            for (name, value) in more {
                // A field of the agent's own stays.
                if let (false, Some(value)) = (fields.contains_key(name), value) {
                    fields.insert(name.to_owned(), value);
                }
            }
            Value::Object(fields)
        }
        other => other,
    }
}

fn no_transcript(_: &std::path::Path, _: u64) -> std::io::Result<hook::TranscriptUsage> {
    Err(std::io::ErrorKind::NotFound.into())
}
