//! Budgets: what is used of each, the pause of a session at the end of its turn, and the raise by a person.

use anyhow::Result;

use super::prompt;
use crate::core::{inside_session, lookup, session_events};
use crate::mail::send;
use crate::{Answer, App};
use fairway_core::domain::budget::{self, Amount, Budget, BudgetKind, BudgetState};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Activity, NO_END, Session};
use fairway_core::domain::{Event, EventKind, Refusal, SessionId, TaskId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx, messages, overview, sessions, usage};
use fairway_core::wire::BudgetView;

/// The source of the messages about a budget.
const SOURCE: &str = "budget";

/// Every budget with what is used of it: those of open tasks and live sessions that have used anything, and that of the day.
pub fn list(app: &App) -> Result<Vec<Budget>> {
    let mut found = app.read(|tx| in_force(app, tx, app.env.now()))?;
    found.sort_by_key(|budget| (budget.kind as usize, -budget.percent()));
    Ok(found)
}

/// The budgets of which something is used, each with the cap that holds now.
fn in_force(app: &App, tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Budget>> {
    let mut found = Vec::new();
    for kind in BudgetKind::ALL {
        let Some(cap) = app.settings.budgets.cap(*kind) else { continue };
        let since = if *kind == BudgetKind::Day { now.start_of_day() } else { Timestamp::from_millis(0) };
        let raised = usage::raised_caps(tx, *kind)?;
        for (of, used) in usage::used(tx, *kind, since)? {
            let of = of.unwrap_or_else(|| budget::day(now));
            let cap = raised.get(&of).copied().unwrap_or(cap);
            found.push(Budget { kind: *kind, of, cap, used });
        }
    }
    Ok(found)
}

/// The budgets that are nearly or completely used, or cannot hold.
pub(crate) fn used_up(app: &App, tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Budget>> {
    let mut found = in_force(app, tx, now)?;
    found.retain(|budget| budget.state() != BudgetState::Free);
    Ok(found)
}

/// The budgets of which all is used.
pub(crate) fn spent(app: &App) -> Result<Vec<Budget>> {
    let mut found = app.read(|tx| used_up(app, tx, app.env.now()))?;
    found.retain(|one| one.state() == BudgetState::Spent);
    Ok(found)
}

/// The refusal of a start on a task that a spent budget forbids: its own, or that of the day. `what` does not happen then.
pub(crate) fn refusal_of_start(spent: &[Budget], task: Option<&TaskId>, what: &str) -> Option<Refusal> {
    spent.iter().find(|one| is_about(one, None, task.as_slice())).map(|budget| refusal(budget, what))
}

/// Fails with `budget_spent` when a spent budget forbids a start.
pub(super) fn check_start(app: &App, task: Option<&TaskId>, what: &str) -> Result<()> {
    refusal_of_start(&spent(app)?, task, what).map_or(Ok(()), |refusal| Err(refusal.into()))
}

fn refusal(budget: &Budget, what: &str) -> Refusal {
    Refusal::BudgetSpent { what: format!("{what}: {}", budget.sentence()), raise: budget.raise() }
}

fn is_about(budget: &Budget, session: Option<&SessionId>, tasks: &[&TaskId]) -> bool {
    match budget.kind {
        BudgetKind::Task => tasks.iter().any(|task| task.as_str() == budget.of),
        BudgetKind::Session => session.is_some_and(|id| id.as_str() == budget.of),
        BudgetKind::Day => true,
    }
}

/// The budgets of a session that are nearly or completely used: its own, those of its claimed tasks and that of the day.
fn of_session(app: &App, tx: &ReadTx<'_>, session: &Session) -> Result<Vec<Budget>> {
    let held = overview::held(tx)?;
    let own = held.iter().filter(|held| held.session.as_ref() == Some(&session.id));
    let tasks: Vec<&TaskId> = own.map(|held| &held.task).collect();
    let mut found = used_up(app, tx, app.env.now())?;
    found.retain(|one| is_about(one, Some(&session.id), &tasks));
    Ok(found)
}

/// Called when usage was stored. Pauses a session that is in no turn when one of its budgets is spent, and tells it once of one
/// that is nearly so.
pub(crate) fn settle(app: &App, tx: &WriteTx<'_>, id: &SessionId) -> Result<()> {
    if BudgetKind::ALL.iter().all(|kind| app.settings.budgets.cap(*kind).is_none()) {
        return Ok(());
    }
    let session = lookup::session(tx, id)?;
    if session.status.is_final() || session.activity == Activity::Busy || session.is_paused(tx.now()) {
        return Ok(());
    }
    let budgets = of_session(app, tx, &session)?;
    if let Some(spent) = budgets.iter().find(|one| one.state() == BudgetState::Spent) {
        let until = if spent.kind == BudgetKind::Day { tx.now().start_of_day().plus(budget::DAY) } else { NO_END };
        let why = spent.pause_cause();
        return session_events::apply(tx, &session, &SessionEvent::Parked { until, why: &why }).map(drop);
    }
    for near in budgets.iter().filter(|one| one.state() == BudgetState::Near) {
        let key = format!("{SOURCE} {} {} {}", near.kind, near.of, near.cap);
        if messages::with_dedup_key(tx, &key)?.is_empty() {
            let text = format!(
                "{}. When all of it is used, you are paused at the end of your turn. Finish what is nearly done, or record \
                 the state and the next step:\nfairway note 'STATE AND NEXT STEP'",
                near.sentence()
            );
            send::tell(tx, &session.id, SOURCE, text, &key)?;
        }
    }
    Ok(())
}

/// Refuses the end of a pause while a budget of the session is spent.
/// Fails with `budget_spent`.
pub(super) fn check_unpark(app: &App, tx: &ReadTx<'_>, session: &Session) -> Result<()> {
    let budgets = of_session(app, tx, session)?;
    let spent = budgets.iter().find(|one| one.state() == BudgetState::Spent);
    let what = || format!("the session {} stays paused", session.id);
    spent.map_or(Ok(()), |budget| Err(refusal(budget, &what()).into()))
}

/// Raises the cap of a task, a session or, by `day`, of today, and lets the sessions go on that it has paused.
///
/// # Errors
/// `inside_session`; `not_found`; `invalid_value` when `[budgets]` has no cap of this kind, and for an amount that is used already.
pub fn raise(app: &App, subject: &str, cap: Amount, reason: &str) -> Result<Answer> {
    inside_session::refuse(app, "budget raise")?;
    let reason = text_limits::check_line("reason", reason)?;
    let mut freed = Vec::new();
    let answer = app.mutate(|tx| {
        let (kind, of) = subject_of(tx, subject)?;
        if app.settings.budgets.cap(kind).is_none() {
            return Err(Refusal::invalid("budget", format!("budgets.{kind} is not set")).into());
        }
        let known = in_force(app, tx, tx.now())?.into_iter().find(|one| one.kind == kind && one.of == of);
        let used = known.map(|budget| budget.used).unwrap_or_default();
        let budget = Budget { kind, of, cap, used };
        if budget.state() == BudgetState::Spent {
            return Err(Refusal::CapUsed { cap, why: budget.sentence(), raise: budget.raise() }.into());
        }
        usage::raise_cap(tx, kind, &budget.of, cap)?;
        let event = Event::new(EventKind::BudgetRaised);
        let event = if kind == BudgetKind::Task { event.task(&TaskId::parse(&budget.of)?) } else { event };
        let event = event.with("budget", kind.as_str()).with("of", budget.of.as_str()).with("cap", cap.to_string());
        tx.record(&event.with("reason", reason.as_str()))?;
        let why = Some(budget.pause_cause());
        for session in sessions::live(tx)?.into_iter().filter(|one| one.parked_why == why) {
            if session.is_paused(tx.now()) && check_unpark(app, tx, &session).is_ok() {
                let session = session_events::apply(tx, &session, &SessionEvent::Unparked)?;
                let text = format!("the budget was raised to {cap}: go on where you stopped");
                send::tell(
                    tx,
                    &session.id,
                    SOURCE,
                    text,
                    &format!("{SOURCE} {} {}", session.run_id, tx.now().millis()),
                )?;
                freed.push(session.id);
            }
        }
        let line = format!("the budget of {} is {cap}", budget.subject());
        Answer::new(&BudgetView::from(&budget), &budget.of, line)
    })?;
    Ok(freed.iter().filter_map(|id| prompt::try_deliver(app, id)).fold(answer, Answer::note))
}

fn subject_of(tx: &WriteTx<'_>, subject: &str) -> Result<(BudgetKind, String)> {
    if subject == BudgetKind::Day.as_str() {
        return Ok((BudgetKind::Day, budget::day(tx.now())));
    }
    let session = SessionId::parse(subject).ok().map(|id| sessions::find(tx, &id)).transpose()?.flatten();
    match session {
        Some(session) => Ok((BudgetKind::Session, session.id.to_string())),
        None => Ok((BudgetKind::Task, lookup::task(tx, &TaskId::parse(subject)?)?.id.to_string())),
    }
}
