//! An agent that misbehaves, at the level of frames.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::acp::tool_call::PermissionChoice;
use crate::domain::usage::Usage;

fn config() -> StateMachineConfig {
    StateMachineConfig {
        version: "1".into(),
        cwd: "/w".into(),
        mode: Some("ask".into()),
        resume: None,
        proof: Proof::Canary,
        refuse_unguarded: false,
        asks_for_all: false,
        usage: UsageScope::Turn,
    }
}

fn line(frame: &Value) -> Event {
    Event::Line(Frame::parse(frame.to_string().as_bytes()))
}

fn result(id: u64, result: Value) -> Event {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn failure(id: u64, message: &str) -> Event {
    line(&json!({ "id": id, "error": { "code": -1, "message": message } }))
}

fn update(update: Value) -> Event {
    line(&json!({ "method": "session/update", "params": { "sessionId": "s", "update": update } }))
}

fn question(id: &str, call: &str) -> Event {
    let options = json!([{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }]);
    let call = json!({ "toolCallId": call, "kind": "execute", "title": "ls" });
    let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
    line(&json!({ "id": id, "method": "session/request_permission", "params": params }))
}

fn opened(mode: &str) -> Value {
    json!({ "sessionId": "s", "modes": { "currentModeId": mode } })
}

/// A machine and all effects that it has had.
struct Played {
    machine: StateMachine,
    seen: Vec<Effect>,
}

impl Played {
    fn new(config: StateMachineConfig) -> Self {
        let mut this = Self { machine: StateMachine::new(config), seen: Vec::new() };
        this.play([Event::Started]);
        this
    }

    fn play(&mut self, events: impl IntoIterator<Item = Event>) -> Vec<Effect> {
        let new: Vec<Effect> =
            events.into_iter().flat_map(|event| self.machine.step(event, Duration::from_secs(1))).collect();
        self.seen.extend(new.iter().cloned());
        new
    }

    /// An idle session, in the mode in which the agent asks.
    fn idle() -> Self {
        let mut this = Self::new(config());
        this.play([result(1, json!({ "protocolVersion": 1 })), result(2, opened("ask")), Event::Tick]);
        assert_eq!(this.machine.phase, Phase::Idle);
        this
    }

    /// A session with a running turn, whose request has the id 3.
    fn busy() -> Self {
        let mut this = Self::idle();
        let effects = this.play([Event::Request(0, Command::Prompt("go".into()))]);
        assert_eq!(sent(&effects)[0]["id"], 3);
        this
    }
}

fn sent(effects: &[Effect]) -> Vec<Value> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Send(frame) = effect { Some(frame.clone()) } else { None })
        .collect()
}

fn methods(effects: &[Effect]) -> Vec<String> {
    sent(effects).iter().filter_map(|frame| Some(frame["method"].as_str()?.to_owned())).collect()
}

fn failed(effects: &[Effect]) -> Option<&str> {
    effects.iter().find_map(|effect| if let Effect::Fail(why) = effect { Some(why.as_str()) } else { None })
}

fn guard_of(effects: &[Effect]) -> Option<&GuardMode> {
    effects.iter().find_map(|effect| match effect {
        Effect::Report(Report::Ready { guard, .. } | Report::Guard(guard)) => Some(guard),
        _ => None,
    })
}

