//! `fairway lane show`

use std::fmt::Write;

use anyhow::Result;

use crate::cli::age::{local, rough};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::{session, task, values};
use fairway_actions::queue::lane::list;
use fairway_core::config::PortRange;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Role, SessionId, plural};
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::{LaneDetailView, LaneGitView, LaneSetupView, LaneView, PullRequestView};

/// Show a lane's worktree, sessions, tasks and messages
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway lane show api")]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let present = list::show(&ctx.app()?, &self.name)?;
        ctx.show(&present, || vec![present.lane.name.clone()], || words(&present, ctx.env.now(), ctx.out.width))
    }
}

/// The lane's pull request, where it was looked for.
pub(super) fn pull(lane: &LaneView) -> Option<&PullRequestView> {
    lane.pull_request.as_ref().and_then(Option::as_ref)
}

/// The commit that is checked out, and its distance from the base.
fn commit(git: &LaneGitView) -> Option<String> {
    let mut text = git.commit.as_ref()?.chars().take(12).collect::<String>();
    if let (Some(ahead), Some(behind)) = (git.ahead, git.behind) {
        let _ = write!(text, ", {ahead} ahead of {}, {behind} behind", git.base);
    }
    Some(text)
}

fn changes(files: usize) -> String {
    if files == 0 { "none".to_owned() } else { format!("{} with changes in no commit", plural::count(files, "file")) }
}

fn words(present: &LaneDetailView, now: Timestamp, width: Option<usize>) -> String {
    let lane = &present.lane;
    let mut text = format!("{}  {}\n", lane.name, escape_line(lane.title.as_deref().unwrap_or_default()));
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    field("status", Some(lane.status.as_str()));
    field("held", Some(&held(lane)));
    field("role", lane.role.as_deref());
    field("branch", lane.branch.as_deref());
    field("base", lane.base.as_deref());
    field("stands on", lane.stands_on.as_deref());
    field("worktree", worktree(lane).as_deref());
    if let Some(pull) = pull(lane) {
        field("forge", Some(&format!("{}  {}", pull.words, pull.url)));
        for line in &pull.for_people {
            field("", Some(&format!("> {line}")));
        }
    }
    if let Some(git) = lane.git.as_ref().and_then(Option::as_ref) {
        let (commit, changes) = (commit(git), git.changed_files.map(changes));
        field("work", git.work.as_deref());
        field("commit", commit.as_deref());
        field("changes", changes.as_deref());
        for submodule in &git.submodules {
            field("submodule", Some(submodule));
        }
        field("problem", git.problem.as_deref());
    }
    field("setup", setup(lane).map(LaneSetupView::words).as_deref());
    field("ports", lane.port.flatten().map(PortRange::block).as_deref());
    field("provider", lane.provider.as_deref());
    field("backend", lane.backend.as_deref());
    field("sandbox", Some(lane.sandbox.as_str()).filter(|_| lane.sandbox != SandboxClass::Off));
    field("created", Some(&local(&lane.created_at)));
    field("messages", Some(&present.messages.to_string()).filter(|_| present.messages > 0).map(String::as_str));
    let sessions = session::list::table(&present.sessions, now);
    let mut checkpoints = Table::new(&["task", "state", "by", "ago", "checkpoint"]);
    for checkpoint in &present.checkpoints {
        let by = checkpoint.session.as_ref().map_or("-", SessionId::as_str);
        let ago = rough(now.since(checkpoint.created_at));
        checkpoints.row([checkpoint.task.as_str(), checkpoint.state.as_str(), by, &ago, &checkpoint.summary]);
    }
    let mut handoffs = Table::new(&["handoff", "task", "from", "summary"]);
    for handoff in &present.handoffs {
        let from = handoff.from_role.as_ref().map_or("-", Role::as_str);
        handoffs.row([handoff.id.to_string().as_str(), handoff.task.as_str(), from, &handoff.summary]);
    }
    for table in [sessions, task::table::table(&present.tasks), checkpoints, handoffs] {
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.render(width));
        }
    }
    let ways_on = task::table::ways_on(&present.tasks, now);
    if !ways_on.is_empty() {
        let _ = write!(text, "\n{ways_on}");
    }
    text
}

/// Formats the number of claimed tasks, with the WIP limit if there is one: `2/3`.
pub(super) fn held(lane: &LaneView) -> String {
    match lane.wip_limit {
        Some(limit) => format!("{}/{limit}", lane.held),
        None => lane.held.to_string(),
    }
}

/// The setup of a lane's worktree; `None` when there is none to be made.
pub(super) fn setup(lane: &LaneView) -> Option<&LaneSetupView> {
    lane.setup.as_ref()?.as_ref()
}

/// The directory of a lane's worktree, followed by the name of its host when it is not on this host. `None` for a lane
/// without a worktree.
pub(super) fn worktree(lane: &LaneView) -> Option<String> {
    let dir = lane.worktree.as_ref()?;
    Some(lane.other_host.as_ref().map_or_else(|| dir.clone(), |host| format!("{dir} on {host}")))
}
