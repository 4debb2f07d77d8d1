//! Batches of landings: work is stacked on its base, and one check decides a whole stack. A stack that fails is halved until the
//! work that breaks it is alone. With a width, trees of several heights are checked at once.

use std::collections::BTreeSet;

/// Work that is to land. Its place in the list is its place in the order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchItem {
    /// The base. A stack is on one base.
    pub base: String,
    /// The places of the items that must be decided before this one, or lie below it on the stack.
    pub depends_on: Vec<usize>,
}

/// How much is checked at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// How many items share a check.
    pub batch: usize,
    /// How many checks run at once.
    pub width: usize,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchStep {
    /// Put the item at this place on the stack. Then call [`BatchQueue::stacked`], [`BatchQueue::passed_over`] or
    /// [`BatchQueue::decided`].
    Stack(usize),
    /// Check the trees of these numbers of items, the lowest first; the numbers rise. Then call [`BatchQueue::failed`] for the
    /// lowest tree that fails above all that pass, and [`BatchQueue::passed`] for the highest tree that passes.
    Check(Vec<usize>),
    /// Move the base to the commit of this number of items. Then call [`BatchQueue::landed`].
    Land(usize),
    /// The item at this place, the lowest one, breaks the base. Send it back, then call [`BatchQueue::decided`].
    SendBack(usize),
    Done,
}

/// What is known about the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StackState {
    /// More items may be stacked.
    Open,
    /// No tree was checked yet.
    Unchecked,
    /// The tree of this number of items fails, and the base passes.
    Red(usize),
    /// The tree of this number of items passes.
    Green { count: usize, red: Option<usize> },
}

/// The work of one pass: the waiting items, the stacked ones, and what the checks have shown about the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchQueue {
    items: Vec<BatchItem>,
    limits: BatchLimits,
    /// The number of checks for which a new stack is filled. A failure halves it, and a stack that passes doubles it.
    window: usize,
    /// The places that are neither decided nor on the stack.
    waiting: BTreeSet<usize>,
    /// The items that do not fit on this stack. They come first once it is decided.
    passed_over: BTreeSet<usize>,
    /// The places on the stack, the lowest first.
    places: Vec<usize>,
    state: StackState,
}

impl BatchQueue {
    /// Makes a queue in which every item waits and nothing is on the stack. A limit of 0 counts as 1. A stack gets at most as
    /// many items as the checks that run at once can decide.
    pub fn new(items: Vec<BatchItem>, limits: BatchLimits) -> Self {
        let waiting = (0..items.len()).collect();
        let limits = BatchLimits { batch: limits.batch.max(1), width: limits.width.max(1) };
        let (passed_over, places, window) = (BTreeSet::new(), Vec::new(), limits.width);
        Self { items, limits, window, waiting, passed_over, places, state: StackState::Open }
    }

