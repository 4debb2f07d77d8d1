//! The project with current settings: they are loaded again when their files have changed, and the store is opened again when
//! its file was replaced.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;

use fairway_actions::App;
use fairway_actions::agents::guard::LoadedRules;
use fairway_actions::upkeep::answer_tokens::AnswerTokenFile;
use fairway_actions::upkeep::devices::DeviceFile;
use fairway_core::config::{CONFIG_FILE, Project, load_in_force, local_file, trust};
use fairway_core::domain::Actor;
use fairway_core::env::{Clock, Env, Terminal};
use fairway_core::store::StoreError;

/// The parts of an [`App`] that can be sent to another thread.
#[derive(Debug, Clone)]
pub struct AppFactory {
    env: Env,
    project: Project,
    actor: Actor,
}

/// Device, inode, size, ctime and mtime of a file. `None` without a file.
pub(super) type FileStamp = Option<(u64, u64, u64, i64, i64, i64, i64)>;

/// The project as one thread uses it.
#[derive(Debug)]
pub struct LiveProject {
    /// The configuration files and the trust record, which together decide what is in force.
    files: Vec<PathBuf>,
    stamps: Vec<FileStamp>,
    app: App,
    rules: Option<LoadedRules>,
}

impl AppFactory {
    pub fn new(app: &App) -> Self {
        Self { env: (*app.env).clone(), project: (*app.project).clone(), actor: app.actor.clone() }
    }

    /// Makes a factory for the commands that a person runs on the page. Such a command must not ask questions at the terminal
    /// in which the server runs.
    pub(super) fn for_page(app: &App) -> Self {
        let mut factory = Self::new(app);
        factory.env.terminal = Terminal { stdin: false, stdout: false, stderr: false };
        factory
    }

    /// The files of the paired devices and of the answer tokens, and the clock by which both expire.
    pub(super) fn devices(&self) -> (DeviceFile, AnswerTokenFile, Clock) {
        (DeviceFile::of(&self.project), AnswerTokenFile::of(&self.project), self.env.clock)
    }

    pub fn open(self) -> Result<LiveProject> {
        let mut files = vec![self.project.root.join(CONFIG_FILE), local_file(&self.project)];
        files.extend(trust::record_file(&self.env, &self.project));
        let stamps = file_stamps(&files);
        let app = App::in_force(Rc::new(self.env), self.project, self.actor, None)?;
        Ok(LiveProject { files, stamps, app, rules: None })
    }
}

impl LiveProject {
    /// Returns the app with the current settings. Reads the settings again when their files have changed.
    ///
    /// # Errors
    /// When the settings cannot be read. It never uses outdated settings instead.
    pub fn app(&mut self) -> Result<&App> {
        let stamps = file_stamps(&self.files);
        if stamps != self.stamps {
            let (layers, settings) = load_in_force(&self.app.project, &self.app.env)?;
            self.app = self.app.with_settings(layers, settings);
            self.stamps = stamps;
            self.rules = None;
        }
        Ok(&self.app)
    }

    /// The app with the current settings, and the current guard rules.
    pub(super) fn app_and_guard_rules(&mut self) -> Result<(&App, &LoadedRules)> {
        self.app()?;
        let app = &self.app;
        Ok((app, self.rules.get_or_insert_with(|| LoadedRules::load_with_digest(app))))
    }

    /// Opens the store again when the error says that its file was replaced.
    pub fn note_error(&mut self, error: &anyhow::Error) {
        if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(StoreError::Replaced))) {
            self.app = self.app.with_fresh_store();
        }
    }
}

fn file_stamps(paths: &[PathBuf]) -> Vec<FileStamp> {
    paths.iter().map(|path| file_stamp(path)).collect()
}

pub(super) fn file_stamp(path: &Path) -> FileStamp {
    let file = fs::metadata(path).ok()?;
    let (ctime, mtime) = ((file.ctime(), file.ctime_nsec()), (file.mtime(), file.mtime_nsec()));
    Some((file.dev(), file.ino(), file.size(), ctime.0, ctime.1, mtime.0, mtime.1))
}
