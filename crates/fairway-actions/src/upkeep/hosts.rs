//! The hosts that work on a store, and the id of this one.

use std::time::Duration;

use anyhow::Result;

use crate::{Answer, App};
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::{Refusal, plural};
use fairway_core::env::{Clock, Timestamp};
use fairway_core::os::host::{self, HostIdentity};
use fairway_core::store::hosts::{self, Host, HostUse};
use fairway_core::store::{ReadTx, StoreError};
use fairway_core::wire::{HostRenewedView, HostView};

const MAX_NAMED: usize = 5;
/// After this time a silent host without sessions, jobs and lanes is left out of the list.
const SHOWN_AFTER_SILENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownHost {
    pub id: Option<String>,
    pub name: String,
    root: Option<String>,
    version: Option<String>,
    pub last_seen: Option<Timestamp>,
    /// The server's time when `last_seen` was read.
    read_at: Option<Timestamp>,
    sessions: i64,
    jobs: i64,
    lanes: i64,
}

impl KnownHost {
    fn new(id: Option<String>, name: String) -> Self {
        Self { id, name, root: None, version: None, last_seen: None, read_at: None, sessions: 0, jobs: 0, lanes: 0 }
    }

    pub fn identity(&self) -> HostIdentity {
        HostIdentity { name: self.name.clone(), id: self.id.clone() }
    }

    pub fn shown(&self) -> String {
        OtherHost::new(&self.name, &host::name(), None).name
    }

    /// Whether `text` is the host's id or its name, with the pid namespace or without.
    fn is_named(&self, text: &str) -> bool {
        let machine = self.name.rsplit_once('/').map_or(self.name.as_str(), |(machine, _)| machine);
        self.id.as_deref() == Some(text) || self.name == text || machine == text
    }

    const fn is_used(&self) -> bool {
        self.sessions + self.jobs + self.lanes > 0
    }
}

/// The hosts that have sessions, jobs or lanes, or wrote to the store within 30 days, this one first; with `all` every known
/// host.
pub fn list(app: &App, all: bool) -> Result<Vec<HostView>> {
    let (own, now) = (host::identity(), app.env.now());
    let found = app.read(|tx| Ok(known(tx, &own)?))?;
    let is_shown = |host: &&KnownHost| {
        let silence = host.last_seen.map(|seen| now.since(seen));
        all || host.is_used() || silence.is_some_and(|silence| silence <= SHOWN_AFTER_SILENCE) || is_own(&own, host)
    };
    let view = |host| view(host, is_own(&own, host), matches!(app.env.clock, Clock::System));
    let mut views: Vec<HostView> = found.iter().filter(is_shown).map(view).collect();
    if let Some(view) = views.iter_mut().find(|view| view.here) {
        view.root.get_or_insert_with(|| app.project.root.display().to_string());
        view.version.get_or_insert_with(|| env!("CARGO_PKG_VERSION").to_owned());
    }
    // The sort is stable: the others stay in the order of the store, the newest first.
    views.sort_by_key(|view| !view.here);
    Ok(views)
}

fn is_own(own: &HostIdentity, host: &KnownHost) -> bool {
    own.owns(&host.name, host.id.as_deref())
}

/// Finds another host by its id or name.
///
/// # Errors
/// `not_found`, `ambiguous`; `host_alive` for this host.
pub(super) fn find_other(tx: &ReadTx<'_>, text: &str) -> Result<KnownHost> {
    let own = host::identity();
    let all = known(tx, &own)?;
    let (own, others): (Vec<KnownHost>, Vec<KnownHost>) = all.into_iter().partition(|host| is_own(&own, host));
    let mut fitting: Vec<KnownHost> = others.iter().filter(|host| host.is_named(text)).cloned().collect();
    match (fitting.pop(), fitting.as_slice()) {
        (Some(host), []) => Ok(host),
        (Some(last), rest) => {
            let id = |host: &KnownHost| host.id.clone().unwrap_or_else(|| host.name.clone());
            let found = rest.iter().chain([&last]).map(id).collect();
            Err(Refusal::Ambiguous { noun: "host", id: text.to_owned(), found }.into())
        }
        (None, _) if own.iter().any(|host| host.is_named(text)) => {
            Err(Refusal::OwnHost { host: text.to_owned() }.into())
        }
        (None, _) => {
            let near = others.iter().map(KnownHost::shown).take(MAX_NAMED).collect();
            Err(Refusal::NotFound { noun: "host", id: text.to_owned(), near }.into())
        }
    }
}

/// Every host of a store, and this host. The one that was seen last comes first.
fn known(tx: &ReadTx<'_>, own: &HostIdentity) -> Result<Vec<KnownHost>, StoreError> {
    Ok(merge(hosts::all(tx)?, hosts::uses(tx)?, own))
}

