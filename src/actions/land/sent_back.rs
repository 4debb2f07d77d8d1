//! Messages about sent-back work: to those who work on it, and to those whose work landed before it.

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::{
        mail::send::{send_system, send_to_workers},
        queue::landing_unit::Unit,
    },
    domain::{
        SessionId, TaskId, commit_id,
        landing::Landing,
        landing::{FailedLandCheck, FailsWith},
        message::{LAND_SOURCE, Priority, Recipient},
    },
    store::{WriteTx, sessions},
};

/// How many of the earlier landings get a message to their sessions.
const MAX_TOLD: usize = 3;

/// Leaves a message about a sent-back unit for the sessions that have claimed its tasks, or, when there are none, for the next
/// session of its lane.
pub(super) fn tell_sent_back(tx: &WriteTx<'_>, unit: &Unit, landing: i64, error: &str, hint: &str) -> Result<()> {
    let text = format!("{} was sent back: {error}. Next: {}", unit.label(), hint.replace('\n', "; "));
    tell_workers(tx, unit, landing, "", text)
}

/// Leaves a message for each claiming session of a unit, else for those of its lane. `about` makes the deduplication keys of
/// several messages about one landing different.
fn tell_workers(tx: &WriteTx<'_>, unit: &Unit, landing: i64, about: &str, text: String) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    let claims = unit.members.iter().filter_map(|member| member.task.state.claim());
    let sessions = claims.filter_map(|claim| claim.session.as_ref());
    let key = format!("landing {landing}{about}");
    send_to_workers(tx, sessions, unit.lane_name(), (LAND_SOURCE, Priority::Normal), &text, &metadata, &key)
}

/// Leaves a message for the sessions of a unit, or for the next session of its lane: the unit fails a check even without the
/// work that landed since it last contained its base.
pub(super) fn tell_alone(tx: &WriteTx<'_>, unit: &Unit, landing: i64, failed: &FailedLandCheck) -> Result<()> {
    let text = format!(
        "{} fails the check '{}' without what landed since, too: the cause is in its own commits.",
        unit.label(),
        failed.check
    );
    tell_workers(tx, unit, landing, " alone", text)
}

/// Sends messages about a unit that fails only together with other, landed work: to the sessions of the unit, and to the live
/// sessions of the lane of the landed work. Does nothing when the other work is not known.
pub(super) fn tell_pair(
    tx: &WriteTx<'_>,
    unit: &Unit,
    landing: i64,
    failed: &FailedLandCheck,
    other: Option<&Landing>,
) -> Result<()> {
    let FailsWith::Other { of, lane, commit } = &failed.fails_with else { return Ok(()) };
    let (label, check, commit) = (unit.label(), &failed.check, commit_id::short(commit));
    let together = "The two break only together";
    let agree = lane.as_ref().map(|lane| format!("\nAgree with its author: fairway send lane:{lane} TEXT"));
    let text = format!(
        "{label} passes the check '{check}' without {of}, and fails with it. {together}.\nSee the other work: git show \
         {commit}{}",
        agree.unwrap_or_default()
    );
    tell_workers(tx, unit, landing, " pair", text)?;
    let Some(lane) = other.and_then(|other| other.lane.as_ref()).filter(|lane| unit.lane_name() != Some(lane)) else {
        return Ok(());
    };
    let (see, agree) = match unit.lane_name() {
        Some(own) => {
            (format!("fairway lane diff {own}"), format!("\nAgree with its author: fairway send lane:{own} TEXT"))
        }
        None => (format!("git show {}", commit_id::short(&unit.commit)), String::new()),
    };
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    for session in sessions::live(tx)?.iter().filter(|one| one.lane.as_ref() == Some(lane)) {
        let text = format!(
            "The work of your lane {lane} landed in {} as {commit}. {label} was sent back: it passes the check '{check}' \
             without yours, and fails with it. {together}.\nSee the other work: {see}{agree}",
            unit.base
        );
        let key = format!("landing {landing} pair {}", session.id);
        let (to, by) = (Recipient::Session(session.id.clone()), (LAND_SOURCE, Priority::Normal));
        send_system(tx, &to, by, text, &metadata, &key)?;
    }
    Ok(())
}

/// Leaves a message about a sent-back unit for each live session in the lanes of the landings `since` the unit last contained
/// its base. Only the newest landings count.
pub(super) fn tell_landed(tx: &WriteTx<'_>, unit: &Unit, landing: i64, error: &str, since: &[Landing]) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    let next = match (unit.lane_name(), &unit.task) {
        (Some(lane), _) => format!("fairway send lane:{lane} TEXT"),
        (None, Some(task)) => format!("fairway task show {task}"),
        (None, None) => return Ok(()),
    };
    let live = sessions::live(tx)?;
    let mut told: Vec<&SessionId> = Vec::new();
    for lane in since.iter().take(MAX_TOLD).filter_map(|one| one.lane.as_ref()) {
        for session in live.iter().filter(|one| one.lane.as_ref() == Some(lane)).map(|one| &one.id) {
            if unit.lane_name() == Some(lane) || told.contains(&session) {
                continue;
            }
            told.push(session);
            let text = format!(
                "The work of your lane {lane} landed in {}. {} was sent back after it: {error}. Talk to its \
                 author: {next}",
                unit.base,
                unit.label()
            );
            let key = format!("landing {landing} {session}");
            send_system(
                tx,
                &Recipient::Session(session.clone()),
                (LAND_SOURCE, Priority::Normal),
                text,
                &metadata,
                &key,
            )?;
        }
    }
    Ok(())
}

/// Sent-back work that may fail only together with work that landed since. A search for that work is worth while, because a
/// session of it still runs.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) unit: Unit,
    /// The id of the unit's landing.
    pub(super) landing: i64,
    pub(super) failed: FailedLandCheck,
    /// The failed check, as text for a shell.
    pub(super) command: String,
    /// The task that the check belongs to, when that is not a task of the unit.
    pub(super) of_other: Option<TaskId>,
    /// The landings since the unit last contained its base, newest first.
    pub(super) since: Vec<Landing>,
}
