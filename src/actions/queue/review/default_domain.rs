//! The domain of a review that names none.

use anyhow::Result;

use crate::{
    actions::{App, queue::gates},
    domain::{Refusal, id::Label, review::Review, task::Task},
    store::ReadTx,
};

/// The domain of a task for which none is required or requested.
const GENERAL: &str = "general";

/// The only requested domain, else the only required one, else `general`.
///
/// # Errors
/// `usage` when there are several; as the store fails.
pub(super) fn choose(app: &App, tx: &ReadTx<'_>, task: &Task, reviews: &[Review]) -> Result<Label> {
    let open: Vec<&Label> =
        reviews.iter().filter(|review| review.verdict.is_none()).map(|review| &review.domain).collect();
    let mut all = gates::required_domains(app, task);
    all.extend(gates::requested_domains(tx, reviews, &all)?);
    all.sort();
    match (open.as_slice(), all.as_slice()) {
        ([one], _) => Ok((*one).clone()),
        ([], [one]) => Ok(one.clone()),
        ([], []) => Ok(Label::parse(GENERAL)?),
        (_, all) => {
            let names: Vec<&str> = all.iter().map(Label::as_str).collect();
            Err(Refusal::Usage { why: format!("which domain? --domain {}", names.join(" or --domain ")) }.into())
        }
    }
}
