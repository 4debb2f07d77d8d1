//! `fairway overlap`

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;

use super::age::age;
use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::land::overlap::{self, Scope, Selection, wait};
use fairway_core::domain::overlap::OverlapLevel;
use fairway_core::env::Timestamp;
use fairway_core::render::{Meaning, Style, escape_line};
use fairway_core::wire::{OverlapFileView, OverlapPairView, OverlapView};

/// Files of an overlap that are shown; JSON has all.
const MAX_FILES: usize = 8;

/// Show which lanes and tasks change the same places
///
/// Compares every lane that has a worktree on this host, uncommitted work included, by git's own merge. Nothing in a lane is
/// changed. Levels: conflict (a merge of the two conflicts), rebase (the lane conflicts with its base), adjacent (changes
/// within one line of each other), planned (the paths of claimed tasks overlap) and unknown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway overlap
fairway overlap api")]
pub struct Args {
    /// Lane or task; default: every lane
    #[arg(value_name = "LANE|TASK")]
    name: Option<String>,
    /// Wait this long for a new overlap; exit 6 if none appears
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    wait: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let asked = match &self.name {
            Some(name) => Selection::read(&app, name)?,
            None => Selection::default(),
        };
        let found = match self.wait {
            Some(limit) => wait::wait(&app, &asked, limit, &mut |text| ctx.out.note(&format!("warning: {text}")))?,
            None => overlap::view(&app, &overlap::refresh(&app, Scope::All, wait::LOOK_LIMIT)?, &asked)?,
        };
        ctx.show(
            &found,
            || found.overlaps.iter().map(pair_name).collect(),
            || text(&found, ctx.env.now(), ctx.out.style),
        )
    }
}

/// The pair in one word: `api:web`.
fn pair_name(one: &OverlapPairView) -> String {
    let name = |lane: &Option<String>, task: &Option<String>| task.clone().or_else(|| lane.clone());
    let first = name(&one.lane, &one.task_id).unwrap_or_default();
    match name(&one.other_lane, &one.other_task_id) {
        Some(other) => format!("{first}:{other}"),
        None => first,
    }
}

fn text(found: &OverlapView, now: Timestamp, style: Style) -> String {
    let mut text = String::new();
    for one in &found.overlaps {
        let (shape, meaning) = match one.level {
            OverlapLevel::Conflict | OverlapLevel::Rebase => ('✗', Meaning::Bad),
            OverlapLevel::Planned | OverlapLevel::Adjacent => ('!', Meaning::Notice),
            _ => ('?', Meaning::Notice),
        };
        let since = one.since.as_deref().map(|at| format!(", for {}", age(at, now))).unwrap_or_default();
        let begin = style.paint(meaning, &format!("{shape} {:<8}", one.level));
        let _ = writeln!(text, "{begin} {}{since}", escape_line(&sentence(one)));
        for file in one.files.iter().take(MAX_FILES) {
            let _ = writeln!(text, "    {}", escape_line(&file_line(file, one)));
        }
        if one.files.len() > MAX_FILES {
            let _ = writeln!(text, "    … and {} more", one.files.len() - MAX_FILES);
        }
        for next in &one.commands {
            let purpose = style.paint(Meaning::Faint, &format!("{}: ", next.purpose));
            let _ = writeln!(text, "    {purpose}{}", escape_line(&next.command));
        }
    }
    let local = found.lanes.iter().filter(|lane| lane.is_local).count();
    if found.overlaps.is_empty() {
        let lanes = if local == 1 { "lane" } else { "lanes" };
        let _ = writeln!(text, "{}", style.paint(Meaning::Good, &format!("no overlap between {local} {lanes}")));
    }
    for lane in found.lanes.iter().filter(|lane| !lane.is_local) {
        let line = format!("lane {} is on another host, looked at {} ago there", lane.lane, age(&lane.taken_at, now));
        let _ = writeln!(text, "{}", style.paint(Meaning::Faint, &line));
    }
    if let Some(problem) = &found.problem {
        let _ = writeln!(text, "not everything was judged: {}", escape_line(problem));
    }
    text
}

fn sentence(one: &OverlapPairView) -> String {
    let lane = one.lane.as_deref().unwrap_or("-");
    let other = one.other_lane.as_deref();
    match (one.level, other) {
        (OverlapLevel::Conflict, Some(other)) => format!("{lane} and {other}: a merge of the two conflicts"),
        (OverlapLevel::Adjacent, Some(other)) => format!("{lane} and {other}: close to each other, merge cleanly"),
        (OverlapLevel::Rebase, _) => format!("{lane}: conflicts with its base"),
        (OverlapLevel::Planned, _) => {
            let id = |id: &Option<String>| id.clone().unwrap_or_default();
            format!("{} and {}: their paths overlap", id(&one.task_id), id(&one.other_task_id))
        }
        (_, other) => {
            let with = other.map(|other| format!(" and {other}")).unwrap_or_default();
            format!("{lane}{with}: cannot be judged: {}", one.why.as_deref().unwrap_or("unknown reason"))
        }
    }
}

fn file_line(file: &OverlapFileView, one: &OverlapPairView) -> String {
    let lines = file
        .lines
        .iter()
        .take(4)
        .map(|[first, last]| if first == last { first.to_string() } else { format!("{first}-{last}") });
    let lines = lines.collect::<Vec<_>>().join(", ");
    let lines = if lines.is_empty() { String::new() } else { format!("  lines {lines}") };
    let level = if file.level == one.level { String::new() } else { format!("  ({})", file.level) };
    let list = if file.in_list { "  in a list, not told" } else { "" };
    format!("{}{lines}{level}{list}", file.path)
}