#[test]
fn prompt_goes_into_the_running_turn_of_an_agent_that_takes_it() {
    let mut played = Played::busy();
    played.machine.agent.can_steer = true;
    let sent_to = |effects: &[Effect]| (sent(effects)[0]["method"].clone(), sent(effects)[0]["id"].clone());
    let effects = played.play([Event::Request(7, Command::Prompt("more".into()))]);
    assert_eq!(sent_to(&effects), (json!("_session/steering"), json!(4)));
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Reply(..))),
        "nothing is told before the agent has it"
    );
    let effects = played.play([result(4, json!({ "outcome": "injected" }))]);
    assert!(effects.contains(&Effect::Report(Report::Steered)) && effects.contains(&Effect::Reply(7, Ok(()))));
    // The agent refuses one prompt, and returns another because its turn has ended.
    played.play([Event::Request(8, Command::Prompt("no".into())), Event::Request(9, Command::Prompt("late".into()))]);
    let effects = played.play([failure(5, "full")]);
    let why = "the agent does not take it into its running turn: full".to_owned();
    assert_eq!(effects, [Effect::Reply(8, Err(why))]);
    played.play([result(3, json!({ "stopReason": "end_turn" }))]);
    played.play([Event::Request(10, Command::Pause)]);
    assert!(played.machine.begin_pause(Duration::from_secs(1)).is_empty(), "a prompt is on its way");
    let effects = played.play([result(6, json!({ "outcome": "promptRequired" }))]);
    assert_eq!(sent_to(&effects).0, "session/prompt");
    assert!(effects.contains(&Effect::Reply(9, Ok(()))));
    // A prompt whose agent ends, and one for a turn that is cancelled.
    played.machine.pause_requests.clear();
    played.play([Event::Request(11, Command::Prompt("lost".into())), Event::Request(12, Command::Cancel)]);
    let effects = played.play([Event::Request(13, Command::Prompt("after".into()))]);
    assert_eq!((sent(&effects).len(), &effects[..]), (0, &[Effect::Reply(13, Ok(()))][..]));
    let effects = played.play([Event::AgentGone]);
    assert!(effects.contains(&Effect::Reply(11, Err("the agent has ended".to_owned()))));
}

#[test]
fn pause_begins_when_nothing_waits_and_ends_by_itself() {
    let pause = |played: &mut Played| {
        let id = played.machine.next_request + 100;
        played.play([Event::Request(id, Command::Pause)]);
        played.machine.begin_pause(Duration::from_secs(1))
    };
    let mut played = Played::busy();
    assert!(pause(&mut played).is_empty());
    played.play([Event::Request(8, Command::Prompt("more".into()))]);
    played.play([result(3, json!({ "stopReason": "end_turn" }))]);
    assert!(played.machine.begin_pause(Duration::from_secs(1)).is_empty(), "the next prompt is its turn");
    played.play([Event::Request(9, Command::Pause), Event::RequestGone(9)]);
    played.play([result(4, json!({ "stopReason": "end_turn" }))]);
    assert_eq!(played.machine.begin_pause(Duration::from_secs(1)), [104], "the request that is gone gets no reply");
    let refused = played.play([Event::Request(10, Command::Prompt("late".into()))]);
    assert!(matches!(refused.as_slice(), [Effect::Reply(10, Err(_))]), "{refused:?}");
    let end = played.machine.due().unwrap();
    assert_eq!(end, Duration::from_secs(1) + PAUSE);
    assert_eq!(played.machine.step(Event::Tick, end), []);
    assert_eq!(played.machine.due(), None);
    let taken = played.play([Event::Request(11, Command::Prompt("again".into()))]);
    assert_eq!(methods(&taken), ["session/prompt"]);
}

#[test]
fn session_is_opened_its_mode_is_set_and_read_back() {
    let mut played = Played::new(config());
    let begun = sent(&played.seen);
    assert_eq!((&begun[0]["method"], &begun[0]["params"]["protocolVersion"]), (&json!("initialize"), &json!(1)));
    let effects = played.play([result(1, json!({ "protocolVersion": 1 }))]);
    assert_eq!(sent(&effects)[0]["params"], json!({ "cwd": "/w", "mcpServers": [] }));
    let effects = played.play([result(2, opened("auto"))]);
    assert_eq!(sent(&effects)[0]["params"], json!({ "sessionId": "s", "modeId": "ask" }));
    let effects = played.play([
        update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "ask" })),
        result(3, json!({})),
    ]);
    let guard = GuardMode { mode: Some("ask".into()), is_asking: true, why: None };
    assert_eq!(guard_of(&effects), Some(&guard));
    assert!(effects.contains(&Effect::Ready) && played.machine.due().is_none());
}

