//! `fairway merge-ready`

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use super::context::{Context, exit_even_if_closed};
use super::exit::Exit;
use super::values;
use fairway_actions::queue::readiness;
use fairway_core::domain::blocker::GateReport;
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::env::vars;
use fairway_core::render::{AnnotationLevel, annotation, escape_line, markdown_code};
use fairway_core::wire::FailureKind;

/// Check a task's merge gates; exit 5 if one fails
///
/// The work is judged in the worktree of the task's lane, else of the claiming session, else where it was claimed. Unmet gates
/// are blockers, each with the command that clears it. With --format github they are annotations of a GitHub workflow, and
/// GITHUB_STEP_SUMMARY gets a table.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway merge-ready T-4
fairway merge-ready T-4 --format github
fairway task merge-check T-4")]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Base branch; default: the lane's, else the project's
    #[arg(long)]
    base: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people
    Text,
    /// Annotations and a summary of a GitHub workflow
    Github,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.format == Format::Github && ctx.out.json {
            return Err(Refusal::Usage { why: "give --json or --format github, not both".into() }.into());
        }
        let report = readiness::merge_ready(&ctx.app()?, &self.id, self.base.as_deref())?;
        let shown = match self.format {
            Format::Text => ctx.show(&report, || vec![report.task.to_string()], || text(&report)),
            Format::Github => {
                if let Some(path) = ctx.env.var_os(vars::GITHUB_STEP_SUMMARY) {
                    let path = ctx.env.cwd.join(path);
                    // The verdict does not depend on its summary.
                    if let Err(error) = append(&path, &summary(&report)) {
                        let path = escape_line(&path.to_string_lossy());
                        ctx.out.note(&format!("warning: the summary is not written to {path}: {error}"));
                    }
                }
                ctx.out.text(&annotations(&report)).map(|()| 0).map_err(Into::into)
            }
        };
        exit_even_if_closed(if report.is_ready() { 0 } else { FailureKind::Refused.exit_code() }, shown)
    }
}

/// The verdict in a line.
fn verdict(report: &GateReport) -> &'static str {
    if report.is_ready() { "is ready to be merged" } else { "is not ready to be merged" }
}

fn text(report: &GateReport) -> String {
    let mut text = format!("{} {}{}\n", report.task, verdict(report), if report.is_ready() { "" } else { ":" });
    if let Some(judged) = &report.judged {
        let _ = writeln!(text, "  judged: {}", escape_line(&judged.summary()));
    }
    for blocker in report.blockers() {
        let (message, fix) = (escape_line(&blocker.message), escape_line(&blocker.fix));
        let _ = write!(text, "  {}: {message}\n      {fix}\n", blocker.code);
    }
    text
}

/// One annotation for each blocker, or one that says that there is none.
fn annotations(report: &GateReport) -> String {
    if report.is_ready() {
        let title = format!("Fairway: {}", report.task);
        return annotation(AnnotationLevel::Notice, &title, &format!("{} {}", report.task, verdict(report)));
    }
    let of_blocker = report.blockers().iter().map(|blocker| {
        let title = format!("Fairway: {} {}", report.task, blocker.code);
        annotation(AnnotationLevel::Error, &title, &format!("{} (cleared by: {})", blocker.message, blocker.fix))
    });
    of_blocker.collect()
}

/// The report as Markdown.
fn summary(report: &GateReport) -> String {
    let mut text = format!("### Fairway: {} {}\n\n", markdown_code(report.task.as_str()), verdict(report));
    if let Some(judged) = &report.judged {
        let _ = write!(text, "Judged: {}\n\n", markdown_code(&judged.summary()));
    }
    if !report.is_ready() {
        text.push_str("| blocker | reason | cleared by |\n|---|---|---|\n");
        for blocker in report.blockers() {
            let (code, message) = (markdown_code(blocker.code), markdown_code(&blocker.message));
            let _ = writeln!(text, "| {code} | {message} | {} |", markdown_code(&blocker.fix));
        }
        text.push('\n');
    }
    text
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}
