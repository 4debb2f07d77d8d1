//! Answers an approval.

use anyhow::Result;

use super::common::{find, mark_busy};
use crate::{
    actions::{
        Answer, App,
        core::{
            approval_state::{LASTS, event},
            inside_session::{self, CallPlace},
            lookup,
        },
    },
    domain::{EventKind, Refusal, approval::Decision, text_limits},
    store::approvals,
    wire::ApprovalView,
};

/// Answers a pending approval: `pending` → `allowed` or `denied`. The asking session itself may not answer. The commit wakes
/// the hook that waits for it, and the session is busy at once, whether its hook still lives or not. The same answer again
/// changes nothing. An answer that `lasts` takes the option of the agent that is for further calls too. Inside a session, only
/// the roles of the trusted `[approvals] roles` may answer.
///
/// # Errors
/// `inside_session`, `not_found`, `already_answered`, `approval_lapsed`, `not_answerable`, `own_approval`; `usage` for one that lasts
/// where the agent is asked by a hook.
pub fn answer(app: &App, id: i64, decision: Decision, lasts: bool, reason: Option<&str>) -> Result<Answer> {
    let reason = reason.map(|reason| text_limits::check_line("reason", reason)).transpose()?;
    let asking = app.read(|tx| Ok(find(tx, id)?.session))?;
    let is_own = app.actor.session.as_ref() == Some(&asking);
    if !is_own {
        if inside_session::place(app) == CallPlace::Inside(Some(asking.clone())) {
            return Err(Refusal::SelfApproval { id, session: asking }.into());
        }
        inside_session::refuse_unless_role(app, "approvals answer", &app.settings.approvals.roles)?;
    }
    if lasts && !app.read(|tx| lookup::session(tx, &asking))?.is_structured() {
        let why = format!("--always is for the agent of a structured session; {asking} is in a terminal");
        return Err(Refusal::Usage { why }.into());
    }
    app.mutate(|tx| {
        let approval = find(tx, id)?;
        let status = decision.status();
        if !approval.answerable_by(app.actor.session.as_ref(), decision)? {
            let line = format!("unchanged: approval {id} is {status} already");
            return Answer::new(&ApprovalView::from(&approval), id, line);
        }
        let approval = approvals::resolve(tx, approval, status, reason.as_deref())?;
        tx.record(
            &event(EventKind::ApprovalAnswered, &approval)
                .with("answer", status.as_str())
                .with("by", approval.answered_by.as_deref())
                .with(LASTS, lasts.then_some(true))
                .with("reason", reason.as_deref()),
        )?;
        mark_busy(tx, &approval)?;
        let line = format!("{status} {} of {}", approval.tool, approval.session);
        Answer::new(&ApprovalView::from(&approval), id, line)
    })
}