/// Joins the records of each host. A record without an id was written by an earlier version and belongs to the host of that
/// name.
fn merge(rows: Vec<Host>, uses: Vec<HostUse>, own: &HostIdentity) -> Vec<KnownHost> {
    let mut found: Vec<KnownHost> = Vec::new();
    let rows = rows.into_iter().map(|row| KnownHost {
        root: row.root,
        version: row.version,
        last_seen: Some(row.last_seen),
        read_at: row.read_at,
        ..KnownHost::new(row.id, row.name)
    });
    let uses = uses.into_iter().map(|used| KnownHost {
        last_seen: used.last_seen,
        sessions: used.sessions,
        jobs: used.jobs,
        lanes: used.lanes,
        ..KnownHost::new(used.id, used.name)
    });
    let (with_id, without_id): (Vec<KnownHost>, Vec<KnownHost>) =
        rows.chain(uses).chain([KnownHost::new(own.id.clone(), own.name.clone())]).partition(|one| one.id.is_some());
    for one in with_id.into_iter().chain(without_id) {
        let is_same = |host: &&mut KnownHost| if one.id.is_some() { host.id == one.id } else { host.name == one.name };
        match found.iter_mut().find(is_same) {
            Some(host) => {
                host.sessions += one.sessions;
                host.jobs += one.jobs;
                host.lanes += one.lanes;
                host.last_seen = host.last_seen.max(one.last_seen);
            }
            None => found.push(one),
        }
    }
    found.sort_by_key(|host| std::cmp::Reverse(host.last_seen));
    found
}

/// `has_clock` says whether this process uses the real clock, so that it can be compared with the server's time.
fn view(host: &KnownHost, here: bool, has_clock: bool) -> HostView {
    let silence = host.read_at.filter(|_| has_clock).zip(host.last_seen).map(|(now, seen)| now.since(seen));
    HostView {
        id: host.id.clone(),
        name: host.name.clone(),
        here,
        root: host.root.clone(),
        version: host.version.clone(),
        sessions: host.sessions,
        jobs: host.jobs,
        lanes: host.lanes,
        seen_at: host.last_seen.map(|at| at.to_string()),
        silent_seconds: silence.map(|silence| silence.as_secs()),
    }
}

/// Gives this host a new random id, for a copy of a machine. Records under the old id then belong to the other machine that
/// has it. A store on a server gets the new id at once, so that the other machine may write again.
pub fn renew(app: &App) -> Result<Answer> {
    // A store that cannot be read now does not keep the host from getting a new id.
    let left = list(app, false).ok().and_then(|hosts| hosts.into_iter().find(|host| host.here));
    let (before, new) = host::renew_identity().map_err(|error| StoreError::io("the id of this host", error))?;
    let shown = new.id.clone().unwrap_or_default();
    let document = HostRenewedView { id: new.id, before: before.id, name: new.name };
    let mut answer = Answer::new(&document, &shown, format!("this host has the id {shown} now"))?;
    if let Some(left) = left.filter(|left| left.sessions + left.jobs + left.lanes > 0) {
        answer = answer.note(format!(
            "{}, {} and {} are recorded under the old id: they count as another machine's",
            plural::count(left.sessions, "session"),
            plural::count(left.jobs, "job"),
            plural::count(left.lanes, "lane")
        ));
    }
    if app.settings.store.is_on_server()
        && let Err(error) = app.transaction(|_| Ok(()))
    {
        answer = answer.note(format!("the store hears of it with the next change from here: {error:#}"));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(id: Option<&str>, name: &str, sessions: i64, seen: i64) -> HostUse {
        let (id, name) = (id.map(str::to_owned), name.to_owned());
        HostUse { id, name, sessions, jobs: 1, lanes: 2, last_seen: Some(Timestamp::from_millis(seen)) }
    }

    fn row(id: &str, name: &str, seen: i64) -> Host {
        Host {
            id: Some(id.into()),
            name: name.into(),
            root: Some("/src".into()),
            version: Some("1.0.0".into()),
            last_seen: Timestamp::from_millis(seen),
            read_at: None,
        }
    }

    #[test]
    fn records_of_a_host_are_joined_by_its_id_and_by_its_name_where_they_have_none() {
        let own = HostIdentity { name: "own/1".into(), id: Some("o/1".into()) };
        let rows = vec![row("a/1", "new-name/1", 30), row("b/1", "same/1", 20)];
        let uses = vec![
            used(None, "same/1", 1, 5),
            used(None, "unknown/1", 1, 40),
            used(Some("a/1"), "old-name/1", 2, 60),
            used(Some("a/1"), "new-name/1", 3, 10),
            used(Some("c/1"), "same/1", 4, 50),
        ];
        let found = merge(rows, uses, &own);
        let short: Vec<_> =
            found.iter().map(|one| (one.id.as_deref(), one.name.as_str(), one.sessions, one.jobs, one.lanes)).collect();
        assert_eq!(
            short,
            [
                // Two machines of one name stay two; the record without an id belongs to the first.
                (Some("a/1"), "new-name/1", 5, 2, 4),
                (Some("c/1"), "same/1", 4, 1, 2),
                (None, "unknown/1", 1, 1, 2),
                (Some("b/1"), "same/1", 1, 1, 2),
                (Some("o/1"), "own/1", 0, 0, 0),
            ]
        );
        assert_eq!(found[0].last_seen, Some(Timestamp::from_millis(60)));
        assert_eq!((found[0].root.as_deref(), found[1].root.as_deref()), (Some("/src"), None));
    }
}
