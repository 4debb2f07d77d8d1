//! Work that comes back, and the messages about it: to its authors one with the output, what was run and one command, and to the
//! sessions of other work with which it fails.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use crate::mail::send::{send_system, send_to_workers};
use crate::queue::landing_unit::Unit;
use fairway_core::domain::landing::{FailedLandCheck, LandedWork, Landing};
use fairway_core::domain::message::{LAND_SOURCE, Priority, Recipient};
use fairway_core::domain::{TaskId, commit_id};
use fairway_core::store::{WriteTx, sessions};

/// Work that is sent back at the end of the pass.
#[derive(Debug)]
pub(super) struct SentBack {
    pub(super) unit: Unit,
    pub(super) landing: Landing,
    pub(super) why: Why,
}

/// Why work is sent back.
#[derive(Debug)]
pub(super) enum Why {
    /// It conflicts with the base in these files; `with` landed since it last contained its base.
    Conflict {
        files: Vec<String>,
        with: Vec<String>,
    },
    Check(Box<BrokenCheck>),
}

/// A check that the work breaks.
#[derive(Debug)]
pub(super) struct BrokenCheck {
    pub(super) failed: FailedLandCheck,
    /// The check, as text for a shell.
    pub(super) command: String,
    /// The tasks that have the check; none has a check of the configuration.
    pub(super) owners: Vec<TaskId>,
    /// Whether a task of the work is among them.
    pub(super) is_own: bool,
    /// Whether it is a check of the work alone.
    pub(super) is_own_alone: bool,
    pub(super) last_lines: String,
    /// The landings since the work last contained its base, newest first.
    pub(super) since: Vec<Landing>,
}

impl BrokenCheck {
    /// The message for the authors: the end of the output, what was run, and the next command.
    pub(super) fn message(&self, unit: &Unit, next: Option<&str>) -> String {
        let FailedLandCheck { with, fails_with, .. } = &self.failed;
        let mut text = format!("{} was sent back: {}.", unit.label(), self.failed.head());
        let whole = match self.failed.evidence {
            Some(number) => format!("evidence {number}"),
            None => self.failed.output.clone(),
        };
        let _ = write!(text, "\nThe last lines of its output ({whole}):");
        for line in self.last_lines.lines() {
            let _ = write!(text, "\n  {line}");
        }
        let runs = self.failed.other_runs();
        if !runs.is_empty() {
            let _ = write!(text, "\nWhat was run: {runs}.");
        }
        match fails_with.landed() {
            [] if self.failed.runs.is_empty() && !with.is_empty() => {
                let _ = write!(text, "\nLanded since: {}.", with.join(", "));
            }
            all => {
                for LandedWork { of, before, commit, .. } in all {
                    let (before, commit) = (commit_id::short(before), commit_id::short(commit));
                    let _ = write!(text, "\n{of} is: git diff {before} {commit}");
                }
            }
        }
        let see = || match self.failed.evidence {
            Some(number) => format!("see all of its output: fairway evidence show {number}"),
            None => format!("see all of its output: less {}", shell_words::quote(&self.failed.output)),
        };
        let _ = write!(text, "\nNext, {}", next.map_or_else(see, str::to_owned));
        text
    }
}

/// Leaves a message for each claiming session of a unit, else for those of its lane.
pub(super) fn tell_workers(tx: &WriteTx<'_>, unit: &Unit, landing: i64, text: &str) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    tell_workers_once(tx, unit, &format!("landing {landing}"), text, &metadata)
}

/// Like [`tell_workers`], for a message that no landing is about. `key` names what it tells.
pub(super) fn tell_workers_once(tx: &WriteTx<'_>, unit: &Unit, key: &str, text: &str, metadata: &Value) -> Result<()> {
    let claims = unit.members.iter().filter_map(|member| member.task.state.claim());
    let sessions = claims.filter_map(|claim| claim.session.as_ref());
    send_to_workers(tx, sessions, unit.lane_name(), (LAND_SOURCE, Priority::Normal), text, metadata, key)
}

/// Leaves a message for the live sessions in the lane of landed work with which the unit fails.
pub(super) fn tell_other(
    tx: &WriteTx<'_>,
    unit: &Unit,
    landing: i64,
    failed: &FailedLandCheck,
    other: &LandedWork,
) -> Result<()> {
    let Some(lane) = other.lane.as_ref().filter(|lane| unit.lane_name() != Some(lane)) else { return Ok(()) };
    let (label, base, check) = (unit.label(), &unit.base, &failed.check);
    let see = match unit.lane_name() {
        Some(own) => format!("fairway lane diff {own}"),
        None => format!("git diff {base}...{}", commit_id::short(&unit.commit)),
    };
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    for session in sessions::live(tx)?.iter().filter(|one| one.lane.as_ref() == Some(lane)) {
        let text = format!(
            "The work of your lane {lane} landed in {base} as {}. {label} was sent back: together they fail the check \
             '{check}'.\nWhat was run on {label}: {}.\nSee it: {see}",
            commit_id::short(&other.commit),
            failed.other_runs()
        );
        let key = format!("landing {landing} with {}", session.id);
        let (to, by) = (Recipient::Session(session.id.clone()), (LAND_SOURCE, Priority::Normal));
        send_system(tx, &to, by, text, &metadata, &key)?;
    }
    Ok(())
}
