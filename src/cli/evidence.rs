//! `fairway evidence …`

use std::ffi::OsString;
use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::rough;
use crate::cli::context::{Context, exit_even_if_closed};
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::core::check_slot::Turn;
use fairway_actions::queue::evidence::run::{self, CommandSpec, EvidenceRun};
use fairway_actions::queue::evidence::{self, NewEvidence};
use fairway_actions::queue::task::claimed_task;
use fairway_core::config::show_duration;
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::id::Label;
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::render::{Table, escape_controls, escape_line};
use fairway_core::wire::{EvidenceDetailView, FailureKind};

/// Record, list and show evidence of a task
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway evidence run T-4 --check tests
fairway evidence list T-4")]
#[command(defer = true)]
pub enum Verb {
    Run(RunArgs),
    Add(AddArgs),
    List(ListArgs),
    Show(ShowArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Run(args) => args.run(ctx),
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
        }
    }
}

/// Run a program and record its result as evidence
///
/// Without a task: of the only one that you have claimed. Exits 0 if the program passed and 7 if it failed. It runs without a
/// shell and without stdin, in the worktree of the task's lane, else here. Its output is shown and kept; processes that it
/// leaves behind are killed. It first waits for one of the [checks] parallel slots of this host, which --timeout does not
/// count.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway evidence run --check tests
fairway evidence run T-4 --timeout 10m -- cargo test")]
pub struct RunArgs {
    /// Task id, if you have claimed several or none
    #[arg(value_parser = values::task)]
    task: Option<TaskId>,
    /// Kind of evidence [default: test]
    #[arg(long, value_parser = values::label)]
    kind: Option<Label>,
    /// Run the task's own command for this check
    #[arg(long, value_name = "NAME", value_parser = values::label, conflicts_with = "command")]
    check: Option<Label>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Kill the program after this time; it has then failed
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// Do not wait for a slot for checks
    #[arg(long)]
    now: bool,
    /// Program and arguments
    #[arg(last = true, value_name = "CMD", required_unless_present = "check")]
    command: Vec<OsString>,
}

impl RunArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let command = self.check.map_or(CommandSpec::Command(self.command), CommandSpec::Check);
        let form = |task: &TaskId| format!("fairway evidence run {task} {}", command.words());
        let request = EvidenceRun {
            task: claimed_task::named_or_only(&app, self.task, form)?,
            kind: self.kind,
            command,
            summary: self.summary,
            timeout: self.timeout,
            turn: Turn::of(self.now),
        };
        let answer = run::run(&app, &request, ctx.relay())?;
        let exit = if run::passed(&answer) { 0 } else { FailureKind::External.exit_code() };
        exit_even_if_closed(exit, ctx.answer(&answer))
    }
}

/// Record a result that was produced elsewhere
///
/// The evidence counts as claimed, not as observed. A later failure of the same kind cancels a pass.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway evidence add T-4 --result pass --summary 'CI run 812'")]
pub struct AddArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Result: pass, fail, partial, skipped or blocked
    #[arg(long, value_parser = values::evidence_result)]
    result: EvidenceResult,
    /// Kind of evidence [default: test]
    #[arg(long, value_parser = values::label)]
    kind: Option<Label>,
    /// Command that produced the result
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// File that belongs to the evidence
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Commit that was tested
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
}

impl AddArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let words = NewEvidence {
            result: self.result,
            kind: self.kind,
            command: self.command,
            artifact: self.artifact,
            summary: self.summary,
            commit: self.commit,
        };
        ctx.answer(&evidence::add(&ctx.app()?, &self.task, &words)?)
    }
}

/// List a task's evidence, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway evidence list T-4")]
pub struct ListArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let found = evidence::list(&ctx.app()?, &self.task)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "kind", "result", "how", "exit", "commit", "age", "what"]);
                for one in &found {
                    let short = |commit: &String| commit.chars().take(12).collect();
                    table.row([
                        one.id.to_string(),
                        one.kind.clone(),
                        one.result.to_string(),
                        if one.observed { "observed" } else { "claimed" }.to_owned(),
                        one.exit_code.map_or_else(|| "-".into(), |code| code.to_string()),
                        one.commit.as_ref().map_or_else(|| "-".into(), short),
                        rough(ctx.env.now().since(one.created_at)),
                        one.summary.clone().or_else(|| one.command.clone()).unwrap_or_default(),
                    ]);
                }
                if table.is_empty() { "no evidence\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

/// Show a record of evidence with its stored output
///
/// Fairway stores the output of evidence that it observed. Control sequences are removed and secrets masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway evidence show 3
fairway evidence show 3 --lines 0")]
pub struct ShowArgs {
    /// Evidence id
    id: i64,
    /// Number of lines of the output; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 40)]
    lines: u32,
}

impl ShowArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let lines = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let found = evidence::show(&ctx.app()?, self.id, lines)?;
        let ago = rough(ctx.env.now().since(found.record.created_at));
        ctx.show(&found, || vec![found.record.id.to_string()], || details(&found, &ago))
    }
}

fn details(found: &EvidenceDetailView, ago: &str) -> String {
    let record = &found.record;
    let mut text = format!("{}  evidence {}  {} {}\n", record.task, record.id, record.kind, record.result);
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    let number = |number: Option<i64>| number.map(|number| number.to_string());
    let millis = record.duration_ms.and_then(|millis| u64::try_from(millis).ok());
    field("how", Some(if record.observed { "observed" } else { "claimed" }));
    field("check", found.check.as_deref());
    field("command", record.command.as_deref());
    field("exit code", number(record.exit_code).as_deref());
    field("duration", millis.map(|millis| show_duration(Duration::from_millis(millis))).as_deref());
    field("commit", record.commit.as_deref());
    field("summary", record.summary.as_deref());
    field("by", record.session.as_ref().map(SessionId::as_str));
    field("at", Some(&format!("{} ({ago} ago)", record.created_at)));
    field("artifact", record.artifact.as_deref());
    field("sha256", record.sha256.as_deref());
    if let Some(why) = &found.output_error {
        field("output", Some(why));
    }
    if let Some(output) = &found.output {
        if output.is_unchanged == Some(false) {
            field("warning", Some("the stored output has changed since: its digest is another one"));
        }
        if output.lines_left_out > 0 {
            let rest = format!("fairway evidence show {} --lines 0", record.id);
            let _ = write!(text, "\n({} earlier lines: {rest})", output.lines_left_out);
        }
        let _ = write!(
            text,
            "\n{}",
            if output.text.is_empty() { "no output\n".into() } else { escape_controls(&output.text) }
        );
    }
    text
}
