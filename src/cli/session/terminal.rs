//! The commands about the terminal of a session: attach, terminal, structured, peek, nudge and interrupt.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use crate::hooks::LAUNCH_HOOKS;
use fairway_actions::App;
use fairway_actions::sessions::control::{attach, interrupt, nudge, peek};
use fairway_actions::sessions::prompt;
use fairway_actions::sessions::start::switch::{self, SwitchRequest, SwitchTo};
use fairway_core::domain::SessionId;
use fairway_core::render::escape_controls;

/// Attach your terminal to a session
///
/// A structured session goes on in its agent's own terminal first; `fairway session structured` leads back. Where that is not
/// possible, or without a terminal, its conversation is printed. Detach with the backend's own keys (tmux: Ctrl-b d; screen:
/// Ctrl-a d; zellij: Ctrl-g, Ctrl-o, d). Exits with the code of the backend script, or with 0 when the session has ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session attach s1")]
pub struct AttachArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Print a structured session's conversation, change nothing
    #[arg(long)]
    follow: bool,
    /// Cancel a running turn of a structured session
    #[arg(long, conflicts_with = "follow")]
    cancel_turn: bool,
}

impl AttachArgs {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        self.switch(ctx, &app)?;
        attach_to(ctx, app, Some(self.id.as_str()), 0)
    }

    /// Makes a structured session go on in its agent's terminal. Does nothing without a terminal here; prints why when the
    /// session cannot be switched.
    fn switch(&self, ctx: &Context, app: &App) -> Result<()> {
        if self.follow || !ctx.env.terminal.stdin || !switch::is_structured(app, &self.id)? {
            return Ok(());
        }
        let request = SwitchRequest { to: SwitchTo::Terminal, cancels_turn: self.cancel_turn, hooks: &LAUNCH_HOOKS };
        if let Err(why) = switch::check(app, &self.id, &request) {
            let why = format!("{} stays structured: {why:#}", self.id);
            ctx.out.note(&escape_controls(&why));
            return Ok(());
        }
        ctx.out.note("waiting for the end of the turn");
        let answer = switch::switch(app, &self.id, &request)?;
        ctx.notes(&answer);
        Ok(())
    }
}

/// Attaches to the session `id`, and returns the exit code of that. Without an `id`, returns `exit`.
pub(in crate::cli) fn attach_to(ctx: &Context, app: App, id: Option<&str>, exit: Exit) -> Result<Exit> {
    let Some(id) = id.map(SessionId::parse).transpose()? else { return Ok(exit) };
    let attachable = attach::attach(&app, &id)?;
    // A person may stay attached for days: close the store meanwhile.
    drop(app);
    let exit = attachable.run()?;
    drop(attachable);
    attach::settle(&ctx.app()?, &id);
    Ok(exit)
}

// No doc comment: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Cancel a running turn
    #[arg(long)]
    cancel_turn: bool,
}

impl SwitchArgs {
    pub(super) fn run(self, ctx: &Context, to: SwitchTo) -> Result<Exit> {
        let request = SwitchRequest { to, cancels_turn: self.cancel_turn, hooks: &LAUNCH_HOOKS };
        let answer = switch::switch(&ctx.app()?, &self.id, &request)?;
        ctx.answer(&answer)
    }
}

/// Print the last lines of a session's terminal
///
/// After the session's end its last screen is shown, from the end of its transcript. Secrets are masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session peek s1 -n 20")]
pub struct PeekArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Number of lines; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 40)]
    lines: u32,
    /// Keep control sequences, made visible
    #[arg(long)]
    raw: bool,
    /// The visible screen alone, with its colours
    #[arg(long, conflicts_with = "raw")]
    screen: bool,
}

impl PeekArgs {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let peek = if self.screen {
            peek::screen_cells(&app, &self.id, self.lines)?
        } else {
            peek::peek(&app, &self.id, self.lines, self.raw)?
        };
        if let Some(note) = &peek.note {
            ctx.out.note(&escape_controls(note));
        }
        ctx.show(
            &peek,
            || vec![peek.session_id.clone()],
            || {
                // Each control sequence of such a screen is our own.
                if self.screen { peek.text.clone() } else { escape_controls(&peek.text) }
            },
        )
    }
}

/// Type a text into a session's terminal and submit it
///
/// The text is typed verbatim, minus the sequence that ends a bracketed paste. It is not stored. While the session asks for a
/// permission, the text would be the answer, and is refused. `fairway send --type` does the same.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct NudgeArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Text; - reads stdin
    #[arg(required_unless_present_any = ["text_file", "queued"])]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    text_file: Option<PathBuf>,
    /// Type the session's queued messages now
    #[arg(long, conflicts_with_all = ["text", "text_file"])]
    queued: bool,
    /// Type even as the answer to a question
    #[arg(long)]
    force: bool,
}

impl NudgeArgs {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.bytes("text", self.text, self.text_file.as_deref())?.unwrap_or_default();
        if self.queued {
            return ctx.answer(&prompt::type_queued(&ctx.app()?, &self.id, self.force)?);
        }
        ctx.answer(&nudge::nudge(&ctx.app()?, &self.id, &text, self.force)?)
    }
}

/// Interrupt what a session's program does
///
/// The keys of its provider are pressed, such as Escape, unless the session is idle. Without a known provider, it is Ctrl-C. While
/// the program asks whether a directory or hooks are trusted, an interrupt would be an answer, and is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session interrupt s1")]
pub struct InterruptArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Interrupt even an idle session or a question about trust
    #[arg(long)]
    force: bool,
}

impl InterruptArgs {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&interrupt::interrupt(&ctx.app()?, &self.id, self.force)?)
    }
}
