//! Jobs as text.

use std::time::Duration;

use super::stream_printer::StreamPrinter;
use crate::cli::age::rough;
use fairway_core::config::show_duration;
use fairway_core::domain::job::ItemType;
use fairway_core::domain::status::JobStatus;
use fairway_core::env::Timestamp;
use fairway_core::render::{Meaning, Style, Table, escape_line};
use fairway_core::wire::{JobItemView, JobPollView, JobView, short_job_id};

/// How much of a command a line shows, in characters; a table has its own width.
const COMMAND: usize = 80;

pub(super) fn table(runs: &[JobView], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "status", "age", "session", "queue", "command"]);
    for run in runs {
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        let age = age(&run.queued_at, now).map_or_else(|| "-".into(), rough);
        table.row([
            short_job_id(&run.run_id).to_owned(),
            status(run),
            age,
            dash(&run.session_id),
            dash(&run.queue),
            run.command.clone(),
        ]);
    }
    table
}

/// Formats a job as one line: its status, its duration and its command.
pub(super) fn line(run: &JobView, now: Timestamp, style: Style) -> String {
    let meaning = match run.status {
        JobStatus::Succeeded => Meaning::Good,
        JobStatus::Failed | JobStatus::Lost | JobStatus::TimedOut => Meaning::Bad,
        JobStatus::Running if run.supervised => Meaning::Good,
        _ => Meaning::Notice,
    };
    let took = match (run.started_at.as_deref().and_then(Timestamp::parse), run.finished_at.as_deref()) {
        (Some(started), Some(finished)) => {
            Timestamp::parse(finished).map(|finished| format!(" after {}", show_duration(finished.since(started))))
        }
        (Some(started), None) => Some(format!(" since {}", rough(now.since(started)))),
        (None, _) => None,
    };
    // The message already names a signal that Fairway sent.
    let how = match (run.exit_code, run.signal) {
        (Some(code), _) if code != 0 => format!(" with exit code {code}"),
        (_, Some(signal)) if run.error_message.is_none() => format!(" by signal {signal}"),
        _ => String::new(),
    };
    let why = run.error_message.as_ref().map(|why| format!(" ({})", escape_line(why))).unwrap_or_default();
    let attempt = if run.attempt > 1 { format!(", attempt {}", run.attempt) } else { String::new() };
    let unsupervised = if is_unsupervised(run) { "; no supervisor: fairway session reconcile" } else { "" };
    let command: String = escape_line(&run.command).chars().take(COMMAND).collect();
    let status = style.paint(meaning, run.status.as_str());
    format!(
        "{} {status}{how}{}{attempt}{why}: {command}{unsupervised}",
        short_job_id(&run.run_id),
        took.unwrap_or_default()
    )
}

/// Formats the answer to `exec poll`: the status of the job, then its new output in order, with each event on a line of its own.
pub(super) fn polled(polled: &JobPollView, now: Timestamp, style: Style) -> String {
    let mut text = line(&polled.run, now, style);
    text.push('\n');
    let (mut stdout, mut stderr) = (StreamPrinter::default(), StreamPrinter::default());
    for item in &polled.items {
        match item.kind {
            ItemType::Event => {
                text.push_str(&stdout.pause());
                text.push_str(&stderr.pause());
                text.push_str(if text.ends_with('\n') { "" } else { "\n" });
                text.push_str(&event(item));
                text.push('\n');
            }
            ItemType::Stderr => text.push_str(&stderr.take(&item.payload)),
            ItemType::Stdout => text.push_str(&stdout.take(&item.payload)),
        }
    }
    text.push_str(&stdout.pause());
    text.push_str(&stderr.pause());
    text.push_str(if text.ends_with('\n') { "" } else { "\n" });
    if let (Some(host), Some(command)) = (&polled.output_host, &polled.log_command) {
        text.push_str(&escape_line(&format!("its output is on the host {host}: {command}")));
        text.push('\n');
    }
    text
}

