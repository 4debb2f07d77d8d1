//! The state machine: `(state, input) -> effects`. No input and no output, and no clock.

use super::action::{self, Action, Aspect};
use super::editor::Editor;
use super::input::{Effect, Input};
use super::key::Key;
use super::mode::{Mode, View, ViewForm};
use super::offer::{self, KeyCommand, Offer};
use super::pane::{Pane, Request};
use super::rows::{self, Subject};
use super::template::Template;
use super::text;
use fairway_actions::board::list::{self, ListPart, ListRow};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::task::TaskSummary;
use fairway_core::env::Timestamp;
use fairway_core::os::terminal::Size;
use fairway_core::render::Meaning;
use fairway_core::wire::tool_input::is_cut;
use fairway_core::wire::{ApprovalView, BoardView, NeedView};

/// The most lines of a viewer that are kept; the oldest go first.
pub(super) const MAX_VIEW_LINES: usize = 20_000;

#[derive(Debug)]
pub(super) struct State {
    pub board: BoardView,
    /// The first tasks that can be claimed.
    ready: Vec<TaskSummary>,
    pub rows: Vec<ListRow>,
    pub cursor: usize,
    pub filter: String,
    pub mode: Mode,
    /// The outcome of the last command, in the status line.
    pub message: Option<(Meaning, String)>,
    /// The time at which the board was current last; `None` while it is.
    pub as_of: Option<Timestamp>,
    pub running: Option<String>,
    /// The task whose change the running command makes, and the one whose last change can be taken back.
    changing: Option<String>,
    changed: Option<String>,
    pub size: Size,
    pub pane: Option<Pane>,
}

impl State {
    /// Creates the state of a board whose first row is selected.
    pub(super) fn new(board: BoardView, ready: Vec<TaskSummary>, size: Size) -> Self {
        let mut state = Self {
            board,
            ready,
            rows: Vec::new(),
            cursor: 0,
            filter: String::new(),
            mode: Mode::Board,
            message: None,
            as_of: None,
            running: None,
            changing: None,
            changed: None,
            size,
            pane: None,
        };
        state.select_rows(None);
        state
    }

    pub(super) fn row(&self) -> Option<&ListRow> {
        self.rows.get(self.cursor)
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        self.row().map(|row| Subject::of(row, &self.board)).unwrap_or_default()
    }

    /// What can be done about the selected row.
    pub(super) fn offers(&self) -> Vec<Offer> {
        offer::offers(&self.subject(), &self.board)
    }

    /// The number of lines for a text that covers the board.
    pub(super) fn view_height(&self) -> usize {
        usize::from(self.size.rows).saturating_sub(2).max(1)
    }

    /// The number of lines of a permission request that fit into a frame.
    pub(super) fn approval_height(&self) -> usize {
        usize::from(self.size.rows).saturating_sub(4).max(1)
    }

