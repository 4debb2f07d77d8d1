//! The guard of a project inside of another one: without rules of its own, the rules around it hold.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    call::{GuardDecision, ToolCall},
    decide::decide_with_rules,
    rules::LoadedRules,
};
use crate::{
    actions::App,
    config::{CONFIG_FILE, Project},
    domain::session::Session,
    os::user,
};

/// Decides by the rules of the nearest project around this one that has some; `None` if there is no such project.
pub(super) fn decide(app: &App, session: &Session, call: &ToolCall) -> Option<GuardDecision> {
    let mut inner = (*app.project).clone();
    loop {
        let root: PathBuf = inner.enclosing()?.to_path_buf();
        let outer = Project::at(root.clone(), &app.env);
        inner = outer.clone();
        // Rules are this user's: another one may write files into a directory above, such as /tmp.
        if !is_own(&root) {
            continue;
        }
        let outer = match App::in_force(Rc::clone(&app.env), outer, app.actor.clone(), None) {
            Ok(outer) => outer,
            Err(error) => {
                return Some(GuardDecision::denied(format!("the rules around this project are unknown: {error}")));
            }
        };
        let rules = LoadedRules::load(&outer);
        if rules.is_unconfigured() {
            continue;
        }
        // The lanes of the one project are not those of the other.
        let session = Session { lane: None, ..session.clone() };
        let decision = decide_with_rules(&rules, &outer, &session, call);
        let reason = format!("{} (by the rules of {})", decision.reason, root.display());
        return Some(GuardDecision { reason, ..decision });
    }
}

fn is_own(root: &Path) -> bool {
    fs::metadata(root.join(CONFIG_FILE)).is_ok_and(|found| found.uid() == user::uid() || found.uid() == 0)
}
