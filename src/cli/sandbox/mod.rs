//! `fairway sandbox …`

mod inside;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Subcommand;

use crate::cli::context::{Context, exit_even_if_closed};
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::sessions::sandbox::apart::{self, ApartRequest};
use fairway_actions::sessions::sandbox::run::{self, Finished, SandboxRequest};
use fairway_actions::sessions::sandbox::{check, lane, proxy_forward, view};
use fairway_core::domain::LaneName;
use fairway_core::domain::id::Label;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::render::{Meaning, Style, escape_line};
use fairway_core::wire::{FailureKind, SandboxCheckView, SandboxTakeBackView, SandboxView};

pub use inside::call_outside;

/// Run a program in a sandbox, prove what it keeps in
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway sandbox run --lane api -- make test
fairway sandbox check")]
#[command(defer = true)]
pub enum Verb {
    Run(RunArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    TakeBack(TakeBackArgs),
    #[command(hide = true)]
    Apart(ApartArgs),
    #[command(hide = true)]
    Forward(ForwardArgs),
    #[command(hide = true)]
    Probe(ProbeArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Run(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Explain(args) => args.run(ctx),
            Self::TakeBack(args) => args.run(ctx),
            Self::Apart(args) => args.run(ctx),
            Self::Forward(args) => args.run(ctx),
            Self::Probe(args) => args.run(ctx),
        }
    }
}

/// The exit code of a program that a signal ended, less the signal's number, as shells have it.
const SIGNAL: i32 = 128;

/// Run a program in the sandbox of a lane
///
/// The program sees the machine read-only. Your home, /tmp, /run, the project, its store and its other lanes are closed, but
/// for toolchains and what [sandbox] names. The lane can be written; there is no network, unless that is opened. The lane's
/// branch gets the commits at the end. Needs bubblewrap 0.8. The exit code is that of the program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway sandbox run --lane api -- make test
fairway sandbox run --network open -- npm install")]
pub struct RunArgs {
    /// Lane [default: that of the session, or of the directory]
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    #[command(flatten)]
    opened: Opened,
    /// Variable that reaches the program; repeatable
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl RunArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let request = self.opened.request(self.lane, self.env, self.words);
        Ok(exit_code(ctx, &run::run(&ctx.app()?, &request)?))
    }
}

/// Prints the notes about a program that has ended, and returns its exit code.
fn exit_code(ctx: &Context, finished: &Finished) -> Exit {
    for note in &finished.notes {
        ctx.out.note(&fairway_core::render::escape_controls(note));
    }
    match finished.exit {
        ExitReason::Code(code) => Exit::try_from(code).unwrap_or(1),
        ExitReason::Signal(signal) => Exit::try_from(SIGNAL + signal).unwrap_or(1),
        ExitReason::TimedOut => 1,
    }
}

/// Prove what a sandbox keeps in, here and now
///
/// Makes a project with a lane for temporary files. A program tries there to get out, once without a sandbox as a control, and
/// once inside. Exit 5 when an attempt inside succeeded, or something that must work did not. An attempt that fails outside too
/// proves nothing, and is marked with '?'.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway sandbox check
fairway sandbox check --network open --json")]
pub struct CheckArgs {
    /// Class: namespace or command [default: sandbox.class]
    #[arg(value_name = "CLASS", value_parser = values::sandbox_class)]
    class: Option<SandboxClass>,
    #[command(flatten)]
    network: Network,
}

impl CheckArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let view = check::check(&ctx.app()?, self.class, self.network.network)?;
        let exit = if view.passed { 0 } else { FailureKind::Refused.exit_code() };
        let names = || view.probes.iter().filter(|probe| probe.inside).map(|probe| probe.name.clone()).collect();
        exit_even_if_closed(exit, ctx.show(&view, names, || check_text(&view, ctx.out.style)))
    }
}

