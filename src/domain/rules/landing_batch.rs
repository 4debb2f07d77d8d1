//! Batches of landings: work is stacked on its base, and one check decides a whole stack. A stack that fails is halved until the
//! work that breaks it is alone.

use std::collections::BTreeSet;

/// Work that is to land. Its place in the list is its place in the order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchItem {
    /// The base. A stack is on one base.
    pub base: String,
    /// The places of the items that must be decided before it, or be below it on the stack.
    pub depends_on: Vec<usize>,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStep {
    /// Put the item of this place on the stack. Then comes [`BatchQueue::stacked`], [`BatchQueue::passed_over`] or
    /// [`BatchQueue::decided`].
    Stack(usize),
    /// Check the tree of so many items, the lowest first. Then comes [`BatchQueue::passed`] or [`BatchQueue::failed`].
    Check(usize),
    /// Move the base to the commit of so many items. Then comes [`BatchQueue::landed`].
    Land(usize),
    /// The item of this place, the lowest, breaks the base. Then comes [`BatchQueue::decided`].
    SendBack(usize),
    /// Everything is decided.
    Done,
}

/// What is known about the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StackState {
    /// More may come onto it.
    Open,
    /// Nothing was checked yet.
    Unchecked,
    /// The tree of so many items fails, and the base passes.
    Red(usize),
    /// The tree of so many items passes.
    Green { count: usize, red: Option<usize> },
}

/// The work of one pass: what waits, what is stacked, and what a check has said about the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchQueue {
    items: Vec<BatchItem>,
    max: usize,
    /// The places that are neither decided nor on the stack.
    waiting: BTreeSet<usize>,
    /// Those that do not fit on this stack. They come first when it is decided.
    passed_over: BTreeSet<usize>,
    /// The places on the stack, the lowest first.
    places: Vec<usize>,
    state: StackState,
}

impl BatchQueue {
    /// Nothing is decided yet. A stack has at most `max` items.
    pub fn new(items: Vec<BatchItem>, max: usize) -> Self {
        let waiting = (0..items.len()).collect();
        let (passed_over, places) = (BTreeSet::new(), Vec::new());
        Self { items, max: max.max(1), waiting, passed_over, places, state: StackState::Open }
    }

