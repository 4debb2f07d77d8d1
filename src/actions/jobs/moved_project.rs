//! A project whose directory is moved while a process of it runs.

use crate::{actions::App, config::Project, os::opened_dir::OpenedDir};

/// The root of a project, kept open.
#[derive(Debug)]
pub(super) struct KeptRoot {
    /// `None` where it cannot be opened: a move is then not noticed.
    root: Option<OpenedDir>,
}

impl KeptRoot {
    /// The root of this project.
    pub(super) fn of(app: &App) -> Self {
        Self { root: OpenedDir::open(&app.project.root).ok() }
    }

    /// The project at the path that its root has now, with nothing open yet; `None` while that is the path of `app`, and when
    /// the root was removed.
    pub(super) fn moved(&self, app: &App) -> Option<App> {
        let root = self.root.as_ref()?.current_path().filter(|path| *path != app.project.root)?;
        Some(app.with_project(Project::at(root, &app.env)))
    }
}
