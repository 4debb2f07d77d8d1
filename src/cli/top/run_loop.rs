//! The loop: waits for input, changes of the store, deaths and signals, and carries out what the state machine asks for.

mod children;

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;
use ratatui_core::layout::Position;
use ratatui_core::terminal::Terminal;

use super::action::Action;
use super::draw::{Look, draw};
use super::input::{Effect, Input};
use super::key::KeyDecoder;
use super::offer::Offer;
use super::pane::{Pane, Request};
use super::screen::{self, Ansi, Screen};
use super::state::State;
use super::viewer::{BackgroundCommand, PEEK_INTERVAL, Viewer};
use crate::api::{AppFactory, LiveProject};
use crate::cli::context::Context;
use crate::cli::review::card;
use fairway_actions::App;
use fairway_actions::agents::approval;
use fairway_actions::board::{BoardCache, list};
use fairway_actions::core::{errors, inside_session, lookup};
use fairway_actions::land;
use fairway_actions::queue::lane::checkout;
use fairway_actions::queue::review::next::{self, NextRequest};
use fairway_actions::queue::task::ready::{self, ReadyFor};
use fairway_actions::sessions::attendance;
use fairway_actions::sessions::control::attach;
use fairway_actions::upkeep::editor;
use fairway_actions::upkeep::notify::{self, Outlets};
use fairway_core::domain::approval::ApprovalStatus;
use fairway_core::domain::{LaneName, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::os::file_watch::FileWatch;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::signals::{self, SignalPipe};
use fairway_core::os::terminal::Size;
use fairway_core::os::{executable, poll};
use fairway_core::wire::ApprovalView;

/// How long the rest of a key's sequence may take.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(30);
/// How often ages are redrawn.
const AGE_INTERVAL: Duration = Duration::from_secs(60);
/// The shortest time between two boards; events in between are shown together.
const MIN_COMPOSE_INTERVAL: Duration = Duration::from_millis(100);
/// A board that is expensive to compose and to draw is composed more rarely: it gets this part of the time.
const COMPOSE_SHARE: u32 = 40;
/// An event is shown after this time at the latest.
const MAX_COMPOSE_INTERVAL: Duration = Duration::from_millis(800);
/// How often the store is checked: one that vanished sends no event.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// A check that comes later than this after it was due means that the machine has slept.
const MAX_CHECK_DELAY: Duration = Duration::from_secs(5);
/// What the pane shows besides a screen is read again at most this often.
const PANE_INTERVAL: Duration = Duration::from_secs(2);
/// A board that could not be composed is composed again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
const SIGNALS: [Signal; 6] =
    [Signal::SIGWINCH, Signal::SIGCONT, Signal::SIGTSTP, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT];

#[derive(Debug, Clone, Copy)]
enum End {
    Quit,
    By(Signal),
}

struct PaneViewer {
    request: Request,
    viewer: Viewer,
    /// What the board says of the selected row, to notice a change.
    facts: String,
}

struct Top<'a> {
    ctx: &'a Context,
    project: LiveProject,
    providers: Vec<&'static str>,
    program: PathBuf,
    waiter: ChangeWaiter,
    cache: BoardCache,
    state: State,
    screen: Option<Screen>,
    terminal: Terminal<Ansi>,
    signals: SignalPipe,
    decoder: KeyDecoder,
    background: Option<BackgroundCommand>,
    viewer: Option<Viewer>,
    pane: Option<PaneViewer>,
    has_changed: bool,
    composed_at: Instant,
    interval: Duration,
    /// When the board was last proven current.
    proven_at: Timestamp,
    is_drawn: bool,
    drawn_at: Instant,
    /// The time that the last frame took.
    draw_cost: Duration,
    /// Whether items are sent to the sinks of `[notify]`.
    notifies: bool,
    /// When something besides the board is due: a notification, or a retry after a failure.
    next_look: Option<Timestamp>,
}