    /// The places on the stack, the lowest first.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The places that are neither decided nor on the stack.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().copied()
    }

    /// What is to be done next. It stays the same until it is done.
    pub fn next_step(&mut self) -> BatchStep {
        if self.state == StackState::Open {
            match self.next_to_stack() {
                Some(place) => return BatchStep::Stack(place),
                None if self.places.is_empty() => return BatchStep::Done,
                None => self.state = StackState::Unchecked,
            }
        }
        match (self.state, self.places.first()) {
            (StackState::Green { count, .. }, _) => BatchStep::Land(count),
            // Its tree was checked, and the base below it passes: a second check would say the same.
            (StackState::Red(1), Some(place)) => BatchStep::SendBack(*place),
            (StackState::Red(count), _) => BatchStep::Check(count / 2),
            (StackState::Open | StackState::Unchecked, _) => BatchStep::Check(self.places.len()),
        }
    }

    fn next_to_stack(&self) -> Option<usize> {
        if self.places.len() >= self.max {
            return None;
        }
        let base = |place: &usize| self.items.get(*place).map(|item| &item.base);
        let own = self.places.first().map(base);
        let is_decided = |place: &usize| !self.waiting.contains(place);
        let fits = |place: &&usize| {
            let depends_on = self.items.get(**place).map(|item| item.depends_on.as_slice()).unwrap_or_default();
            !self.passed_over.contains(place)
                && own.is_none_or(|own| own == base(place))
                && depends_on.iter().all(is_decided)
        };
        let next = self.waiting.iter().find(fits);
        // Items that wait for each other come in their order.
        let first = || self.waiting.first().filter(|_| self.places.is_empty());
        next.or_else(first).copied()
    }

    /// The item lies on the stack.
    pub fn stacked(&mut self, place: usize) {
        if self.waiting.remove(&place) {
            self.places.push(place);
        }
    }

    /// The item does not fit on what is stacked: it is tried again when the stack is decided.
    pub fn passed_over(&mut self, place: usize) {
        self.passed_over.insert(place);
    }

    /// The item has landed in another way, or does not land. Those on the stack are stacked again without it.
    pub fn decided(&mut self, place: usize) {
        self.waiting.remove(&place);
        if self.places.contains(&place) {
            self.unstack();
            self.waiting.remove(&place);
        }
    }

    /// The tree of so many items passes its checks.
    pub fn passed(&mut self, count: usize) {
        let red = if let StackState::Red(red) = self.state { Some(red) } else { None };
        self.state = StackState::Green { count, red };
    }

    /// The tree of so many items fails a check that the base passes.
    pub fn failed(&mut self, count: usize) {
        self.state = StackState::Red(count);
    }

    /// The base has so many items.
    pub fn landed(&mut self, count: usize) {
        self.places.drain(..count.min(self.places.len()));
        let red = if let StackState::Green { red, .. } = self.state { red } else { None };
        self.state = match red.and_then(|red| red.checked_sub(count)).filter(|red| *red > 0) {
            _ if self.places.is_empty() => StackState::Open,
            Some(red) => StackState::Red(red),
            None => StackState::Unchecked,
        };
        if self.places.is_empty() {
            self.passed_over.clear();
        }
    }

    /// The base has moved, or the stack has lost an item: all of it is stacked again.
    pub fn unstack(&mut self) {
        self.waiting.extend(self.places.drain(..));
        self.passed_over.clear();
        self.state = StackState::Open;
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// A queue, and what its work does on a merged tree.
    #[derive(Debug, Clone, Default)]
    struct World {
        count: usize,
        /// They fail alone.
        bad: BTreeSet<usize>,
        /// Pairs that fail only together.
        breaking: Vec<(usize, usize)>,
        /// Pairs that do not merge.
        conflicts: Vec<(usize, usize)>,
        /// The second needs the first.
        needs: Vec<(usize, usize)>,
        /// The runs of a check that fail by chance, by number. None of them follows another.
        flakes: Vec<usize>,
        is_base_red: bool,
        /// The moves of the base before which another command moves it.
        moved: BTreeSet<usize>,
    }

    #[derive(Debug, Default, PartialEq, Eq)]
    struct Outcome {
        landed: Vec<usize>,
        blamed: BTreeSet<usize>,
        conflicting: BTreeSet<usize>,
        /// Needs what did not land.
        not_ready: BTreeSet<usize>,
        /// Red base: nothing more is tried.
        is_stopped: bool,
        checks: usize,
    }

    impl World {
        fn has(pairs: &[(usize, usize)], set: &[usize], with: usize) -> bool {
            let is_in = |place: usize| place == with || set.contains(&place);
            let is_it =
                |(one, other): &(usize, usize)| (*one == with || *other == with) && is_in(*one) && is_in(*other);
            pairs.iter().any(is_it)
        }

        /// Whether the tree of the base with these is red.
        fn is_red(&self, set: &[usize]) -> bool {
            let both = |(one, other): &(usize, usize)| set.contains(one) && set.contains(other);
            self.is_base_red || set.iter().any(|one| self.bad.contains(one)) || self.breaking.iter().any(both)
        }

        fn lacks_need(&self, set: &[usize], place: usize) -> bool {
            self.needs.iter().any(|(first, second)| *second == place && !set.contains(first))
        }

        /// A check, which runs once more when it fails.
        fn check(&self, set: &[usize], runs: &mut usize) -> bool {
            (0..2).any(|_| {
                *runs += 1;
                !self.is_red(set) && !self.flakes.contains(runs)
            })
        }

        /// One after the other, each with its own check.
        fn one_by_one(&self) -> Outcome {
            let mut result = Outcome::default();
            for place in 0..self.count {
                let with: Vec<usize> = result.landed.iter().copied().chain([place]).collect();
                if self.lacks_need(&result.landed, place) {
                    result.not_ready.insert(place);
                } else if Self::has(&self.conflicts, &result.landed, place) {
                    result.conflicting.insert(place);
                } else {
                    result.checks += 1;
                    match (self.is_red(&with), self.is_base_red) {
                        (true, true) => {
                            result.is_stopped = true;
                            return result;
                        }
                        (true, false) => result.blamed.extend([place]),
                        (false, _) => result.landed.push(place),
                    }
                }
            }
            result
        }

        /// The queue, and what must hold at each of its steps.
        fn batches(&self, max: usize) -> Outcome {
            let item = |place: usize| {
                let needs = self.needs.iter().filter(|(_, second)| *second == place);
                BatchItem { base: "main".to_owned(), depends_on: needs.map(|(first, _)| *first).collect() }
            };
            let mut queue = BatchQueue::new((0..self.count).map(item).collect(), max);
            let (mut result, mut runs, mut moves) = (Outcome::default(), 0, 0);
            let mut seen: Option<Vec<usize>> = None;
            for _ in 0..self.count * 40 + 40 {
                let step = queue.next_step();
                assert_eq!(step, queue.next_step());
                assert!(queue.places().len() <= max);
                let tree = |count: usize| [&result.landed[..], &queue.places()[..count]].concat();
                match step {
                    BatchStep::Done => {
                        assert_eq!(queue.waiting().count(), 0);
                        return result;
                    }
                    BatchStep::Stack(place) => {
                        let (below, is_alone) = (tree(queue.places().len()), queue.places().is_empty());
                        if self.lacks_need(&below, place) {
                            if is_alone {
                                result.not_ready.insert(place);
                                queue.decided(place);
                            } else {
                                queue.passed_over(place);
                            }
                        } else if !Self::has(&self.conflicts, &below, place) {
                            queue.stacked(place);
                        } else if is_alone {
                            result.conflicting.insert(place);
                            queue.decided(place);
                        } else {
                            queue.passed_over(place);
                        }
                    }
                    BatchStep::Check(count) => {
                        assert!(count > 0 && count <= queue.places().len());
                        result.checks += 1;
                        let tree = tree(count);
                        if self.check(&tree, &mut runs) {
                            seen = Some(tree);
                            queue.passed(count);
                        } else if self.is_base_red {
                            result.is_stopped = true;
                            return result;
                        } else {
                            queue.failed(count);
                        }
                    }
                    BatchStep::Land(count) => {
                        moves += 1;
                        if self.moved.contains(&moves) {
                            queue.unstack();
                            continue;
                        }
                        let tree = tree(count);
                        assert_eq!(seen.as_ref(), Some(&tree), "landed what no check saw");
                        assert!(!self.is_red(&tree), "the base is red");
                        result.landed = tree;
                        queue.landed(count);
                    }
                    BatchStep::SendBack(place) => {
                        assert_eq!(queue.places()[0], place);
                        assert!(self.is_red(&tree(1)) && !self.is_red(&result.landed), "{place} is blamed for others");
                        result.blamed.insert(place);
                        queue.decided(place);
                    }
                }
            }
            panic!("it does not end: {self:?} {queue:?}");
        }
    }

    fn pairs(max: usize) -> impl Strategy<Value = Vec<(usize, usize)>> {
        let pair = (0..12_usize, 0..12_usize).prop_filter("two", |(one, other)| one != other);
        vec(pair, 0..max)
    }

    fn worlds() -> impl Strategy<Value = World> {
        let parts = (1..12_usize, vec(0..12_usize, 0..4), pairs(4), pairs(5), pairs(3));
        let chance = (vec(1..30_usize, 0..3), prop::bool::weighted(0.1), vec(1..6_usize, 0..3));
        (parts, chance).prop_map(|((count, bad, breaking, conflicts, needs), (flakes, is_base_red, moved))| {
            let inside = |pairs: Vec<(usize, usize)>| -> Vec<(usize, usize)> {
                pairs.into_iter().filter(|(one, other)| *one < count && *other < count).collect()
            };
            // A flake of the second run would be a failure.
            let mut flakes: Vec<usize> = flakes.into_iter().map(|run| run * 2).collect();
            flakes.dedup();
            World {
                count,
                bad: bad.into_iter().filter(|one| *one < count).collect(),
                breaking: inside(breaking),
                conflicts: inside(conflicts),
                needs: inside(needs).into_iter().map(|(one, other)| (one.min(other), one.max(other))).collect(),
                flakes,
                is_base_red,
                moved: moved.into_iter().collect(),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn random_queues_land_what_was_checked_and_blame_only_what_breaks(world in worlds(), max in 1..6_usize) {
            let result = world.batches(max);
            let decided = result.landed.len() + result.blamed.len() + result.conflicting.len() + result.not_ready.len();
            prop_assert!(result.is_stopped || decided == world.count);
            prop_assert!(!world.is_base_red || result.landed.is_empty() && result.blamed.is_empty());
            for place in &result.conflicting {
                prop_assert!(World::has(&world.conflicts, &result.landed, *place), "{place} is blamed for what did not land");
            }
            let serial = world.one_by_one();
            // Each stack of one is what was done before there were stacks.
            let is_alone = max == 1 && world.moved.is_empty();
            if is_alone {
                prop_assert_eq!(&result, &serial);
            }
            // Without conflicts and needs nothing is passed over, and the same lands.
            if world.conflicts.is_empty() && world.needs.is_empty() {
                prop_assert_eq!((&result.landed, &result.blamed), (&serial.landed, &serial.blamed));
            }
        }
    }

    #[test]
    fn red_stack_is_halved_and_what_was_checked_is_not_checked_again() {
        let world = World { count: 4, bad: BTreeSet::from([3]), ..World::default() };
        let mut queue = BatchQueue::new(vec![BatchItem::default(); 4], 4);
        let mut steps = Vec::new();
        let mut landed = 0;
        loop {
            let step = queue.next_step();
            steps.push(step);
            match step {
                BatchStep::Stack(place) => queue.stacked(place),
                BatchStep::Check(count) if landed + count == 4 => queue.failed(count),
                BatchStep::Check(count) => queue.passed(count),
                BatchStep::Land(count) => {
                    landed += count;
                    queue.landed(count);
                }
                BatchStep::SendBack(place) => queue.decided(place),
                BatchStep::Done => break,
            }
        }
        // The last one was part of the first check, and is not checked alone.
        let expected = [
            BatchStep::Check(4),
            BatchStep::Check(2),
            BatchStep::Land(2),
            BatchStep::Check(1),
            BatchStep::Land(1),
            BatchStep::SendBack(3),
            BatchStep::Done,
        ];
        assert_eq!(steps, [&[0, 1, 2, 3].map(BatchStep::Stack)[..], &expected].concat());
        assert_eq!(world.batches(4).checks, 3);
    }

    #[test]
    fn stacks_are_of_one_base_and_pass_over_what_does_not_fit() {
        let item =
            |base: &str, depends_on: &[usize]| BatchItem { base: base.to_owned(), depends_on: depends_on.to_vec() };
        // 1 is of another base, and 2 depends on it.
        let items =
            vec![item("main", &[]), item("next", &[]), item("main", &[1]), item("main", &[]), item("main", &[])];
        let mut queue = BatchQueue::new(items, 4);
        assert_eq!(queue.next_step(), BatchStep::Stack(0));
        queue.stacked(0);
        assert_eq!(queue.next_step(), BatchStep::Stack(3));
        queue.passed_over(3);
        assert_eq!(queue.next_step(), BatchStep::Stack(4));
        queue.stacked(4);
        assert_eq!(queue.next_step(), BatchStep::Check(2));
        queue.passed(2);
        queue.landed(2);
        assert_eq!(queue.next_step(), BatchStep::Stack(1));
        queue.decided(1);
        assert_eq!(queue.next_step(), BatchStep::Stack(2));
        queue.stacked(2);
        // It comes back before others.
        assert_eq!(queue.next_step(), BatchStep::Stack(3));
        // Items that wait for each other do not hold up the queue.
        let mut queue = BatchQueue::new(vec![item("main", &[1]), item("main", &[0])], 4);
        assert_eq!(queue.next_step(), BatchStep::Stack(0));
    }

    /// A queue of 50 with 10 % that fail and 8 % that conflict needs 46 checks one by one.
    #[test]
    fn batches_of_four_need_two_thirds_of_the_checks() {
        let mut state = 1_u64;
        let mut chance = |percent: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        };
        let (mut batches, mut serial) = (0, 0);
        for _ in 0..200 {
            let mut world = World { count: 50, ..World::default() };
            for place in 0..50 {
                if chance(8) {
                    // With the base: a pair of itself never merges.
                    world.conflicts.push((place, place));
                } else if chance(10) {
                    world.bad.insert(place);
                }
            }
            let result = world.batches(4);
            batches += result.checks;
            serial += world.one_by_one().checks;
        }
        assert!((44..48).contains(&(serial / 200)), "{serial}");
        // The design's figure is 4.6 h of 10 minutes each.
        assert!(batches / 200 <= 29, "{batches}");
    }
}
