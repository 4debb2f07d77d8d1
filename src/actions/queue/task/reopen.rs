//! Taking a closed task up again.

use anyhow::Result;

use super::transition::{self, Move};
use crate::{
    actions::{Answer, App},
    domain::{Kind, TaskId, rules::authority::Intent},
};

/// done, cancelled → todo, by anybody, with a reason.
///
/// # Errors
/// `wrong_state`.
pub fn reopen(app: &App, id: &TaskId, reason: &str) -> Result<Answer> {
    let verb =
        Move { kind: Kind::TaskReopened, intent: Intent::Anybody, past: "reopened", reason: Some(reason), force: None };
    transition::run(app, id, &verb, |_, task, _| Ok(task.reopened()?))
}