#[test]
fn offered_mode_is_set_by_a_success_that_no_update_contradicts() {
    let offering =
        |modes: Value| json!({ "sessionId": "s", "modes": { "currentModeId": "auto", "availableModes": modes } });
    let change = |mode: &str| update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode }));
    let (with, without) = (json!([{ "id": "auto" }, { "id": "ask" }]), json!([{ "id": "auto" }]));
    for (modes, answers, mode) in [
        (&with, vec![result(3, json!({}))], "ask"),
        (&with, vec![result(3, Value::Null)], "ask"),
        (&without, vec![result(3, json!({}))], "auto"),
        (&with, vec![failure(3, "no")], "auto"),
        (&with, vec![change("plan"), result(3, json!({}))], "plan"),
    ] {
        let mut played = Played::new(config());
        played.play([result(1, json!({ "protocolVersion": 1 })), result(2, offering(modes.clone()))]);
        let effects = played.play(answers);
        let guard = guard_of(&effects).unwrap();
        assert_eq!((guard.mode.as_deref(), guard.is_asking), (Some(mode), mode == "ask"), "{effects:?}");
    }
}

#[test]
fn mode_that_is_an_option_is_set_as_one() {
    let mut played = Played::new(config());
    let options = |mode: &str| json!({ "configOptions": [{ "id": "perm", "category": "mode", "currentValue": mode }] });
    let mut session = options("auto");
    session["sessionId"] = json!("s");
    let effects = played.play([result(1, json!({ "protocolVersion": 1 })), result(2, session)]);
    assert_eq!(sent(&effects)[1]["params"], json!({ "sessionId": "s", "configId": "perm", "value": "ask" }));
    let effects = played.play([result(3, options("ask"))]);
    assert!(guard_of(&effects).unwrap().is_asking);
}

#[test]
fn mode_that_is_refused_silent_or_changed_is_not_guarded() {
    for (mode, answer) in
        [("auto", Some(failure(3, "no"))), ("auto", Some(result(3, json!({})))), ("x", Some(result(3, opened("y"))))]
    {
        let mut played = Played::new(config());
        played.play([result(1, json!({ "protocolVersion": 1 })), result(2, opened(mode))]);
        let effects = played.play(answer);
        assert!(!guard_of(&effects).unwrap().is_asking, "{effects:?}");
        assert!(effects.contains(&Effect::Ready));
    }
    let mut played = Played::busy();
    let change = |mode: &str| update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode }));
    let effects = played.play([change("auto"), change("auto")]);
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Report(_))).count(), 1);
    assert!(!guard_of(&effects).unwrap().is_asking);
    let strict = StateMachineConfig { refuse_unguarded: true, ..config() };
    let mut played = Played::new(strict);
    played.play([result(1, json!({ "protocolVersion": 1 })), result(2, opened("ask"))]);
    let effects = played.play([change("auto")]);
    assert!(failed(&effects).unwrap().contains("not guarded"), "{effects:?}");
}

#[test]
fn conversation_is_continued_by_what_the_agent_can() {
    for (offers, method) in [
        (json!({ "loadSession": true }), Some("session/load")),
        (json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }), Some("session/resume")),
        (json!({}), None),
    ] {
        let mut played = Played::new(StateMachineConfig { resume: Some("old".into()), ..config() });
        let effects = played.play([result(1, json!({ "protocolVersion": 1, "agentCapabilities": offers }))]);
        match method {
            Some(method) => {
                assert_eq!(methods(&effects), [method]);
                assert_eq!(sent(&effects)[0]["params"]["mcpServers"], json!([]));
                // The mode is set again, whatever the agent says it is in.
                let effects = played.play([result(2, opened("ask"))]);
                assert_eq!(sent(&effects)[0]["params"], json!({ "sessionId": "s", "modeId": "ask" }));
                assert!(guard_of(&played.play([result(3, json!({}))])).unwrap().is_asking);
            }
            None => assert!(failed(&effects).is_some()),
        }
    }
}

