//! `fairway guide`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use fairway_actions::upkeep::guide;
use fairway_core::render::{Table, escape_controls};
use fairway_core::wire::{GuideTopicView, GuideView};

/// Print how an agent works in a project, or a guide
///
/// Without a topic it works everywhere, also outside of projects; a project's own .fairway/AGENTS.md is printed in its place if
/// a person has changed it. With a topic it prints that guide of the manual.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway guide
fairway guide jobs")]
pub struct Args {
    /// Topic of a guide, as --list names it
    #[arg(value_name = "TOPIC", conflicts_with = "list")]
    topic: Option<String>,
    /// List the topics
    #[arg(long)]
    list: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.list {
            return list(ctx);
        }
        let document = match self.topic {
            Some(topic) => {
                let page = guide::find_page(&topic)?;
                GuideView { text: page.text(), file: None, topic: Some(page.topic) }
            }
            None => {
                let guide = guide::guide(&ctx.env, ctx.globals.root.as_deref());
                GuideView { text: guide.text, file: guide.file, topic: None }
            }
        };
        ctx.show(&document, Vec::new, || escape_controls(&document.text))
    }
}

fn list(ctx: &Context) -> Result<Exit> {
    let pages = guide::PAGES;
    let document: Vec<_> = pages.iter().map(|page| GuideTopicView { topic: page.topic, title: page.title() }).collect();
    ctx.show(
        &document,
        || document.iter().map(|page| page.topic.to_owned()).collect(),
        || {
            let mut table = Table::new(&["topic", "title"]);
            for page in &document {
                table.row([page.topic, page.title]);
            }
            table.render(ctx.out.width)
        },
    )
}
