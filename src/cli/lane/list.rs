//! `fairway lane list`

use anyhow::Result;

use crate::{
    actions::queue::lane::list,
    cli::{context::Context, exit::Exit},
    render::Table,
    wire::{LaneGitView, LaneView},
};

/// List lanes by name
///
/// With --git also how many commits each worktree is ahead of its base and behind it, and how many files have changes that are in
/// no commit. That asks git about each worktree.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show the state of each worktree
    #[arg(long)]
    git: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let lanes = list::list(&ctx.app()?, self.git)?;
        ctx.show(
            &lanes,
            || lanes.iter().map(|lane| lane.name.clone()).collect(),
            || {
                if lanes.is_empty() {
                    "no lanes\n".into()
                } else {
                    table(&lanes, self.git).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

fn table(lanes: &[LaneView], with_git: bool) -> Table {
    let git_columns: &[&str] = if with_git { &["ahead", "behind", "changed"] } else { &[] };
    let columns = [&["name", "status", "role", "held"], git_columns, &["branch", "worktree", "title"]].concat();
    let mut table = Table::new(&columns);
    for lane in lanes {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let mut row = vec![lane.name.clone(), lane.status.to_owned(), dash(lane.role.as_deref()), held(lane)];
        if with_git {
            let git = lane.git.as_ref().and_then(Option::as_ref);
            let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            let is_known = |git: &LaneGitView| git.commit.is_some() || git.changed_files.is_some();
            let is_gone = lane.other_host.is_none() && git.is_some_and(|git| !is_known(git));
            let changed = git.and_then(|git| git.changed_files).map(|files| files.to_string());
            let changed = changed.unwrap_or_else(|| if is_gone { "gone" } else { "-" }.to_owned());
            row.extend([number(git.and_then(|git| git.ahead)), number(git.and_then(|git| git.behind)), changed]);
        }
        row.extend([dash(lane.branch.as_deref()), dash(worktree(lane).as_deref()), dash(lane.title.as_deref())]);
        table.row(row);
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

/// The directory of a lane's worktree, with its host when that is another one.
pub(super) fn worktree(lane: &LaneView) -> Option<String> {
    let dir = lane.worktree.as_ref()?;
    Some(lane.other_host.as_ref().map_or_else(|| dir.clone(), |host| format!("{dir} on {host}")))
}
