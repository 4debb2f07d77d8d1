//! Hosts that are silent as a whole: their sessions are marked for their silence without the brake, which counts the rest.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;

use crate::{
    actions::App,
    config::StaleAfter,
    domain::age,
    env::Clock,
    os::host,
    store::hosts::{self, Host},
};

/// The hosts that have not been heard of for `sessions.stale_after`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::actions) struct SilentHosts {
    /// The ids of those that this host may judge.
    pub ids: BTreeSet<String>,
    /// The ids of those that it may not judge yet.
    pub undecided: BTreeSet<String>,
    /// How long this host itself was not heard of, when that is why it may not.
    own_silence: Option<Duration>,
}

impl SilentHosts {
    /// Why `undecided` are not judged, as the end of a sentence.
    pub fn why(&self) -> Option<String> {
        let silence = self.own_silence.filter(|_| !self.undecided.is_empty())?;
        Some(format!(
            "this host was not heard of for {} either, as after a time without the server, so other hosts are judged from \
             the next look on",
            age::rough(silence)
        ))
    }
}

/// The silent hosts of a store on a server. None for a store in a file, which has one host.
pub(in crate::actions) fn find(app: &App) -> Result<SilentHosts> {
    let (Some(own), StaleAfter::After(limit), true) =
        (host::identity().id, app.settings.sessions.stale_after, app.settings.store.is_on_server())
    else {
        return Ok(SilentHosts::default());
    };
    let known = app.read(|tx| Ok(hosts::all(tx)?))?;
    Ok(judge(&known, &own, limit, |host| silence(app, host)))
}

/// How long a host has not been heard of, by the clock that its row was written with.
pub(in crate::actions) fn silence(app: &App, host: &Host) -> Duration {
    let now = match app.env.clock {
        Clock::Fixed(now) => now,
        Clock::System => host.read_at.unwrap_or_else(|| app.env.now()),
    };
    now.since(host.last_seen)
}

/// Only a host that has been heard of meanwhile may judge: after a time without the server every host has been silent, and the
/// others come back as this one did. This look counts, for the next one.
fn judge(known: &[Host], own: &str, limit: Duration, silence: impl Fn(&Host) -> Duration) -> SilentHosts {
    let (own, others): (Vec<&Host>, Vec<&Host>) = known.iter().partition(|host| host.id.as_deref() == Some(own));
    let silent = others.into_iter().filter(|host| silence(host) > limit).filter_map(|host| host.id.clone()).collect();
    match own.first().map(|host| silence(host)) {
        Some(own) if own <= limit => SilentHosts { ids: silent, ..SilentHosts::default() },
        own_silence => SilentHosts { undecided: silent, own_silence, ids: BTreeSet::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;

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
