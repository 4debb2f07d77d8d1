//! `fairway events`

use std::ops::ControlFlow;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::upkeep::events::{self, EventFilter, EventQuery};
use fairway_core::domain::{EventKindPattern, LaneName, Refusal, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::render::escape_line;
use fairway_core::wire::EventView;

/// The width up to which a column grows with its values, in characters.
const MAX_WIDTH: usize = 32;

/// Print the event log, oldest first
///
/// Conditions of several flags hold together. Times are local; with --json they are in UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway events --of-task T-4 --since 1h
fairway events --tail 20 --follow")]
pub struct Args {
    /// Only events after a number, date, time or span such as 1h
    #[arg(long, value_name = "SEQ|TIME", default_value = "0", allow_negative_numbers = true)]
    since: String,
    /// Only events of this task
    #[arg(long, visible_alias = "task", value_name = "ID", value_parser = values::task)]
    of_task: Option<TaskId>,
    /// Only events of this session
    #[arg(long, value_name = "ID", value_parser = values::session)]
    of_session: Option<SessionId>,
    /// Only events of this lane
    #[arg(long, visible_alias = "lane", value_name = "NAME", value_parser = values::lane)]
    of_lane: Option<LaneName>,
    /// Only events of this kind; * stands for any text; repeatable
    #[arg(long = "kind", value_name = "KIND", value_parser = values::event_kind)]
    kinds: Vec<EventKindPattern>,
    /// Only the newest N of the events that fit
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// Keep running and print new events as they happen
    #[arg(long, short)]
    follow: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let (after, since) = start(&self.since, ctx.env.now())?;
        let query = EventQuery {
            filter: EventFilter {
                task: self.of_task,
                session: self.of_session,
                lane: self.of_lane,
                kinds: self.kinds,
                since,
            },
            after,
            tail: self.tail,
            follow: self.follow,
        };
        let app = ctx.app()?;
        let out = &ctx.out;
        let mut widths = [0; 4];
        let mut warn = |text: &str| out.note(&format!("warning: {text}"));
        events::each(&app, &query, &mut warn, |batch| {
            let rows: Vec<Row> = if out.json || out.quiet { Vec::new() } else { batch.iter().map(Row::new).collect() };
            for row in &rows {
                for (width, cell) in widths.iter_mut().zip(&row.cells) {
                    *width = cell.chars().count().min(MAX_WIDTH).max(*width);
                }
            }
            for row in &rows {
                out.line(&row.line(widths))?;
            }
            for event in batch.iter().filter(|_| out.json || out.quiet) {
                if out.json {
                    out.document(event)?;
                } else {
                    out.line(&event.seq.to_string())?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(0)
    }
}

/// Parses the start of the wanted events: a sequence number, or a time after which they happened.
fn start(text: &str, now: Timestamp) -> Result<(i64, Option<Timestamp>), Refusal> {
    match text.parse() {
        Ok(seq) => Ok((seq, None)),
        Err(_) => match values::since(text, now) {
            Ok(at) => Ok((0, Some(at))),
            Err(_) => {
                let text = text.escape_debug();
                let why = format!("'{text}' is no sequence number (120), date (2026-01-31), time or span (1h)");
                Err(Refusal::invalid("since", why))
            }
        },
    }
}

/// An event as columns.
struct Row {
    at: String,
    /// Sequence number, kind, actor, and what it is about.
    cells: [String; 4],
    data: String,
}

impl Row {
    fn new(event: &EventView) -> Self {
        // The actor is named once.
        let session = event.session_id.as_ref().filter(|session| **session != event.actor);
        let about = [event.task_id.as_ref(), session, event.lane.as_ref()].into_iter().flatten();
        let about: Vec<&str> = about.map(String::as_str).collect();
        let data = event.data.as_object().map(|data| {
            let facts = data.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| match value.as_str() {
                Some(text) => format!("{key}={text}"),
                None => format!("{key}={value}"),
            });
            facts.collect::<Vec<_>>().join(" ")
        });
        let cells = [event.seq.to_string(), event.kind.clone(), event.actor.clone(), about.join(" ")];
        Self {
            at: Timestamp::parse(&event.at).map_or_else(|| event.at.clone(), Timestamp::to_local),
            cells: cells.map(|cell| escape_line(&cell)),
            data: escape_line(&data.unwrap_or_default()),
        }
    }

    fn line(&self, [seq, kind, actor, about]: [usize; 4]) -> String {
        let [own_seq, own_kind, own_actor, own_about] = &self.cells;
        let line = format!(
            "{own_seq:>seq$}  {}  {own_kind:<kind$}  {own_actor:<actor$}  {own_about:<about$}  {}",
            self.at, self.data
        );
        line.trim_end().to_owned()
    }
}
