//! Checkpoints as text.

use std::fmt::Write;

use crate::{
    cli::age::{age, due},
    env::Timestamp,
    render::{Table, escape_line},
    wire::CheckpointView,
};

/// A table of checkpoints, one row each.
pub(super) fn table(checkpoints: &[CheckpointView], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "task", "state", "age", "by", "owner", "due", "summary"]);
    for one in checkpoints {
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        table.row([
            one.id.to_string(),
            one.task_id.clone(),
            one.state.to_owned(),
            age(&one.created_at, now),
            one.origin.map_or_else(|| dash(&one.session_id), |origin| format!("{} ({origin})", dash(&one.session_id))),
            dash(&one.owner),
            one.due_at.as_ref().map_or_else(|| "-".into(), |at| due(at, now)),
            one.summary.clone(),
        ]);
    }
    table
}

/// One checkpoint, a line for each field.
pub(super) fn details(one: &CheckpointView) -> String {
    let mut text = format!("{}  checkpoint {}  {}\n", one.task_id, one.id, one.state);
    let origin = one.origin.map(str::to_owned);
    let fields = [
        ("summary", Some(&one.summary)),
        ("at", Some(&one.created_at)),
        ("by", one.session_id.as_ref()),
        ("origin", origin.as_ref()),
        ("owner", one.owner.as_ref()),
        ("artifact", one.artifact.as_ref()),
        ("due", one.due_at.as_ref()),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    }
    text
}
