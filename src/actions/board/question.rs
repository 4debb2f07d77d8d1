//! Questions of live sessions.

use super::{facts::Facts, need::Need};
use crate::{
    actions::{
        App,
        sessions::{control::dialog::RecordedDialogs, prompt::listener},
    },
    domain::{
        SessionId,
        need::NeedKind,
        question::QuestionId,
        rules::{
            dialog,
            open_question::{AnswerWay, answer_way},
        },
        session::HOOK_SOURCE,
        session_facts::SessionOverview,
    },
};

/// An item for each session that requires action, unless an approval made it do so: that has an item of its own while it is
/// pending, and once it is answered its hook has not reported back yet. And one for each other task whose
/// newest written checkpoint awaits input.
pub(super) fn items(app: &App, facts: &Facts) -> Vec<Need> {
    let asks_approval = |id: &SessionId| facts.approvals.iter().any(|approval| approval.session == *id);
    let mut items: Vec<Need> = facts
        .sessions
        .iter()
        .filter(|one| !asks_approval(&one.session.id))
        .filter_map(|one| of_session(app, one))
        .collect();
    for (session, task, checkpoint) in &facts.questions {
        let Some(one) = facts.session(session).filter(|one| one.waiting_for().is_none()) else { continue };
        let evidence = format!("checkpoint {}, awaiting_input", checkpoint.id);
        let id = QuestionId::checkpoint(session.clone(), checkpoint.id);
        let need = Need::new(NeedKind::Question, &id.key(), Some(checkpoint.at), checkpoint.summary.clone(), evidence);
        items.push(in_window(by_text(need.session(one).task(task), &id), one));
    }
    items
}

/// The item of a session that asks by its activity.
fn of_session(app: &App, one: &SessionOverview) -> Option<Need> {
    let question = one.waiting_for()?;
    let session = &one.session;
    let way = answer_way(session);
    if way == AnswerWay::Approval {
        return None;
    }
    let source = session.activity_source.as_deref().unwrap_or("session");
    let evidence = format!("activity requires_action, reported by {source}");
    let id = QuestionId::activity(session.id.clone(), session.questions);
    let need =
        Need::new(NeedKind::Question, &id.key(), session.activity_at, question.to_owned(), evidence).session(one);
    let need = one.holds.first().into_iter().fold(need, |need, held| need.task(&held.task));
    let is_choice = way == AnswerWay::Window
        && source == HOOK_SOURCE
        && RecordedDialogs::of(app, session).choice.is_some()
        && dialog::has_choices(question);
    if is_choice {
        return Some(in_window(need.then("choose by number or words", format!("fairway answer {id} TEXT")), one));
    }
    let takes_text = way == AnswerWay::Text
        && (session.adapter_script.is_some() || listener::has_kind(app, &session.id, listener::ListenerKind::Stream));
    Some(match (takes_text, session.adapter_script.is_some()) {
        (true, _) => in_window(by_text(need, &id), one),
        (false, true) => in_window(need, one),
        (false, false) => {
            need.then("see where it runs, and answer it there", format!("fairway session show {}", session.id))
        }
    })
}

fn by_text(need: Need, id: &QuestionId) -> Need {
    need.then("answer it", format!("fairway answer {id} TEXT"))
}

fn in_window(need: Need, one: &SessionOverview) -> Need {
    if one.session.adapter_script.is_none() {
        return need;
    }
    need.then("answer it in its own window", format!("fairway session attach {}", one.session.id))
}
