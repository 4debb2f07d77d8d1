//! Finding a run by what a person or agent typed.

use anyhow::Result;

use crate::{
    domain::{
        Refusal,
        run::{ExecRun, RunId},
    },
    store::{ReadTx, exec_runs},
};

/// The fewest digits that name a run.
const SHORTEST: usize = 4;
/// How many digits are shown.
const SHOWN: usize = 8;

/// The run of this id, or the only one whose id ends so, or whose last eight digits begin so.
///
/// # Errors
/// `not_found`, `ambiguous`.
pub fn run(tx: &ReadTx<'_>, text: &str) -> Result<ExecRun> {
    let unknown = || {
        let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        Refusal::NotFound { noun: "run", id: shown, near: Vec::new() }
    };
    let end = text.to_ascii_lowercase();
    let is_end = (SHORTEST..=36).contains(&end.len()) && end.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    let mut found = match RunId::parse(text) {
        Ok(id) => exec_runs::find(tx, &id)?.into_iter().collect(),
        // What is shown of an id are its last eight digits: people type as many of them as they like, from the first one on.
        Err(_) if is_end => match exec_runs::ending_in(tx, &format!("{end:_<SHOWN$}"))? {
            found if found.is_empty() => exec_runs::ending_in(tx, &end)?,
            found => found,
        },
        Err(_) => Vec::new(),
    };
    match (found.pop(), found.is_empty()) {
        (Some(run), true) => Ok(run),
        (Some(last), false) => {
            let found = found.iter().chain([&last]).map(|run| run.id.to_string()).collect();
            Err(Refusal::Ambiguous { noun: "run", id: text.to_owned(), found }.into())
        }
        (None, _) => Err(unknown().into()),
    }
}
