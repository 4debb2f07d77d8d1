//! `overlap`: who changes the same places.

use std::fmt::Write as _;

use anyhow::Result;

use super::next::one_line;
use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::core::lookup;
use fairway_actions::land::overlap::{self, Scope, Selection, wait};
use fairway_core::wire::OverlapPairView;

/// The most overlaps in the text.
const MAX_SHOWN: usize = 10;
/// The most files of an overlap in the text.
const MAX_FILES: usize = 3;

tool! {
    name: "overlap",
    title: "Who touches what I touch",
    description: "Tell which lanes and tasks change the same places as yours, judged by git's own merge with uncommitted work. \
                  Ask before you change much, and before you finish.",
    // It keeps what it saw of the worktrees.
    effect: Looks,
    arguments: {
        /// Lane or task; default: your lane, else every lane.
        name: Option<String>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    let app = call.app;
    let selection = match &asked.name {
        Some(name) => Selection::read(app, name)?,
        None => Selection { lane: app.read(|tx| lookup::implied_scope(tx, &app.actor))?.lane, task: None },
    };
    let found = overlap::view(app, &overlap::refresh(app, Scope::All, wait::LOOK_LIMIT)?, &selection)?;
    let mut text = String::new();
    for one in found.overlaps.iter().take(MAX_SHOWN) {
        let _ = writeln!(text, "{}", line(one));
    }
    if found.overlaps.len() > MAX_SHOWN {
        let _ = writeln!(text, "{} more overlaps", found.overlaps.len() - MAX_SHOWN);
    }
    if found.overlaps.is_empty() {
        text.push_str("no overlap\n");
    }
    if let Some(problem) = &found.problem {
        let _ = writeln!(text, "not everything was judged: {}", one_line(problem));
    }
    Ok(Reply::new(text, serde_json::to_value(&found)?).into())
}

fn line(one: &OverlapPairView) -> String {
    let name = |lane: &Option<String>, task: &Option<String>| {
        task.as_ref().or(lane.as_ref()).map_or("-".to_owned(), |name| one_line(name))
    };
    let mut line = format!("{}: {}", one.level, name(&one.lane, &one.task_id));
    if one.other_lane.is_some() || one.other_task_id.is_some() {
        let _ = write!(line, " and {}", name(&one.other_lane, &one.other_task_id));
    }
    let files: Vec<String> = one.files.iter().take(MAX_FILES).map(|file| one_line(&file.path)).collect();
    if !files.is_empty() {
        let more = one.files.len().saturating_sub(MAX_FILES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = write!(line, " in {}{more}", files.join(", "));
    }
    if let Some(why) = &one.why {
        let _ = write!(line, ": {}", one_line(why));
    }
    if let Some(next) = one.commands.first() {
        let _ = write!(line, "; {}: {}", next.purpose, one_line(&next.command));
    }
    line
}
