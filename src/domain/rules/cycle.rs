//! Circles in a graph of tasks: refused when they would arise, by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::TaskId;

/// The circle that the new edge `from → to` would close, as the path `from → to → … → from`; `None` when it closes none.
///
/// `next` tells where the edges from a task lead.
///
/// # Errors
/// As `next` fails.
pub fn closed_by<E>(
    from: &TaskId,
    to: &TaskId,
    mut next: impl FnMut(&TaskId) -> Result<Vec<TaskId>, E>,
) -> Result<Option<Vec<TaskId>>, E> {
    if from == to {
        return Ok(Some(vec![from.clone(), to.clone()]));
    }
    let mut seen = BTreeSet::from([to.clone()]);
    // Depth first with the path kept, so that the circle can be named; a list, not recursion, so that a long chain
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

/// A circle among edges that are there already, as a path that ends where it begins; `None` when there is none.
#[must_use]
pub fn among(edges: &[(String, String)]) -> Option<Vec<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
    }
    let branches = |task: &str| next.get(task).cloned().unwrap_or_default();
    let mut left: BTreeSet<&str> = BTreeSet::new();
    for start in next.keys() {
        let mut path = vec![(*start, branches(start))];
        let mut on_path = BTreeSet::from([*start]);
        while let Some((task, rest)) = path.last_mut() {
            let task = *task;
            let Some(step) = rest.pop() else {
                on_path.remove(task);
                left.insert(task);
                path.pop();
                continue;
            };
            if on_path.contains(step) {
                let circle = path.iter().map(|(task, _)| *task).skip_while(|task| *task != step);
                return Some(circle.chain([step]).map(str::to_owned).collect());
            }
            if !left.contains(step) {
                on_path.insert(step);
                path.push((step, branches(step)));
            }
        }
    }
    None
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
    fn a_circle_that_is_there_is_named() {
        let edges = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
        };
        assert_eq!(among(&edges(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "b")])), None);
        let found = among(&edges(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")])).unwrap();
        assert_eq!(found, ["b", "c", "d", "b"]);
    }
}
