//! Hosts that are silent as a whole: finding them, the board's items about them, and the sessions that may be marked as stale
//! together in spite of the limit on marking many at once.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;

use super::facts::Facts;
use super::need::Need;
use crate::App;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::{age, plural};
use fairway_core::env::{Clock, Timestamp};
use fairway_core::os::host;
use fairway_core::store::hosts::{self, Host};

/// Hosts that have not been heard of for `sessions.stale_after`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SilentHosts {
    /// Silent hosts whose sessions this host may mark as stale.
    pub ids: BTreeSet<String>,
    /// Silent hosts that this host may not judge yet.
    pub undecided: BTreeSet<String>,
    /// How long this host itself was silent, if that is why it may not judge.
    own_silence: Option<Duration>,
}

impl SilentHosts {
    /// Explains, as the end of a sentence, why the hosts in `undecided` are not judged; `None` when there are none.
    pub fn why(&self) -> Option<String> {
        let silence = self.own_silence.filter(|_| !self.undecided.is_empty())?;
        Some(format!(
            "this host was not heard of for {} either, as after a time without the server, so other hosts are judged from \
             the next look on",
            age::rough(silence)
        ))
    }
}

/// Finds the silent hosts that share the store. A store in a file has none.
pub(crate) fn find(app: &App) -> Result<SilentHosts> {
    let (Some(own), Some(limit), true) =
        (host::identity().id, app.settings.sessions.stale_after, app.settings.store.is_on_server())
    else {
        return Ok(SilentHosts::default());
    };
    let known = app.read(|tx| Ok(hosts::all(tx)?))?;
    Ok(judge(&known, &own, limit, |host| silence(app, host)))
}

/// How long a host has been silent, by the clock that also set the time of its last report: the clocks of two hosts may
/// differ.
pub(crate) fn silence(app: &App, host: &Host) -> Duration {
    let now = match app.env.clock {
        Clock::Fixed(now) => now,
        Clock::System => host.read_at.unwrap_or_else(|| app.env.now()),
    };
    now.since(host.last_seen)
}

/// Separates the silent hosts from the others. A host that was silent itself judges no other: after an outage of the server all
/// hosts have been silent, and will report again. Its next look may judge.
fn judge(known: &[Host], own: &str, limit: Duration, silence: impl Fn(&Host) -> Duration) -> SilentHosts {
    let (own, others): (Vec<&Host>, Vec<&Host>) = known.iter().partition(|host| host.id.as_deref() == Some(own));
    let silent = others.into_iter().filter(|host| silence(host) > limit).filter_map(|host| host.id.clone()).collect();
    match own.first().map(|host| silence(host)) {
        Some(own) if own <= limit => SilentHosts { ids: silent, ..SilentHosts::default() },
        own_silence => SilentHosts { undecided: silent, own_silence, ids: BTreeSet::new() },
    }
}

/// The number of a silent host's sessions for which the board offers a relaunch here.
const MAX_MOVABLE: usize = 3;

/// One item for each silent host with open sessions, claims or active jobs.
pub(super) fn silent_host_needs(app: &App, facts: &Facts) -> Vec<Need> {
    let Some(limit) = app.settings.sessions.stale_after else { return Vec::new() };
    let silent = facts.hosts.iter().filter(|host| silence(app, host) > limit);
    silent.filter_map(|host| silent_host_need(facts, host, limit)).collect()
}

/// The host of a session; `None` when that is this host, and when the board has no such session.
pub(super) fn host_of_session(facts: &Facts, id: &str) -> Option<OtherHost> {
    let session = &facts.sessions.iter().find(|one| one.session.id.as_str() == id)?.session;
    if host::identity().owns(&session.host, session.host_id.as_deref()) {
        return None;
    }
    // A renamed host is reached under its new name.
    let known = facts.hosts.iter().find(|host| host.id.is_some() && host.id == session.host_id);
    let (name, root) = known.map_or((&session.host, None), |known| (&known.name, known.root.clone()));
    Some(OtherHost::new(name, &host::name(), root))
}

/// When the next host becomes silent, unless it is heard of again.
pub(super) fn next_silence(app: &App, facts: &Facts) -> Option<Timestamp> {
    let limit = app.settings.sessions.stale_after?;
    let left = |host: &Host| (limit + Duration::from_millis(1)).checked_sub(silence(app, host));
    let used = facts.hosts.iter().filter(|host| Use::of(facts, host).is_some());
    used.filter_map(left).min().map(|left| facts.now.plus(left))
}

fn silent_host_need(facts: &Facts, host: &Host, limit: Duration) -> Option<Need> {
    let used = Use::of(facts, host)?;
    let name = OtherHost::new(&host.name, &host::name(), None).name;
    let key = host.id.as_deref().unwrap_or(&host.name);
    let line = format!("{name} was not heard of for more than {}: {}", age::rough(limit), used.text());
    let evidence = format!("the last look or change by {name}; only that host can prove that a program of it is gone");
    let argument = shell_words::quote(&host.name).into_owned();
    let is_there = |one: &&SessionOverview| host.id.is_some() && one.session.host_id == host.id;
    let movable = facts.sessions.iter().filter(is_there).filter(|one| !one.holds.is_empty() && one.can_relaunch);
    let need = Need::new(NeedKind::HostSilent, key, Some(host.last_seen), line, evidence);
    // First what keeps the work with its task: the others give the claims away.
    let need = movable.take(MAX_MOVABLE).fold(need, |need, one| {
        let id = &one.session.id;
        need.then(&format!("bring the work of {id} here"), format!("fairway session relaunch {id} --here"))
    });
    let need = need
        .then("give it up, if it is gone", format!("fairway host retire {argument} --reason TEXT"))
        .then("release its claims", format!("fairway release --host {argument}"));
    Some(need.then("see the hosts", "fairway host list".to_owned()))
}

/// The sessions, claims and jobs that are recorded for a host.
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

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_core::env::Timestamp;

    #[test]
    fn silent_host_is_told_by_one_that_was_not_silent_itself() {
        let now = Timestamp::from_millis(100_000_000);
        let host = |id: &str, silence: u64| Host {
            id: Some(id.into()),
            name: "same/1".into(),
            root: None,
            version: None,
            last_seen: now.minus(Duration::from_secs(silence)),
            read_at: Some(now),
        };
        let found = |hosts: &[Host]| judge(hosts, "own/1", Duration::from_secs(60), |host| now.since(host.last_seen));
        let ids = |ids: &BTreeSet<String>| ids.iter().cloned().collect::<Vec<_>>();
        let others = [host("loud/1", 60), host("silent/1", 61)];
        let with = found(&[&others[..], &[host("own/1", 1)]].concat());
        assert_eq!((ids(&with.ids), ids(&with.undecided), with.why()), (vec!["silent/1".into()], vec![], None));
        let without = found(&[&others[..], &[host("own/1", 61)]].concat());
        assert_eq!((ids(&without.ids), ids(&without.undecided)), (vec![], vec!["silent/1".into()]));
        assert!(without.why().unwrap().contains("not heard of for 1m 1s either"), "{:?}", without.why());
        // A host that never wrote judges none.
        assert_eq!(found(&others).ids, BTreeSet::new());
        // No host is in question.
        assert_eq!(found(&[host("own/1", 61), host("loud/1", 1)]).why(), None);
    }
}