/// Shows the board until the person quits or a signal arrives. After a signal, this process ends by that signal, so that its
/// parent sees how it ended.
pub(super) fn run(ctx: &Context, providers: &[&'static str]) -> Result<()> {
    match show(ctx, providers)? {
        End::Quit => Ok(()),
        // The caller sees how it ended.
        End::By(signal) => Ok(signals::end_by(signal)?),
    }
}

fn show(ctx: &Context, providers: &[&'static str]) -> Result<End> {
    let app = ctx.app()?;
    // Bound before the board is first read, so that no change is missed in between.
    let waiter = app.waiter("top")?;
    // A person watches: permission requests wait longer. Without it they are shown all the same.
    let _presence = attendance::watch_approvals(&app).ok();
    // A session's `top` would use up a person's notifications.
    let notifies = !inside_session::is_inside(&app);
    // `doctor` reports a sink that fails; the screen is only for the board.
    let _notifications =
        if notifies { Some(notify::send_in_background(&app, providers.to_vec(), |_| ())?) } else { None };
    let mut project = AppFactory::new(&app).open()?;
    let begin = Instant::now();
    let mut cache = BoardCache::new();
    let board = cache.compose(project.app()?, providers)?;
    let ready = list::ready_tasks(project.app()?, &board)?;
    let interval = interval_of(begin.elapsed());
    let mut top = Top {
        ctx,
        project,
        providers: providers.to_vec(),
        program: executable::current_executable()?,
        waiter,
        cache,
        state: State::new(board, ready, size()),
        signals: SignalPipe::install(&SIGNALS)?,
        screen: Some(Screen::enter()?),
        terminal: Terminal::new(Ansi::new(ctx.out.style.is_on()))?,
        decoder: KeyDecoder::default(),
        background: None,
        viewer: None,
        pane: None,
        has_changed: false,
        composed_at: Instant::now(),
        interval,
        proven_at: ctx.env.now(),
        is_drawn: false,
        drawn_at: Instant::now(),
        draw_cost: Duration::ZERO,
        notifies,
        next_look: None,
    };
    drop(app);
    top.state.pane = Some(Pane::new());
    top.notify();
    top.has_changed = top.cache.is_outdated();
    let end = top.follow();
    let Top { screen, signals, viewer, pane, .. } = top;
    drop(screen);
    drop(signals);
    for viewer in viewer.into_iter().chain(pane.map(|pane| pane.viewer)) {
        viewer.close();
    }
    end
}

fn size() -> Size {
    let size = screen::size();
    Size { rows: size.height, cols: size.width }
}

fn interval_of(cost: Duration) -> Duration {
    (cost * COMPOSE_SHARE).clamp(MIN_COMPOSE_INTERVAL, MAX_COMPOSE_INTERVAL)
}

impl Top<'_> {
    fn follow(&mut self) -> Result<End> {
        loop {
            self.follow_pane();
            if !self.is_drawn {
                self.draw()?;
                self.ctx.env.inject_test_fault();
            }
            if let Some(end) = self.wait()? {
                return Ok(end);
            }
            if self.drawn_at.elapsed() >= AGE_INTERVAL {
                self.is_drawn = false;
            }
            self.has_changed |= self.time_to_deadline().is_some_and(|left| left.is_zero());
            self.check();
            if self.has_changed && self.composed_at.elapsed() >= self.interval {
                self.compose()?;
            }
            if let Some(mut viewer) = self.viewer.take() {
                viewer.refresh(|action| self.spawn(action));
                self.viewer = Some(viewer);
            }
            if let Some(mut pane) = self.pane.take() {
                pane.viewer.refresh(|action| self.spawn(action));
                self.pane = Some(pane);
            }
        }
    }

    fn draw(&mut self) -> Result<()> {
        let begin = Instant::now();
        let look = Look { now: self.ctx.env.now(), has_colour: self.ctx.out.style.is_on() };
        let state = &self.state;
        self.terminal.draw(|frame| {
            let cursor: Option<Position> = draw(frame.buffer_mut(), state, look);
            if let Some(place) = cursor {
                frame.set_cursor_position(place);
            }
        })?;
        (self.is_drawn, self.drawn_at, self.draw_cost) = (true, Instant::now(), begin.elapsed());
        Ok(())
    }

    /// Sleeps until something happens, and handles that. Returns how the loop ends, or `None` when it must continue.
    fn wait(&mut self) -> Result<Option<End>> {
        let stdin = io::stdin();
        let ready = {
            // While a board is due, further changes do not end the wait: it will show them too.
            let changes = if self.has_changed { self.signals.as_fd() } else { self.waiter.as_fd() };
            let mut fds: Vec<BorrowedFd<'_>> = vec![stdin.as_fd(), self.signals.as_fd(), changes];
            fds.extend(self.cache.fds());
            fds.extend(self.background.iter().flat_map(BackgroundCommand::fds));
            fds.extend(self.viewers().flat_map(Viewer::child_fds));
            fds.extend(self.viewers().filter_map(Viewer::peek_fd));
            poll::wait_readable(&fds, Some(self.limit()))
        };
        let deaths = self.cache.fds().len();
        let is_ready = |at: usize| ready.get(at).copied().unwrap_or(false);
        while let Some(signal) = self.signals.next()? {
            if let Some(end) = self.signal(signal)? {
                return Ok(Some(end));
            }
        }
        self.has_changed |= is_ready(2);
        let ended = ready.get(3..3 + deaths).unwrap_or_default();
        if ended.contains(&true) {
            self.cache.note_ended(ended);
            self.has_changed = true;
        }
        self.read_children();
        for viewer in self.viewer.iter_mut().chain(self.pane.iter_mut().map(|pane| &mut pane.viewer)) {
            viewer.drain_watch();
        }
        if is_ready(0) {
            // As large as the buffer of stdin, which then keeps nothing back that a wait would not see.
            let mut bytes = [0; 8192];
            let length = match stdin.lock().read(&mut bytes) {
                // The terminal is gone.
                Ok(0) => return Ok(Some(End::By(Signal::SIGHUP))),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(_) => return Ok(Some(End::By(Signal::SIGHUP))),
            };
            let keys = self.decoder.take(bytes.get(..length).unwrap_or_default());
            return self.keys(keys);
        }
        if self.decoder.is_waiting() && !ready.contains(&true) {
            let keys = self.decoder.end();
            return self.keys(keys);
        }
        Ok(None)
    }

    /// The time until something is due, even if no event comes.
    fn limit(&self) -> Duration {
        let mut limit = AGE_INTERVAL.saturating_sub(self.drawn_at.elapsed()).min(self.time_to_check());
        limit = self.time_to_deadline().map_or(limit, |left| left.min(limit));
        if self.has_changed {
            limit = limit.min(self.interval.saturating_sub(self.composed_at.elapsed()));
        }
        if self.decoder.is_waiting() {
            limit = limit.min(SEQUENCE_TIMEOUT);
        }
        self.viewers().filter_map(Viewer::time_to_refresh).fold(limit, Duration::min)
    }

    fn viewers(&self) -> impl Iterator<Item = &Viewer> {
        self.viewer.iter().chain(self.pane.iter().map(|pane| &pane.viewer))
    }

    /// Starts the command of the pane again when the selected row, or what the board says of it, has changed.
    fn follow_pane(&mut self) {
        let Some(Ok(request)) = self.state.pane_request() else {
            self.close_pane();
            return;
        };
        let facts = self.state.row_facts();
        if let Some(pane) = &mut self.pane
            && pane.request == request
        {
            if pane.facts != facts {
                pane.facts = facts;
                pane.viewer.mark_changed();
            }
            return;
        }
        self.close_pane();
        let (watch, interval) = match &request.session {
            Some(session) => (self.watch_transcript(session), PEEK_INTERVAL),
            None => (FileWatch::new(), PANE_INTERVAL),
        };
        let viewer = Viewer::repeated(request.action.clone(), watch, interval);
        self.pane = Some(PaneViewer { request, viewer, facts });
    }

    fn close_pane(&mut self) {
        if let Some(pane) = self.pane.take() {
            pane.viewer.close();
        }
    }

    /// The time until the board changes or a notification is due although no event arrives. Returns `None` when neither will
    /// happen.
    fn time_to_deadline(&self) -> Option<Duration> {
        let next = self.cache.next_change().into_iter().chain(self.next_look).min()?;
        Some(next.since(self.ctx.env.now()))
    }

    /// The time until the next check. A board that is known to be outdated is composed again instead.
    fn time_to_check(&self) -> Duration {
        if self.state.as_of.is_some() {
            return Duration::MAX;
        }
        CHECK_INTERVAL.saturating_sub(self.ctx.env.now().since(self.proven_at))
    }

    /// Checks that the store is still the one of the board, and that the waiter still gets its changes.
    fn check(&mut self) {
        if !self.time_to_check().is_zero() {
            return;
        }
        let now = self.ctx.env.now();
        let has_slept = now.since(self.proven_at) > CHECK_INTERVAL + MAX_CHECK_DELAY;
        let is_there = self.project.app().and_then(|app| app.read(|_| Ok(())));
        if has_slept || is_there.is_err() || !self.waiter.path().exists() {
            self.has_changed = true;
        } else {
            self.proven_at = now;
        }
    }

    fn keys(&mut self, keys: Vec<super::key::Key>) -> Result<Option<End>> {
        for key in keys {
            if let Some(end) = self.take(Input::Key(key))? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn signal(&mut self, signal: Signal) -> Result<Option<End>> {
        match signal {
            Signal::SIGWINCH => self.take(Input::Resize(size())),
            Signal::SIGTSTP => {
                self.suspend()?;
                Ok(None)
            }
            Signal::SIGCONT => {
                // Another program may have changed the terminal meanwhile.
                self.screen = None;
                self.enter()?;
                Ok(None)
            }
            _ => Ok(Some(End::By(signal))),
        }
    }

    /// Gives an input to the state machine and carries out its effects.
    fn take(&mut self, input: Input) -> Result<Option<End>> {
        self.is_drawn = false;
        for effect in self.state.take(input) {
            let next = match effect {
                Effect::Quit => return Ok(Some(End::Quit)),
                Effect::Suspend => {
                    self.suspend()?;
                    None
                }
                Effect::Clear => {
                    self.terminal.clear()?;
                    None
                }
                Effect::Run(action) => self.run_in_background(action),
                Effect::Attach(session) => self.attach(&session)?,
                Effect::Edit(lane) => self.edit(&lane)?,
                Effect::View(action) => self.open_viewer(action, None),
                Effect::Peek { session, action } => {
                    let watch = self.watch_transcript(&session);
                    self.open_viewer(action, Some(watch))
                }
                Effect::CloseView => {
                    self.close_viewer();
                    None
                }
                Effect::LoadApproval { id, offer } => Some(self.load_approval(id, offer)),
                Effect::LoadCard(task) => Some(self.load_card(task)),
                Effect::FindNext => Some(self.find_next()),
            };
            if let Some(next) = next {
                // The answer to an effect has no effect of its own.
                self.state.take(next);
            }
        }
        Ok(None)
    }

    fn compose(&mut self) -> Result<()> {
        self.has_changed = false;
        let begin = Instant::now();
        self.waiter.drain()?;
        // A change of the board may show on a session's screen.
        if let Some(viewer) = &mut self.viewer {
            viewer.mark_changed();
        }
        let (cache, providers) = (&mut self.cache, &self.providers);
        let composed = self.project.app().and_then(|app| {
            // What the forge says comes as an event.
            let _ = land::start_sync(app);
            let board = cache.compose(app, providers)?;
            let ready = list::ready_tasks(app, &board)?;
            Ok((board, ready))
        });
        self.interval = interval_of(begin.elapsed() + self.draw_cost);
        self.composed_at = Instant::now();
        self.is_drawn = false;
        match composed {
            Ok(_) if !self.waiter.path().exists() => {
                self.next_look = None;
                self.lose("the project's state directory was replaced; start top again".to_owned());
            }
            Ok((board, ready)) => {
                self.next_look = None;
                self.proven_at = self.ctx.env.now();
                self.has_changed = self.cache.is_outdated();
                self.state.take(Input::Board { board: Box::new(board), ready });
                self.notify();
            }
            Err(error) => {
                self.project.note_error(&error);
                self.next_look = Some(self.ctx.env.now().plus(RETRY_INTERVAL));
                self.lose(format!("the board is as before: {}", sentence(&error)));
            }
        }
        Ok(())
    }

    fn lose(&mut self, why: String) {
        self.state.take(Input::Lost { as_of: self.proven_at, why });
    }

    /// Sends due notifications to the sinks that are this terminal; a background thread serves the others.
    fn notify(&mut self) {
        if !self.notifies {
            return;
        }
        let mut stdout = io::stdout();
        let mut outlets = Outlets { terminal: Some(&mut stdout), programs: false };
        let (cache, board) = (&mut self.cache, &self.state.board);
        let send = |app| notify::send_due_of(app, board, cache, &self.providers, &mut outlets);
        match self.project.app().and_then(send) {
            Ok(sent) => self.next_look = sent.next,
            Err(error) => {
                self.next_look = None;
                self.state.take(Input::Failed(format!("no notification was sent: {}", sentence(&error))));
            }
        }
    }

    fn suspend(&mut self) -> Result<()> {
        self.screen = None;
        self.signals.stop_group()?;
        self.enter()
    }

    fn enter(&mut self) -> Result<()> {
        self.screen = Some(Screen::enter()?);
        self.state.take(Input::Resize(size()));
        self.terminal.clear()?;
        (self.has_changed, self.is_drawn) = (true, false);
        Ok(())
    }

    fn attach(&mut self, session: &str) -> Result<Option<Input>> {
        let id = match SessionId::parse(session) {
            Ok(id) => id,
            Err(error) => return Ok(Some(Input::Failed(error.to_string()))),
        };
        let attachable = match self.project.app().and_then(|app| attach::attach(app, &id)) {
            Ok(attachable) => attachable,
            Err(error) => return Ok(Some(Input::Failed(sentence(&error)))),
        };
        self.screen = None;
        let attached = attachable.run();
        drop(attachable);
        if let Ok(app) = self.project.app() {
            attach::settle(app, &id);
        }
        self.enter()?;
        Ok(match attached {
            Ok(0) => None,
            Ok(code) => Some(Input::Failed(format!("fairway session attach {id}: exit code {code}"))),
            Err(error) => Some(Input::Failed(sentence(&error))),
        })
    }

    /// Opens the worktree of a lane in the person's editor, and takes the terminal back.
    fn edit(&mut self, lane: &str) -> Result<Option<Input>> {
        let dir = LaneName::parse(lane).map_err(anyhow::Error::from).and_then(|name| {
            let app = self.project.app()?;
            let lane = app.read(|tx| lookup::lane(tx, &name))?;
            checkout::dir(app, &lane, &["lane", "show", name.as_str()])
        });
        let dir = match dir {
            Ok(dir) => dir,
            Err(error) => return Ok(Some(Input::Failed(sentence(&error)))),
        };
        self.screen = None;
        let edited = editor::run(&self.ctx.env, &dir, &dir);
        self.enter()?;
        Ok(edited.err().map(|error| Input::Failed(sentence(&error))))
    }

    fn load_approval(&mut self, id: i64, offer: Offer) -> Input {
        match self.project.app().and_then(|app| approval::list(app, false)) {
            Ok(found) => {
                let is_open = |one: &ApprovalView| one.id == id && one.status == ApprovalStatus::Pending;
                let found = found.into_iter().find(is_open).map(Box::new);
                Input::Approval { id, offer, found }
            }
            Err(error) => Input::Failed(sentence(&error)),
        }
    }

    /// Reads the review card of a task whole, which then counts as seen.
    fn load_card(&mut self, task: String) -> Input {
        let now = self.ctx.env.now();
        let read = |app: &App| {
            let request = NextRequest { task: Some(TaskId::parse(&task)?), ..NextRequest::default() };
            let found = next::next(app, &request)?;
            let Some(card) = &found.card else { return Ok((card::nothing(&found), Vec::new())) };
            // Without this record, the next card repeats what the reviewer has seen.
            let note = next::shown(app, card).err().map(|error| format!("\nthis card is not remembered: {error}"));
            let text = card::text(card, &found, now);
            Ok((format!("{}{}{}", text.top, text.patch, note.unwrap_or_default()), card.commands.clone()))
        };
        match self.project.app().and_then(read) {
            Ok((text, commands)) => {
                let lines = text.lines().map(|line| line.replace('\t', "    ")).collect();
                Input::Card { task, lines, commands }
            }
            Err(error) => Input::Failed(sentence(&error)),
        }
    }

    fn find_next(&mut self) -> Input {
        match self.project.app().and_then(|app| ready::ready(app, ReadyFor::Anyone, Some(1))) {
            Ok((found, _)) => Input::Next(found.into_iter().next().map(|task| (task.id, task.title))),
            Err(error) => Input::Failed(sentence(&error)),
        }
    }
}

/// A failure and its hint as a line.
fn sentence(error: &anyhow::Error) -> String {
    let failure = errors::classify(error);
    let hint = failure.hint.map(|hint| format!("   hint: {}", hint.replace('\n', "; "))).unwrap_or_default();
    format!("{}{hint}", failure.message)
}
