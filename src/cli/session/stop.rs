//! `fairway session stop`

use anyhow::Result;

use crate::{
    actions::sessions::control::{stop, stop_selection},
    cli::{context::Context, each, exit::Exit, values},
    domain::{LaneName, SessionId},
};

/// Stop sessions and all their processes
///
/// Each session is stopped by itself: the failure of one stops no other, and the exit code is that of the first failure.
/// Nothing is asked. With --json, several ids are answered with an array.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("sessions").required(true).args(["id", "lane", "all"])))]
pub struct Args {
    /// Session ids
    #[arg(value_parser = values::session)]
    id: Vec<SessionId>,
    /// Stop the launched sessions of this lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Stop all launched sessions of the project
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if !self.id.is_empty() {
            return each::each(ctx, &app, &self.id, stop::stop);
        }
        let selection = stop_selection::live(&app, self.lane.as_ref())?;
        for note in &selection.notes {
            ctx.out.note(note);
        }
        if selection.ids.is_empty() && !ctx.out.json && !ctx.out.quiet {
            ctx.out.line("no sessions to stop")?;
        }
        each::array(ctx, &app, &selection.ids, stop::stop)
    }
}
