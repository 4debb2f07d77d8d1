//! The person's door: words in, one use case, words out. A verb is a leaf file: its `Args`, whose doc comments are the
//! help, and `run`.

mod adapter;
mod approvals;
mod backup;
mod checkpoint;
mod claim;
mod completions;
mod config;
mod context;
mod doctor;
mod error;
mod events;
mod evidence;
mod exec;
mod explain;
mod fingerprint;
mod globals;
mod guard;
mod handoff;
mod hook;
mod inbox;
mod init;
mod lane;
mod man;
mod merge_ready;
mod message;
mod outbox;
mod prime;
mod prompt;
mod ready;
mod release;
mod restore;
mod review;
mod serve;
mod session;
mod sidecar;
mod task;
mod trust;
mod usage;
mod values;

use std::{ffi::OsString, rc::Rc};

use anyhow::Result;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

pub use context::{Context, stands};
use fingerprint::Canonical;
pub use globals::Globals;

use crate::{
    actions::failure,
    env::Env,
    render::{Out, OutError, Style},
};

/// An exit code; 0 is success.
pub type Exit = u8;

/// A lane queue for coding agents: tasks, sessions, evidence, handoffs and reviews in one file beside the code.
#[derive(Debug, Parser)]
#[command(name = "fairway", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 refused, 6 empty, 7 external, \
8 busy, 9 untrusted."
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// Every verb; one line each.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Init(init::Args),
    #[command(subcommand)]
    Task(task::Verb),
    #[command(subcommand)]
    Lane(lane::Verb),
    Ready(ready::Args),
    Claim(claim::Args),
    Release(release::Args),
    Done(task::done::Args),
    #[command(subcommand)]
    Checkpoint(checkpoint::Verb),
    #[command(subcommand)]
    Evidence(evidence::Verb),
    #[command(subcommand)]
    Handoff(handoff::Verb),
    #[command(subcommand)]
    Review(review::Verb),
    MergeReady(merge_ready::Args),
    #[command(subcommand)]
    Message(message::Verb),
    Inbox(inbox::Args),
    Prompt(prompt::Args),
    Outbox(outbox::Args),
    #[command(subcommand)]
    Approvals(approvals::Verb),
    #[command(subcommand)]
    Session(session::Verb),
    Sidecar(sidecar::Args),
    #[command(subcommand)]
    Exec(exec::Verb),
    #[command(subcommand)]
    Guard(guard::Verb),
    #[command(subcommand)]
    Explain(explain::Verb),
    Events(events::Args),
    Hook(hook::Args),
    Serve(serve::Args),
    Prime(prime::Args),
    Usage(usage::Args),
    #[command(subcommand)]
    Adapter(adapter::Verb),
    Trust(trust::Args),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    #[command(subcommand)]
    Config(config::Verb),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Init(args) => args.run(ctx),
            Self::Task(verb) => verb.run(ctx),
            Self::Lane(verb) => verb.run(ctx),
            Self::Ready(args) => args.run(ctx),
            Self::Claim(args) => args.run(ctx),
            Self::Release(args) => args.run(ctx),
            Self::Done(args) => args.run(ctx),
            Self::Checkpoint(verb) => verb.run(ctx),
            Self::Evidence(verb) => verb.run(ctx),
            Self::Handoff(verb) => verb.run(ctx),
            Self::Review(verb) => verb.run(ctx),
            Self::MergeReady(args) => args.run(ctx),
            Self::Message(verb) => verb.run(ctx),
            Self::Inbox(args) => args.run(ctx),
            Self::Prompt(args) => args.run(ctx),
            Self::Outbox(args) => args.run(ctx),
            Self::Approvals(verb) => verb.run(ctx),
            Self::Session(verb) => verb.run(ctx),
            Self::Sidecar(args) => args.run(ctx),
            Self::Exec(verb) => verb.run(ctx),
            Self::Guard(verb) => verb.run(ctx),
            Self::Explain(verb) => verb.run(ctx),
            Self::Events(args) => args.run(ctx),
            Self::Hook(args) => args.run(ctx),
            Self::Serve(args) => args.run(ctx),
            Self::Prime(args) => args.run(ctx),
            Self::Usage(args) => args.run(ctx),
            Self::Adapter(verb) => verb.run(ctx),
            Self::Trust(args) => args.run(ctx),
            Self::Doctor(args) => args.run(ctx),
            Self::Backup(args) => args.run(ctx),
            Self::Restore(args) => args.run(ctx),
            Self::Config(verb) => verb.run(ctx),
            Self::Completions(args) => args.run(ctx),
            Self::Man(args) => args.run(ctx),
        }
    }
}

/// The whole tree of commands, as the parser knows it.
#[must_use]
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Runs the command line of this process; answers with its exit code.
#[must_use]
pub fn main(env: Env) -> Exit {
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut parser = Cli::command();
    let (mut cli, asked) = match parse(&mut parser, &words) {
        Ok(parsed) => parsed,
        // Verbs are built when they are parsed, which is quick; a list of them with their words needs them all.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let error = command().try_get_matches_from(&words).err().unwrap_or(error);
            return error::unparsed(&error, &words, &env);
        }
        Err(error) => return error::unparsed(&error, &words, &env),
    };
    cli.globals.json |= matches!(&cli.verb, Verb::Exec(verb) if verb.is_json());
    let out = out(&cli.globals, &env);
    let ctx = Context::new(Rc::new(env), cli.globals, out, asked);
    match cli.verb.run(&ctx) {
        Ok(exit) => exit,
        Err(error) if matches!(error.downcast_ref::<OutError>(), Some(OutError::Closed)) => 0,
        Err(error) => error::told(&failure::classify(&error), &out),
    }
}

/// The command line, with its canonical form when a request id asks for it.
fn parse(parser: &mut clap::Command, words: &[OsString]) -> Result<(Cli, Option<Canonical>), clap::Error> {
    let mut matches: ArgMatches = parser.try_get_matches_from_mut(words)?;
    let has_request_id = matches.try_contains_id(globals::REQUEST_ID).unwrap_or(false);
    let asked = has_request_id.then(|| fingerprint::canonical(parser, &matches));
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(parser))?;
    Ok((cli, asked))
}

fn out(globals: &Globals, env: &Env) -> Out {
    let choice = globals.color.as_str();
    let width = env.terminal.stdout.then(|| terminal_width(env));
    Out {
        json: globals.json,
        quiet: globals.quiet,
        style: Style::choose(choice, env.terminal.stdout, env),
        remark_style: Style::choose(choice, env.terminal.stderr, env),
        width,
    }
}

fn terminal_width(env: &Env) -> usize {
    const USUAL: usize = 80;
    let stated = env.var(crate::env::vars::COLUMNS).and_then(|text| text.parse().ok());
    stated.or_else(|| crate::os::terminal::width().map(usize::from)).unwrap_or(USUAL).max(20)
}
