//! `fairway notify`

use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::Result;

use super::age::age;
use super::context::Context;
use super::exit::Exit;
use super::values;
use crate::hooks::Provider;
use fairway_actions::App;
use fairway_actions::core::inside_session;
use fairway_actions::upkeep::notify::{self, Outlets, SendReport};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::SinkName;
use fairway_core::domain::need::NeedKind;
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_controls, escape_line};
use fairway_core::wire::{NotifyStateView, SentView};

/// The exit code when a notification was not sent.
const NOT_SENT: Exit = 7;

/// Send items that need you to the sinks of [notify]
///
/// Without a flag: the configured sinks, and what became of each item. An item is sent once to each sink, however many senders
/// run: notify and serve are senders. In the quiet window items are held; what is still open at its end comes as one summary. A
/// sink that fails is tried five times within seven minutes; then doctor reports it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway notify --follow
fairway notify --test desktop")]
pub struct Args {
    /// Keep running: wait for items and send them
    #[arg(long, short)]
    follow: bool,
    /// Send what is due now, and end: for cron
    #[arg(long, conflicts_with = "follow")]
    once: bool,
    /// Send a sample to this sink; default: to every configured one
    #[arg(long, value_name = "SINK", num_args = 0..=1, value_parser = values::notify_sink, conflicts_with_all = ["follow", "once"])]
    test: Option<Vec<SinkName>>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let providers: Vec<&str> = Provider::ALL.iter().map(|provider| provider.label()).collect();
        if !self.follow && !self.once && self.test.is_none() {
            let state = notify::state(&app, &providers)?;
            return ctx.show(
                &state,
                || state.items.iter().map(|one| format!("{} {} {}", one.item, one.sink, one.state)).collect(),
                || state_text(ctx, &state),
            );
        }
        // A sender inside a session would use up a person's notifications.
        inside_session::refuse(&app, "notify")?;
        let mut stdout = io::stdout();
        let terminal = (ctx.env.terminal.stdout && !ctx.out.json).then_some(&mut stdout as &mut dyn Write);
        if let Some(sinks) = self.test {
            return test(ctx, &app, sinks, terminal);
        }
        let mut outlets = Outlets { terminal, programs: true };
        if self.once {
            notify::require_sinks(&app, &outlets)?;
            let report = notify::send_due(&app, &providers, &mut outlets)?;
            show(ctx, &report)?;
            let is_held = || format!("{} held until the quiet window ends", report.held);
            if report.held > 0 {
                ctx.out.note(&is_held());
            }
            let has_failed = report.attempts.iter().any(|attempt| attempt.error.is_some());
            return Ok(if has_failed { NOT_SENT } else { 0 });
        }
        ctx.out.note("waiting for items that need you; Ctrl-C ends");
        let mut untrusted = None;
        notify::follow(&app, &providers, &mut outlets, |report| {
            show(ctx, report)?;
            if report.untrusted != untrusted {
                untrusted.clone_from(&report.untrusted);
                if let Some(why) = &untrusted {
                    ctx.out
                        .write_error(&format!("programs of sinks are off: {}; hint: fairway trust", escape_line(why)));
                }
            }
            Ok(())
        })?;
        Ok(0)
    }
}

/// Prints the attempts to send notifications, one line or document each.
fn show(ctx: &Context, report: &SendReport) -> Result<()> {
    for attempt in &report.attempts {
        if ctx.out.json {
            ctx.out.document(attempt)?;
        } else if ctx.out.quiet {
            ctx.out.text(&escape_controls(&attempt.items.iter().map(|id| format!("{id}\n")).collect::<String>()))?;
        } else {
            ctx.out.line(&escape_line(&line(attempt)))?;
        }
    }
    Ok(())
}

fn line(attempt: &SentView) -> String {
    let retry = attempt.retry_at.as_deref().and_then(Timestamp::parse);
    let next = match (&attempt.error, retry) {
        (None, _) => "sent".to_owned(),
        (Some(why), Some(at)) => format!("not sent: {why}; again at {}", at.to_local()),
        (Some(why), None) => format!("not sent: {why}"),
    };
    format!("{}: {}: {next}", attempt.sink, attempt.title)
}

fn test(ctx: &Context, app: &App, named: Vec<SinkName>, mut terminal: Option<&mut dyn Write>) -> Result<Exit> {
    let sinks = if named.is_empty() { app.settings.notify.sinks.clone() } else { named };
    if sinks.is_empty() {
        let why = "no sink is configured: name one, such as fairway notify --test bell".to_owned();
        return Err(Refusal::Usage { why }.into());
    }
    let mut exit = 0;
    for sink in sinks {
        let own = terminal.as_mut().map(|terminal| &mut **terminal as &mut dyn Write);
        let (outcome, output) = notify::test(app, &sink, own)?;
        if ctx.out.json {
            ctx.out.document(&outcome)?;
        } else {
            ctx.out.line(&escape_line(&line(&outcome)))?;
        }
        if outcome.error.is_some() {
            exit = NOT_SENT;
            for line in String::from_utf8_lossy(&output).lines() {
                ctx.out.write_error(&format!("  {}", escape_line(line)));
            }
        }
    }
    Ok(exit)
}

fn state_text(ctx: &Context, state: &NotifyStateView) -> String {
    let list = |words: &[&str], none: &str| if words.is_empty() { none.to_owned() } else { words.join(", ") };
    let kinds_of = |kinds: &[NeedKind]| list(&kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(), "none");
    let sinks: Vec<&str> = state.sinks.iter().map(String::as_str).collect();
    let mut text = format!("sinks: {}\n", list(&sinks, "none; set notify.sinks with fairway config edit"));
    if let Some(quiet) = &state.quiet {
        let until = state.quiet_until.as_deref().and_then(Timestamp::parse);
        let now = until.map(|at| format!(" (now, until {})", at.to_local())).unwrap_or_default();
        let _ = writeln!(text, "quiet: {quiet}{now}");
    }
    for one in &state.per_sink {
        let kinds = one.kinds.as_ref().map_or_else(|| "every kind".to_owned(), |kinds| kinds_of(kinds));
        let _ = writeln!(text, "{}: {kinds}{}", one.sink, if one.actions { "; with actions" } else { "" });
    }
    if let Some(why) = &state.untrusted {
        let _ = writeln!(text, "programs of sinks are off: {}", escape_line(why));
    }
    let mut table = Table::new(&["item", "sink", "state", "tries", "age", "error"]);
    for one in &state.items {
        table.row([
            one.item.clone(),
            one.sink.clone(),
            one.state.to_owned(),
            one.attempts.to_string(),
            one.at.as_ref().map(|at| age(at, ctx.env.now())).unwrap_or_default(),
            one.error.clone().unwrap_or_default(),
        ]);
    }
    if !table.is_empty() {
        text.push_str(&table.coloured(ctx.out.width, ctx.out.style));
    }
    text
}
