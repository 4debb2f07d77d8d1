//! Agents whose shell does not find `fairway`.

use super::{
    facts::{Facts, may_work},
    need::Need,
};
use crate::domain::need::NeedKind;

/// An item for each live session whose agent called `fairway` by its name, which its shell did not find.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let mut items = Vec::new();
    for (id, since) in &facts.program_missing {
        let Some(one) = facts.session(id).filter(|one| may_work(one)) else { continue };
        let line = "its shell does not find `fairway`, so it cannot claim, note or finish".to_owned();
        let evidence = format!("the answer of the shell to a call by {id}: command not found");
        items.push(
            Need::new(NeedKind::Program, id.as_str(), Some(*since), line, evidence)
                .session(one)
                .then("see how to mend it", "fairway doctor".to_owned()),
        );
    }
    items
}
