//! `fairway events`

use std::ops::ControlFlow;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{actions::project::events, render::escape_line, wire::EventView};

/// Print the event log, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: i64,
    /// Keep running and print new events as they happen
    #[arg(long, short)]
    follow: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let out = &ctx.out;
        events::each(&app, self.since, self.follow, |event| {
            if out.json {
                out.document(&event)?;
            } else if out.quiet {
                out.line(&event.seq.to_string())?;
            } else {
                out.line(&line(&event))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(0)
    }
}

fn line(event: &EventView) -> String {
    // The actor is named once.
    let session = event.session_id.as_ref().filter(|session| **session != event.actor);
    let about = [event.task_id.as_ref(), session, event.lane.as_ref()].into_iter().flatten().map(String::as_str);
    let data = event.data.as_object().map(|data| {
        let said = data.iter().filter(|(_, value)| !value.is_null());
        said.map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={text}"),
            None => format!("{key}={value}"),
        })
        .collect::<Vec<_>>()
        .join(" ")
    });
    let about = about.collect::<Vec<_>>().join(" ");
    let words = [
        event.seq.to_string(),
        event.at.clone(),
        event.kind.clone(),
        about,
        event.actor.clone(),
        data.unwrap_or_default(),
    ];
    escape_line(words.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join("  ").as_str())
}
