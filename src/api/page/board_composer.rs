//! The thread that composes the board for the page: reading it must not hold up the decisions of the serving thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Result;
use tokio::sync::oneshot;

use super::board_html::parts;
use super::board_part::Part;
use crate::api::error::ApiError;
use crate::api::live_project::AppFactory;
use crate::api::store_writer::run_catching_panic;
use fairway_actions::App;
use fairway_actions::agents::approval;
use fairway_actions::board::{BoardCache, WatchedProcess, list};
use fairway_actions::land;
use fairway_actions::sessions::start::installed_providers;
use fairway_core::domain::need::NeedKind;
use fairway_core::env::Timestamp;
use fairway_core::wire::NeedView;

/// The board at one instant, drawn.
#[derive(Debug, Clone)]
pub(super) struct ComposedBoard {
    pub(super) project: String,
    pub(super) seq: i64,
    pub(super) parts: Vec<Part>,
    /// The items that need a person, with their commands.
    pub(super) items: Vec<OfferedItem>,
    /// The sessions of the board.
    pub(super) sessions: Vec<String>,
    /// Processes whose end changes the board without an event.
    pub(super) processes: Vec<WatchedProcess>,
    /// When the board changes by time alone.
    pub(super) next_change: Option<Timestamp>,
    pub(super) now: Timestamp,
    pub(super) took: Duration,
}

/// An item that needs a person.
#[derive(Debug, Clone)]
pub(super) struct OfferedItem {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) commands: Vec<String>,
}

type Reply = oneshot::Sender<Result<ComposedBoard, ApiError>>;

/// The handle of the thread. The thread ends when the handle is dropped.
#[derive(Debug)]
pub(super) struct Composer(Sender<Reply>);

impl Composer {
    /// Starts the thread that composes boards. `hook_providers` are the labels of the providers whose agents call hooks.
    pub(super) fn start(factory: AppFactory, hook_providers: Vec<&'static str>) -> io::Result<Self> {
        let (requests, received) = channel();
        thread::Builder::new().name("page".into()).spawn(move || run(&factory, &hook_providers, &received))?;
        Ok(Self(requests))
    }

    /// Has the thread read and draw the board as it is now. Fails when that fails or the thread has stopped.
    pub(super) async fn compose(&self) -> Result<ComposedBoard, ApiError> {
        let (reply, composed) = oneshot::channel();
        let sent = self.0.send(reply).map_err(|_| ApiError::internal("the page's thread has stopped"));
        sent?;
        composed.await.unwrap_or_else(|_| Err(ApiError::internal("the page's thread has stopped")))
    }
}

fn run(factory: &AppFactory, hook_providers: &[&str], requests: &Receiver<Reply>) {
    let mut project = None;
    let mut cache = BoardCache::new();
    while let Ok(first) = requests.recv() {
        // One board answers all that wait.
        let waiting: Vec<Reply> = std::iter::once(first).chain(requests.try_iter()).collect();
        if project.is_none() {
            match factory.clone().open() {
                Ok(opened) => project = Some(opened),
                Err(error) => {
                    let error = ApiError::from(error);
                    for reply in waiting {
                        drop(reply.send(Err(error.clone())));
                    }
                    continue;
                }
            }
        }
        let Some(project) = &mut project else { continue };
        let composed = run_catching_panic(project, |app| compose(app, &mut cache, hook_providers));
        for reply in waiting {
            drop(reply.send(composed.clone()));
        }
    }
}

fn compose(app: &App, cache: &mut BoardCache, hook_providers: &[&str]) -> Result<ComposedBoard> {
    let start = Instant::now();
    // What the forge says comes as an event.
    let _ = land::start_sync(app);
    let board = cache.compose(app, hook_providers)?;
    let is_approval = |need: &&NeedView| need.kind == NeedKind::Approval;
    let approvals =
        if board.needs_you.iter().any(|need| is_approval(&need)) { approval::list(app, false)? } else { Vec::new() };
    let ready = list::ready_tasks(app, &board)?;
    let is_empty = board.counts.open + board.counts.done + board.counts.sessions == 0 && board.lanes.is_empty();
    let agents = (is_empty && board.needs_you.is_empty()).then(|| installed_providers(app));
    let now = app.env.now();
    Ok(ComposedBoard {
        project: board.project.clone(),
        seq: board.seq,
        parts: parts(&board, &approvals, &ready, agents.as_deref()),
        items: board.needs_you.iter().map(offered).collect(),
        sessions: board.all_sessions().map(|one| one.session.id.clone()).collect(),
        processes: cache.processes(),
        next_change: cache.next_change(),
        now,
        took: start.elapsed(),
    })
}

fn offered(need: &NeedView) -> OfferedItem {
    let commands = need.commands.iter().map(|next| next.command.clone()).collect();
    OfferedItem { id: need.id.clone(), line: need.line.clone(), commands }
}
