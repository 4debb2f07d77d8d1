//! Gives up another host that will not come back: its sessions, their claims and its jobs, in one transaction. Fairway cannot
//! stop or check processes there. It takes the caller's word that they are over, but only once the host is silent.

use anyhow::Result;

use super::hosts::{self, KnownHost};
use crate::core::last_heard::{LastHeard, Subject};
use crate::core::{inside_session, message_state, session_events};
use crate::jobs::{finish, queue_waiter, scheduler};
use crate::queue::task::release;
use crate::{Answer, App};
use fairway_core::domain::ended_by::GIVEN_UP_REASON;
use fairway_core::domain::job::{JobResult, JobStatus};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{Event, EventKind, plural, text_limits};
use fairway_core::os::git::{Git, Repository};
use fairway_core::os::host::HostIdentity;
use fairway_core::store::{WriteTx, jobs, lanes, sessions};
use fairway_core::supervisor::JobDir;
use fairway_core::wire::{HostRetiredView, RetiredLaneView};

/// Records the sessions of another host as failed and its jobs as lost, and releases the claims of its sessions. Work in
/// review stays. Lanes whose worktree is on that host stay too; the answer lists them, and says for each whether a remote had
/// its branch when this host last fetched. `name` is the host's id or name.
///
/// # Errors
/// `not_found`, `ambiguous`; `host_alive` for this host, and without `force` while the other host still reports;
/// `inside_session`, `not_confirmed`.
pub fn retire(app: &App, name: &str, reason: &str, force: bool) -> Result<Answer> {
    inside_session::refuse(app, "host retire")?;
    text_limits::check_line("reason", reason)?;
    let remote = remote_branches(app);
    let answer = app.mutate(|tx| {
        let found = hosts::find_other(tx, name)?;
        let why = last_word(app, tx, &found, reason, force)?;
        let host = found.identity();
        let is_there = |session: &Session| host.owns(&session.host, session.host_id.as_deref());
        let mut document = HostRetiredView::new(found.id.clone(), found.name.clone(), why.clone());
        let released = release::release_where(tx, &is_there, &why)?;
        document.released = released.ids().to_vec();
        let (mut notes, mut unread) = (released.into_notes(), Vec::new());
        for session in sessions::live(tx)?.iter().filter(|session| is_there(session)) {
            unread.extend(message_state::unread_of(tx, &session.id)?);
            session_events::end(tx, session, SessionStatus::Failed, None, Some(&why))?;
            document.sessions.push(session.id.to_string());
        }
        for job in jobs::active(tx)?.iter().filter(|job| host.owns(&job.host, job.host_id.as_deref())) {
            // A container of this machine may share the directory; a locked job there still has a supervisor.
            if JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true) {
                notes.push(format!("the job {} stays: its supervisor works", job.id.short()));
                continue;
            }
            let result = JobResult::without_exit(JobStatus::Lost, why.as_str());
            finish::record_finished(tx, job, &result, job.output_bytes, job.truncated)?;
            document.jobs.push(job.id.to_string());
        }
        document.lanes = lanes_of(&lanes::all(tx)?, &host, remote.as_deref());
        tx.record(
            &Event::new(EventKind::HostRetired)
                .with("host", found.name.as_str())
                .with("host_id", found.id.as_deref())
                .with("reason", why.as_str())
                .with("sessions", document.sessions.clone())
                .with("released", document.released.clone())
                .with("jobs", document.jobs.clone()),
        )?;
        let shown = found.shown();
        notes.extend(document.lanes.iter().map(|lane| lane_note(lane, &shown)));
        notes.extend(message_state::undelivered_note(&unread));
        let line = format!(
            "gave up {shown}: {}, {}, {}",
            plural::count(document.sessions.len(), "session"),
            plural::count(document.released.len(), "claim"),
            plural::count(document.jobs.len(), "job")
        );
        Ok(Answer::new(&document, &shown, line)?.with_notes(notes))
    })?;
    queue_waiter::wake(app);
    scheduler::schedule(app)?;
    Ok(answer)
}

