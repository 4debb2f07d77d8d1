//! Reminders: a session that has stopped is told once more what its task still needs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::list;
use super::prompt::{self, NewPrompt};
use super::report::turn_end;
use crate::core::session_overview;
use crate::mail::send;
use crate::sessions::prompt::DEFAULT_SOURCE;
use crate::{Answer, App};
use fairway_core::domain::ended_turn::{EndedTurn, TurnEnd};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Priority, REMINDER_SOURCE, Recipient};
use fairway_core::domain::rules::turn_end::may_remind;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, Refusal, SessionId};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::git::Git;
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, overview, sessions};

/// The member of the event that tells apart states of the work.
const WORK: &str = "work";

/// Queues a reminder for a session whose turn has just ended, if it has stopped, `agents.continue` allows one more, and the
/// session has made progress since the last one. The hooks or the protocol deliver it; it is never typed.
pub(crate) fn remind(app: &App, session: &Session) -> Result<()> {
    let most = app.settings.agents.r#continue;
    if most == 0 {
        return Ok(());
    }
    let Some(ended) = app.read(|tx| ended_turn(app, tx, session))? else { return Ok(()) };
    if !may_remind(&ended, most, true) {
        return Ok(());
    }
    // Git is asked outside of a transaction.
    let work = state_of_work(app, session);
    app.transaction(|tx| {
        let Some(now) = ended_turn(app, tx, session)?.filter(|now| now.task == ended.task) else { return Ok(()) };
        let has_progress = match last_reminder(tx, session, &now)? {
            Some(last) => last.data[WORK].as_str() != work.as_deref() || has_record_since(tx, &now, last.seq)?,
            None => true,
        };
        if !may_remind(&now, most, has_progress) {
            return Ok(());
        }
        let times = now.told + 1;
        let key = format!("{REMINDER_SOURCE} {} {} {times}", session.run_id, now.task);
        let metadata = json!({ "from": "fairway", "task_id": now.task.as_str() });
        let to = Recipient::Session(session.id.clone());
        if send::send_system(tx, &to, (REMINDER_SOURCE, Priority::System), text(&now), &metadata, &key)? {
            let event = Event::new(EventKind::SessionReminded)
                .task(&now.task)
                .session(&session.id, &session.run_id)
                .lane(session.lane.as_ref())
                .with("epoch", now.epoch)
                .with("times", times)
                .with(WORK, work.clone());
            tx.record(&event)?;
        }
        Ok(())
    })
}

/// Sends a reminder to a stopped session on a person's behalf. It does not count for `agents.continue`.
///
/// # Errors
/// `not_found`; `session_not_stopped`.
pub fn continue_session(app: &App, id: &SessionId) -> Result<Answer> {
    let (one, ..) = list::show(app, id)?;
    let ended = match one.ended_turn() {
        Some(ended) if ended.meaning.is_stop() => ended,
        other => {
            let why = match other {
                Some(ended) => ended.sentence(),
                None if one.holds.is_empty() => "it has claimed no task".to_owned(),
                None => format!("it is {}", one.current_activity().map_or(one.shown_status(), |now| now.as_str())),
            };
            return Err(Refusal::SessionNotStopped { session: id.clone(), why }.into());
        }
    };
    let prompt = NewPrompt {
        to: id.clone(),
        content: text(ended),
        priority: Priority::Normal,
        source: Label::parse(DEFAULT_SOURCE)?,
        metadata: None,
        dedup: None,
        ttl: None,
    };
    Ok(prompt::deliver_sent(app, id, prompt::send(app, &prompt)?))
}

fn ended_turn(app: &App, tx: &ReadTx<'_>, session: &Session) -> Result<Option<EndedTurn>> {
    let Some(row) = sessions::find(tx, &session.id)? else { return Ok(None) };
    let mut judged = session_overview::with_facts(tx, vec![row], &overview::held(tx)?)?;
    turn_end::judge(app, tx, &mut judged)?;
    Ok(judged.first().and_then(|one| one.ended_turn().cloned()))
}

/// The newest reminder of this claim.
fn last_reminder(tx: &ReadTx<'_>, session: &Session, ended: &EndedTurn) -> Result<Option<LoggedEvent>> {
    Ok(turn_end::last_reminder(tx, &session.id, &ended.task, ended.epoch)?)
}

/// Whether something about the task was recorded since this event.
fn has_record_since(tx: &ReadTx<'_>, ended: &EndedTurn, seq: i64) -> Result<bool> {
    let is_progress = |kind| matches!(kind, EventKind::CheckpointRecorded | EventKind::EvidenceRecorded);
    Ok(events::newest_of(tx, &ended.task, is_progress)?.is_some_and(|newest| newest.seq > seq))
}

/// A digest of the commit and the changed files in the session's worktree, or else in the project; `None` when git does not tell.
fn state_of_work(app: &App, session: &Session) -> Option<String> {
    let worktree = session.worktree.as_deref().map_or(app.project.root.as_path(), Path::new);
    let git = Git::new(app.env.vars(), worktree);
    let mut state = git.head()?;
    for change in git.changes().ok()? {
        // Behind the two letters of the state and a space.
        let file = change.get(3..).and_then(|path| fs::symlink_metadata(worktree.join(path)).ok());
        let time = file.and_then(|file| Some((file.len(), file.modified().ok()?)));
        let _ = writeln!(state, "{change} {time:?}");
    }
    Some(sha256_hex(state.as_bytes()))
}

fn text(ended: &EndedTurn) -> String {
    let task = &ended.task;
    let mut text = format!("your turn has ended, and {task} is not handed in.");
    if let TurnEnd::Stopped(blockers) = &ended.meaning {
        text.push_str(" It still needs:\n");
        for blocker in blockers {
            let _ = writeln!(text, "- {}: {}", blocker.message, blocker.fix);
        }
    } else {
        text.push('\n');
    }
    let _ = write!(
        text,
        "Go on where you stopped. When the work is complete: fairway task submit {task}\n\
         When a person must decide: fairway checkpoint record {task} --state awaiting_input --summary \"...\"\n\
         When you cannot continue: fairway task block {task} --reason \"...\""
    );
    text
}