/// Formats one event as one line: its name in brackets, then its text, or its metadata when it has no text.
pub(super) fn event(item: &JobItemView) -> String {
    let name = item.meta.get("event").and_then(|name| name.as_str()).unwrap_or("event");
    let said = if item.payload.is_empty() { item.meta.to_string() } else { item.payload.clone() };
    escape_line(&format!("[{name}] {said}"))
}

fn status(run: &JobView) -> String {
    if is_unsupervised(run) { format!("{} (unsupervised)", run.status) } else { run.status.to_string() }
}

/// Whether the job is active and has no supervisor.
fn is_unsupervised(run: &JobView) -> bool {
    !run.supervised && matches!(run.status, JobStatus::Starting | JobStatus::Running)
}

fn age(since: &str, now: Timestamp) -> Option<Duration> {
    Timestamp::parse(since).map(|since| now.since(since))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use fairway_core::domain::job::RecoveryPolicy;

    fn run() -> JobView {
        JobView {
            run_id: "0193b0c0-7e6a-7a5b-8c3d-aabb8c1e03d4".into(),
            session_id: None,
            queue: Some("q".into()),
            status: JobStatus::Running,
            supervised: true,
            command: "echo \u{1b}[2J".into(),
            cwd: "/".into(),
            background: true,
            pty: false,
            recovery: RecoveryPolicy::Requeue,
            attempt: 1,
            pid: Some(7),
            exit_code: None,
            signal: None,
            output_bytes: 0,
            truncated: false,
            error_message: None,
            queued_at: "2026-01-01T00:00:00.000Z".into(),
            started_at: Some("2026-01-01T00:00:01.000Z".into()),
            finished_at: None,
            updated_at: "2026-01-01T00:00:01.000Z".into(),
        }
    }

    fn plain() -> Style {
        Style::choose("never", false, &fairway_core::env::Env::from_process())
    }

    #[test]
    fn job_is_listed_in_one_line_without_control_characters() {
        let now = Timestamp::parse("2026-01-01T02:03:04.000Z").unwrap();
        assert_eq!(line(&run(), now, plain()), "8c1e03d4 running since 2h 3m: echo \\u{1b}[2J");
        let left = JobView { supervised: false, attempt: 2, ..run() };
        assert_eq!(
            line(&left, now, plain()),
            "8c1e03d4 running since 2h 3m, attempt 2: echo \\u{1b}[2J; no supervisor: fairway session reconcile"
        );
        let failed = JobView {
            status: JobStatus::Failed,
            supervised: false,
            exit_code: Some(3),
            finished_at: Some("2026-01-01T00:00:13.500Z".into()),
            ..run()
        };
        assert_eq!(line(&failed, now, plain()), "8c1e03d4 failed with exit code 3 after 12s: echo \\u{1b}[2J");
        assert_eq!(
            table(&[left], now).render(None),
            "ID        STATUS                  AGE    SESSION  QUEUE  COMMAND\n\
             8c1e03d4  running (unsupervised)  2h 3m  -        q      echo \\u{1b}[2J\n"
        );
    }

    #[test]
    fn items_are_output_as_it_was_and_events_on_lines_of_their_own() {
        let now = Timestamp::parse("2026-01-01T00:00:02.000Z").unwrap();
        let item = |seq, kind, payload: &str, meta| JobItemView {
            seq,
            kind,
            payload: payload.into(),
            meta,
            created_at: String::new(),
        };
        let view = JobPollView {
            run: run(),
            since_seq: 0,
            next_seq: 4,
            snippet: String::new(),
            items: vec![
                item(1, ItemType::Stdout, "a\r\nb\u{202e}", json!(null)),
                item(2, ItemType::Event, "b\nc", json!({ "event": "hit" })),
                item(3, ItemType::Event, "", json!({ "event": "gap", "bytes": 9 })),
                item(4, ItemType::Stderr, "c", json!(null)),
            ],
            output_host: None,
            log_command: None,
        };
        assert_eq!(
            polled(&view, now, plain()),
            "8c1e03d4 running since 1s: echo \\u{1b}[2J\na\nb\\u{202e}\n[hit] b c\n[gap] {\"event\":\"gap\",\"bytes\":9}\nc\n"
        );
    }
}
