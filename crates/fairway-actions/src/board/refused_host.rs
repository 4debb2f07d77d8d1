//! Network hosts that programs in the sandboxes of live sessions asked for, and that the configuration does not open.

use std::collections::BTreeMap;

use super::facts::{Facts, may_work};
use super::need::Need;
use crate::App;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::rules::proxy_hosts::{self, HostPort};
use fairway_core::store::event_facts::RefusedHostRow;

/// The maximum number of hosts in the configuration line that would open a host. A longer list is shortened.
const MAX_LINE_HOSTS: usize = 8;
/// The maximum number of items, because a program may ask for any number of hosts.
const MAX_ITEMS: usize = 10;

/// One item for each network host that the sandbox has refused to a program of a live session, until the configuration allows
/// the host.
pub(super) fn items(app: &App, facts: &Facts) -> Vec<Need> {
    let hosts = &app.settings.sandbox.hosts;
    let open: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut first: BTreeMap<&str, &RefusedHostRow> = BTreeMap::new();
    for row in &facts.refused_hosts {
        // An entry that is no host name is only in the event log: no configuration line opens it.
        let Some(entry) = row.entry.as_deref() else { continue };
        let Ok(asked) = HostPort::parse(entry.as_bytes(), None) else { continue };
        let is_live = facts.session(&row.session).is_some_and(may_work);
        if is_live && proxy_hosts::check_name(hosts, &asked).is_err() {
            first.entry(entry).or_insert(row);
        }
    }
    let mut all: Vec<(&str, &RefusedHostRow)> = first.into_iter().collect();
    all.sort_by_key(|(_, row)| row.at);
    let more = all.len().saturating_sub(MAX_ITEMS);
    all.truncate(MAX_ITEMS);
    let items = all.into_iter().enumerate().filter_map(|(at, (entry, row))| {
        let need = item(facts, &open, entry, row)?;
        let is_last = more > 0 && at + 1 == MAX_ITEMS;
        let see = format!("see {more} more");
        Some(if is_last { need.then(&see, "fairway events --kind sandbox.host_refused".to_owned()) } else { need })
    });
    items.collect()
}

fn item(facts: &Facts, open: &[String], entry: &str, row: &RefusedHostRow) -> Option<Need> {
    let one = facts.session(&row.session)?;
    let line = format!("{} was asked for, and the sandbox has it closed", row.host);
    let list: Vec<String> = match open.len() {
        0..MAX_LINE_HOSTS => open.iter().map(String::as_str).chain([entry]).map(|host| format!("\"{host}\"")).collect(),
        _ => vec!["…".to_owned(), format!("\"{entry}\"")],
    };
    let evidence = format!("{}; to open it: [sandbox] hosts = [{}]", row.reason, list.join(", "));
    let need = Need::new(NeedKind::Host, entry, Some(row.at), line, evidence).session(one);
    let need = need.then("open it", "fairway config edit".to_owned());
    Some(need.then("let the new list count", "fairway trust".to_owned()))
}
