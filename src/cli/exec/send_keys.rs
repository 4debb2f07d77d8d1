//! `fairway exec send-keys`

use anyhow::Result;

use crate::{
    actions::exec::keys,
    cli::{context::Context, exit::Exit},
    domain::typed::Input,
};

/// Type into the terminal of a run that was started with --pty
///
/// Typed in this order: --size, -l, --paste, --hex, the keys, --eof. A key has tmux's name for it (Enter, C-c, M-x, Up, F5);
/// another word is an error, text goes with -l. What the program does not take within 5 seconds is refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, or the short form that is shown
    run: String,
    /// Keys by their names
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Text, exactly as it is
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    literal: Option<String>,
    /// Text as a paste, for programs that tell it from typing
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    paste: Option<String>,
    /// Bytes, as hexadecimal digits
    #[arg(long, value_name = "HEX")]
    hex: Option<String>,
    /// The end of input
    #[arg(long)]
    eof: bool,
    /// Give the terminal another size
    #[arg(long, value_name = "ROWSxCOLS")]
    size: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut inputs = Vec::new();
        inputs.extend(self.size.as_deref().map(Input::size).transpose()?);
        inputs.extend(self.literal.map(Input::Text));
        inputs.extend(self.paste.map(Input::Paste));
        inputs.extend(self.hex.as_deref().map(Input::hex).transpose()?);
        for key in &self.keys {
            inputs.push(Input::key(key)?);
        }
        inputs.extend(self.eof.then_some(Input::Eof));
        ctx.answer(&keys::send(&ctx.app()?, &self.run, &inputs)?)
    }
}
