//! `fairway exec send-keys`

use anyhow::Result;

use crate::{
    actions::jobs::send_keys,
    cli::{context::Context, exit::Exit},
    domain::terminal_input::TerminalInput,
};

/// Type into the terminal of a job started with --pty
///
/// Input order: --size, -l, --paste, --hex, the keys, --eof. Keys have tmux's names (Enter, C-c, M-x, Up, F5). Other
/// words are an error; text goes with -l. Input that the program does not read within 5 s is refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job id or its short form
    #[arg(value_name = "JOB")]
    run: String,
    /// Keys by name
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Text, typed verbatim
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    literal: Option<String>,
    /// Text as a bracketed paste
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    paste: Option<String>,
    /// Bytes as hexadecimal digits
    #[arg(long, value_name = "HEX")]
    hex: Option<String>,
    /// Send the end of input
    #[arg(long)]
    eof: bool,
    /// Resize the terminal
    #[arg(long, value_name = "ROWSxCOLS")]
    size: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut inputs = Vec::new();
        inputs.extend(self.size.as_deref().map(TerminalInput::parse_size).transpose()?);
        inputs.extend(self.literal.map(TerminalInput::Text));
        inputs.extend(self.paste.map(TerminalInput::Paste));
        inputs.extend(self.hex.as_deref().map(TerminalInput::parse_hex).transpose()?);
        for key in &self.keys {
            inputs.push(TerminalInput::parse_key(key)?);
        }
        inputs.extend(self.eof.then_some(TerminalInput::Eof));
        ctx.answer(&send_keys::send(&ctx.app()?, &self.run, &inputs)?)
    }
}
