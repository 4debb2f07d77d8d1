//! Token usage and tool calls of turns, as runtimes report them. A report may arrive twice.

use std::fmt::Write;

use anyhow::Result;

use crate::core::lookup::session_of_run;
use crate::core::session_events;
use crate::sessions::budget;
use crate::{Answer, App};
use fairway_core::domain::session::Session;
use fairway_core::domain::usage::MAX_REPORTED_ITEMS;
use fairway_core::domain::{Event, EventKind, Refusal, RunId, plural};
use fairway_core::os::digest::sha256_hex;
use fairway_core::store::{WriteTx, tasks, usage};
use fairway_core::wire::TelemetryView;

pub use fairway_core::domain::usage::{ToolUse, Turn, Usage};

/// Stores the usage of turns: all of them, or none when a value is invalid. Turns that the session run has already reported are
/// not counted again. A report after the session's end still counts.
///
/// # Errors
/// `not_found`; `invalid_value`, which names the field.
pub fn report(app: &App, run_id: &RunId, turns: &[Turn]) -> Result<Answer> {
    if turns.len() > MAX_REPORTED_ITEMS {
        let why = format!("has {} turns; the maximum per report is {MAX_REPORTED_ITEMS}", turns.len());
        return Err(Refusal::invalid("events", why).into());
    }
    app.mutate_unattributed(|tx| {
        let session = session_of_run(tx, run_id)?;
        session_events::heard(tx, &session)?;
        let counts = store_turns(tx, &session, turns)?;
        budget::settle(app, tx, &session.id)?;
        let known = match counts.turns_known + counts.tools_known {
            0 => String::new(),
            known => format!(", {known} already known"),
        };
        let (turns, tools) = (plural::count(counts.turns, "turn"), plural::count(counts.tools, "tool call"));
        let line = format!("{}: {turns}, {tools}{known}", session.id);
        Answer::new(&counts, &session.id, line)
    })
}

/// Stores turns of a session within a transaction, and records one event for the new ones. A report that has only tool calls
/// records no event, because their rows are the record.
///
/// # Errors
/// `invalid_value`, which names the field.
pub fn store_turns(tx: &WriteTx<'_>, session: &Session, turns: &[Turn]) -> Result<TelemetryView> {
    for (place, turn) in turns.iter().enumerate() {
        turn.check(place)?;
    }
    let session = &with_current_task(tx, session)?;
    let mut counts = TelemetryView::default();
    for turn in turns {
        let key = sha256_hex(turn_key(turn).as_bytes());
        if let Some(usage) = &turn.usage {
            let count = if usage::insert_turn(tx, session, turn.at, &key, usage)? {
                &mut counts.turns
            } else {
                if turn.key.is_some() {
                    usage::update_turn(tx, session, turn.at, &key, usage)?;
                }
                &mut counts.turns_known
            };
            *count += 1;
        }
        let model = turn.usage.as_ref().and_then(|usage| usage.model.as_deref());
        for (place, tool) in turn.tools.iter().enumerate() {
            let key = sha256_hex(tool_key(&key, place, tool).as_bytes());
            let count = if usage::insert_tool_call(tx, session, turn.at, &key, model, tool)? {
                &mut counts.tools
            } else {
                &mut counts.tools_known
            };
            *count += 1;
        }
    }
    if counts.turns > 0 {
        tx.record(
            &Event::new(EventKind::UsageReported)
                .session(&session.id, &session.run_id)
                .lane(session.lane.as_ref())
                .with("turns", to_i64(counts.turns))
                .with("tools", to_i64(counts.tools))
                .with("task_id", session.task.as_ref().map(ToString::to_string)),
        )?;
    }
    Ok(counts)
}

/// The session with its current task and that task's lane. The last claimed task takes precedence over the task of the launch.
fn with_current_task(tx: &WriteTx<'_>, session: &Session) -> Result<Session> {
    let Some((task, lane)) = tasks::last_claimed_by(tx, session.id.as_str())? else { return Ok(session.clone()) };
    Ok(Session { task: Some(task), lane: session.lane.clone().or(lane), ..session.clone() })
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The identity of a turn within its session run: the source's id, else all of its values. Digests of this text are stored
/// for ever: another spelling would count repeats again.
fn turn_key(turn: &Turn) -> String {
    if let Some(own) = &turn.key {
        return format!("turn_complete\0key\0{own}");
    }
    let mut key = format!("turn_complete\0{}", turn.at.millis());
    if let Some(usage) = &turn.usage {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, model, cost_usd } = usage;
        let cost = cost_usd.map(f64::to_bits).unwrap_or_default();
        let model = model.as_deref().unwrap_or_default();
        let _ = write!(
            key,
            "\0{input_tokens}\0{output_tokens}\0{cache_read_tokens}\0{cache_creation_tokens}\0{cost}\0{model}"
        );
    }
    for (place, tool) in turn.tools.iter().enumerate() {
        let _ = write!(key, "\0{}", tool_key("", place, tool));
    }
    key
}

/// The identity of a tool call within its turn; its spelling is as fixed as that of [`turn_key`].
fn tool_key(turn: &str, place: usize, tool: &ToolUse) -> String {
    match &tool.key {
        Some(own) => format!("tool_call\0key\0{own}"),
        None => {
            let span = tool.duration_ms.map_or_else(String::new, |span| span.to_string());
            let success = tool.success.map_or(-1, i32::from);
            format!("tool_call\0{turn}\0{place}\0{success}\0{span}\0{}", tool.name)
        }
    }
}
