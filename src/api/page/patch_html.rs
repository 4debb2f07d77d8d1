//! A patch of git as HTML: the tree of its files, and each file as a table, unified or side by side.

use super::html::Html;
use super::line_comments::{LineComments, place_text};
use fairway_core::domain::review::LinePlace;
use fairway_core::os::digest;

/// The most lines that are drawn.
const MAX_LINES: usize = 4_000;
/// A file with more lines is folded at first.
const MAX_OPEN_LINES: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Added,
    Deleted,
    /// A heading of git, or what git says about a file.
    Note,
}

impl Kind {
    const fn class(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Note => "hunk",
        }
    }
}

#[derive(Debug)]
struct Line<'a> {
    kind: Kind,
    /// Its number in the old and in the new commit.
    old: Option<u64>,
    new: Option<u64>,
    text: &'a str,
}

#[derive(Debug, Default)]
struct File<'a> {
    name: &'a str,
    /// Its path in the new commit; `None` when git quotes it or the file is deleted.
    path: Option<&'a str>,
    /// What happened to the whole file, such as "new".
    word: &'static str,
    lines: Vec<Line<'a>>,
}

impl File<'_> {
    fn count(&self, kind: Kind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }

    fn place(&self, line: &Line<'_>) -> Option<LinePlace> {
        Some(LinePlace { path: self.path?.to_owned(), line: line.new? })
    }

    /// A digest of what is drawn of it, by which a browser knows the files that a person has viewed.
    fn digest(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().flat_map(|line| [line.kind.class(), line.text]).collect();
        digest::sha256_hex(format!("{}\n{}", self.name, lines.join("\n")).as_bytes()).chars().take(16).collect()
    }
}

#[derive(Debug)]
pub(super) struct Patch<'a> {
    files: Vec<File<'a>>,
    /// How many lines at its end are left out.
    cut: usize,
}

impl<'a> Patch<'a> {
    pub(super) fn parse(patch: &'a str) -> Self {
        let mut files: Vec<File<'a>> = Vec::new();
        // The next line in the old and in the new commit, and how many lines of each are left in the hunk.
        let ((mut old, mut new), mut left) = ((0, 0), (0, 0));
        for line in patch.lines().take(MAX_LINES) {
            if let Some(names) = line.strip_prefix("diff --git ").filter(|_| left == (0, 0)) {
                let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
                files.push(File { name, ..File::default() });
                continue;
            }
            let Some(file) = files.last_mut() else { continue };
            let mut push = |kind, old, new, text| file.lines.push(Line { kind, old, new, text });
            if left != (0, 0) || line.starts_with('\\') {
                let text = line.get(1..).unwrap_or_default();
                match line.as_bytes().first() {
                    Some(b'\\') => push(Kind::Note, None, None, line),
                    Some(b'-') => {
                        push(Kind::Deleted, Some(old), None, text);
                        (old, left.0) = (old + 1, u64::saturating_sub(left.0, 1));
                    }
                    Some(b'+') => {
                        push(Kind::Added, None, Some(new), text);
                        (new, left.1) = (new + 1, u64::saturating_sub(left.1, 1));
                    }
                    _ => {
                        push(Kind::Same, Some(old), Some(new), text);
                        (old, new) = (old + 1, new + 1);
                        left = (u64::saturating_sub(left.0, 1), u64::saturating_sub(left.1, 1));
                    }
                }
            } else if let Some(name) = line.strip_prefix("+++ ") {
                file.path = name.strip_prefix("b/").map(|path| path.trim_end_matches('\t'));
            } else if line.starts_with("@@ ") {
                ((old, new), left) = hunk(line);
                push(Kind::Note, None, None, line);
            } else if line.starts_with("new file") {
                file.word = "new";
            } else if line.starts_with("deleted file") {
                file.word = "deleted";
            } else if line.starts_with("rename from ") {
                file.word = "renamed";
            } else if !["--- ", "index ", "rename to ", "similarity "].iter().any(|known| line.starts_with(known)) {
                push(Kind::Note, None, None, line);
            }
        }
        Self { files, cut: patch.lines().count().saturating_sub(MAX_LINES) }
    }

    pub(super) const fn files(&self) -> usize {
        self.files.len()
    }