#[test]
fn setup_that_fails_or_stalls_names_the_step() {
    type Step = Vec<Event>;
    let ok = || result(1, json!({ "protocolVersion": 1 }));
    let cases: Vec<(Step, &str)> = vec![
        (vec![failure(1, "no key")], "refused initialize: no key"),
        (vec![result(1, json!({ "protocolVersion": 2 }))], "version 2"),
        (vec![result(1, json!(7))], "version 0"),
        (vec![ok(), failure(2, "log in first")], "opened no session: log in first"),
        (vec![ok(), result(2, json!({}))], "session without an id"),
    ];
    for (events, why) in cases {
        let mut played = Played::new(config());
        let effects = played.play(events);
        assert!(failed(&effects).unwrap().contains(why), "{effects:?}");
    }
    let mut machine = StateMachine::new(config());
    let _ = machine.step(Event::Started, Duration::ZERO);
    assert_eq!(machine.due(), Some(SETUP_TIMEOUT));
    assert_eq!(machine.step(Event::Tick, SETUP_TIMEOUT.saturating_sub(Duration::from_millis(1))), []);
    assert!(failed(&machine.step(Event::Tick, SETUP_TIMEOUT)).unwrap().contains("initialize within 60 s"));
}

#[test]
fn turn_has_one_prompt_and_the_next_ones_wait() {
    let mut played = Played::idle();
    let ask = |id, text: &str| Event::Request(id, Command::Prompt(text.into()));
    let effects = played.play([Event::Context("who you are".into()), ask(1, "one"), ask(2, "two")]);
    let prompts: Vec<Value> = sent(&effects).into_iter().map(|frame| frame["params"]["prompt"].clone()).collect();
    let text = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(prompts, [json!([text("who you are"), text("one")])]);
    assert!(effects.contains(&Effect::Reply(1, Ok(()))) && effects.contains(&Effect::Reply(2, Ok(()))));
    let usage = json!({ "stopReason": "end_turn", "usage": { "inputTokens": 5, "outputTokens": 2, "totalTokens": 7 } });
    let cost = json!({ "sessionUpdate": "usage_update", "used": 50, "size": 100, "cost": { "amount": 0.5, "currency": "USD" } });
    let said = json!({ "sessionUpdate": "agent_message_chunk", "content": text("done") });
    let effects = played.play([update(cost), update(said), result(3, usage)]);
    let usage = Usage { input_tokens: 5, output_tokens: 2, cost_usd: Some(0.5), ..Usage::default() };
    let ended = Report::TurnEnded { stop_reason: "end_turn".into(), usage: Some(usage), said: "done".into() };
    assert!(effects.contains(&Effect::Report(ended)), "{effects:?}");
    assert!(effects.contains(&Effect::Report(Report::ContextUsage(0.5))));
    assert_eq!(sent(&effects)[0]["params"]["prompt"], json!([text("two")]));
    // A second answer to the first prompt, and an answer without a request.
    assert_eq!(played.play([result(3, json!({})), result(99, json!({}))]), []);
    let effects = played.play([failure(4, "overloaded")]);
    assert!(
        effects.iter().any(|one| matches!(one, Effect::Report(Report::TurnFailed { why, .. }) if why == "overloaded"))
    );
}

#[test]
fn flood_of_prompts_is_refused_above_the_limit() {
    let mut played = Played::busy();
    let asked = u64::try_from(MAX_QUEUED_PROMPTS).unwrap() + 1;
    let effects = played.play((0..asked).map(|id| Event::Request(id, Command::Prompt("x".into()))));
    let refused = effects.iter().filter(|effect| matches!(effect, Effect::Reply(_, Err(_)))).count();
    assert_eq!((refused, sent(&effects).len()), (1, 0));
}

