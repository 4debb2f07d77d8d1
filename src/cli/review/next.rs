//! `fairway review next`

use anyhow::Result;

use super::card;
use crate::{
    actions::queue::review::next::{self, NextRequest},
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
    os::terminal,
    render::escape_line,
};

/// The fewest lines of a patch that are shown, however small the terminal is.
const MIN_LINES: usize = 10;

/// Show the next submitted task that waits for you
///
/// The card: what was asked, what was changed, the evidence at this commit, verdicts, consequences, and the commands that act on it.
/// The card that waited longest comes first; a task for which others wait counts once more for each of them.
///
/// Of a reworked task only what is new since your last card or verdict is shown: git merges the base into what you have seen, and
/// compares the result with the new commit. Where that is not possible everything is shown, with the reason. A card whose patch
/// did not fit in is not remembered. On a terminal the patch is cut to fit on the screen, unless --lines says otherwise.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show the card of this task, also if it waits for others
    #[arg(long, value_name = "TASK", value_parser = values::task)]
    task: Option<TaskId>,
    /// Show everything, also what you have seen
    #[arg(long)]
    all: bool,
    /// Put this task behind the others, until it is submitted again
    #[arg(long, value_name = "TASK", value_parser = values::task, conflicts_with = "task")]
    defer: Option<TaskId>,
    /// Maximum number of lines of the patch; 0 for all
    #[arg(long, value_name = "N")]
    lines: Option<usize>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let found = next::next(&app, &NextRequest { task: self.task, all: self.all, defer: self.defer })?;
        let mut is_whole = true;
        let exit = ctx.show(
            &found,
            || found.card.iter().map(|card| card.task.id.clone()).collect(),
            || {
                let Some(card) = &found.card else { return card::nothing(&found) };
                let text = card::text(card, &found, ctx.env.now());
                let used = text.top.lines().count() + text.bottom.lines().count() + 1;
                let screen = terminal::size().map(|(rows, _)| usize::from(rows).saturating_sub(used).max(MIN_LINES));
                let limit = self.lines.or(screen).filter(|limit| *limit > 0);
                let (patch, is_cut) = card::first_lines(&text.patch, limit, &card.task.id);
                is_whole = !is_cut;
                format!("{}{patch}{}", text.top, text.bottom)
            },
        )?;
        // Ids alone show no work.
        if let Some(card) = found.card.filter(|_| is_whole && (ctx.out.json || !ctx.out.quiet)) {
            // The card was shown all the same; the next one shows more than is new.
            if let Err(error) = next::shown(&app, &card) {
                ctx.out.note(&escape_line(&format!("this card is not remembered: {error}")));
            }
        }
        Ok(exit)
    }
}