    /// Applies an input to the state. Returns the effects that the caller must carry out.
    pub(super) fn take(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => return self.key(key),
            Input::Resize(size) => {
                self.size = size;
                self.see_approval();
                return vec![Effect::Clear];
            }
            Input::Board { board, ready } => {
                self.as_of = None;
                self.ready = ready;
                self.board(*board);
            }
            Input::Lost { as_of, why } => {
                self.as_of = Some(as_of);
                self.message = Some((Meaning::Bad, why));
            }
            Input::Approval { id, found: None, .. } => {
                self.message = Some((Meaning::Notice, format!("approval {id} is no longer open")));
            }
            Input::Approval { id, offer, found: Some(found) } => self.ask_approval(id, offer, &found),
            Input::Card { task, lines, commands } => {
                let view =
                    View { offers: offer::card_offers(&commands, &task), ..View::of(format!("review of {task}")) };
                self.mode = Mode::View(View { form: ViewForm::Diff, ..view });
                self.lines(lines, true);
            }
            Input::Next(Some((task, title))) => {
                self.mode = Mode::Confirm {
                    question: format!("Start an agent on {task}: {title}?"),
                    action: Action::new(&["start", &task]),
                };
            }
            Input::Next(None) => self.message = Some((Meaning::Notice, "no task is ready".to_owned())),
            Input::Ended { is_ok, said } => {
                self.running = None;
                self.changed = self.changing.take().filter(|_| is_ok);
                let said = if self.changed.is_some() { format!("{said}   u takes it back") } else { said };
                self.message = Some((if is_ok { Meaning::Good } else { Meaning::Bad }, said));
            }
            Input::Lines { lines, whole } => self.lines(lines, whole),
            Input::ViewEnded => {
                if let Mode::View(view) = &mut self.mode {
                    view.is_live = false;
                }
            }
            Input::Pane { request, lines } => {
                if let Some(pane) = &mut self.pane {
                    pane.show(request, lines);
                }
            }
            Input::Failed(why) => self.message = Some((Meaning::Bad, why)),
        }
        Vec::new()
    }

    fn board(&mut self, board: BoardView) {
        let selected = self.row().map(|row| row.key.clone());
        self.board = board;
        self.select_rows(selected);
        self.lock_text();
        // A request that was answered elsewhere is asked no more.
        if let Mode::Approval { id, .. } = &self.mode {
            let (id, key) = (*id, format!("approval:{id}"));
            if !self.board.needs_you.iter().any(|need| need.id == key) {
                self.mode = Mode::Board;
                self.message = Some((Meaning::Notice, format!("approval {id} is no longer open")));
            }
        }
    }

    /// Locks a text whose question is no longer on the board or has become another one.
    fn lock_text(&mut self) {
        let Mode::Text { item: Some(item), over, .. } = &mut self.mode else { return };
        if self.board.needs_you.iter().any(|need| need.id == *item) {
            return;
        }
        let of_session = |id: &str| id.rsplit_once(':').map(|(session, _)| session.to_owned());
        let is_other = |need: &NeedView| need.kind == NeedKind::Question && of_session(&need.id) == of_session(item);
        let why = if self.board.needs_you.iter().any(is_other) { "another question is asked" } else { "it is settled" };
        *over = Some(format!("{why}: nothing is sent; Esc leaves"));
    }

    /// Shows a permission request, which its key then answers.
    fn ask_approval(&mut self, id: i64, offer: Offer, found: &ApprovalView) {
        if offer.key != 'd' && is_cut(&found.input) {
            let why = "the call is longer than what is stored of it: Enter opens the agent's own window";
            self.message = Some((Meaning::Notice, why.to_owned()));
            return;
        }
        self.mode = Mode::Approval { id, offer, lines: approval_lines(found), scroll: 0, is_seen: false };
        self.see_approval();
    }

    /// Selects the rows that the filter leaves. The cursor stays on its object; if that is gone, it stays in its place.
    fn select_rows(&mut self, selected: Option<String>) {
        let mut rows = list::rows(&self.board, &self.ready);
        rows.retain(|row| rows::contains(row, &self.board, &self.filter));
        self.rows = rows;
        let found = self.rows.iter().position(|row| selected.as_ref() == Some(&row.key));
        self.cursor = found.unwrap_or(self.cursor).min(self.rows.len().saturating_sub(1));
    }

    fn lines(&mut self, lines: Vec<String>, whole: bool) {
        let (height, room) = (self.view_height(), usize::from(self.size.cols));
        let Mode::View(view) = &mut self.mode else { return };
        let lines = if view.form == ViewForm::Screen { lines } else { text::wrap_all(&lines, room) };
        if whole {
            view.lines = lines;
        } else {
            view.lines.extend(lines);
        }
        let excess = view.lines.len().saturating_sub(MAX_VIEW_LINES);
        if excess > 0 && view.is_live {
            view.lines.drain(..excess);
            view.scroll = view.scroll.saturating_sub(excess);
        } else if excess > 0 {
            view.lines.truncate(MAX_VIEW_LINES - 1);
            view.lines.push(format!("… the rest: {}", view.typed));
        }
        let last = view.lines.len().saturating_sub(height);
        view.scroll = if view.is_at_end { last } else { view.scroll.min(last) };
    }

    fn key(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Ctrl('c') => return vec![Effect::Quit],
            Key::Ctrl('z') => return vec![Effect::Suspend],
            Key::Ctrl('l') => return vec![Effect::Clear],
            Key::Unknown => return Vec::new(),
            _ => {}
        }
        // After a key that did nothing, the next one leaves the message and not the program.
        if self.message.take().is_some_and(|(meaning, _)| meaning == Meaning::Notice)
            && (&self.mode, &key) == (&Mode::Board, &Key::Char('q'))
        {
            return Vec::new();
        }
        match &self.mode {
            Mode::Board => self.board_key(key),
            Mode::Filter(_) => self.filter_key(&key),
            Mode::Text { .. } => self.text_key(&key),
            Mode::Confirm { .. } => self.confirm_key(&key),
            Mode::Approval { .. } => self.approval_key(&key),
            Mode::View(_) => self.view_key(&key),
            Mode::Keys => self.listed_key(&key),
        }
    }

    /// A key while the keys are listed: each of them works.
    fn listed_key(&mut self, key: &Key) -> Vec<Effect> {
        self.mode = Mode::Board;
        let key = match key {
            Key::Char(key) => *key,
            Key::Enter => '\n',
            _ => return Vec::new(),
        };
        match self.offers().into_iter().find(|offer| offer.key == key) {
            Some(offer) => self.take_offer(offer),
            None if key == '?' || key == 'q' => Vec::new(),
            None => self.board_key(Key::Char(key)),
        }
    }

    fn board_key(&mut self, key: Key) -> Vec<Effect> {
        let last = self.rows.len().saturating_sub(1);
        let page = usize::from(self.size.rows).saturating_sub(8).max(1);
        match key {
            Key::Char('q') => return vec![Effect::Quit],
            Key::Char('?') => self.mode = Mode::Keys,
            Key::Char('/') => self.mode = Mode::Filter(Editor::new(&self.filter)),
            Key::Char('j') | Key::Down => self.cursor = (self.cursor + 1).min(last),
            Key::Char('k') | Key::Up => self.cursor = self.cursor.saturating_sub(1),
            Key::Char('g') | Key::Home => self.cursor = 0,
            Key::Char('G') | Key::End => self.cursor = last,
            Key::PageDown | Key::Ctrl('d' | 'f') => self.cursor = (self.cursor + page).min(last),
            Key::PageUp | Key::Ctrl('u' | 'b') => self.cursor = self.cursor.saturating_sub(page),
            Key::Tab => self.cursor = self.next_part(true),
            Key::BackTab => self.cursor = self.next_part(false),
            Key::Char(key @ ('0'..='4' | 'J' | 'K')) if self.has_room_for_pane() => self.pane_key(key),
            Key::Escape if !self.filter.is_empty() => self.set_filter(String::new()),
            Key::Char('N') => return vec![Effect::FindNext],
            Key::Char('u') => return self.undo(),
            Key::Char('n') => return self.run_template("fairway task add TITLE", "new task"),
            Key::Char('O') => {
                return self.run_template("fairway task reopen TASK --reason TEXT", "reopen a closed task");
            }
            Key::Enter => return self.row_key('\n'),
            Key::Char(key) => return self.row_key(key),
            _ => {}
        }
        Vec::new()
    }

    /// The index of the first row of the next or the previous part; wraps around.
    fn next_part(&self, is_forward: bool) -> usize {
        let part = self.row().map(|row| row.part);
        let first = |wanted: ListPart| self.rows.iter().position(|row| row.part == wanted).unwrap_or(0);
        let mut parts: Vec<ListPart> = self.rows.iter().map(|row| row.part).collect();
        parts.dedup();
        let Some(at) = parts.iter().position(|one| Some(*one) == part) else { return 0 };
        let next = if is_forward { at + 1 } else { at + parts.len() - 1 };
        parts.get(next % parts.len()).map_or(0, |part| first(*part))
    }

    /// The width of the list beside the pane. Returns `None` when no pane is visible.
    pub(super) fn list_width(&self) -> Option<usize> {
        let is_over = matches!(self.mode, Mode::View(_) | Mode::Approval { .. } | Mode::Keys);
        self.pane.as_ref().filter(|_| !is_over)?.list_width(usize::from(self.size.cols))
    }

    /// The request for the content of the pane. Returns `None` when no pane is visible. The error says why there is nothing to
    /// show.
    pub(super) fn pane_request(&self) -> Option<Result<Request, &'static str>> {
        self.list_width()?;
        self.pane.as_ref().map(|pane| pane.request(&self.subject()))
    }

    /// The size of the text in the pane, as columns and lines.
    pub(super) fn pane_room(&self) -> (usize, usize) {
        let list = self.list_width().unwrap_or_default();
        (usize::from(self.size.cols).saturating_sub(list + 2), usize::from(self.size.rows).saturating_sub(3))
    }

    /// Everything that the board says about the selected row's lane and session, and about the item that needs a person
    /// there, as one text. When it changes, the pane must be read again.
    pub(super) fn row_facts(&self) -> String {
        let subject = self.subject();
        let lane = self.board.lanes.iter().find(|lane| Some(lane.name.as_str()) == subject.lane);
        let session = self.board.sessions.iter().find(|one| Some(one.session.id.as_str()) == subject.session);
        format!("{lane:?} {session:?} {:?}", subject.need)
    }

    fn has_room_for_pane(&self) -> bool {
        self.pane.as_ref().is_some_and(|pane| pane.has_room(usize::from(self.size.cols)))
    }

    fn pane_key(&mut self, key: char) {
        let room = self.pane_room();
        let Some(pane) = &mut self.pane else { return };
        match key {
            'J' => pane.scroll_by(1, room),
            'K' => pane.scroll_by(-1, room),
            _ => match Aspect::of_key(key) {
                Some(aspect) => (pane.aspect, pane.is_hidden) = (aspect, false),
                None => pane.is_hidden = true,
            },
        }
    }

    /// A key that is about the selected row.
    fn row_key(&mut self, key: char) -> Vec<Effect> {
        if let Some(aspect) = Aspect::of_key(key) {
            return self.open_aspect(aspect);
        }
        let offers = self.offers();
        match offers.into_iter().find(|offer| offer.key == key && offer.is_direct()) {
            Some(offer) => self.take_offer(offer),
            None => {
                self.message = Some((Meaning::Notice, "this key does nothing here; ? shows those that do".to_owned()));
                Vec::new()
            }
        }
    }

    /// Shows over the list what would stand beside it.
    fn open_aspect(&mut self, aspect: Aspect) -> Vec<Effect> {
        let subject = self.subject();
        let session = subject.session.filter(|_| aspect == Aspect::Screen && subject.job.is_none()).map(str::to_owned);
        match (action::print(aspect, &subject), session) {
            (Err(why), _) => {
                self.message = Some((Meaning::Notice, why.to_owned()));
                Vec::new()
            }
            (Ok(action), None) => {
                self.open_view(&action, false);
                vec![Effect::View(action)]
            }
            (Ok(action), Some(session)) => {
                self.open_view(&action, true);
                vec![Effect::Peek { session, action }]
            }
        }
    }

    fn run_template(&mut self, command: &str, label: &str) -> Vec<Effect> {
        let Some(template) = Template::parse(command) else { return Vec::new() };
        let does = KeyCommand::Run { template, question: None, asked: None, undo: None };
        self.take_offer(Offer { key: ' ', label: label.to_owned(), does })
    }

    fn take_offer(&mut self, offer: Offer) -> Vec<Effect> {
        match offer.does {
            KeyCommand::Attach { session } => vec![Effect::Attach(session)],
            KeyCommand::Edit { lane } => vec![Effect::Edit(lane)],
            KeyCommand::View(action) => {
                self.open_view(&action, false);
                vec![Effect::View(action)]
            }
            KeyCommand::Follow(action) => {
                self.open_view(&action, true);
                vec![Effect::View(action)]
            }
            KeyCommand::Answer { id, .. } => vec![Effect::LoadApproval { id, offer }],
            KeyCommand::Card { task } => vec![Effect::LoadCard(task)],
            KeyCommand::Run { template, question, asked, undo } => {
                self.changing = undo;
                self.ask_or_run(template, question, asked, offer.label)
            }
        }
    }

    /// Asks for the first gap of a command, or for a confirmation; runs one that needs neither.
    fn ask_or_run(
        &mut self,
        template: Template,
        question: Option<String>,
        asked: Option<String>,
        label: String,
    ) -> Vec<Effect> {
        match (template.gap(), question) {
            (Some(gap), _) => {
                let title = format!("{label}: {gap}");
                let item = template.given().strip_prefix(&["answer"]).and_then(|words| words.first().copied());
                let item = item.map(str::to_owned);
                let editor = Editor::default();
                self.mode = Mode::Text { title, label, asked, item, template, editor, over: None };
                Vec::new()
            }
            (None, Some(question)) => {
                self.mode = Mode::Confirm { action: template.action(), question };
                Vec::new()
            }
            (None, None) => self.run(template.action()),
        }
    }

    /// Takes back the change that the last command from here has made.
    fn undo(&mut self) -> Vec<Effect> {
        match self.changed.take() {
            Some(task) => self.run(Action::new(&["task", "undo", &task])),
            None => {
                self.message =
                    Some((Meaning::Notice, "nothing was changed from here that can be taken back".to_owned()));
                Vec::new()
            }
        }
    }

    fn open_view(&mut self, action: &Action, is_live: bool) {
        let is_diff = action.argv.first().is_some_and(|word| word == "lane");
        let form = if is_diff { ViewForm::Diff } else { ViewForm::Text };
        let form = if action.prints_cells() { ViewForm::Screen } else { form };
        self.mode = Mode::View(View { is_at_end: is_live, form, is_live, ..View::of(action.typed()) });
    }

    fn run(&mut self, action: Action) -> Vec<Effect> {
        self.mode = Mode::Board;
        if self.running.is_some() {
            self.message = Some((Meaning::Notice, "a command runs; wait for its end".to_owned()));
            return Vec::new();
        }
        self.running = Some(action.typed());
        vec![Effect::Run(action)]
    }

    fn set_filter(&mut self, filter: String) {
        let selected = self.row().map(|row| row.key.clone());
        self.filter = filter;
        self.select_rows(selected);
    }

    fn filter_key(&mut self, key: &Key) -> Vec<Effect> {
        let Mode::Filter(editor) = &mut self.mode else { return Vec::new() };
        match key {
            Key::Enter => self.mode = Mode::Board,
            Key::Escape => {
                self.mode = Mode::Board;
                self.set_filter(String::new());
            }
            key => {
                if editor.take(key) {
                    let text = editor.text();
                    self.set_filter(text);
                }
            }
        }
        Vec::new()
    }

    fn text_key(&mut self, key: &Key) -> Vec<Effect> {
        let Mode::Text { title, label, template, editor, over, .. } = &mut self.mode else { return Vec::new() };
        match key {
            Key::Escape => (self.mode, self.changing) = (Mode::Board, None),
            _ if over.is_some() => {}
            Key::Enter => {
                let text = editor.text();
                if text.trim().is_empty() {
                    (self.mode, self.changing) = (Mode::Board, None);
                    self.message = Some((Meaning::Notice, "nothing was typed; nothing was done".to_owned()));
                    return Vec::new();
                }
                let filled = template.clone().fill(text.trim());
                let Some(gap) = filled.gap() else { return self.run(filled.action()) };
                *title = format!("{label}: {gap}");
                (*template, *editor) = (filled, Editor::default());
            }
            key => drop(editor.take(key)),
        }
        Vec::new()
    }

    fn confirm_key(&mut self, key: &Key) -> Vec<Effect> {
        let Mode::Confirm { action, .. } = &self.mode else { return Vec::new() };
        match key {
            Key::Char('y') => {
                let action = action.clone();
                return self.run(action);
            }
            // Pasted text must not answer the request.
            Key::Char(_) | Key::Escape | Key::Enter => {
                (self.mode, self.changing) = (Mode::Board, None);
                self.message = Some((Meaning::Faint, "nothing was done".to_owned()));
            }
            _ => {}
        }
        Vec::new()
    }

    fn approval_key(&mut self, key: &Key) -> Vec<Effect> {
        let height = self.approval_height();
        let room = self.text_width();
        let Mode::Approval { offer, lines, scroll, is_seen, .. } = &mut self.mode else { return Vec::new() };
        let last = wrapped_count(lines, room).saturating_sub(height);
        match key {
            Key::Char('j') | Key::Down => *scroll = (*scroll + 1).min(last),
            Key::Char('k') | Key::Up => *scroll = scroll.saturating_sub(1),
            Key::PageDown | Key::Char(' ') => *scroll = (*scroll + height).min(last),
            Key::PageUp => *scroll = scroll.saturating_sub(height),
            Key::Char('G') | Key::End => *scroll = last,
            Key::Char('g') | Key::Home => *scroll = 0,
            Key::Char(key) if *key == offer.key => {
                if let (true, KeyCommand::Answer { action, .. }) = (*is_seen, &offer.does) {
                    let action = action.clone();
                    return self.run(action);
                }
                self.message = Some((Meaning::Notice, "read to the end first: Space".to_owned()));
            }
            Key::Char(_) | Key::Escape => {
                self.mode = Mode::Board;
                self.message = Some((Meaning::Faint, "nothing was answered".to_owned()));
            }
            _ => {}
        }
        self.see_approval();
        Vec::new()
    }

    /// The number of columns for a text that covers the board.
    pub(super) fn text_width(&self) -> usize {
        usize::from(self.size.cols).saturating_sub(2).max(1)
    }

    /// Marks the request as seen when its last line is on the screen.
    fn see_approval(&mut self) {
        let (height, room) = (self.approval_height(), self.text_width());
        if let Mode::Approval { lines, scroll, is_seen, .. } = &mut self.mode {
            let count = wrapped_count(lines, room);
            *scroll = (*scroll).min(count.saturating_sub(height));
            *is_seen |= *scroll + height >= count;
        }
    }

    fn view_key(&mut self, key: &Key) -> Vec<Effect> {
        let height = self.view_height();
        let Mode::View(view) = &mut self.mode else { return Vec::new() };
        let last = view.lines.len().saturating_sub(height);
        match key {
            Key::Char('q') | Key::Escape | Key::Enter => {
                self.mode = Mode::Board;
                return vec![Effect::CloseView];
            }
            Key::Char(key @ '1'..='4') => {
                let key = *key;
                self.mode = Mode::Board;
                let mut effects = vec![Effect::CloseView];
                effects.extend(self.row_key(key));
                return effects;
            }
            Key::Char('j') | Key::Down => view.scroll = (view.scroll + 1).min(last),
            Key::Char('k') | Key::Up => view.scroll = view.scroll.saturating_sub(1),
            Key::PageDown | Key::Char(' ') | Key::Ctrl('d' | 'f') => view.scroll = (view.scroll + height).min(last),
            Key::PageUp | Key::Ctrl('u' | 'b') => view.scroll = view.scroll.saturating_sub(height),
            Key::Char('g') | Key::Home => view.scroll = 0,
            Key::Char('G') | Key::End => view.scroll = last,
            Key::Char(key) => {
                if let Some(offer) = view.offers.iter().find(|offer| offer.key == *key).cloned() {
                    self.mode = Mode::Board;
                    return self.take_offer(offer);
                }
            }
            _ => {}
        }
        view.is_at_end = view.is_live && view.scroll == last;
        Vec::new()
    }
}

/// The number of lines of a text, wrapped.
fn wrapped_count(lines: &[String], room: usize) -> usize {
    lines.iter().map(|line| text::wrap(line, room).len().max(1)).sum()
}

/// A permission request, whole: its tool, and each part of its input.
fn approval_lines(found: &ApprovalView) -> Vec<String> {
    let mut lines = vec![format!("{} asks for {}", found.session_id, found.tool), String::new()];
    match found.input.as_object() {
        Some(fields) => {
            for (name, value) in fields {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let mut parts = text.lines();
                lines.push(format!("{name}: {}", parts.next().unwrap_or_default()));
                lines.extend(parts.map(|part| format!("    {part}")));
            }
        }
        None => lines.extend(
            found.input.as_str().map_or_else(|| found.input.to_string(), str::to_owned).lines().map(str::to_owned),
        ),
    }
    if lines.iter().any(|line| line.ends_with('…')) {
        lines.extend([String::new(), "A part was too long to be kept; the agent's window has all of it.".to_owned()]);
    }
    lines
}
