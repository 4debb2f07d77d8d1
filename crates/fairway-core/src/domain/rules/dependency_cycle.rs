//! Cycles in a graph of tasks.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::TaskId;

/// The cycle that the new edge `from → to` would close, as the path `from → to → … → from`; `None` when it closes none.
///
/// `next` returns the tasks to which the edges of a task lead.
pub fn closed_by<E>(
    from: &TaskId,
    to: &TaskId,
    mut next: impl FnMut(&TaskId) -> Result<Vec<TaskId>, E>,
) -> Result<Option<Vec<TaskId>>, E> {
    if from == to {
        return Ok(Some(vec![from.clone(), to.clone()]));
    }
    let mut seen = BTreeSet::from([to.clone()]);
    // Depth first with the path kept, so that the cycle can be named; a list, not recursion, so that a long chain
    // does not end the stack.
    let mut path = vec![(to.clone(), next(to)?)];
    while let Some((_, branches)) = path.last_mut() {
        let Some(step) = branches.pop() else {
            path.pop();
            continue;
        };
        if step == *from {
            let mut circle = vec![from.clone()];
            circle.extend(path.into_iter().map(|(task, _)| task));
            circle.push(from.clone());
            return Ok(Some(circle));
        }
        if seen.insert(step.clone()) {
            let branches = next(&step)?;
            path.push((step, branches));
        }
    }
    Ok(None)
}

/// A cycle that can be reached from one of `starts`, as the path `a → … → a`; `None` when there is none. Each task is visited
/// once.
pub fn find<'a, T: Ord + Clone + 'a, E>(
    starts: impl IntoIterator<Item = &'a T>,
    mut next: impl FnMut(&T) -> Result<Vec<T>, E>,
) -> Result<Option<Vec<T>>, E> {
    // `true` while a task is on the path, `false` when everything below it has been seen.
    let mut seen: BTreeMap<T, bool> = BTreeMap::new();
    for start in starts {
        if seen.contains_key(start) {
            continue;
        }
        seen.insert(start.clone(), true);
        let mut path = vec![(start.clone(), next(start)?)];
        while let Some((task, branches)) = path.last_mut() {
            let Some(step) = branches.pop() else {
                seen.insert(task.clone(), false);
                path.pop();
                continue;
            };
            match seen.get(&step) {
                Some(true) => {
                    let on_circle = path.into_iter().map(|(task, _)| task).skip_while(|task| *task != step);
                    return Ok(Some(on_circle.chain([step.clone()]).collect()));
                }
                Some(false) => {}
                None => {
                    seen.insert(step.clone(), true);
                    let branches = next(&step)?;
                    path.push((step, branches));
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn id(name: &str) -> TaskId {
        TaskId::parse(name).unwrap()
    }

    #[test]
    fn names_the_circle_and_passes_what_is_none() {
        let edges = |task: &TaskId| -> Result<Vec<TaskId>, Infallible> {
            Ok(match task.as_str() {
                "a" => vec![id("b"), id("c")],
                "b" => vec![id("d")],
                "c" => vec![id("d")],
                _ => vec![],
            })
        };
        assert_eq!(closed_by(&id("a"), &id("d"), edges), Ok(None));
        assert_eq!(closed_by(&id("x"), &id("a"), edges), Ok(None));
        assert_eq!(closed_by(&id("d"), &id("a"), edges), Ok(Some(vec![id("d"), id("a"), id("c"), id("d")])));
        assert_eq!(closed_by(&id("a"), &id("a"), edges), Ok(Some(vec![id("a"), id("a")])));
    }

    #[test]
    fn finds_a_circle_anywhere_and_survives_a_long_chain() {
        let edges = |task: &TaskId| -> Result<Vec<TaskId>, Infallible> {
            Ok(match task.as_str() {
                "a" => vec![id("b"), id("c")],
                "b" | "c" => vec![id("d")],
                "x" => vec![id("y")],
                "y" => vec![id("z")],
                "z" => vec![id("y")],
                _ => vec![],
            })
        };
        assert_eq!(find(&[id("a"), id("b"), id("d")], edges), Ok(None));
        assert_eq!(find(&[id("a"), id("x")], edges), Ok(Some(vec![id("y"), id("z"), id("y")])));
        let chain = |task: &TaskId| -> Result<Vec<TaskId>, Infallible> {
            let number: u32 = task.as_str()[1..].parse().unwrap();
            Ok(if number < 100_000 { vec![id(&format!("n{}", number + 1))] } else { vec![] })
        };
        assert_eq!(find(&[id("n0")], chain), Ok(None));
    }
}