/// Releases the claims of the sessions of a silent host. The sessions stay as they are.
///
/// # Errors
/// The errors of [`retire`].
pub fn release_claims(app: &App, name: &str, reason: Option<&str>, force: bool) -> Result<Answer> {
    inside_session::refuse(app, "release --host")?;
    if let Some(reason) = reason {
        text_limits::check_line("reason", reason)?;
    }
    app.mutate(|tx| {
        let found = hosts::find_other(tx, name)?;
        refuse_recent(app, tx, &found, force, format!("fairway release --host {name} --force --reason TEXT"))?;
        let host = found.identity();
        let why = reason.map_or_else(|| format!("{} is silent", found.shown()), str::to_owned);
        let is_there = |session: &Session| host.owns(&session.host, session.host_id.as_deref());
        release::release_where(tx, &is_there, &why)?.answer("no claim of a session of that host")
    })
}

fn last_word(app: &App, tx: &WriteTx<'_>, host: &KnownHost, reason: &str, force: bool) -> Result<String> {
    let name = shell_words::quote(&host.name).into_owned();
    let command = format!("fairway host retire {name} --force --reason TEXT");
    let heard = refuse_recent(app, tx, host, force, command)?;
    Ok(heard.map_or_else(
        || format!("{GIVEN_UP_REASON}{}: {reason}", app.actor.name),
        |heard| heard.reason(app, Some(reason)),
    ))
}

fn refuse_recent(
    app: &App,
    tx: &WriteTx<'_>,
    host: &KnownHost,
    force: bool,
    command: String,
) -> Result<Option<LastHeard>> {
    // A host that only has lanes has never written to the store.
    let Some(at) = host.last_seen else { return Ok(None) };
    let heard = LastHeard::new(at, tx.now());
    let subject = Subject { name: "its sessions".into(), recorded: &host.name, there: None, force: command };
    heard.refuse_recent(app, force, subject)?;
    Ok(Some(heard))
}

/// The branches that a remote had when this checkout fetched last; `None` where that is unknown.
fn remote_branches(app: &App) -> Option<Vec<String>> {
    let repository = Repository::around(Git::new(app.env.vars(), &app.project.root)).ok()?;
    let refs = repository.git().refs_below("refs/remotes/").ok()?;
    let branch = |name: &String| Some(name.strip_prefix("refs/remotes/")?.split_once('/')?.1.to_owned());
    Some(refs.iter().filter_map(branch).collect())
}

/// The open lanes whose worktree is on a host.
fn lanes_of(all: &[Lane], host: &HostIdentity, remote: Option<&[String]>) -> Vec<RetiredLaneView> {
    let is_there = |lane: &&Lane| {
        lane.status != LaneStatus::Closed && lane.host_id.is_some() && lane.host_id.as_deref() == host.id.as_deref()
    };
    let view = |lane: &Lane| RetiredLaneView {
        lane: lane.name.to_string(),
        branch: lane.branch.clone(),
        on_remote: lane.branch.as_ref().zip(remote).map(|(branch, remote)| remote.contains(branch)),
    };
    all.iter().filter(is_there).map(view).collect()
}

fn lane_note(lane: &RetiredLaneView, host: &str) -> String {
    let RetiredLaneView { lane, branch, on_remote } = lane;
    let Some(branch) = branch else {
        return format!("the worktree of the lane {lane} is on {host}; its branch is not recorded");
    };
    match on_remote {
        Some(true) => format!("the lane {lane}: a remote has its branch {branch}, as of the last git fetch here"),
        Some(false) => {
            format!(
                "the lane {lane}: no remote has its branch {branch}, as of the last git fetch here: its work may be on {host} alone"
            )
        }
        None => format!("the lane {lane}: whether a remote has its branch {branch} is unknown here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_is_named_with_what_is_known_of_its_branch() {
        let lane = |branch: Option<&str>, on_remote| RetiredLaneView {
            lane: "ui".into(),
            branch: branch.map(str::to_owned),
            on_remote,
        };
        assert!(lane_note(&lane(Some("l/ui"), Some(true)), "c").contains("a remote has its branch l/ui"));
        assert!(lane_note(&lane(Some("l/ui"), Some(false)), "c").ends_with("may be on c alone"));
        assert!(lane_note(&lane(Some("l/ui"), None), "c").contains("unknown"));
        assert!(lane_note(&lane(None, None), "c").contains("not recorded"));
    }
}
