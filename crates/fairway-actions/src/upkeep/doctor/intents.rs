//! Interrupted intents: rows written before an effect outside of the store that were never completed.

use std::time::Duration;

use anyhow::Result;

use crate::App;
use crate::core::other_host;
use crate::queue::evidence::run;
use crate::queue::lane::{sync_intent, worktree};
use crate::queue::task::import_steps::ImportIntent;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::{EventKind, LaneName, plural};
use fairway_core::store::{ReadTx, events, idempotency_keys, lanes};

/// A younger intent most likely belongs to a running command.
const MIN_AGE: Duration = Duration::from_secs(5 * 60);

/// A note for each intent that has been open too long, with the command that resolves it.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let now = app.env.now();
    for open in idempotency_keys::open_intents(tx)?.into_iter().filter(|open| now.since(open.since) >= MIN_AGE) {
        let finding = match (worktree::lane_of_intent(&open.id), sync_intent::lane_of(&open.id)) {
            (Some(lane), _) => Some(lane_finding(app, tx, &lane, &open)?),
            (None, Some(lane)) => Some(sync_finding(app, tx, &lane, &open)?),
            (None, None) => match ImportIntent::parse(&open.id, &open.fingerprint) {
                Some(import) => Some(import_finding(&import, &open)),
                None => request_finding(tx, &open)?,
            },
        };
        found.extend(finding);
    }
    Ok(found)
}

fn intent_finding(message: String, fix: String) -> Finding {
    Finding::new("unsettled", Severity::Note, message).with_fix(fix)
}

fn import_finding(import: &ImportIntent, open: &idempotency_keys::OpenIntent) -> Finding {
    let message = format!(
        "the import of a file, begun on {} at {}, was never completed: of its {} only some are here",
        import.host,
        open.since,
        plural::count(import.tasks, "task")
    );
    intent_finding(message, "fairway task import FILE".to_owned())
}

fn sync_finding(app: &App, tx: &ReadTx<'_>, name: &LaneName, open: &idempotency_keys::OpenIntent) -> Result<Finding> {
    let message = format!("the sync of lane {name} started at {} and was never completed", open.since);
    let lane = lanes::find(tx, name)?.filter(|lane| other_host::has_worktree(app, lane));
    let Some(lane) = lane else { return Ok(intent_finding(message, format!("fairway lane sync {name}"))) };
    let host = other_host::of_lane(tx, &lane)?;
    let fix = host.command(&["lane", "sync", name.as_str()]);
    Ok(intent_finding(format!("{message} on the host {}", host.name), fix))
}

fn lane_finding(app: &App, tx: &ReadTx<'_>, lane: &LaneName, open: &idempotency_keys::OpenIntent) -> Result<Finding> {
    let since = open.since;
    let message =
        format!("the creation of a branch and a worktree for lane {lane} started at {since} and was never completed");
    Ok(match (lanes::find(tx, lane)?, worktree::parse_plan(&open.fingerprint)) {
        (_, Ok(plan)) if plan.is_elsewhere(app) => {
            let host = other_host::find(tx, plan.host.as_deref().unwrap_or_default(), plan.host_id.as_deref())?;
            let fix = host.command(&["lane", "add", lane.as_str(), "--create-worktree"]);
            intent_finding(format!("{message} on the host {}", host.name), fix)
        }
        // The lane was added without them meanwhile.
        (Some(_), Ok(plan)) => {
            intent_finding(message, format!("git worktree remove {}; git branch -d {}", plan.worktree, plan.branch))
        }
        _ => intent_finding(message, format!("fairway lane add {lane} --create-worktree")),
    })
}

/// The finding for an intent of a request; `None` while its program runs.
fn request_finding(tx: &ReadTx<'_>, open: &idempotency_keys::OpenIntent) -> Result<Option<Finding>> {
    let (id, since) = (&open.id, open.since);
    let mut start = None;
    // This reads the whole log, but only when there is such a request.
    events::for_each_since(tx, 0, |event| {
        if EventKind::parse(&event.kind) == Some(EventKind::EvidenceStarted) && run::is_start_of(&event, id) {
            start = Some(event);
        }
        Ok(true)
    })?;
    let Some(event) = start else {
        let message = format!("request '{id}' of {since} has no response: its command was interrupted");
        return Ok(Some(intent_finding(message, format!("repeat the command with --request-id {id}"))));
    };
    let (outcome, running) = run::intent_state(Some(&event));
    let task = event.task.unwrap_or_default();
    let message = format!("evidence for {task} under request '{id}': {outcome}; this request does not run it again");
    Ok((!running).then(|| intent_finding(message, format!("fairway evidence run {task} -- COMMAND"))))
}
