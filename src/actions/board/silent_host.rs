//! Other hosts that have not been heard of for `sessions.stale_after`, and on which something is recorded as at work.

use std::time::Duration;

use super::{facts::Facts, need::Need};
use crate::{
    actions::{App, board::silent_hosts},
    config::StaleAfter,
    domain::{age, need::NeedKind, other_host::OtherHost, plural, session_facts::SessionOverview},
    env::Timestamp,
    os::host,
    store::hosts::Host,
};

/// So many sessions of a silent host are offered to be brought here.
const MAX_MOVABLE: usize = 3;

/// An item for each silent host with open sessions, claims of sessions or active jobs.
pub(super) fn items(app: &App, facts: &Facts) -> Vec<Need> {
    let StaleAfter::After(limit) = app.settings.sessions.stale_after else { return Vec::new() };
    let silent = facts.hosts.iter().filter(|host| silent_hosts::silence(app, host) > limit);
    silent.filter_map(|host| item(facts, host, limit)).collect()
}

/// The host of a session, when that is another one.
pub(super) fn of_session(facts: &Facts, id: &str) -> Option<OtherHost> {
    let session = &facts.sessions.iter().find(|one| one.session.id.as_str() == id)?.session;
    if host::identity().owns(&session.host, session.host_id.as_deref()) {
        return None;
    }
    // A renamed host is reached under its new name.
    let known = facts.hosts.iter().find(|host| host.id.is_some() && host.id == session.host_id);
    let (name, root) = known.map_or((&session.host, None), |known| (&known.name, known.root.clone()));
    Some(OtherHost::new(name, &host::name(), root))
}

/// When the next host becomes silent, if nothing more is heard of it.
pub(super) fn deadline(app: &App, facts: &Facts) -> Option<Timestamp> {
    let StaleAfter::After(limit) = app.settings.sessions.stale_after else { return None };
    let left = |host: &Host| (limit + Duration::from_millis(1)).checked_sub(silent_hosts::silence(app, host));
    let used = facts.hosts.iter().filter(|host| Use::of(facts, host).is_some());
    used.filter_map(left).min().map(|left| facts.now.plus(left))
}

fn item(facts: &Facts, host: &Host, limit: Duration) -> Option<Need> {
    let used = Use::of(facts, host)?;
    let name = OtherHost::new(&host.name, &host::name(), None).name;
    let key = host.id.as_deref().unwrap_or(&host.name);
    let line = format!("{name} was not heard of for more than {}: {}", age::rough(limit), used.text());
    let evidence = format!("the last look or change by {name}; only that host can prove that a program of it is gone");
    let argument = shell_words::quote(&host.name).into_owned();
    let is_there = |one: &&SessionOverview| host.id.is_some() && one.session.host_id == host.id;
    let movable = facts.sessions.iter().filter(is_there).filter(|one| !one.holds.is_empty() && one.can_relaunch);
    let need = Need::new(NeedKind::HostSilent, key, Some(host.last_seen), line, evidence)
        .then("give it up, if it is gone", format!("fairway host retire {argument} --reason TEXT"))
        .then("release its claims", format!("fairway release --host {argument}"))
        .then("see the hosts", "fairway host list".to_owned());
    Some(movable.take(MAX_MOVABLE).fold(need, |need, one| {
        let id = &one.session.id;
        need.then(&format!("bring the work of {id} here"), format!("fairway session relaunch {id} --here"))
    }))
}

/// What is recorded as at work on a host.
struct Use {
    sessions: usize,
    claims: usize,
    jobs: usize,
}

impl Use {
    fn of(facts: &Facts, host: &Host) -> Option<Self> {
        let is_there = |id: Option<&String>| id.is_some() && id == host.id.as_ref();
        let there = || facts.sessions.iter().filter(|one| is_there(one.session.host_id.as_ref()));
        let used = Self {
            sessions: there().filter(|one| !one.is_over()).count(),
            claims: there().map(|one| one.holds.len()).sum(),
            jobs: facts.active_jobs.iter().filter(|job| is_there(job.host_id.as_ref())).count(),
        };
        (used.sessions + used.claims + used.jobs > 0).then_some(used)
    }

    fn text(&self) -> String {
        let counts = [(self.sessions, "session"), (self.claims, "claim"), (self.jobs, "job")];
        counts.map(|(number, noun)| plural::count(number, noun)).join(", ")
    }
}