#[test]
fn question_is_judged_and_answered_with_the_agents_option() {
    for (choice, option) in [(PermissionChoice::ALLOW, "y"), (PermissionChoice::deny(Some("no".into())), "n")] {
        let mut played = Played::busy();
        let described = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "rawInput": { "cwd": "/w" } });
        let effects = played.play([update(described), question("q", "c")]);
        let Some(Effect::Ask { question, request }) =
            effects.iter().find(|effect| matches!(effect, Effect::Ask { .. }))
        else {
            panic!("{effects:?}")
        };
        assert_eq!(request.call.input(), json!({ "cwd": "/w", "command": "ls" }));
        let decided = Event::Decided { question: *question, choice };
        let effects = played.play([decided.clone(), decided]);
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        assert_eq!(sent(&effects), [json!({ "jsonrpc": "2.0", "id": "q", "result": outcome })]);
        let end = update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed" }));
        let effects = played.play([end.clone(), end]);
        let ended: Vec<_> = effects
            .iter()
            .filter(|effect| {
                matches!(
                    effect,
                    Effect::Report(Report::ToolEnded { permission: Permission::Asked | Permission::Denied, .. })
                )
            })
            .collect();
        assert_eq!(ended.len(), 1, "{effects:?}");
    }
}

#[test]
fn question_without_a_call_belongs_to_the_pending_one_and_a_person_answers_for_several() {
    let bare = |id: &str, call: &str| {
        let options = json!([{ "optionId": "y", "kind": "allow_once" }]);
        let call = json!({ "toolCallId": call, "title": "Confirm" });
        let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
        line(&json!({ "id": id, "method": "session/request_permission", "params": params }))
    };
    let call = |id: &str, command: &str, status: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "kind": "execute", "status": status,
            "content": [{ "type": "content", "content": { "type": "text", "text": json!({ "command": command }).to_string() } }] }))
    };
    let asked = |effects: &[Effect]| match effects.iter().find(|effect| matches!(effect, Effect::Ask { .. })) {
        Some(Effect::Ask { question, request }) => (*question, request.call.input(), request.pending.len()),
        _ => panic!("{effects:?}"),
    };
    let mut played = Played::busy();
    let effects = played.play([call("a", "ls", "pending"), bare("q", "confirmation-1")]);
    let (number, input, pending) = asked(&effects);
    assert_eq!((input, pending), (json!({ "command": "ls" }), 0));
    // The id alone is enough for a call that is known.
    let (_, input, pending) = asked(&played.play([bare("p", "a")]));
    assert_eq!((input, pending), (json!({ "command": "ls" }), 0));
    let effects = played.play([call("b", "rm x", "pending"), bare("r", "confirmation-2")]);
    let (several, input, pending) = asked(&effects);
    assert_eq!((input, pending), (json!({ "calls": ["Bash: ls", "Bash: rm x"] }), 2));
    let choices = [(number, PermissionChoice::ALLOW), (several, PermissionChoice::deny(None))];
    played.play(choices.map(|(question, choice)| Event::Decided { question, choice }));
    let effects = played.play([call("a", "ls", "completed"), call("b", "rm x", "completed")]);
    let denied = Permission::Denied;
    let ended = effects.iter().filter(
        |effect| matches!(effect, Effect::Report(Report::ToolEnded { permission, .. }) if *permission == denied),
    );
    assert_eq!(ended.count(), 2, "{effects:?}");
    // An agent that asks once for all names one of them.
    played.machine.config.asks_for_all = true;
    let effects = played.play([call("c", "ls", "pending"), call("d", "rm y", "pending"), bare("s", "d")]);
    let (_, input, pending) = asked(&effects);
    assert_eq!((input, pending), (json!({ "calls": ["Bash: ls", "Bash: rm y"] }), 2));
    let (_, input, pending) = asked(&played.play([call("e", "make", "pending"), bare("t", "e")]));
    assert_eq!((input, pending), (json!({ "command": "make" }), 0));
}

