//! The expectation of claims: who may claim, in which order, and how a claim is continued.

use super::mutant::Mutant;
use super::operation::{TASKS, Who};
use super::reference::{Expected, Model, is_in_lane};

impl Model {
    pub(super) fn may_claim(&self, who: Who) -> Expected {
        match who {
            Who::Session(number) if self.sessions[number].is_final() && !self.is(Mutant::DeadClaim) => {
                Err("session_final")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_expired(&self, task: usize) -> bool {
        let grace = i64::from(self.is(Mutant::LeaseOneMore));
        self.tasks[task].lease.is_some_and(|(until, _)| until + grace <= self.now) && !self.is(Mutant::LeaseForEver)
    }

    pub(super) fn claim(&mut self, who: Who, number: usize, lease: Option<u32>, steal: bool) -> Expected {
        let expired = self.is_expired(number);
        let two = self.is(Mutant::TwoWinners);
        let steal = steal && (expired || !self.is(Mutant::StealWaits));
        let waits = self.waits(number);
        let continues = !steal && self.continues(who, number);
        let task = &self.tasks[number];
        match (task.status, task.holder) {
            ("done" | "cancelled", _) => return Err("wrong_state"),
            (_, Some(holder)) if steal && holder == who => return Err("already_yours"),
            (_, Some(_)) if steal || continues || expired => {}
            (_, Some(holder)) if holder == who => return Err("already_yours"),
            (_, Some(_)) if !two => return Err("already_claimed"),
            _ => {}
        }
        if waits {
            return Err("deps_open");
        }
        if continues {
            self.go_on(who, number, lease);
        } else {
            self.hold(who, number, lease, (who != Who::Person).then_some(true));
        }
        Ok(())
    }

    /// The candidates of a claim without an id: tasks of dead sessions of the lane, ready ones, expired ones.
    pub(super) fn next_tasks(&self, who: Who) -> Vec<usize> {
        let all = || 0..TASKS.len();
        let mut order = Vec::new();
        for status in ["in_progress", "blocked", "review"] {
            order.extend(all().filter(|task| self.tasks[*task].status == status && self.continues(who, *task)));
        }
        if self.is(Mutant::DeadPassedOver) {
            order.clear();
        }
        let is_ready = |task: &usize| self.tasks[*task].status == "todo";
        if is_in_lane(who) {
            order.extend(all().filter(is_ready).filter(|task| self.tasks[*task].lane));
            order.extend(all().filter(is_ready).filter(|task| !self.tasks[*task].lane));
        } else {
            order.extend(all().filter(is_ready));
        }
        order.extend(all().filter(|task| self.is_expired(*task)));
        order
    }

    pub(super) fn is_closed(&self, task: usize) -> bool {
        matches!(self.tasks[task].status, "done" | "cancelled")
    }

    /// Whether a claim goes on with that of a dead session of the same lane.
    pub(super) fn continues(&self, who: Who, number: usize) -> bool {
        let task = &self.tasks[number];
        let Some(Who::Session(holder)) = task.holder.filter(|holder| *holder != who) else { return false };
        let is_over = self.sessions[holder].is_final() || self.is(Mutant::LivingContinued);
        let is_home = (is_in_lane(who) && task.made_in_lane) || self.is(Mutant::StrangerContinues);
        who != Who::Person && is_over && is_home
    }

    /// The claim of a dead session goes on: state, lane and what was recorded stay.
    pub(super) fn go_on(&mut self, who: Who, number: usize, lease: Option<u32>) {
        let before = self.tasks[number].clone();
        self.hold(who, number, lease, Some(true));
        let (forgets, drops) = (self.is(Mutant::ContinuedForgetsEvidence), self.is(Mutant::ContinuedForgetsHandoff));
        let resets = self.is(Mutant::ContinuedForgetsState);
        let task = &mut self.tasks[number];
        if before.status != "in_progress" && !resets {
            (task.status, task.lease) = (before.status, None);
        }
        if !forgets {
            task.claimed = before.claimed;
        }
        if !drops {
            task.first_epoch = before.first_epoch;
        }
        (task.lane, task.assigned) = (before.lane, before.assigned);
    }

    pub(super) fn hold(&mut self, who: Who, number: usize, lease: Option<u32>, role: Option<bool>) {
        let step = i64::from(!(self.is(Mutant::EpochStays) && self.tasks[number].holder.is_some()));
        let (now, home) = (self.now, is_in_lane(who));
        let task = &mut self.tasks[number];
        let was_assigned = task.holder.is_some() && task.assigned;
        // A person who takes over finds the work in the lane.
        if !(was_assigned && who == Who::Person) {
            let stays = task.lane && !was_assigned;
            (task.lane, task.assigned) = (stays || home, !stays && home);
        }
        task.made_in_lane = home;
        task.status = "in_progress";
        task.holder = Some(who);
        task.role = role;
        task.claimed = now;
        task.epoch += step;
        task.first_epoch = task.epoch;
        task.lease = lease.map(|seconds| (now + i64::from(seconds) * 1_000, i64::from(seconds) * 1_000));
        task.latest.insert(who, task.epoch);
        task.last = Some(("claim", who));
    }

    /// `c` waits until `a` is done.
    pub(super) fn waits(&self, number: usize) -> bool {
        let satisfied = match self.tasks[0].status {
            "done" => !self.is(Mutant::DependencyForEver),
            "cancelled" => self.is(Mutant::CancelledSatisfies),
            _ => false,
        };
        number == 2 && !satisfied && !self.is(Mutant::DependenciesIgnored)
    }
}
