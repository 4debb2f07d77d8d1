//! A guard that cannot do its work, where that is known.

use super::{
    facts::{FIRST_HOOK_TIMEOUT, Facts},
    need::Need,
};
use crate::{
    actions::App,
    config::trust::{self, GuardTrust},
    domain::need::NeedKind,
};

/// An item while the guard rules are not trusted, which denies every tool call; and one for each agent of a provider with
/// hooks that runs under guard rules and has not called a hook yet.
pub(super) fn items(app: &App, facts: &Facts, hook_providers: &[&str]) -> Vec<Need> {
    let mut items = Vec::new();
    if let GuardTrust::Untrusted(why) = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings) {
        let evidence = "the trust record of this project".to_owned();
        let line = format!("every tool call of agents is denied: {why}");
        items.push(
            Need::new(NeedKind::Guard, "trust", None, line, evidence)
                .then("see what would be trusted", "fairway trust --show".to_owned())
                .then("trust it", "fairway trust".to_owned()),
        );
    }
    if app.settings.guard.is_none() {
        return items;
    }
    for one in facts.silent.iter().filter_map(|id| facts.session(id)) {
        let session = &one.session;
        let label = session.provider.as_ref().map_or("", |provider| provider.as_str());
        // It has not begun: a person is asked first.
        let is_asked = one.waiting_for().is_some();
        if is_asked || !hook_providers.contains(&label) || facts.now.since(session.started_at) < FIRST_HOOK_TIMEOUT {
            continue;
        }
        let line = format!("no hook of {label} has called since its start; the guard may be off");
        let evidence = format!("the reports of {}", session.id);
        items.push(
            Need::new(NeedKind::Guard, session.id.as_str(), Some(session.started_at), line, evidence)
                .session(one)
                .then("test the hooks", format!("fairway doctor hooks {label}")),
        );
    }
    items
}
