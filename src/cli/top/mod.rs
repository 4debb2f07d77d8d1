//! `fairway top`: the board, drawn live. The model is that of `status`; the state machine and the frames are pure.

mod action;
mod draw;
mod editor;
mod frame;
mod input;
mod key;
mod list_view;
mod mode;
mod offer;
mod pane;
mod rows;
mod run_loop;
mod screen;
mod state;
#[cfg(test)]
mod state_tests;
mod template;
mod text;
mod viewer;

use anyhow::Result;

use self::draw::Look;
use self::state::State;
use super::context::Context;
use super::exit::Exit;
use crate::hooks::Provider;
use fairway_actions::board;
use fairway_core::domain::Refusal;
use fairway_core::os::terminal::Size;

pub use frame::frame_lines;

/// Watch the board: what needs you, lanes and jobs, live
///
/// One list: what needs you, what is at work, what is ready. j and k move, Enter attaches to the session and comes back, ?
/// lists what the selected row allows. a and d answer a permission request, p answers a question or prompts. From 120 columns
/// on, keys 1 to 4 show the row's screen, messages, changes or evidence. While it runs, permission requests wait up to ten
/// minutes for an answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway top
fairway top --once")]
pub struct Args {
    /// Print one frame and exit; needs no terminal
    #[arg(long)]
    once: bool,
}

/// The size of a frame without a terminal.
const USUAL_SIZE: Size = Size { rows: 24, cols: 80 };

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let has_terminal = ctx.env.terminal.stdin && ctx.env.terminal.stdout;
        if ctx.out.json || ctx.out.quiet || !(self.once || has_terminal) {
            let why = "top draws on a terminal, at stdin and stdout; for a program: fairway status --json".to_owned();
            return Err(Refusal::Usage { why }.into());
        }
        let providers: Vec<&'static str> = Provider::ALL.iter().map(|provider| provider.label()).collect();
        if self.once {
            let app = ctx.app()?;
            let size = frame_size(ctx);
            let board = board::compose(&app, &providers)?;
            let ready = board::list::ready_tasks(&app, &board)?;
            let state = State::new(board, ready, size);
            let lines = frame::lines(&state, Look { now: ctx.env.now(), has_colour: ctx.out.style.is_on() });
            ctx.out.text(&lines.into_iter().map(|line| format!("{line}\n")).collect::<String>())?;
            return Ok(0);
        }
        run_loop::run(ctx, &providers)?;
        Ok(0)
    }
}

fn frame_size(ctx: &Context) -> Size {
    let number = |name| ctx.env.var(name).and_then(|text| text.parse::<u16>().ok()).filter(|number| *number > 0);
    let terminal = fairway_core::os::terminal::size().map_or(USUAL_SIZE, |(rows, cols)| Size { rows, cols });
    let vars = (number(fairway_core::env::vars::LINES), number(fairway_core::env::vars::COLUMNS));
    Size { rows: vars.0.unwrap_or(terminal.rows), cols: vars.1.unwrap_or(terminal.cols) }
}
