//! Answers an approval: by the hook that waits for it, else in the dialog of the agent's program, where its shape is recorded.

use std::cell::Cell;

use anyhow::Result;

use super::request::{self, Waits, find, find_now, mark_answered, mark_busy};
use crate::core::approval_state::{self, LASTS, event};
use crate::core::inside_session::{self, CallPlace};
use crate::core::lookup;
use crate::sessions::control::dialog::{self, RecordedDialogs};
use crate::sessions::control::{answer_lock, running_session};
use crate::{Answer, App};
use fairway_core::config::{DialogProfile, Permission};
use fairway_core::domain::approval::{Approval, ApprovalStatus, Decision};
use fairway_core::domain::rules::screen_dialog::Dialog;
use fairway_core::domain::{EventKind, Refusal, text_limits};
use fairway_core::store::{WriteTx, approvals};
use fairway_core::wire::{ApprovalView, tool_input};

/// Answers a pending approval: `pending` → `allowed` or `denied`, and marks the session busy. This wakes the hook that waits
/// for the answer. Where no hook waits, the choice is typed into the agent's dialog, if the layout of the dialog is recorded
/// and it shows exactly this call. A repeated answer changes nothing. With `lasts`, the answer chooses the agent's option that
/// also covers further calls; without it an agent that offers no other is refused. The asking session itself may not answer; inside a session, only the roles of the trusted
/// `answer` may.
///
/// # Errors
/// `inside_session`, `not_found`, `already_answered`, `approval_lapsed`, `not_answerable`, `own_approval`; `usage` for a lasting
/// answer where the agent asks through a hook.
pub fn answer(app: &App, id: i64, decision: Decision, lasts: bool, reason: Option<&str>) -> Result<Answer> {
    let reason = reason.map(|reason| text_limits::check_line("reason", reason)).transpose()?;
    let asked = app.read(|tx| find_now(app, tx, id))?;
    let asking = &asked.session;
    let is_own = app.actor.session.as_ref() == Some(asking);
    if !is_own {
        if inside_session::place(app) == CallPlace::Inside(Some(asking.clone())) {
            return Err(Refusal::SelfApproval { id, session: asking.clone() }.into());
        }
        inside_session::refuse_unless_permitted(app, "approvals answer", Permission::Answer)?;
    }
    if lasts && !app.read(|tx| lookup::session(tx, asking))?.is_structured() {
        let why = format!("--always is for the agent of a structured session; {asking} is in a terminal");
        return Err(Refusal::Usage { why }.into());
    }
    if !is_own && asked.status == ApprovalStatus::Pending && !asked.answerable {
        let session = app.read(|tx| lookup::session(tx, asking))?;
        if let Some(profile) = RecordedDialogs::of(app, &session).permission {
            return in_dialog(app, &asked, &profile, decision, reason.as_deref());
        }
    }
    app.mutate(|tx| {
        let approval = find_now(app, tx, id)?;
        let status = decision.status();
        if !approval.answerable_by(app.actor.session.as_ref(), decision)? {
            let line = format!("unchanged: approval {id} is {status} already");
            return Answer::new(&ApprovalView::from(&approval), id, line);
        }
        let gap = approval_state::offers(tx, &approval)?.gap(id, lasts).filter(|_| decision == Decision::Allow);
        if let Some((why, hint)) = gap {
            return Err(Refusal::Unanswerable { item: format!("approval {id}"), why: why.to_owned(), hint }.into());
        }
        let approval = resolve(tx, approval, decision, lasts, reason.as_deref())?;
        mark_busy(tx, &approval)?;
        let line = format!("{status} {} of {}", approval.tool, approval.session);
        Answer::new(&ApprovalView::from(&approval), id, line)
    })
}

fn resolve(
    tx: &WriteTx<'_>,
    approval: Approval,
    decision: Decision,
    lasts: bool,
    reason: Option<&str>,
) -> Result<Approval> {
    let approval = approvals::resolve(tx, approval, decision.status(), reason)?;
    tx.record(
        &event(EventKind::ApprovalAnswered, &approval)
            .with("answer", approval.status.as_str())
            .with("by", approval.answered_by.as_deref())
            .with(LASTS, lasts.then_some(true))
            .with("reason", reason),
    )?;
    Ok(approval)
}

/// Answers in the dialog on the agent's screen.
fn in_dialog(
    app: &App,
    asked: &Approval,
    profile: &DialogProfile,
    decision: Decision,
    reason: Option<&str>,
) -> Result<Answer> {
    let id = asked.id;
    let refused = |why: String| Refusal::NotAnswerable { id, session: asked.session.clone(), why };
    let _alone = answer_lock::acquire(app)?.ok_or_else(|| refused("another answer is on its way".to_owned()))?;
    let (number, word) = (id.to_string(), decision.as_str());
    let words = ["approvals", "answer", &number, word];
    let choose = |shown: &Dialog| {
        let subject = tool_input::exact_command(&asked.input);
        let subject = subject.ok_or("its dialog does not show the whole call as it is stored")?;
        if !shown.is_about(&subject) {
            return Err("its screen shows another dialog".to_owned());
        }
        let texts = match decision {
            Decision::Allow => &profile.allow,
            Decision::Deny => &profile.deny,
        };
        let number = shown.number_of(texts.as_deref().unwrap_or_default());
        number.ok_or_else(|| format!("its dialog has no choice that is recorded as {word}"))
    };
    let is_recorded = Cell::new(false);
    // Before the key: the agent goes on at once, and its hook would let the request lapse.
    let record = || -> Result<()> {
        app.transaction(|tx| {
            let approval = find(tx, id)?;
            approval.check_pending()?;
            let approval = resolve(tx, approval, decision, false, reason)?;
            mark_answered(tx, &approval)
        })?;
        is_recorded.set(true);
        Ok(())
    };
    let act = |live: &running_session::RunningSession| -> Result<()> {
        let why = match dialog::take(live, profile, choose, record) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(error) if !is_recorded.get() => return Err(error),
            Err(error) => format!("{error:#}"),
        };
        if !is_recorded.get() {
            return Err(refused(why).into());
        }
        // The agent asks still: that is another request.
        let input = serde_json::from_str(&asked.input).unwrap_or_default();
        let (again, _) = request::request(app, &live.session, &asked.provider, &asked.tool, &input, Waits::Elsewhere)?;
        Err(refused(format!("{why}; the request is approval {again} now")).into())
    };
    running_session::run_once(app, &asked.session, &words, act, |tx, _, note| {
        let approval = find(tx, id)?;
        let line = format!("{} {} of {}, in its dialog", approval.status, approval.tool, approval.session);
        let mut answer = Answer::new(&ApprovalView::from(&approval), id, line)?;
        answer.notes.extend(note);
        answer.notes.extend(reason.map(|_| "the agent does not see the reason: its dialog takes none".to_owned()));
        Ok(answer)
    })
}
