//! Checks of a store on a server, and of the hosts that write to it.

use std::time::Duration;

use anyhow::Result;

use crate::App;
use fairway_core::domain::age;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::env::{Clock, Timestamp};
use fairway_core::os::host;
use fairway_core::store::hosts::{self, Host};
use fairway_core::store::store_facts::{ReadOnlyCause, StoreFacts, StorePlace};
use fairway_core::store::{ReadTx, StoreError, sessions};

/// The largest difference between two clocks that is not reported.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
/// The used share of the server's connections from which on it is reported, in percent.
const MANY_CONNECTIONS: i64 = 80;
/// How long a host may be silent before its version is no longer compared.
const VERSION_SPAN: Duration = Duration::from_secs(24 * 60 * 60);

/// Findings about the server of the store and about the hosts that write to it; none for a store in a file.
pub(super) fn find(app: &App, tx: &ReadTx<'_>, facts: &StoreFacts) -> Result<Vec<Finding>> {
    let StorePlace::Server { time, .. } = &facts.place else { return Ok(Vec::new()) };
    let now = app.env.now();
    // With a clock that stands still, so does that of the store.
    let clock = matches!(app.env.clock, Clock::System).then_some(now);
    let mut findings = of_server(&facts.place, clock);
    let own = host::identity().id;
    if let Some(id) = &own
        && let Some((name, root)) = hosts::other_holder(tx, id, &host::boot_id())?
    {
        let message = StoreError::HostCloned { name, root }.to_string();
        findings.push(
            Finding::new("host_cloned", Severity::Error, message)
                .with_fix("on the copy of the two: fairway host renew"),
        );
    }
    let others: Vec<Host> = hosts::all(tx)?.into_iter().filter(|host| host.id != own).collect();
    let now = if clock.is_some() { *time } else { now };
    let live: Vec<Option<String>> = sessions::live(tx)?.into_iter().map(|session| session.host_id).collect();
    let sessions_of = |host: &Host| live.iter().filter(|id| id.is_some() && **id == host.id).count();
    if let Some(limit) = app.settings.sessions.stale_after {
        findings.extend(others.iter().filter_map(|host| silent(host, sessions_of(host), limit, now)));
    }
    findings.extend(others.iter().filter_map(|host| other_version(host, now)));
    Ok(findings)
}

/// Findings of the server alone. `clock` is the time on this host.
fn of_server(place: &StorePlace, clock: Option<Timestamp>) -> Vec<Finding> {
    let StorePlace::Server { encryption, is_verified, connections, max_connections, read_only, time, address } = place
    else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    if encryption.is_some() && !is_verified {
        let message = format!("the connection to {address} is encrypted, but nothing proves who answers");
        findings.push(Finding::new("server_unverified", Severity::Warning, message).with_fix(
            "sslmode=verify-full in the address, with sslrootcert=FILE for an authority that the system does not know",
        ));
    }
    let read_only = match read_only {
        Some(ReadOnlyCause::Replica) => Some((
            format!("{address} is a replica, which takes no changes: agents stop"),
            "the primary server in the address; with several hosts target_session_attrs=read-write",
        )),
        Some(ReadOnlyCause::Setting) => Some((
            format!("default_transaction_read_only is on at {address}: agents stop"),
            "on the server: ALTER DATABASE or ALTER ROLE … SET default_transaction_read_only = off",
        )),
        None => None,
    };
    let finding = |(message, fix)| Finding::new("server_read_only", Severity::Error, message).with_fix(fix);
    findings.extend(read_only.map(finding));
    if connections.saturating_mul(100) >= max_connections.saturating_mul(MANY_CONNECTIONS) {
        let message = format!("{connections} of {max_connections} connections of {address} are in use");
        findings.push(
            Finding::new("server_connections", Severity::Warning, message)
                .with_fix("on the server: a higher max_connections, or fewer programs"),
        );
    }
    findings.extend(clock.and_then(|clock| different_clock(clock, *time)));
    findings
}

fn different_clock(own: Timestamp, server: Timestamp) -> Option<Finding> {
    let (difference, word) = if own > server { (own.since(server), "ahead of") } else { (server.since(own), "behind") };
    if difference <= CLOCK_TOLERANCE {
        return None;
    }
    let message = format!("the clock of this host is {} {word} that of the server", age::rough(difference));
    Some(Finding::new("clock_differs", Severity::Warning, message).with_fix("timedatectl set-ntp true"))
}

