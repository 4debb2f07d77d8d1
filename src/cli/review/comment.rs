//! `fairway review comment`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::queue::review::comments,
    cli::{context::Context, exit::Exit, values},
    domain::{Refusal, TaskId, review::LinePlace},
};

/// Comment on a line of a task's work
///
/// The comment stands on a line of a commit and follows it through a rework. The author is told of all your comments at once, when
/// you record a verdict. A comment is open until a commit of the author changes the line, or you resolve it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// File and number of the line, as src/cart.rs:12
    #[arg(value_name = "FILE:LINE", value_parser = place)]
    place: LinePlace,
    /// Text; - reads stdin
    #[arg(value_name = "TEXT", required_unless_present = "text_file")]
    text: Option<String>,
    /// Read the text from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    text_file: Option<PathBuf>,
    /// Commit; default: the task's, else HEAD
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
}

fn place(text: &str) -> Result<LinePlace, String> {
    LinePlace::parse(text).ok_or_else(|| format!("'{}' is no FILE:LINE, as src/cart.rs:12", text.escape_debug()))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.text("comment", self.text, self.text_file.as_deref())?;
        let text = text.ok_or_else(|| Refusal::invalid("comment", "is empty"))?;
        ctx.answer(&comments::comment(&ctx.app()?, &self.task, &self.place, &text, self.commit.as_deref())?)
    }
}
