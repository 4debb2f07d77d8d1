//! The search for the landings together with which work fails a check: the fewest of them, so that each is needed. Every
//! result rests on a run with exactly these landings.

use std::collections::BTreeSet;

/// The places of landings among those since the work left its base, the oldest first.
pub type Landings = BTreeSet<usize>;

/// The next run of the search, or its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CauseStep {
    /// Ask whether the work passes on the base with this number of the oldest landings, and with these ones.
    Work { oldest: usize, with: Landings },
    /// Ask whether these landings pass without the work.
    Others(Landings),
    /// The work fails without any of the landings.
    Alone,
    /// The work fails with these landings, and with no fewer.
    Together(Landings),
    /// The runs do not tell.
    Unknown,
}

/// A run of the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub landings: Landings,
    pub has_work: bool,
    pub passes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The work with the members alone.
    Members,
    /// The work with the members and all landings that may be needed too.
    Most,
    /// The same with some of the oldest landings. It passes with `passes` of them.
    Between { passes: usize },
    /// The members without the work.
    Others,
}

/// A search among the landings since the work left its base. With all of them the work fails.
#[derive(Debug, Clone)]
pub struct CauseSearch {
    /// The landing whose own check it is. The check may need its work.
    owner: Option<usize>,
    /// Whether it is a check of the work alone, which may need it and says nothing about the landings without it.
    is_own: bool,
    /// Landings that are needed.
    members: Landings,
    /// The fewest of the oldest landings with which, together with the members, the work fails.
    fails: usize,
    phase: Phase,
    result: Option<CauseStep>,
    runs: Vec<Run>,
}

impl CauseSearch {
    pub fn new(landings: usize, owner: Option<usize>, is_own: bool) -> Self {
        let (members, runs) = (Landings::new(), Vec::new());
        Self { owner, is_own, members, fails: landings, phase: Phase::Members, result: None, runs }
    }

    /// The next run, or the result. A repeated call gives the same one until [`Self::answered`] is called.
    pub fn next_step(&self) -> CauseStep {
        let with = self.members.clone();
        match (&self.result, self.phase) {
            (Some(result), _) => result.clone(),
            (None, Phase::Members) => CauseStep::Work { oldest: 0, with },
            (None, Phase::Most) => CauseStep::Work { oldest: self.fails, with },
            (None, Phase::Between { passes }) => CauseStep::Work { oldest: passes.midpoint(self.fails), with },
            (None, Phase::Others) => CauseStep::Others(with),
        }
    }

    /// Records whether the check passes in the run of [`Self::next_step`]. After the result it has no effect.
    pub fn answered(&mut self, is_green: bool) {
        let run = |landings, has_work| Run { landings, has_work, passes: is_green };
        match self.next_step() {
            // On the base may be more than its landings, so a failure there is not theirs.
            CauseStep::Work { oldest: 1.., .. } if !is_green => {}
            CauseStep::Work { oldest, with } => self.runs.push(run((0..oldest).chain(with).collect(), true)),
            CauseStep::Others(members) => self.runs.push(run(members, false)),
            CauseStep::Alone | CauseStep::Together(_) | CauseStep::Unknown => return,
        }
        match (self.phase, is_green) {
            (Phase::Members, true) if self.fails == 0 => self.result = Some(CauseStep::Unknown),
            (Phase::Members, true) if self.members.is_empty() => self.between(0),
            (Phase::Members, true) => self.phase = Phase::Most,
            (Phase::Members, false) if !self.members.is_empty() => self.phase = Phase::Others,
            (Phase::Members, false) => match self.owner {
                Some(owner) => {
                    self.members.insert(owner);
                }
                None => self.result = Some(CauseStep::Alone),
            },
            // Something else than the landings came into the base.
            (Phase::Most, true) => self.result = Some(CauseStep::Unknown),
            (Phase::Most, false) => self.between(0),
            (Phase::Between { passes }, true) => self.between(passes.midpoint(self.fails)),
            (Phase::Between { passes }, false) => {
                self.fails = passes.midpoint(self.fails);
                self.between(passes);
            }
            (Phase::Others, is_green) => {
                let is_told = is_green || self.is_own;
                let together = CauseStep::Together(self.members.clone());
                self.result = Some(if is_told { together } else { CauseStep::Unknown });
            }
        }
    }

    /// Goes on between `passes` and `fails`. The last one of the fewest that fail is needed, and perhaps some before it.
    fn between(&mut self, passes: usize) {
        self.phase = Phase::Between { passes };
        if passes + 1 >= self.fails {
            self.members.insert(passes);
            (self.fails, self.phase) = (passes, Phase::Members);
        }
    }

