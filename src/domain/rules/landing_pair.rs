//! The search for the work with which other work breaks: both pass a check alone, and fail it together.

/// The next question of the search, or its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStep {
    /// Ask whether the work passes on the base with this number of the landings.
    Work { below: usize },
    /// Ask whether the base passes with this number of the landings, without the work.
    Base { below: usize },
    /// The work fails without any of them.
    Nothing,
    /// The work fails with the landing at this place.
    Landing(usize),
    /// The checks do not tell which landing it is.
    Unknown,
}

/// A search among the landings since the work left the base, the oldest first. With all of them the work fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairSearch {
    /// The most landings with which the work passes; `None` until it is known to pass without any.
    passes: Option<usize>,
    /// The fewest landings with which it fails.
    fails: usize,
    /// Whether the base with those landings passes without the work.
    is_base_green: Option<bool>,
}

impl PairSearch {
    /// Starts a search that knows one fact only: the work fails on a base with all of these landings.
    pub const fn new(landings: usize) -> Self {
        Self { passes: None, fails: landings, is_base_green: None }
    }

    /// The next question, or the result. A repeated call gives the same one until [`Self::answered`] is called.
    pub const fn next_step(&self) -> PairStep {
        match (self.passes, self.is_base_green) {
            (None, _) if self.fails == 0 => PairStep::Nothing,
            (None, _) => PairStep::Work { below: 0 },
            (Some(passes), _) if passes + 1 < self.fails => PairStep::Work { below: passes.midpoint(self.fails) },
            // Inside of a batch a commit of the base may be red by itself.
            (Some(_), None) => PairStep::Base { below: self.fails },
            (Some(passes), Some(true)) => PairStep::Landing(passes),
            (Some(_), Some(false)) => PairStep::Unknown,
        }
    }

    /// Records the answer to the question of [`Self::next_step`]: whether the checks pass. After the result it has no effect.
    pub const fn answered(&mut self, passes: bool) {
        match self.next_step() {
            PairStep::Work { below } if passes => self.passes = Some(below),
            PairStep::Work { below } => self.fails = below,
            PairStep::Base { .. } => self.is_base_green = Some(passes),
            PairStep::Nothing | PairStep::Landing(_) | PairStep::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a search, and the number of its checks. The work breaks with the landing at `other`, or alone; the base is red
    /// with the landings below `red`.
    fn search(landings: usize, other: Option<usize>, red: Option<usize>) -> (PairStep, usize) {
        let mut search = PairSearch::new(landings);
        for checks in 0.. {
            let step = search.next_step();
            let is_red = |below: usize| red == Some(below);
            match step {
                PairStep::Work { below } => {
                    search.answered(!is_red(below) && other.is_some_and(|other| below <= other));
                }
                PairStep::Base { below } => search.answered(!is_red(below)),
                _ => return (step, checks),
            }
        }
        unreachable!()
    }

    #[test]
    fn the_other_half_is_found_among_any_number_of_landings_and_nothing_is_blamed_for_work_that_fails_alone() {
        for landings in 1..40_usize {
            assert_eq!(search(landings, None, None), (PairStep::Nothing, 1));
            for other in 0..landings {
                let (found, checks) = search(landings, Some(other), None);
                assert_eq!(found, PairStep::Landing(other), "{landings}");
                // The work alone, the halves, and the base alone.
                let halves = usize::try_from(landings.next_power_of_two().ilog2()).unwrap();
                assert!(checks <= 2 + halves, "{landings} {other}: {checks}");
            }
        }
        // No landing since: it is the work.
        assert_eq!(search(0, None, None), (PairStep::Nothing, 0));
    }

    #[test]
    fn a_commit_of_the_base_that_is_red_by_itself_is_not_blamed() {
        for landings in 1..12 {
            for other in 0..landings {
                for red in 1..landings {
                    let (found, _) = search(landings, Some(other), Some(red));
                    assert!([PairStep::Landing(other), PairStep::Unknown].contains(&found), "{landings} {other} {red}");
                }
            }
        }
    }
}
