//! `land show`: shows the queue of landing.

use anyhow::Result;

use super::request::{LandRequest, find};
use super::{at_work, pause, report, schedule};
use crate::queue::landing_unit::project_git;
use crate::queue::lane::checkout;
use crate::{Answer, App};
use fairway_core::store::evidence;
use fairway_core::wire::{FlakyCheckView, LandAtWorkView, LandQueueView};

/// How many flaky checks are listed.
const MAX_FLAKY: i64 = 10;

/// Shows the running landing, the next ones, whether landing is paused, and which checks are flaky.
pub fn show(app: &App) -> Result<Answer> {
    let git = project_git(app)?;
    let (at_work, flaky) =
        app.read(|tx| Ok::<_, anyhow::Error>((at_work::find(app, tx)?, evidence::flaky(tx, MAX_FLAKY)?)))?;
    let request = LandRequest { all: true, ..LandRequest::default() };
    let found = find(app, &request)?;
    let ordered = checkout::ask_merges(app, &git, |merges| schedule::order(app, &merges, found.units))?;
    let order = ordered.units.iter().map(report::place).collect();
    let flaky = flaky.into_iter().map(|(command, count)| FlakyCheckView { command, count }).collect();
    let LandAtWorkView { now, running } = at_work;
    let shown = LandQueueView { paused: pause::paused(app).map(|one| one.view()), now, running, order, flaky };
    let answer = Answer::new(&shown, "", report::queue_lines(&shown))?;
    Ok(Answer { notes: found.notes, ..answer })
}