#[test]
fn usage_of_a_turn_is_the_difference_of_sums() {
    let told = |input: u64| json!({ "stopReason": "end_turn", "usage": { "inputTokens": input, "outputTokens": 5 } });
    for (usage, resume, inputs) in [
        (UsageScope::Turn, None, [Some(100), Some(250), Some(30)]),
        (UsageScope::Process, None, [Some(100), Some(150), Some(30)]),
        (UsageScope::Process, Some("s"), [Some(100), Some(150), Some(30)]),
        (UsageScope::Conversation, None, [Some(100), Some(150), Some(30)]),
        (UsageScope::Conversation, Some("s"), [None, Some(150), Some(30)]),
    ] {
        let agent = json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } });
        let config = StateMachineConfig { mode: None, usage, resume: resume.map(str::to_owned), ..config() };
        let mut played = Played::new(config);
        played.play([result(1, agent), result(2, json!({ "sessionId": "s" }))]);
        let counted = [(3, 100), (4, 250), (5, 30)].map(|(id, sum)| {
            let effects = played.play([Event::Request(id, Command::Prompt("x".into())), result(id, told(sum))]);
            effects.iter().find_map(|effect| match effect {
                Effect::Report(Report::TurnEnded { usage, .. }) => usage.as_ref().map(|usage| usage.input_tokens),
                _ => None,
            })
        });
        assert_eq!(counted, inputs, "{usage} {resume:?}");
    }
}

#[test]
fn tool_that_runs_without_a_question_is_reported_so() {
    let mut played = Played::busy();
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "kind": "read", "status": "completed" });
    let effects = played.play([update(call)]);
    assert!(
        matches!(&effects[1], Effect::Report(Report::ToolEnded { permission: Permission::NotAsked, .. })),
        "{effects:?}"
    );
}

#[test]
fn call_that_changes_is_judged_again_and_once() {
    let change = |command: &str, status: &str| {
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status,
            "rawInput": { "command": command, "description": status } }))
    };
    let asked = |effects: &[Effect]| {
        let asks = effects.iter().filter_map(|effect| match effect {
            Effect::Ask { question, request } => Some((*question, request.call.input()["command"].clone())),
            _ => None,
        });
        asks.collect::<Vec<_>>()
    };
    let changed = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Report(Report::ToolChanged(_)))).count()
    };
    let mut played = Played::busy();
    let effects = played.play([question("q", "c")]);
    let [(number, _)] = asked(&effects)[..] else { panic!("{effects:?}") };
    // While the question is open, it is asked anew.
    let effects = played.play([change("ls", "pending"), change("rm x", "pending"), change("rm x", "pending")]);
    assert_eq!((asked(&effects), changed(&effects)), (vec![(number, json!("rm x"))], 0));
    // A second question about the call changes the first one.
    let effects = played.play([question("p", "c"), change("rm y", "pending")]);
    assert_eq!(asked(&effects).len(), 3, "{effects:?}");
    played.play([number, number + 1].map(|question| Event::Decided { question, choice: PermissionChoice::ALLOW }));
    // After the answer only the change is reported.
    let effects =
        played.play([change("rm y", "in_progress"), change("rm z", "in_progress"), change("rm z", "completed")]);
    assert_eq!((asked(&effects), changed(&effects)), (Vec::new(), 1), "{effects:?}");
}

#[test]
fn denied_call_that_runs_is_reported_and_refutes_the_proof_for_good() {
    let mut played = Played::busy();
    let effects = played.play([question("q", "c")]);
    let Some(Effect::Ask { question, .. }) = effects.last() else { panic!("{effects:?}") };
    let denied = Event::Decided { question: *question, choice: PermissionChoice::deny(None) };
    let end = update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed" }));
    let effects = played.play([denied, end]);
    let is_seen =
        |effect: &Effect| matches!(effect, Effect::Report(Report::ToolEnded { permission: Permission::Denied, .. }));
    assert!(effects.iter().any(is_seen), "{effects:?}");
    let mode = |mode: &str| update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode }));
    played.play([Event::Refuted("it ran".into()), mode("auto"), mode("ask"), Event::Refuted("again".into())]);
    let guards = played.seen.iter().filter_map(|effect| match effect {
        Effect::Report(Report::Guard(guard)) => Some(guard.why.clone()),
        _ => None,
    });
    assert!(guards.clone().count() >= 1 && guards.clone().all(|why| why.as_deref() == Some("it ran")));
}

