//! One pass of landing: units in their order, in batches, each from the gates to the end of its lane.

use std::mem;

use anyhow::Result;

use super::base::Base;
use super::checks::{CheckRun, Checked, Tree, Verdict};
use super::lane_conflicts::{self, Move};
use super::locked_land::{Candidate, LockedLand, NotMoved, Stacked};
use super::schedule::Ordered;
use super::{finish, pause, report, upstream};
use crate::core::errors;
use crate::queue::landing_unit::Unit;
use fairway_core::domain::Refusal;
use fairway_core::domain::landing::StoppedLanding;
use fairway_core::domain::rules::landing_batch::{BatchItem, BatchLimits, BatchQueue, BatchStep};
use fairway_core::wire::LandingView;

/// How often in a row a step is repeated because another command moved the base.
const MAX_ATTEMPTS: usize = 5;

/// The result for one unit.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) view: LandingView,
    pub(super) error: Option<anyhow::Error>,
}

#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The decided units, in the order of the decisions.
    pub(super) outcomes: Vec<Outcome>,
    /// Whether something stops every further landing.
    pub(super) is_stopped: bool,
    /// The units that were not tried because of that, or because their base cannot move.
    pub(super) not_tried: Vec<Unit>,
}

pub(super) struct Pass<'a> {
    land: &'a LockedLand<'a>,
    units: &'a [Unit],
    /// Whether this call of `land` has tried the commit before.
    is_tried: &'a dyn Fn(&str) -> bool,
    queue: BatchQueue,
    stack: Vec<Candidate>,
    /// The base below the stack.
    base: Option<Base>,
    /// The checks of the lowest stack that is known to fail.
    red: Option<CheckRun>,
    attempts: usize,
    moves: Vec<Move>,
    outcomes: Vec<Outcome>,
    /// The units whose base cannot move.
    not_tried: Vec<Unit>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(land: &'a LockedLand<'a>, ordered: &'a Ordered, is_tried: &'a dyn Fn(&str) -> bool) -> Self {
        let item = |(unit, depends_on): (&Unit, &Vec<usize>)| BatchItem {
            base: unit.base.clone(),
            depends_on: depends_on.clone(),
        };
        let items = ordered.units.iter().zip(&ordered.depends_on).map(item).collect();
        let settings = &land.app.settings.land;
        let limits = BatchLimits { batch: settings.batch, width: settings.width };
        Self {
            land,
            units: &ordered.units,
            is_tried,
            queue: BatchQueue::new(items, limits),
            stack: Vec::new(),
            base: None,
            red: None,
            attempts: 0,
            moves: Vec::new(),
            outcomes: Vec::new(),
            not_tried: Vec::new(),
        }
    }

    /// Lands units or sends them back until each one is decided or nothing more can land. Afterwards leaves messages for the
    /// lanes that conflict with the moved bases. Work that goes back is sent back later, with a message of its own.
    pub(super) fn run(mut self) -> Result<Passed> {
        let mut is_stopped = false;
        while !is_stopped {
            match self.queue.next_step() {
                // A stack that was begun is completed.
                BatchStep::Stack(place) if self.stack.is_empty() => match pause::refuse(self.land.app) {
                    Err(refusal) => {
                        self.pause(place, refusal);
                        is_stopped = true;
                    }
                    Ok(()) => is_stopped = self.stack(place),
                },
                BatchStep::Stack(place) => is_stopped = self.stack(place),
                BatchStep::Check(heights) => is_stopped = self.check(&heights),
                BatchStep::Land(count) => is_stopped = self.land(count),
                BatchStep::SendBack(_) => self.send_back(),
                BatchStep::Done => break,
            }
        }
        let back: Vec<_> =
            self.land.sent_back.borrow().iter().filter_map(|one| one.unit.lane_name().cloned()).collect();
        for collision in lane_conflicts::tell_all(self.land.app, &self.moves, &back)? {
            let told = self.outcomes.iter_mut().find(|one| one.view.id == Some(collision.landing));
            if let Some(outcome) = told {
                outcome.view.told.push(collision.view());
            }
        }
        self.land.deliver_mailed();
        self.not_tried.extend(self.queue.waiting().filter_map(|place| self.units.get(place).cloned()));
        Ok(Passed { outcomes: self.outcomes, is_stopped, not_tried: self.not_tried })
    }

    /// Decides a unit as not landed, because landing is paused.
    fn pause(&mut self, place: usize, refusal: Refusal) {
        self.queue.decided(place);
        let Some(unit) = self.units.get(place) else { return };
        let (mut view, error) = (report::begin(self.land.app, unit), refusal.into());
        set_failure(&mut view, &error);
        self.outcomes.push(Outcome { view, error: Some(error) });
    }

    /// Puts a unit on the stack. Returns whether every further landing is stopped.
    fn stack(&mut self, place: usize) -> bool {
        let Some(unit) = self.units.get(place) else {
            self.queue.decided(place);
            return false;
        };
        let is_alone = self.stack.is_empty();
        if is_alone {
            self.base = None;
        }
        let mut view = report::begin(self.land.app, unit);
        let is_again = (self.is_tried)(&unit.commit);
        let stacked = self.land.stack(unit, is_again, &self.stack, &mut self.base, &mut view);
        self.moves.append(&mut self.land.upstreams.moves.borrow_mut());
        match stacked {
            Ok(Stacked::On { unit, judged, landing }) => {
                self.queue.stacked(place);
                self.stack.push(Candidate { place, unit: *unit, judged, landing: *landing, view });
            }
            Ok(Stacked::Decided) => {
                self.queue.decided(place);
                self.outcomes.push(Outcome { view, error: None });
            }
            Ok(Stacked::BaseStays(error)) => {
                let is_stopped = upstream::stops_all(&error);
                self.queue.decided(place);
                // All others would be told the same.
                let base = &unit.base;
                let same = |place: &usize| self.units.get(*place).is_some_and(|other| other.base == *base);
                for other in self.queue.waiting().filter(same).collect::<Vec<_>>() {
                    self.queue.decided(other);
                    self.not_tried.extend(self.units.get(other).cloned());
                }
                set_failure(&mut view, &error);
                self.outcomes.push(Outcome { view, error: Some(error) });
                return is_stopped;
            }
            // The work below it may be the cause, and may not land.
            Ok(Stacked::DoesNotFit) | Err(_) if !is_alone => self.queue.passed_over(place),
            Ok(Stacked::DoesNotFit) => self.queue.decided(place),
            Err(error) => {
                let is_stopped = upstream::stops_all(&error);
                self.queue.decided(place);
                set_failure(&mut view, &error);
                self.outcomes.push(Outcome { view, error: Some(error) });
                return is_stopped;
            }
        }
        false
    }

    /// Checks the stack at these heights. Returns whether every further landing is stopped.
    fn check(&mut self, heights: &[usize]) -> bool {
        let highest = heights.last().copied().unwrap_or_default();
        let (Some(base), Some(top)) = (&self.base, highest.checked_sub(1).and_then(|top| self.stack.get(top))) else {
            self.restack("its stack is gone");
            return false;
        };
        if top.candidate() == base.commit {
            self.queue.passed(highest);
            return false;
        }
        let tree = |height: &usize| -> Option<Tree<'_>> {
            let candidate = self.stack.get(height.checked_sub(1)?)?.candidate().to_owned();
            Some(Tree { stack: self.stack.iter().take(*height).map(|one| &one.unit).collect(), candidate })
        };
        let trees: Vec<Tree<'_>> = heights.iter().filter_map(tree).collect();
        let checked = self.land.checks.run(&trees, base);
        // The checks may have taken long.
        self.land.upstreams.forget();
        let Checked { green, red } = match checked {
            Ok(checked) => checked,
            Err(error) => {
                self.fail(|height| height < highest, error);
                return false;
            }
        };
        let height_of = |place: usize| heights.get(place).copied().unwrap_or(highest);
        let green = green.map(|(place, run)| (height_of(place), run));
        if let Some((count, run)) = &green {
            for height in 0..*count {
                if let Err(error) = self.record(height, run) {
                    self.fail(|other| other == height, error);
                    return false;
                }
            }
        }
        let below = green.as_ref().map_or(0, |(count, _)| *count);
        let is_stopped = red.is_some_and(|(place, run)| self.check_failed(height_of(place), below, run));
        if below > 0 {
            self.queue.passed(below);
        }
        is_stopped
    }

    /// Handles a failed check of the lowest `count` units, of which `below` pass. Returns whether every further landing
    /// is stopped.
    fn check_failed(&mut self, count: usize, below: usize, run: CheckRun) -> bool {
        match &run.verdict {
            // The part that passes lands first. Then the rest is checked again, and stops.
            Verdict::Stopped { .. } if below > 0 => {}
            Verdict::Stopped { stopped, place } if stopped.stops_all || place.is_some() || count == 1 => {
                let (stopped, height) = (stopped.clone(), place.unwrap_or_default());
                let is_stopped = stopped.stops_all;
                let error = match self.record(height, &run).and_then(|()| self.stopped(height, stopped)) {
                    Ok(refusal) => refusal.into(),
                    Err(error) => error,
                };
                self.fail(|other| other == height, error);
                return is_stopped;
            }
            Verdict::Passed | Verdict::Stopped { .. } | Verdict::Failed => {
                let names: Vec<String> =
                    self.stack.iter().take(count).skip(below).map(|one| one.unit.label()).collect();
                if let (Some(failure), true) = (run.failure(), names.len() > 1) {
                    (self.land.say)(&format!("{} fail together: {failure}; halving them", names.join(", ")));
                }
                self.red = Some(run);
                self.queue.failed(count);
            }
        }
        false
    }

    fn record(&mut self, height: usize, run: &CheckRun) -> Result<()> {
        if let Some(candidate) = self.stack.get_mut(height) {
            candidate.view.checks = self.land.checks.record(&candidate.unit, run)?.0;
        }
        Ok(())
    }

    fn stopped(&mut self, height: usize, stopped: StoppedLanding) -> Result<Refusal> {
        let Some(candidate) = self.stack.get_mut(height) else { return Ok(stopped.into()) };
        let stopped = StoppedLanding { of: candidate.unit.label(), ..stopped };
        finish::stopped(self.land.app, &mut candidate.landing, &stopped)?;
        Ok(stopped.into())
    }

    /// Sends the lowest unit back, which breaks a check on the base.
    fn send_back(&mut self) {
        let (run, base) = (self.red.take(), self.base.clone());
        let (Some(run), Some(base), Some(candidate)) = (run, base, self.stack.first_mut()) else {
            return self.restack("its checks are gone");
        };
        let error = match run.verdict {
            Verdict::Stopped { ref stopped, .. } => {
                let stopped = stopped.clone();
                self.stopped(0, stopped).map_or_else(|error| error, Into::into)
            }
            _ => self.land.breaks_check(candidate, &run, &base).map_or_else(|error| error, Into::into),
        };
        self.fail(|height| height == 0, error);
    }

    /// Lands the lowest `count` units. Returns whether every further landing is stopped.
    fn land(&mut self, count: usize) -> bool {
        if self.land.proposes {
            return self.propose(count);
        }
        let (Some(base), Some(step)) = (self.base.clone(), self.stack.get_mut(..count)) else {
            self.restack("its stack is gone");
            return false;
        };
        let note = match self.land.move_base(&base, step) {
            Ok(note) => note,
            Err(not_moved) => return self.not_moved(not_moved, base, count),
        };
        self.attempts = 0;
        let landed: Vec<Candidate> = self.stack.drain(..count).collect();
        self.queue.landed(count);
        if let Some(top) = landed.last() {
            self.base = Some(Base { commit: top.candidate().to_owned(), ..base });
        }
        let names: Vec<String> = landed.iter().map(|one| one.unit.label()).collect();
        let mut done = Vec::new();
        for mut candidate in landed {
            if names.len() > 1 {
                candidate.view.batch.clone_from(&names);
            }
            candidate.view.notes.extend(note.clone());
            match self.land.finish(&mut candidate) {
                Ok(()) => {
                    self.moves.push(Move::of(&candidate.unit, &candidate.landing));
                    done.push(candidate);
                }
                // The base contains the work: the next landing completes the record.
                Err(error) => {
                    self.queue.decided(candidate.place);
                    set_failure(&mut candidate.view, &error);
                    self.outcomes.push(Outcome { view: candidate.view, error: Some(error) });
                }
            }
        }
        for mut candidate in done {
            // When the base on this host lacks the work, the lane keeps it.
            if note.is_none() {
                finish::end_lane(self.land.app, &candidate.unit, &mut candidate.view);
            }
            let error = finish::close(self.land.app, &mut candidate.landing).err();
            self.outcomes.push(Outcome { view: candidate.view, error });
        }
        false
    }

    /// Proposes the lowest `count` units as pull requests. Returns whether every further landing is stopped.
    fn propose(&mut self, count: usize) -> bool {
        let checked: Vec<Candidate> = self.stack.drain(..count.min(self.stack.len())).collect();
        self.queue.landed(count);
        let mut is_stopped = false;
        for mut candidate in checked {
            let proposed = if is_stopped { Ok(()) } else { self.land.propose(&mut candidate) };
            if is_stopped {
                self.not_tried.push(candidate.unit.clone());
                self.land.give_up(&mut candidate, "it was not proposed");
                continue;
            }
            let error = proposed.err();
            if let Some(error) = &error {
                is_stopped = upstream::stops_all(error);
                set_failure(&mut candidate.view, error);
                self.land.give_up(&mut candidate, &error.to_string());
            }
            self.outcomes.push(Outcome { view: candidate.view, error });
        }
        // What is left was made on work that has not landed.
        self.restack("the work below it waits for its pull request");
        is_stopped
    }

    /// Handles a base that did not move. Returns whether every further landing is stopped.
    fn not_moved(&mut self, not_moved: NotMoved, base: Base, count: usize) -> bool {
        let is_again = matches!(not_moved, NotMoved::BaseMoved | NotMoved::Raced { .. });
        self.attempts = if is_again { self.attempts + 1 } else { 0 };
        if is_again && self.attempts < MAX_ATTEMPTS {
            self.restack("the base moved while its next commit was made");
            return false;
        }
        self.attempts = 0;
        match not_moved {
            NotMoved::BaseMoved => self.fail(|height| height == 0, Refusal::BaseMoved { base: base.name }.into()),
            NotMoved::Because(None, error) => self.fail(|height| height < count, error),
            NotMoved::Because(Some(own), error) => self.fail(|height| height == own, error),
            NotMoved::Raced { upstream } => {
                let refusal = Refusal::PushRaced { base: base.name, upstream, tries: MAX_ATTEMPTS };
                self.fail(|height| height < count, refusal.into());
                return true;
            }
            NotMoved::Remote(error) => {
                self.fail(|height| height < count, error);
                return true;
            }
        }
        false
    }

    /// Takes the stack apart: the failed units are decided, the others are stacked again later.
    fn fail(&mut self, is_failed: impl Fn(usize) -> bool, error: anyhow::Error) {
        let mut left = Some(error);
        let mut first: Option<LandingView> = None;
        for (height, mut candidate) in mem::take(&mut self.stack).into_iter().enumerate() {
            if !is_failed(height) {
                self.land.give_up(&mut candidate, "the work below it did not land");
                continue;
            }
            self.queue.decided(candidate.place);
            match (&left, &first) {
                (Some(error), _) => set_failure(&mut candidate.view, error),
                (None, Some(first)) => {
                    candidate.view.state = first.state;
                    candidate.view.error.clone_from(&first.error);
                }
                (None, None) => {}
            }
            let why = candidate.view.error.as_ref().map(|failure| failure.message.clone()).unwrap_or_default();
            self.land.give_up(&mut candidate, &why);
            first.get_or_insert_with(|| candidate.view.clone());
            self.outcomes.push(Outcome { view: candidate.view, error: left.take() });
        }
        self.queue.unstack();
        self.red = None;
    }

    /// Takes the whole stack apart, to stack it again.
    fn restack(&mut self, why: &str) {
        for mut candidate in mem::take(&mut self.stack) {
            self.land.give_up(&mut candidate, why);
        }
        self.queue.unstack();
        self.red = None;
    }
}

fn set_failure(view: &mut LandingView, error: &anyhow::Error) {
    if view.state == "failed" {
        view.state = report::state_of(error);
    }
    view.error = Some(errors::classify(error));
}
