//! The questions of sessions to a person: pending approvals and open questions.

use serde_json::Value;

use super::facts::Facts;
use super::need::Need;
use crate::App;
use crate::sessions::control::dialog::RecordedDialogs;
use crate::sessions::prompt::listener;
use fairway_core::domain::SessionId;
use fairway_core::domain::approval::{Approval, Offers};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::question::QuestionId;
use fairway_core::domain::rules::open_question::{AnswerWay, answer_way};
use fairway_core::domain::rules::screen_dialog;
use fairway_core::domain::session::HOOK_SOURCE;
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::wire::tool_input;

/// Items for the pending approvals. Those of dead sessions are left out, because their provider no longer waits.
pub(super) fn pending_approvals(facts: &Facts) -> Vec<Need> {
    facts.approvals.iter().filter_map(|(approval, offers)| approval_need(facts, approval, *offers)).collect()
}

fn approval_need(facts: &Facts, approval: &Approval, offers: Offers) -> Option<Need> {
    let id = approval.id;
    let one = facts.session(&approval.session).filter(|one| !one.is_over())?;
    let input: Value = serde_json::from_str(&approval.input).unwrap_or_else(|_| Value::String(approval.input.clone()));
    let line = format!("{}: {}", approval.tool, tool_input::summary(&input));
    let evidence = format!("approval {id}, asked by {}", approval.provider);
    let need = Need::new(NeedKind::Approval, &id.to_string(), Some(approval.asked_at), line, evidence).session(one);
    let need = one.holds.first().into_iter().fold(need, |need, held| need.task(&held.task));
    let decided = |need: Need| {
        let need =
            if offers.once { need.then("allow it", format!("fairway approvals answer {id} allow")) } else { need };
        need.then("deny it", format!("fairway approvals answer {id} deny"))
    };
    Some(if approval.answerable {
        let need = decided(need);
        // Last: it is the answer with the most consequences.
        if offers.always {
            need.then("allow it always", format!("fairway approvals answer {id} allow --always"))
        } else {
            need
        }
    } else if one.session.adapter_script.is_some() {
        let need = if facts.shown_dialogs.contains(&id) { decided(need) } else { need };
        need.then("answer it in its own window", format!("fairway session attach {}", one.session.id))
    } else {
        need.then("see where it runs, and answer it there", format!("fairway session show {}", one.session.id))
    })
}

/// One item for each session that requires action, unless an approval is the reason, and for each task whose newest written
/// checkpoint awaits input while its session does not report that it waits.
pub(super) fn open_questions(app: &App, facts: &Facts) -> Vec<Need> {
    let asks_approval = |id: &SessionId| facts.approvals.iter().any(|(approval, _)| approval.session == *id);
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

/// The item of a session whose activity requires a person.
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
        && screen_dialog::has_choices(question);
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