#[test]
fn withdrawn_question_needs_no_decision() {
    let mut played = Played::busy();
    played.play([question("q", "c")]);
    let withdraw = line(&json!({ "method": "$/cancel_request", "params": { "requestId": "q" } }));
    let effects = played.play([withdraw.clone(), withdraw]);
    assert_eq!(sent(&effects)[0]["error"]["code"], -32800);
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Withdraw { .. })).count(), 1);
    assert_eq!(played.play([Event::Decided { question: 1, choice: PermissionChoice::ALLOW }]), []);
}

#[test]
fn cancel_answers_every_open_question_and_comes_once() {
    let mut played = Played::busy();
    played.play([question("q", "c"), question("r", "d")]);
    let effects = played.play([Event::Request(7, Command::Cancel), Event::Request(8, Command::Cancel)]);
    assert_eq!(methods(&effects), ["session/cancel"]);
    let answers: Vec<Value> = sent(&effects).into_iter().filter(|frame| frame.get("result").is_some()).collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["result"]["outcome"]["outcome"] == "cancelled"));
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Withdraw { .. })).count(), 2);
    // A question that crosses the cancel.
    let effects = played.play([question("s", "e")]);
    assert_eq!(sent(&effects)[0]["result"]["outcome"]["outcome"], "cancelled");
    let effects = played.play([failure(3, "aborted")]);
    let ended = Report::TurnEnded { stop_reason: "cancelled".into(), usage: None, said: String::new() };
    assert!(effects.contains(&Effect::Report(ended)));
    // There is nothing to cancel in an idle session.
    assert_eq!(sent(&played.play([Event::Request(9, Command::Cancel)])), [] as [Value; 0]);
}

#[test]
fn unknown_requests_are_refused_and_unknown_updates_ignored() {
    let mut played = Played::busy();
    for method in ["fs/write_text_file", "terminal/create", "x".repeat(9_000).as_str()] {
        let effects = played.play([line(&json!({ "id": 5, "method": method, "params": {} }))]);
        assert_eq!(sent(&effects)[0]["error"]["code"], -32601);
        assert!(sent(&effects)[0].to_string().len() < 1_000);
    }
    for ignored in [
        update(json!({ "sessionUpdate": "of tomorrow" })),
        update(json!(7)),
        line(&json!({ "method": "_extension/thing", "params": [] })),
        line(
            &json!({ "method": "session/update", "params": { "sessionId": "other", "update": { "sessionUpdate": "plan" } } }),
        ),
    ] {
        assert_eq!(played.play([ignored]), []);
    }
    let effects = played.play([line(&json!({ "id": 6, "method": "session/request_permission", "params": {} }))]);
    assert_eq!(sent(&effects)[0]["error"]["code"], -32602);
}

#[test]
fn garbage_is_counted_and_endless_garbage_ends_the_session() {
    let mut played = Played::busy();
    let garbage = || Event::Line(Err("not a JSON object"));
    let limit = usize::try_from(MAX_GARBAGE_LINES).unwrap();
    assert_eq!(played.play((0..limit).map(|_| garbage())), []);
    assert!(failed(&played.play([garbage()])).is_some());
}

#[test]
fn flood_of_questions_and_calls_is_bounded() {
    let mut played = Played::busy();
    let effects = played.play((0..200).map(|number| question(&format!("q{number}"), &format!("c{number}"))));
    let asked = effects.iter().filter(|effect| matches!(effect, Effect::Ask { .. })).count();
    assert_eq!((asked, sent(&effects).len()), (MAX_OPEN_QUESTIONS, 200 - MAX_OPEN_QUESTIONS));
    let call = |number: usize| update(json!({ "sessionUpdate": "tool_call", "toolCallId": format!("x{number}") }));
    played.play((0..10_000).map(call));
    assert!(played.machine.calls.len() <= MAX_TOOL_CALLS);
}

