//! Checkpoints as text.

use std::fmt::Write;

use crate::{
    cli::age::{due, rough},
    domain::SessionId,
    domain::checkpoint::Checkpoint,
    env::Timestamp,
    render::{Table, escape_line},
};

/// A table of checkpoints, one row each.
pub(super) fn table(checkpoints: &[Checkpoint], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "task", "state", "age", "by", "owner", "due", "summary"]);
    for one in checkpoints {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let by = dash(one.session.as_ref().map(SessionId::as_str));
        table.row([
            one.id.to_string(),
            one.task.to_string(),
            one.state.to_string(),
            rough(now.since(one.created_at)),
            one.origin.map_or_else(|| by.clone(), |origin| format!("{by} ({origin})")),
            dash(one.owner.as_deref()),
            one.due_at.map_or_else(|| "-".into(), |at| due(at, now)),
            one.summary.clone(),
        ]);
    }
    table
}

/// One checkpoint, a line for each field.
pub(super) fn details(one: &Checkpoint) -> String {
    let mut text = format!("{}  checkpoint {}  {}\n", one.task, one.id, one.state);
    let fields = [
        ("summary", Some(one.summary.clone())),
        ("at", Some(one.created_at.to_string())),
        ("by", one.session.as_ref().map(ToString::to_string)),
        ("origin", one.origin.map(|origin| origin.to_string())),
        ("owner", one.owner.clone()),
        ("artifact", one.artifact.clone()),
        ("due", one.due_at.map(|at| at.to_string())),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(&value));
        }
    }
    text
}