fn check_text(view: &SandboxCheckView, style: Style) -> String {
    let mut check_text = String::new();
    let mut line = |shape: char, meaning: Meaning, name: &str, what: &str| {
        let begin = style.paint(meaning, &format!("{shape} {name:<26}"));
        let _ = writeln!(check_text, "{begin} {}", escape_line(what));
    };
    for probe in &view.probes {
        let why = probe.why.as_deref().unwrap_or_default();
        match (probe.inside, probe.is_open, probe.outside) {
            (true, true, _) => line('○', Meaning::Notice, &probe.name, &format!("{}: open", probe.what)),
            (true, false, _) => line('✗', Meaning::Bad, &probe.name, &format!("{}: DONE", probe.what)),
            (false, _, true) => line('✓', Meaning::Good, &probe.name, &format!("{}: {why}", probe.what)),
            (false, _, false) => {
                line('?', Meaning::Notice, &probe.name, &format!("{}: not possible outside either", probe.what));
            }
        }
    }
    for need in &view.needs {
        match &need.why {
            None => line('✓', Meaning::Good, &need.name, "works"),
            Some(why) => line('✗', Meaning::Bad, &need.name, &format!("does not work: {why}")),
        }
    }
    let count =
        |is: fn(&fairway_core::wire::SandboxProbeView) -> bool| view.probes.iter().filter(|probe| is(probe)).count();
    let _ = writeln!(
        check_text,
        "{} of {} attempts succeed outside; inside {} of them do; {} of {} needs work",
        count(|probe| probe.outside),
        view.probes.len(),
        count(|probe| probe.inside),
        view.needs.iter().filter(|need| need.works).count(),
        view.needs.len(),
    );
    check_text
}

/// Show what the sandbox of a lane opens, and why
///
/// Each path that is not just read-only: closed, open for reading in a closed directory, or open for writing. Makes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway sandbox explain api")]
pub struct ExplainArgs {
    /// Lane [default: that of the session, or of the directory]
    #[arg(value_parser = values::lane)]
    lane: Option<LaneName>,
    #[command(flatten)]
    opened: Opened,
}

impl ExplainArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let request = self.opened.request(self.lane, Vec::new(), Vec::new());
        let view = view::view(&ctx.app()?, &request)?;
        ctx.show(&view, || view.paths.iter().map(|one| one.path.clone()).collect(), || text(&view))
    }
}

/// Take back commits that were refused at the end of a sandbox
///
/// A sandbox whose commits could not be brought into the lane's branch has left its repository under a number. Each is tried
/// again, oldest first. No program of the repository runs. Exit 5 when one is still refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway sandbox take-back api
fairway sandbox take-back api --discard 2")]
pub struct TakeBackArgs {
    /// Lane
    #[arg(value_parser = values::lane)]
    lane: LaneName,
    /// Number of a repository to remove with its commits, for ever
    #[arg(long, value_name = "NUMBER")]
    discard: Option<u32>,
}

impl TakeBackArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let view = lane::take_back_refused(&ctx.app()?, &self.lane, self.discard)?;
        let exit = if view.refused.is_empty() { 0 } else { FailureKind::Refused.exit_code() };
        let numbers = || view.refused.iter().map(|one| one.number.to_string()).collect();
        exit_even_if_closed(exit, ctx.show(&view, numbers, || take_back_text(&view)))
    }
}

fn take_back_text(view: &SandboxTakeBackView) -> String {
    let taken = view.notes.iter().map(|note| format!("{}\n", escape_line(note)));
    let refused = view.refused.iter().map(|one| {
        let discard = format!("fairway sandbox take-back {} --discard {}", view.lane, one.number);
        format!("{} is still refused: {}; to give it up: {discard}\n", one.number, escape_line(&one.why))
    });
    let text: String = taken.chain(refused).collect();
    if text.is_empty() { format!("nothing of {} waits to be taken back\n", view.lane) } else { text }
}

