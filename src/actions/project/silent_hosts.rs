//! Hosts that are silent as a whole: their sessions are marked for their silence without the brake, which counts the rest.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;

use crate::{
    actions::App,
    config::StaleAfter,
    env::Timestamp,
    os::host,
    store::hosts::{self, Host},
};

/// The ids of the hosts that have not written to the store's server for `sessions.stale_after`. None for a store in a file, which
/// has one host.
pub(super) fn find(app: &App) -> Result<BTreeSet<String>> {
    let (Some(own), StaleAfter::After(limit), true) =
        (host::identity().id, app.settings.sessions.stale_after, app.settings.store.is_on_server())
    else {
        return Ok(BTreeSet::new());
    };
    let known = app.read(|tx| Ok(hosts::all(tx)?))?;
    Ok(judge(&known, &own, limit, app.store_for_reading()?.time(app.env.now())?))
}

/// Only a host that has written meanwhile may judge: after a time without the server every host has been silent, and the others
/// come back as this one did.
fn judge(known: &[Host], own: &str, limit: Duration, now: Timestamp) -> BTreeSet<String> {
    let is_own = |host: &Host| host.id.as_deref() == Some(own);
    let is_silent = |host: &Host| now.since(host.last_seen) > limit;
    if !known.iter().any(|host| is_own(host) && !is_silent(host)) {
        return BTreeSet::new();
    }
    known.iter().filter(|host| !is_own(host) && is_silent(host)).filter_map(|host| host.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_host_is_told_by_one_that_was_not_silent_itself() {
        let now = Timestamp::from_millis(100_000_000);
        let host = |id: &str, silence: u64| Host {
            id: Some(id.into()),
            name: "same/1".into(),
            root: None,
            version: None,
            last_seen: now.minus(Duration::from_secs(silence)),
        };
        let found =
            |hosts: &[Host]| judge(hosts, "own/1", Duration::from_secs(60), now).into_iter().collect::<Vec<_>>();
        let others = [host("loud/1", 60), host("silent/1", 61)];
        assert_eq!(found(&[&others[..], &[host("own/1", 1)]].concat()), ["silent/1"]);
        assert_eq!(found(&[&others[..], &[host("own/1", 61)]].concat()), [""; 0]);
        assert_eq!(found(&others), [""; 0]);
    }
}