    /// The runs that say something about the result: with no other landings than its members. A check that may need some work
    /// says nothing without it.
    pub fn runs(&self) -> Vec<Run> {
        let needs = self.owner.filter(|owner| self.members.contains(owner));
        let tells = |run: &&Run| {
            run.landings.is_subset(&self.members)
                && needs.is_none_or(|owner| run.landings.contains(&owner))
                && (run.has_work || run.passes || !self.is_own)
        };
        let mut told: Vec<Run> = Vec::new();
        for run in self.runs.iter().filter(tells) {
            told.retain(|known| known != run);
            told.push(run.clone());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a check needs, and what breaks it.
    #[derive(Clone, Default)]
    struct Check {
        /// The work breaks it with all of these; `None`: by itself.
        breaks: Option<Landings>,
        /// A landing without which it fails.
        needs: Option<usize>,
        /// Landings that break it without the work.
        red: Option<Landings>,
        /// Something else in the base breaks it, from this number of landings on.
        other: Option<usize>,
    }

    impl Check {
        fn passes(&self, oldest: usize, landings: &Landings, has_work: bool) -> bool {
            let has = |set: &Option<Landings>| set.as_ref().is_some_and(|set| set.is_subset(landings));
            self.needs.is_none_or(|needed| landings.contains(&needed))
                && !has(&self.red)
                && !(has_work && (has(&self.breaks) || self.other.is_some_and(|from| oldest >= from)))
        }
    }

    fn search(landings: usize, check: &Check) -> (CauseStep, CauseSearch, usize) {
        let mut search = CauseSearch::new(landings, check.needs, false);
        for count in 0..1000 {
            let is_green = match search.next_step() {
                CauseStep::Work { oldest, with } => check.passes(oldest, &(0..oldest).chain(with).collect(), true),
                CauseStep::Others(landings) => check.passes(0, &landings, false),
                result => return (result, search, count),
            };
            search.answered(is_green);
        }
        unreachable!("no end")
    }

    /// All sets of up to three landings.
    fn sets(landings: usize) -> Vec<Landings> {
        let mut sets = vec![Landings::new()];
        for one in 0..landings {
            for other in one..landings {
                sets.extend((other..landings).map(|third| [one, other, third].into()));
            }
        }
        sets.sort();
        sets.dedup();
        sets
    }

    #[test]
    fn every_set_is_found_with_all_of_its_members_and_nothing_is_said_that_no_run_shows() {
        for landings in 0..9_usize {
            for breaks in sets(landings) {
                for needs in [None].into_iter().chain((0..landings).map(Some)) {
                    let check = Check { breaks: Some(breaks.clone()), needs, ..Check::default() };
                    let (result, search, count) = search(landings, &check);
                    let mut all = breaks.clone();
                    all.extend(needs);
                    let expected = if all.is_empty() { CauseStep::Alone } else { CauseStep::Together(all.clone()) };
                    assert_eq!(result, expected, "{landings} {needs:?}");
                    let halves = usize::try_from(landings.max(1).next_power_of_two().ilog2()).unwrap();
                    assert!(count <= 2 + all.len() * (2 + halves), "{landings} {all:?}: {count}");
                    for run in search.runs() {
                        assert_eq!(run.passes, check.passes(0, &run.landings, run.has_work), "{run:?}");
                        assert!(run.landings.is_subset(&all), "{run:?} {all:?}");
                    }
                    let last = |has_work| search.runs().into_iter().rfind(|run| run.has_work == has_work);
                    if !all.is_empty() {
                        assert_eq!(last(true), Some(Run { landings: all.clone(), has_work: true, passes: false }));
                        assert_eq!(last(false), Some(Run { landings: all, has_work: false, passes: true }));
                    }
                }
            }
        }
    }

    #[test]
    fn landings_that_are_red_by_themselves_and_other_commits_of_the_base_are_no_half_of_anything() {
        for landings in 1..9 {
            for red in sets(landings).into_iter().filter(|red| !red.is_empty()) {
                let check = Check { breaks: Some(red.clone()), red: Some(red), ..Check::default() };
                assert_eq!(search(landings, &check).0, CauseStep::Unknown);
            }
            for other in 1..=landings {
                let check = Check { other: Some(other), ..Check::default() };
                let (result, search, count) = search(landings, &check);
                assert_eq!(result, CauseStep::Unknown);
                assert!(count <= 7, "{landings} {other}: {count}");
                assert!(search.runs().iter().all(|run| run.passes));
            }
        }
    }

    #[test]
    fn check_of_the_work_alone_says_nothing_about_others_without_it() {
        let mut search = CauseSearch::new(1, None, true);
        // Alone, with the landing, and the landing without the work.
        for (is_green, has_work) in [(true, true), (false, true), (false, false)] {
            assert_eq!(matches!(search.next_step(), CauseStep::Work { .. }), has_work);
            search.answered(is_green);
        }
        assert_eq!(search.next_step(), CauseStep::Together([0].into()));
        assert!(search.runs().iter().all(|run| run.has_work));
    }
}
