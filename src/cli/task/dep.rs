//! `fairway task dep …`

use std::fmt::Write;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::queue::task::dep;
use fairway_core::domain::TaskId;
use fairway_core::domain::task::TaskStatus;
use fairway_core::render::escape_line;
use fairway_core::wire::{DepNodeView, DepTreeView};

/// Manage task dependencies
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway task dep add T-4 T-2
fairway task dep tree T-4")]
#[command(defer = true)]
pub enum Verb {
    Add(AddArgs),
    Rm(RmArgs),
    Tree(TreeArgs),
}

impl Verb {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => ctx.answer(&dep::add(&ctx.app()?, &args.id, &args.depends_on)?),
            Self::Rm(args) => ctx.answer(&dep::rm(&ctx.app()?, &args.id, &args.depends_on)?),
            Self::Tree(args) => args.run(ctx),
        }
    }
}

/// Make a task depend on another
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task dep add T-4 T-2")]
pub struct AddArgs {
    /// Dependent task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Task that must be done first
    #[arg(value_parser = values::task)]
    depends_on: TaskId,
}

/// Remove a dependency
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task dep rm T-4 T-2")]
pub struct RmArgs {
    /// Dependent task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Task that it no longer depends on
    #[arg(value_parser = values::task)]
    depends_on: TaskId,
}

/// The deepest indentation; what lies deeper keeps it.
const DEEPEST: usize = 24;

/// Print a task's dependency tree
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task dep tree T-4")]
pub struct TreeArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl TreeArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
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
    let status = node.status.map_or("not in this store", TaskStatus::as_str);
    let title = node.title.as_deref().map(|title| format!("  {}", escape_line(title))).unwrap_or_default();
    let above = if node.repeated { "  (see above)" } else { "" };
    format!("{}  {status}{title}{above}", node.task_id)
}