#[test]
fn death_at_every_frame_ends_the_session_once() {
    let story = || {
        vec![
            result(1, json!({ "protocolVersion": 1 })),
            result(2, opened("auto")),
            result(3, opened("ask")),
            Event::Request(1, Command::Prompt("go".into())),
            question("q", "c"),
            Event::Decided { question: 1, choice: PermissionChoice::ALLOW },
            result(4, json!({ "stopReason": "end_turn" })),
        ]
    };
    for end in 0..=story().len() {
        let mut played = Played::new(config());
        played.play(story().into_iter().take(end));
        let had_turn = matches!(played.machine.phase, Phase::Prompting { .. });
        let had_question = !played.machine.questions.is_empty();
        let effects = played.play([Event::AgentGone]);
        let failed_turn = effects.iter().any(|effect| matches!(effect, Effect::Report(Report::TurnFailed { .. })));
        let withdrawn = effects.iter().any(|effect| matches!(effect, Effect::Withdraw { .. }));
        assert_eq!((failed_turn, withdrawn), (had_turn, had_question), "after {end}");
        assert_eq!(sent(&effects), [] as [Value; 0]);
        let effects = played.play([Event::AgentGone, question("z", "c"), Event::Request(9, Command::Cancel)]);
        assert!(matches!(&effects[..], [Effect::Reply(9, Err(_))]), "after {end}: {effects:?}");
    }
}

fn happening() -> impl Strategy<Value = Event> {
    let id = 1_u64..6;
    prop_oneof![
        id.clone()
            .prop_map(|id| result(id, json!({ "protocolVersion": 1, "sessionId": "s", "stopReason": "end_turn" }))),
        id.clone().prop_map(|id| failure(id, "no")),
        id.clone().prop_map(|id| question(&format!("q{id}"), "c")),
        id.clone()
            .prop_map(|id| line(&json!({ "method": "$/cancel_request", "params": { "requestId": format!("q{id}") } }))),
        id.clone().prop_map(|question| Event::Decided { question, choice: PermissionChoice::ALLOW }),
        id.prop_map(|id| Event::Request(id, Command::Prompt(id.to_string()))),
        Just(Event::Request(0, Command::Cancel)),
        Just(Event::Continue("more".into())),
        Just(Event::Line(Err("garbage"))),
        Just(update(json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "status": "failed" }))),
        Just(Event::Tick),
        Just(Event::AgentGone),
    ]
}

proptest! {
    /// For any sequence of events: there is one turn at a time, every question is answered at most once and is closed
    /// when the turn or the agent ends, and nothing is written to an agent that is gone.
    #[test]
    fn turns_and_questions_are_closed_in_any_order(events in proptest::collection::vec(happening(), 0..60)) {
        let mut played = Played::new(config());
        let (mut open, mut has_turn, mut is_gone) = (BTreeSet::new(), false, false);
        for event in events {
            is_gone |= event == Event::AgentGone;
            for effect in played.play([event]) {
                match effect {
                    Effect::Send(frame) => {
                        prop_assert!(!is_gone, "{frame}");
                        if frame["method"] == "session/prompt" {
                            prop_assert!(!has_turn, "two turns at a time");
                        }
                    }
                    Effect::Report(Report::TurnStarted) => has_turn = true,
                    Effect::Report(Report::TurnEnded { .. } | Report::TurnFailed { .. }) => {
                        prop_assert!(std::mem::take(&mut has_turn));
                    }
                    Effect::Ask { question, .. } => prop_assert!(open.insert(question)),
                    Effect::Withdraw { question, .. } => prop_assert!(open.remove(&question)),
                    _ => {}
                }
            }
            open.retain(|question| played.machine.questions.contains_key(question));
            prop_assert_eq!(open.len(), played.machine.questions.len());
            prop_assert!(has_turn || open.is_empty());
        }
    }
}
