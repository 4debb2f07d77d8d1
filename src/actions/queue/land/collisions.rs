//! The lanes that conflict with a base since work landed in it.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::unit::{self, Unit, project_git};
use crate::{
    actions::{App, mail::send::send_system},
    domain::{
        LaneName,
        lane::LaneStatus,
        message::{Priority, Recipient},
    },
    os::git::{MergeOutcome, MergeRepository},
    store::{WriteTx, lanes},
    wire::LandToldView,
};

/// The time limit of all merges together.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// The source of messages about landings.
const SOURCE: &str = "land";

/// A lane that conflicts with the base.
#[derive(Debug, Clone)]
pub(super) struct Collision {
    lane: LaneName,
    files: Vec<String>,
    command: String,
}

/// The open lanes of a base whose commits conflict with its new commit and did not with the old one.
///
/// # Errors
/// As the store or git fails.
pub(super) fn find(app: &App, unit: &Unit, merges: &MergeRepository, old: &str, new: &str) -> Result<Vec<Collision>> {
    let git = project_git(app)?;
    let all = app.read(|tx| Ok(lanes::all(tx)?))?;
    let mut known = Vec::new();
    for lane in all {
        let base = lane.base.as_ref().unwrap_or(&app.settings.base_branch);
        if lane.status == LaneStatus::Closed || unit.lane_name() == Some(&lane.name) || *base != unit.base {
            continue;
        }
        // A lane without a branch or worktree has no work.
        let Ok(tip) = unit::tip(app, &lane) else { continue };
        if git.is_ancestor(&tip, new) == Some(false) {
            known.push((lane.name, tip));
        }
    }
    let pairs: Vec<(String, String)> =
        known.iter().flat_map(|(_, tip)| [old, new].map(|base| (base.to_owned(), tip.clone()))).collect();
    let outcomes = merges.merge_all(&pairs, MERGE_TIMEOUT)?;
    let mut collisions = Vec::new();
    for ((lane, _), outcome) in known.into_iter().zip(outcomes.chunks(2)) {
        if let [MergeOutcome::Clean { .. }, MergeOutcome::Conflict { files, .. }] = outcome {
            let command = format!("fairway lane sync {lane} --rebase");
            collisions.push(Collision { lane, files: files.clone(), command });
        }
    }
    Ok(collisions)
}

impl Collision {
    /// Leaves a message for the lane's sessions.
    ///
    /// # Errors
    /// As the store fails.
    pub(super) fn tell(&self, tx: &WriteTx<'_>, unit: &Unit, landing: i64) -> Result<()> {
        let Self { lane, files, command } = self;
        let text = format!(
            "{} landed in {}, and your lane {lane} conflicts with it in {}. Commit your work, then bring {} in: {command}",
            unit.label(),
            unit.base,
            files.join(", "),
            unit.base,
        );
        let metadata = json!({ "level": "rebase", "landing": landing, "files": files, "command": command });
        let key = format!("landing {landing} {lane}");
        send_system(tx, &Recipient::Lane(lane.clone()), (SOURCE, Priority::Normal), text, &metadata, &key)?;
        Ok(())
    }

    /// Its document.
    pub(super) fn view(&self) -> LandToldView {
        LandToldView {
            lane: self.lane.to_string(),
            level: "rebase",
            files: self.files.clone(),
            command: self.command.clone(),
        }
    }
}

/// Leaves a message for those who work on what was sent back: each claiming session, else the next session of the lane.
///
/// # Errors
/// As the store fails.
pub(super) fn tell_sent_back(tx: &WriteTx<'_>, unit: &Unit, landing: i64, error: &str, hint: &str) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    let text = format!("{} was sent back: {error}. Next: {hint}", unit.label());
    let mut is_told = false;
    for member in &unit.members {
        let Some(session) = member.task.state.claim().and_then(|claim| claim.session.clone()) else { continue };
        let key = format!("landing {landing} {}", member.task.id);
        is_told |=
            send_system(tx, &Recipient::Session(session), (SOURCE, Priority::Normal), text.clone(), &metadata, &key)?;
    }
    if let (Some(lane), false) = (unit.lane_name(), is_told) {
        let key = format!("landing {landing} {lane}");
        send_system(tx, &Recipient::Lane(lane.clone()), (SOURCE, Priority::Normal), text, &metadata, &key)?;
    }
    Ok(())
}
