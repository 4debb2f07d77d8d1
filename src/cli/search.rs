//! `fairway search`

use anyhow::Result;

use super::age::local;
use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::upkeep::search::{self, MAX_LIMIT, SearchQuery, SearchScope};
use fairway_core::domain::search::SearchKind;
use fairway_core::domain::{LaneName, SessionId, TaskId};
use fairway_core::render::{Meaning, Style, escape_line};
use fairway_core::wire::SearchHitView;

/// How many transcripts that cannot be read are named.
const MAX_UNREADABLE: usize = 5;

/// Search tasks, records, messages and transcripts
///
/// Finds TEXT in tasks, records, messages and the transcripts of sessions, newest first. The case of letters counts only when
/// TEXT has an upper-case letter. What looks like a secret is masked and is not found. A message names no task: --task finds
/// none. Exit 0, also without a hit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway search 'rounding error'
fairway search --kind transcript --lane api TODO")]
pub struct Args {
    /// Text, or with --regex a regular expression
    text: String,
    /// TEXT is a regular expression
    #[arg(long, short = 'e')]
    regex: bool,
    /// Only hits of this kind; repeatable
    #[arg(long = "kind", value_name = "KIND", value_parser = values::search_kind)]
    kinds: Vec<SearchKind>,
    /// Only about this task
    #[arg(long = "of-task", visible_alias = "task", value_name = "ID", value_parser = values::task)]
    task: Option<TaskId>,
    /// Only by or to this session
    #[arg(long = "of-session", value_name = "ID", value_parser = values::session)]
    session: Option<SessionId>,
    /// Only about this lane, its tasks and its sessions
    #[arg(long = "of-lane", visible_alias = "lane", value_name = "NAME", value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Maximum number of hits; 0 for the most, 100000
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let query = SearchQuery {
            text: self.text,
            is_regex: self.regex,
            kinds: self.kinds,
            scope: SearchScope { task: self.task, session: self.session, lane: self.lane },
            limit: if self.limit == 0 { MAX_LIMIT } else { self.limit },
        };
        let result = search::search(&ctx.app()?, &query)?;
        for path in result.unreadable.iter().take(MAX_UNREADABLE) {
            ctx.out.note(&format!("transcript not searched: {}", escape_line(path)));
        }
        let more = result.unreadable.len().saturating_sub(MAX_UNREADABLE);
        if more > 0 {
            ctx.out.note(&format!("{more} more transcripts were not searched"));
        }
        ctx.show(
            &result.hits,
            || result.hits.iter().map(id).collect(),
            || match result.hits.as_slice() {
                [] => "no hits\n".to_owned(),
                hits => hits.iter().map(|hit| text(hit, ctx.out.style)).collect(),
            },
        )
    }
}

fn id(hit: &SearchHitView) -> String {
    match hit.line {
        Some(line) => format!("{} {}:{line}", hit.kind, hit.id),
        None => format!("{} {}", hit.kind, hit.id),
    }
}

/// A hit on two lines: its source, and the excerpt.
fn text(hit: &SearchHitView, style: Style) -> String {
    let about = hit.task_id.iter().filter(|task| **task != hit.id);
    let who = hit.actor.iter().chain(&hit.session_id).filter(|who| **who != hit.id).take(1);
    let about: Vec<String> = about.chain(who).map(|word| escape_line(word)).collect();
    let head = style.paint(Meaning::Strong, &escape_line(&id(hit)));
    let about: String = about.iter().map(|word| format!("  {word}")).collect();
    let place = match (&hit.path, hit.line) {
        (Some(path), Some(line)) => format!("  {}:{line}", escape_line(path)),
        _ => String::new(),
    };
    let part = |from: usize, to: usize| {
        escape_line(&hit.excerpt.chars().skip(from).take(to.saturating_sub(from)).collect::<String>())
    };
    let (start, end) = (hit.match_start, hit.match_end);
    let marked = style.paint(Meaning::Bad, &part(start, end));
    let at = style.paint(Meaning::Faint, &format!("{}{place}", local(&hit.at)));
    format!("{head}{about}  {at}\n    {}{marked}{}\n", part(0, start), part(end, usize::MAX))
}
