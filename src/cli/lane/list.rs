//! `fairway lane list`

use anyhow::Result;

use crate::{
    actions::queue::lane::list,
    cli::{context::Context, exit::Exit},
    render::Table,
    wire::LaneView,
};

/// List lanes by name
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let lanes = list::list(&ctx.app()?)?;
        ctx.show(
            &lanes,
            || lanes.iter().map(|lane| lane.name.clone()).collect(),
            || {
                if lanes.is_empty() {
                    "no lanes\n".into()
                } else {
                    table(&lanes).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

fn table(lanes: &[LaneView]) -> Table {
    let mut table = Table::new(&["name", "status", "role", "held", "branch", "worktree", "title"]);
    for lane in lanes {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            lane.name.clone(),
            lane.status.to_owned(),
            dash(lane.role.as_deref()),
            held(lane),
            dash(lane.branch.as_deref()),
            dash(lane.worktree.as_deref()),
            dash(lane.title.as_deref()),
        ]);
    }
    table
}

/// How many tasks are held, of how many.
pub(super) fn held(lane: &LaneView) -> String {
    match lane.wip_limit {
        Some(limit) => format!("{}/{limit}", lane.held),
        None => lane.held.to_string(),
    }
}
