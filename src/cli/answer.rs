//! `fairway answer`

use std::path::PathBuf;

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::sessions::answer;
use fairway_core::domain::question::QuestionId;

/// Answer a question of a session
///
/// The id is that of an item of `fairway status`. An answer goes in at once, or is refused with the reason, as when the session
/// asks another question by now. Of a question with choices, the number or the words of one are the answer. For a permission
/// request: `fairway approvals answer`; for another dialog of the agent: `fairway session attach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway answer question:s1:3 'yes, both currencies'
fairway answer question:s1:c12 --text-file note.md")]
pub struct Args {
    /// Question, such as question:s1:3
    #[arg(value_parser = values::question, value_name = "QUESTION")]
    item: QuestionId,
    /// Text; - reads stdin
    #[arg(required_unless_present = "body_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long = "text-file", value_name = "FILE", conflicts_with = "text")]
    body_file: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.text("answer", self.text, self.body_file.as_deref())?.unwrap_or_default();
        ctx.answer(&answer::answer(&ctx.app()?, &self.item, text.trim_end())?)
    }
}
