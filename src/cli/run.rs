//! One call of the command line: parse, run, print.

use std::ffi::OsString;
use std::rc::Rc;

use anyhow::Result;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use super::context::Context;
use super::exit::Exit;
use super::fingerprint::{self, Canonical};
use super::globals::{self, Globals};
use super::parser::{self, Cli, Verb};
use super::print_error::print_error;
use super::{error, forbidding_sandbox, leading_hyphens, partial_parser, same_command, short_verbs, status};
use fairway_actions::core::errors;
use fairway_core::config::Project;
use fairway_core::env::Env;
use fairway_core::env::debug_log::{self, WithoutFile};
use fairway_core::os::this_process;
use fairway_core::render::{Out, OutError, Style};

/// The command that providers call, whose stderr they read.
const HOOK: &str = "hook";

pub fn main(env: Env) -> Exit {
    let words = short_verbs::expanded(std::env::args_os().collect());
    let partly = partial_parser::of(&words).and_then(|parser| parse(parser, &words).ok());
    let Parsed { mut cli, asked, path } = match partly.map_or_else(|| parse_whole(&words), Ok) {
        Ok(parsed) => parsed,
        Err(error) => return error::unparsed(&error, &words, &env),
    };
    cli.globals.json |= matches!(&cli.verb, Some(Verb::Exec(verb)) if verb.is_json());
    let out = out(&cli.globals, &env);
    let without_file = if path == HOOK { WithoutFile::NoLog } else { WithoutFile::Stderr };
    if let Err(why) = debug_log::start(&env, cli.globals.debug, without_file) {
        out.note(&format!("warning: {why}"));
    }
    let _span = tracing::debug_span!("command", path).entered();
    this_process::set_command_words(&path);
    let ctx = Context::new(Rc::new(env), cli.globals, out, asked);
    let result = match cli.verb {
        Some(verb) => verb.run(&ctx),
        None if Project::discover(&ctx.env, ctx.globals.root.as_deref()).is_ok() => status::Args::default().run(&ctx),
        None => return error::without_command(&out),
    };
    ctx.deliver_mailed();
    match result {
        Ok(exit) => exit,
        Err(error) if matches!(error.downcast_ref::<OutError>(), Some(OutError::Closed)) => 0,
        Err(error) => {
            let failure = same_command::completed(errors::classify(&error), &words);
            print_error(&forbidding_sandbox::with_sandbox(failure, &ctx.env), &out)
        }
    }
}

/// A command line that was read.
struct Parsed {
    cli: Cli,
    /// Its canonical form, when a request id asks for it.
    asked: Option<Canonical>,
    /// The command's words, without arguments.
    path: String,
}

fn parse_whole(words: &[OsString]) -> Result<Parsed, clap::Error> {
    parse(Cli::command(), words).or_else(|error| {
        let marked = leading_hyphens::marked(words);
        let parsed = marked.map(|words| parse(leading_hyphens::accepting(parser::command()), &words));
        parsed.and_then(Result::ok).ok_or(error)
    })
}

fn parse(mut command: clap::Command, words: &[OsString]) -> Result<Parsed, clap::Error> {
    let mut matches: ArgMatches = command.try_get_matches_from_mut(words)?;
    let has_request_id = matches.try_contains_id(globals::REQUEST_ID).unwrap_or(false);
    let asked = has_request_id.then(|| fingerprint::canonical(&command, &matches));
    let verbs = std::iter::successors(matches.subcommand(), |(_, below)| below.subcommand());
    let path = verbs.map(|(verb, _)| verb).collect::<Vec<_>>().join(" ");
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok(Parsed { cli, asked, path })
}

fn out(globals: &Globals, env: &Env) -> Out {
    let choice = globals.color.as_str();
    let width = env.terminal.stdout.then(|| terminal_width(env));
    Out {
        json: globals.json,
        quiet: globals.quiet,
        style: Style::choose(choice, env.terminal.stdout, env),
        stderr_style: Style::choose(choice, env.terminal.stderr, env),
        width,
    }
}

fn terminal_width(env: &Env) -> usize {
    const USUAL: usize = 80;
    let stated = env.var(fairway_core::env::vars::COLUMNS).and_then(|text| text.parse().ok());
    stated.or_else(|| fairway_core::os::terminal::width().map(usize::from)).unwrap_or(USUAL).max(20)
}
