//! The commands that `top` runs beside itself: of a key in the background, of a view, and of the pane.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{Action, BackgroundCommand, Input, Top, Viewer};
use fairway_core::os::file_watch::FileWatch;
use fairway_core::os::piped_child::PipedChild;
use fairway_core::wire::BoardView;

impl Top<'_> {
    pub(super) fn spawn(&self, action: &Action) -> io::Result<PipedChild> {
        let globals = &self.ctx.globals;
        let mut args: Vec<OsString> = Vec::new();
        if let Some(root) = &globals.root {
            args.extend(["--root".into(), root.clone().into_os_string()]);
        }
        if let Some(role) = &globals.role {
            args.extend(["--as".into(), role.to_string().into()]);
        }
        if let Some(session) = &globals.session {
            args.extend(["--session".into(), session.as_str().into()]);
        }
        args.extend(action.argv.iter().map(Into::into));
        let stdin = action.stdin.as_deref().unwrap_or_default();
        PipedChild::spawn(&self.program, &args, self.ctx.env.vars(), &self.ctx.env.cwd, stdin.as_bytes())
    }

    pub(super) fn run_in_background(&mut self, action: Action) -> Option<Input> {
        match self.spawn(&action) {
            Ok(child) => {
                self.background = Some(BackgroundCommand::new(action, child));
                None
            }
            Err(error) => Some(Input::Ended { is_ok: false, said: format!("{}: {error}", action.typed()) }),
        }
    }

    /// Reads the output that is ready from the commands that `top` has started, and updates the state with it.
    pub(super) fn read_children(&mut self) {
        let result = self.background.as_mut().and_then(BackgroundCommand::result);
        if result.is_some() {
            self.background = None;
        }
        let mut inputs: Vec<Input> = result.into_iter().collect();
        if let Some(printed) = self.viewer.as_mut().and_then(Viewer::read) {
            inputs.push(Input::Lines { lines: printed.lines, whole: printed.is_whole });
            if printed.has_ended && !printed.is_whole {
                inputs.push(Input::ViewEnded);
            }
        }
        if let Some(pane) = &mut self.pane
            && let Some(printed) = pane.viewer.read()
        {
            inputs.push(Input::Pane { request: pane.request.clone(), lines: printed.lines });
        }
        for input in inputs {
            self.is_drawn = false;
            self.state.take(input);
        }
    }

    pub(super) fn watch_transcript(&self, session: &str) -> FileWatch {
        let board: &BoardView = &self.state.board;
        let mut all = board.lanes.iter().flat_map(|lane| &lane.sessions).chain(&board.sessions);
        let transcript = all.find(|one| one.session.id == session).and_then(|one| one.session.transcript.as_ref());
        let mut watch = FileWatch::new();
        if let Some(transcript) = transcript {
            watch.watch_file(Path::new(transcript));
        }
        watch
    }

    pub(super) fn open_viewer(&mut self, action: Action, watch: Option<FileWatch>) -> Option<Input> {
        self.close_viewer();
        match self.spawn(&action) {
            Ok(child) => {
                self.viewer = Some(Viewer::new(action, child, watch));
                None
            }
            Err(error) => Some(Input::Lines { lines: vec![error.to_string()], whole: true }),
        }
    }

    pub(super) fn close_viewer(&mut self) {
        if let Some(viewer) = self.viewer.take() {
            viewer.close();
        }
    }
}
