//! The tree of commands, as clap parses it.

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use super::context::Context;
use super::exit::Exit;
use super::globals::Globals;
use super::{
    adapter, answer, approvals, backup, budget, checkpoint, claim, complete, completions, config, demo, device, doctor,
    events, evidence, exec, explain, guard, guide, handoff, help, hook, host, inbox, init, land, lane, man, mcp,
    merge_ready, message, note, notify, outbox, overlap, pr, prime, prompt, provider, ready, release, restore, review,
    sandbox, search, send, serve, session, setup, sidecar, skill, start, status, store, task, top, trust, usage, work,
};

/// Coordinate many coding agents on one repository: a task queue, agent
/// sessions, reviews and messages in one store
#[derive(Debug, Parser)]
#[command(name = "fairway", version, max_term_width = 100, disable_help_subcommand = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) globals: Globals,
    /// Without a command: the status of the project, if there is one.
    #[command(subcommand)]
    pub(super) verb: Option<Verb>,
}

/// The command line without its commands.
#[derive(Debug, Parser)]
#[command(name = "fairway", version, max_term_width = 100, disable_help_subcommand = true)]
struct Root {
    #[command(flatten)]
    _globals: Globals,
}

/// Every verb; one line each.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Verb {
    Init(init::Args),
    Setup(setup::Args),
    Demo(demo::Args),
    Start(Box<start::Args>),
    Work(work::Args),
    #[command(subcommand)]
    Task(task::Verb),
    #[command(subcommand)]
    Lane(lane::Verb),
    Ready(ready::Args),
    Claim(claim::Args),
    Release(release::Args),
    Done(task::DoneArgs),
    Note(note::Args),
    #[command(subcommand)]
    Checkpoint(checkpoint::Verb),
    #[command(subcommand)]
    Evidence(evidence::Verb),
    #[command(subcommand)]
    Handoff(handoff::Verb),
    #[command(subcommand)]
    Review(review::Verb),
    MergeReady(merge_ready::Args),
    Land(land::Args),
    #[command(subcommand)]
    Pr(pr::Verb),
    Overlap(overlap::Args),
    Send(send::Args),
    #[command(subcommand)]
    Message(message::Verb),
    Inbox(inbox::Args),
    Prompt(prompt::Args),
    Outbox(outbox::Args),
    Answer(answer::Args),
    #[command(visible_alias = "approval")]
    Approvals(approvals::Args),
    #[command(subcommand)]
    Session(session::Verb),
    Sidecar(sidecar::Args),
    #[command(subcommand)]
    Sandbox(sandbox::Verb),
    #[command(subcommand, visible_alias = "job")]
    Exec(exec::Verb),
    #[command(subcommand)]
    Guard(guard::Verb),
    Explain(explain::Args),
    Status(status::Args),
    Top(top::Args),
    #[command(visible_alias = "event")]
    Events(events::Args),
    Search(search::Args),
    Notify(notify::Args),
    Hook(hook::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    #[command(visible_alias = "context")]
    Prime(prime::Args),
    Guide(guide::Args),
    Skill(skill::Args),
    Usage(usage::Args),
    Budget(budget::Args),
    #[command(subcommand, visible_alias = "backend")]
    Adapter(adapter::Verb),
    #[command(subcommand)]
    Provider(provider::Verb),
    Trust(trust::Args),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    #[command(subcommand)]
    Store(store::Verb),
    #[command(subcommand)]
    Host(host::Verb),
    #[command(subcommand)]
    Device(device::Verb),
    #[command(subcommand)]
    Config(config::Verb),
    Completions(completions::Args),
    Man(man::Args),
    Help(help::Args),
    #[command(hide = true)]
    Complete(complete::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Init(args) => args.run(ctx),
            Self::Demo(args) => args.run(ctx),
            Self::Setup(args) => args.run(ctx, command()),
            Self::Start(args) => args.run(ctx),
            Self::Work(args) => args.run(ctx),
            Self::Task(verb) => verb.run(ctx),
            Self::Lane(verb) => verb.run(ctx),
            Self::Ready(args) => args.run(ctx),
            Self::Claim(args) => args.run(ctx),
            Self::Release(args) => args.run(ctx),
            Self::Done(args) => args.run(ctx),
            Self::Note(args) => args.run(ctx),
            Self::Checkpoint(verb) => verb.run(ctx),
            Self::Evidence(verb) => verb.run(ctx),
            Self::Handoff(verb) => verb.run(ctx),
            Self::Review(verb) => verb.run(ctx),
            Self::MergeReady(args) => args.run(ctx),
            Self::Land(args) => args.run(ctx),
            Self::Pr(verb) => verb.run(ctx),
            Self::Overlap(args) => args.run(ctx),
            Self::Send(args) => args.run(ctx),
            Self::Message(verb) => verb.run(ctx),
            Self::Inbox(args) => args.run(ctx),
            Self::Prompt(args) => args.run(ctx),
            Self::Outbox(args) => args.run(ctx),
            Self::Answer(args) => args.run(ctx),
            Self::Approvals(args) => args.run(ctx),
            Self::Session(verb) => verb.run(ctx),
            Self::Sidecar(args) => args.run(ctx),
            Self::Sandbox(verb) => verb.run(ctx),
            Self::Exec(verb) => verb.run(ctx),
            Self::Guard(verb) => verb.run(ctx),
            Self::Explain(args) => args.run(ctx),
            Self::Status(args) => args.run(ctx),
            Self::Top(args) => args.run(ctx),
            Self::Events(args) => args.run(ctx),
            Self::Search(args) => args.run(ctx),
            Self::Notify(args) => args.run(ctx),
            Self::Hook(args) => args.run(ctx),
            Self::Serve(args) => args.run(ctx),
            Self::Mcp(args) => args.run(ctx),
            Self::Prime(args) => args.run(ctx),
            Self::Guide(args) => args.run(ctx),
            Self::Skill(args) => args.run(ctx),
            Self::Usage(args) => args.run(ctx),
            Self::Budget(args) => args.run(ctx),
            Self::Adapter(verb) => verb.run(ctx),
            Self::Provider(verb) => verb.run(ctx),
            Self::Trust(args) => args.run(ctx),
            Self::Doctor(args) => args.run(ctx),
            Self::Backup(args) => args.run(ctx),
            Self::Restore(args) => args.run(ctx),
            Self::Store(verb) => verb.run(ctx),
            Self::Host(verb) => verb.run(ctx),
            Self::Device(verb) => verb.run(ctx),
            Self::Config(verb) => verb.run(ctx),
            Self::Completions(args) => args.run(ctx, command()),
            Self::Man(args) => args.run(ctx, command()),
            Self::Help(args) => args.run(ctx, command()),
            Self::Complete(args) => args.run(ctx, command()),
        }
    }
}

