//! An explanation as text.

use std::time::Duration;

use crate::{config::show_duration, render::Table, wire::ExplainView};

/// The status in a line, and under it a table of the facts.
pub(super) fn facts(view: &ExplainView, width: Option<usize>) -> String {
    let mut table = Table::new(&["fact", "source", "age"]);
    for fact in &view.facts {
        let age = fact.age_ms.map_or_else(|| "-".into(), |age| show_duration(Duration::from_millis(age)));
        table.row([fact.message.as_str(), &fact.source, &age]);
    }
    format!("{} is {}\n{}", view.id, view.status, table.render(width))
}
