//! Agents that claim, work and submit, and one person who reviews, minute by minute. The rule for a claim is Fairway's own.

use std::collections::VecDeque;

use fairway_core::domain::TaskId;
use fairway_core::domain::review::OpenReview;
use fairway_core::domain::rules::review::check_capacity;

/// What is simulated. Each agent has a lane of its own, and claims the next task as soon as it has submitted one.
#[derive(Debug, Clone, Copy)]
pub struct Day {
    pub agents: usize,
    /// `[review] capacity`.
    pub capacity: u32,
    /// How many minutes it lasts.
    pub minutes: u64,
}

impl Day {
    /// A long day.
    pub fn of(agents: usize, capacity: u32) -> Self {
        Self { agents, capacity, minutes: 20_000 }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    pub landed: usize,
    pub most_open: usize,
}

/// Minutes of work on a task, of its rework, and of a review.
const WORK: (u64, u64) = (10, 50);
const REWORK: (u64, u64) = (5, 25);
const REVIEW: (u64, u64) = (5, 25);
/// Of so many reviews in ten, the work is sent back.
const SENT_BACK: u64 = 3;

struct Numbers(u64);

impl Numbers {
    fn between(&mut self, (least, most): (u64, u64)) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (self.0 >> 33) % (most - least + 1)
    }
}

#[derive(Debug, Clone, Default)]
struct Agent {
    /// When its work is done; `None` while it has none.
    until: Option<u64>,
    /// Whether that is rework.
    is_rework: bool,
    /// How many of its tasks were sent back and wait for it.
    sent_back: usize,
}

/// Simulates a day.
pub fn run(day: Day) -> Outcome {
    let mut numbers = Numbers(29);
    let mut agents = vec![Agent::default(); day.agents];
    // The open reviews, oldest first, by the agent whose work it is.
    let mut open: VecDeque<usize> = VecDeque::new();
    let mut reviewed_at = None;
    let mut outcome = Outcome::default();
    for now in 0..day.minutes {
        for (name, agent) in agents.iter_mut().enumerate() {
            if agent.until == Some(now) {
                (agent.until, agent.is_rework) = (None, false);
                open.push_back(name);
            }
        }
        if reviewed_at == Some(now) {
            reviewed_at = None;
            let author = open.pop_front().unwrap_or_default();
            if numbers.between((1, 10)) <= SENT_BACK {
                agents[author].sent_back += 1;
            } else {
                outcome.landed += 1;
            }
        }
        if reviewed_at.is_none() && !open.is_empty() {
            reviewed_at = Some(now + numbers.between(REVIEW));
        }
        outcome.most_open = outcome.most_open.max(open.len());
        // Work that was sent back counts as under review, as Fairway counts it.
        let reworked = |agents: &[Agent]| -> usize {
            agents.iter().map(|agent| agent.sent_back + usize::from(agent.is_rework)).sum()
        };
        for name in 0..agents.len() {
            // More than the limit say no more than the limit does.
            let count = (open.len() + reworked(&agents)).min(usize::try_from(day.capacity).unwrap());
            let reviews: Vec<OpenReview> = (0..count).map(|_| open_review()).collect();
            let agent = &mut agents[name];
            if agent.until.is_some() {
                continue;
            }
            if agent.sent_back > 0 {
                (agent.sent_back, agent.is_rework) = (agent.sent_back - 1, true);
                agent.until = Some(now + numbers.between(REWORK));
            } else if check_capacity(day.capacity, &reviews).is_ok() {
                agent.until = Some(now + numbers.between(WORK));
            }
        }
    }
    outcome
}

fn open_review() -> OpenReview {
    OpenReview { task: TaskId::parse("T-2").unwrap(), waits_for: Vec::new() }
}