/// A finding for a host that has live sessions and has not written for longer than `limit`.
fn silent(host: &Host, sessions: usize, limit: Duration, now: Timestamp) -> Option<Finding> {
    let silence = now.since(host.last_seen);
    if sessions == 0 || silence <= limit {
        return None;
    }
    let message =
        format!("{} has not written for {}, and {sessions} of its sessions are live", host.name, age::rough(silence));
    Some(
        Finding::new("host_silent", Severity::Warning, message)
            .with_fix(format!("fairway host retire {} --reason TEXT", shell_words::quote(&host.name))),
    )
}

/// A note for a host that writes with another version of Fairway. Both work: an unknown schema is refused.
fn other_version(host: &Host, now: Timestamp) -> Option<Finding> {
    let (own, version) = (env!("CARGO_PKG_VERSION"), host.version.as_deref()?);
    if version == own || now.since(host.last_seen) > VERSION_SPAN {
        return None;
    }
    let message = format!("{} writes with fairway {version}, this host with {own}", host.name);
    Some(Finding::new("host_version", Severity::Note, message).with_fix("the same version of fairway on every host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(100_000_000);

    fn place() -> StorePlace {
        StorePlace::Server {
            address: "postgres://db/team".into(),
            encryption: Some("TLSv1.3".into()),
            is_verified: true,
            connections: 79,
            max_connections: 100,
            read_only: None,
            time: NOW,
        }
    }

    fn codes(place: &StorePlace, clock: Option<Timestamp>) -> Vec<&'static str> {
        of_server(place, clock).iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn sound_server_has_no_finding_and_each_fault_has_its_own() {
        assert_eq!(codes(&place(), Some(NOW)), [""; 0]);
        let with = |change: fn(&mut StorePlace)| {
            let mut place = place();
            change(&mut place);
            let found = of_server(&place, Some(NOW));
            assert!(found.iter().all(|finding| finding.fix.is_some()), "{found:?}");
            codes(&place, Some(NOW))
        };
        macro_rules! set {
            ($field:ident, $value:expr) => {
                with(|place| {
                    if let StorePlace::Server { $field, .. } = place {
                        *$field = $value;
                    }
                })
            };
        }
        assert_eq!(set!(is_verified, false), ["server_unverified"]);
        assert_eq!(set!(connections, 80), ["server_connections"]);
        assert_eq!(set!(read_only, Some(ReadOnlyCause::Replica)), ["server_read_only"]);
        assert_eq!(set!(read_only, Some(ReadOnlyCause::Setting)), ["server_read_only"]);
        assert_eq!(set!(time, Timestamp::from_millis(0)), ["clock_differs"]);
        // On this machine nothing is encrypted, and nothing need be.
        assert_eq!(set!(encryption, None), [""; 0]);
    }

    #[test]
    fn clocks_differ_from_six_seconds_on_in_either_direction() {
        let at = |millis: i64| Timestamp::from_millis(NOW.millis() + millis);
        for (own, words) in [
            (0, None),
            (5_000, None),
            (-5_000, None),
            (6_000, Some("this host is 6s ahead of that")),
            (-90_000, Some("this host is 1m 30s behind that")),
        ] {
            let found = different_clock(at(own), NOW).map(|finding| finding.message);
            assert_eq!(found.is_some(), words.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(words.unwrap_or_default()));
        }
        assert_eq!(codes(&place(), None), [""; 0]);
    }

    #[test]
    fn host_is_named_for_its_silence_with_live_sessions_and_for_its_version() {
        let host = |version: &str, silence: u64| Host {
            id: Some("a/1".into()),
            name: "build/1".into(),
            root: None,
            version: Some(version.into()),
            last_seen: NOW.minus(Duration::from_secs(silence)),
            read_at: None,
        };
        let limit = Duration::from_secs(60);
        assert_eq!(silent(&host("1", 60), 1, limit, NOW), None);
        assert_eq!(silent(&host("1", 600), 0, limit, NOW), None);
        let found = silent(&host("1", 600), 2, limit, NOW).unwrap().message;
        assert_eq!(found, "build/1 has not written for 10m, and 2 of its sessions are live");
        assert_eq!(other_version(&host(env!("CARGO_PKG_VERSION"), 0), NOW), None);
        assert_eq!(other_version(&host("0.0.1", 0), NOW).unwrap().code, "host_version");
        assert_eq!(other_version(&host("0.0.1", 2 * 24 * 60 * 60), NOW), None);
    }
}