    /// Whether the line of a place is drawn.
    pub(super) fn shows(&self, place: &LinePlace) -> bool {
        let has = |file: &File<'_>| file.lines.iter().any(|line| file.place(line).as_ref() == Some(place));
        self.files.iter().any(has)
    }

    /// Draws the files, with the comments on a line below that line. Says how many lines are missing. `name` says which files
    /// they are.
    pub(super) fn draw(&self, html: &mut Html, name: &'static str, is_split: bool, comments: &LineComments<'_>) {
        comments.template(html);
        if self.files.len() > 1 {
            self.tree(html, name);
        }
        for (at, file) in self.files.iter().enumerate() {
            html.markup("<section class=\"file\"").attribute("data-digest", &file.digest());
            html.attribute("id", &format!("{name}-{at}")).markup("><details");
            html.markup(if file.lines.len() > MAX_OPEN_LINES { "><summary>" } else { " open><summary>" });
            html.markup("<span class=\"path\">").text(file.name).markup("</span>");
            size(html, file);
            html.markup("</summary><table class=\"diff\"><tbody>");
            if is_split {
                split(html, file, comments);
            } else {
                unified(html, file, comments);
            }
            html.markup("</tbody></table></details><label class=\"viewed\" hidden><input type=\"checkbox\"");
            html.attribute("aria-label", &format!("viewed {}", file.name)).markup("> viewed</label></section>");
        }
        if self.cut > 0 {
            html.markup("<p class=\"warning\">").text(&self.cut.to_string());
            html.markup(" more lines are not shown here: look at them on the command line.</p>");
        }
    }

    /// The changed files as links to their tables, each directory once.
    fn tree(&self, html: &mut Html, name: &'static str) {
        html.markup("<nav class=\"files\"")
            .attribute("aria-label", &format!("{name} files"))
            .markup("><ul role=\"list\">");
        let mut before = "";
        for (at, file) in self.files.iter().enumerate() {
            let (directory, base) = file.name.rsplit_once('/').unwrap_or(("", file.name));
            if directory != before {
                html.markup("<li class=\"faint\">").text(directory).markup("/</li>");
                before = directory;
            }
            html.markup("<li><a").attribute("href", &format!("#{name}-{at}")).markup(">").text(base).markup("</a>");
            size(html, file);
            html.markup("</li>");
        }
        html.markup("</ul></nav>");
    }
}

fn size(html: &mut Html, file: &File<'_>) {
    let (added, deleted) = (file.count(Kind::Added), file.count(Kind::Deleted));
    if !file.word.is_empty() {
        html.markup(" <span class=\"faint\">").markup(file.word).markup("</span>");
    }
    if added > 0 {
        html.markup(" <span class=\"plus\">+").text(&added.to_string()).markup("</span>");
    }
    if deleted > 0 {
        html.markup(" <span class=\"minus\">−").text(&deleted.to_string()).markup("</span>");
    }
}

/// Parses the heading of a hunk, such as `@@ -1,2 +3,4 @@`. Returns the numbers of its first lines in the old and in the new
/// commit, and how many lines it has of each.
fn hunk(heading: &str) -> ((u64, u64), (u64, u64)) {
    let mut ranges = heading.split(' ').skip(1).take(2).map(|range| {
        let range = range.get(1..).unwrap_or_default();
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        (start.parse().unwrap_or(0), count.parse().unwrap_or(0))
    });
    let (old, new) = (ranges.next().unwrap_or_default(), ranges.next().unwrap_or_default());
    ((old.0, new.0), (old.1, new.1))
}

fn unified(html: &mut Html, file: &File<'_>, comments: &LineComments<'_>) {
    for line in &file.lines {
        html.markup("<tr class=\"").markup(line.kind.class()).markup("\">");
        number(html, line.old, None);
        number(html, line.new, file.place(line).map(|place| (place, comments)));
        html.markup("<td><code>").lines(line.text).markup("</code></td></tr>");
        below(html, 3, file.place(line), comments);
    }
}

