//! `fairway task dep tree`

use std::fmt::Write;

use anyhow::Result;

use crate::{
    actions::queue::task::dep,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
    render::escape_line,
    wire::{DepNodeView, DepTreeView},
};

/// The deepest indentation; what lies deeper keeps it.
const DEEPEST: usize = 24;

/// Print a task's dependency tree
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let tree = dep::tree(&ctx.app()?, &self.id)?;
        ctx.show(&tree, || tree.nodes.iter().map(|node| node.task_id.clone()).collect(), || words(&tree))
    }
}

fn words(tree: &DepTreeView) -> String {
    let mut text = String::new();
    for node in &tree.nodes {
        let indent = "  ".repeat(node.depth.min(DEEPEST));
        let _ = writeln!(text, "{indent}{}", line(node));
    }
    text
}

fn line(node: &DepNodeView) -> String {
    let status = node.status.unwrap_or("not in this store");
    let title = node.title.as_deref().map(|title| format!("  {}", escape_line(title))).unwrap_or_default();
    let above = if node.repeated { "  (see above)" } else { "" };
    format!("{}  {status}{title}{above}", node.task_id)
}
