//! The project as it is now: its settings are read again when its files have changed, its store is opened again when another
//! file lies there.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use anyhow::Result;

use crate::{
    actions::{App, boundary::guard::LoadedRules},
    config::{CONFIG_FILE, Layers, Project, Settings, local_file},
    domain::Actor,
    env::Env,
    store::StoreError,
};

/// What an [`App`] is made from, to be handed to another thread.
#[derive(Debug, Clone)]
pub(super) struct AppFactory {
    env: Env,
    project: Project,
    actor: Actor,
}

/// A file as it was found: device, number, size, and when it was changed.
type FileStamp = Option<(u64, u64, u64, i64, i64, i64, i64)>;

/// One thread's house.
#[derive(Debug)]
pub(super) struct LiveProject {
    files: [PathBuf; 2],
    stamps: [FileStamp; 2],
    app: App,
    rules: Option<CachedRules>,
}

/// The guard's rules, with the files that decide whether they may be gone by, as they were when they were read.
#[derive(Debug)]
struct CachedRules {
    rules: LoadedRules,
    files: Vec<(PathBuf, FileStamp)>,
}

impl AppFactory {
    /// What this house is made from.
    pub(super) fn new(app: &App) -> Self {
        Self { env: (*app.env).clone(), project: (*app.project).clone(), actor: app.actor.clone() }
    }

    /// A house in this thread.
    ///
    /// # Errors
    /// As the settings cannot be read.
    pub(super) fn open(self) -> Result<LiveProject> {
        let files = [self.project.root.join(CONFIG_FILE), local_file(&self.project)];
        let found = files.each_ref().map(|path| file_stamp(path));
        let (layers, settings) = load_settings(&self.project, &self.env)?;
        let app = App::new(Rc::new(self.env), self.project, layers, settings, self.actor, None);
        Ok(LiveProject { files, stamps: found, app, rules: None })
    }
}

impl LiveProject {
    /// The house with the settings of now.
    ///
    /// # Errors
    /// As the settings cannot be read: what they once were is no answer.
    pub(super) fn app(&mut self) -> Result<&App> {
        let found = self.files.each_ref().map(|path| file_stamp(path));
        if found != self.stamps {
            let (layers, settings) = load_settings(&self.app.project, &self.app.env)?;
            self.app = self.app.with_settings(layers, settings);
            self.stamps = found;
            self.rules = None;
        }
        Ok(&self.app)
    }

    /// The same with the guard's rules of now.
    ///
    /// # Errors
    /// As the settings cannot be read.
    pub(super) fn app_and_guard_rules(&mut self) -> Result<(&App, &LoadedRules)> {
        self.app()?;
        if self.rules.as_ref().is_some_and(|held| held.files.iter().any(|(path, then)| file_stamp(path) != *then)) {
            self.rules = None;
        }
        let app = &self.app;
        let held = self.rules.get_or_insert_with(|| {
            // Looked at before they are read: what changes meanwhile is read again the next time.
            let files =
                LoadedRules::watched_files(app).into_iter().map(|path| (path.clone(), file_stamp(&path))).collect();
            CachedRules { files, rules: LoadedRules::load(app) }
        });
        Ok((app, &held.rules))
    }

    /// Looks at an error: after one that says that another store lies there, that one is opened next.
    pub(super) fn note_error(&mut self, error: &anyhow::Error) {
        if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(StoreError::Replaced))) {
            self.app = self.app.with_fresh_store();
        }
    }
}

fn load_settings(project: &Project, env: &Env) -> Result<(Layers, Settings)> {
    let layers = Layers::load(project, env)?;
    let settings = Settings::from_layers(&layers, project)?;
    Ok((layers, settings))
}

fn file_stamp(path: &Path) -> FileStamp {
    let found = fs::metadata(path).ok()?;
    let (changed, written) = ((found.ctime(), found.ctime_nsec()), (found.mtime(), found.mtime_nsec()));
    Some((found.dev(), found.ino(), found.size(), changed.0, changed.1, written.0, written.1))
}
