//! Questions of live sessions.

use super::{facts::Facts, need::Need};
use crate::actions::boundary::approval;
use crate::domain::{SessionId, need::NeedKind, session_facts::SessionOverview};

/// An item for each session that requires action, unless an approval made it do so: that has an item of its own while it is
/// pending, and once it is answered its hook has not reported back yet. And one for each other task whose
/// newest written checkpoint awaits input.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let asks_approval = |id: &SessionId| facts.approvals.iter().any(|approval| approval.session == *id);
    let mut items: Vec<Need> = facts
        .sessions
        .iter()
        .filter(|one| {
            !asks_approval(&one.session.id) && one.session.activity_source.as_deref() != Some(approval::SOURCE)
        })
        .filter_map(|one| Some(of_session(one, one.waiting_for()?)))
        .collect();
    for (session, task, checkpoint) in &facts.questions {
        let Some(one) = facts.session(session).filter(|one| one.waiting_for().is_none()) else { continue };
        let evidence = format!("checkpoint {}, awaiting_input", checkpoint.id);
        let need =
            Need::new(NeedKind::Question, task.as_str(), Some(checkpoint.at), checkpoint.summary.clone(), evidence);
        items.push(answers(need.session(one).task(task), one));
    }
    items
}

fn of_session(one: &SessionOverview, question: &str) -> Need {
    let session = &one.session;
    let source = session.activity_source.as_deref().unwrap_or("session");
    let evidence = format!("activity requires_action, reported by {source}");
    let need = Need::new(NeedKind::Question, session.id.as_str(), session.activity_at, question.to_owned(), evidence)
        .session(one);
    answers(one.holds.first().into_iter().fold(need, |need, held| need.task(&held.task)), one)
}

fn answers(need: Need, one: &SessionOverview) -> Need {
    let id = &one.session.id;
    let need = if one.session.adapter_script.is_some() {
        need.then("answer it in its own window", format!("fairway session attach {id}"))
    } else {
        need
    };
    need.then("answer it with a prompt", format!("fairway prompt {id} TEXT"))
}