    /// The places, in the list of items, of those on the stack, the lowest first.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The places, in the list of items, of those that are neither decided nor on the stack.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().copied()
    }

    /// Decides the next step. A repeated call gives the same step until the outcome of that step is reported.
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
            (StackState::Red(count), _) => BatchStep::Check(self.heights_below(count)),
            (StackState::Open | StackState::Unchecked, _) => {
                let (batch, all) = (self.limits.batch, self.places.len());
                BatchStep::Check((1..=all.div_ceil(batch)).map(|part| (part * batch).min(all)).collect())
            }
        }
    }

    /// The numbers of items that divide a tree of `count` items, at least two, as evenly as the width allows.
    fn heights_below(&self, count: usize) -> Vec<usize> {
        let checks = self.limits.width.min(count.saturating_sub(1)).max(1);
        (1..=checks).map(|part| part * count / (checks + 1)).collect()
    }

    fn next_to_stack(&self) -> Option<usize> {
        if self.places.len() >= self.limits.batch * self.window {
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

    /// Reports that the item at this place is now on top of the stack.
    pub fn stacked(&mut self, place: usize) {
        if self.waiting.remove(&place) {
            self.places.push(place);
        }
    }

    /// Reports that the item at this place does not fit on the stack. It is tried again when every item on the stack has landed
    /// or the stack is built anew.
    pub fn passed_over(&mut self, place: usize) {
        self.passed_over.insert(place);
    }

    /// Reports that the item at this place has landed in another way, or will not land. If it was on the stack, the others are
    /// stacked again.
    pub fn decided(&mut self, place: usize) {
        self.waiting.remove(&place);
        if self.places.contains(&place) {
            self.unstack();
            self.waiting.remove(&place);
        }
    }

    /// Reports that the tree of the lowest `count` items passes its checks.
    pub fn passed(&mut self, count: usize) {
        let red = if let StackState::Red(red) = self.state { Some(red) } else { None };
        if red.is_none() {
            self.window = (self.window * 2).min(self.limits.width);
        }
        self.state = StackState::Green { count, red };
    }

    /// Reports that the tree of the lowest `count` items fails a check that the base passes.
    pub fn failed(&mut self, count: usize) {
        if !matches!(self.state, StackState::Red(_)) {
            self.window = (self.window / 2).max(1);
        }
        self.state = StackState::Red(count);
    }

    /// Reports that the base now has the lowest `count` items.
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

    /// Takes every item off the stack so that the stack is built anew: the base has moved, or the stack has lost an item.
    pub fn unstack(&mut self) {
        self.waiting.extend(self.places.drain(..));
        self.passed_over.clear();
        self.state = StackState::Open;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    struct Outcome {
        landed: Vec<usize>,
        blamed: BTreeSet<usize>,
        conflicting: BTreeSet<usize>,
        /// Needs what did not land.
        not_ready: BTreeSet<usize>,
        /// Red base: nothing more is tried.
        is_stopped: bool,
        checks: usize,
        /// The times that checks ran at once, and those of the base alone.
        rounds: usize,
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
                    result.rounds += 1;
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
        fn batches(&self, batch: usize, width: usize) -> Outcome {
            let item = |place: usize| {
                let needs = self.needs.iter().filter(|(_, second)| *second == place);
                BatchItem { base: "main".to_owned(), depends_on: needs.map(|(first, _)| *first).collect() }
            };
            let limits = BatchLimits { batch, width };
            let mut queue = BatchQueue::new((0..self.count).map(item).collect(), limits);
            let (mut result, mut runs, mut moves) = (Outcome::default(), 0, 0);
            let mut known_base: Option<Vec<usize>> = None;
            let mut seen: Option<Vec<usize>> = None;
            for _ in 0..self.count * 40 + 40 {
                let step = queue.next_step();
                assert_eq!(step, queue.next_step());
                assert!(queue.places().len() <= batch * width);
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
                    BatchStep::Check(heights) => {
                        assert!(!heights.is_empty() && heights.len() <= width);
                        assert!(heights[0] > 0 && heights.is_sorted_by(|one, next| one < next));
                        assert!(heights.iter().all(|height| *height <= queue.places().len()));
                        result.checks += heights.len();
                        result.rounds += 1;
                        let trees: Vec<Vec<usize>> = heights.iter().map(|one| tree(*one)).collect();
                        let passes: Vec<bool> = trees.iter().map(|tree| self.check(tree, &mut runs)).collect();
                        let green = passes.iter().rposition(|passes| *passes);
                        let red = heights.get(green.map_or(0, |green| green + 1)).copied();
                        if let Some(red) = red {
                            if self.is_base_red {
                                result.is_stopped = true;
                                return result;
                            }
                            // The base is tried alone once.
                            if known_base.as_ref() != Some(&result.landed) {
                                known_base = Some(result.landed.clone());
                                result.rounds += 1;
                            }
                            queue.failed(red);
                        }
                        if let Some(green) = green {
                            seen = Some(trees[green].clone());
                            queue.passed(heights[green]);
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
                        // A tree that passed is the next base.
                        known_base = Some(result.landed.clone());
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
        fn random_queues_land_what_was_checked_and_blame_only_what_breaks(
            world in worlds(),
            batch in 1..6_usize,
            width in 1..5_usize,
        ) {
            let result = world.batches(batch, width);
            let decided = result.landed.len() + result.blamed.len() + result.conflicting.len() + result.not_ready.len();
            prop_assert!(result.is_stopped || decided == world.count);
            prop_assert!(!world.is_base_red || result.landed.is_empty() && result.blamed.is_empty());
            for place in &result.conflicting {
                prop_assert!(World::has(&world.conflicts, &result.landed, *place), "{place} is blamed for what did not land");
            }
            let serial = world.one_by_one();
            // Each stack of one is what was done before there were stacks.
            let is_alone = batch * width == 1 && world.moved.is_empty();
            if is_alone {
                prop_assert_eq!(&Outcome { rounds: serial.rounds, ..result.clone() }, &serial);
            }
            // Without conflicts and needs nothing is passed over, and the same lands.
            if world.conflicts.is_empty() && world.needs.is_empty() {
                prop_assert_eq!((&result.landed, &result.blamed), (&serial.landed, &serial.blamed));
            }
        }
    }

    /// The steps of a queue of items whose last one fails.
    fn steps_with_a_bad_last(count: usize, limits: BatchLimits) -> Vec<BatchStep> {
        let mut queue = BatchQueue::new(vec![BatchItem::default(); count], limits);
        let (mut steps, mut landed) = (Vec::new(), 0);
        loop {
            let step = queue.next_step();
            steps.push(step.clone());
            match step {
                BatchStep::Stack(place) => queue.stacked(place),
                BatchStep::Check(heights) => {
                    let (green, red): (Vec<usize>, Vec<usize>) =
                        heights.into_iter().partition(|height| landed + height < count);
                    red.first().into_iter().for_each(|red| queue.failed(*red));
                    green.last().into_iter().for_each(|green| queue.passed(*green));
                }
                BatchStep::Land(count) => {
                    landed += count;
                    queue.landed(count);
                }
                BatchStep::SendBack(place) => queue.decided(place),
                BatchStep::Done => return steps,
            }
        }
    }

    #[test]
    fn red_stack_is_halved_and_what_was_checked_is_not_checked_again() {
        let world = World { count: 4, bad: BTreeSet::from([3]), ..World::default() };
        // The last one was part of the first check, and is not checked alone.
        let expected = [
            BatchStep::Check(vec![4]),
            BatchStep::Check(vec![2]),
            BatchStep::Land(2),
            BatchStep::Check(vec![1]),
            BatchStep::Land(1),
            BatchStep::SendBack(3),
            BatchStep::Done,
        ];
        let steps = steps_with_a_bad_last(4, BatchLimits { batch: 4, width: 1 });
        assert_eq!(steps, [&[0, 1, 2, 3].map(BatchStep::Stack)[..], &expected].concat());
        assert_eq!(world.batches(4, 1).checks, 3);
    }

    #[test]
    fn trees_of_several_heights_are_checked_at_once_and_the_next_stack_is_smaller_after_a_red_one() {
        let steps = steps_with_a_bad_last(10, BatchLimits { batch: 2, width: 4 });
        let expected = [
            BatchStep::Check(vec![2, 4, 6, 8]),
            BatchStep::Land(8),
            BatchStep::Stack(8),
            BatchStep::Stack(9),
            BatchStep::Check(vec![2]),
            BatchStep::Check(vec![1]),
            BatchStep::Land(1),
            BatchStep::SendBack(9),
            BatchStep::Done,
        ];
        assert_eq!(steps, [&[0, 1, 2, 3, 4, 5, 6, 7].map(BatchStep::Stack)[..], &expected].concat());
        // Five that share a check fail: trees of one to four items are checked at once.
        let steps = steps_with_a_bad_last(5, BatchLimits { batch: 5, width: 4 });
        assert_eq!(steps[5..8], [BatchStep::Check(vec![5]), BatchStep::Check(vec![1, 2, 3, 4]), BatchStep::Land(4)]);
        let mut queue = BatchQueue::new(vec![BatchItem::default(); 20], BatchLimits { batch: 2, width: 4 });
        queue.failed(2);
        queue.unstack();
        (0..4).for_each(|place| queue.stacked(place));
        assert_eq!(queue.next_step(), BatchStep::Check(vec![2, 4]));
        queue.passed(4);
        queue.landed(4);
        (4..12).for_each(|place| queue.stacked(place));
        assert_eq!(queue.next_step(), BatchStep::Check(vec![2, 4, 6, 8]));
    }

    #[test]
    fn stacks_are_of_one_base_and_pass_over_what_does_not_fit() {
        let item =
            |base: &str, depends_on: &[usize]| BatchItem { base: base.to_owned(), depends_on: depends_on.to_vec() };
        // 1 is of another base, and 2 depends on it.
        let items =
            vec![item("main", &[]), item("next", &[]), item("main", &[1]), item("main", &[]), item("main", &[])];
        let mut queue = BatchQueue::new(items, BatchLimits { batch: 4, width: 1 });
        assert_eq!(queue.next_step(), BatchStep::Stack(0));
        queue.stacked(0);
        assert_eq!(queue.next_step(), BatchStep::Stack(3));
        queue.passed_over(3);
        assert_eq!(queue.next_step(), BatchStep::Stack(4));
        queue.stacked(4);
        assert_eq!(queue.next_step(), BatchStep::Check(vec![2]));
        queue.passed(2);
        queue.landed(2);
        assert_eq!(queue.next_step(), BatchStep::Stack(1));
        queue.decided(1);
        assert_eq!(queue.next_step(), BatchStep::Stack(2));
        queue.stacked(2);
        // It comes back before others.
        assert_eq!(queue.next_step(), BatchStep::Stack(3));
        // Items that wait for each other do not hold up the queue.
        let mut queue =
            BatchQueue::new(vec![item("main", &[1]), item("main", &[0])], BatchLimits { batch: 4, width: 1 });
        assert_eq!(queue.next_step(), BatchStep::Stack(0));
    }

    /// A queue of 50 with 10 % that fail and 8 % that conflict needs 46 checks one by one.
    #[test]
    fn batches_and_width_need_as_many_rounds_of_checks_as_the_guide_says() {
        let mut state = 1_u64;
        let mut chance = |percent: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        };
        let limits = [(1, 1), (4, 1), (4, 2), (1, 4), (4, 4)];
        let mut sums = [0; 5];
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
            for (sum, (batch, width)) in sums.iter_mut().zip(limits) {
                *sum += world.batches(batch, width).rounds;
            }
        }
        // The table in BENCHMARKS.md, "In a simulation".
        assert_eq!(sums.map(|sum| sum / 200), [46, 23, 17, 16, 13]);
    }
}
