//! The colours of status words in a table. A colour repeats a word and never stands for it.

use super::{Meaning, Style};

/// The headings of the columns whose words have colours.
const HEADINGS: [&str; 5] = ["STATUS", "ACTIVITY", "STATE", "VERDICT", "RESULT"];

fn meaning(word: &str) -> Option<Meaning> {
    match word {
        "stale" | "failed" | "lost" | "timed_out" | "denied" | "fail" | "reject" => Some(Meaning::Bad),
        "requires_action" | "awaiting_input" | "blocked" | "changes" | "paused" => Some(Meaning::Notice),
        "done" | "cancelled" | "canceled" | "ended" | "closed" => Some(Meaning::Faint),
        _ => None,
    }
}

/// Colours the status words of a rendered table, of which the first line has the headings.
pub(super) fn colour(table: &str, style: Style) -> String {
    let mut lines = table.lines();
    let Some(headings) = lines.next().filter(|_| style.is_on()) else { return table.to_owned() };
    let mut starts: Vec<usize> =
        words(headings).filter(|(_, word)| HEADINGS.contains(&word.as_str())).map(|(start, _)| start).collect();
    // From the right: a colour moves what stands behind it.
    starts.reverse();
    let mut text = format!("{headings}\n");
    for line in lines {
        let mut line = line.to_owned();
        for start in &starts {
            // A wide character before the column moves it: then its words keep no colour.
            let found = words(&line).find(|(at, _)| at == start).and_then(|(_, word)| Some((meaning(&word)?, word)));
            if let Some((meaning, word)) = found {
                let before: String = line.chars().take(*start).collect();
                let after: String = line.chars().skip(start + word.chars().count()).collect();
                line = format!("{before}{}{after}", style.paint(meaning, &word));
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The words of a line with their places in characters.
fn words(line: &str) -> impl Iterator<Item = (usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, character) in line.chars().enumerate() {
        match found.last_mut() {
            _ if character == ' ' => {}
            Some((start, word)) if *start + word.chars().count() == at => word.push(character),
            _ => found.push((at, String::from(character))),
        }
    }
    found.into_iter()
}
