//! The pane beside the list: the selected row's screen, messages, changes or evidence.

use super::action::{self, Action, Aspect};
use super::rows::Subject;
use super::text::wrap_all;

/// The width from which the list has a pane beside it.
const MIN_COLUMNS: usize = 120;
/// The least width of the list beside a pane.
const MIN_LIST: usize = 58;
/// The width of a usual terminal, which a pane gets before the list grows.
const USUAL_PANE: usize = 82;
/// The greatest width of the list: a wider screen widens only the pane.
const MAX_LIST: usize = 110;
/// The most lines that a pane keeps. The command above them prints all.
const MAX_LINES: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub aspect: Aspect,
    pub action: Action,
    /// The session whose screen it is.
    pub session: Option<String>,
}

#[derive(Debug)]
pub(super) struct Pane {
    pub aspect: Aspect,
    pub is_hidden: bool,
    /// The request whose text `lines` is; `None` until a text was read.
    shown: Option<Request>,
    lines: Vec<String>,
    /// The number of lines before the first one that is drawn; counted from the end when the newest lines are there.
    scroll: usize,
}

impl Pane {
    pub(super) const fn new() -> Self {
        Self { aspect: Aspect::Screen, is_hidden: false, shown: None, lines: Vec::new(), scroll: 0 }
    }

    /// The width of the list beside the pane. Returns `None` when the pane is hidden, or the screen too narrow for it.
    pub(super) fn list_width(&self, columns: usize) -> Option<usize> {
        let room = columns.saturating_sub(USUAL_PANE).clamp(MIN_LIST, MAX_LIST);
        (self.has_room(columns) && !self.is_hidden).then_some(room)
    }

    pub(super) fn has_room(&self, columns: usize) -> bool {
        columns >= MIN_COLUMNS
    }

    /// Returns the request that reads the text of the pane for the selected row. The error says why the row has no such text.
    pub(super) fn request(&self, subject: &Subject<'_>) -> Result<Request, &'static str> {
        let action = action::print(self.aspect, subject)?;
        let session = subject.session.filter(|_| self.aspect == Aspect::Screen && subject.job.is_none());
        Ok(Request { aspect: self.aspect, action, session: session.map(str::to_owned) })
    }

    pub(super) fn show(&mut self, request: Request, mut lines: Vec<String>) {
        if self.shown.as_ref() != Some(&request) {
            self.scroll = 0;
        }
        let excess = lines.len().saturating_sub(MAX_LINES);
        if request.aspect.is_read_from_end() {
            lines.drain(..excess);
        } else if excess > 0 {
            lines.truncate(MAX_LINES);
            lines.push(format!("… the rest: {}", request.action.typed()));
        }
        (self.shown, self.lines) = (Some(request), lines);
    }

    /// The lines to draw in an area of `width` × `height`. Returns `None` until the text of `request` has been read.
    pub(super) fn text(&self, request: &Request, (width, height): (usize, usize)) -> Option<Vec<String>> {
        if self.shown.as_ref() != Some(request) {
            return None;
        }
        let lines = self.wrapped(width);
        let first = self.first(lines.len(), height);
        Some(lines.into_iter().skip(first).take(height).collect())
    }

    /// Scrolls by a number of lines: down, or up if negative.
    pub(super) fn scroll_by(&mut self, lines: isize, (width, height): (usize, usize)) {
        let most = self.wrapped(width).len().saturating_sub(height);
        let is_from_end = self.aspect.is_read_from_end();
        let change = if is_from_end { -lines } else { lines };
        self.scroll = self.scroll.min(most).saturating_add_signed(change).min(most);
    }

    fn first(&self, count: usize, height: usize) -> usize {
        let most = count.saturating_sub(height);
        let scroll = self.scroll.min(most);
        if self.aspect.is_read_from_end() { most - scroll } else { scroll }
    }

    fn wrapped(&self, width: usize) -> Vec<String> {
        // Cells keep their places.
        if self.shown.as_ref().is_some_and(|shown| shown.action.prints_cells()) {
            return self.lines.clone();
        }
        wrap_all(&self.lines, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pane: &Pane) -> Request {
        pane.request(&Subject { session: Some("ada"), lane: Some("cart"), ..Subject::default() }).unwrap()
    }

    fn lines(count: usize) -> Vec<String> {
        (1..=count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn list_and_pane_share_the_screen() {
        let pane = Pane::new();
        let widths = [119, 120, 140, 160, 200, 300].map(|columns| pane.list_width(columns));
        assert_eq!(widths, [None, Some(58), Some(58), Some(78), Some(110), Some(110)]);
        assert_eq!(Pane { is_hidden: true, ..pane }.list_width(200), None);
    }

    #[test]
    fn each_aspect_is_a_command_about_the_row() {
        let row = Subject { session: Some("ada"), task: Some("T-1"), lane: Some("cart"), ..Subject::default() };
        let typed = |subject: &Subject<'_>| {
            Aspect::ALL.map(|aspect| action::print(aspect, subject).map(|action| action.typed()))
        };
        assert_eq!(
            typed(&row),
            [
                Ok("fairway session peek ada --lines 200".into()),
                Ok("fairway outbox --to-session ada --all".into()),
                Ok("fairway lane diff cart".into()),
                Ok("fairway evidence list T-1".into()),
            ]
        );
        // A job belongs to a session, and is not its screen.
        let job = typed(&Subject { job: Some("J"), session: Some("ada"), ..Subject::default() });
        assert_eq!(job[0], Ok("fairway exec log J".into()));
        assert!(job[1..].iter().all(Result::is_err), "{job:?}");
    }

    #[test]
    fn screen_shows_its_end_and_changes_their_begin() {
        let mut pane = Pane::new();
        let room = (10, 3);
        assert_eq!(pane.text(&request(&pane), room), None);
        pane.show(request(&pane), lines(9));
        assert_eq!(pane.text(&request(&pane), room).unwrap(), ["7", "8", "9"]);
        pane.scroll_by(-2, room);
        assert_eq!(pane.text(&request(&pane), room).unwrap(), ["5", "6", "7"]);
        pane.scroll_by(-99, room);
        assert_eq!(pane.text(&request(&pane), room).unwrap(), ["1", "2", "3"]);
        pane.scroll_by(99, room);
        assert_eq!(pane.text(&request(&pane), room).unwrap(), ["7", "8", "9"]);

        // The text of another request is not shown for this one.
        pane.aspect = Aspect::Changes;
        assert_eq!(pane.text(&request(&pane), room), None);
        pane.show(request(&pane), lines(MAX_LINES + 1));
        assert_eq!(pane.text(&request(&pane), room).unwrap(), ["1", "2", "3"]);
        pane.scroll_by(9_999, (40, 1));
        assert_eq!(pane.text(&request(&pane), (40, 1)).unwrap(), ["… the rest: fairway lane diff cart"]);
    }
}