/// Draws the deleted lines of each change beside its added ones.
fn split(html: &mut Html, file: &File<'_>, comments: &LineComments<'_>) {
    let mut lines = file.lines.iter().peekable();
    while let Some(line) = lines.next() {
        if line.kind == Kind::Note {
            html.markup("<tr class=\"hunk\"><td class=\"at\"></td><td colspan=\"3\"><code>").lines(line.text);
            html.markup("</code></td></tr>");
            continue;
        }
        let mut run = vec![line];
        while line.kind != Kind::Same
            && let Some(next) = lines.next_if(|next| matches!(next.kind, Kind::Deleted | Kind::Added))
        {
            run.push(next);
        }
        let of = |kind: Kind| run.iter().copied().filter(move |one| one.kind == kind || one.kind == Kind::Same);
        let (mut left, mut right) = (of(Kind::Deleted), of(Kind::Added));
        loop {
            let (old, new) = (left.next(), right.next());
            if old.is_none() && new.is_none() {
                break;
            }
            html.markup("<tr>");
            half(html, old, old.and_then(|line| line.old), None);
            let place = new.and_then(|line| file.place(line));
            half(html, new, new.and_then(|line| line.new), place.clone().map(|place| (place, comments)));
            html.markup("</tr>");
            below(html, 4, place, comments);
        }
    }
}

fn half(html: &mut Html, line: Option<&Line<'_>>, at: Option<u64>, place: Option<(LinePlace, &LineComments<'_>)>) {
    number(html, at, place);
    html.markup("<td class=\"half ").markup(line.map_or("", |line| line.kind.class())).markup("\"><code>");
    html.lines(line.map_or("", |line| line.text)).markup("</code></td>");
}

/// Draws the number of a line, with the address of the form for a comment on it.
fn number(html: &mut Html, number: Option<u64>, place: Option<(LinePlace, &LineComments<'_>)>) {
    html.markup("<td class=\"at\">");
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let link = place.and_then(|(place, comments)| Some((comments.address(&place)?, place)));
    match link {
        Some((address, place)) => {
            html.markup("<a").attribute("href", &address).attribute("data-place", &place_text(&place));
            html.attribute("aria-label", &format!("comment on line {number}")).markup(">").text(&number).markup("</a>");
        }
        None => {
            html.text(&number);
        }
    }
    html.markup("</td>");
}

fn below(html: &mut Html, columns: usize, place: Option<LinePlace>, comments: &LineComments<'_>) {
    let mut notes = Html::default();
    if let Some(place) = place {
        comments.draw_at(&mut notes, &place);
    }
    if !notes.as_str().is_empty() {
        html.markup("<tr class=\"note\"><td").attribute("colspan", &columns.to_string()).markup(">");
        html.piece(&notes).markup("</td></tr>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -10,3 +10,3 @@ fn x\n same\n--- a/old\n+++ b/new\n same\n\
                         diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";

    fn drawn(is_split: bool) -> String {
        let mut html = Html::default();
        let comments = LineComments::new("review?task=T-1", Some("fairway review comment T-1 FILE:LINE TEXT"), &[]);
        Patch::parse(PATCH).draw(&mut html, "changed", is_split, &comments);
        html.into_string()
    }

    #[test]
    fn lines_have_the_numbers_of_the_new_commit_and_contents_are_no_headings() {
        for is_split in [false, true] {
            let html = drawn(is_split);
            let places = html.split("data-place=\"").skip(1).filter_map(|rest| rest.split('"').next());
            assert_eq!(places.collect::<Vec<_>>(), ["x.rs:10", "x.rs:11", "x.rs:12"]);
            assert!(html.contains("<code>-- a/old</code>") && html.contains("<code>++ b/new</code>"), "{html}");
            assert_eq!((html.matches("<section").count(), html.matches("</section>").count()), (2, 2));
            assert_eq!(html.matches("<tr").count(), html.matches("</tr>").count());
        }
        let shows = |line| Patch::parse(PATCH).shows(&LinePlace { path: "x.rs".into(), line });
        assert!(shows(11) && !shows(13));
    }

    #[test]
    fn deleted_line_stands_beside_the_added_one() {
        let html = drawn(true);
        let row = html.split("<tr>").find(|row| row.contains("-- a/old")).unwrap();
        assert!(row.contains("++ b/new") && row.contains("half deleted") && row.contains("half added"), "{row}");
    }
}
