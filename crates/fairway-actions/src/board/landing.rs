//! Landings that need a person: a pause, bases that fail a check or a preparation alone, and work that was sent back.

use super::facts::Facts;
use super::need::Need;
use super::sent_back::SentBack;
use crate::land::LandPause;
use fairway_core::domain::commit_id;
use fairway_core::domain::landing::Landing;
use fairway_core::domain::need::NeedKind;

/// Items for a pause of landing, for each base in which nothing lands, and for each landing that sent work back.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let paused = facts.paused.iter().map(of_pause);
    paused
        .chain(facts.stopped.iter().map(of_stopped))
        .chain(facts.sent_back.iter().filter_map(|one| of_sent_back(facts, one)))
        .collect()
}

fn of_pause(pause: &LandPause) -> Need {
    let why = pause.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let line = format!("landing is paused by {}{why}", pause.by);
    let evidence = "nothing lands on this host until it is resumed".to_owned();
    Need::new(NeedKind::Landing, "pause", Some(pause.since()), line, evidence)
        .then("resume it", "fairway land resume".to_owned())
}

fn of_stopped(one: &Landing) -> Need {
    let commit = commit_id::short(&one.commit);
    let evidence = format!("landing {} at {commit}", one.id);
    let line = one.error.clone().unwrap_or_else(|| format!("nothing lands in {}", one.base));
    Need::new(NeedKind::Landing, &one.id.to_string(), Some(one.started_at), line, evidence)
        .then("land again when it is mended", "fairway land --queue".to_owned())
}

fn of_sent_back(facts: &Facts, SentBack { landing, released }: &SentBack) -> Option<Need> {
    let (first, _) = landing.tasks.first()?;
    let task = released.as_ref().unwrap_or(first);
    let ids: Vec<&str> = landing.tasks.iter().map(|(task, _)| task.as_str()).collect();
    let why = landing.error.as_deref().unwrap_or("it did not land");
    let unclaimed = if released.is_some() { " and unclaimed" } else { "" };
    let line = format!("{} sent back{unclaimed}: {why}", ids.join(", "));
    let evidence =
        format!("landing {} of commit {} into {}", landing.id, commit_id::short(&landing.commit), landing.base);
    let key = landing.id.to_string();
    let held = facts.held.iter().find(|held| held.task == *task);
    let lane = landing.lane.as_ref().or_else(|| held?.lane.as_ref());
    let need = Need::new(NeedKind::Landing, &key, landing.ended_at, line, evidence).task(task).lane(lane);
    let worker = held.and_then(|held| facts.session(held.session.as_ref()?)).filter(|one| !one.is_over());
    let need = match worker {
        Some(one) => need.session(one).then("tell it what to do", format!("fairway prompt {} TEXT", one.session.id)),
        None => need,
    };
    let need = match released {
        Some(task) => need.then("start an agent on it", format!("fairway start {task}")),
        None => need,
    };
    let need = match lane {
        Some(lane) => need.then("see the changes", format!("fairway lane diff {lane}")),
        None => need,
    };
    Some(match held {
        _ if released.is_some() => need,
        Some(_) => need.then("submit it again, once it is mended", format!("fairway task submit {task}")),
        None => need.then("land it again, once it is mended", format!("fairway land {task}")),
    })
}
