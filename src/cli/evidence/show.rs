//! `fairway evidence show`

use std::{fmt::Write, time::Duration};

use anyhow::Result;

use crate::{
    actions::queue::evidence,
    cli::{age, context::Context, exit::Exit},
    config::show_duration,
    domain::SessionId,
    render::{escape_controls, escape_line},
    wire::EvidenceDetailView,
};

/// Show a record of evidence with its stored output
///
/// Fairway stores the output of evidence that it observed. Control sequences are removed and secrets masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Evidence id
    id: i64,
    /// Number of lines of the output; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 40)]
    lines: u32,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let lines = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let found = evidence::show(&ctx.app()?, self.id, lines)?;
        let ago = age::rough(ctx.env.now().since(found.record.created_at));
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