fn text(view: &SandboxView) -> String {
    if !view.prefix.is_empty() {
        return by_command(view);
    }
    let mut text = format!("lane {}, class {}, network {}\n", view.lane, view.class, view.network);
    for one in &view.paths {
        let _ = writeln!(text, "{:<7}{}  ({})", one.access, escape_line(&one.path), one.why);
    }
    text.push_str("read   everything else\n");
    for host in &view.hosts {
        let _ = writeln!(text, "host   {host}  (sandbox.hosts, or the agent's profile)");
    }
    env_and_copies(view, &mut text);
    text
}

fn env_and_copies(view: &SandboxView, text: &mut String) {
    for name in &view.env {
        let _ = writeln!(text, "env    {name}  (sandbox.env, or the agent's profile)");
    }
    for path in &view.copies {
        let _ = writeln!(text, "copy   {}  (an ignored file of the main checkout, often a secret)", escape_line(path));
    }
    if view.setup_outside {
        text.push_str("out    [lanes] setup and teardown run outside  (lanes.setup_outside)\n");
    }
}

/// Describes a sandbox of the class `command`: only the program that makes it knows what it allows.
fn by_command(view: &SandboxView) -> String {
    let mut text = format!("lane {}, class {}: what is open is the promise of\n", view.lane, view.class);
    let _ = writeln!(text, "       {}", escape_line(&shell_words::join(&view.prefix)));
    for one in view.paths.iter().filter(|one| one.access != "closed") {
        let _ = writeln!(
            text,
            "{:<7}{}  ({}, where it is asked for by {{mount}})",
            one.access,
            escape_line(&one.path),
            one.why
        );
    }
    env_and_copies(view, &mut text);
    text
}

/// The network inside.
#[derive(Debug, clap::Args)]
pub struct Network {
    /// Network: none, proxy or open [default: sandbox.network]
    #[arg(long, value_name = "WHICH", value_parser = values::sandbox_network)]
    pub network: Option<SandboxNetwork>,
}

/// What is open beside the lane.
#[derive(Debug, clap::Args)]
pub struct Opened {
    /// Class: namespace or command [default: sandbox.class]
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class)]
    pub class: Option<SandboxClass>,
    #[command(flatten)]
    pub network: Network,
    /// Agent whose state in your home is open
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    pub provider: Option<Label>,
}

impl Opened {
    fn request(self, lane: Option<LaneName>, env: Vec<String>, argv: Vec<OsString>) -> SandboxRequest {
        SandboxRequest { lane, class: self.class, network: self.network.network, provider: self.provider, env, argv }
    }
}

/// Run a program whose commits are not kept
#[derive(Debug, clap::Args)]
pub struct ApartArgs {
    /// Class of the sandbox
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class, default_value = "namespace")]
    class: SandboxClass,
    /// Lane in whose worktree it runs
    #[arg(long, value_parser = values::lane, required_unless_present = "checkout")]
    lane: Option<LaneName>,
    /// Checkout of a landing
    #[arg(long, value_name = "DIR", conflicts_with = "lane")]
    checkout: Option<PathBuf>,
    /// Variable that reaches the program; repeatable
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl ApartArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let Self { class, lane, checkout, env, words } = self;
        let finished = apart::run(&ctx.app()?, &ApartRequest { class, lane, checkout, env, argv: words })?;
        Ok(exit_code(ctx, &finished))
    }
}

/// Run a program with the sandbox's proxy on the loopback
#[derive(Debug, clap::Args)]
pub struct ForwardArgs {
    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    words: Vec<OsString>,
}

impl ForwardArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let exit = proxy_forward::run(&self.words, ctx.env.vars(), &ctx.env.cwd);
        let exit =
            exit.with_context(|| format!("{} cannot be run", self.words.join(" ".as_ref()).to_string_lossy()))?;
        Ok(exit_code(ctx, &Finished { exit, notes: Vec::new() }))
    }
}

/// Make the attempts of sandbox check; stdin has the targets
#[derive(Debug, clap::Args)]
pub struct ProbeArgs {}

impl ProbeArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text)?;
        ctx.out.text(&check::attempt_all(&text, ctx.env.vars())?)?;
        Ok(0)
    }
}
