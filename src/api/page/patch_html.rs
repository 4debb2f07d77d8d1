//! A patch of git as HTML: a table for each file, with the numbers of the lines in the new commit.

use super::html::Html;
use crate::domain::review::LinePlace;

/// The most lines that are drawn.
const MAX_LINES: usize = 4_000;

/// What is drawn at the lines of a patch.
pub(super) trait LineNotes {
    /// The address that opens a form for a comment; `None` where comments are impossible.
    fn address(&self, place: &LinePlace) -> Option<String>;
    /// Draws what belongs below a line.
    fn draw_below(&self, html: &mut Html, place: &LinePlace);
}

/// The current place in a patch.
#[derive(Debug, Default)]
struct Position {
    /// The file's path in the new commit; `None` when git quotes it or the file is deleted.
    path: Option<String>,
    /// The number of the next line in the new commit.
    next: u64,
    /// How many lines of the old and of the new commit are left in the hunk.
    left: (u64, u64),
    /// Whether a table is open.
    is_open: bool,
}

/// Draws a patch as one table per file, with the notes on a line below that line. Cuts a long patch, and says how many lines
/// are missing.
pub(super) fn draw(html: &mut Html, patch: &str, notes: &impl LineNotes) {
    let mut at = Position::default();
    let total = patch.lines().count();
    for line in patch.lines().take(MAX_LINES) {
        if at.left != (0, 0) || line.starts_with('\\') {
            hunk_line(html, line, &mut at, notes);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            close(html, &mut at);
            at = Position { is_open: true, ..Position::default() };
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            html.markup("<section class=\"file\"><h3>").text(name).markup("</h3><table class=\"diff\"><tbody>");
        } else if let Some(name) = line.strip_prefix("+++ ") {
            at.path = name.strip_prefix("b/").map(|path| path.trim_end_matches('\t').to_owned());
        } else if line.starts_with("@@ ") {
            let (new, left) = hunk(line);
            (at.next, at.left) = (new, left);
            row(html, "hunk", None, line);
        } else if !line.starts_with("--- ") && !line.starts_with("index ") && at.is_open {
            row(html, "hunk", None, line);
        }
    }
    close(html, &mut at);
    if total > MAX_LINES {
        html.markup("<p class=\"warning\">").text(&(total - MAX_LINES).to_string());
        html.markup(" more lines are not shown here: look at them on the command line.</p>");
    }
}

fn close(html: &mut Html, at: &mut Position) {
    if at.is_open {
        html.markup("</tbody></table></section>");
        at.is_open = false;
    }
}

/// Parses the heading of a hunk, such as `@@ -1,2 +3,4 @@`. Returns the number of its first line in the new commit, and how
/// many lines it has of the old and of the new commit.
fn hunk(heading: &str) -> (u64, (u64, u64)) {
    let mut ranges = heading.split(' ').skip(1).take(2).map(|range| {
        let (start, count) =
            range.get(1..).unwrap_or_default().split_once(',').unwrap_or((range.get(1..).unwrap_or_default(), "1"));
        (start.parse().unwrap_or(0), count.parse().unwrap_or(0))
    });
    let (_, old) = ranges.next().unwrap_or_default();
    let (start, new) = ranges.next().unwrap_or_default();
    (start, (old, new))
}

fn hunk_line(html: &mut Html, line: &str, at: &mut Position, notes: &impl LineNotes) {
    let class = match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => {
            at.left.0 = at.left.0.saturating_sub(1);
            return row(html, "deleted", None, line);
        }
        Some(b'\\') => return row(html, "hunk", None, line),
        _ => {
            at.left.0 = at.left.0.saturating_sub(1);
            "same"
        }
    };
    let number = at.next;
    at.left.1 = at.left.1.saturating_sub(1);
    at.next += 1;
    let place = at.path.clone().map(|path| LinePlace { path, line: number });
    let address = place.as_ref().and_then(|place| notes.address(place));
    row(html, class, Some((number, address)), line);
    if let Some(place) = place {
        notes.draw_below(html, &place);
    }
}

/// Draws a line. `number` is its number, with the address of the form for a comment on it.
fn row(html: &mut Html, class: &'static str, number: Option<(u64, Option<String>)>, line: &str) {
    html.markup("<tr class=\"").markup(class).markup("\"><td class=\"at\">");
    if let Some((number, address)) = number {
        let number = number.to_string();
        match address {
            Some(address) => {
                html.markup("<a")
                    .attribute("href", &address)
                    .attribute("aria-label", &format!("comment on line {number}"));
                html.markup(">").text(&number).markup("</a>");
            }
            None => {
                html.text(&number);
            }
        }
    }
    html.markup("</td><td><code>").lines(line).markup("</code></td></tr>");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl LineNotes for Numbers {
        fn address(&self, place: &LinePlace) -> Option<String> {
            Some(format!("{}:{}", place.path, place.line))
        }

        fn draw_below(&self, html: &mut Html, place: &LinePlace) {
            if place.line == 11 {
                html.markup("<!-- below -->");
            }
        }
    }

    #[test]
    fn lines_have_the_numbers_of_the_new_commit_and_contents_are_no_headings() {
        let patch = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -10,3 +10,3 @@ fn x\n same\n--- a/old\n+++ b/new\n same\n\
                     diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let mut html = Html::default();
        draw(&mut html, patch, &Numbers);
        let html = html.into_string();
        let numbers: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(numbers, ["x.rs:10", "x.rs:11", "x.rs:12"]);
        assert!(
            html.contains("<code>--- a/old</code>") && html.contains("<code>+++ b/new</code></td></tr><!-- below -->")
        );
        assert_eq!((html.matches("<section").count(), html.matches("</section>").count()), (2, 2));
    }
}