/// The tree of all commands, after `clap::Command::build`.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Builds the command tree with `name` as its only command. That is enough for the help and the errors of this command, and
/// takes a tenth of the work. Builds the whole tree when no command has this name.
pub(super) fn command_with(name: &str) -> clap::Command {
    match Cli::command().find_subcommand(name) {
        Some(named) => {
            let mut command = Root::command().subcommand(named.clone());
            command.build();
            command
        }
        None => command(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help::page::page;

    /// Collects everything that a user can see of the commands below `at`: their names, their arguments and their help pages.
    fn seen(tree: &clap::Command, at: &clap::Command, path: &mut Vec<String>, seen: &mut Vec<String>) {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let names: Vec<&str> = at.get_name_and_visible_aliases();
        let arguments: Vec<_> = at.get_arguments().map(|arg| format!("{arg:?}")).collect();
        let pages = [false, true].map(|is_long| page(tree, &words, is_long).map(|page| page.ansi().to_string()));
        seen.push(format!("{names:?} {arguments:?} {pages:?}"));
        for below in at.get_subcommands() {
            path.push(below.get_name().to_owned());
            self::seen(tree, below, path, seen);
            path.pop();
        }
    }

    #[test]
    fn command_alone_is_the_same_as_in_the_whole_tree() {
        let whole = command();
        let mut compared = 0;
        for named in whole.get_subcommands() {
            for name in named.get_name_and_visible_aliases() {
                let part = command_with(name);
                let alone = part.find_subcommand(name).unwrap();
                assert_eq!(part.get_subcommands().count(), 1, "{name}");
                let (mut one, mut other) = (Vec::new(), Vec::new());
                seen(&part, alone, &mut vec![name.to_owned()], &mut one);
                seen(&whole, named, &mut vec![name.to_owned()], &mut other);
                assert_eq!(one, other, "{name}");
                compared += one.len();
            }
        }
        assert!(compared > 100, "{compared}");
        assert_eq!(command_with("readu").get_subcommands().count(), whole.get_subcommands().count());
    }
}
